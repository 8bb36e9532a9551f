"""Answer the cases that come as lines of JSON, each with one line: outputs or error, seconds and memory."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import confine
import numpy as np

from gradbag import dtypes, raw_ops
from gradbag.spec import registry

Array = np.ndarray[Any, Any]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    op = registry[case["op"]]
    inputs = {name: to_array(given) for name, given in case["args"].items()}
    getattr(raw_ops, op.name)(
        **op.example.inputs
    )  # the first call of an op loads its code, which is no cost of this one
    confine.forget_peak_memory()
    peak, start = confine.peak_memory(), time.perf_counter()
    try:
        outputs = list_outputs(getattr(raw_ops, op.name)(**inputs))
    except Exception as problem:  # noqa: BLE001  # whatever it is, the test decides whether it may be
        told = {"error": [kind.__name__ for kind in type(problem).__mro__], "message": str(problem)}
    else:
        told = {}
    cost = {"seconds": time.perf_counter() - start, "grown_kib": confine.peak_memory() - peak}
    if not told:
        held = confine.take_cached_blocks(outputs)
        outputs = list_outputs(getattr(raw_ops, op.name)(**inputs))
        told = {"outputs": {arg.name: to_json(o) for arg, o in zip(op.outputs, outputs, strict=True)}}
        del held
    return {**told, **cost}


def list_outputs(result: Any) -> list[Array]:
    return list(result) if isinstance(result, tuple) else [result]


def to_array(given: dict[str, Any]) -> Array:
    """NaN and infinities are strings in the corpus."""
    values = [float(v) if isinstance(v, str) else v for v in given["values"]]
    return np.array(values, dtypes.numpy_dtype(given["dtype"])).reshape(given["shape"])


def to_json(output: Array) -> dict[str, Any]:
    name = dtypes.name_of(output.dtype)
    values = output.reshape(-1).astype(np.float64) if name in dtypes.FLOAT else output.reshape(-1)
    told = [str(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values.tolist()]
    return {"dtype": name, "shape": list(output.shape), "values": told}


if __name__ == "__main__":
    confine.limit_memory()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
