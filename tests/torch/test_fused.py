"""The layer whose backward makes the step of an optimizer."""

import copy
import doctest
import io
from typing import Any

import pytest
import torch

import gradbag
import gradbag.torch
from gradbag import optim
from gradbag.testing import assert_same
from gradbag.torch import layer as layer_module

ROWS, COLUMNS, STEPS = 30, 4, 12
OPTIMIZERS = [
    optim.SGD(0.1),
    optim.Momentum(0.1),
    optim.Adagrad(0.1),
    optim.RowAdagrad(0.05),
    optim.Adam(0.01),
    optim.Adam(0.01, bias_correction="row"),
    optim.AdamW(0.01, weight_decay=0.1, decay="lazy"),
    optim.RowAdam(lambda step: 0.1 / step),
    optim.RMSProp(0.01),
    optim.Ftrl(0.1),
]


def table(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0), dtype=dtype)


def fused(optimizer: Any, **settings: Any) -> Any:
    return gradbag.torch.EmbeddingBag(ROWS, COLUMNS, _weight=table(), fused=optimizer, **settings)


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids that repeat within bags and between them, an empty bag, and weights."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 8, (20,), generator=generator)
    return ids, torch.tensor([0, 3, 3, 11]), torch.rand(20, generator=generator)


def loss(rows: torch.Tensor) -> torch.Tensor:
    return (rows.sin() * torch.arange(1.0, 5)).sum()


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: optimizer.rule_name + optimizer.decay)
@pytest.mark.parametrize(
    ("settings", "weighted"),
    [({"mode": "mean"}, False), ({"mode": "sum"}, True), ({"mode": "sqrtn", "padding_idx": 3, "default_id": 1}, True)],
    ids=["mean", "weighted sum", "padding and default"],
)
def test_steps_are_those_of_the_layer_and_an_optimizer(optimizer: Any, settings: Any, weighted: bool) -> None:
    one = fused(optimizer, **settings)
    other = gradbag.torch.EmbeddingBag(ROWS, COLUMNS, _weight=table(), sparse=True, **settings)
    kind = getattr(gradbag.torch.optim, type(optimizer).__name__)
    mover = kind(other.parameters(), **vars(optimizer))
    for step in range(STEPS):
        ids, offsets, weights = batch(step)
        inputs = (ids, offsets, weights) if weighted else (ids, offsets)
        losses = [loss(bag(*inputs)) for bag in (one, other)]
        assert losses[0].item() == losses[1].item()
        other.zero_grad()
        for value in losses:
            value.backward()
        mover.step()
    assert one.weight.grad is None
    assert_same(one.weight.detach().numpy(), other.weight.detach().numpy())
    kept = mover.state[other.weight]
    assert {f"fused_{name}" for name in kept} == {name for name, _ in one.named_buffers()}
    assert one.fused_step.item() == kept.pop("step") == STEPS
    for name, value in kept.items():
        assert_same(getattr(one, f"fused_{name}").numpy(), value.numpy())
    assert not torch.equal(one.weight[:8], table()[:8])
    assert torch.equal(one.weight[8:], table()[8:])


def test_weights_get_the_gradient_of_before_the_step() -> None:
    ids, offsets, weights = batch(1)
    grads = []
    for bag in (fused(optim.SGD(0.5), mode="mean"), gradbag.torch.EmbeddingBag(ROWS, COLUMNS, _weight=table())):
        leaf = weights.clone().requires_grad_()
        loss(bag(ids, offsets, leaf)).backward()
        grads.append(leaf.grad)
    assert torch.equal(*grads)
    assert grads[0].any()


def test_a_state_dict_goes_on_with_the_same_bits() -> None:
    straight, file = fused(optim.Adam(0.01)), io.BytesIO()
    for step in range(6):
        loss(straight(*batch(step)[:2])).backward()
        if step == 2:
            torch.save(straight.state_dict(), file)
    file.seek(0)
    resumed = gradbag.torch.EmbeddingBag(ROWS, COLUMNS, fused=optim.Adam(0.01))
    resumed.load_state_dict(torch.load(file, weights_only=True))
    resumed = copy.deepcopy(resumed)
    for step in range(3, 6):
        loss(resumed(*batch(step)[:2])).backward()
    assert {name: value.tolist() for name, value in resumed.state_dict().items()} == {
        name: value.tolist() for name, value in straight.state_dict().items()
    }


def test_a_table_that_is_not_trained_stays() -> None:
    bag = fused(optim.SGD(0.5))
    ids, offsets, weights = batch(0)
    with torch.no_grad():
        assert not bag(ids, offsets).requires_grad
    bag.weight.requires_grad_(False)
    leaf = weights.clone().requires_grad_()
    loss(bag(ids, offsets, leaf)).backward()
    assert leaf.grad.any()
    assert bag.fused_step.item() == 0
    assert torch.equal(bag.weight, table())


def test_an_optimizer_of_all_parameters_leaves_it_alone() -> None:
    model = torch.nn.Sequential(fused(optim.SGD(0.5)), torch.nn.Linear(COLUMNS, 1))
    other = torch.optim.AdamW(model.parameters(), weight_decay=0.5)
    model[1](model[0](*batch(0)[:2])).sum().backward()
    moved = model[0].weight.detach().clone()
    other.step()
    assert torch.equal(model[0].weight, moved)
    assert not torch.equal(moved, table())


def test_a_look_up_of_before_the_step_is_told_of_it() -> None:
    bag = fused(optim.SGD(0.5))
    ids, offsets, weights = batch(0)
    first, second = bag(ids, offsets, weights.clone().requires_grad_()), bag(ids, offsets)
    loss(second).backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss(first).backward()
    assert bag.fused_step.item() == 1


# What PyTorch's compiler does to tensors between its parts.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_it_compiles_in_parts() -> None:
    """The compiled parts end before the look-up and go on behind it."""
    bag = fused(optim.RowAdagrad(0.1), padding_idx=2)
    other = copy.deepcopy(bag)
    compiled = torch.compile(lambda ids, offsets: loss(bag(ids * 1, offsets)), backend="aot_eager")
    for step in range(3):
        ids, offsets, _ = batch(step)
        compiled(ids, offsets).backward()
        loss(other(ids, offsets)).backward()
    torch.testing.assert_close(bag.weight, other.weight)
    assert bag.fused_step.item() == 3
    whole = torch.compile(fused(optim.RowAdagrad(0.1)), backend="aot_eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="a fused step changes the table in backward"):
        whole(*batch(0)[:2])


def test_it_is_not_differentiated_twice() -> None:
    bag = fused(optim.SGD(0.5))
    scale = torch.ones((), requires_grad=True)
    value = loss(bag(*batch(0)[:2])) * scale
    with pytest.raises(RuntimeError, match=r"fused must be None where backward is differentiated again .* got SGD"):
        torch.autograd.backward(value, create_graph=True)
    assert torch.equal(bag.weight, table())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fused": torch.optim.SGD}, "fused must be an optimizer of gradbag.optim; got type"),
        ({"fused": optim.SGD(0.1), "mode": "max"}, "fused must be None with mode='max'; got SGD"),
        ({"fused": optim.SGD(0.1), "scale_grad_by_freq": True}, "fused must be None with scale_grad_by_freq; got SGD"),
    ],
    ids=["class", "max", "frequency"],
)
def test_what_cannot_be_fused_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(gradbag.errors.Error, match=message):
        gradbag.torch.EmbeddingBag(ROWS, COLUMNS, **settings)


def test_a_bad_id_moves_nothing() -> None:
    bag = fused(optim.SGD(0.5))
    with pytest.raises(RuntimeError, match=r"ids\[1\] == 30"):
        bag(torch.tensor([0, 30]), torch.tensor([0]))
    assert torch.equal(bag.weight, table())


def test_the_example_of_the_layer_is_right() -> None:
    assert "fused=RowAdagrad(lr=0.05" in repr(fused(optim.RowAdagrad(0.05)))
    assert doctest.testmod(layer_module) == (0, 7)
