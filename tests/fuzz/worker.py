"""One process of the fuzzer: draws cases of a part and judges them, until it is told to stop, or dies of one."""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 6 << 30


def main() -> None:
    part, seed, seconds, current = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    module: Any = importlib.import_module(part)
    import gradbag

    gradbag.set_memory_limit(1 << 28)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    random = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    count, told, seen = 0, time.monotonic(), set()
    with current.open("wb", buffering=0) as place:
        while time.monotonic() < end:
            case = module.draw(random)
            text = json.dumps(case).encode()
            place.seek(0)
            place.write(text + b"\n")  # what was tried last, should the process not survive it
            problem = module.judge(case)
            count += 1
            seen.add(module.covered(case))
            if problem is not None:
                print(json.dumps({"finding": minimised(module, case), "problem": problem}), flush=True)
            if time.monotonic() - told > 1 or problem is not None:
                print(json.dumps({"count": count, "seen": sorted(seen), "of": module.TO_COVER}), flush=True)
                told = time.monotonic()
    print(json.dumps({"count": count, "seen": sorted(seen), "of": module.TO_COVER}), flush=True)


def minimised(module: Any, case: dict[str, Any]) -> dict[str, Any]:
    """As small a case as still goes wrong, in a hundred tries."""
    for _ in range(100):
        smaller = next((one for one in module.simpler(case) if module.judge(one) is not None), None)
        if smaller is None:
            return case
        case = smaller
    return case


if __name__ == "__main__":
    main()
