"""Call every op while another thread writes into its inputs; the process must live to tell."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import confine
import numpy as np

import gradbag
from gradbag import eager, raw_ops
from gradbag.spec import Op
from gradbag.testing import native_ops
from gradbag.testing.cases import Case, cases, usual_types

Array = np.ndarray[Any, Any]
SECONDS_PER_OP = 0.15
BAD = [-1, 0, 7, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63)]
BAD_FLOATS = [0.0, -1.0, 1e300, float("inf"), float("nan")]


def large_cases(op: Op) -> Iterator[Case]:
    """The largest sample, with every entry repeated until a call takes long enough to be disturbed.

    Once more without what may be left out.
    """
    case = max(cases(op, usual_types(op)), key=lambda case: sum(a.size for _, _, a in case.given))
    times = 20_000 // max(a.size for _, _, a in case.given) + 1
    args = op.flat_inputs(len(case.arrays))
    inner = {word for arg in args for word in arg.dims.terms[1:]}
    repeat = [bool(arg.dims.terms) and arg.dims.terms[0] not in inner for arg in args]
    large = case.replaced({place: np.repeat(a, times, 0) for place, _, a in case.given if repeat[place]}).fresh()
    yield large
    if op.optional_names:
        yield large.replaced({place: None for place, arg in enumerate(args) if arg.optional})


def bad_for(array: Array) -> list[Any]:
    if array.dtype.kind == "f":
        return BAD_FLOATS
    return [value for value in BAD if np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max]


def write(arrays: list[Array], stop: threading.Event) -> None:
    """Put bad values in, a few or everywhere, and good ones back."""
    rng = np.random.default_rng(0)
    good = [a.copy() for a in arrays]
    bad = [bad_for(a) for a in arrays]
    while not stop.is_set():
        which = int(rng.integers(len(arrays)))
        flat = arrays[which].reshape(-1)
        if flat.size and rng.random() < 0.9:
            flat[rng.integers(flat.size, size=3)] = rng.choice(bad[which])
        else:
            arrays[which][...] = rng.choice(bad[which])
        time.sleep(rng.choice([0.0, 0.0002]))
        np.copyto(arrays[which], good[which])


def disturb(case: Case, run: Callable[..., Any]) -> Counter[str]:
    stop = threading.Event()
    writer = threading.Thread(target=write, args=([a for _, _, a in case.given], stop))
    writer.start()
    seen: Counter[str] = Counter()
    end = time.monotonic() + SECONDS_PER_OP
    try:
        while time.monotonic() < end:
            try:
                run(case.op, case.arrays, dict(case.attrs))
                seen["answered"] += 1
            except gradbag.Error:
                seen["refused"] += 1
            except Exception as problem:  # noqa: BLE001  # better than a crash, but not what is promised
                seen[f"WRONG {type(problem).__name__}: {problem}"] += 1
    finally:
        stop.set()
        writer.join()
    return seen


if __name__ == "__main__":
    confine.limit_memory()
    sys.setswitchinterval(1e-5)
    for op in native_ops():
        sys.stdout.write(f"{op.name}\n")
        sys.stdout.flush()
        for case, run in product(large_cases(op), (eager.run, raw_ops.apply)):  # the second goes by a shortcut
            for what, times in disturb(case, run).items():
                sys.stdout.write(f"{what}, {times} times in {op.name}\n")
    sys.stdout.write("done\n")
