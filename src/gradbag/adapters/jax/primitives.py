"""The ops of the registry as primitives of JAX, with a rule for every transformation.

An op is three primitives: `forward` is the op itself, `push` its derivative in a direction, which is the op again on
tangents, and `pull` the transpose of that. `push` and `pull` are linear and each other's transposes, so any order of
either mode works. Where JAX knows all sizes, a transpose is the op's gradient rule on JAX arrays, and `pull` is left
for the rules that cannot be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ... import errors
from ...gradients import Shaped, pull, push
from ...spec import Op
from . import arrays, compat, host, lowering
from .call import Call, SizeNotKnownError
from .gradients import JaxOps

namespace = JaxOps()
Shapes = tuple[tuple[int, ...], ...]


class OpPrimitives:
    """The primitives of one op.

    Arrays of `forward`: the inputs that hold no sizes. Of `push`: the same with tangents for the linear ones, then the
    resting outputs. Of `pull`: the inputs that are not linear, the resting outputs, the cotangents of the moving ones.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        self.forward = self._primitive(op.python_name, _host_forward, _forward_outlines)
        self.push = self._primitive(f"{op.python_name}_push", _host_push, _push_outlines)
        self.pull = self._primitive(f"{op.python_name}_pull", _host_pull, _pull_outlines)
        compat.primitive_jvps[self.forward] = self._forward_jvp
        compat.primitive_jvps[self.push] = self._push_jvp
        compat.primitive_jvps[self.pull] = self._pull_jvp
        compat.primitive_transposes[self.forward] = self._forward_transpose
        compat.primitive_transposes[self.push] = self._push_transpose
        compat.primitive_transposes[self.pull] = self._pull_transpose
        compat.register_lowering(self.forward, lowering.forward, platform="cpu")
        compat.register_lowering(self.push, lowering.push, platform="cpu")
        compat.register_lowering(self.pull, lowering.by_python(_host_pull), platform="cpu")

    def _primitive(self, name: str, run: Callable[..., Any], outlines: Callable[..., Any]) -> Any:
        primitive = compat.Primitive(name)
        primitive.multiple_results = True
        primitive.def_abstract_eval(lambda *free, **fixed: outlines(free, **fixed))

        def on_arrays(values: Sequence[Any], fixed: dict[str, Any]) -> Any:
            return run(values=[np.asarray(v) for v in values], **fixed)

        primitive.def_impl(lambda *values, **fixed: arrays.from_arrays(on_arrays(values, fixed)))
        compat.primitive_batchers[primitive] = lambda values, axes, **fixed: _batched(
            primitive, on_arrays, values, axes, fixed
        )
        compat.register_lowering(primitive, lowering.refuse)
        return primitive

    # ------------------------------------------------------------------ derivatives in a direction
    def _forward_jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> Any:
        outputs = self.forward.bind(*primals, call=call)
        moved: list[Any] = [compat.zero_tangent(y) for y in outputs]
        if self.op.updates and not all(isinstance(t, compat.Zero) for t in tangents):
            raise errors.UnsupportedTypeError(f"{self.op.name} has no gradient")
        places = [k for k, t in enumerate(tangents) if self._carries(call, k, t)]
        if not places:
            return outputs, moved
        if call.is_linear:
            # The rule cannot depend on the values, so the derivative is a primitive of its own, with a transpose.
            resting = [outputs[place] for place in call.resting]
            found = self.push.bind(*_replaced(primals, tangents, call.linear), *resting, call=call)
        elif set(places) <= set(call.linear):  # the op again, of the sizes that are counted already
            every = self.forward.bind(*_replaced(primals, tangents, call.linear), call=call)
            found = [every[place] for place in call.moving]
        else:
            flat: list[Any] = [None] * call.inputs
            for k in places:
                flat[call.free[k]] = tangents[k]
            every = push(namespace, self.op, call.complete(primals), outputs, flat, dict(call.attrs))
            found = [every[place] for place in call.moving]
        for place, value in zip(call.moving, found, strict=True):
            moved[place] = value
        return outputs, moved

    def _carries(self, call: Call, place: int, tangent: Any) -> bool:
        return not isinstance(tangent, compat.Zero) and call.args[call.free[place]].name in self.op.differentiable

    def _push_jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> Any:
        moved = self.push.bind(*_replaced(primals, tangents, call.linear), call=call)
        return self.push.bind(*primals, call=call), moved

    def _pull_jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call: Call, shapes: Shapes) -> Any:
        first = len(primals) - len(call.moving)
        moving = range(first, len(primals))
        moved = self.pull.bind(*_replaced(primals, tangents, moving), call=call, shapes=shapes)
        return self.pull.bind(*primals, call=call, shapes=shapes), moved

    # ------------------------------------------------------------------ transposes
    def _forward_transpose(self, cotangents: Sequence[Any], *values: Any, call: Call) -> Any:
        resting: Sequence[Any] = ()
        if call.resting:
            zeros = [jnp.zeros(v.aval.shape, v.aval.dtype) if compat.is_undefined_primal(v) else v for v in values]
            outputs = self.forward.bind(*zeros, call=call)
            resting = [outputs[place] for place in call.resting]
        moving = [cotangents[place] for place in call.moving]
        return self._transposed(moving, values, resting, call)

    def _push_transpose(self, cotangents: Sequence[Any], *values: Any, call: Call) -> Any:
        free, resting = values[: len(call.free)], values[len(call.free) :]
        return [*self._transposed(cotangents, free, resting, call), *[None] * len(resting)]

    def _transposed(self, cotangents: Sequence[Any], free: Sequence[Any], resting: Sequence[Any], call: Call) -> Any:
        given = [compat.instantiate_zeros(c) for c in cotangents]
        # Of several inputs in which an op is linear one by one, JAX asks for some, and knows the others.
        asked = [k for k, value in enumerate(free) if compat.is_undefined_primal(value)]
        places = call.linear if call.is_linear else asked
        pulled = dict(zip(places, self._pulled(given, free, resting, call, places), strict=True))
        return [pulled.get(k) if k in asked else None for k in range(len(free))]

    def _pulled(
        self, cotangents: Sequence[Any], free: Sequence[Any], resting: Sequence[Any], call: Call, places: Sequence[int]
    ) -> list[Any]:
        outlines = [_outline(value) if k in places else value for k, value in enumerate(free)]
        if call.fill_value is None:
            outputs: list[Any] = [None] * len(call.output_args)
            for kind, found in ((call.resting, resting), (call.moving, map(_outline, cotangents))):
                for place, value in zip(kind, found, strict=True):
                    outputs[place] = value
            try:
                whole: list[Any] = [None] * len(outputs)
                for place, cotangent in zip(call.moving, cotangents, strict=True):
                    whole[place] = cotangent
                pulled = pull(namespace, self.op, call.complete(outlines), outputs, whole, dict(call.attrs))
                return [pulled[call.free[k]] for k in places]
            except SizeNotKnownError:
                if not call.is_linear:
                    raise
                # It is inside the rule: Python will know it when it runs.
        others = [value for k, value in enumerate(free) if k not in call.linear]
        shapes = tuple(tuple(outlines[k].shape) for k in call.linear)
        return list(self.pull.bind(*others, *resting, *cotangents, call=call, shapes=shapes))

    def _pull_transpose(self, cotangents: Sequence[Any], *values: Any, call: Call, shapes: Shapes) -> Any:
        others, resting, moving = _pull_parts(call, values)
        given = iter(others)
        zeros = dict(zip(call.linear, [compat.instantiate_zeros(c) for c in cotangents], strict=True))
        free = [zeros[k] if k in zeros else next(given) for k in range(len(call.free))]
        pushed = self.push.bind(*free, *resting, call=call)
        kept = [p if compat.is_undefined_primal(v) else None for p, v in zip(pushed, moving, strict=True)]
        return [*[None] * (len(values) - len(moving)), *kept]


_primitives: dict[Op, OpPrimitives] = {}


def of(op: Op) -> OpPrimitives:
    if op not in _primitives:
        _primitives[op] = OpPrimitives(op)
    return _primitives[op]


def _outline(value: Any) -> Any:
    aval = value.aval if compat.is_undefined_primal(value) else value
    return Shaped(tuple(aval.shape), aval.dtype)


def _replaced(primals: Sequence[Any], tangents: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The primals with the tangents in some places."""
    return [
        compat.instantiate_zeros(t) if place in places else p
        for place, (p, t) in enumerate(zip(primals, tangents, strict=True))
    ]


# ------------------------------------------------------------------ outputs without data, and on NumPy arrays
def _forward_outlines(values: Sequence[Any], *, call: Call) -> list[Any]:
    return call.outlines(values)


def _push_outlines(values: Sequence[Any], *, call: Call) -> list[Any]:
    outlines = call.outlines(values[: len(call.free)])
    return [outlines[place] for place in call.moving]


def _pull_outlines(values: Sequence[Any], *, call: Call, shapes: Shapes) -> list[Any]:
    return [compat.ShapedArray(shape, values[-1].dtype) for shape in shapes]


def _host_forward(call: Call, values: Sequence[Any]) -> list[Any]:
    return host.run(call, values)


def _host_push(call: Call, values: Sequence[Any]) -> list[Any]:
    return host.push(call, values[: len(call.free)])


def _pull_parts(call: Call, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    others = len(call.free) - len(call.linear)
    first = others + len(call.resting)
    return values[:others], values[others:first], values[first:]


def _host_pull(call: Call, values: Sequence[Any], shapes: Shapes) -> list[Any]:
    others, resting, moving = _pull_parts(call, values)
    given = iter(others)
    outlines = {k: Shaped(shape, moving[0].dtype) for k, shape in zip(call.linear, shapes, strict=True)}
    free = [outlines[k] if k in outlines else next(given) for k in range(len(call.free))]
    return host.pull(call, free, resting, moving)


# ------------------------------------------------------------------ vmap
def _batched(
    primitive: Any, on_arrays: Callable[..., Any], values: Sequence[Any], axes: Sequence[Any], fixed: dict[str, Any]
) -> Any:
    """One call after the other, in Python where all values are known: compiling the loop would take longer."""
    is_batched = tuple(axis is not None for axis in axes)
    count = next(v.shape[axis] for v, axis in zip(values, axes, strict=True) if axis is not None)
    if count and not any(isinstance(v, compat.Tracer) for v in values):
        plain = [np.asarray(v) for v in values]
        answers = [
            on_arrays([v if axis is None else v.take(n, axis) for v, axis in zip(plain, axes, strict=True)], fixed)
            for n in range(count)
        ]
        outputs = arrays.from_arrays([np.stack(column) for column in zip(*answers, strict=True)])
    else:
        moved = [v if axis is None else jnp.moveaxis(v, axis, 0) for v, axis in zip(values, axes, strict=True)]
        outputs = _loop(primitive, tuple(fixed.items()), is_batched)(*moved)
    return outputs, [0] * len(outputs)


@lru_cache(maxsize=1024)  # so that the next call need not be compiled again
def _loop(primitive: Any, fixed: tuple[tuple[str, Any], ...], is_batched: tuple[bool, ...]) -> Callable[..., Any]:
    def loop(*values: Any) -> Any:
        def step(picked: Sequence[Any]) -> Any:
            given = iter(picked)
            one = [next(given) if batched else v for v, batched in zip(values, is_batched, strict=True)]
            return primitive.bind(*one, **dict(fixed))

        return jax.lax.map(step, [v for v, batched in zip(values, is_batched, strict=True) if batched])

    return jax.jit(loop)  # type: ignore[no-any-return]
