"""The first calls of a fresh process on one workload, and the most memory that a step took beyond table and state.

python benchmarks/embedding_cold.py WORKLOAD (a Workload as JSON); prints rows of results as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from embedding_inputs import Inputs, Workload

import gradbag
import gradbag.torch

ID_BYTES = 24  # of scratch for an id, beside the output


def timed(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1e3


def resident(which: str) -> int:
    """Bytes of memory that this process has now (VmRSS), or had at most (VmHWM)."""
    told = Path("/proc/self/status").read_text(encoding="ascii")
    return int(told.partition(which + ":")[2].split()[0]) << 10


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(work: Workload) -> list[dict[str, Any]]:
    gradbag.set_num_threads(1)
    torch.set_num_threads(1)
    given = Inputs(work)
    mode = "sum" if given.weights is not None else work.combiner
    bags = gradbag.Bags(given.ids, given.offsets, given.weights)
    optimizer = gradbag.optim.RowAdagrad.fbgemm(0.05)
    state = optimizer.init(given.table)
    state["accumulator"].fill(0)  # so that its pages are there

    def step() -> Any:
        pooled = gradbag.raw_ops.EmbeddingBag(
            table=given.table, ids=bags.ids, offsets=bags.offsets, weights=bags.weights, combiner=mode
        )
        optimizer.step(given.table, state, bags, given.grad, combiner=mode)
        return pooled

    forget_peak()
    before = resident("VmRSS")
    first_step = timed(step)
    peak = resident("VmHWM") - before
    allowed = given.grad.nbytes + ID_BYTES * len(given.ids)
    tensors = [torch.from_numpy(a) for a in (given.ids, given.offsets, given.weights) if a is not None]
    weight = torch.from_numpy(given.table)
    layers = [kind.from_pretrained(weight, mode=mode) for kind in (gradbag.torch.EmbeddingBag, torch.nn.EmbeddingBag)]
    ours, theirs = (timed(lambda layer=layer: layer(*tensors)) for layer in layers)
    return [
        {"job": "first look-up", "peer": "torch.nn", "threads": 1}
        | {"ms": ours, "peer ms": theirs, "ratio": theirs / ours},
        {"job": "first step against later ones", "peer": "ourselves", "threads": 1}
        | {"ms": first_step, "peer ms": (later := min(timed(step) for _ in range(5))), "ratio": later / first_step},
        {"job": "peak of a step", "peer": "output and 24 bytes an id", "threads": 1}
        | {"MB": peak / 1e6, "peer MB": allowed / 1e6, "ratio": allowed / max(peak, 1)},
    ]


if __name__ == "__main__":
    rows = measured(Workload(**json.loads(sys.argv[1])))
    assert all(np.isfinite(row["ratio"]) for row in rows)
    print(json.dumps(rows))
