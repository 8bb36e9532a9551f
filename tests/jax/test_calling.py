"""Arrays of JAX among the arguments of raw ops and friendly functions."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import gradbag.jax
from gradbag import InvalidArgumentError, UnsupportedTypeError, dtypes, raw_ops, spec
from gradbag.adapters.jax import lowering
from gradbag.eager.program import native
from gradbag.spec import registry

IDS, BAGS = [0, 2, 1], [0, 0, 1]
BLOCK = "import sys; sys.modules.update(dict.fromkeys(['jax', 'jaxlib']))\n"


def table() -> Any:
    return jnp.arange(6, dtype=jnp.float32).reshape(3, 2)


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_friendly_functions_answer_in_arrays_of_jax() -> None:
    pooled = gradbag.segment_sum(table(), jnp.array(IDS), jnp.array(BAGS), 3)
    assert isinstance(pooled, jax.Array)
    assert pooled.tolist() == [[4.0, 6.0], [2.0, 3.0], [0.0, 0.0]]


def test_lists_numbers_and_numpy_arrays_go_beside_arrays_of_jax() -> None:
    want = gradbag.segment_mean(table(), jnp.array(IDS), jnp.array(BAGS), 2).tolist()
    for ids, bags, count in (
        (IDS, BAGS, 2),
        (np.array(IDS), np.array(BAGS, np.int32), np.int64(2)),
        (jnp.array(IDS), BAGS, jnp.array(2)),
    ):
        assert gradbag.segment_mean(table(), ids, bags, count).tolist() == want
        assert jax.jit(lambda t, i=ids, b=bags, c=count: gradbag.segment_mean(t, i, b, c))(table()).tolist() == want
    filled = jax.jit(lambda v: raw_ops.RaggedFillEmptyRows(value_rowids=[1], values=v, nrows=2, default_value=7))
    assert filled(jnp.array([2.0])).output_values.tolist() == [7.0, 2.0]


def test_compiled_calls_go_to_the_kernel_without_python() -> None:
    assert hasattr(native, "xla_handler"), "built without XLA's headers: make test-jax builds with them"
    text = jax.jit(lambda t: gradbag.segment_mean(t, IDS, BAGS, 2)).lower(table()).as_text()
    assert f"@{lowering.TARGET}(" in text
    assert "callback" not in text


def test_without_the_handler_python_answers_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutHandler:
        def __getattr__(self, name: str) -> Any:
            if name == "xla_handler":
                raise AttributeError(name)
            return getattr(native, name)

    monkeypatch.setattr(lowering, "native", WithoutHandler())
    lowering._is_registered.cache_clear()
    function = jax.jit(lambda t, i: gradbag.segment_mean(t, i, BAGS, 2))
    with pytest.warns(RuntimeWarning, match="built without XLA's headers"):
        first = function(table(), jnp.array(IDS))
    second = function(table().astype(jnp.float64), jnp.array(IDS))  # a warning would be an error here
    assert first.tolist() == second.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=r"indices\[0\] == 9 out of range \[0, 3\)"):
        jax.block_until_ready(function(table(), jnp.array([9, 2, 1])))
    lowering._is_registered.cache_clear()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"indices": jnp.zeros(3)}, "indices must be one of int32, int64; got float32"),
        ({"data": table() > 0}, "data must be one of .*; got bool"),
        ({"data": jax.random.key(0)}, r"data must be one of .*; got key<fry>"),
    ],
)
def test_what_cannot_be_is_said(given: Any, message: str) -> None:
    arguments = {"data": table(), "indices": jnp.array(IDS), "segment_ids": jnp.array(BAGS), **given}
    with pytest.raises(UnsupportedTypeError, match=message):
        raw_ops.SparseSegmentSum(**arguments)
    with pytest.raises(UnsupportedTypeError, match=message):
        jax.jit(raw_ops.SparseSegmentSum)(**arguments)


def test_a_size_that_is_traced_is_refused_in_words() -> None:
    with pytest.raises(InvalidArgumentError, match="num_segments must be known while JAX traces: a Python int"):
        jax.jit(lambda t, n: gradbag.segment_sum(t, IDS, BAGS, n))(table(), 3)


def test_other_devices_are_refused_in_words() -> None:
    function = jax.jit(lambda t: gradbag.segment_sum(t, IDS, BAGS, 3))
    with pytest.raises(UnsupportedTypeError, match="data must be an array on the CPU; got one on cuda"):
        function.trace(table()).lower(lowering_platforms=("cuda",))


def test_ops_of_arrays_are_for_jax_too_and_not_linear_ones_differentiate() -> None:
    def product(x: Any, y: Any) -> Any:
        return raw_ops.Mul(x=x, y=y).sum()

    x, y = jnp.array([2.0, 3.0]), jnp.array(5.0)
    for function in (product, jax.jit(product)):
        first, second = jax.grad(function, argnums=(0, 1))(x, y)
        assert (first.tolist(), float(second)) == ([5.0, 5.0], 5.0)
    mixed = jax.jit(jax.grad(lambda x: jax.grad(product, argnums=1)(x, y)))(x)
    assert mixed.tolist() == [1.0, 1.0]
    assert float(jax.jvp(product, (x, y), (jnp.ones(2), jnp.array(1.0)))[1]) == 15.0
    assert jax.jit(lambda *xs: raw_ops.AddN(inputs=list(xs)))(x, x, x).tolist() == [6.0, 9.0]


def test_out_is_not_for_jax() -> None:
    with pytest.raises(ValueError, match="out must be None where an argument is ArrayImpl"):
        raw_ops.SparseSegmentSum(data=table(), indices=IDS, segment_ids=BAGS, out=np.zeros((2, 2), np.float32))


def test_integers_that_32_bits_cannot_hold_are_refused() -> None:
    with jax.enable_x64(False), pytest.raises(ValueError, match="indices must be within int32, as jax_enable_x64 is"):
        jax.jit(lambda t: gradbag.segment_sum(t, np.array([2**40, 0, 1]), BAGS, 3))(table())


def test_a_check_of_traced_values_is_made_when_the_call_runs() -> None:
    """SparseSlice looks at its start: known, it is checked while JAX traces, traced, by Python."""

    def cut(op: Any, values: Any, start: Any) -> Any:
        indices = np.array([[0, 1], [1, 2]])
        return op(indices=indices, values=values, shape=[2**31, 2**31], start=start, size=[2**62, 3])

    bad = [-(2**61), 0]
    with pytest.raises(ValueError, match="gives a tensor of more than"):
        jax.jit(lambda v: cut(raw_ops.SparseSlice, v, bad))(jnp.ones(2))
    sized = jax.jit(lambda v, s: cut(gradbag.jax.sized(raw_ops.SparseSlice, size=2), v, s))
    assert sized(jnp.ones(2), jnp.array([1, 0]))[0].output_values.tolist() == [1.0, 0.0]
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="gives a tensor of more than"):
        jax.block_until_ready(sized(jnp.ones(2), jnp.array(bad)))


def test_a_numpy_array_may_change_after_the_call() -> None:
    ids = np.array(IDS)
    function = jax.jit(lambda t: gradbag.segment_sum(t, ids, BAGS, 2))
    want = function(table()).tolist()
    ids[:] = 0
    assert function(table()).tolist() == want


def test_large_answers_are_shared_not_copied() -> None:
    found = raw_ops.SparseSegmentSum(data=jnp.ones((1, 64)), indices=np.zeros(9999, int), segment_ids=np.arange(9999))
    assert found.shape == (9999, 64)
    assert float(found.sum()) == 9999 * 64


def test_an_op_that_is_declared_later_is_there_too() -> None:
    @spec.op(
        "SquareForJax",
        inputs=[spec.Arg("data", "T", "rows *inner", "Rows.")],
        outputs=[spec.Arg("output", "T", "rows *inner", "Rows.")],
        types={"T": dtypes.FLOAT},
        linear=[],
        example=spec.Example({"data": [[3.0]]}, {"output": [[9.0]]}),
        samples=lambda rng: [],
    )
    def square_for_jax(data: Any) -> Any:
        """Square the rows: neither linear nor with a kernel."""
        return data * data

    square_for_jax.gradient(lambda ops, x, y, g: {"data": 2 * x.data * g.output})
    try:
        call = raw_ops.SquareForJax  # type: ignore[attr-defined]
        value = jnp.arange(6.0).reshape(3, 2)
        assert jax.jit(lambda t: call(data=t))(value).tolist() == (value**2).tolist()
        check_grads(lambda t: call(data=t), (value,), order=2)
    finally:
        registry.remove("SquareForJax")


@pytest.mark.parametrize("order", ["import jax, gradbag", "import gradbag, jax"])
def test_the_order_of_imports_does_not_matter(order: str) -> None:
    program = f"{order}; print(gradbag.segment_sum(jax.numpy.ones((2, 1)), [0, 1], [0, 0]).tolist())"
    assert python(program) == "[[2.0]]"


def test_gradbag_alone_imports_no_framework() -> None:
    program = [sys.executable, "-X", "importtime", "-c", "import gradbag; gradbag.segment_sum([[1.0]], [0], [0])"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "gradbag" in imported
    assert not imported & {"jax", "jaxlib", "torch", "tensorflow"}


def test_without_jax_all_else_works() -> None:
    assert python(BLOCK + "import gradbag; print(gradbag.segment_sum([[1.0]], [0], [0]).tolist())") == "[[1.0]]"
    program = BLOCK + "try: import gradbag.jax\nexcept ImportError as problem: print(problem.name)"
    assert python(program) == "jax"


def test_a_compiled_function_can_be_exported() -> None:
    from jax import export

    function = jax.jit(lambda t: gradbag.segment_mean(t, IDS, BAGS, 2))
    allowed = [export.DisabledSafetyCheck.custom_call(lowering.TARGET)]
    stored = export.export(function, disabled_checks=allowed)(table()).serialize()
    assert export.deserialize(stored).call(table()).tolist() == [[2.0, 3.0], [2.0, 3.0]]
