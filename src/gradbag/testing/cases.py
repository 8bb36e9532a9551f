"""Cases from a declaration: its example and its samples, in every dtype and memory layout it promises."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import attributes, dtypes
from ..spec import Arg, Op

Array = np.ndarray[Any, Any]
USUAL = {
    "T": "float64",
    "Tidx": "int64",
    "Tsegmentids": "int32",
}  # type variables, where a test needs only one choice


@dataclass(frozen=True)
class Case:
    """One call: inputs in declared order, of definite dtypes; a list of arrays, or None, where the op takes that."""

    op: Op
    types: Mapping[str, str]
    inputs: Mapping[str, Any]
    attrs: Mapping[str, Any]
    label: str

    @property
    def arrays(self) -> list[Any]:
        """The inputs in declared order, and flat."""
        return self.op.flat(list(self.inputs.values()))

    @property
    def given(self) -> list[tuple[int, str, Array]]:
        """The arrays that are not left out: their places among the flat inputs, what they are called, and they."""
        arrays = self.arrays
        named = enumerate(zip(self.op.flat_names(len(arrays)), arrays, strict=True))
        return [(place, name, array) for place, (name, array) in named if array is not None]

    @property
    def updated(self) -> list[Array]:
        """The arrays that a call changes."""
        arrays = self.arrays
        return [arrays[place] for place in self.op.flat_updates(len(arrays))]

    def replaced(self, places: Mapping[int, Any], label: str = "") -> Case:
        """The same call with other values at some places of the flat inputs."""
        values = [places.get(place, array) for place, array in enumerate(self.arrays)]
        named = dict(zip(self.op.input_names, self.op.grouped(values), strict=True))
        return replace(self, inputs=named, label=label or self.label)

    def fresh(self) -> Case:
        """The same call with copies of what it changes, to make it again."""
        arrays = self.arrays
        return self.replaced({place: arrays[place].copy() for place in self.op.flat_updates(len(arrays))})

    def __str__(self) -> str:
        return f"{self.op.name}-{'-'.join(self.types.values())}-{self.label}"


def type_choices(op: Op) -> Iterator[dict[str, str]]:
    """Every combination of the dtypes that the type variables can take."""
    variables = list(op.types)
    for names in itertools.product(*(op.types[v] for v in variables)):
        yield dict(zip(variables, names, strict=True))


def usual_types(op: Op) -> dict[str, str]:
    """One combination: float64 values, mixed index types."""
    chosen = {v: USUAL.get(v, "float64") for v in op.types}
    return {v: chosen[v] if chosen[v] in names else names[0] for v, names in op.types.items()}


def floating_types(op: Op, name: str) -> dict[str, str] | None:
    """The usual types with floating ones of this name; None if there is a variable that does not take it."""
    floating = [v for v, names in op.types.items() if not dtypes.DIFFERENTIABLE.isdisjoint(names)]
    if any(name not in op.types[v] for v in floating):
        return None
    return {**usual_types(op), **dict.fromkeys(floating, name)}


def cases(op: Op, types: Mapping[str, str] | None = None, seed: int = 0) -> Iterator[Case]:
    """The example and all samples, in the given dtypes or in every combination."""
    for chosen in type_choices(op) if types is None else [types]:
        rng = np.random.default_rng(seed)
        samples = [
            ("example", op.example.inputs),
            *((f"sample{k}", s) for k, s in enumerate(op.samples(rng))),
        ]
        for label, inputs in samples:
            yield case_of(op, chosen, inputs, label)


def case_of(op: Op, types: Mapping[str, str], inputs: Mapping[str, Any], label: str) -> Case:
    """A call with these inputs and attributes, cast to the given dtypes."""
    arrays = {a.name: _input(a, inputs.get(a.name), types.get(a.dtype, a.dtype)) for a in op.inputs}
    if op.lists:
        arrays = dict(zip(arrays, op.listed(list(arrays.values())), strict=True))
    given = {a.name: inputs[a.name] for a in op.attrs if a.name in inputs}
    given |= {v: types[v] for v in types if v in op.attr_defaults}  # an attribute that is a type variable
    given |= {a.name: cast(given[a.name], given["dtype"]) for a in op.attrs if a.kind == "tensor"}
    return Case(op, types, arrays, attributes.normal(op, given), label)


def _input(arg: Arg, value: Any, name: str) -> Any:
    if value is None and arg.optional:
        return None
    return [cast(v, name) for v in value] if arg.many else cast(value, name)


def cast(value: Any, name: str) -> Array:
    """A sample's value in a dtype; reals become complex, string or quantized values in a way that keeps them apart."""
    array = np.asarray(value)
    dtype = dtypes.numpy_dtype(name)
    if name == "string" and dtypes.is_string(array.dtype):
        return array.astype(object)
    if name == "string":
        return np.array([f"text {v:.3g}" for v in array.flat], dtype=object).reshape(array.shape)
    if name == "bool":
        return np.asarray(array > 0)
    if name in dtypes.COMPLEX:
        return np.asarray(array + 1j * (array * 0.5 - 1)).astype(dtype)
    if name in dtypes.QUANTIZED:
        return cast(array, str(dtype[0])).view(dtype)
    if dtype.kind in "iu" and array.dtype.kind == "f":
        array = np.asarray(np.rint(array)).astype(np.int64)  # from there a negative number wraps, by definition
    return array.astype(dtype)


def layouts(array: Array) -> Iterator[tuple[str, Array]]:
    """The same values in every form in which NumPy may hold them."""
    frozen = array.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    if array.ndim:
        spread = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        spread[..., ::2] = array
        yield "every second", spread[..., ::2]
        yield "backwards", array[::-1].copy()[::-1]
        yield "column-major", np.array(array, order="F")
    if array.dtype.kind not in "OT" and array.dtype.itemsize > 1:
        buffer = np.zeros(array.nbytes + 1, np.uint8)
        unaligned = buffer[1:].view(array.dtype).reshape(array.shape)
        unaligned[...] = array
        yield "unaligned", unaligned
    if array.dtype.kind in "iufc" and array.dtype.itemsize > 1:
        yield "other byte order", array.astype(array.dtype.newbyteorder())
