"""The arguments that `gradbag.torch.EmbeddingBag` has of `torch.nn.EmbeddingBag`, beside what docs/pytorch.md shows."""

import inspect
import io
import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as theirs

import gradbag.torch
from gradbag import InvalidArgumentError, UnsupportedTypeError
from gradbag.torch import functional as ours

IDS, OFFSETS = torch.tensor([1, 2, 3, 1, 5, 2]), torch.tensor([0, 2, 2])
PADDED = torch.tensor([[1, 2, 2], [2, 2, 2], [0, 5, 1]])
LIBRARIES = (theirs, ours)


def table(rows: int = 8) -> Any:
    return torch.randn(rows, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()


def parameters(function: Any) -> list[tuple[str, Any]]:
    return [(p.name, p.default) for p in inspect.signature(function).parameters.values() if p.kind != p.KEYWORD_ONLY]


# ------------------------------------------------------------------ the same shape
def test_arguments_and_defaults_are_those_of_pytorch() -> None:
    assert parameters(gradbag.torch.EmbeddingBag.__init__) == parameters(nn.EmbeddingBag.__init__)
    assert parameters(gradbag.torch.EmbeddingBag.forward) == parameters(nn.EmbeddingBag.forward)
    assert parameters(ours.embedding) == parameters(theirs.embedding)
    assert parameters(ours.embedding_bag) == parameters(theirs.embedding_bag)


def test_it_is_a_layer_of_pytorch() -> None:
    layer = gradbag.torch.EmbeddingBag(8, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, padding_idx=-1)
    other = nn.EmbeddingBag(8, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, padding_idx=-1)
    assert isinstance(layer, nn.EmbeddingBag)
    assert repr(layer) == repr(other)
    assert not layer.weight[-1].any()  # the row of padding begins with zeros
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weight, layer.weight)
    assert repr(gradbag.torch.EmbeddingBag(8, 3, default_id=2)) == "EmbeddingBag(8, 3, mode='mean', default_id=2)"


def test_a_whole_layer_is_saved() -> None:
    file = io.BytesIO()
    torch.save(gradbag.torch.EmbeddingBag.from_pretrained(table(), mode="sqrtn", freeze=False), file)
    file.seek(0)
    layer = torch.load(file, weights_only=False)
    assert layer.weight.requires_grad
    assert torch.equal(layer(IDS, OFFSETS), ours.embedding_bag(IDS, table(), OFFSETS, mode="sqrtn"))


@pytest.mark.parametrize(
    "options", [{"padding_idx": 8}, {"padding_idx": -9}, {"_weight": torch.ones(7, 3)}], ids=["above", "below", "shape"]
)
def test_a_layer_that_cannot_be_is_refused_as_by_pytorch(options: dict[str, Any]) -> None:
    for kind in (nn.EmbeddingBag, gradbag.torch.EmbeddingBag):
        with pytest.raises(AssertionError):
            kind(8, 3, **options)


# ------------------------------------------------------------------ padding
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_padding_is_left_out(mode: str, sparse: bool) -> None:
    found = []
    for library in LIBRARIES:
        weight = table()
        out = library.embedding_bag(PADDED, weight, mode=mode, padding_idx=2, sparse=sparse and mode != "max")
        assert not out[1].any()
        (out**2).sum().backward()
        found.append((out, weight.grad.to_dense() if sparse and mode != "max" else weight.grad))
    torch.testing.assert_close(found[1], found[0])
    assert not found[1][1][2].any()


@pytest.mark.parametrize("mode", ["sum", "mean", "sqrtn"])
def test_padding_with_weights(mode: str) -> None:
    """The same as without the entries; their weights get no gradient."""
    weights = torch.rand(PADDED.shape, dtype=torch.float64).requires_grad_()
    got = ours.embedding_bag(PADDED, table(), mode=mode, padding_idx=2, per_sample_weights=weights)
    kept = PADDED.flatten() != 2
    want = ours.embedding_bag(
        PADDED.flatten()[kept], table(), [0, 1, 1], mode=mode, per_sample_weights=weights.flatten()[kept]
    )
    assert torch.equal(got, want)
    got.sum().backward()
    assert not weights.grad.flatten()[~kept].any()


@pytest.mark.parametrize("mode", ["sum", "mean", "sqrtn", "max"])
@pytest.mark.parametrize("offsets", [[0, 3, 6], [0, 0, 9]])
def test_compiled_padding_is_eager_padding(mode: str, offsets: list[int]) -> None:
    torch._dynamo.reset()

    def run(weight: Any, ids: Any, starts: Any) -> Any:
        return ours.embedding_bag(ids, weight, starts, mode=mode, padding_idx=2)

    given = (PADDED.flatten(), torch.tensor(offsets))
    want, got = run(table(), *given), torch.compile(run, fullgraph=True, backend="aot_eager")(table(), *given)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        ([2, 9, 1], [0], r"ids\[1\] == 9 out of range \[0, 8\)"),
        ([2, -1, 1], [0], r"ids\[1\] == -1 out of range \[0, 8\)"),
        ([2, 2, 1], [1], r"offsets\[0\] == 1 out of range \[0, 1\)"),
        ([1, 2, 2], [0, 3, 2], r"offsets\[2\] == 2 follows 3"),
        ([1, 2, 2], [0, 4], r"offsets\[1\] == 4 out of range \[0, 4\)"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"max_norm": 1.0}, {"scale_grad_by_freq": True}], ids=str)
def test_what_is_wrong_is_told_as_it_was_given(ids: Any, offsets: Any, message: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        ours.embedding_bag(torch.tensor(ids), table(), torch.tensor(offsets), **options)
    assert isinstance(caught.value, RuntimeError)  # as PyTorch's is


@pytest.mark.parametrize("padding_idx", [8, -9])
def test_padding_must_be_a_row(padding_idx: int) -> None:
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings"):
            library.embedding_bag(IDS, table(), OFFSETS, padding_idx=padding_idx)


# ------------------------------------------------------------------ errors of PyTorch's classes
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"offsets": None}, ValueError),
        ({"offsets": OFFSETS[None]}, ValueError),
        ({"input": IDS[None]}, ValueError),
        ({"input": IDS[None, None]}, ValueError),
        ({"weight": torch.ones(8)}, ValueError),
        ({"mode": "median"}, ValueError),
        ({"per_sample_weights": torch.ones(5, dtype=torch.float64)}, ValueError),
        ({"per_sample_weights": torch.ones(6), "mode": "sum"}, RuntimeError),
        ({"input": IDS.double()}, RuntimeError),
        ({"offsets": torch.tensor([], dtype=torch.int64), "include_last_offset": True}, RuntimeError),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__,
)
def test_both_raise_the_same(given: dict[str, Any], error: type[Exception]) -> None:
    whole = {"input": IDS, "weight": table(), "offsets": OFFSETS, **given}
    for library in LIBRARIES:
        with pytest.raises(error):
            library.embedding_bag(**whole)
    with pytest.raises((InvalidArgumentError, UnsupportedTypeError)):
        ours.embedding_bag(**whole)


# ------------------------------------------------------------------ norms and frequencies
@pytest.mark.parametrize("norm_type", [0.5, 1.0, 2.0, float("inf")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_rows_that_are_looked_up_are_shrunk_in_place(norm_type: float, dtype: Any) -> None:
    found = []
    for library in LIBRARIES:
        weight = (2 * table().detach()).to(dtype).requires_grad_()
        before = weight.detach().clone()
        out = library.embedding_bag(IDS, weight, OFFSETS, 1.5, norm_type)
        out.sum().backward()
        assert torch.equal(weight[[0, 4, 6, 7]], before[[0, 4, 6, 7]])
        assert not torch.equal(weight, before)
        found.append((out, weight, weight.grad))
    close = {"rtol": 0.0, "atol": 1e-3} if dtype is torch.float16 else {}  # where PyTorch rounds after every addition
    torch.testing.assert_close(found[1], found[0], **close)


def test_a_gradient_is_divided_by_how_often_its_id_occurs() -> None:
    """PyTorch's bags divide by how often another id does; its look-up of single rows is right."""
    expected = table()
    rows = theirs.embedding(IDS, expected, scale_grad_by_freq=True)
    torch.stack([rows[:2].mean(0), 0 * rows[0], rows[2:].mean(0)]).pow(2).sum().backward()
    for library, sparse in ((theirs, False), (ours, False), (ours, True)):
        weight = table()
        out = library.embedding_bag(IDS, weight, OFFSETS, scale_grad_by_freq=True, sparse=sparse)
        (out**2).sum().backward()
        right = torch.allclose(weight.grad.to_dense(), expected.grad)
        assert right == (library is ours)


# ------------------------------------------------------------------ a row for each id
@pytest.mark.parametrize(
    "options",
    [{}, {"padding_idx": 2}, {"max_norm": 1.0}, {"scale_grad_by_freq": True}, {"sparse": True}],
    ids=str,
)
def test_embedding_is_that_of_pytorch(options: dict[str, Any]) -> None:
    found = []
    for library in LIBRARIES:
        weight = table()
        out = library.embedding(PADDED, weight, **options)
        (out**2).sum().backward()
        found.append((out, weight.grad.to_dense()))
    torch.testing.assert_close(found[1], found[0])


def test_embedding_has_second_derivatives_with_a_sparse_gradient() -> None:
    weight = table()
    (gradient,) = torch.autograd.grad(ours.embedding(IDS, weight, sparse=True).sum(), weight)
    assert gradient.is_coalesced()
    assert torch.autograd.gradgradcheck(lambda w: ours.embedding(PADDED, w) ** 2, weight)


# ------------------------------------------------------------------ large sparse gradients
@pytest.mark.parametrize("rows", [10, 20_000], ids=["small", "large"])
def test_a_sparse_gradient_stays_coalesced_where_it_is_added(rows: int) -> None:
    layer = gradbag.torch.EmbeddingBag(20_000, 4, mode="sum", sparse=True)
    ids = torch.arange(rows).repeat(2)
    offsets = torch.arange(0, len(ids), 5)
    layer(ids, offsets).sum().backward()
    assert layer.weight.grad.is_coalesced()
    assert layer.weight.grad.values().eq(2).all()
    layer(ids, offsets).sum().backward()  # added to what is there
    assert layer.weight.grad.coalesce().values().eq(4).all()
    layer.zero_grad()
    (layer(ids, offsets) + layer(ids, offsets)).sum().backward()  # two at once
    assert layer.weight.grad.coalesce().values().eq(4).all()
    for _ in range(3):
        (gradient,) = torch.autograd.grad(layer(ids, offsets).sum(), layer.weight)
        assert gradient.is_coalesced()
    assert not layer.weight._post_accumulate_grad_hooks  # nobody is left behind


@pytest.mark.parametrize("mode", ["sum", "max"])
def test_a_large_sparse_gradient_is_not_copied(mode: str) -> None:
    copies = []
    for rows in (10, 20_000):
        layer = gradbag.torch.EmbeddingBag(20_000, 4, mode=mode, sparse=True)
        out = layer(torch.arange(rows), torch.arange(0, rows, 5))
        with torch.autograd.profiler.profile() as profile:
            out.backward(torch.ones_like(out))
        copies.append("aten::clone" in {event.name for event in profile.function_events})
        assert layer.weight.grad.is_coalesced()
    assert copies == [True, False]


def test_hooks_see_a_large_gradient_and_may_change_it() -> None:
    layer = gradbag.torch.EmbeddingBag(20_000, 4, mode="sum", sparse=True)
    seen = []
    layer.weight.register_hook(lambda gradient: 2 * gradient)
    layer.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.coalesce().values().sum()))
    layer(torch.arange(20_000), torch.arange(0, 20_000, 4)).sum().backward()
    assert seen == [2 * 80_000]


def test_every_combination_runs() -> None:
    switches = itertools.product(["sum", "mean", "sqrtn", "max"], [None, 2], [None, 1.0], [None, 4], [False, True])
    for mode, padding_idx, max_norm, default_id, sparse in switches:
        options = {"mode": mode, "padding_idx": padding_idx, "max_norm": max_norm, "sparse": sparse}
        layer = gradbag.torch.EmbeddingBag(8, 3, **options, default_id=default_id)
        out = layer(PADDED)
        out.sum().backward()
        assert out.isfinite().all()
        assert layer.weight.grad.is_sparse == sparse
        assert bool(out[1].any()) == (padding_idx is None or default_id is not None)
