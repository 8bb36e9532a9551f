"""Files of numbers become constants; what is no such file is refused in words."""

from __future__ import annotations

import io

import numpy as np
import pytest

from gradbag import errors
from gradbag import page as pages
from gradbag.studio.services.opening import opened


def constants(data: bytes, name: str) -> dict[str, tuple[str, object]]:
    nodes = opened(data, name)["page"]["nodes"]
    return {node: (entry["attrs"]["dtype"], entry["attrs"]["value"]) for node, entry in nodes.items()}


def saved(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_columns_with_names_are_arrays_of_their_own() -> None:
    found = constants(b"id;weight;name\n3;0.5;a\n1;;b\n", "bags.csv")
    assert found["id"] == ("int32", [3, 1])
    assert found["weight"] == ("float32", [0.5, "nan"])
    assert found["name"] == ("string", ["a", "b"])


def test_a_table_of_numbers_is_a_matrix() -> None:
    assert constants(b"1\t2\n3\t4\n", "t.tsv") == {"t": ("int32", [[1, 2], [3, 4]])}
    assert constants(b"1.5\n2\n", "t.csv") == {"t": ("float32", [1.5, 2])}


def test_arrays_of_numpy_run_as_a_page() -> None:
    found = opened(saved(ids=np.array([1, 2]), table=np.ones((2, 3), "float32")), "step.npz")
    page = pages.Page(found["page"])
    assert not pages.check(page)
    assert set(page.nodes) == {"ids", "table"}


def test_parquet_lists_are_ids_and_segment_ids() -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"user": [7, 8], "items": [[1, 2], [5]]}), file)
    found = constants(file.getvalue(), "users.parquet")
    assert found["items"] == ("int64", [1, 2, 5])
    assert found["items_segment_ids"] == ("int32", [0, 0, 1])


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.npy", b"rubbish", "npy"),
        ("a.npz", b"rubbish", "is not an .npz file"),
        ("a.csv", b"1,2\n3\n", "row 2 has 1 cells, the first has 2"),
        ("a.csv", b"", "holds no values"),
        ("a.csv", b"\xff\xfe", "is not text"),
        ("a.npz", saved(a=np.zeros(10_000_000)), "too many"),
        ("a.npz", saved(a=np.array([object()], object)), "a.npz"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(name: str, data: bytes, said: str) -> None:
    with pytest.raises(errors.Error, match=said):
        opened(data, name)
