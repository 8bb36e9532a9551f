"""Texts: in small letters, with other words in place of some, joined, and cut into words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng

TEXTS = ["Red, green", "", "a  B c", "größer"]
INPUT = Arg("input", "string", "*shape", "Texts.")
OUTPUT = Arg("output", "string", "*shape", "The new texts.")


def _texts(**attrs: Any) -> Callable[[Rng], Iterator[dict[str, Any]]]:
    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for shape in [(4,), (2, 2), (0,)]:
            yield {"input": np.array(TEXTS, object)[: int(np.prod(shape))].reshape(shape), **attrs}

    return samples


def _each(function: Callable[[Any], Any], texts: Any) -> Any:
    found = np.empty(texts.size, object)
    found[:] = [function(text) for text in texts.flat]
    return found.reshape(texts.shape)


def _lower_ascii(text: str | bytes) -> str | bytes:
    if isinstance(text, bytes):
        return text.lower()
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)


def _upper_ascii(text: str | bytes) -> str | bytes:
    if isinstance(text, bytes):
        return text.upper()
    return re.sub("[a-z]+", lambda found: found[0].upper(), text)


# ------------------------------------------------------------------ StringLower
@op(
    "StringLower",
    inputs=[INPUT],
    outputs=[OUTPUT],
    attrs=[Attr("encoding", "", "utf-8 to change all letters, otherwise those of ASCII.", "string", ("", "utf-8"))],
    types={},
    example=Example({"input": ["Red", "BLUE"]}, {"output": ["red", "blue"]}),
    samples=_texts(),
)
def string_lower(input: Any, encoding: str) -> Any:
    """Texts in small letters."""
    if not encoding:
        return _each(_lower_ascii, input)
    return _each(lambda text: text.decode(errors="replace").lower() if isinstance(text, bytes) else text.lower(), input)


@string_lower.shapes
def _(input: Known, encoding: str) -> Any:
    return [input.shape]


# ------------------------------------------------------------------ StringUpper
@op(
    "StringUpper",
    inputs=[INPUT],
    outputs=[OUTPUT],
    attrs=[Attr("encoding", "", "utf-8 to change all letters, otherwise those of ASCII.", "string", ("", "utf-8"))],
    types={},
    example=Example({"input": ["Red", "blue"]}, {"output": ["RED", "BLUE"]}),
    samples=_texts(),
)
def string_upper(input: Any, encoding: str) -> Any:
    """Texts in capital letters."""
    if not encoding:
        return _each(
            lambda t: t.upper() if isinstance(t, bytes) else re.sub("[a-z]+", lambda f: f[0].upper(), t), input
        )
    return _each(lambda text: text.decode(errors="replace").upper() if isinstance(text, bytes) else text.upper(), input)


@string_upper.shapes
def _(input: Known, encoding: str) -> Any:
    return [input.shape]


# ------------------------------------------------------------------ StringStrip
@op(
    "StringStrip",
    inputs=[INPUT],
    outputs=[OUTPUT],
    types={},
    example=Example({"input": ["  red ", "blue"]}, {"output": ["red", "blue"]}),
    samples=_texts(),
)
def string_strip(input: Any) -> Any:
    """Texts without the white space of ASCII at both ends."""
    return _each(lambda text: text.strip(b" \t\n\v\f\r" if isinstance(text, bytes) else " \t\n\v\f\r"), input)


@string_strip.shapes
def _(input: Known) -> Any:
    return [input.shape]


# ------------------------------------------------------------------ StringLength
@op(
    "StringLength",
    inputs=[INPUT],
    outputs=[Arg("output", "int32", "*shape", "The lengths.")],
    attrs=[Attr("unit", "BYTE", "What is counted.", "string", ("BYTE", "UTF8_CHAR"))],
    types={},
    example=Example({"input": ["red", ""]}, {"output": [3, 0]}),
    samples=_texts(),
)
def string_length(input: Any, unit: str) -> Any:
    """How long texts are, in bytes or in characters."""
    encoded = [t.encode() if isinstance(t, str) else t for t in input.flat]
    if unit == "BYTE":
        return np.array([len(t) for t in encoded], np.int32).reshape(input.shape)
    return np.array([sum(byte & 0xC0 != 0x80 for byte in t) for t in encoded], np.int32).reshape(input.shape)


# ------------------------------------------------------------------ StaticRegexReplace
@op(
    "StaticRegexReplace",
    inputs=[INPUT],
    outputs=[OUTPUT],
    attrs=[
        Attr("pattern", REQUIRED, "What to look for, a regular expression.", "string"),
        Attr("rewrite", REQUIRED, "What to put in its place; \\1 stands for the first group.", "string"),
        Attr("replace_global", True, "Whether to replace it everywhere, or the first time only."),
    ],
    types={},
    example=Example({"input": ["a, b."], "pattern": "[,.]", "rewrite": ""}, {"output": ["a b"]}),
    samples=_texts(pattern="[a-c]+", rewrite="x"),
    rejects=[Reject({"pattern": "("}, r"pattern == \( must be a regular expression")],
)
def static_regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool) -> Any:
    """Texts in which what a regular expression finds is replaced."""
    made = _compiled(pattern)
    new = re.sub(r"\\(?=\d)", r"\\g<", rewrite) if re.search(r"\\\d", rewrite) else rewrite
    new = re.sub(r"\\g<(\d)", r"\\g<\1>", new)

    def replaced(text: str | bytes) -> Any:
        plain = text.decode(errors="surrogateescape") if isinstance(text, bytes) else text
        found = made.sub(new, plain, 0 if replace_global else 1)
        return found.encode(errors="surrogateescape") if isinstance(text, bytes) else found

    return _each(replaced, input)


_CLASSES = {
    "punct": r"!-/:-@\[-`{-~", "digit": "0-9", "alpha": "A-Za-z", "alnum": "0-9A-Za-z", "space": r"\t\n\v\f\r ",
    "upper": "A-Z", "lower": "a-z",
}  # fmt: skip


@functools.lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """TensorFlow's kind of expressions as Python's: classes have names there."""
    for name, members in _CLASSES.items():
        pattern = pattern.replace(f"[:{name}:]", members)
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        raise Fault("rule", "pattern", (), pattern[:80], hint="must be a regular expression") from None


@static_regex_replace.check
def _(input: Any, pattern: str) -> None:
    _compiled(pattern)


@static_regex_replace.shapes
def _(input: Known, pattern: str, rewrite: str, replace_global: bool) -> Any:
    return [input.shape]


# ------------------------------------------------------------------ StringJoin
def _joined(rng: Rng) -> Iterator[dict[str, Any]]:
    texts = np.array(TEXTS, object)
    yield {"inputs": [texts, texts[::-1].copy()], "separator": "-"}
    yield {"inputs": [texts, np.array("x", object)]}


@op(
    "StringJoin",
    inputs=[Arg("inputs", "string", "*_", "Texts; scalars stand for all places.", many=True)],
    outputs=[Arg("output", "string", "*result", "The joined texts.")],
    attrs=[Attr("separator", "", "What to put between them.", "string")],
    types={},
    example=Example({"inputs": [["a", "b"], ["c", "d"]], "separator": "-"}, {"output": ["a-c", "b-d"]}),
    samples=_joined,
    rejects=[Reject({"inputs": [["a", "b"], ["c"]]}, r"inputs\[1\] has shape \[1\], which must be that of the others")],
)
def string_join(inputs: Any, separator: str) -> Any:
    """Texts of several arrays put together, place by place."""
    encoded = [[t.encode() if isinstance(t, str) else t for t in one.flat] for one in inputs]
    size = max((one.size for one in inputs if one.ndim), default=1)
    whole = [texts * size if one.ndim == 0 else texts for one, texts in zip(inputs, encoded, strict=True)]
    found = np.empty(size, object)
    found[:] = [separator.encode().join(parts) for parts in zip(*whole, strict=True)]
    if all(isinstance(t, str) for one in inputs for t in one.flat):
        found[:] = [text.decode() for text in found]
    return found.reshape(next((one.shape for one in inputs if one.ndim), ()))


@string_join.shapes
def _(inputs: Any, separator: str) -> Any:
    common: Any = ()
    for place, known in enumerate(inputs):
        if known.shape is None:
            return [None]
        if known.shape and common and known.shape != common and None not in (*known.shape, *common):
            raise Fault(
                "shape", f"inputs[{place}]", (), known.shape, hint=f"must be that of the others, {list(common)}"
            )
        common = common or known.shape
    return [common]


# ------------------------------------------------------------------ StringSplitV2
def _sentences(rng: Rng) -> Iterator[dict[str, Any]]:
    for sep in ("", ",", "e"):
        yield {"input": np.array(TEXTS, object), "sep": np.array(sep, object)}
    yield {"input": np.array(TEXTS, object), "sep": np.array(" ", object), "maxsplit": 1}


@op(
    "StringSplitV2",
    inputs=[
        Arg("input", "string", "rows", "Texts."),
        Arg("sep", "string", "", "What stands between words; with an empty one, any white space."),
    ],
    outputs=[
        Arg("indices", "int64", "words 2", "The text of each word, and its number there."),
        Arg("values", "string", "words", "The words."),
        Arg("shape", "int64", "2", "How many texts there are, and how many words at most in one."),
    ],
    attrs=[Attr("maxsplit", -1, "How often to cut at most; -1 for as often as it goes.", "int")],
    types={},
    example=Example(
        {"input": ["red green", "blue"], "sep": ""},
        {"indices": [[0, 0], [0, 1], [1, 0]], "values": ["red", "green", "blue"], "shape": [2, 2]},
    ),
    samples=_sentences,
)
def string_split_v2(input: Any, sep: Any, maxsplit: int) -> Any:
    """Texts cut into words: a sparse matrix with a row for each text."""
    between = sep.item()

    def cut(text: str | bytes) -> list[Any]:
        plain = text.decode(errors="surrogateescape") if isinstance(text, bytes) else text
        wanted = between.decode() if isinstance(between, bytes) else between
        words = plain.split(wanted or None, maxsplit)
        return [w.encode(errors="surrogateescape") for w in words] if isinstance(text, bytes) else words

    rows = [cut(text) for text in input.tolist()]
    places = [(row, column) for row, words in enumerate(rows) for column in range(len(words))]
    values = np.empty(len(places), object)
    values[:] = [word for words in rows for word in words]
    most = max(map(len, rows), default=0)
    return np.array(places, np.int64).reshape(-1, 2), values, np.array([len(rows), most], np.int64)
