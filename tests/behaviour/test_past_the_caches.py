"""Results too large for the caches are written past them, where they lie as the processor needs it."""

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shift", [0, 1], ids=["on a cache line", "beside it"])
def test_a_large_gradient_of_filled_rows_is_whole(threads: int, shift: int) -> None:
    rng = np.random.default_rng(0)
    entries = 2_200_003
    places = np.cumsum(rng.integers(1, 3, entries))
    places[::1_001] = places[::-1_001]  # some lie far from their neighbours
    grad = rng.integers(0, 4, int(places.max()) + 9).astype(np.float32)  # whose sums are exact
    room = np.full(entries + 32, np.nan, np.float32)
    start = -room.ctypes.data % 64 // 4 + shift
    values = room[start : start + entries]
    unnamed = np.ones(len(grad), bool)
    unnamed[places] = False
    with gradbag.set_num_threads(threads):
        raw_ops.SparseFillEmptyRowsGrad(
            reverse_index_map=places, grad_values=grad, out=(values, default := np.empty((), np.float32))
        )
    assert np.array_equal(values, grad[places])
    assert default == grad[unnamed].sum(dtype=np.float64)
    assert np.isnan(room[:start]).all()
    assert np.isnan(room[start + entries :]).all()
