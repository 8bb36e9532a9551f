"""What is measured: a plan of tasks, and the inputs of each.

A task is one op on one workload. The three segment ops (forward, dense gradient, compact gradient) share the 27
workloads of `BAGS`; the others have workloads of their own, and every op of the registry has a tiny one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from gradbag import raw_ops
from gradbag.spec import Op
from gradbag.testing import cases, native_ops

Inputs = dict[str, Any]

SEGMENT_KINDS = {"forward": "", "dense": "Grad", "compact": "GradV2"}
ZIPF_EXPONENT = 1.05
TINY_ENTRIES = 10

# Ids that hit the same row of an embedding table within one batch of 131,072 samples over 788 tables, as published with
# facebookresearch/dlrm_datasets (2022): (fewest hits, most hits, share of all ids). 12.7 ids a row, 13.6 ids a bag.
TRACE = (
    (1, 1, 0.027), (2, 2, 0.023), (3, 4, 0.040), (5, 8, 0.068), (9, 16, 0.105), (17, 32, 0.120), (33, 64, 0.099),
    (65, 128, 0.070), (129, 256, 0.059), (257, 512, 0.054), (513, 1024, 0.040), (1025, 2048, 0.072),
    (2049, 4096, 0.064), (4097, 8192, 0.047), (8193, 16384, 0.021), (16385, 32768, 0.017), (32769, 65536, 0.076),
)  # fmt: skip
TRACE_BAG = 13.6


# ------------------------------------------------------------------ bags of ids
@dataclass(frozen=True)
class Bags:
    """Ids into a table, pooled in bags: of one size, or, in the trace, of sizes that vary around their mean."""

    rows: int
    columns: int
    ids: int
    bag: float
    skew: str  # uniform, Zipf, trace
    dtype: str = "float32"
    index: str = "int32"

    def __str__(self) -> str:
        types = "" if (self.dtype, self.index) == ("float32", "int32") else f", {self.dtype}, {self.index}"
        return (
            f"R {number(self.rows)}, D {self.columns}, N {number(self.ids)}, bags of {self.bag:g}, {self.skew}{types}"
        )

    @property
    def weight(self) -> float:
        return self.ids * (self.columns + 16) + 2 * self.rows * self.columns


def number(count: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:g}{letter}"
    return str(count)


def _bags() -> list[Bags]:
    """Every table with every size of bag; number of ids and skew take turns, so that each meets each."""
    tables = [(10_000, 8), (10_000, 32), (10_000, 64), (10_000, 128)]
    tables += [(1_000_000, 8), (1_000_000, 32), (1_000_000, 64), (1_000_000, 128), (1_000_000, 32)]
    made = []
    for b, bag in enumerate((1, 10, 50)):
        for t, (rows, columns) in enumerate(tables):
            ids = (200_000, 1_000_000, 2_000_000)[(t + b) % 3]
            # 2M rows of 128 columns would be a gigabyte for every copy that a peer makes.
            made.append(
                Bags(rows, columns, ids // 2 if ids * columns > 2**27 else ids, bag, ("uniform", "Zipf")[(t + b) % 2])
            )
    return made


BAGS = _bags()
QUICK_BAGS = [
    Bags(10_000, 8, 200_000, 1, "Zipf"),
    Bags(10_000, 64, 200_000, 10, "uniform"),
    Bags(10_000, 128, 200_000, 50, "Zipf"),
    Bags(1_000_000, 8, 200_000, 50, "uniform"),
    Bags(1_000_000, 32, 200_000, 10, "Zipf"),
    Bags(500_000, 64, 200_000, 1, "uniform"),
]


def with_drawn(listed: list[Bags], seed: int) -> list[Bags]:
    """A third of the workloads has sizes that nobody has chosen: as large as what they replace, but drawn."""
    rng = np.random.default_rng(seed)
    made = list(listed)
    for place in range(0, len(listed), 3):
        old = listed[place]
        rows = int(np.exp(rng.uniform(np.log(1_000), np.log(1_000_000))))
        columns, bag = int(rng.integers(1, 161)), int(rng.integers(1, 65))
        ids = min(old.ids, 2**27 // columns) - int(rng.integers(0, 1000))
        made[place] = replace(old, rows=rows, columns=columns, ids=ids, bag=bag)
    return made


@functools.lru_cache(maxsize=1)
def segments(bags: Bags) -> Inputs:
    """The inputs of the three segment ops by TensorFlow's names, and PyTorch's offsets."""
    rng = np.random.default_rng(0)
    sizes = _bag_sizes(bags, rng)
    dtype = np.dtype(ml_dtypes.bfloat16) if bags.dtype == "bfloat16" else np.dtype(bags.dtype)
    return {
        "data": _random(rng, (bags.rows, bags.columns), dtype),
        "grad": _random(rng, (len(sizes), bags.columns), dtype),
        "indices": _ids(bags, rng).astype(bags.index),
        "segment_ids": np.repeat(np.arange(len(sizes), dtype=bags.index), sizes),
        "offsets": (np.cumsum(sizes) - sizes).astype(bags.index),
        "output_dim0": np.array(bags.rows, np.int32),
        "dense_output_dim0": np.array(bags.rows, np.int32),
    }


def _bag_sizes(bags: Bags, rng: np.random.Generator) -> Any:
    if bags.skew != "trace":
        sizes = np.full(-(-bags.ids // int(bags.bag)), int(bags.bag))
    else:
        sizes = rng.geometric(1 / bags.bag, int(2 * bags.ids / bags.bag) + 1)
        sizes = sizes[: np.searchsorted(np.cumsum(sizes), bags.ids) + 1]
    sizes[-1] -= sizes.sum() - bags.ids
    return sizes


def _ids(bags: Bags, rng: np.random.Generator) -> Any:
    if bags.skew == "uniform":
        return rng.integers(0, bags.rows, bags.ids)
    if bags.skew == "Zipf":
        weights = np.cumsum(np.arange(1, bags.rows + 1) ** -ZIPF_EXPONENT)
        ranks = np.searchsorted(weights, rng.random(bags.ids) * weights[-1])
    else:
        ranks = rng.permutation(np.repeat(*_hits(bags.ids, rng)))
    return rng.permutation(bags.rows)[ranks]  # popular rows are not neighbours


def _hits(ids: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Row ranks and how many ids hit each, drawn evenly from every bucket of the trace."""
    hits: list[Any] = []
    for fewest, most, share in TRACE:
        wanted = round(share * ids)
        drawn = rng.integers(fewest, most + 1, wanted // fewest + 1)
        drawn = drawn[: np.searchsorted(np.cumsum(drawn), wanted) + 1]
        drawn[-1] -= drawn.sum() - wanted
        hits.append(drawn[drawn > 0])
    counts = np.concatenate(hits)
    counts[-1] += ids - counts.sum()
    return np.arange(len(counts)), counts


def _random(rng: np.random.Generator, shape: Any, dtype: Any) -> Any:
    return (rng.random(shape, np.float32) - np.float32(0.5)).astype(dtype, copy=False)


# ------------------------------------------------------------------ sparse tensors
@dataclass(frozen=True)
class Sparse:
    """Entries of a sparse tensor, int64 coordinates and float32 values, for the ops that fill and slice."""

    entries: int
    order: str = "sorted"  # sorted, unsorted, random map
    rank: int = 2

    def __str__(self) -> str:
        return f"{number(self.entries)} entries, {self.order}, rank {self.rank}"

    @property
    def weight(self) -> float:
        return self.entries * (40 if self.order == "sorted" else 160)


def rows_to_fill(sparse: Sparse) -> Inputs:
    """SparseFillEmptyRows: two thirds as many rows as entries, so about a fifth of the rows is empty."""
    rng = np.random.default_rng(0)
    shape = (sparse.entries * 2 // 3, 100)
    indices = _places(rng, sparse.entries, shape)
    if sparse.order == "unsorted":
        rng.shuffle(indices)
    return {
        "indices": indices,
        "values": _random(rng, sparse.entries, np.float32),
        "dense_shape": np.array(shape),
        "default_value": np.array(1.0, np.float32),
    }


def rows_filled(sparse: Sparse) -> Inputs:
    """SparseFillEmptyRowsGrad: the map of a filled tensor, in order or, as after unsorted input, at random."""
    rng = np.random.default_rng(0)
    made = rows_to_fill(Sparse(sparse.entries))
    backwards = raw_ops.SparseFillEmptyRows(**made).reverse_index_map
    if sparse.order == "random map":
        backwards = rng.permutation(backwards)
    total = int(backwards.max()) + 1
    return {"reverse_index_map": backwards, "grad_values": _random(rng, total, np.float32)}


def window(sparse: Sparse) -> Inputs:
    """SparseSlice: half the rows and three fifths of every other axis are cut out."""
    rng = np.random.default_rng(0)
    shape = (sparse.entries * 2 // 3, *((100,) if sparse.rank == 2 else (10,) * (sparse.rank - 1)))
    starts = [n // 4 if axis == 0 else n // 10 for axis, n in enumerate(shape)]
    sizes = [n // 2 if axis == 0 else n * 3 // 5 for axis, n in enumerate(shape)]
    return {
        "indices": _places(rng, sparse.entries, shape),
        "values": _random(rng, sparse.entries, np.float32),
        "shape": np.array(shape),
        "start": np.array(starts),
        "size": np.array(sizes),
    }


def window_back(sparse: Sparse) -> Inputs:
    """SparseSliceGrad: the gradient of the same window."""
    made = window(sparse)
    indices, start = made["indices"], made["start"]
    kept = ((indices >= start) & (indices < start + made["size"])).all(1)
    return {
        "backprop_val_grad": made["values"][kept],
        "input_indices": indices,
        "input_start": start,
        "output_indices": indices[kept] - start,
    }


def _places(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> Any:
    """Different places in row-major order; a few are drawn twice and left out, replaced by none."""
    total = int(np.prod(shape))
    places = np.unique(rng.integers(0, total, count + count // 20))
    places = np.sort(rng.choice(places, min(count, len(places)), replace=False))
    return np.stack(np.unravel_index(places, shape), 1)


SPARSE_OPS = {
    "SparseFillEmptyRows": rows_to_fill,
    "SparseFillEmptyRowsGrad": rows_filled,
    "SparseSlice": window,
    "SparseSliceGrad": window_back,
}


# ------------------------------------------------------------------ tiny calls
TINY_BAGS = Bags(100, 8, TINY_ENTRIES, 5, "uniform")  # for the ops that PyTorch has, too


def tiny(op: Op) -> Inputs:
    """Ten float32 entries with int32 indices, where the op has a choice: the sample of the op that is nearest to it."""
    types = {variable: "float32" if "float32" in names else names[0] for variable, names in op.types.items()}
    return dict(min(cases(op, types), key=lambda case: abs(entries(op, case.inputs) - TINY_ENTRIES)).inputs)


def entries(op: Op, inputs: Any) -> int:
    """How many entries a call has: the longest list of indices, or the elements of an op without."""
    arrays = [array for array in op.flat(list(inputs.values())) if array is not None]
    lists = [len(array) for array in arrays if array.dtype.kind == "i" and array.ndim]
    return max(lists or [arrays[0].size])


# ------------------------------------------------------------------ the plan
@dataclass(frozen=True)
class Task:
    family: str
    op: str
    workload: Bags | Sparse | None = None  # none: a sample of the op, for a tiny call
    neighbour: Bags | None = None  # the width to compare an odd width with
    threads: int = 2

    def __str__(self) -> str:
        return self.op if self.family == "tiny" else f"{self.family}: {self.workload}"

    @property
    def kind(self) -> str:
        """The kind of segment op, or the op itself."""
        suffix = self.op.removeprefix("SparseSegmentMean")
        return next((kind for kind, ending in SEGMENT_KINDS.items() if ending == suffix), self.op)

    @property
    def weight(self) -> float:
        """About how long it takes, for the progress bar."""
        return 2e6 if self.family == "tiny" else 3e6 + self.workload.weight


def plan(quick: bool, seed: int) -> list[Task]:
    tasks = list(_plan(quick, seed))
    return sorted(tasks, key=lambda task: -task.threads)  # one process for each number of threads


def _plan(quick: bool, seed: int) -> Iterator[Task]:
    chosen = with_drawn(QUICK_BAGS if quick else BAGS, seed)
    yield from _segment_tasks("{kind}", chosen)
    large, small = Bags(1_000_000, 64, 1_000_000, 10, "uniform"), Bags(10_000, 32, 1_000_000, 10, "Zipf")
    if quick:
        large, small = replace(large, rows=200_000, ids=200_000), replace(small, ids=200_000)
    trace = Bags(1_000_000, 64, 2_000_000, TRACE_BAG, "trace")
    yield from _segment_tasks("trace", [replace(trace, rows=100_000, ids=200_000) if quick else trace])
    for change in ({"dtype": "bfloat16"}, {"dtype": "float16"}, {"index": "int64"}, {"dtype": "float64"}):
        name = {"float16": "half"}.get(*change.values(), *change.values())
        yield from _segment_tasks(name, [replace(bags, **change) for bags in ([small] if quick else [large, small])])
    for odd, even in ((7, 8), (33, 32), (65, 64), (127, 128))[:: 3 if quick else 1]:
        yield from _segment_tasks("odd width", [replace(small, columns=odd)], replace(small, columns=even))
    size = 5 if quick else 1
    for name, sparse in (
        ("SparseFillEmptyRows", Sparse(1_500_000)),
        ("SparseFillEmptyRows", Sparse(1_500_000, "unsorted")),
        ("SparseFillEmptyRowsGrad", Sparse(5_000_000)),
        ("SparseFillEmptyRowsGrad", Sparse(5_000_000, "random map")),
        ("SparseSlice", Sparse(1_500_000)),
        ("SparseSliceGrad", Sparse(2_000_000)),
        ("SparseSliceGrad", Sparse(2_000_000, rank=3)),
    ):
        yield Task("fill and slice", name, replace(sparse, entries=sparse.entries // size))
    in_bags = [task.op for task in _segment_tasks("tiny", [TINY_BAGS])]
    # TensorFlow's sparse ops; gradbag's own are measured as the jobs that they are part of, in embedding.py.
    for op in (op for op in native_ops() if op.name.startswith(("Sparse", "Ragged"))):
        yield Task("tiny", op.name, TINY_BAGS if op.name in in_bags else None)
    yield from _segment_tasks("{kind}, one thread", chosen[::2] if quick else chosen, threads=1)


def _segment_tasks(family: str, chosen: list[Bags], neighbour: Bags | None = None, threads: int = 2) -> Iterator[Task]:
    for bags in chosen:
        for kind, ending in SEGMENT_KINDS.items():
            yield Task(family.format(kind=kind), f"SparseSegmentMean{ending}", bags, neighbour, threads)
