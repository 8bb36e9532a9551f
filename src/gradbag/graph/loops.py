"""Loops: nodes whose meaning is a graph that is run again and again.

Such an op belongs to one node, for no two loops are the same; it is declared when the node is made. A loop has
derivatives of any order: run so often as it goes round for the inputs that it gets, it is an ordinary graph, the loop
unfolded, and that graph is differentiated as any other.
"""

from __future__ import annotations

from collections import ChainMap, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..dims import AnyShape
from ..spec import Arg, Example, Op, registry
from .cache import ResultCache
from .gradients import add_symbolic_gradients
from .graph import Graph, Node, Output, fits, shape_text
from .plan import Plan, changed_places, variable_behind
from .run import Cancel, Held, Run
from .scope import Scope

Array = np.ndarray[Any, Any]
_NOTHING_KEPT = ResultCache(0)
_MOST_UNFOLDED = 1 << 21  # nodes
_KEPT = 4  # unfolded loops, by how often they go round


@dataclass(frozen=True)
class Part:
    """The condition or the body of a loop: a graph, what stands in it for the loop's values, and what it gives."""

    graph: Graph
    inputs: Sequence[Node]  # placeholders, or variables that stand for those outside
    outputs: Sequence[Output]
    last: Sequence[Node] = ()  # what must run too

    def plan(self) -> Plan:
        fed = [node.outputs[0] for node in self.inputs if node.op.state == "fed"]
        return Plan(self.outputs, self.last, fed)


class GraphOp(Op):
    """An op of one node, made of graphs; it has no list of inputs, for their number is known."""

    def __init__(self, name: str, doc: str, inputs: Sequence[Output], outputs: Sequence[tuple[AnyShape, str]]) -> None:
        def body(*_: Any) -> Any:
            raise errors.InvalidArgumentError(f"{name}: it runs in a session only")

        body.__doc__ = doc
        super().__init__(
            name,
            body,
            inputs=[Arg(f"input_{place}", i.dtype, f"*i{place}", "") for place, i in enumerate(inputs)],
            outputs=[Arg(f"output_{place}", dtype, f"*o{place}", "") for place, (_, dtype) in enumerate(outputs)],
            types={},
            example=Example({}, {}),
            samples=lambda _: (),
            state="loop",
        )
        self.shapes(lambda *_: [shape for shape, _ in outputs])
        self.changed: list[int] = []  # the inputs that are variables which it changes

    def _check_declaration(self) -> None:
        """Nobody has declared it by hand."""

    def execute(
        self, values: Sequence[Array], variables: Mapping[Node, Held], cancel: Cancel | None
    ) -> tuple[list[Array], dict[Node, Held]]:
        """The outputs, then what was drawn at random inside, then the values of what it changes: by input."""
        raise NotImplementedError

    def unfolded(self, rounds: int) -> tuple[Graph, list[Output], list[Output]]:
        """A graph that gives the same without a loop, with its inputs and outputs."""
        raise NotImplementedError

    def rounds(self, values: Sequence[Array], cancel: Cancel | None) -> int:
        raise NotImplementedError

    def refuse_gradient(self) -> None:
        raise NotImplementedError

    def pulled(self, node: Node, cotangents: Sequence[Output | None], scope: Scope) -> list[Output | None]:
        """The cotangents of a node's inputs: a node that differentiates what the loop is, unfolded."""
        self.refuse_gradient()
        given = [(place, c) for place, c in enumerate(cotangents) if c is not None]
        made = GradientOp(self, node.inputs, [place for place, _ in given], [c for _, c in given])
        name = scope.name_for("WhileGrad")
        found = scope.graph.add(made, name, [*node.inputs, *(c for _, c in given)], {}, scope.control)
        answers = iter(found.outputs)
        return [next(answers) if _carries(i) else None for i in node.inputs]


class LoopOp(GraphOp):
    """TensorFlow's While: as long as the condition holds, the body makes the next values of the last ones."""

    def __init__(self, condition: Part, body: Part, inputs: Sequence[Output]) -> None:
        self.condition, self.body_part, self.given = condition, body, list(inputs)
        super().__init__("While", "Run a body as long as a condition holds.", inputs, self._outputs())
        if len(body.outputs) != len(inputs) or len(condition.outputs) != 1:
            raise errors.InvalidArgumentError(
                f"While: it has {len(inputs)} values; its body gives {len(body.outputs)} and its condition "
                f"{len(condition.outputs)}, which must be as many and one"
            )
        for place, (source, made) in enumerate(zip(inputs, body.outputs, strict=True)):
            if source.dtype != made.dtype:
                raise errors.wrong_type("While", f"input[{place}]", [source.dtype], made.dtype, "as it comes in")
        if condition.outputs[0].dtype != "bool":
            raise errors.wrong_type("While", "cond", ["bool"], condition.outputs[0].dtype)
        self.plans = condition.plan(), body.plan()
        places = {node: place for place, node in enumerate(body.inputs)}
        changed = [places[variable_behind(node, place)] for node in body.graph for place in changed_places(node)]
        self.changed = sorted(set(changed))

    def _outputs(self) -> list[tuple[AnyShape, str]]:
        """What never changes keeps its shape; of the rest that of the placeholder is known."""
        return [
            (source.shape if made.node is inside else inside.shapes[0], source.dtype)
            for source, inside, made in zip(self.given, self.body_part.inputs, self.body_part.outputs, strict=False)
        ]

    def execute(
        self, values: Sequence[Array], variables: Mapping[Node, Held], cancel: Cancel | None
    ) -> tuple[list[Array], dict[Node, Held]]:
        answers, held, _ = self._run(values, variables, cancel)
        return answers, held

    def rounds(self, values: Sequence[Array], cancel: Cancel | None) -> int:
        return self._run(values, {}, cancel)[2]

    def _run(
        self, values: Sequence[Array], variables: Mapping[Node, Held], cancel: Cancel | None
    ) -> tuple[list[Array], dict[Node, Held], int]:
        now: list[Any] = list(values)
        held, count = dict[Node, Held](), 0
        parts = self.condition, self.body_part
        places = [[p for p, node in enumerate(part.inputs) if node.op.state == "fed"] for part in parts]
        around = ChainMap(held, variables)  # type: ignore[arg-type]
        while True:
            for part in parts:
                for place, node in enumerate(part.inputs):
                    if node.op.state == "variable" and now[place] is not None:
                        held[node] = now[place], b""
            asked = Run(self.plans[0], _NOTHING_KEPT, around, [now[p] for p in places[0]], None, cancel)
            asked.execute()
            if not bool(asked.answers()[0]):
                break
            run = Run(self.plans[1], _NOTHING_KEPT, around, [now[p] for p in places[1]], None, cancel)
            run.execute()
            held.update(run.assigned)
            after = run.answers()
            for place, node in enumerate(self.body_part.inputs):
                if node.op.state == "variable":
                    now[place] = held[node][0] if node in held else None
                else:
                    now[place] = after[place]
                    if not fits(after[place], node.shapes[0]):
                        raise errors.InvalidArgumentError(
                            f"While: input[{place}] must have shape {shape_text(node.shapes[0])} in every round; "
                            f"got {list(after[place].shape)}"
                        )
            count += 1
        inner = {node for part in parts for node in part.inputs}
        return now, {node: value for node, value in held.items() if node not in inner}, count

    def refuse_gradient(self) -> None:
        for part in (self.condition, self.body_part):
            for node in part.graph:
                if node.op.state == "random" or changed_places(node):
                    problem = f"While has no gradient where {node!r} changes something that outlasts a round"
                    raise errors.UnsupportedTypeError(problem)

    def unfolded(self, rounds: int) -> tuple[Graph, list[Output], list[Output]]:
        body, graph = self.body_part, Graph()
        if rounds * len(body.graph) > _MOST_UNFOLDED:
            raise errors.ResourceExhaustedError(
                f"While: the gradient of {rounds:,} rounds of {len(body.graph):,} nodes takes more than "
                f"{_MOST_UNFOLDED:,} nodes"
            )
        inputs = [_placeholder(graph, f"input_{place}", source) for place, source in enumerate(self.given)]
        now = list(inputs)
        for count in range(rounds):
            made: dict[Node, Node] = {}
            stand_ins = dict(zip(body.inputs, now, strict=True))

            def found(output: Output, made: Any = made, stand_ins: Any = stand_ins) -> Output:
                return stand_ins.get(output.node) or Output(made[output.node], output.index)

            for node in body.graph:
                if node not in stand_ins:
                    before = tuple(made[b] if b in made else stand_ins[b].node for b in node.control)
                    made[node] = graph.adopt(node, tuple(map(found, node.inputs)), before, f"round_{count}/{node.name}")
            now = [found(output) for output in body.outputs]
        return graph, inputs, now


class GradientOp(GraphOp):
    """What the derivative of a loop is, or of another such op: a loop unfolded, and the nodes of its gradient."""

    def __init__(
        self, of: GraphOp, inputs: Sequence[Output], places: Sequence[int], cotangents: Sequence[Output]
    ) -> None:
        self.of, self.places, self.inner, self.weights = of, list(places), list(inputs), list(cotangents)
        found = [(i.shape, i.dtype) for i in inputs if _carries(i)]
        doc = "The cotangents of what a loop takes."
        super().__init__("WhileGrad", doc, [*inputs, *cotangents], found)
        self.plans: OrderedDict[int, Plan] = OrderedDict()

    def execute(
        self, values: Sequence[Array], variables: Mapping[Node, Held], cancel: Cancel | None
    ) -> tuple[list[Array], dict[Node, Held]]:
        rounds = self.rounds(values, cancel)
        plan = self.plans.get(rounds)
        if plan is None:
            _, inputs, outputs = self.unfolded(rounds)
            plan = self.plans[rounds] = Plan(outputs, [], inputs)
            while len(self.plans) > _KEPT:
                self.plans.popitem(last=False)
        run = Run(plan, _NOTHING_KEPT, {}, values, None, cancel)
        run.execute()
        return run.answers(), {}

    def rounds(self, values: Sequence[Array], cancel: Cancel | None) -> int:
        return self.of.rounds(values[: len(self.inner)], cancel)

    def unfolded(self, rounds: int) -> tuple[Graph, list[Output], list[Output]]:
        graph, inputs, outputs = self.of.unfolded(rounds)
        order = 1 + sum(1 for _ in _chain(self.of))
        weights = [_placeholder(graph, f"weight_{order}_{p}", weight) for p, weight in enumerate(self.weights)]
        scope = Scope.over(graph)
        leaves = [i for i in inputs if _carries(i)]
        found = add_symbolic_gradients(scope, [outputs[p] for p in self.places], leaves, weights, "none")
        zero = registry["ZerosLike"]
        gradients = [
            graph.add(zero, scope.name_for("unconnected"), [leaf]).outputs[0] if g is None else g
            for leaf, g in zip(leaves, found, strict=True)
        ]
        dense = [g if isinstance(g, Output) else g.dense() for g in gradients]
        return graph, [*inputs, *weights], dense

    def refuse_gradient(self) -> None:
        self.of.refuse_gradient()


def _chain(op: GraphOp) -> Any:
    while isinstance(op, GradientOp):
        yield op
        op = op.of


def _carries(output: Output) -> bool:
    return output.dtype in dtypes.DIFFERENTIABLE


def _placeholder(graph: Graph, name: str, like: Output) -> Output:
    attrs = {"dtype": like.dtype, "shape": like.shape}
    return graph.add(registry["Placeholder"], name, (), attrs).outputs[0]
