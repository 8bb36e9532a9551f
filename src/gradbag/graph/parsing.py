"""ParseExample and its like: serialized tf.train.Example messages to arrays.

How many arrays such a node gives, and of which dtypes, its attributes tell in lists of different lengths. So the op is
made for the node, as that of a loop is, and stands in no registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dims import AnyShape
from ..dtypes import numpy_dtype
from ..errors import Fault, InvalidArgumentError
from ..spec import Arg, Example, Op
from . import wire

Array = np.ndarray[Any, Any]
PARSING = ("ParseExample", "ParseExampleV2", "ParseSingleExample")


@dataclass(frozen=True)
class Settings:
    """The attributes of a node."""

    sparse: Sequence[str] = ()  # dtypes
    dense: Sequence[str] = ()
    dense_shapes: Sequence[AnyShape] = ()
    ragged: Sequence[str] = ()
    splits: Sequence[str] = ()
    sparse_keys: Sequence[str] = ()  # of ParseSingleExample, the others have inputs
    dense_keys: Sequence[str] = ()


def output_names(settings: Settings) -> list[str]:
    """What the outputs of a node are called, in their order."""
    names = [f"{part}[{k}]" for part in ("sparse_indices", "sparse_values") for k in range(len(settings.sparse))]
    names += [f"sparse_shapes[{k}]" for k in range(len(settings.sparse))]
    names += [f"dense_values[{k}]" for k in range(len(settings.dense))]
    return names + [
        f"{part}[{k}]" for part in ("ragged_values", "ragged_row_splits") for k in range(len(settings.ragged))
    ]


class ParsingOp(Op):
    """The op of one node."""

    def __init__(self, name: str, settings: Settings, dtypes: Sequence[str], batch: AnyShape) -> None:
        if len(settings.dense) != len(settings.dense_shapes) or len(settings.ragged) != len(settings.splits):
            raise InvalidArgumentError(f"{name}: its lists of dtypes and shapes differ in length")
        self.settings = settings
        outputs = list(zip(_shapes(settings, batch, name), _dtypes(settings), strict=True))

        def body(*values: Any) -> Any:
            return list(_parsed(name, settings, values))

        body.__doc__ = "Read messages that tf.train.Example has written."
        super().__init__(
            name,
            body,
            inputs=[Arg(f"input_{k}", dtype, f"*i{k}", "") for k, dtype in enumerate(dtypes)],
            outputs=[Arg(f"output_{k}", dtype, f"*o{k}", "") for k, (_, dtype) in enumerate(outputs)],
            types={},
            example=Example({}, {}),
            samples=lambda _: (),
            state="list",
        )
        self.shapes(lambda *_: [shape for shape, _ in outputs])

    def _check_declaration(self) -> None:
        """Nobody has declared it by hand."""


def _dtypes(settings: Settings) -> list[str]:
    count = len(settings.sparse)
    return [
        *["int64"] * count,
        *settings.sparse,
        *["int64"] * count,
        *settings.dense,
        *settings.ragged,
        *settings.splits,
    ]


def _shapes(settings: Settings, batch: AnyShape, name: str) -> Iterator[AnyShape]:
    rank = 1 if batch is None else len(batch) + 1
    for _ in settings.sparse:
        yield None, rank
    for _ in settings.sparse:
        yield (None,)
    for _ in settings.sparse:
        yield (rank,)
    for shape in settings.dense_shapes:
        yield None if batch is None or shape is None else (*batch, *shape)
    for _ in range(2 * len(settings.ragged)):
        yield (None,)


# ------------------------------------------------------------------ what it does
def _parsed(name: str, settings: Settings, values: Sequence[Any]) -> Iterator[Array]:
    serialized, keys, defaults = _sorted_out(name, settings, list(values))
    batch = serialized.ndim > 0
    found: list[Mapping[bytes, tuple[str, Array]]] = []
    for place, text in enumerate(serialized.flat):
        try:
            found.append(wire.example(text.encode() if isinstance(text, str) else text))
        except wire.Broken as problem:
            at = (place,) if batch else ()
            raise Fault("rule", "serialized", at, text[:40], hint=f"must be a tf.train.Example: {problem}") from None
    sparse = [_rows(found, key, dtype) for key, dtype in zip(keys["sparse"], settings.sparse, strict=True)]
    for rows in sparse:
        lengths = [len(row) for row in rows]
        columns = np.concatenate([np.arange(n) for n in lengths]) if lengths else np.zeros(0, np.int64)
        owner = np.repeat(np.arange(len(rows)), lengths)
        yield (np.stack([owner, columns], 1) if batch else columns[:, None]).astype(np.int64).reshape(-1, 1 + batch)
    for rows, dtype in zip(sparse, settings.sparse, strict=True):
        yield _joined(rows, dtype)
    for rows in sparse:
        longest = max(map(len, rows), default=0)
        yield np.array([len(rows), longest] if batch else [longest], np.int64)
    for key, dtype, shape, default in zip(keys["dense"], settings.dense, settings.dense_shapes, defaults, strict=True):
        array = _dense(_found(found, key, dtype), key, dtype, shape or (), default)
        yield array if batch else array[0]
    ragged = [_rows(found, key, dtype) for key, dtype in zip(keys["ragged"], settings.ragged, strict=True)]
    for rows, dtype in zip(ragged, settings.ragged, strict=True):
        yield _joined(rows, dtype)
    for rows, dtype in zip(ragged, settings.splits, strict=True):
        yield np.cumsum([0, *map(len, rows)]).astype(numpy_dtype(dtype))


def _sorted_out(name: str, settings: Settings, values: list[Any]) -> tuple[Array, dict[str, list[bytes]], list[Array]]:
    """The messages, the names of the features of each kind, and the defaults of the dense ones."""
    keys: dict[str, list[Any]]
    counts = {"sparse": len(settings.sparse), "dense": len(settings.dense), "ragged": len(settings.ragged)}
    if name == "ParseSingleExample":
        keys = {"sparse": [*settings.sparse_keys], "dense": [*settings.dense_keys], "ragged": []}
        rest = values[1:]
    elif name == "ParseExampleV2":
        keys = {kind: list(values[place].flat) for place, kind in ((2, "sparse"), (3, "dense"), (4, "ragged"))}
        rest = values[5:]
    else:
        ends = 2 + counts["sparse"], 2 + counts["sparse"] + counts["dense"]
        keys = {
            "sparse": [v.item() for v in values[2 : ends[0]]],
            "dense": [v.item() for v in values[ends[0] : ends[1]]],
        }
        keys["ragged"] = []
        rest = values[ends[1] :]
    for kind, names in keys.items():
        if len(names) != counts[kind]:
            raise Fault("rule", f"{kind}_keys", (), len(names), hint=f"names, which must be {counts[kind]}")
    if len(rest) != counts["dense"]:
        raise Fault("rule", "dense_defaults", (), len(rest), hint=f"arrays, which must be {counts['dense']}")
    encoded = {k: [n.encode() if isinstance(n, str) else n for n in names] for k, names in keys.items()}
    return values[0], encoded, rest


def _found(examples: Sequence[Mapping[bytes, tuple[str, Array]]], key: bytes, dtype: str) -> list[Array | None]:
    """A feature of each message, None where it has none."""
    rows: list[Array | None] = []
    for place, example in enumerate(examples):
        kind, values = example.get(key, (dtype, None))
        if kind != dtype:
            raise Fault("rule", "serialized", (place,), kind, hint=f"of {_shown(key)} must be {dtype}")
        rows.append(values)
    return rows


def _rows(examples: Sequence[Mapping[bytes, tuple[str, Array]]], key: bytes, dtype: str) -> list[Array]:
    return [np.zeros(0, numpy_dtype(dtype)) if row is None else row for row in _found(examples, key, dtype)]


def _joined(rows: Sequence[Array], dtype: str) -> Array:
    return np.concatenate(rows) if rows else np.zeros(0, numpy_dtype(dtype))


def _dense(rows: Sequence[Array | None], key: bytes, dtype: str, shape: Any, default: Array) -> Array:
    """Rows of one shape; the first size may be open, and the default then is one number that fills what is short."""
    stride = int(np.prod([n or 1 for n in (shape[1:] if shape and shape[0] is None else shape)], dtype=object))
    if shape and shape[0] is None:
        longest = max((len(row) for row in rows if row is not None), default=0)
        for place, row in enumerate(rows):
            if row is not None and (len(row) % stride if stride else len(row)):
                problem = f"values of {_shown(key)}, which must be a multiple of {stride}"
                raise Fault("rule", "serialized", (place,), len(row), hint=problem)
        steps = longest // stride if stride else 0
        fill = default.reshape(-1)[0] if default.size else np.zeros((), numpy_dtype(dtype)).item()
        if dtype == "string" and not default.size:
            fill = b""
        made = np.full((len(rows), steps * stride), fill, numpy_dtype(dtype))
        for place, row in enumerate(rows):
            if row is not None:
                made[place, : len(row)] = row
        return made.reshape(len(rows), steps, *shape[1:])
    made = np.empty((len(rows), stride), numpy_dtype(dtype))
    for place, row in enumerate(rows):
        if row is None and default.size != stride:
            raise Fault("rule", "serialized", (place,), "nothing", hint=f"of {_shown(key)}, which has no default")
        if row is not None and len(row) != stride:
            raise Fault(
                "rule", "serialized", (place,), len(row), hint=f"values of {_shown(key)}, which must be {stride}"
            )
        made[place] = default.reshape(-1) if row is None else row
    return made.reshape(len(rows), *[n or 0 for n in shape])


def _shown(key: bytes) -> str:
    return repr(key.decode(errors="replace")[:80])
