"""Crosses of features: for each row every choice of one entry from each column, as one text or as one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import hashing
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng
from .sizes import possible

Array = np.ndarray[Any, Any]
KEY = 956888297470  # of TensorFlow, where none is given
_FACTOR = np.uint64(0xC6A4A7935BD1E995)
_MIXED = np.uint64(47)
FEATURE = ("int64", "string")
LISTS = [
    Arg(
        "indices", "int64", "_ 2", "The places of each sparse column, row by row.", many=True, count="N", optional=True
    ),
    Arg("values", "sparse_types", "_", "What stands there.", many=True, each=True, optional=True),
    Arg("shapes", "int64", "2", "The shape of each sparse column.", many=True, count="N", optional=True),
    Arg("dense_inputs", "dense_types", "_ _", "The dense columns.", many=True, each=True, optional=True),
]
PLACES = Arg("output_indices", "int64", "crosses 2", "The row of each cross, and its number there.")
SHAPE = Arg("output_shape", "int64", "2", "How many rows there are, and how many crosses at most in one.")
TYPES = {"sparse_types": FEATURE, "dense_types": FEATURE}
COLUMNS: dict[str, Any] = {
    "indices": [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 0]]],
    "values": [[1, 2, 3], [40, 50]],
    "shapes": [[2, 2], [2, 1]],
    "dense_inputs": [[[600], [700]]],
}
CROSSED = {"output_indices": [[0, 0], [1, 0], [1, 1]], "output_shape": [2, 2]}
REJECTS = [
    Reject({"values": [[1, 2], [40, 50]]}, r"values\[0\] has shape \[2\], which must be \[3\]"),
    Reject({"shapes": [[2, 2], [3, 1]]}, r"shapes\[1\]\[0\] == 3 must be 2, as many rows as the others have"),
    Reject({"shapes": [[-2, 2], [2, 1]]}, r"shapes\[0\]\[0\] == -2 must not be negative"),
    Reject({"dense_inputs": [[[600]]]}, r"dense_inputs\[0\] has shape \[1, 1\], which must be \[2, _\]"),
    Reject(
        {"indices": [[[1, 0], [0, 0], [1, 1]], [[0, 0], [1, 0]]]},
        r"indices\[0\]\[1, 0\] == 0 follows 1",
    ),
    Reject(
        {"indices": [[[0, 0], [1, 0], [2, 1]], [[0, 0], [1, 0]]]},
        r"indices\[0\]\[2, 0\] == 2 out of range \[0, 2\)",
    ),
]


def _columns(**given: Any) -> Callable[[Rng], Iterator[dict[str, Any]]]:
    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for rows, sparse, dense in [(4, 2, 1), (3, 1, 0), (3, 0, 2), (0, 1, 1), (5, 3, 0)]:
            found: dict[str, Any] = {"indices": [], "values": [], "shapes": []}
            for _ in range(sparse):
                lengths = rng.integers(0, 4, rows)
                owner = np.repeat(np.arange(rows), lengths)
                found["indices"].append(np.stack([owner, rng.integers(0, 9, len(owner))], 1))
                found["values"].append(rng.integers(-5, 1 << 40, len(owner)))
                found["shapes"].append(np.array([rows, 9]))
            found["dense_inputs"] = [rng.integers(0, 50, (rows, k + 1)) for k in range(dense)]
            yield {**found, **given}

    return samples


# ------------------------------------------------------------------ which entries stand together
def _present(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def _chosen(indices: Any, values: Any, shapes: Any, dense_inputs: Any) -> tuple[list[Array], list[Array], Array, Array]:
    """The features of each column, which of them each cross has, and the places and the shape of the crosses."""
    sparse, dense = _present(values), _present(dense_inputs)
    rows = _rows(_present(shapes), dense)
    counts = [np.bincount(places[:, 0], minlength=rows) for places in _present(indices)]
    counts += [np.full(rows, array.shape[1]) for array in dense]
    crosses = np.prod(counts, 0, dtype=np.int64)
    owner = np.repeat(np.arange(rows), crosses)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(crosses) - crosses, crosses)
    rest, entries = number, []
    for count in reversed(counts):  # the last column changes first
        begins = np.cumsum(count) - count
        entries.append(begins[owner] + rest % np.maximum(count, 1)[owner])
        rest = rest // np.maximum(count, 1)[owner]
    features = [*sparse, *(array.reshape(-1) for array in dense)]
    places = np.stack([owner, number], 1).astype(np.int64)
    return features, entries[::-1], places, np.array([rows, crosses.max(initial=0)], np.int64)


def _rows(shapes: Sequence[Any], dense: Sequence[Any]) -> int:
    return int(shapes[0][0]) if shapes else int(dense[0].shape[0])


def _outline(indices: Any, values: Any, shapes: Any, dense_inputs: Any, dtype: str) -> Any:
    """The shapes of the outputs, as far as they are known, or a Fault."""
    given, dense = _present(indices), _present(dense_inputs)
    for name, one in (("values", values), ("shapes", shapes)):
        if len(_present(one)) != len(given):
            raise Fault(
                "rule", name, (), len(_present(one)), hint=f"members, which must be as many as indices, {len(given)}"
            )
    for k, (places, found) in enumerate(zip(given, _present(values), strict=True)):
        sizes = [None if one.shape is None else one.shape[0] for one in (places, found)]
        if None not in sizes and sizes[0] != sizes[1]:
            raise Fault("shape", f"values[{k}]", (), found.shape, hint=f"must be [{sizes[0]}], one for each place")
    rows = None
    for k, shape in enumerate(_present(shapes)):
        if shape.value is None:
            continue
        own = int(shape.value[0])
        if own < 0:
            raise Fault("rule", f"shapes[{k}]", (0,), own, hint="must not be negative")
        if rows not in (None, own):
            raise Fault("rule", f"shapes[{k}]", (0,), own, hint=f"must be {rows}, as many rows as the others have")
        rows = own
    for k, array in enumerate(dense):
        length = None if array.shape is None else array.shape[0]
        if rows is not None and length not in (None, rows):
            raise Fault("shape", f"dense_inputs[{k}]", (), array.shape, hint=f"must be [{rows}, _], as the others")
        rows = length if rows is None else rows
    total = None
    known = all(one.value is not None for one in (*given, *_present(shapes))) and all(
        a.shape is not None for a in dense
    )
    if known and rows is not None:
        total = _total([one.value for one in given], rows, [array.shape[1] for array in dense])
        if total is not None:
            possible("indices", (total, 2), dtype)
    return [(total, 2), (total,), (2,)]


def _total(indices: Sequence[Array], rows: int, widths: Sequence[int | None]) -> int | None:
    """How many crosses there are."""
    for k, places in enumerate(indices):
        owner = places[:, 0]
        outside = np.flatnonzero((owner < 0) | (owner >= rows))
        if len(outside):
            at = int(outside[0])
            raise Fault("range", f"indices[{k}]", (at, 0), int(owner[at]), 0, rows)
        falls = np.flatnonzero(owner[1:] < owner[:-1])
        if len(falls):
            at = int(falls[0]) + 1
            raise Fault("order", f"indices[{k}]", (at, 0), int(owner[at]), int(owner[at - 1]))
    if None in widths or not rows:
        return None if rows else 0
    possible("shapes", (rows,), "int64")  # a row takes memory even if it is empty
    counts = [np.bincount(places[:, 0], minlength=rows).astype(np.float64) for places in indices]
    about = np.prod([*counts, *(np.full(rows, float(width or 0)) for width in widths)], 0).sum()
    return int(about)  # exact below 2**53, and nobody has room for more


# ------------------------------------------------------------------ texts
def _joined(features: Sequence[Array], entries: Sequence[Array], between: str | bytes) -> Array:
    """Texts of str are str, and bytes as soon as one of them is."""
    columns = [[text if isinstance(text, (str, bytes)) else str(text) for text in one.tolist()] for one in features]
    encoded = any(isinstance(text, bytes) for column in columns for text in column) or isinstance(between, bytes)
    if encoded:
        columns = [[t.encode() if isinstance(t, str) else t for t in column] for column in columns]
        between = between.encode() if isinstance(between, str) else between
    found = np.empty(len(entries[0]), object)
    chosen = ([column[e] for e in entry.tolist()] for column, entry in zip(columns, entries, strict=True))
    found[:] = [between.join(parts) for parts in zip(*chosen, strict=True)]
    return found


# ------------------------------------------------------------------ numbers
def _together(first: Array, second: Array) -> Array:
    """TensorFlow's FingerprintCat64."""
    mixed = second * _FACTOR
    mixed = (first ^ _FACTOR ^ (mixed ^ mixed >> _MIXED) * _FACTOR) * _FACTOR
    mixed = (mixed ^ mixed >> _MIXED) * _FACTOR
    return mixed ^ mixed >> _MIXED


def _bounded(hashed: Array, num_buckets: int) -> Array:
    return (hashed % np.uint64(num_buckets if num_buckets > 0 else 2**63 - 1)).astype(np.int64)


def _crossed(features: Sequence[Array], entries: Sequence[Array], first: int | None) -> Array:
    """The numbers of the entries, put together from the first column to the last, after a key if there is one."""
    found = None if first is None else np.array([first % 2**64], np.uint64)
    for feature, entry in zip(features, entries, strict=True):
        own = feature[entry]
        found = own if found is None else _together(found, own)
    assert found is not None
    return found


# ------------------------------------------------------------------ SparseCross
@op(
    "SparseCross",
    inputs=LISTS,
    outputs=[PLACES, Arg("output_values", "out_type", "crosses", "The crosses."), SHAPE],
    attrs=[
        Attr("hashed_output", REQUIRED, "Without effect, for TensorFlow's sake: `out_type` decides."),
        Attr("num_buckets", REQUIRED, "How many numbers there are; 0 for as many as int64 has.", "int"),
        Attr("hash_key", REQUIRED, "The number with which hashes begin.", "int"),
        Attr("out_type", REQUIRED, "int64 for hashes, string for texts.", "type", FEATURE),
        Attr("internal_type", REQUIRED, "string if all columns are texts, or int64.", "type", FEATURE),
    ],
    types={**TYPES, "out_type": FEATURE},
    example=Example(
        {
            **COLUMNS,
            "hashed_output": False,
            "num_buckets": 0,
            "hash_key": KEY,
            "out_type": "string",
            "internal_type": "int64",
        },
        {**CROSSED, "output_values": ["1_X_40_X_600", "2_X_50_X_700", "3_X_50_X_700"]},
        {"out_type": "string"},
    ),
    samples=_columns(hashed_output=True, num_buckets=100, hash_key=KEY, internal_type="int64"),
    rejects=[
        *REJECTS,
        Reject({"num_buckets": -3}, "num_buckets == -3 must not be negative"),
        Reject(
            {"internal_type": "string"},
            r"values\[0\] == int64 must be string, as internal_type says",
        ),
    ],
)
def sparse_cross(
    indices: Any,
    values: Any,
    shapes: Any,
    dense_inputs: Any,
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_type: str,
    internal_type: str,
) -> Any:
    """Crosses of columns as texts with _X_ between them, or as the numbers of TensorFlow's first way to hash them.

    A column is sparse or dense, of texts or of numbers; for each row every choice of one entry from each is a cross.
    """
    features, entries, places, shape = _chosen(indices, values, shapes, dense_inputs)
    if out_type == "string":
        return places, _joined(features, entries, "_X_"), shape
    numbers = [
        one.astype(np.uint64) if one.dtype.kind == "i" else hashing.fingerprints(one.tolist()) for one in features
    ]
    return places, _bounded(_crossed(numbers, entries, hash_key), num_buckets), shape


@sparse_cross.shapes
def _(
    indices: Any,
    values: Any,
    shapes: Any,
    dense_inputs: Any,
    num_buckets: int,
    internal_type: str,
    out_type: str,
    **_: Any,
) -> Any:
    if num_buckets < 0:
        raise Fault("rule", "num_buckets", (), num_buckets, hint="must not be negative")
    for name, members in (("values", values), ("dense_inputs", dense_inputs)):
        for k, one in enumerate(_present(members)):
            if internal_type == "string" != one.dtype:
                raise Fault("rule", f"{name}[{k}]", (), one.dtype, hint="must be string, as internal_type says")
    return _outline(indices, values, shapes, dense_inputs, out_type)


# ------------------------------------------------------------------ SparseCrossV2
@op(
    "SparseCrossV2",
    inputs=[*LISTS, Arg("sep", "string", "", "What stands between the parts of a cross.")],
    outputs=[PLACES, Arg("output_values", "string", "crosses", "The crosses."), SHAPE],
    types=TYPES,
    example=Example(
        {**COLUMNS, "sep": "-"},
        {**CROSSED, "output_values": ["1-40-600", "2-50-700", "3-50-700"]},
    ),
    samples=_columns(sep=np.array("_X_", object)),
    rejects=REJECTS,
)
def sparse_cross_v2(indices: Any, values: Any, shapes: Any, dense_inputs: Any, sep: Any) -> Any:
    """Crosses of columns as texts.

    A column is sparse or dense, of texts or of numbers; for each row every choice of one entry from each is a cross.
    """
    features, entries, places, shape = _chosen(indices, values, shapes, dense_inputs)
    return places, _joined(features, entries, sep.item()), shape


@sparse_cross_v2.shapes
def _(indices: Any, values: Any, shapes: Any, dense_inputs: Any, sep: Known) -> Any:
    return _outline(indices, values, shapes, dense_inputs, "string")


# ------------------------------------------------------------------ SparseCrossHashed
@op(
    "SparseCrossHashed",
    inputs=[
        *LISTS,
        Arg("num_buckets", "int64", "", "How many numbers there are; 0 for as many as int64 has."),
        Arg(
            "strong_hash", "bool", "", "Whether to hash texts with the key, so that nobody can choose some that agree."
        ),
        Arg("salt", "int64", "2", "The key, for a strong hash."),
    ],
    outputs=[PLACES, Arg("output_values", "int64", "crosses", "The crosses."), SHAPE],
    types=TYPES,
    example=Example(
        {**COLUMNS, "num_buckets": 1000, "strong_hash": False, "salt": [1, 2]},
        {**CROSSED, "output_values": [269, 680, 588]},
    ),
    samples=_columns(num_buckets=np.int64(0), strong_hash=np.bool_(False), salt=np.array([7, -9])),
    rejects=[*REJECTS, Reject({"salt": [1, 2, 3]}, r"salt must have shape \[2\]; got \[3\]")],
)
def sparse_cross_hashed(
    indices: Any, values: Any, shapes: Any, dense_inputs: Any, num_buckets: Any, strong_hash: Any, salt: Any
) -> Any:
    """Crosses of columns as numbers.

    A column is sparse or dense, of texts or of numbers; for each row every choice of one entry from each is a cross.
    """
    features, entries, places, shape = _chosen(indices, values, shapes, dense_inputs)
    key = (int(salt[0]) % 2**64, int(salt[1]) % 2**64) if strong_hash else None
    sparse = len(_present(values))
    numbers = [_hashed(one, place < sparse, key) for place, one in enumerate(features)]
    return places, _bounded(_crossed(numbers, entries, None), int(num_buckets)), shape


def _hashed(feature: Array, sparse: bool, key: tuple[int, int] | None) -> Array:
    """Of numbers TensorFlow hashes four bytes, the size of its enum of dtypes; dense ones it takes as they are.

    With a key it crashes on dense ones, which are hashed here as sparse ones.
    """
    if feature.dtype.kind != "i":
        return hashing.fingerprints(feature.tolist(), key)
    if not sparse and key is None:
        return feature.astype(np.uint64)
    return hashing.fingerprints([number.tobytes()[:4] for number in feature.astype("<i8")], key)


@sparse_cross_hashed.shapes
def _(
    indices: Any, values: Any, shapes: Any, dense_inputs: Any, num_buckets: Known, strong_hash: Known, salt: Known
) -> Any:
    return _outline(indices, values, shapes, dense_inputs, "int64")
