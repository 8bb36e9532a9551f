"""PyTorch's own layers, answered by gradbag's kernels: who ran is counted, and the numbers are PyTorch's."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
import torch

import gradbag.torch

BACKWARD = "_embedding_bag_backward"
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
CASES = [
    (mode, sparse, weighted, last)
    for mode in ("sum", "mean")
    for sparse in (False, True)
    for weighted in ((False, True) if mode == "sum" else (False,))
    for last in (False, True)
]


def layer(mode: str = "sum", dtype: torch.dtype = torch.float32, **options: Any) -> Any:
    torch.manual_seed(3)
    return torch.nn.EmbeddingBag(50, 7, mode=mode, dtype=dtype, **options)


def entries(last: bool = False, index: torch.dtype = torch.int64) -> tuple[Any, Any]:
    torch.manual_seed(5)
    ids = torch.randint(0, 50, (40,), dtype=index)
    return ids, torch.tensor([0, 5, 5, 20] + ([40] if last else []), dtype=index)


def gradients(bag: Any, ids: Any, offsets: Any, weights: Any = None, power: int = 2) -> tuple[Any, ...]:
    """The rows, the gradient of the table, and that of the weights."""
    bag.zero_grad()
    leaf = None if weights is None else weights.clone().requires_grad_()
    rows = bag(ids, offsets, leaf)
    rows.pow(power).sum().backward()
    found = bag.weight.grad
    return rows.detach(), found.to_dense() if found.is_sparse else found, None if leaf is None else leaf.grad


def answered(call: Any) -> int:
    before = gradbag.torch.patched()[BACKWARD]
    call()
    return gradbag.torch.patched()[BACKWARD] - before


@pytest.mark.parametrize("index", [torch.int64, torch.int32])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("mode", "sparse", "weighted", "last"), CASES)
def test_a_layer_that_is_not_edited_gets_the_same_gradient(
    mode: str, sparse: bool, weighted: bool, last: bool, dtype: torch.dtype, index: torch.dtype
) -> None:
    bag = layer(mode, dtype, sparse=sparse, include_last_offset=last)
    given = (*entries(last, index), torch.rand(40, dtype=dtype) if weighted else None)
    for power in (1, 2):  # the gradient of a plain sum is one number, spread
        theirs = gradients(bag, *given, power=power)
        with gradbag.torch.patch():
            assert answered(lambda: gradients(bag, *given, power=power)) == (not sparse or index is torch.int64)  # noqa: B023
            ours = gradients(bag, *given, power=power)
        # 16-bit sums are rounded once here, after every addition there.
        rough = {"rtol": 0.05, "atol": 0.05} if dtype in DTYPES[2:] else {}
        for our, their in zip(ours, theirs, strict=True):
            torch.testing.assert_close(our, their, **rough)


@pytest.mark.parametrize("options", [{"mode": "max"}, {"padding_idx": 3}, {"scale_grad_by_freq": True}], ids=str)
def test_what_is_not_served_is_pytorchs_to_the_bit(options: dict[str, Any]) -> None:
    bag = layer(**options)
    theirs = gradients(bag, *entries())
    with gradbag.torch.patch():
        assert answered(lambda: gradients(bag, *entries())) == 0
        for our, their in zip(gradients(bag, *entries()), theirs, strict=True):
            assert our is their is None or torch.equal(our, their)


def test_a_sparse_gradient_has_every_row_once() -> None:
    bag = layer(sparse=True)
    with gradbag.torch.patch():
        bag(*entries()).sum().backward()
    assert bag.weight.grad._nnz() == len(entries()[0].unique()) < len(entries()[0])
    torch.optim.SparseAdam(bag.parameters()).step()


def test_the_last_patch_to_be_undone_restores_pytorch() -> None:
    bag = layer()
    outer = gradbag.torch.patch()
    with gradbag.torch.patch():
        pass
    assert answered(lambda: gradients(bag, *entries())) == 1
    outer.undo()
    outer.undo()
    assert answered(lambda: gradients(bag, *entries())) == 0


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_a_tape_begun_under_one_kernel_ends_under_the_other(mode: str) -> None:
    bag = layer(mode)
    _, wanted, _ = gradients(bag, *entries())
    bag.zero_grad()
    with gradbag.torch.patch():
        rows = bag(*entries())
    rows.pow(2).sum().backward()
    torch.testing.assert_close(bag.weight.grad, wanted)
    bag.zero_grad()
    rows = bag(*entries())
    with gradbag.torch.patch():
        rows.pow(2).sum().backward()
    torch.testing.assert_close(bag.weight.grad, wanted)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize(("ids", "offsets"), [([0, 99], [0]), ([0, -1], [0]), ([0, 1], [1]), ([0, 1], [0, 5])])
def test_bad_bags_are_refused_in_pytorchs_words(mode: str, ids: list[int], offsets: list[int]) -> None:
    bag, given = layer(mode), (torch.tensor(ids), torch.tensor(offsets))
    with pytest.raises(RuntimeError) as theirs:
        bag(*given)
    with gradbag.torch.patch(), pytest.raises(RuntimeError) as ours:
        bag(*given)
    assert str(ours.value).splitlines()[0] == str(theirs.value).splitlines()[0]


def test_empty_batches() -> None:
    none = torch.tensor([], dtype=torch.int64)
    for offsets in (none, torch.tensor([0, 0])):
        theirs = gradients(layer(), none, offsets)
        with gradbag.torch.patch():
            ours = gradients(layer(), none, offsets)
        assert all(a is b is None or torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_threads_patch_and_train_side_by_side() -> None:
    given = entries()
    wanted = gradients(layer("mean"), *given)[1]
    bags = [layer("mean") for _ in range(8)]
    wrong: list[Any] = []

    def work(bag: Any) -> None:
        for _ in range(50):
            with gradbag.torch.patch():
                found = gradients(bag, *given)[1]
            if not torch.allclose(found, wanted):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=[bag]) for bag in bags]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_compiled_layer() -> None:
    bag = layer("mean")
    wanted = gradients(bag, *entries())[1]
    with gradbag.torch.patch():
        compiled = torch.compile(bag, backend="aot_eager")
        bag.zero_grad()
        assert answered(lambda: compiled(*entries()).pow(2).sum().backward()) == 1
    torch.testing.assert_close(bag.weight.grad, wanted)


def test_collections_of_torchrec() -> None:
    modules = pytest.importorskip("torchrec.modules.embedding_modules")
    configs = pytest.importorskip("torchrec.modules.embedding_configs")
    jagged = pytest.importorskip("torchrec.sparse.jagged_tensor")
    config = configs.EmbeddingBagConfig(name="t", embedding_dim=4, num_embeddings=10, feature_names=["f"])
    collection = modules.EmbeddingBagCollection(tables=[config])
    features = jagged.KeyedJaggedTensor.from_lengths_sync(["f"], torch.tensor([1, 2, 2]), torch.tensor([2, 1]))
    theirs = collection(features).values().detach()
    with gradbag.torch.patch():
        rows = collection(features).values()
        assert answered(rows.sum().backward) == 1
    torch.testing.assert_close(rows, theirs)


def test_ctrl_c_inside_a_kernel_is_heard() -> None:
    bag = torch.nn.EmbeddingBag(200_000, 32, mode="sum")
    ids, offsets = torch.randint(0, 200_000, (2_000_000,)), torch.arange(0, 2_000_000, 20)
    rows = bag(ids, offsets)

    def train() -> None:
        threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
        for _ in range(200):
            rows.backward(torch.ones_like(rows), retain_graph=True)

    with gradbag.torch.patch():
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                train()
