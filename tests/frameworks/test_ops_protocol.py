"""What a gradient rule may ask is answered alike in every interpreter, and by the answers that are made of ops."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

from gradbag.adapters.jax.primitives import namespace as jax_ops
from gradbag.adapters.tensorflow.gradients import tensor_ops
from gradbag.adapters.torch.operators import ops as torch_ops
from gradbag.autodiff.op_step import array_ops
from gradbag.gradients import Ops, Rows, Shaped
from gradbag.graph import ClientSession, Scope
from gradbag.graph import ops as graph_ops
from gradbag.graph.gradient_ops import GraphOps
from gradbag.graph.graph import Output
from gradbag.row_grad import RowGrad
from gradbag.testing import assert_same

from . import toy

TABLE = np.arange(12.0).reshape(4, 3)
ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PLACES, OTHERS = np.array([1, 3]), np.array([0, 3])
KEYS = np.array([3, 1, 2, 1, 3, 0], np.int32)
Compact = namedtuple("Compact", ["output", "sorted_unique_indices"])


# ------------------------------------------------------------------ interpreters
class Interpreter:
    """An `Ops`, with the way from arrays to its values and back."""

    def __init__(self, ops: Ops, value: Callable[[Any], Any], array: Callable[[Any], Any]) -> None:
        self.ops, self.value, self.array = ops, value, array


class InGraph(Interpreter):
    """Nothing but dtypes is known while the graph is built."""

    def __init__(self) -> None:
        self.scope, self.feeds = Scope.new_root_scope(), {}
        super().__init__(GraphOps(self.scope), self.fed, self.fetched)

    def fed(self, array: Any) -> Any:
        output = graph_ops.Placeholder(self.scope, dtype=str(array.dtype), shape=None).output
        self.feeds[output.name] = array
        return output

    def fetched(self, output: Any) -> Any:
        if not isinstance(output, Output):
            return output
        return ClientSession(self.scope.graph).run(self.feeds, output.name)


def from_torch(value: Any) -> Any:
    return np.asarray(value.to_dense() if isinstance(value, torch.Tensor) else value)


def from_tensorflow(value: Any) -> Any:
    return tf.convert_to_tensor(value).numpy()


INTERPRETERS: dict[str, Callable[[], Interpreter]] = {
    "numpy": lambda: Interpreter(array_ops, np.array, np.asarray),
    "made of ops": lambda: Interpreter(toy.toy_ops, toy.ToyArray, lambda v: getattr(v, "numbers", v)),
    "graph": InGraph,
    "torch": lambda: Interpreter(torch_ops, torch.tensor, from_torch),
    "jax": lambda: Interpreter(jax_ops, jnp.array, np.asarray),
    "tensorflow": lambda: Interpreter(tensor_ops, tf.constant, from_tensorflow),
}


# ------------------------------------------------------------------ questions
def _counted(i: Interpreter) -> Any:
    return [i.ops.counted(Rows(i.value(TABLE)), dtype) for dtype in ("int32", "int64")]


def _rows(i: Interpreter) -> Any:
    count = i.ops.rows(i.value(TABLE))
    return [i.ops.counted(count, "int64") if isinstance(count, Rows) else np.int64(count)]


def _known_shape(i: Interpreter) -> Any:
    """An interpreter that runs later does not know it."""
    shape = i.ops.known_shape(i.value(TABLE))
    assert (shape is None) == isinstance(i, InGraph)
    return [np.array(TABLE.shape if shape is None else shape)]


def _filler(i: Interpreter) -> Any:
    """Any values will do, of the shape and the dtype; a shape comes with a dtype of PyTorch or of NumPy."""
    filler = i.ops.filler(Shaped((2, 3), torch.float64 if i.ops is torch_ops else np.dtype("float64")))
    return [np.ones_like(np.asarray(filler))]


def _row_grad(i: Interpreter, places: Any = PLACES) -> Any:
    return i.ops.row_grad(Compact(i.value(ROWS), i.value(places)), i.value(TABLE))


def _total(i: Interpreter) -> Any:
    compact = [_row_grad(i), _row_grad(i, OTHERS)]
    whole = i.value(TABLE)
    if not isinstance(compact[0], RowGrad):  # what the framework has for it, it adds by itself
        compact = [i.value(i.array(part)) for part in compact]
    return [i.ops.dense(i.ops.total(parts)) for parts in ([whole], [whole, whole, whole], compact, [whole, compact[0]])]


# For each question the answers, as a function of an interpreter, and what they are.
CASES: dict[str, tuple[Callable[[Interpreter], Any], list[Any]]] = {
    "rows": (_rows, [np.int64(4)]),
    "known_shape": (_known_shape, [np.array([4, 3])]),
    "counted": (_counted, [np.int32(4), np.int64(4)]),
    "filler": (_filler, [np.ones((2, 3))]),
    "range": (lambda i: [i.ops.range(3), i.ops.range(0)], [np.arange(3), np.arange(0)]),
    "ones": (lambda i: [i.ops.ones(3), i.ops.ones(0)], [np.ones(3, np.int8), np.ones(0, np.int8)]),
    "zeros_like": (lambda i: [i.ops.zeros_like(i.value(a)) for a in (TABLE, KEYS)], [0 * TABLE, 0 * KEYS]),
    "constant": (lambda i: [i.ops.constant(KEYS)], [KEYS]),
    "split": (
        lambda i: [
            part
            for lengths in ([2, 0, 1], i.value(np.array([2, 0, 1])))
            for part in i.ops.split(i.value(np.arange(3.0)), lengths, 3)
        ],
        2 * [np.array([0.0, 1.0]), np.array([]), np.array([2.0])],
    ),
    "reshaped": (
        lambda i: [
            i.ops.reshaped(i.value(TABLE), sizes) for sizes in ([3, 4], [-1], [i.ops.rows(i.value(TABLE)), 3, 1])
        ],
        [TABLE.reshape(3, 4), TABLE.reshape(-1), TABLE.reshape(4, 3, 1)],
    ),
    "take": (lambda i: [i.ops.take(i.value(TABLE), i.value(KEYS))], [TABLE[KEYS]]),
    "nonzero": (
        lambda i: [i.ops.nonzero(i.value(np.array(marks, np.int8))) for marks in ([0, 1, 0, 2], [])],
        [np.array([1, 3]), np.arange(0)],
    ),
    "sorted_by": (
        lambda i: i.ops.sorted_by(i.value(KEYS), i.value(np.arange(6))),
        [np.sort(KEYS), np.array([5, 1, 3, 2, 0, 4])],
    ),
    "positions": (
        lambda i: [i.ops.positions(i.value(KEYS), i.value(np.array([0, 1, 2, 3], np.int32)))],
        [KEYS],
    ),
    "sum_like": (
        lambda i: [i.ops.sum_like(i.value(TABLE), i.value(np.zeros(s))) for s in ((4, 3), (3,), (4, 1), (1, 1), ())],
        [TABLE, TABLE.sum(0), TABLE.sum(1, keepdims=True), TABLE.sum(keepdims=True), TABLE.sum()],
    ),
    "row_grad": (
        lambda i: [i.ops.dense(_row_grad(i))],
        [np.array([[0, 0, 0], [1, 2, 3], [0, 0, 0], [4, 5, 6]], float)],
    ),
    "dense": (
        lambda i: [
            i.ops.dense(RowGrad(i.value(PLACES), i.value(ROWS), (4, 3), like=i.value(TABLE), ops=i.ops)),
            i.ops.dense(i.value(TABLE)),
        ],
        [np.array([[0, 0, 0], [1, 2, 3], [0, 0, 0], [4, 5, 6]], float), TABLE],
    ),
    "total": (
        _total,
        [
            TABLE,
            3 * TABLE,
            np.array([[1, 2, 3], [1, 2, 3], [0, 0, 0], [8, 10, 12]], float),
            TABLE + np.array([[0, 0, 0], [1, 2, 3], [0, 0, 0], [4, 5, 6]]),
        ],
    ),
}
OTHER = {"call", "transposed"}  # what an interpreter is, tested by every op and by forward mode
ANY_INTEGER = {"positions", "range", "nonzero"}  # places are whole numbers of some width


def test_every_question_has_a_case() -> None:
    questions = {name for name, method in vars(Ops).items() if not name.startswith("_") and callable(method)}
    assert questions == CASES.keys() | OTHER


@pytest.mark.parametrize("question", CASES)
@pytest.mark.parametrize("name", INTERPRETERS)
def test_the_answers_are_the_same(name: str, question: str) -> None:
    interpreter = INTERPRETERS[name]()
    ask, wanted = CASES[question]
    answers = list(ask(interpreter))
    assert len(answers) == len(wanted)
    for answer, want in zip(answers, wanted, strict=True):
        array = interpreter.array(answer)
        if question in ANY_INTEGER:
            assert array.dtype in (np.int32, np.int64)
            array, want = array.astype(np.int64), want.astype(np.int64)
        assert_same(array, want, f"{name}: {question}")
