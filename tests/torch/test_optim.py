"""Optimizers beside PyTorch's and FBGEMM's, and as classes of torch.optim."""

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradbag
import gradbag.torch
from gradbag import optim
from gradbag.testing import assert_same

STEPS, ROWS, COLUMNS = 200, 12, 4
RATE = 0.05


# In float64 the formulas show, in float32 what two hundred steps make of the order of roundings.
PRECISIONS = {torch.float64: {"rtol": 1e-9, "atol": 1e-10}, torch.float32: {"rtol": 1e-5, "atol": 2e-5}}
both_precisions = pytest.mark.parametrize("dtype", PRECISIONS, ids=str)


def table_of(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((ROWS, COLUMNS))).to(dtype)


def sparse(seed: int, dtype: torch.dtype = torch.float32, count: int = 9) -> torch.Tensor:
    """A gradient in which rows repeat."""
    rng = np.random.default_rng(seed)
    indices = torch.from_numpy(rng.integers(0, ROWS, (1, count)))
    rows = torch.from_numpy(rng.standard_normal((count, COLUMNS))).to(dtype)
    return torch.sparse_coo_tensor(indices, rows, (ROWS, COLUMNS), check_invariants=False)


# ------------------------------------------------------------------ beside others
@pytest.mark.parametrize(
    ("optimizer", "theirs"),
    [
        (optim.SGD.torch(RATE), lambda p: torch.optim.SGD(p, RATE)),
        (optim.Adagrad.torch(RATE), lambda p: torch.optim.Adagrad(p, RATE)),
        (optim.Adam.torch(RATE), lambda p: torch.optim.SparseAdam(p, RATE)),
    ],
    ids=["SGD", "Adagrad", "SparseAdam"],
)
@both_precisions
def test_two_hundred_sparse_steps_are_those_of_pytorch(
    optimizer: optim.Optimizer, theirs: Callable[..., Any], dtype: torch.dtype
) -> None:
    table, parameter = table_of(dtype), torch.nn.Parameter(table_of(dtype))
    state, other = optimizer.init(table), theirs([parameter])
    for step in range(STEPS):
        parameter.grad = sparse(step, dtype)
        optimizer.apply(table, state, sparse(step, dtype))
        other.step()
    torch.testing.assert_close(table, parameter.detach(), **PRECISIONS[dtype])
    assert (table - table_of(dtype)).abs().min() > 1e-4


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            lambda p: gradbag.torch.optim.SGD(p, RATE, weight_decay=0.1),
            lambda p: torch.optim.SGD(p, RATE, weight_decay=0.1),
        ),
        (
            lambda p: gradbag.torch.optim.Momentum(p, RATE, nesterov=True),
            lambda p: torch.optim.SGD(p, RATE, momentum=0.9, nesterov=True),
        ),
        (
            lambda p: gradbag.torch.optim.Adagrad(p, RATE, weight_decay=0.1, initial_accumulator=0.2),
            lambda p: torch.optim.Adagrad(p, RATE, weight_decay=0.1, initial_accumulator_value=0.2),
        ),
        (lambda p: gradbag.torch.optim.Adam(p, RATE), lambda p: torch.optim.Adam(p, RATE)),
        (
            lambda p: gradbag.torch.optim.Adam(p, RATE, weight_decay=0.1, bias_correction="row"),
            lambda p: torch.optim.Adam(p, RATE, weight_decay=0.1),
        ),
        (
            lambda p: gradbag.torch.optim.AdamW(p, RATE, weight_decay=0.1),
            lambda p: torch.optim.AdamW(p, RATE, weight_decay=0.1),
        ),
        (
            lambda p: gradbag.torch.optim.AdamW(p, RATE, weight_decay=0.1, decay="lazy"),
            lambda p: torch.optim.AdamW(p, RATE, weight_decay=0.1),
        ),
    ],
    ids=["SGD", "Momentum", "Adagrad", "Adam", "Adam by rows", "AdamW", "AdamW lazy"],
)
@both_precisions
def test_two_hundred_dense_steps_are_those_of_pytorch(
    ours: Callable[..., Any], theirs: Callable[..., Any], dtype: torch.dtype
) -> None:
    first, second = (
        [torch.nn.Parameter(table_of(dtype)), torch.nn.Parameter(torch.tensor(2.0, dtype=dtype))] for _ in range(2)
    )
    one, other = ours(first), theirs(second)
    for step in range(STEPS):
        for parameters in (first, second):
            parameters[0].grad = sparse(step, dtype).to_dense()
            parameters[1].grad = parameters[0].grad.sum()
        one.step()
        other.step()
    for mine, other_one in zip(first, second, strict=True):
        torch.testing.assert_close(mine.detach(), other_one.detach(), **PRECISIONS[dtype])


def fbgemm_bags(name: str, **settings: Any) -> Any:
    """FBGEMM's table of one feature, whose backward makes the step."""
    pytest.importorskip("fbgemm_gpu")
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
        ComputeDevice,
        SplitTableBatchedEmbeddingBagsCodegen,
    )

    made = SplitTableBatchedEmbeddingBagsCodegen(
        [(ROWS, COLUMNS, EmbeddingLocation.HOST, ComputeDevice.CPU)],
        optimizer=getattr(EmbOptimType, name),
        learning_rate=RATE,
        device=torch.device("cpu"),
        **settings,
    )
    made.split_embedding_weights()[0].data.copy_(table_of())
    return made


@pytest.mark.parametrize(
    ("optimizer", "name", "settings"),
    [
        (optim.SGD.fbgemm(RATE), "EXACT_SGD", {}),
        (optim.Adagrad.fbgemm(RATE), "EXACT_ADAGRAD", {}),
        (optim.RowAdagrad.fbgemm(RATE), "EXACT_ROWWISE_ADAGRAD", {}),
    ],
    ids=["SGD", "Adagrad", "row-wise Adagrad"],
)
@pytest.mark.filterwarnings("ignore")
def test_two_hundred_fused_steps_are_those_of_fbgemm(
    optimizer: optim.Optimizer, name: str, settings: dict[str, Any]
) -> None:
    theirs, table = fbgemm_bags(name, **settings), table_of()
    state = optimizer.init(table)
    for step in range(STEPS):
        rng = np.random.default_rng(step)
        ids, offsets = torch.from_numpy(rng.integers(0, ROWS, 11)), torch.tensor([0, 4, 4, 5])
        grad = torch.from_numpy(rng.standard_normal((4, COLUMNS)).astype(np.float32))
        theirs(ids, torch.tensor([0, 4, 4, 5, 11])).backward(grad)
        optimizer.step(table, state, (ids, offsets), grad, combiner="sum")
    torch.testing.assert_close(table, theirs.split_embedding_weights()[0].detach(), **PRECISIONS[torch.float32])
    assert (table - table_of()).abs().min() > 1e-4


# ------------------------------------------------------------------ on tensors
def test_a_tensor_moves_in_its_own_memory_as_an_array_does() -> None:
    optimizer = optim.AdamW(RATE, weight_decay=0.1, decay="lazy")
    table, array = table_of(), table_of().numpy()
    state, kept, where = optimizer.init(table), optimizer.init(array), table.data_ptr()
    version = table._version
    for step in range(5):
        optimizer.apply(table, state, sparse(step))
        optimizer.apply(array, kept, sparse(step))
    optimizer.catch_up(table, state)
    optimizer.catch_up(array, kept)
    assert_same(table.numpy(), array)
    assert_same(state["square"].numpy(), kept["square"])
    assert_same(state["last"].numpy(), kept["last"])
    assert table.data_ptr() == where
    assert table._version > version  # who has kept the tensor for a gradient hears of it


def test_a_bad_index_is_refused_and_changes_nothing() -> None:
    optimizer, table = optim.Adam(RATE), table_of()
    state = optimizer.init(table)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^RowAdam: indices\[1\] == 12 out of range \[0, 12\)"):
        optimizer.apply(table, state, (torch.tensor([1, 12]), torch.ones(2, COLUMNS)))
    assert torch.equal(table, table_of())
    assert state["step"] == 0
    assert not state["mean"].any()


def test_a_tensor_elsewhere_is_named() -> None:
    optimizer, table = optim.SGD(RATE), table_of()
    with pytest.raises(
        gradbag.UnsupportedTypeError, match=r"RowSgd: grad must be a dense tensor on the CPU; got .* meta"
    ):
        optimizer.apply(table, optimizer.init(table), (torch.tensor([1]), torch.ones(1, COLUMNS, device="meta")))


# ------------------------------------------------------------------ as torch.optim has them
def steps_of(optimizer: Any, parameter: torch.nn.Parameter, steps: range) -> None:
    for step in steps:
        parameter.grad = sparse(step)
        optimizer.step()


def test_a_state_dict_that_was_saved_goes_on_with_the_same_bits() -> None:
    parameter = torch.nn.Parameter(table_of())
    make: Any = lambda p: gradbag.torch.optim.AdamW([p], lr=RATE, weight_decay=0.1, decay="lazy")  # noqa: E731
    optimizer = make(parameter)
    steps_of(optimizer, parameter, range(5))
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    resumed = torch.nn.Parameter(parameter.detach().clone())
    other = make(resumed)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert other.state[resumed]["last"].dtype is torch.int64
    steps_of(optimizer, parameter, range(5, 10))
    steps_of(other, resumed, range(5, 10))
    assert torch.equal(parameter, resumed)


def test_groups_have_settings_of_their_own_and_schedulers_change_them() -> None:
    first, second = torch.nn.Parameter(table_of()), torch.nn.Parameter(table_of())
    optimizer = gradbag.torch.optim.SGD([{"params": [first]}, {"params": [second], "lr": 1.0}], lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
    for parameter in (first, second):
        parameter.grad = torch.ones(ROWS, COLUMNS)
    optimizer.step()
    schedule.step()
    torch.testing.assert_close(first.detach(), table_of() - 0.5)
    torch.testing.assert_close(second.detach(), table_of() - 1.0)
    optimizer.step()
    torch.testing.assert_close(first.detach(), table_of() - 0.55)


def test_a_closure_is_called_with_gradients_on() -> None:
    parameter = torch.nn.Parameter(table_of())
    optimizer = gradbag.torch.optim.Adagrad([parameter], lr=torch.tensor(RATE))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.embedding(torch.tensor([1, 1, 3]), parameter, sparse=True).square().sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    assert torch.equal(parameter[0].detach(), table_of()[0])
    assert len(copy.deepcopy(optimizer).state) == 1


def test_wrong_settings_are_refused() -> None:
    parameter = torch.nn.Parameter(table_of())
    with pytest.raises(TypeError, match="SGD got an unexpected argument 'momentum'"):
        gradbag.torch.optim.SGD([parameter], lr=0.1, momentum=0.9)
    with pytest.raises(TypeError, match="Adam misses the required argument 'lr'"):
        gradbag.torch.optim.Adam([parameter])
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^Adam: beta1 must be in \[0, 1\); got 2$"):
        gradbag.torch.optim.Adam([parameter], lr=0.1, beta1=2)
