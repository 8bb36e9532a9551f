"""The kernels' threads: the same bits and the same fault for any number of them, forks, signals and settings."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from gradbag import eager, errors, raw_ops
from gradbag.eager.program import native
from gradbag.spec import REQUIRED, Arg, Op
from gradbag.testing import assert_kernel_equals_body, assert_same, case_of, indexed_ops, native_ops
from gradbag.testing.cases import usual_types

pytestmark = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")

COUNTS = (2, 3, 4, 8)
HANGS = 60.0  # seconds after which something hangs
WIDTHS = (1, 3, 8, 33, 64)


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = native.get_num_threads()
    yield
    native.set_num_threads(before)


# ------------------------------------------------------------------ inputs that are worth several threads
def bags(rng: np.random.Generator, columns: int, rows: int = 4_003) -> dict[str, Any]:
    """Uneven bags with gaps between them, a long one, and ids of which a few are frequent."""
    entries, segments = 30_011, 7_919
    sizes = np.where(rng.random(segments) < 0.2, 0, rng.integers(1, 9, segments))
    sizes[segments // 2] = 5_000
    segment_ids = np.repeat(np.arange(segments), sizes)[:entries]
    indices = np.minimum(rng.integers(0, rows, entries), rng.integers(0, rows, entries))
    indices[rng.random(entries) < 0.1] = 17
    return {
        "data": rng.standard_normal((rows, columns)) * 100,
        "grad": rng.standard_normal((segments, columns)) * 100,
        "indices": indices[: len(segment_ids)],
        "segment_ids": segment_ids,
        "num_segments": np.array(segments + 5),
        "output_dim0": np.array(rows + 3),
        "dense_output_dim0": np.array(rows + 3),
    }


def single_bags(rng: np.random.Generator, columns: int, rows: int) -> dict[str, Any]:
    """Bags of one id, mostly: some are empty, some hold three."""
    sizes = rng.choice([1, 0, 3], 30_011, p=[0.98, 0.01, 0.01])
    segment_ids = np.repeat(np.arange(len(sizes)), sizes)
    return {
        **bags(rng, columns, rows),
        "grad": rng.standard_normal((len(sizes), columns)) * 100,
        "indices": rng.integers(0, rows, len(segment_ids)),
        "segment_ids": segment_ids,
        "num_segments": np.array(len(sizes) + 5),
    }


def mixed(bags: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The same with segments in no order, which only gradients allow."""
    return {**{n: a for n, a in bags.items() if n != "data"}, "segment_ids": rng.permutation(bags["segment_ids"])}


def rows(rng: np.random.Generator, order: str) -> dict[str, Any]:
    """Rows that are sorted, also with a gap that no byte can tell, or but for the last ones; or in no order."""
    entries, height, width = 50_021, 40_009, 11
    places = rng.integers(0, height * width, entries)
    places = places if order == "none" else np.sort(places)
    if order == "gap":
        places[places // width > height // 2] = np.maximum(places[places // width > height // 2], 30_000 * width)
    if order == "nearly":
        places[-entries // 9 :] = rng.permutation(places[-entries // 9 :])
    indices = np.stack(np.divmod(places, width), 1)
    filled = entries + height - len(np.unique(indices[:, 0]))
    backwards = rng.integers(0, filled, entries) if order == "none" else np.sort(rng.permutation(filled)[:entries])
    if order == "nearly":  # jumps, and the same twice
        backwards = np.where(rng.random(entries) < 0.02, backwards[::-1], np.maximum(backwards, np.roll(backwards, 1)))
    return {
        "indices": indices,
        "value_rowids": np.ascontiguousarray(indices[:, 0]),
        "values": rng.standard_normal(entries) * 100,
        "dense_shape": np.array([height, width]),
        "nrows": np.array(height),
        "default_value": np.array(7.0),
        "reverse_index_map": backwards,
        "grad_values": rng.standard_normal(filled) * 100,
    }


def windows(rng: np.random.Generator, is_sorted: bool) -> dict[str, Any]:
    entries, shape = 60_013, np.array([3_001, 50])
    places = rng.integers(0, shape.prod(), entries)
    places = np.sort(places) if is_sorted else places
    indices = np.stack(np.divmod(places, shape[1]), 1)
    start, size = np.array([300, 5]), np.array([2_500, 30])
    kept = ((indices >= start) & (indices < start + size)).all(1)
    return {
        "indices": indices,
        "values": rng.standard_normal(entries) * 100,
        "shape": shape,
        "start": start,
        "size": size,
        "backprop_val_grad": rng.standard_normal(int(kept.sum())) * 100,
        "input_indices": indices,
        "input_start": start,
        "output_indices": indices[kept] - start,
    }


def offset_bags(
    rng: np.random.Generator, columns: int, combiner: str, weighted: bool, rows: int = 4_003
) -> dict[str, Any]:
    """The bags from above as offsets."""
    made = bags(rng, columns, rows)
    count = int(made["num_segments"])
    weights = rng.uniform(0.5, 2.0, len(made["indices"])) if weighted else None
    return {
        "table": made["data"],
        "grad": rng.standard_normal((count, columns)) * 100,
        "ids": made["indices"],
        "offsets": np.searchsorted(made["segment_ids"], np.arange(count)),
        "winners": rng.integers(-1, len(made["indices"]), (count, columns)),
        **({} if weights is None else {"weights": weights}),
        "num_rows": np.array(rows + 3),
        "combiner": combiner,
    }


def grouped_bags(rng: np.random.Generator, widths: tuple[int, ...], weighted: bool) -> dict[str, Any]:
    """The bags from above for several tables; the first has one feature more than the others."""
    feature_tables = (*range(len(widths)), 0)
    heights = [4_003 >> table for table in range(len(widths))]
    made = [offset_bags(rng, widths[table], "mean", True, heights[table]) for table in feature_tables]
    begins = np.cumsum([0] + [len(each["ids"]) for each in made])
    return {
        "tables": [each["table"] for each in made[:-1]],
        "table_shapes": tuple(size for shape in zip(heights, widths, strict=True) for size in shape),
        "grad": np.concatenate([each["grad"] for each in made], 1),
        "ids": np.concatenate([each["ids"] for each in made]),
        "offsets": np.stack([each["offsets"] + begin for each, begin in zip(made, begins[:-1], strict=True)]),
        **({"weights": np.concatenate([each["weights"] for each in made])} if weighted else {}),
        "combiner": "mean",
        "feature_tables": feature_tables,
    }


def routed(rng: np.random.Generator, columns: int) -> dict[str, Any]:
    """The bags from above on their way to the shards of a table, and back as rows of pieces."""
    made = offset_bags(rng, columns, "sum", weighted=True)
    num_rows = len(made["table"])
    return {
        **{name: made[name] for name in ("table", "ids", "offsets", "weights")},
        "keys": made["ids"],
        "starts": np.array([0, num_rows // 5, num_rows // 2]),
        "pieces": rng.integers(0, 7, len(made["ids"])),
        "num_rows": num_rows,
        "num_pieces": 7,
    }


def steps(rng: np.random.Generator, columns: int) -> dict[str, Any]:
    """Rows of a table, many of them more than once."""
    made = bags(rng, columns)
    grad = rng.standard_normal((len(made["indices"]), columns)) * 100
    return {"table": made["data"], "indices": made["indices"], "grad": grad}


def packed(rng: np.random.Generator, is_sorted: bool) -> dict[str, Any]:
    """Entries that are to become bags, and weights that follow them."""
    entries, count = 50_021, 9_001
    own = rng.integers(0, count, entries)
    own = np.sort(own) if is_sorted else own
    return {
        "indices": np.stack([own, np.arange(entries)], 1),
        "ids": rng.integers(-5, 4_003, entries),
        "dense_shape": np.array([count, entries]),
        "weights": rng.standard_normal(entries),
        "positions": rng.integers(0, entries + 1, 2 * entries),
        "default_weight": np.array(0.5),
        "grad": rng.standard_normal(2 * entries),
        "num_entries": np.array(entries),
    }


def addends(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {"inputs": [rng.standard_normal((1_013, 67)) * 100 for _ in range(count)]}


@lru_cache(maxsize=2)
def all_families(seed: int) -> list[tuple[str, dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    families = [(f"{width} columns", bags(rng, width)) for width in WIDTHS]
    families += [(f"bags of one, {width} columns", single_bags(rng, width, 4_003)) for width in (8, 33)]
    families += [("bags of one, many rows", single_bags(rng, 4, 300_007))]
    families += [("many rows", bags(rng, 4, rows=300_007)), ("segments in no order", mixed(bags(rng, 8), rng))]
    families += [(f"rows in order: {order}", rows(rng, order)) for order in ("sorted", "gap", "nearly", "none")]
    families += [(f"window sorted={s}", windows(rng, s)) for s in (True, False)]
    families += [
        (f"offsets, {width} columns, {combiner} weighted={w}", offset_bags(rng, width, combiner, w))
        for width, combiner in ((1, "mean"), (8, "sum"), (33, "sqrtn"))
        for w in (True, False)
    ]
    families += [("offsets, many rows", offset_bags(rng, 4, "mean", weighted=True, rows=300_007))]
    families += [(f"tables, weighted={w}", grouped_bags(rng, (8, 3, 33), w)) for w in (True, False)]
    families += [(f"shards, {width} columns", routed(rng, width)) for width in (1, 33)]
    families += [(f"steps, {width} columns", steps(rng, width)) for width in (1, 33, 64)]
    families += [(f"entries sorted={s}", packed(rng, s)) for s in (True, False)]
    families += [(f"{count} addends", addends(rng, count)) for count in (1, 2, 5)]
    return families


def large_inputs(op: Op, seed: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Inputs for any op whose arguments one of the families has, with what an optimizer keeps and its numbers."""
    required = {arg.name for arg in op.inputs if not (arg.optional or arg.updates or arg.shape == "")}
    required |= {attr.name for attr in op.attrs if attr.default is REQUIRED}
    updated = next((arg.name for arg in op.inputs if arg.updates), "")
    required |= {updated} - {""}
    numbered = {arg.name for arg in op.inputs if arg.shape == "" and not arg.optional}
    for label, family in all_families(seed):
        if ("tables" in family) != ("feature_tables" in op.attr_defaults):
            continue  # offsets of many features have an axis more
        if op.updates and required <= set(family):
            numbers = dict.fromkeys(numbered, 0.3) | ({"step": 6} if "step" in numbered else {})
            yield label, {**numbers, **kept(op, family[updated]), **family}
        elif not op.updates and required | numbered <= set(family):
            yield label, family


def kept(op: Op, table: Any) -> dict[str, Any]:
    """What changes beside the table, or each of several: as large as it is, or a number for each row."""

    def beside(arg: Arg, one: Any) -> Any:
        size = len(one) if arg.shape.rstrip("#") == "rows" else one.shape
        return np.arange(np.prod(size)).reshape(size) % 9

    others = [arg for arg in op.inputs if arg.updates][1:]
    return {arg.name: [beside(arg, one) for one in table] if arg.many else beside(arg, table) for arg in others}


def choices(op: Op) -> Iterator[dict[str, str]]:
    """Each dtype of the values, with one choice of the others, which changes from one to the next."""
    varied = [variable for variable in op.types if variable != "T"]
    for number, name in enumerate(op.types.get("T", ("float64",))):
        chosen = {"T": name} if "T" in op.types else {}
        for shift, variable in enumerate(varied):
            names = op.types[variable]
            chosen[variable] = names[(number >> shift) % len(names)]
        yield chosen


def run(op: Op, inputs: dict[str, Any], types: dict[str, str]) -> list[Any]:
    """What the call changes, in copies, and its outputs."""
    case = case_of(op, types, inputs, "large")
    return eager.functional(op, case.arrays, dict(case.attrs))


# ------------------------------------------------------------------ the same for any number of threads
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_any_number_of_threads_gives_the_same_bits(op: Op) -> None:
    count = 0
    for label, inputs in large_inputs(op):
        for types in choices(op):
            if types.get("T") == "string":
                continue  # strings are numbered before a kernel sees them
            native.set_num_threads(1)
            want = run(op, inputs, types)
            for threads in COUNTS:
                native.set_num_threads(threads)
                for got, expected in zip(run(op, inputs, types), want, strict=True):
                    assert_same(got, expected, f"{op.name} {types} {label} with {threads} threads")
                count += 1
    assert count >= len(COUNTS) * 2


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_threads_give_the_bits_of_the_body(op: Op) -> None:
    native.set_num_threads(3)
    for label, inputs in large_inputs(op, seed=1):
        assert_kernel_equals_body(case_of(op, usual_types(op), inputs, label))


@pytest.mark.parametrize("op", indexed_ops(), ids=lambda op: op.name)
def test_the_first_fault_is_named_for_any_number_of_threads(op: Op) -> None:
    types = usual_types(op)
    refused = 0
    for label, inputs in large_inputs(op):
        for name in op.input_names:
            array = np.asarray(None if isinstance(inputs.get(name), list) else inputs.get(name))
            if array.dtype.kind != "i" or array.ndim == 0 or len(array) < 1000:
                continue
            damaged = np.array(array)
            for place in (0.3, 0.31, 0.7, 0.99):  # the first of them counts
                damaged[int(place * len(damaged))] = -1
            messages = set()
            for threads in (1, *COUNTS):
                native.set_num_threads(threads)
                try:
                    run(op, {**inputs, name: damaged}, types)
                    messages.add("accepted")
                except errors.InvalidArgumentError as fault:
                    messages.add(str(fault))
                    refused += 1
            assert len(messages) == 1, f"{op.name} {label}: {name} is told in different words: {messages}"
    assert refused or op.name in ("SparseSlice", "SortedUnique")  # they take all numbers


# ------------------------------------------------------------------ several callers
def test_several_python_threads_share_the_pool() -> None:
    native.set_num_threads(3)
    asked = [(op, inputs) for op in native_ops() for _, inputs in large_inputs(op)]
    want = [run(op, inputs, usual_types(op)) for op, inputs in asked]
    start = threading.Barrier(4)

    def all_of_them(_: int) -> list[Any]:
        start.wait()
        return [run(op, inputs, usual_types(op)) for op, inputs in asked]

    with ThreadPoolExecutor(4) as executor:
        for answers in executor.map(all_of_them, range(4)):
            for (op, _), answer, expected in zip(asked, answers, want, strict=True):
                for got, value in zip(answer, expected, strict=True):
                    assert_same(got, value, op.name)


WARM_THEN_FORK = """
import os, signal, sys
import numpy as np
from gradbag import raw_ops
from gradbag.eager.program import native
native.set_num_threads(3)
rng = np.random.default_rng(0)
data = rng.standard_normal((1000, 64))
indices, segment_ids = rng.integers(0, 1000, 50_000), np.arange(50_000) // 9
call = lambda: raw_ops.SparseSegmentMean(data=data, indices=indices, segment_ids=segment_ids)
want = call()
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        grandchild = os.fork() if _ == 0 else None
        same = all(np.array_equal(call(), want) for _ in range(3))
        if grandchild:
            same = same and os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(call(), want)
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_works_after_a_warm_parent() -> None:
    assert _python(WARM_THEN_FORK) == "done"


# ------------------------------------------------------------------ signals
LONG_CALL = """
import signal, sys, time
import numpy as np
from gradbag import raw_ops
from gradbag.eager.program import native
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
native.set_num_threads(int(sys.argv[1]))
data = np.ones((64, 4096), np.float32)
indices = np.zeros(2_000_000, np.int32)
segment_ids = np.zeros_like(indices) if sys.argv[2] == "one" else np.arange(len(indices), dtype=np.int32) // 50
print("ready", flush=True)
try:
    while True:
        if sys.argv[2] == "grad":
            raw_ops.SparseSegmentSumGrad(grad=np.ones((40_000, 4096), np.float32), indices=indices,
                                         segment_ids=segment_ids, output_dim0=np.int32(64))
        else:
            raw_ops.SparseSegmentSum(data=data, indices=indices, segment_ids=segment_ids)
        print("whole", flush=True)
except KeyboardInterrupt:
    answer = raw_ops.SparseSegmentSum(data=data, indices=indices[:100_000] * 0, segment_ids=np.zeros(100_000, np.int32))
    print("interrupted", answer[0, 0], flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one", "many", "grad"])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_long_kernel_and_the_process_lives(threads: int, shape: str) -> None:
    command = [sys.executable, "-c", LONG_CALL, str(threads), shape]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=HANGS)
        finally:
            process.kill()
    assert out.splitlines()[-1] == "interrupted 100000.0"
    assert process.returncode == 0


def test_a_handler_that_does_not_raise_changes_nothing() -> None:
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1)) if hasattr(signal, "SIGALRM") else None
    if before is None:
        pytest.skip("there is no alarm here")
    rng = np.random.default_rng(0)
    inputs = {"data": rng.standard_normal((1000, 512)), "indices": rng.integers(0, 1000, 200_000)}
    inputs["segment_ids"] = np.arange(200_000) // 7
    want = raw_ops.SparseSegmentSum(**inputs)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        got = raw_ops.SparseSegmentSum(**inputs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_same(got, want)
    assert seen


# ------------------------------------------------------------------ settings
def test_the_number_of_threads_can_be_set_and_is_at_least_one() -> None:
    native.set_num_threads(5)
    assert native.get_num_threads() == 5
    with pytest.raises(ValueError, match="at least 1"):
        native.set_num_threads(0)


ASK = "from gradbag.eager.program import native; print(native.get_num_threads(), native.simd_level())"


@pytest.mark.slow
def test_the_environment_sets_the_number_of_threads() -> None:
    default = _python(ASK, GRADBAG_NUM_THREADS=None).split()[0]
    if hasattr(os, "sched_getaffinity"):
        assert int(default) == len(os.sched_getaffinity(0))
    assert _python(ASK, GRADBAG_NUM_THREADS="3").split()[0] == "3"
    for wrong in ("0", "-2", "many", "2.5", "", "99999999999999999999"):
        assert _python(ASK, GRADBAG_NUM_THREADS=wrong).split()[0] == default, wrong


SAME_BITS = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from gradbag.eager.program import native

import test_thread_pool as inputs
digest = hashlib.sha256()
for op in inputs.native_ops():
    for label, made in inputs.large_inputs(op):
        for types in inputs.choices(op):
            if types.get("T") != "string":
                for answer in inputs.run(op, made, types):
                    digest.update(answer.tobytes())
print(native.simd_level(), digest.hexdigest())
"""


@pytest.mark.slow
def test_every_instruction_set_gives_the_same_bits() -> None:
    best = _python(SAME_BITS, os.path.dirname(__file__), GRADBAG_SIMD=None).split()
    lower = {"avx512": ["baseline", "avx2"], "avx2": ["baseline"], "baseline": []}[best[0]]
    for level in lower:
        assert _python(SAME_BITS, os.path.dirname(__file__), GRADBAG_SIMD=level).split() == [level, best[1]]
    assert _python(ASK, GRADBAG_SIMD="best").split()[1] == best[0]


def _python(program: str, *arguments: str, **environment: str | None) -> str:
    """What a fresh Python prints; None takes a variable away."""
    variables = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=10 * HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
