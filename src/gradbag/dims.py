"""The shape language: one string checks calls, sizes outputs, labels ports and fills the docs.

One word per axis. A number is a fixed size, `*inner` any number of axes, `_` a size nobody looks at. The same word
is the same size wherever it stands. A word that stands only in an output depends on the data.

    "rows *inner"   a table of rows of any further shape
    "nnz rank"      a matrix
    ""              a scalar
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

    def bind(self, shape: Sequence[Size] | None, sizes: Sizes) -> bool:
        """Bind the words to `shape`, or say that it does not fit. What is unknown fits everything."""
        terms, star = self.terms, self.star
        if shape is None:
            return True
        if star >= 0:
            tail = len(terms) - star - 1
            if len(shape) < star + tail:
                return False
            end = len(shape) - tail
            word = word_of(str(terms[star]))
            if word != "_" and not _agree(sizes, word, tuple(shape[star:end])):
                return False
            terms = terms[:star] + terms[star + 1 :]
            shape = (*shape[:star], *shape[end:])
        elif len(terms) != len(shape):
            return False
        for term, size in zip(terms, shape, strict=True):
            if term == "_" or size is None:
                continue
            known = term if isinstance(term, int) else sizes.setdefault(term, size)
            if known is None:
                sizes[str(term)] = size
            elif known != size:
                return False
        return True

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
        if not word_of(word).isidentifier():
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


def _agree(sizes: Sizes, word: str, shape: Shape) -> bool:
    known = sizes.setdefault(word, shape)
    assert isinstance(known, tuple)
    if known == shape:
        return True
    if len(known) != len(shape):
        return False
    merged = tuple(k if s is None else s for k, s in zip(known, shape, strict=True))
    sizes[word] = merged
    return all(k is None or s is None or k == s for k, s in zip(known, shape, strict=True))


def _show(size: Size | Shape) -> str:
    return "[" + ", ".join(map(str, size)) + "]" if isinstance(size, tuple) else str(size)
