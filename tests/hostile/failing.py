"""Every op with every allocation failing in turn, in forked children: a MemoryError or the right numbers, no signal.

Run with `failing.c` preloaded. Prints one line of JSON for each op, and for each way to call it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

import numpy as np

from gradbag import eager
from gradbag.eager import prepared
from gradbag.spec import Op
from gradbag.testing import native_ops
from gradbag.testing.cases import cases

MOST = 60  # the first failures of each call, and as many spread over the rest
failing = ctypes.CDLL(None)
failing.allocations.restype = ctypes.c_long
failing.fail_after.argtypes = [ctypes.c_long]


Call = tuple[Op, list[Any], dict[str, Any]]


def large(op: Op) -> Call | None:
    """A call that is worth several threads and blocks of the cache, of the ops that are used the most."""
    ids = np.arange(300_000) % 1000
    rows = np.sort(ids)
    table = np.ones((1000, 16), np.float32)
    known: dict[str, list[Any]] = {
        "SparseSegmentMean": [table, ids, rows],
        "SparseSegmentMeanGrad": [table, ids, rows, np.int32(1000)],
        "SparseFillEmptyRows": [np.stack([rows, ids], 1), ids, np.array([2000, 1000]), np.int64(0)],
        "RaggedFillEmptyRows": [rows, ids, np.int64(2000), np.int64(0)],
        "SparseSlice": [np.stack([rows, ids], 1), ids, np.array([1000, 1000]), np.array([1, 1]), np.array([900, 900])],
    }
    return None if op.name not in known else (op, [np.asarray(v) for v in known[op.name]], dict(op.attr_defaults))


def run(call: Call) -> list[Any]:
    op, arrays, attrs = call
    return eager.quick_run(op, [None if a is None else a.copy() for a in arrays], attrs)


def in_child(call: Call, want: list[Any], at: int) -> str:
    """What became of a call whose allocation number `at` failed."""
    op, arrays, attrs = call
    given = [None if a is None else a.copy() for a in arrays]
    child = os.fork()
    if child == 0:
        end = 4
        failing.fail_after(at)
        try:
            got = eager.quick_run(op, given, attrs)
            failing.fail_after(-1)
            same = all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(got, want, strict=True))
            end = 0 if same else 5
        except MemoryError:
            end = 3
        finally:
            os._exit(end)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return {0: "right", 3: "MemoryError", 4: "another error", 5: "wrong numbers"}.get(code, f"ended with {code}")


def tried(call: Call, known: bool) -> dict[str, int]:
    def forget() -> None:
        if not known:
            prepared.of(call[0]).forget_shortcuts()
            prepared.of(call[0]).routes.clear()

    want = [np.array(output) for output in run(call)]
    forget()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        failing.fail_after(-1)
        run(call)
        os.write(write, str(failing.allocations()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    count = int(os.read(read, 64))
    os.close(read)
    os.close(write)
    found: dict[str, int] = {}
    for at in sorted({*range(min(count, MOST)), *np.linspace(0, count, MOST, dtype=int).tolist()}):
        outcome = in_child(call, want, at)
        found[outcome] = found.get(outcome, 0) + 1
    return found


def main() -> None:
    for op in native_ops():
        if sys.argv[1:] and op.name not in sys.argv[1:]:
            continue
        case = next(iter(cases(op)))
        for call in ((op, list(case.arrays), dict(case.attrs)), large(op)):
            for known in (False, True) if call is not None else ():
                told = {
                    "op": op.name,
                    "entries": max(a.size for a in call[1] if a is not None),
                    "known": known,
                    **tried(call, known),
                }
                print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
