"""Many tables in one layer, beside layers of one table, FBGEMM and TorchRec."""

import copy
from typing import Any

import numpy as np
import pytest
import torch

import gradbag
import gradbag.torch
from gradbag import optim
from gradbag.testing import assert_same

SPECS = [(50, 8), (7, 4), (200, 16)]
FEATURES = [1, 0, 2, 0]
BAGS = 6
WIDTH = sum(SPECS[table][1] for table in FEATURES)


def layer(**settings: Any) -> Any:
    made = gradbag.torch.GroupedEmbeddingBag(SPECS, FEATURES, **settings)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in made.weights:
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return made


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, offsets in FBGEMM's layout, and weights."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, (len(FEATURES), BAGS))
    parts = [rng.integers(0, SPECS[t][0], n) for t, n in zip(FEATURES, lengths.sum(1), strict=True)]
    ids = torch.from_numpy(np.concatenate(parts))
    weights = torch.from_numpy(rng.uniform(0.5, 2.0, len(ids)).astype(np.float32))
    return ids, torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)])), weights


def loss(rows: torch.Tensor) -> torch.Tensor:
    return (rows.sin() * torch.arange(1.0, WIDTH + 1)).sum()


def one_by_one(tables: Any, ids: Any, offsets: Any, weights: Any, mode: str, sparse: bool = False) -> torch.Tensor:
    found = []
    for number, table in enumerate(FEATURES):
        bounds = offsets[number * BAGS : (number + 1) * BAGS + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        rows = gradbag.torch.functional.embedding_bag(
            ids[part],
            tables[table],
            bounds[:-1] - bounds[0],
            mode=mode,
            sparse=sparse,
            per_sample_weights=None if weights is None else weights[part],
        )
        found.append(rows)
    return torch.cat(found, 1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "sqrtn"])
def test_rows_and_gradients_are_those_of_one_table_after_another(mode: str, weighted: bool, sparse: bool) -> None:
    bags = layer(mode=mode, sparse=sparse)
    ids, offsets, weights = batch(1)
    given = weights.clone().requires_grad_() if weighted else None
    other = weights.clone().requires_grad_() if weighted else None
    tables = [weight.detach().clone().requires_grad_() for weight in bags.weights]
    one, two = bags(ids, offsets, given), one_by_one(tables, ids, offsets, other, mode)
    assert_same(one.detach().numpy(), two.detach().numpy())
    with torch.no_grad():
        assert_same(bags(ids, offsets, given).numpy(), one.detach().numpy())
    loss(one).backward()
    loss(two).backward()
    for weight, table in zip(bags.weights, tables, strict=True):
        assert weight.grad.is_sparse == sparse
        torch.testing.assert_close(weight.grad.to_dense(), table.grad)
    if given is not None and other is not None:
        torch.testing.assert_close(given.grad, other.grad)


@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_is_eager(sparse: bool) -> None:
    torch._dynamo.reset()
    bags = layer(mode="sqrtn", sparse=sparse)
    compiled = torch.compile(bags, fullgraph=True, backend="aot_eager")
    want, got = bags(*batch(1)), compiled(*batch(1))
    assert torch.equal(got, want)
    gradients = [torch.autograd.grad(loss(rows), list(bags.weights)) for rows in (want, got)]
    for eager, dense in zip(*gradients, strict=True):
        assert torch.equal(dense, eager.to_dense())


def test_tables_whose_sizes_depend_on_data_are_compiled() -> None:
    def summed(table: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        ids, offsets = torch.tensor([0, 1, 1, 2]), torch.tensor([[0, 1], [2, 3]])
        rows = gradbag.raw_ops.GroupedEmbeddingBag(tables=[table[kept], table], ids=ids, offsets=offsets, weights=None)
        return rows.sin().sum()

    torch._dynamo.reset()
    table, kept = torch.randn(3, 2, requires_grad=True), torch.tensor([True, False, True])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        (got,) = torch.autograd.grad(torch.compile(summed, fullgraph=True, backend="aot_eager")(table, kept), table)
    (want,) = torch.autograd.grad(summed(table, kept), table)
    torch.testing.assert_close(got, want)


def test_second_derivatives() -> None:
    bags = gradbag.torch.GroupedEmbeddingBag([(4, 2), (3, 1)], [1, 0, 1], "mean", dtype=torch.float64)
    ids, offsets = torch.tensor([0, 2, 3, 1, 0, 2, 2]), torch.tensor([0, 2, 2, 4, 5, 5, 7])
    weights = (torch.rand(7, dtype=torch.float64) + 0.5).requires_grad_()

    def rows(first: Any, second: Any, of: Any) -> Any:
        return gradbag.raw_ops.GroupedEmbeddingBag(
            tables=[first, second],
            ids=ids,
            offsets=offsets[:-1].reshape(3, 2),
            weights=of,
            feature_tables=[1, 0, 1],
        )

    tables = [weight.detach().requires_grad_() for weight in bags.weights]
    assert torch.autograd.gradcheck(rows, (*tables, weights))
    assert torch.autograd.gradgradcheck(rows, (*tables, weights), check_fwd_over_rev=True)


OPTIMIZERS = [
    optim.SGD(0.1),
    optim.Momentum(0.1),
    optim.Adagrad(0.1),
    optim.RowAdagrad(0.05),
    optim.Adam(0.01, bias_correction="row"),
    optim.AdamW(0.01, weight_decay=0.1),
    optim.RowAdam(lambda step: 0.1 / step),
    optim.Ftrl(0.1),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda optimizer: optimizer.rule_name)
def test_fused_steps_are_those_of_the_layer_and_an_optimizer(optimizer: Any) -> None:
    one, other = layer(mode="mean", fused=optimizer), layer(mode="mean", sparse=True)
    mover = getattr(gradbag.torch.optim, type(optimizer).__name__)(other.parameters(), **vars(optimizer))
    for step in range(8):
        for bags in (one, other):
            bags.zero_grad()
            loss(bags(*batch(step)[:2])).backward()
        mover.step()
    for weight, wanted in zip(one.weights, other.weights, strict=True):
        assert weight.grad is None
        torch.testing.assert_close(weight.detach(), wanted.detach())
    assert one.fused_step.item() == 8


def test_state_is_kept_and_goes_on() -> None:
    one = layer(fused=optim.RowAdagrad(0.05))
    loss(one(*batch(0))).backward()
    other = layer(fused=optim.RowAdagrad(0.05))
    other.load_state_dict(one.state_dict())
    third = copy.deepcopy(one)
    for bags in (one, other, third):
        loss(bags(*batch(1))).backward()
    for name, value in one.state_dict().items():
        assert_same(other.state_dict()[name].numpy(), value.numpy())
        assert_same(third.state_dict()[name].numpy(), value.numpy())


def test_a_layer_that_was_converted_looks_at_its_new_tables() -> None:
    bags = layer(fused=optim.Adagrad(0.1))
    ids, offsets, _ = batch(0)
    loss(bags(ids, offsets)).backward()
    before = bags(ids, offsets).detach()
    bags.double()
    assert bags(ids, offsets).dtype is torch.float64
    torch.testing.assert_close(bags(ids, offsets).detach(), before.double())
    bags(ids, offsets).sum().backward()
    assert (bags(ids, offsets).detach() != before).any()


def test_weights_get_their_gradient_beside_a_fused_step() -> None:
    one, other = layer(mode="mean", fused=optim.SGD(0.1)), layer(mode="mean")
    ids, offsets, weights = batch(2)
    given = [weights.clone().requires_grad_() for _ in range(2)]
    for bags, leaf in zip((one, other), given, strict=True):
        loss(bags(ids, offsets, leaf)).backward()
    torch.testing.assert_close(given[0].grad, given[1].grad)


def test_bags_and_jagged_tensors_are_taken() -> None:
    bags = layer(feature_names=["a", "b", "c", "d"])
    ids, offsets, weights = batch(4)
    wanted = bags(ids, offsets, weights).detach()
    whole = gradbag.Bags.from_offsets(ids.numpy(), offsets.numpy(), weights.numpy(), include_last_offset=True)
    parts = [whole[k * BAGS : (k + 1) * BAGS] for k in range(4)]
    assert_same(bags(parts).detach().numpy(), wanted.numpy())
    named = dict(zip("dcba", reversed(parts), strict=True))
    assert_same(bags(named).detach().numpy(), wanted.numpy())
    pytest.importorskip("torchrec.sparse.jagged_tensor")
    for order in ("abcd", "dcba"):
        jagged = gradbag.Bags.to_keyed_jagged({name: named[name] for name in order})
        assert_same(bags(jagged).detach().numpy(), wanted.numpy())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_steps_are_those_of_fbgemm(mode: str) -> None:
    pytest.importorskip("fbgemm_gpu")
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
        ComputeDevice,
        SplitTableBatchedEmbeddingBagsCodegen,
    )

    features = sorted(FEATURES)  # FBGEMM wants those of one table to stand together
    bags = gradbag.torch.GroupedEmbeddingBag(SPECS, features, mode, fused=optim.RowAdagrad.fbgemm(0.05))
    theirs = SplitTableBatchedEmbeddingBagsCodegen(
        [(*spec, EmbeddingLocation.HOST, ComputeDevice.CPU) for spec in SPECS],
        feature_table_map=features,
        optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        learning_rate=0.05,
        pooling_mode=PoolingMode[mode.upper()],
        device=torch.device("cpu"),
    )
    for weight, table in zip(theirs.split_embedding_weights(), bags.weights, strict=True):
        weight.data.copy_(table.detach())
    for step in range(20):
        rng = np.random.default_rng(step)
        lengths = rng.integers(0, 5, (len(FEATURES), BAGS))
        ids = torch.from_numpy(
            np.concatenate([rng.integers(0, SPECS[t][0], n) for t, n in zip(features, lengths.sum(1), strict=True)])
        )
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        one, two = bags(ids, offsets), theirs(ids, offsets)
        torch.testing.assert_close(one.detach(), two.detach(), rtol=2e-5, atol=2e-5)
        loss(one).backward()
        loss(two).backward()
    for weight, table in zip(theirs.split_embedding_weights(), bags.weights, strict=True):
        torch.testing.assert_close(table.detach(), weight.detach(), rtol=2e-5, atol=2e-5)


def test_what_does_not_fit_is_refused() -> None:
    bags = layer()
    ids, offsets, _ = batch(0)
    with pytest.raises(gradbag.InvalidArgumentError, match="offsets must have shape"):
        bags(ids, offsets[:-1])
    with pytest.raises(gradbag.InvalidArgumentError, match=r"offsets\[24\] == \d+ must be the number of ids"):
        bags(ids[:-1], offsets)
    ids[-1] = 50
    with pytest.raises(
        RuntimeError, match=r"ids\[\d+\] == 50 out of range \[0, 50\); the rows of the table of feature 3"
    ):
        bags(ids, offsets)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"feature_table_map\[1\] == 3 out of range \[0, 3\)"):
        gradbag.torch.GroupedEmbeddingBag(SPECS, [0, 3])
    with pytest.raises(gradbag.InvalidArgumentError, match="mode must be one of"):
        gradbag.torch.GroupedEmbeddingBag(SPECS, mode="max")
