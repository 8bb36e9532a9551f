"""1, 2, 3 and 4 ranks against one process: every bit of values, gradients, tables and states after twenty steps."""

from __future__ import annotations

import sys
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from cases import BAGS, COLUMNS, ROWS, SIZES, STEPS, Case, batch, cases, cut

import gradbag.torch
from gradbag.adapters.torch.bags import to_array, to_tensor
from gradbag.dtypes import numpy_dtype

NARROW = ("bfloat16", "float16")


def assert_bits(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def plain(tensor):
    return to_array("test", "tensor", tensor.detach())


@cache
def one_process(case: Case):
    """The same steps with the whole table and the whole batch: by a `Table` where the step is fused."""
    start = gradbag.Table(ROWS, COLUMNS, dtype=case.dtype).values
    rule = gradbag.optim.RowAdagrad(lr=0.1)
    if case.fused:
        table = gradbag.Table(ROWS, COLUMNS, rule, dtype=case.dtype)
        bag = None
    else:
        bag = gradbag.torch.EmbeddingBag(
            ROWS, COLUMNS, mode=case.combiner, sparse=True, _weight=to_tensor(start.copy())
        )
        kind = torch.optim.SGD if case.dtype in NARROW else gradbag.torch.optim.RowAdagrad
        optimizer = kind(bag.parameters(), lr=0.1)
    for step in range(STEPS):
        bags, grad = batch(case, step)
        seen = {"bags": bags}
        if case.fused:
            dtype = table.computing
            weights = None if bags.weights is None else bags.weights.astype(dtype)
            bags = gradbag.Bags(bags.ids, bags.offsets, weights)
            leaf = None if weights is None else torch.tensor(weights).requires_grad_()
            functional = gradbag.torch.functional.embedding_bag(
                torch.tensor(bags.ids),
                to_tensor(table.values.astype(dtype)),
                torch.tensor(bags.offsets),
                mode=case.combiner,
                per_sample_weights=leaf,
            )
            if leaf is not None:
                functional.backward(torch.tensor(grad.astype(dtype)))
            seen["rows"], seen["weights"] = (
                table.lookup(bags, case.combiner),
                None if leaf is None else plain(leaf.grad),
            )
            table.step(bags, grad.astype(dtype), case.combiner)
            continue
        weights = None if bags.weights is None else torch.tensor(bags.weights).to(bag.weight.dtype).requires_grad_()
        rows = bag(torch.tensor(bags.ids), torch.tensor(bags.offsets), weights)
        rows.backward(torch.tensor(grad).to(rows.dtype))
        gradient = bag.weight.grad.coalesce()
        seen |= {"rows": plain(rows), "weights": None if weights is None else plain(weights.grad)}
        seen |= {"touched": plain(gradient.indices()[0]), "gradient": plain(gradient.values())}
        optimizer.step()
        optimizer.zero_grad()
    seen["table"] = table.values if case.fused else plain(bag.weight)
    if case.fused or case.dtype not in NARROW:
        state = table.state if case.fused else optimizer.state[bag.weight]
        seen["state"] = state["accumulator"] if case.fused else plain(state["accumulator"])
    return seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: "-".join(map(str, case)))
def test_ranks_equal_one_process(found, case, size):
    want = one_process(case._replace(strategy="mod", skips=False))
    splits = np.append(want["bags"].offsets, len(want["bags"].ids))
    for rank in range(size):
        got = found[rank][size, case]
        own = cut(case, size, rank)
        assert_bits(got["rows"], want["rows"][own])
        if case.weighted:
            assert_bits(got["weights"], want["weights"][splits[own.start] : splits[own.stop]])
        assert_bits(got["table"], want["table"])
        if "state" in want:
            assert_bits(got["state"], want["state"][got["own"]])
            assert got["steps"] == STEPS
        if not case.fused:
            mine = np.isin(want["touched"], got["own"])
            order = np.argsort(got["touched"])
            np.testing.assert_array_equal(got["touched"][order], want["touched"][mine])
            assert_bits(got["gradient"][order], want["gradient"][mine])


def test_sums_by_a_tree_are_the_same_for_all_numbers_of_ranks(found):
    for strategy in ("div", "mod", "hash"):
        seen = set()
        for size in SIZES:
            for exchange in ("auto", "rows", "partial"):
                answers = [found[rank][size, "sum_by_tree"][strategy, exchange] for rank in range(size)]
                seen.add((np.concatenate([rows for rows, _ in answers]).tobytes(), answers[0][1].tobytes()))
        assert len(seen) == 1
        case = Case("mean", True, strategy, "float32", True)
        exact = gradbag.Table(ROWS, COLUMNS, gradbag.optim.SGD(0.1))
        for step in range(3):
            bags, grad = batch(case, step)
            exact.step(bags, grad)
        for exchange in ("partial", "hybrid"):
            table = found[0][4, "sum_by_tree"][strategy, exchange][1]
            np.testing.assert_allclose(table, exact.values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_features_share_an_exchange(found, size):
    for rank in range(size):
        (rows, grads, _), (rows_at_once, grads_at_once, messages) = found[rank][size, "several"]
        for one, other in zip([*rows, *grads], [*rows_at_once, *grads_at_once], strict=True):
            assert_bits(other, one)
        assert messages == 4  # how much will come, ids, rows, gradients: no more than for one feature


@pytest.mark.parametrize("size", SIZES)
def test_second_derivatives(found, size):
    case = Case("sqrtn", True, "mod", "float64", False)
    bags, grad = batch(case, 0)
    start = gradbag.Table(ROWS, COLUMNS, dtype="float64", init="normal").values
    bag = gradbag.torch.EmbeddingBag(ROWS, COLUMNS, mode="sqrtn", _weight=to_tensor(start))
    weights = torch.tensor(bags.weights).double().requires_grad_()
    rows = bag(torch.tensor(bags.ids), torch.tensor(bags.offsets), weights)
    grad = torch.tensor(grad).double()
    first = torch.autograd.grad((rows**3 * grad).sum(), [bag.weight, weights], create_graph=True)
    second = torch.autograd.grad(sum((each**2).sum() for each in first), [bag.weight, weights])
    splits = np.append(bags.offsets, len(bags.ids))
    for rank in range(size):
        table, *got = found[rank][size, "second_order"]
        assert_bits(table, start)
        own = np.arange(ROWS)[rank::size]
        part = cut(case, size, rank)
        entries = slice(splits[part.start], splits[part.stop])
        np.testing.assert_allclose(got[0], plain(first[0])[own], rtol=1e-10)
        np.testing.assert_allclose(got[1], plain(first[1])[entries], rtol=1e-10)
        np.testing.assert_allclose(got[2], plain(second[0])[own], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(got[3], plain(second[1])[entries], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_all_ranks_tell_of_what_is_wrong_on_one(found, size):
    told, rows = zip(*(found[rank][size, "refusals"] for rank in range(size)), strict=True)
    last = size - 1
    assert told[0][:2] == [
        ("InvalidArgumentError", f"rank {last}: ShardKeys: ids[1] == {ROWS} out of range [0, {ROWS})"),
        ("InvalidArgumentError", f"rank {last}: ShardKeys: ids[1] == -1 out of range [0, {ROWS})"),
    ]
    assert told[0][2][1].startswith("rank 0: ")
    assert "offsets[1] == 3" in told[0][2][1]
    assert told[0][3][0] == "UnsupportedTypeError"
    assert "per_sample_weights must have shape" in told[0][4][1]
    assert all(each == told[0] for each in told)
    assert all(each.tobytes() == rows[0].tobytes() for each in rows)  # and then it went on


@pytest.mark.parametrize("fused", [True, False])
def test_a_checkpoint_of_pytorch_is_read_by_any_number_of_ranks(found, fused):
    table = gradbag.Table(ROWS + 1, COLUMNS, gradbag.optim.RowAdagrad(0.1), init="normal")
    for step in range(2):
        bags = gradbag.Bags.of(np.arange(ROWS + 1).reshape(-1, 1)[step::2])
        table.step(bags, np.ones((len(bags), COLUMNS), np.float32))
    tried = 0
    for size, other in product(SIZES, SIZES):
        for rank in range(other):
            values, state, own = found[rank]["saved_by_torch"][fused, size, other]
            assert_bits(values, table.values)
            assert_bits(state, table.state["accumulator"][own])
            tried += 1
    assert tried == 40
    assert "partition must be 'div'; save and load take any; got 'mod'" in found[0][2, "parts_of_tensors"]


def test_looking_up_alone_sends_no_entries(found):
    for rank in range(4):
        with_entries, without = found[rank][4, "looking_only"]
        assert without < with_entries
    assert found[0][1, "looking_only"] == (0, 0)


def test_every_case_has_been_tried():
    assert len(list(cases())) == 26
    assert BAGS % 4 == 0
    assert {numpy_dtype(case.dtype).name for case in cases()} == {"float32", "float64", *NARROW}
