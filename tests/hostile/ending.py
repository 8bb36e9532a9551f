"""The interpreter ends while a daemon thread is inside a kernel, or in the rule of an op."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np

import gradbag
from gradbag import raw_ops

size = int(sys.argv[2])
table = np.ones((1000, 64), np.float32)
ids = np.arange(size) % 1000
segments = np.sort(ids)
indices = np.stack([segments, np.zeros_like(segments)], 1)
CALLS: dict[str, Any] = {
    "segments": lambda: gradbag.segment_mean(table, ids, segments),
    "rules": lambda: raw_ops.SparseSlice(
        indices=indices, values=segments, shape=np.array([1000, 1]), start=np.array([0, 0]), size=np.array([900, 1])
    ),
    "counting": lambda: raw_ops.RaggedFillEmptyRows(
        value_rowids=segments, values=segments, nrows=np.int64(1000), default_value=np.int64(0)
    ),
}


def call_for_ever() -> None:
    while True:
        CALLS[sys.argv[1]]()


for _ in range(2):
    threading.Thread(target=call_for_ever, daemon=True).start()
time.sleep(0.1)
print("ends")
