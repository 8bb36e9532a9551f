"""The namespace in which a gradient rule runs when it builds nodes: every answer is a node of an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..gradients import Ops
from ..row_grad import RowGrad
from ..spec import Op
from .building import build
from .graph import Output
from .scope import Scope


class GraphOps(Ops):
    """Rules of gradients, called with this, add nodes to a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return op.answer(build(self.scope, op, values, attrs).outputs)

    def row_grad(self, compact: Any, like: Output) -> RowGrad:
        # Whoever asks for its sums later has them outside of the scope of these gradients.
        ops = GraphOps(Scope.over(like.graph))
        shape = like.shape or (None,)
        return RowGrad(compact.sorted_unique_indices, compact.output, shape, like=like, ops=ops)
