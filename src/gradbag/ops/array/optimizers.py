"""TensorFlow's steps of optimizers: on a whole variable, or on the rows of it that have a gradient.

What a step does is said in `row_rules`, where there is a rule for it. Each makes four ops: on variables by reference
and by handle, with a dense gradient and with rows of one. Rows that are named twice move twice, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...spec import Arg, Attr, Example, Reject, op, titled
from ..pooling import check_indices
from ..row_rules import RULES
from .array_samples import Rng
from .state import LOCKING

Array = np.ndarray[Any, Any]
FLOATING = ("float32", "float64")
_SLOTS = Attr("update_slots", True, "Whether the sum of squares grows too.")
_NESTEROV = Attr("use_nesterov", False, "Look ahead: go as if the next step were known.")
_BY_RATE = Attr("multiply_linear_by_lr", False, "Whether `linear` is kept multiplied by the rate.")
GRADIENT = "grad"


@dataclass(frozen=True)
class Kind:
    """An optimizer: `update(g, w, *states, **numbers, **attrs)` gives the new w and states; names are TensorFlow's."""

    name: str
    update: Callable[..., Sequence[Array]]
    formula: str
    states: Sequence[str]
    inputs: Sequence[str]  # after the states, in TensorFlow's order: numbers, and the gradient
    sparse_inputs: Sequence[str] | None  # the same for rows; None where TensorFlow has no such op
    attrs: Sequence[Attr] = ()
    by_reference: bool = True


def _row(name: str) -> Callable[..., Sequence[Array]]:
    return RULES[name].update


def _sgd(g: Array, w: Array, alpha: Any) -> Sequence[Array]:
    return _row("Sgd")(g, w, alpha)


def _momentum(g: Array, w: Array, accum: Array, lr: Any, momentum: Any, use_nesterov: bool) -> Sequence[Array]:
    return _row("Momentum")(g, w, accum, lr, momentum, nesterov=use_nesterov)


def _keras_momentum(g: Array, w: Array, accum: Array, lr: Any, momentum: Any, use_nesterov: bool) -> Sequence[Array]:
    accum = momentum * accum - lr * g
    return w + (momentum * accum - lr * g if use_nesterov else accum), accum


def _adagrad(
    g: Array, w: Array, accum: Array, lr: Any, update_slots: bool, epsilon: Any | None = None
) -> Sequence[Array]:
    small = w.dtype.type(0) if epsilon is None else epsilon
    if update_slots:
        return _row("Adagrad")(g, w, accum, lr, small)
    return w - (lr * g) / (np.sqrt(accum) + small), accum


def _adam(
    g: Array,
    w: Array,
    m: Array,
    v: Array,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    use_nesterov: bool,
) -> Sequence[Array]:
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    moved, m, v = _row("Adam")(g, w, m, v, rate, beta1, beta2, epsilon)
    if use_nesterov:
        moved = w - (rate * (beta1 * m + (1 - beta1) * g)) / (np.sqrt(v) + epsilon)
    return moved, m, v


def _rms_prop(
    g: Array, w: Array, ms: Array, mom: Array, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> Sequence[Array]:
    return _row("RmsProp")(g, w, ms, mom, lr, rho, momentum, epsilon)


def _centered_rms_prop(
    g: Array, w: Array, mg: Array, ms: Array, mom: Array, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> Sequence[Array]:
    ms = ms + (1 - rho) * (g * g - ms)
    mg = mg + (1 - rho) * (g - mg)
    mom = momentum * mom + (lr * g) / np.sqrt((ms - mg * mg) + epsilon)
    return w - mom, mg, ms, mom


def _ftrl(
    g: Array,
    w: Array,
    accum: Array,
    linear: Array,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    multiply_linear_by_lr: bool,
    l2_shrinkage: Any | None = None,
) -> Sequence[Array]:
    shrinkage = w.dtype.type(0) if l2_shrinkage is None else l2_shrinkage
    if lr_power == -0.5 and not multiply_linear_by_lr:
        return _row("Ftrl")(g, w, accum, linear, lr, l1, l2, shrinkage)
    summed = accum + g * g
    before, after = accum**-lr_power, summed**-lr_power
    scale = lr if multiply_linear_by_lr else w.dtype.type(1)
    linear = linear + scale * (g + 2 * shrinkage * w) - (after - before) / lr * scale * w
    bound = l1 * scale
    quadratic = (after / lr + 2 * l2) * scale
    return np.where(np.abs(linear) > bound, (np.sign(linear) * bound - linear) / quadratic, 0 * w), summed, linear


def _adadelta(
    g: Array, w: Array, accum: Array, accum_update: Array, lr: Any, rho: Any, epsilon: Any
) -> Sequence[Array]:
    accum = rho * accum + (1 - rho) * (g * g)
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * g
    return w - lr * update, accum, rho * accum_update + (1 - rho) * (update * update)


def _shrunk(w: Array, rate: Any, l1: Any, l2: Any) -> Array:
    pulled = np.sign(w) * np.maximum(np.abs(w) - rate * l1, 0) if l1 > 0 else w
    return np.asarray(pulled / (1 + rate * l2))


def _proximal_adagrad(g: Array, w: Array, accum: Array, lr: Any, l1: Any, l2: Any) -> Sequence[Array]:
    accum = accum + g * g
    rate = lr / np.sqrt(accum)
    return _shrunk(w - rate * g, rate, l1, l2), accum


def _proximal_gradient_descent(g: Array, w: Array, alpha: Any, l1: Any, l2: Any) -> Sequence[Array]:
    return (_shrunk(w - alpha * g, alpha, l1, l2),)


NUMBERS = {
    "alpha": "How far to go.",
    "lr": "How far to go.",
    "momentum": "How much of the last step is made again.",
    "epsilon": "What keeps the divisor away from zero.",
    "beta1_power": "`beta1` to the power of the number of this step.",
    "beta2_power": "`beta2` to the power of the number of this step.",
    "beta1": "How much of the mean of gradients stays.",
    "beta2": "How much of the mean of their squares stays.",
    "rho": "How much of the mean of squares stays.",
    "l1": "How strongly small values are drawn to zero.",
    "l2": "How strongly large values are drawn to zero.",
    "l2_shrinkage": "The same for the gradient alone, not for what is kept of it.",
    "lr_power": "Minus the power of the sum of squares that divides the rate, at most 0.",
}
STATES = {
    "accum": "The sum of squared gradients, or of steps.",
    "accum_update": "The running mean of squared steps.",
    "linear": "The sum of gradients, less what the variable stands for.",
    "m": "The running mean of gradients.",
    "v": "The running mean of squared gradients.",
    "mg": "The running mean of gradients.",
    "ms": "The running mean of squared gradients.",
    "mom": "What earlier steps add up to.",
}
_L = ("lr", "l1", "l2")
KINDS = [
    Kind("GradientDescent", _sgd, "var = var - alpha * g", [], ["alpha", "delta"], None),
    Kind(
        "Momentum",
        _momentum,
        "accum = momentum * accum + g\nvar = var - lr * accum, or lr * (g + momentum * accum) with use_nesterov",
        ["accum"],
        ["lr", GRADIENT, "momentum"],
        ["lr", GRADIENT, "indices", "momentum"],
        [_NESTEROV],
    ),
    Kind(
        "KerasMomentum",
        _keras_momentum,
        "accum = momentum * accum - lr * g\nvar = var + accum, or momentum * accum - lr * g with use_nesterov",
        ["accum"],
        ["lr", GRADIENT, "momentum"],
        ["lr", GRADIENT, "indices", "momentum"],
        [_NESTEROV],
        by_reference=False,
    ),
    Kind(
        "Adagrad",
        _adagrad,
        "accum = accum + g * g\nvar = var - lr * g / sqrt(accum)",
        ["accum"],
        ["lr", GRADIENT],
        ["lr", GRADIENT, "indices"],
        [_SLOTS],
    ),
    Kind(
        "AdagradV2",
        _adagrad,
        "accum = accum + g * g\nvar = var - lr * g / (sqrt(accum) + epsilon)",
        ["accum"],
        ["lr", "epsilon", GRADIENT],
        ["lr", "epsilon", GRADIENT, "indices"],
        [_SLOTS],
    ),
    Kind(
        "Adam",
        _adam,
        "rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)\nm = m + (1 - beta1) * (g - m)\n"
        "v = v + (1 - beta2) * (g * g - v)\nvar = var - rate * m / (sqrt(v) + epsilon), "
        "with use_nesterov of (1 - beta1) * g + beta1 * m",
        ["m", "v"],
        ["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", GRADIENT],
        None,
        [_NESTEROV],
    ),
    Kind(
        "RMSProp",
        _rms_prop,
        "ms = rho * ms + (1 - rho) * g * g\nmom = momentum * mom + lr * g / sqrt(ms + epsilon)\nvar = var - mom",
        ["ms", "mom"],
        ["lr", "rho", "momentum", "epsilon", GRADIENT],
        ["lr", "rho", "momentum", "epsilon", GRADIENT, "indices"],
    ),
    Kind(
        "CenteredRMSProp",
        _centered_rms_prop,
        "mg = rho * mg + (1 - rho) * g\nms = rho * ms + (1 - rho) * g * g\n"
        "mom = momentum * mom + lr * g / sqrt(ms - mg * mg + epsilon)\nvar = var - mom",
        ["mg", "ms", "mom"],
        ["lr", "rho", "momentum", "epsilon", GRADIENT],
        ["lr", "rho", "momentum", "epsilon", GRADIENT, "indices"],
    ),
    Kind(
        "Ftrl",
        _ftrl,
        "sum = accum + g * g\nlinear = linear + g - (sum**-lr_power - accum**-lr_power) / lr * var\n"
        "var = (sign(linear) * l1 - linear) / (sum**-lr_power / lr + 2 * l2), or 0 where linear is not beyond l1\n"
        "accum = sum",
        ["accum", "linear"],
        [GRADIENT, *_L, "lr_power"],
        [GRADIENT, "indices", *_L, "lr_power"],
        [_BY_RATE],
    ),
    Kind(
        "FtrlV2",
        _ftrl,
        "As Ftrl, with g + 2 * l2_shrinkage * var in place of g where it is added to linear.",
        ["accum", "linear"],
        [GRADIENT, *_L, "l2_shrinkage", "lr_power"],
        [GRADIENT, "indices", *_L, "l2_shrinkage", "lr_power"],
        [_BY_RATE],
    ),
    Kind(
        "Adadelta",
        _adadelta,
        "accum = rho * accum + (1 - rho) * g * g\nstep = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * g\n"
        "var = var - lr * step\naccum_update = rho * accum_update + (1 - rho) * step * step",
        ["accum", "accum_update"],
        ["lr", "rho", "epsilon", GRADIENT],
        ["lr", "rho", "epsilon", GRADIENT, "indices"],
    ),
    Kind(
        "ProximalAdagrad",
        _proximal_adagrad,
        "accum = accum + g * g; rate = lr / sqrt(accum); p = var - rate * g\n"
        "var = sign(p) * max(abs(p) - rate * l1, 0) / (1 + rate * l2)",
        ["accum"],
        [*_L, GRADIENT],
        [*_L, GRADIENT, "indices"],
    ),
    Kind(
        "ProximalGradientDescent",
        _proximal_gradient_descent,
        "p = var - alpha * g\nvar = sign(p) * max(abs(p) - alpha * l1, 0) / (1 + alpha * l2)",
        [],
        ["alpha", "l1", "l2", "delta"],
        ["alpha", "l1", "l2", GRADIENT, "indices"],
    ),
]
# In examples 0.5 stands for every number but these.
_CHOSEN = {"lr_power": -0.5, "beta1_power": 0.75, "beta2_power": 0.75, "epsilon": 0.25, "l1": 0.125, "l2": 0.25}


def _number(name: str) -> float:
    return _CHOSEN.get(name, 0.5)


def _declare(kind: Kind, handle: bool, sparse: bool) -> None:
    order = kind.sparse_inputs if sparse else kind.inputs
    assert order is not None
    shape = "rows *inner" if sparse else "*shape"
    kept = ["var", *kind.states]
    docs = {"var": "The variable that moves.", **STATES}
    inputs = [Arg(name, "T", shape, docs[name], handle=handle, updates=True) for name in kept]
    for name in order:
        if name == "indices":
            inputs.append(
                Arg(name, "Tindices", "n", "The row of the variable that each row of the gradient belongs to.")
            )
        elif name in (GRADIENT, "delta"):
            inputs.append(
                Arg(name, "T", "n *inner" if sparse else shape, "Rows of the gradient." if sparse else "The gradient.")
            )
        else:
            inputs.append(Arg(name, "T", "", NUMBERS[name]))
    attrs = [Attr("use_locking", False, LOCKING), *kind.attrs]

    def body(*given: Any, **settings: Any) -> Any:
        named = dict(zip([a.name for a in inputs], given, strict=True))
        states = [named.pop(name) for name in kept]
        grad, indices = named.pop(GRADIENT if GRADIENT in named else "delta"), named.pop("indices", None)
        chosen = {attr.name: settings[attr.name] for attr in kind.attrs}

        def moved(g: Array, *rows: Array) -> Sequence[Array]:
            return kind.update(g, *rows, **named, **chosen)

        found = moved(grad, *states) if indices is None else _by_rows(moved, states, grad, indices)
        arrays = [np.asarray(f, s.dtype).reshape(s.shape) for f, s in zip(found, states, strict=True)]
        return arrays if handle else [*arrays, arrays[0].copy()]

    parameters = [Parameter(a.name, Parameter.POSITIONAL_OR_KEYWORD) for a in inputs]
    settings = [Parameter(a.name, Parameter.KEYWORD_ONLY) for a in attrs]
    body.__signature__ = Signature([*parameters, *settings])  # type: ignore[attr-defined]
    name = f"{'Resource' if handle else ''}{'Sparse' if sparse else ''}Apply{kind.name}"
    doc = "Move the rows of a variable that have a gradient." if sparse else "Move a variable against its gradient."
    example = _example(inputs, kept, sparse)
    after = dict(zip(kept, _after(kind, kept, example), strict=True))
    made = op(
        name,
        inputs=inputs,
        outputs=[] if handle else [Arg("out", "T", shape, "The new value of the variable.")],
        attrs=attrs,
        types={"T": FLOATING, **({"Tindices": INDEX} if sparse else {})},
        example=Example(example, {} if handle else {"out": after["var"]}, after=after),
        samples=lambda rng: _samples(rng, inputs, kept, sparse),
        rejects=[Reject({"indices": [1]}, r"indices\[0\] == 1 out of range \[0, 1\)")]
        if sparse
        else [Reject({GRADIENT if GRADIENT in order else "delta": [1.0]}, r"(grad|delta) must have shape \[\*shape\]")],
    )(titled(name, f"{doc}\n\n{kind.formula}")(body))
    if sparse:
        place = [a.name for a in inputs].index("indices")
        made.check(lambda *given: check_indices("indices", given[place], len(given[0])))


def _by_rows(
    moved: Callable[..., Sequence[Array]], states: Sequence[Array], grad: Array, indices: Array
) -> list[Array]:
    """The states with the rows that are named moved; those that are named again move again, in their order."""
    answer = [state.copy() for state in states]
    left = np.arange(len(indices))
    while len(left):
        rows, first = np.unique(indices[left], return_index=True)
        for new, found in zip(answer, moved(grad[left[first]], *[a[rows] for a in answer]), strict=True):
            new[rows] = found
        left = np.delete(left, first)
    return answer


# ------------------------------------------------------------------ examples and samples
def _example(inputs: Sequence[Arg], kept: Sequence[str], sparse: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for arg in inputs:
        if arg.name in kept:
            value: Any = {"var": [2.0, -1.0], "mg": [0.5, 0.5]}.get(arg.name, [4.0, 4.0])
            found[arg.name] = [value] if sparse else value
        elif arg.name == "indices":
            found[arg.name] = [0]
        elif arg.dims.terms:
            found[arg.name] = [[1.0, -2.0]] if sparse else [1.0, -2.0]
        else:
            found[arg.name] = _number(arg.name)
    return found


def _after(kind: Kind, kept: Sequence[str], example: Mapping[str, Any]) -> list[Any]:
    """What the states of the example become: by the formula, whose values against TensorFlow's a test compares."""
    arrays = {name: np.asarray(value, np.float32) for name, value in example.items() if name != "indices"}
    grad = arrays.pop(GRADIENT if GRADIENT in arrays else "delta")
    states = [arrays.pop(name) for name in kept]
    chosen = {attr.name: attr.default for attr in kind.attrs}
    return [np.asarray(a, np.float32).tolist() for a in kind.update(grad, *states, **arrays, **chosen)]


def _samples(rng: Rng, inputs: Sequence[Arg], kept: Sequence[str], sparse: bool) -> Iterator[dict[str, Any]]:
    for rows, inner, count in [(5, (3,), 4), (1, (2,), 3), (4, (), 2), (3, (2,), 0)]:
        found: dict[str, Any] = {}
        for arg in inputs:
            if arg.name in kept:
                found[arg.name] = rng.uniform(4.0, 9.0, (rows, *inner)) * (0.1 if arg.name == "mg" else 1.0)
            elif arg.name == "indices":
                found[arg.name] = rng.integers(0, rows, count)
            elif arg.dims.terms:
                found[arg.name] = rng.uniform(0.5, 2.0, (count if sparse else rows, *inner))
            else:
                found[arg.name] = _number(arg.name)
        yield found


for _kind in KINDS:
    for _sparse in (False, True) if _kind.sparse_inputs is not None else (False,):
        for _handle in (True, False) if _kind.by_reference else (True,):
            _declare(_kind, _handle, _sparse)
