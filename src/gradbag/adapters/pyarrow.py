"""Bags as list arrays of Arrow, on the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .. import dtypes, errors


def list_array(numbers: Any, splits: Any) -> Any:
    name = dtypes.name_of(numbers.dtype)
    if name == "bfloat16":
        raise errors.wrong_type("Bags.to_arrow", "weights", [n for n in dtypes.FLOAT if n != name], name, "in Arrow")
    kind = pa.ListArray if splits.dtype == np.int32 else pa.LargeListArray
    return kind.from_arrays(pa.array(splits), pa.array(numbers))
