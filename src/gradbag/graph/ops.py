"""The constructors of nodes, as in TensorFlow's C++ API: scope first, then inputs in order, attributes by name.

    ops.SparseSegmentMeanGrad(scope, grad, indices, segment_ids, output_dim0).output

Every op of the registry is an attribute of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any as _Any  # there is an op of this name

from .. import opdocs
from ..spec import Op, registry
from .building import Built, build, constant
from .scope import Scope

_made: dict[Op, Callable[..., Built]] = {}


def Const(scope: Scope, value: _Any, dtype: _Any = None) -> Built:  # noqa: N802  # it is the op's name
    """A value that is part of the graph; without a dtype it is the value's own, float32 or int32 for Python numbers."""
    return Built(constant(scope, value, dtype).node)


def _constructor(op: Op) -> Callable[..., Built]:
    names = [*op.input_names, *op.attr_defaults]

    def construct(scope: Scope, *values: _Any, **named: _Any) -> Built:
        if not isinstance(scope, Scope):
            raise TypeError(f"{op.name}: the first argument is the scope; got {type(scope).__name__}")
        if len(values) > len(names):
            raise TypeError(f"{op.name} takes {', '.join(names)}; got {len(values)} values")
        given = dict(zip(names, values, strict=False))
        for name, value in named.items():
            if name in given or name not in names:
                problem = "is given twice" if name in given else "is unknown"
                raise TypeError(f"{op.name}: {name!r} {problem}; it takes {', '.join(names)}")
            given[name] = value
        given |= {name: None for name in op.optional_names if name not in given}
        missing = [name for name in (*op.input_names, *op.required_attrs) if name not in given]
        if missing:
            raise TypeError(f"{op.name} misses the required argument {missing[0]!r}")
        inputs = [given.pop(name) for name in op.input_names]
        if op.lists:
            inputs = op.flat(op.listed(inputs))
        return Built(build(scope, op, inputs, given))

    construct.__name__ = construct.__qualname__ = op.name
    construct.__doc__ = f"{opdocs.summary(op)}\n\n{op.name}(scope, {', '.join(names)})"
    return construct


def __getattr__(name: str) -> Callable[..., Built]:
    op = registry.get(name)
    if op is None:
        raise AttributeError(f"gradbag.graph.ops has no op {name!r}; `gradbag ops` lists them")
    if op not in _made:
        _made[op] = _constructor(op)
    return _made[op]


def __dir__() -> list[str]:
    return [op.name for op in registry]
