"""What the declaration of an op tells about the inputs of one call of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes, errors
from ..graph.graph import Node
from ..spec import Known
from .masks import Array

FOLLOWED = "float64"  # the dtype as which values are followed
MOST_SEEN = 1024  # elements of an input that may be a setting
PROBLEMS = (errors.Error, ValueError, TypeError, IndexError, KeyError, ArithmeticError, AttributeError)


class Declared:
    """What each input is, by its place.

    Those that are `whole` take integers only, and without the `settings` an op cannot tell its outputs' shapes.
    Those that are `followed` as doubles have a type variable that is `carried`; of the `differentiable` ones a rule of
    gradients speaks.
    """

    def __init__(self, node: Node, inputs: Sequence[Array]) -> None:
        self.node, self.op, self.inputs = node, node.op, inputs
        self.args = node.args
        self.whole = {p for p, arg in enumerate(self.args) if set(self.op.allowed(arg)) <= set(dtypes.INTEGER)}
        self.settings = self._settings()
        able = set(self.op.differentiable) if self.op.rule is not None else set()
        self.carried = self._carried(able)
        self.followed = {p for p, arg in enumerate(self.args) if arg.dtype in self.carried}
        floats = {p for p, value in enumerate(inputs) if dtypes.is_differentiable(value.dtype)}
        self.differentiable = {p for p in self.followed | floats if self.args[p].name in able}

    def record(self, place: int) -> str:
        """The word of the first axis of an input whose rows are records, alone or together with other inputs."""
        arg = self.args[place]
        first = arg.dims.terms[0] if place in self.whole and not arg.many and arg.dims.terms else ""
        return first if isinstance(first, str) and first.isidentifier() else ""

    def _settings(self) -> set[int]:
        found = {p for p, arg in enumerate(self.args) if arg.contents is not None}
        shapes = self._shapes()
        if shapes is not None:
            found |= {place for place in self.whole if self._shapes(hidden=place) != shapes}
        words = {self.args[place].dims.terms[:1] for place in found} - {()}
        # A list beside settings is one too: where a window begins, beside how large it is.
        return found | {place for place, arg in enumerate(self.args) if arg.dims.terms in words}

    def _shapes(self, hidden: int | None = None) -> list[Any] | None:
        if self.op.shape_rule is None:
            return None
        seen = [v if v.size <= MOST_SEEN and place != hidden else None for place, v in enumerate(self.inputs)]
        known = [Known(dtypes.name_of(v.dtype), v.shape, s) for v, s in zip(self.inputs, seen, strict=True)]
        try:
            return list(self.op.shape_rule(*self.op.grouped(self.node.flat(known)), **self.node.attrs))
        except (errors.Fault, *PROBLEMS):
            return None

    def _carried(self, able: set[str]) -> set[str]:
        """The type variables of the inputs for which gradients are declared."""
        fits = {name for name, allowed in self.op.types.items() if FOLLOWED in allowed}
        # A complex number is differentiable as it is, and would lose a part.
        kept = {arg.dtype for arg, value in zip(self.args, self.inputs, strict=True) if value.dtype.kind == "c"}
        found = {arg.dtype for arg in self.op.inputs if arg.name in able} & fits - kept
        # With them goes what an attribute alone decides, say the dtype to cast to.
        return found | (fits & self.node.attrs.keys()) if found and not kept else found
