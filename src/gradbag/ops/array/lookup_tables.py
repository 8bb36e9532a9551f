"""Tables from keys to values. A session keeps them; outside of one a table is a matrix: a key and a value a row."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import numpy_dtype
from ...errors import Fault, InvalidArgumentError
from ...spec import REQUIRED, Arg, Attr, Example, Reject, op, titled
from .array_samples import Rng, nothing

Array = np.ndarray[Any, Any]
KEYS = ("string", "int64", "int32")
VALUES = ("int64", "string", "float32", "float64", "int32", "bool")
PAIRS = [["3", "30"], ["5", "50"]]
TABLE = Arg("table_handle", "string", "n 2", "The table.", handle=True)
SHARED = "The name under which it is kept, if not that of the node."
ATTRS = [
    Attr("key_dtype", REQUIRED, "The dtype of the keys.", "type", KEYS),
    Attr("value_dtype", REQUIRED, "The dtype of the values.", "type", VALUES),
    Attr("container", "", "Without effect, for TensorFlow's sake.", "string"),
    Attr("shared_name", "", SHARED, "string"),
    Attr("use_node_name_sharing", False, "Without effect, for TensorFlow's sake."),
]


def _declare_table(name: str, doc: str) -> None:
    def body(key_dtype: str, value_dtype: str, container: str, shared_name: str, use_node_name_sharing: bool) -> Any:
        raise InvalidArgumentError(
            f"{name}: there is no value; a session keeps the table, and LookupTableImportV2 fills it"
        )

    op(
        name,
        inputs=[],
        outputs=[TABLE],
        attrs=ATTRS,
        types={},
        state="variable",
        example=Example({"key_dtype": "string", "value_dtype": "int64"}, {"table_handle": PAIRS}),
        samples=nothing,
    )(titled(name, doc)(body)).shapes(lambda **_: [(None, 2)])


_declare_table("HashTableV2", "A table from keys to values that is filled once.")
_declare_table("MutableHashTableV2", "A table from keys to values.")


def text_of(value: Any) -> str | bytes:
    """A key or a value as a table keeps it."""
    if isinstance(value, (str, bytes)):
        return value
    return repr(value.item() if isinstance(value, np.generic) else value)


def pairs(keys: Array, values: Array) -> Array:
    """The table of some keys and values."""
    found = np.empty((keys.size, 2), object)
    found[:, 0] = [text_of(key) for key in keys.flat]
    found[:, 1] = [text_of(value) for value in values.flat]
    return found


def _read(text: str | bytes, dtype: str) -> Any:
    if dtype == "string":
        return text
    plain = text.decode() if isinstance(text, bytes) else text
    try:
        return plain == "True" if dtype == "bool" else numpy_dtype(dtype).type(plain)
    except ValueError:
        raise Fault("rule", "table_handle", (), plain, hint=f"must be a value of {dtype}") from None


def columns(table: Array, *kinds: str) -> list[Array]:
    """The keys and the values of a table, in their dtypes."""
    made = [np.empty(len(table), numpy_dtype(kind)) for kind in kinds]
    for place, (kind, column) in enumerate(zip(kinds, made, strict=True)):
        column[:] = [_read(text, kind) for text in table[:, place]]
    return made


def _as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


_made: list[tuple[Any, str, dict[bytes, Any]]] = []  # of the tables that were used last, with weak references


def _dictionary(table: Array, dtype: str) -> dict[bytes, Any]:
    for place, (of, kind, found) in enumerate(_made):
        if kind == dtype and of() is table:
            _made.append(_made.pop(place))
            return found
    found = {_as_bytes(key): _read(value, dtype) for key, value in table.tolist()}
    _made.append((weakref.ref(table), dtype, found))
    del _made[:-16]
    return found


# ------------------------------------------------------------------ LookupTableFindV2
def _finding(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in [(3,), (2, 2), (), (0,)]:
        yield {"table_handle": PAIRS, "keys": rng.integers(2, 7, shape), "default_value": 7}
    # What a key that is text looks like.
    yield {"table_handle": [["text 3", "30"], ["text 4", "40"]], "keys": np.array([4, 3, 5]), "default_value": 7}


@op(
    "LookupTableFindV2",
    inputs=[
        TABLE,
        Arg("keys", "Tin", "*shape", "The keys to look for."),
        Arg("default_value", "Tout", "*_", "The value of keys that are not there."),
    ],
    outputs=[Arg("values", "Tout", "*shape", "The value of each key.")],
    types={"Tin": KEYS, "Tout": VALUES},
    no_grad=["default_value"],
    example=Example(
        {"table_handle": PAIRS, "keys": [5, 4], "default_value": -1},
        {"values": [50, -1]},
        dtypes={"Tin": "int64", "Tout": "int64"},
    ),
    samples=_finding,
)
def lookup_table_find_v2(table_handle: Any, keys: Any, default_value: Any) -> Any:
    """The values of some keys in a table."""
    dtype = "string" if default_value.dtype.kind == "O" else str(default_value.dtype)
    found, other = _dictionary(table_handle, dtype), default_value.reshape(-1)[0]
    values = [found.get(_as_bytes(text_of(key)), other) for key in keys.flat]
    answer = np.empty(keys.size, default_value.dtype)
    answer[:] = values
    return answer.reshape(keys.shape)


@lookup_table_find_v2.check
def _(table_handle: Any, keys: Any, default_value: Any) -> None:
    if default_value.size != 1:
        raise Fault("shape", "default_value", (), default_value.shape, hint="must be that of one value")


# ------------------------------------------------------------------ LookupTableSizeV2
def _tables(rng: Rng) -> Iterator[dict[str, Any]]:
    yield {"table_handle": PAIRS}


@op(
    "LookupTableSizeV2",
    inputs=[TABLE],
    outputs=[Arg("size", "int64", "", "How many keys it has.")],
    types={},
    example=Example({"table_handle": PAIRS}, {"size": 2}),
    samples=_tables,
)
def lookup_table_size_v2(table_handle: Any) -> Any:
    """How many keys a table has."""
    return np.int64(len(table_handle))


# ------------------------------------------------------------------ filling
def _filling(rng: Rng) -> Iterator[dict[str, Any]]:
    yield {"table_handle": PAIRS, "keys": np.array([1, 2]), "values": [1, 2]}


def _declare_filling(name: str, key: str, value: str, doc: str) -> None:
    def body(table_handle: Any, keys: Any, values: Any) -> Any:
        return pairs(keys, values)

    made = op(
        name,
        inputs=[
            TABLE,
            Arg("keys", key, "entries", "The keys, each of them once."),
            Arg("values", value, "entries", "The value of each key."),
        ],
        outputs=[],
        types={key: KEYS, value: VALUES},
        no_grad=["values"],
        state="assign",
        example=Example({"table_handle": PAIRS, "keys": [3], "values": [1]}, {}, dtypes={key: "int64", value: "int64"}),
        samples=_filling,
        rejects=[Reject({"keys": [1, 2, 1], "values": [1, 2, 3]}, r"keys\[2\] == 1 stands there twice")],
    )(titled(name, doc)(body))
    made.check(_check_keys)


def _check_keys(table_handle: Any, keys: Any, values: Any) -> None:
    known: set[Any] = set()
    for place, key in enumerate(keys.tolist()):
        if key in known:
            raise Fault("rule", "keys", (place,), key, hint="stands there twice")
        known.add(key)


_declare_filling("LookupTableImportV2", "Tin", "Tout", "Give a table its keys and values, in place of those it has.")
_declare_filling("InitializeTableV2", "Tkey", "Tval", "Give a table its keys and values.")
