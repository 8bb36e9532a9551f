"""Symbolic gradients are the eager ones, for every op with a rule, to order two.

That the eager ones are right is checked by finite differences beside this.
"""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, raw_ops
from gradbag.graph import ClientSession, Output, Scope, add_symbolic_gradients, ops
from gradbag.spec import Op, registry
from gradbag.testing.cases import Case, cases, usual_types
from gradbag.testing.gradcheck import function_of, random_like

raw_ops.Identity  # noqa: B018  # loads the basic ops
RULED = [op for op in registry if op.rule is not None and op.differentiable and not op.state]


class InGraph:
    """A case as a graph: its differentiable inputs are placeholders, the others constants."""

    def __init__(self, case: Case, known: bool) -> None:
        op = case.op
        self.scope, self.feeds = Scope.new_root_scope(), {}
        self.leaves: list[Output] = []
        values: list[Any] = []
        for arg, array in zip(op.flat_inputs(len(case.arrays)), case.arrays, strict=True):
            if array is None:
                values.append(None)
            elif arg.name in op.differentiable and dtypes.is_differentiable(array.dtype):
                values.append(self.placeholder(array, known))
                self.leaves.append(values[-1])
            else:
                values.append(ops.Const(self.scope, array).output if known else self.placeholder(array, known))
        node = getattr(ops, op.name)(self.scope, *op.grouped(values), **case.attrs).node
        args = zip(op.flat_outputs(len(node.outputs)), node.outputs, strict=True)
        self.outputs = [o for a, o in args if a.name in op.differentiable_outputs and o.dtype in dtypes.DIFFERENTIABLE]

    def placeholder(self, array: Any, known: bool) -> Output:
        shape = array.shape if known else None
        made: Output = ops.Placeholder(self.scope, dtype=dtypes.name_of(array.dtype), shape=shape).output
        self.feeds[made] = array
        return made

    def run(self, fetches: list[Output]) -> list[Any]:
        answer: list[Any] = ClientSession(self.scope).run(self.feeds, fetches)
        return answer


@pytest.mark.parametrize(
    "known", [pytest.param(True, id="shapes known", marks=pytest.mark.slow), pytest.param(False, id="shapes unknown")]
)
@pytest.mark.parametrize("op", RULED, ids=lambda op: op.name)
def test_symbolic_gradients_are_the_eager_ones_to_order_two(op: Op, known: bool) -> None:
    rng = np.random.default_rng(5)
    count = 0
    for case in cases(op, usual_types(op)):
        function, primals = function_of(case)
        if not primals:
            continue
        value, pullback = gradbag.vjp(function, *primals)
        weights = tuple(random_like(rng, v) for v in value)
        seconds = [random_like(rng, p) for p in primals]
        first = pullback(weights)
        _, back = gradbag.vjp(lambda *w, f=function, p=primals: gradbag.vjp(f, *p)[1](w), *weights)
        graph = InGraph(case, known)
        seeds = [graph.placeholder(w, known) for w in weights]
        gradients = add_symbolic_gradients(graph.scope, graph.outputs, graph.leaves, seeds)
        for got, want in zip(graph.run(gradients), first, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=str(case))
        again = [graph.placeholder(s, known) for s in seconds]
        doubled = add_symbolic_gradients(graph.scope, gradients, seeds, again, unconnected="none")
        for got, want in zip(doubled, back(tuple(seconds)), strict=True):
            expected = want if got is not None else np.zeros_like(want)
            np.testing.assert_allclose(want, expected, err_msg=f"{case}: nothing connects, but it is not zero")
            if got is not None:
                np.testing.assert_allclose(graph.run([got])[0], want, rtol=1e-12, atol=1e-12, err_msg=str(case))
        count += 1
    assert count


def test_zero_rules_would_be_noticed() -> None:
    assert len(RULED) > 18
