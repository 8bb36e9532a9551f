"""Segments, distinct values and sparse arrays beside TensorFlow, PyTorch and JAX.

python benchmarks/family.py [--quick] [--threads 1 2] [--only WORD ...]

Every number of threads is a process of its own, since TensorFlow asks once. Results are compared before anything is
timed; the peers take turns, and a ratio is the median of those inside the rounds: above one, gradbag is quicker.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import measure
import numpy as np

Call = Callable[[], Any]
OWN, TENSORFLOW = "gradbag", "TensorFlow"
EFFORTS = {False: measure.Effort(5, 15, 1.0, 0.003), True: measure.Effort(3, 5, 0.2, 0.001)}


class Task(NamedTuple):
    """An op with inputs; `others` are ways in which other packages do the same, given NumPy arrays."""

    op: str
    size: str
    inputs: dict[str, Any]
    others: Mapping[str, Callable[..., Call]] = MappingProxyType({})
    exact: bool = True  # TensorFlow has the op, and its answers are compared


# ------------------------------------------------------------------ inputs
def sparse(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> tuple[Any, Any, Any]:
    """Distinct places in row-major order, values, and the shape."""
    flat = np.unique(rng.integers(0, int(np.prod(shape)), count))
    places = np.stack(np.unravel_index(flat, shape), 1).astype(np.int64)
    return places, rng.standard_normal(len(flat)).astype(np.float32), np.array(shape, np.int64)


SEGMENTS = [(10, 3, 4), (20_000, 500, 1), (200_000, 10_000, 8), (200_000, 1_000, 64), (50_000, 20_000, 100)]
MATRICES = [(8, 6, 10, 4), (2_000, 3_000, 20_000, 16), (20_000, 20_000, 300_000, 64), (5_000, 100_000, 200_000, 37)]
ENTRIES = [((5, 6), 12), ((1_000, 300), 20_000), ((3_000, 50, 40), 300_000), ((100_000, 1_000), 500_000)]


def segments(rng: np.random.Generator, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for rows, count, columns in SEGMENTS[:: 2 if quick else 1]:
        data = rng.standard_normal((rows, columns) if columns > 1 else (rows,)).astype(np.float32)
        ids = rng.integers(0, count, rows)
        yield f"{rows} x {columns} to {count}", {"data": data, "segment_ids": ids, "num_segments": count}


def tasks(quick: bool) -> Iterator[Task]:
    rng = np.random.default_rng(0)
    for size, given in segments(rng, quick):
        for kind, reduce in {"Sum": "sum", "Max": "amax", "Min": "amin", "Prod": "prod"}.items():
            others = {"torch scatter_reduce": partial(scatter_reduce, reduce), "JAX": partial(jax_segments, kind)}
            if given["data"].ndim > 1:
                others["torch index_add" if kind == "Sum" else "torch index_reduce"] = partial(index_reduce, reduce)
            count = {"num_segments": np.int32(given["num_segments"])}
            yield Task(f"UnsortedSegment{kind}", size, {**given, **count}, others)
        ordered = {"data": given["data"], "segment_ids": np.sort(given["segment_ids"])}
        for kind in ("Sum", "Mean", "Max", "Min", "Prod"):
            yield Task(f"Segment{kind}", size, ordered)
        whole = {**given, "num_segments": np.int64(given["num_segments"])}
        yield Task("SegmentSoftmax", size, whole, {"torch composed": composed_softmax}, False)
        yield Task("SegmentLogSumExp", size, whole, {"torch composed": composed_log_sum_exp}, False)
        yield Task("SegmentMaxWithPositions", size, whole, {}, False)
    for rows, inner, count, columns in MATRICES[:: 2 if quick else 1]:
        places, values, shape = sparse(rng, (rows, inner), count)
        for adjoint in (False, True):
            dense = rng.standard_normal((rows if adjoint else inner, columns)).astype(np.float32)
            given = {"a_indices": places, "a_values": values, "a_shape": shape, "b": dense, "adjoint_a": adjoint}
            size = f"{rows} x {inner} x {columns}, {len(values)} entries{', adjoint' if adjoint else ''}"
            yield Task("SparseTensorDenseMatMul", size, given)
    for count, distinct in [(20, 9), (20_000, 5_000), (500_000, 1_000), (500_000, 400_000)][:: 2 if quick else 1]:
        for spread in (1, 2**37 + 3):
            x = rng.integers(0, distinct, count) * spread
            size = f"{count} of {distinct}{'' if spread == 1 else ' far apart'}"
            yield Task("Unique", size, {"x": x})
            yield Task("UniqueWithCounts", size, {"x": x})
        yield Task("DenseBincount", size, {"input": x // spread, "size": np.int64(distinct), "weights": np.float32([])})
    for shape, count in ENTRIES[:: 2 if quick else 1]:
        yield from sparse_tasks(rng, shape, count)


def sparse_tasks(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> Iterator[Task]:
    places, values, sizes = sparse(rng, shape, count)
    others, more, _ = sparse(rng, shape, count)
    size = f"{' x '.join(map(str, shape))}, {len(values)} entries"
    for axis in (0, len(shape) - 1):
        joined = {"indices": [places, others], "values": [values, more], "shapes": [sizes, sizes], "concat_dim": axis}
        yield Task("SparseConcat", f"{size}, axis {axis}", joined)
        cut = {"split_dim": np.int64(axis), "indices": places, "values": values, "shape": sizes, "num_split": 3}
        yield Task("SparseSplit", f"{size}, axis {axis}", cut)
        given = {
            "input_indices": places,
            "input_values": values,
            "input_shape": sizes,
            "reduction_axes": np.array([axis], np.int32),
        }
        for op in ("SparseReduceSum", "SparseReduceMax"):
            yield Task(op, f"{size}, axis {axis}", given)
    order = rng.permutation(len(values))
    mixed = {"input_indices": places[order], "input_values": values[order], "input_shape": sizes}
    yield Task("SparseReorder", size, mixed)
    wanted = np.array([shape[0] * shape[1], *shape[2:]], np.int64)
    yield Task("SparseReshape", size, {"input_indices": places, "input_shape": sizes, "new_shape": wanted})
    a, b = {"a": (places, values), "b": (others, more)}.values()
    both = {f"{n}_{k}": v for n, (i, w) in (("a", a), ("b", b)) for k, v in zip(PARTS, (i, w, sizes), strict=True)}
    yield Task("SparseAdd", size, {**both, "thresh": np.float32(0)})
    yield Task("SparseSparseMaximum", size, both)
    yield Task(
        "GatherNd",
        size,
        {"params": rng.standard_normal(shape[:2]).astype(np.float32), "indices": np.ascontiguousarray(others[:, :2])},
    )
    table = rng.standard_normal((shape[0], 16)).astype(np.float32)
    yield Task(
        "GatherV2",
        size,
        {"params": table, "indices": others[:, 0][order[: len(others)] % len(others)], "axis": np.int32(0)},
    )
    parts = rng.integers(0, 4, len(values)).astype(np.int32)
    yield Task("DynamicPartition", size, {"data": values, "partitions": parts, "num_partitions": 4})
    half = len(order) // 2
    stitched = {"indices": [order[:half].astype(np.int32), order[half:].astype(np.int32)]}
    yield Task("DynamicStitch", size, {**stitched, "data": [values[:half], values[half:]]})


PARTS = ("indices", "values", "shape")


# ------------------------------------------------------------------ other packages
def scatter_reduce(reduce: str, data: Any, segment_ids: Any, num_segments: Any) -> Call:
    import torch

    values, ids = torch.from_numpy(data), torch.from_numpy(segment_ids)
    ids = ids.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values).contiguous()
    shape = (int(num_segments), *values.shape[1:])

    def call() -> Any:
        made = torch.zeros(shape)
        return made.scatter_reduce_(0, ids, values, reduce, include_self=reduce == "sum")

    return call


def index_reduce(reduce: str, data: Any, segment_ids: Any, num_segments: Any) -> Call:
    import torch

    values, ids = torch.from_numpy(data), torch.from_numpy(segment_ids)
    shape = (int(num_segments), *values.shape[1:])
    if reduce == "sum":
        return lambda: torch.zeros(shape).index_add_(0, ids, values)
    return lambda: torch.zeros(shape).index_reduce_(0, ids, values, reduce, include_self=False)


def jax_segments(kind: str, data: Any, segment_ids: Any, num_segments: Any) -> Call:
    import jax

    run = jax.jit(getattr(jax.ops, f"segment_{kind.lower()}"), static_argnums=2)
    values, ids = jax.numpy.asarray(data), jax.numpy.asarray(segment_ids)
    return lambda: run(values, ids, int(num_segments)).block_until_ready()


def composed_softmax(data: Any, segment_ids: Any, num_segments: Any) -> Call:
    """As PyG composes it: the largest of each segment, exponentials below it, and their sums."""
    import torch

    values, ids = torch.from_numpy(data), torch.from_numpy(segment_ids)
    spread = ids.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    shape = (int(num_segments), *values.shape[1:])

    def call() -> Any:
        largest = torch.zeros(shape).scatter_reduce_(0, spread, values, "amax", include_self=False)
        powers = (values - largest.index_select(0, ids)).exp()
        total = torch.zeros(shape).scatter_add_(0, spread, powers) + 1e-16
        return powers / total.index_select(0, ids)

    return call


def composed_log_sum_exp(data: Any, segment_ids: Any, num_segments: Any) -> Call:
    import torch

    values, ids = torch.from_numpy(data), torch.from_numpy(segment_ids)
    spread = ids.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    shape = (int(num_segments), *values.shape[1:])

    def call() -> Any:
        largest = torch.full(shape, -torch.inf).scatter_reduce_(0, spread, values, "amax")
        powers = (values - largest.index_select(0, ids)).exp()
        return largest + torch.zeros(shape).scatter_add_(0, spread, powers).log()

    return call


# ------------------------------------------------------------------ right, or it does not count
def flat(answer: Any) -> list[Any]:
    if isinstance(answer, (list, tuple)):
        return [array for part in answer for array in flat(part)]
    return [np.asarray(answer)]


def check(name: str, ours: list[Any], theirs: list[Any], among: Any = slice(None)) -> None:
    for one, other in zip(ours, theirs, strict=True):
        if one.shape != other.shape or not np.allclose(one[among], other[among], rtol=2e-4, atol=2e-4, equal_nan=True):
            raise AssertionError(f"{name} gives something else")


def peers(task: Task) -> dict[str, Call]:
    import tensorflow as tf

    import gradbag

    settings = {"adjoint_a", "concat_dim", "num_split", "num_partitions"}
    made: dict[str, Call] = {OWN: partial(getattr(gradbag.raw_ops, task.op), **task.inputs)}
    ours = flat(made[OWN]())
    if task.exact:
        tensors = {
            name: value if name in settings else tf.nest.map_structure(tf.constant, value)
            for name, value in task.inputs.items()
        }
        made[TENSORFLOW] = partial(getattr(tf.raw_ops, task.op), **tensors)
        check(TENSORFLOW, ours, flat(tf.nest.map_structure(lambda t: t.numpy(), made[TENSORFLOW]())))
    # Where a segment has no rows, packages have numbers of their own.
    among = slice(None)
    if task.others and len(ours[0]) == int(task.inputs["num_segments"]):
        among = np.unique(task.inputs["segment_ids"])
    for name, make in task.others.items():
        made[name] = make(**task.inputs)
        check(name, ours, flat(made[name]()), among)
    return made


def run(quick: bool, threads: int, only: list[str]) -> None:
    import tensorflow as tf
    import torch

    import gradbag

    gradbag.set_num_threads(threads)
    torch.set_num_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    ratios: dict[tuple[str, str], list[float]] = {}
    for task in tasks(quick):
        if only and not any(word in task.op for word in only):
            continue
        comparison = measure.Comparison(peers(task), EFFORTS[quick])
        comparison.run()
        beside = {name: comparison.ratio(name) for name in list(comparison.peers) if name != OWN}
        for name, ratio in sorted(beside.items()):
            ratios.setdefault((task.op, name), []).append(ratio)
        shown = "  ".join(f"{name} {ratio:.2f}x" for name, ratio in sorted(beside.items()))
        print(f"{task.op:24} {task.size:44} {comparison.seconds(OWN) * 1e6:10.1f} µs  {shown}", flush=True)
    print(f"\n{threads} threads: geometric mean (least, most) of how many times longer others take")
    for (op, name), found in sorted(ratios.items()):
        about = measure.summary(found)
        print(f"{op:24} {name:22} {about['mean']:7.2f}x ({about['min']:.2f}-{about['max']:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    if len(given.threads) == 1:
        return run(given.quick, given.threads[0], given.only)
    for threads in given.threads:
        print(f"\n{threads} threads", flush=True)
        again = [sys.executable, __file__, "--threads", str(threads), "--only", *given.only]
        flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
        own = {"TF_CPP_MIN_LOG_LEVEL": "3", "XLA_FLAGS": flags, "OMP_NUM_THREADS": str(threads)}
        subprocess.run([*again, *(["--quick"] if given.quick else [])], env={**os.environ, **own}, check=True)
    return None


if __name__ == "__main__":
    main()
