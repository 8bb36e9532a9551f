"""Random numbers with TensorFlow's bits for given seeds. In a graph each run draws on; a call by itself begins anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from ... import philox
from ...dtypes import INDEX
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op, titled
from .array_samples import Rng
from .sizes import held_sizes, possible, unknown_sizes

Array = np.ndarray[Any, Any]
FLOATING = ("float32", "float64")
SEEDS = [
    Attr("seed", 0, "Together with seed2 it decides the numbers; if both are 0 they are others every time.", "int"),
    Attr("seed2", 0, "See seed.", "int"),
]
DTYPE = Attr("dtype", REQUIRED, "The dtype of the numbers.", "type")
DRAWN = "The random numbers."
NEGATIVE = Reject({"shape": [-1]}, r"shape\[0\] == -1 must not be negative")


def _shape(shape: Known, dtype: str) -> Any:
    if shape.value is None:
        return [unknown_sizes(shape.shape)]
    return [possible("shape", held_sizes("shape", shape.value), dtype)]


def _samples(**rest: Any) -> Callable[[Rng], Iterator[dict[str, Any]]]:
    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for shape in ([3, 4], [7], [0, 2], []):
            yield {"shape": np.array(shape, int), **{k: v(rng) if callable(v) else v for k, v in rest.items()}}

    return samples


def _uniform(key: int, high: int, begin: int, count: int, dtype: str, low: int = 0) -> Array:
    return philox.units(philox.words(key, high, begin, count * _words(dtype), low), dtype)


def _normal(key: int, high: int, begin: int, count: int, dtype: str, low: int = 0) -> Array:
    each = _words(dtype)
    return philox.normals(philox.words(key, high, begin, (count + count % 2) * each, low), dtype)[:count]


def _words(dtype: str) -> int:
    return 1 if dtype == "float32" else 2


_KINDS = {
    "Uniform": (_uniform, "Numbers from 0 on, below 1, all equally likely.", "RandomUniform"),
    "Normal": (_normal, "Normal numbers of mean 0 and deviation 1.", "RandomStandardNormal"),
    "TruncatedNormal": (
        philox.truncated_normals,
        "Normal numbers of mean 0 and deviation 1, but for those of 2 and more in size.",
        "TruncatedNormal",
    ),
}


def _declare(kind: str) -> None:
    draw, doc, name = _KINDS[kind]
    first = draw(5, 9, 0, 2, "float32").tolist()

    def body(shape: Any, dtype: str, seed: int, seed2: int) -> Any:
        count = prod(shape.tolist())
        begin = philox.reserved(count * philox.RESERVED)
        return draw(*philox.seeded(seed, seed2), begin, count, dtype).reshape(shape.tolist())

    made = op(
        name,
        inputs=[Arg("shape", "T", "rank", "The lengths of the axes.")],
        outputs=[Arg("output", "dtype", "*shape", DRAWN)],
        attrs=[DTYPE, *SEEDS],
        types={"T": INDEX, "dtype": FLOATING},
        state="random",
        example=Example({"shape": [2], "dtype": "float32", "seed": 5, "seed2": 9}, {"output": first}),
        samples=_samples(seed=5, seed2=2**40 + 9),
        rejects=[NEGATIVE],
    )(titled(name, doc)(body))
    made.shapes(lambda shape, dtype, seed, seed2: _shape(shape, dtype))

    def stateless(shape: Any, key: Any, counter: Any, alg: Any, dtype: str) -> Any:
        count = prod(shape.tolist())
        found = draw(int(key[0]), int(counter[1]), 0, count, dtype, low=int(counter[0]))
        return found.reshape(shape.tolist())

    name = f"Stateless{kind if kind.startswith('T') else f'Random{kind}'}V2"
    made = op(
        name,
        inputs=[Arg("shape", "Tshape", "rank", "The lengths of the axes."), *KEYED],
        outputs=[Arg("output", "dtype", "*shape", DRAWN)],
        attrs=[Attr("dtype", "float32", "The dtype of the numbers.", "type")],
        types={"Tshape": INDEX, "dtype": FLOATING},
        example=Example({"shape": [2], "key": [5], "counter": [0, 9], "alg": 1}, {"output": first}),
        samples=_samples(**KEYS),
        rejects=[NEGATIVE, *KEY_REJECTS],
    )(titled(name, f"{doc} They follow from key and counter alone.")(stateless))
    made.shapes(lambda shape, key, counter, alg, dtype: _shape(shape, dtype))
    made.check(_check_key)


KEYED = [
    Arg("key", "uint64", "_", "The key of the generator, one number."),
    Arg("counter", "uint64", "_", "Where it begins, two numbers."),
    Arg("alg", "int32", "", "The generator: 1 for Philox, or 3 for whatever TensorFlow takes, which is that."),
]
KEYS: dict[str, Any] = {
    "key": lambda rng: rng.integers(0, 2**63, 1, np.uint64),
    "counter": lambda rng: rng.integers(0, 2**63, 2, np.uint64),
    "alg": 1,
}
KEY_REJECTS = [
    Reject({"key": [1, 2]}, r"key has shape \[2\], which must be that of one number"),
    Reject({"counter": [1]}, r"counter has shape \[1\], which must be that of two numbers"),
    Reject({"alg": 2}, r"alg == 2 must be 1 or 3"),
]


def _check_key(shape: Any, key: Any, counter: Any, alg: Any) -> None:
    if len(key) != 1:
        raise Fault("shape", "key", (), key.shape, hint="must be that of one number")
    if len(counter) != 2:
        raise Fault("shape", "counter", (), counter.shape, hint="must be that of two numbers")
    if alg not in (1, 3):
        raise Fault("rule", "alg", (), int(alg), hint="must be 1 or 3: there is no other generator here than Philox")


for _kind in _KINDS:
    _declare(_kind)


# ------------------------------------------------------------------ RandomUniformInt
BOUNDS = [
    Arg("minval", "Tout", "", "The smallest number."),
    Arg("maxval", "Tout", "", "One more than the largest number."),
]
EMPTY = Reject({"minval": 5, "maxval": 5}, r"maxval == 5 must be above minval, 5")


def _integers(key: int, high: int, begin: int, shape: Any, minval: Any, maxval: Any, low: int = 0) -> Array:
    count, wide = prod(shape.tolist()), minval.dtype.itemsize == 8
    drawn = philox.words(key, high, begin, count * (2 if wide else 1), low)
    if wide:
        longer = drawn.astype(np.uint64)
        drawn = longer[0::2] | longer[1::2] << np.uint64(32)
    span = drawn.dtype.type((int(maxval) - int(minval)) % 2 ** (8 * drawn.itemsize))
    return np.asarray((drawn % span).view(minval.dtype) + minval).astype(minval.dtype).reshape(shape.tolist())


def _check_bounds(minval: Any, maxval: Any) -> None:
    if minval >= maxval:
        raise Fault("rule", "maxval", (), int(maxval), hint=f"must be above minval, {int(minval)}")


@op(
    "RandomUniformInt",
    inputs=[Arg("shape", "T", "rank", "The lengths of the axes."), *BOUNDS],
    outputs=[Arg("output", "Tout", "*shape", DRAWN)],
    attrs=SEEDS,
    types={"Tout": INDEX, "T": INDEX},
    state="random",
    example=Example({"shape": [3], "minval": 3, "maxval": 40, "seed": 5, "seed2": 9}, {"output": [3, 23, 9]}),
    samples=_samples(minval=-3, maxval=4, seed=5, seed2=9),
    rejects=[NEGATIVE, EMPTY],
)
def random_uniform_int(shape: Any, minval: Any, maxval: Any, seed: int, seed2: int) -> Any:
    """Whole numbers between two bounds."""
    begin = philox.reserved(prod(shape.tolist()) * philox.RESERVED)
    return _integers(*philox.seeded(seed, seed2), begin, shape, minval, maxval)


@random_uniform_int.shapes
def _(shape: Known, minval: Known, maxval: Known, seed: int, seed2: int) -> Any:
    return _shape(shape, minval.dtype)


@random_uniform_int.check
def _(shape: Any, minval: Any, maxval: Any) -> None:
    _check_bounds(minval, maxval)


# ------------------------------------------------------------------ StatelessRandomUniformIntV2
def _bounded(arg: Arg) -> Arg:
    return Arg(arg.name, "dtype", "", arg.doc)


@op(
    "StatelessRandomUniformIntV2",
    inputs=[Arg("shape", "Tshape", "rank", "The lengths of the axes."), *KEYED, *map(_bounded, BOUNDS)],
    outputs=[Arg("output", "dtype", "*shape", DRAWN)],
    types={"dtype": INDEX, "Tshape": INDEX},
    example=Example(
        {"shape": [3], "key": [5], "counter": [0, 9], "alg": 1, "minval": 3, "maxval": 40}, {"output": [3, 23, 9]}
    ),
    samples=_samples(**KEYS, minval=-3, maxval=4),
    rejects=[NEGATIVE, EMPTY, *KEY_REJECTS],
)
def stateless_random_uniform_int_v2(shape: Any, key: Any, counter: Any, alg: Any, minval: Any, maxval: Any) -> Any:
    """Whole numbers between two bounds, which follow from key and counter alone."""
    return _integers(int(key[0]), int(counter[1]), 0, shape, minval, maxval, low=int(counter[0]))


@stateless_random_uniform_int_v2.shapes
def _(shape: Known, key: Known, counter: Known, alg: Known, minval: Known, maxval: Known) -> Any:
    return _shape(shape, minval.dtype)


@stateless_random_uniform_int_v2.check
def _(shape: Any, key: Any, counter: Any, alg: Any, minval: Any, maxval: Any) -> None:
    _check_key(shape, key, counter, alg)
    _check_bounds(minval, maxval)


# ------------------------------------------------------------------ StatelessRandomGetKeyCounter
def _seeds(rng: Rng) -> Iterator[dict[str, Any]]:
    for _ in range(3):
        yield {"seed": rng.integers(-(2**30), 2**30, 2)}


@op(
    "StatelessRandomGetKeyCounter",
    inputs=[Arg("seed", "Tseed", "2", "Two seeds.")],
    outputs=[Arg("key", "uint64", "1", "The key of the generator."), Arg("counter", "uint64", "2", "Where it begins.")],
    types={"Tseed": INDEX},
    example=Example({"seed": [1, 2]}, {"key": [10413732777507651514], "counter": [0, 17830669156045600267]}),
    samples=_seeds,
    rejects=[Reject({"seed": [1]}, r"seed must have shape \[2\]")],
)
def stateless_random_get_key_counter(seed: Any) -> Any:
    """What the ops without a state of their own take, from two seeds that need not be good ones."""
    key, high = philox.scrambled(int(seed[0]), int(seed[1]))
    return np.array([key], np.uint64), np.array([0, high], np.uint64)
