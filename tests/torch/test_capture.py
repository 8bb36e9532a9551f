"""What `gradbag.capture` sees of modules of PyTorch, and that they do not notice it."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import gradbag
import gradbag.torch
from gradbag.capturing.summary import largest_rows, never_touched, steps_of

IDS, OFFSETS = torch.tensor([3, 17, 3, 90]), torch.tensor([0, 3, 3])


class Model(nn.Module):
    def __init__(self, kind: Any = gradbag.torch.EmbeddingBag, **settings: Any) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.items = kind(100, 4, mode="mean", **settings)
        self.users = nn.Embedding(10, 4, padding_idx=0)

    def forward(self, ids: Any, offsets: Any, users: Any) -> Any:
        return (self.items(ids, offsets) * self.users(users).sum(1)).sum(1)


def train(model: nn.Module, steps: int = 3) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(IDS, OFFSETS, torch.tensor([[1, 2], [0, 0], [5, 0]])).pow(2).sum().backward()
        optimizer.step()
    return [value.clone() for value in model.state_dict().values()]


@pytest.mark.parametrize("kind", [gradbag.torch.EmbeddingBag, nn.EmbeddingBag])
@pytest.mark.parametrize("sparse", [False, True])
def test_bags_rows_and_gradients_of_a_training(kind: Any, sparse: bool) -> None:
    model = Model(kind, sparse=sparse)
    with gradbag.capture(model) as seen:
        train(model)
    assert seen.count == len(seen.steps) == 3
    assert {name: table.touched for name, table in seen.tables.items()} == {"items": 3, "users": 3}
    assert never_touched(seen, "items") == [(0, 3), (4, 17), (18, 90), (91, 100)]
    one = steps_of(seen, "items")[0]
    assert (one.bags, one.empty, one.entries, one.unique, one.repeated, one.gradient_rows) == (3, 1, 4, 3, 1, 3)
    users = steps_of(seen, "users")[0]  # padding is no entry, and a row of nothing else an empty bag
    assert (users.bags, users.empty, users.entries) == (3, 1, 3)

    again = Model(kind, sparse=sparse)
    again(IDS, OFFSETS, torch.tensor([[1, 2], [0, 0], [5, 0]])).pow(2).sum().backward()
    grad = (again.items.weight.grad.to_dense() if sparse else again.items.weight.grad).numpy()
    rows = largest_rows(seen.steps[0], "items", 8)
    assert sorted(row.row for row in rows) == [3, 17, 90]
    for row in rows:
        assert row.norm == pytest.approx(np.linalg.norm(grad[row.row]), rel=1e-6)
        np.testing.assert_allclose(np.array(row.values, float), grad[row.row], rtol=1e-6)
    by_row = {row.row: row for row in rows}
    assert [(bag.number, bag.ids) for bag in by_row[3].bags] == [(0, [3, 17, 3])]
    assert by_row[3].times == 2


@pytest.mark.parametrize("settings", [{}, {"sparse": True}, {"fused": gradbag.optim.RowAdagrad(lr=0.1)}], ids=str)
def test_the_training_does_not_notice(settings: dict[str, Any]) -> None:
    wanted = train(Model(**settings))
    model = Model(**settings)
    with gradbag.capture(model):
        got = train(model)
    assert all(torch.equal(one, other) for one, other in zip(wanted, got, strict=True))
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in model.modules())
    assert not any(parameter._backward_hooks for parameter in model.parameters())


def test_a_fused_step_has_the_gradient_that_it_never_makes() -> None:
    seen = []
    for settings in ({"sparse": True}, {"fused": gradbag.optim.RowAdagrad(lr=0.1)}):
        model = Model(**settings)
        with gradbag.capture(model) as one:
            train(model, steps=1)
        seen.append(one.steps[0].gradients["items"][0])
    np.testing.assert_array_equal(seen[0].indices, seen[1].indices)
    np.testing.assert_allclose(seen[0].values, seen[1].values, rtol=1e-6)


def test_tables_in_groups() -> None:
    bags = gradbag.torch.GroupedEmbeddingBag([(10, 2), (20, 3)], feature_table_map=[0, 1, 0])
    with gradbag.capture(bags) as seen:
        bags(torch.tensor([1, 2, 3, 4]), torch.tensor([0, 1, 1, 2, 3, 4, 4])).sum().backward()
    (step,) = seen.steps
    assert [one.ids.tolist() for one in step.lookups["0"]] == [[1], [4]]
    assert [one.ids.tolist() for one in step.lookups["1"]] == [[2, 3]]
    assert [one.empty for one in step.lookups["0"]] == [1, 1]
    assert step.gradients["0"][0].indices.tolist() == [1, 4]


def test_what_is_not_finite_comes_first() -> None:
    model = Model()
    with torch.no_grad():
        model.items.weight[90] = torch.inf
    with gradbag.capture(model) as seen:
        train(model, steps=1)
    one = steps_of(seen, "items")[0]
    assert (one.bad_bags, one.bad_rows) == (1, 1)
    first = largest_rows(seen.steps[0], "items", 8)[0]
    assert (first.row, first.norm, first.bags[0].number) == (90, None, 2)


def test_steps_without_gradients() -> None:
    model = Model()
    with gradbag.capture(model) as seen, torch.no_grad():
        for _ in range(4):
            model(IDS, OFFSETS, torch.tensor([[1], [2], [3]]))
    assert [len(step.lookups["items"]) for step in seen.steps] == [1, 1, 1, 1]


def test_memory_is_bounded_and_the_latest_steps_stay() -> None:
    model = Model()
    with gradbag.capture(model, most_bytes=40_000) as seen:
        train(model, steps=50)
    assert seen.count == 50
    assert sum(step.nbytes for step in seen.steps) <= 40_000
    assert 0 < len(seen.steps) < 50
    assert seen.steps[-1].number == 50
    model = Model()
    with gradbag.capture(model, most_entries=3, most_rows=1) as seen:
        train(model, steps=1)
    (lookup,), (gradient,) = seen.steps[0].lookups["items"], seen.steps[0].gradients["items"]
    assert (lookup.ids.tolist(), lookup.offsets.tolist(), lookup.entries, lookup.bags) == ([3, 17, 3], [0, 3], 4, 3)
    assert (len(gradient.indices), gradient.rows) == (1, 3)
    assert seen.tables["items"].touched == 3  # of all entries


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"capture: model must be .*got int"):
        gradbag.capture(3)
