"""`gradbag.jax`: bags, compact gradients, outputs of a fixed size; and what JAX alone cannot do."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import gradbag.jax
from gradbag import raw_ops
from gradbag.spec import Op
from gradbag.testing import cases, native_ops
from gradbag.testing.cases import usual_types

IDS, BAGS, OFFSETS = jnp.array([1, 2, 3, 1, 5]), jnp.array([0, 0, 2, 2, 2]), jnp.array([0, 2, 2])
WEIGHTS = jnp.array([0.5, 2.0, 1.0, 0.25, 3.0])
# Where a rule tells the sizes, they follow from shapes and attributes.
COUNTED = [op for op in native_ops() if op.counted_words and op.shape_rule is None]


def table(rows: int = 8) -> Any:
    return jnp.asarray(np.random.default_rng(0).normal(size=(rows, 3)))


# ------------------------------------------------------------------ bags
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_bags_are_what_a_loop_gives(combiner: str, weights: Any) -> None:
    scale = np.ones(5) if weights is None else np.asarray(weights, float)
    expected = np.zeros((3, 3))
    for bag in (0, 2):
        w = scale[np.asarray(BAGS) == bag]
        rows = np.asarray(table())[np.asarray(IDS)[np.asarray(BAGS) == bag]]
        divisor = {"sum": 1.0, "mean": w.sum(), "sqrtn": np.sqrt((w**2).sum())}[combiner]
        expected[bag] = (rows * w[:, None]).sum(0) / divisor
    settings = {"weights": None if weights is None else weights.astype(float), "combiner": combiner}
    got = gradbag.jax.embedding_bag(table(), IDS, BAGS, **settings)
    np.testing.assert_allclose(got, expected)
    np.testing.assert_allclose(gradbag.jax.embedding_bag(table(), IDS, offsets=OFFSETS, **settings), expected)
    compiled = jax.jit(lambda t, i, b: gradbag.jax.embedding_bag(t, i, b, 3, **settings))
    np.testing.assert_allclose(compiled(table(), IDS, BAGS), expected)
    check_grads(lambda t: gradbag.jax.embedding_bag(t, IDS, BAGS, 3, **settings), (table(),), order=2)


def test_weights_have_a_gradient_too() -> None:
    check_grads(
        lambda t, w: gradbag.jax.embedding_bag(t, IDS, BAGS, 3, weights=w), (table(), WEIGHTS.astype(float)), order=2
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"combiner": "max"}, "combiner must be one of 'sum', 'mean', 'sqrtn'; got 'max'"),
        ({"segment_ids": None}, "ids must be a matrix, or a vector with either segment_ids or offsets; got 1 axes"),
        ({"offsets": OFFSETS}, "1 axes with segment_ids and offsets"),
        ({"ids": IDS[None]}, "segment_ids and offsets must be None where ids is a matrix"),
        ({"weights": WEIGHTS[:2]}, r"weights must have shape \[5\]; got \[2\]"),
    ],
)
def test_what_is_no_bag_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gradbag.jax.embedding_bag(**{"table": table(), "ids": IDS, "segment_ids": BAGS, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"offsets": OFFSETS.astype(jnp.float32), "segment_ids": None},
            "offsets must be one of int32, int64; got float32",
        ),
        ({"segment_ids": BAGS.astype(jnp.float32)}, "segment_ids must be integers; got float32"),
        ({"weights": jnp.asarray(WEIGHTS, jnp.float16)}, "weights must be float64 like table; got float16"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_another_dtype_is_refused_in_words(given: Any, message: str, wrap: Any) -> None:
    arrays = {"table": table(), "ids": IDS, "segment_ids": BAGS, **given}
    call = wrap(lambda arrays: gradbag.jax.embedding_bag(**arrays, num_bags=3))
    with pytest.raises(TypeError, match=message):
        call({name: jnp.asarray(array) for name, array in arrays.items() if array is not None})


def test_compiled_bags_need_their_number() -> None:
    with pytest.raises(ValueError, match="num_bags must be an int beside segment_ids that JAX traces"):
        jax.jit(gradbag.jax.embedding_bag)(table(), IDS, BAGS)


# ------------------------------------------------------------------ compact gradients
def loss(table: Any, ids: Any, scale: float = 1.0) -> Any:
    return scale * (gradbag.jax.embedding_bag(table, ids, BAGS, 3) ** 3).sum()


def test_the_gradient_of_jax_is_dense_and_ours_is_not() -> None:
    large = table(10_000)
    dense = jax.grad(loss)(large, IDS)
    assert dense.shape == (10_000, 3)  # what JAX gives, whatever the loss
    value, grad = gradbag.jax.value_and_row_grad(loss)(large, IDS)
    assert value == loss(large, IDS)
    assert grad.rows.shape == (5, 3)
    assert int(grad.count) == 4
    assert grad.indices.tolist() == [1, 2, 3, 5, 10_000]
    np.testing.assert_allclose(grad.rows[:4], dense[grad.indices[:4]])
    assert not grad.rows[4].any()
    np.testing.assert_allclose(large.at[grad.indices].add(grad.rows), large + dense)


def test_compact_gradients_compile_with_any_ids_and_a_size() -> None:
    for size in (None, 4, 7):
        function = gradbag.jax.value_and_row_grad(loss, size=size)
        want_value, want = function(table(), IDS, 2.0)
        value, grad = jax.jit(function)(table(), IDS, 2.0)
        np.testing.assert_allclose(value, want_value)
        for one, other in zip(jax.tree.leaves(grad), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(one, other)
        assert grad.rows.shape == (size or 5, 3)


def test_a_loss_of_plain_jax_with_several_ids() -> None:
    def similarity(table: Any, ids: Any) -> Any:
        return (table[ids["left"]] * table[ids["right"]]).sum(), ids["left"].shape

    ids = {"left": jnp.array([[4, 2], [2, 0]]), "right": jnp.array([[1, 2], [4, 4]])}
    (value, shape), grad = gradbag.jax.value_and_row_grad(similarity, has_aux=True)(table(), ids)
    (want, _), dense = jax.value_and_grad(similarity, has_aux=True)(table(), ids)
    assert shape == (2, 2)
    np.testing.assert_allclose(value, want)
    np.testing.assert_allclose(jnp.zeros((8, 3)).at[grad.indices].add(grad.rows), dense)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "compiled"])
def test_bad_ids_and_too_small_sizes_are_refused(wrap: Any) -> None:
    refusals = (ValueError, jax.errors.JaxRuntimeError)
    with pytest.raises(refusals, match=r"indices\[2\] == 8 out of range \[0, 8\)"):
        jax.block_until_ready(wrap(gradbag.jax.value_and_row_grad(loss))(table(), IDS.at[2].set(8)))
    with pytest.raises(refusals, match="size must be at least 4, as many rows as the values give; got 3"):
        jax.block_until_ready(wrap(gradbag.jax.value_and_row_grad(loss, size=3))(table(), IDS))
    with pytest.raises(TypeError, match="ids must be integers; got float64"):
        gradbag.jax.value_and_row_grad(loss)(table(), WEIGHTS.astype(float))


# ------------------------------------------------------------------ outputs of a fixed size
@pytest.mark.parametrize("op", COUNTED, ids=lambda op: op.name)
def test_a_fixed_size_is_the_answer_filled_up(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    names = op.input_names
    values = [a.tolist() if p in op.held else jnp.asarray(a) for p, a in enumerate(case.arrays)]
    free = [p for p in range(len(names)) if p not in op.held]
    answer = getattr(raw_ops, op.name)(**dict(zip(names, values, strict=True)), **case.attrs)
    wanted = [answer] if op.result is None else list(answer)
    sized = gradbag.jax.sized(getattr(raw_ops, op.name), size=9, fill_value=77)

    def run(*arrays: Any) -> Any:
        given: list[Any] = list(values)
        for place, array in zip(free, arrays, strict=True):
            given[place] = array
        found, count = sized(**dict(zip(names, given, strict=True)), **case.attrs)
        return ([found] if op.result is None else list(found)), count

    for function in (run, jax.jit(run)):
        outputs, count = function(*[values[place] for place in free])
        for arg, got, want in zip(op.outputs, outputs, wanted, strict=True):
            if op.counted_words[0] in arg.dims.words:
                assert int(count) == want.shape[0]
                filler = 0 if arg.name in op.differentiable_outputs else 77
                assert got.shape == (9, *want.shape[1:])
                assert (got[want.shape[0] :] == filler).all()
                got = got[: want.shape[0]]
            assert got.tolist() == want.tolist()

    if not op.differentiable:
        return
    # The gradient is that of the answer without what was filled up.
    place = next(p for p in free if names[p] in op.differentiable)

    def norm(value: Any, function: Any) -> Any:
        given = [value if p == place else values[p] for p in free]
        outputs, _ = function(*given)
        return sum(((y + 1) ** 3).sum() for y in outputs if jnp.issubdtype(y.dtype, jnp.inexact))

    def plain(*arrays: Any) -> Any:
        given: list[Any] = list(values)
        for p, array in zip(free, arrays, strict=True):
            given[p] = array
        answer = getattr(raw_ops, op.name)(**dict(zip(names, given, strict=True)))
        return ([answer] if op.result is None else list(answer)), None

    want = jax.grad(norm)(values[place], plain)
    np.testing.assert_allclose(jax.grad(norm)(values[place], run), want)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda v: norm(v, run)))(values[place]), want)


def test_only_ops_that_need_a_size_take_one() -> None:
    with pytest.raises(ValueError, match="function must be a raw op whose outputs are as long as its values say"):
        gradbag.jax.sized(raw_ops.SparseSegmentSumWithNumSegments, size=3)
    with pytest.raises(TypeError, match="SparseSlice misses the required argument 'indices'"):
        gradbag.jax.sized(raw_ops.SparseSlice, size=3)()
