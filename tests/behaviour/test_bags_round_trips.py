"""Whatever bags hold comes back from every format that needs no framework."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradbag import Bags

IDS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32)


@st.composite
def some_bags(draw: Any, ids: Any = IDS) -> Bags:
    lists = draw(st.lists(st.lists(ids, max_size=5), max_size=6))
    if not draw(st.booleans()):
        return Bags.from_lists(lists)
    return Bags.from_lists(lists, [draw(st.lists(FLOATS, min_size=len(items), max_size=len(items))) for items in lists])


def two(make: Callable[..., Any], read: Any) -> Callable[[Bags], Bags]:
    """Through something that holds one part at a time."""

    def trip(bags: Bags) -> Bags:
        return read(make(bags, "ids"), None if bags.weights is None else make(bags, "weights"))  # type: ignore[no-any-return]

    return trip


TRIPS: dict[str, Callable[[Bags], Bags]] = {
    "offsets": lambda bags: Bags.from_offsets(*bags.to_offsets()),
    "splits": lambda bags: Bags.from_offsets(*bags.to_offsets(True), include_last_offset=True),
    "lengths": lambda bags: Bags.from_lengths(*bags.to_lengths()),
    "coo": lambda bags: Bags.from_coo(*bags.to_coo(), num_bags=len(bags)),
    "lists": two(Bags.to_lists, Bags.from_lists),
    "sparse": two(Bags.to_sparse, Bags.from_sparse),
    "arrow": two(Bags.to_arrow, Bags.from_arrow),
    "arrow slice": two(lambda bags, part: pa.concat_arrays([bags.to_arrow(part)] * 2)[len(bags) :], Bags.from_arrow),
    "arrow chunks": two(
        lambda bags, part: pa.chunked_array([bags[:1].to_arrow(part), bags[1:].to_arrow(part)]), Bags.from_arrow
    ),
    "polars": two(lambda bags, part: pl.Series(bags.to_arrow(part)), Bags.from_arrow),
    "bags": lambda bags: Bags.of(bags),
    "slices": lambda bags: Bags.concatenate([bags[:2], bags[2:]]),
    "turned twice": lambda bags: bags[::-1][::-1],
}


@pytest.mark.parametrize("format", TRIPS)
def test_a_round_trip(format: str) -> None:
    @given(some_bags())
    def check(bags: Bags) -> None:
        back = TRIPS[format](bags)
        assert back == bags
        assert back.ids.dtype == bags.ids.dtype
        assert (back.weights is None) == (bags.weights is None)

    check()


@given(some_bags(st.integers(0, 2**31 - 2)))
def test_a_round_trip_through_csr(bags: Bags) -> None:
    back = Bags.from_csr(bags.to_csr(), weighted=bags.weights is not None)
    assert back == bags


@given(some_bags(), st.randoms())
def test_the_order_of_coordinates_matters_within_a_bag_only(bags: Bags, random: Any) -> None:
    rows, ids, weights = bags.to_coo()
    turns = list(range(bags.count))
    random.shuffle(turns)
    order = np.array(turns, np.int64)[np.argsort(rows[turns], kind="stable")] if turns else np.array([], np.int64)
    shuffled = Bags.from_coo(rows[turns], ids[turns], None if weights is None else weights[turns], num_bags=len(bags))
    assert shuffled == Bags(ids[order], bags.offsets, None if weights is None else weights[order])


def test_a_round_trip_that_loses_something_is_seen() -> None:
    bags = Bags.from_lists([[1, 2], [3]], [[1, 2], [3]])
    assert Bags.from_coo(*bags.to_coo(), num_bags=len(bags) + 1) != bags
    assert Bags.from_lists(bags.to_lists()) != bags
