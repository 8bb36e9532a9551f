"""The shape language: one string checks calls, sizes outputs, labels ports and fills the docs.

One word per axis. A number is a fixed size, `*inner` any number of axes, `_` a size nobody looks at. The same word
is the same size wherever it stands. A word that stands only in an output depends on the data. In a list of inputs a
word that ends with `#` is another one for each member, and the same for that member of every list.

    "rows *inner"   a table of rows of any further shape
    "nnz rank"      a matrix
    "rows# columns" matrices of one width
    ""              a scalar
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MEMBER = "#"
Size = int | None  # None: not known before the op runs
Shape = tuple[Size, ...]
AnyShape = Shape | None  # None: not even the number of axes is known
Sizes = dict[str, "Size | Shape"]  # a starred word is bound to a tuple


@dataclass(frozen=True)
class Dims:
    """A parsed shape string."""

    text: str
    terms: tuple[int | str, ...]
    star: int  # place of the starred word, or -1

    @property
    def words(self) -> list[str]:
        """The words that carry a size, without stars, numbers and `_`."""
        return [word_of(t) for t in self.terms if isinstance(t, str) and word_of(t) != "_"]

    def parts(self, shape: Sequence[Any]) -> list[tuple[int | str, Any]] | None:
        """Each term with what stands there in a shape, the starred one with a tuple; None where the ranks differ.

        Whatever a shape is made of: sizes, symbols of a compiler, or the places where sizes will stand.
        """
        tail = len(self.terms) - self.star - 1
        if self.star < 0:
            return list(zip(self.terms, shape, strict=True)) if len(shape) == len(self.terms) else None
        if len(shape) < self.star + tail:
            return None
        end = len(shape) - tail
        split = [*shape[: self.star], tuple(shape[self.star : end]), *shape[end:]]
        return list(zip(self.terms, split, strict=True))

    def bind(self, shape: Sequence[Size] | None, sizes: Sizes) -> bool:
        """Bind the words to `shape`, or say that it does not fit. What is unknown fits everything."""
        parts = () if shape is None else self.parts(shape)
        return parts is not None and all(_agree(sizes, term, part) for term, part in parts)

    def shape(self, sizes: Sizes) -> AnyShape:
        """The shape that the bound words give; None where a size, or the number of axes, is not known."""
        out: list[Size] = []
        for term in self.terms:
            if isinstance(term, int):
                out.append(term)
            elif term.startswith("*"):
                inner = sizes.get(term[1:])
                if inner is None:
                    return None
                assert isinstance(inner, tuple)
                out.extend(inner)
            else:
                size = sizes.get(term)
                assert not isinstance(size, tuple)
                out.append(size)
        return tuple(out)

    def explain(self, sizes: Sizes) -> str:
        """What is already known about the words, for an error message: 'n=3'."""
        known = [f"{w}={_show(sizes[w])}" for w in self.words if sizes.get(w) is not None]
        return ", ".join(known)


def parse(text: str) -> Dims:
    terms: list[int | str] = []
    star = -1
    for place, word in enumerate(text.split()):
        if word.isdigit():
            terms.append(int(word))
            continue
        if not word_of(word).replace(MEMBER, "").isidentifier():
            raise ValueError(f"{word!r} in {text!r} is not a word of the shape language")
        if word.startswith("*"):
            if star >= 0:
                raise ValueError(f"{text!r} has two starred words")
            star = place
        terms.append(word)
    if star >= 0 and word_of(str(terms[star])) != "_" and word_of(str(terms[star])) in terms:
        raise ValueError(f"{text!r} has a word that is starred in one place only")
    return Dims(text, tuple(terms), star)


def word_of(term: str) -> str:
    return term.removeprefix("*")


def _agree(sizes: Sizes, term: int | str, part: Any) -> bool:
    """Whether one size, or the tuple of a starred word, goes with what is known of its word; then it is known too."""
    if isinstance(term, int):
        return part is None or part == term
    word = word_of(term)
    if word == "_":
        return True
    known: Any = sizes.setdefault(word, part)
    if not isinstance(part, tuple):
        sizes[word] = part if known is None else known
        return known is None or part is None or known == part
    if len(known) != len(part):
        return False
    sizes[word] = tuple(k if n is None else n for k, n in zip(known, part, strict=True))
    return all(k is None or n is None or k == n for k, n in zip(known, part, strict=True))


def _show(size: Size | Shape) -> str:
    return "[" + ", ".join(map(str, size)) + "]" if isinstance(size, tuple) else str(size)
