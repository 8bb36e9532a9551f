"""The functions between the layers of a network, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import FLOAT, REAL
from ...spec import Arg, Example, Reject, op
from .arithmetic import DY, INEXACT, ONE, RESULT, UNLIKE
from .operands import signed
from .precision import rounded

FEATURES = Arg("features", "T", "*shape", "What goes into the function.")
ACTIVATIONS = Arg("activations", "T", "*shape", "What comes out.")
GRADIENTS = Arg("gradients", "T", "*shape", "The gradient that comes in.")
BACKPROPS = Arg("backprops", "T", "*shape", "The gradient of the features.")
UNLIKE_GRADIENTS = Reject({"features": [1.0]}, r"features must have shape \[\*shape\]")


# ------------------------------------------------------------------ Tanh
@op(
    "Tanh",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [0.0, 0.7615942]}),
    samples=signed("x"),
)
def tanh(x: Any) -> Any:
    """The hyperbolic tangent of each number."""
    return rounded(np.tanh, x)


@tanh.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.TanhGrad(y=y.y, dy=g.y)}


# ------------------------------------------------------------------ TanhGrad
@op(
    "TanhGrad",
    inputs=[Arg("y", "T", "*shape", "What Tanh gave."), DY],
    outputs=[Arg("z", "T", "*shape", "The gradient of Tanh's operand.")],
    types={"T": INEXACT},
    example=Example({"y": [0.0, 0.5], "dy": [1.0, 2.0]}, {"z": [1.0, 1.5]}),
    samples=signed("y", "dy"),
    rejects=[UNLIKE],
)
def tanh_grad(y: Any, dy: Any) -> Any:
    """The gradient of Tanh, from its result: `dy * (1 - y * y)`."""
    return rounded(lambda y, dy: dy * (1 - y * y), y, dy)


@tanh_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    slope = ops.Mul(x=ops.Mul(x=x.dy, y=-2.0), y=x.y)
    return {"y": ops.Mul(x=g.z, y=slope), "dy": ops.TanhGrad(y=x.y, dy=g.z)}


# ------------------------------------------------------------------ Sigmoid
@op(
    "Sigmoid",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [0.5, 0.7310586]}),
    samples=signed("x"),
)
def sigmoid(x: Any) -> Any:
    """The logistic function `1 / (1 + exp(-x))` of each number."""
    return rounded(_logistic, x)


def _logistic(x: Any) -> Any:
    return np.divide(1, 1 + np.exp(-x))


@sigmoid.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.SigmoidGrad(y=y.y, dy=g.y)}


# ------------------------------------------------------------------ SigmoidGrad
@op(
    "SigmoidGrad",
    inputs=[Arg("y", "T", "*shape", "What Sigmoid gave."), DY],
    outputs=[Arg("z", "T", "*shape", "The gradient of Sigmoid's operand.")],
    types={"T": INEXACT},
    example=Example({"y": [0.5, 0.75], "dy": [1.0, 2.0]}, {"z": [0.25, 0.375]}),
    samples=signed("y", "dy"),
    rejects=[UNLIKE],
)
def sigmoid_grad(y: Any, dy: Any) -> Any:
    """The gradient of Sigmoid, from its result: `dy * y * (1 - y)`."""
    return rounded(lambda y, dy: dy * y * (1 - y), y, dy)


@sigmoid_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    slope = ops.Mul(x=x.dy, y=ops.Sub(x=1.0, y=ops.Mul(x=x.y, y=2.0)))
    return {"y": ops.Mul(x=g.z, y=slope), "dy": ops.SigmoidGrad(y=x.y, dy=g.z)}


# ------------------------------------------------------------------ Softplus
@op(
    "Softplus",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": FLOAT},
    example=Example({"features": [0.0, 1.0]}, {"activations": [0.6931472, 1.3132617]}),
    samples=signed("features"),
)
def softplus(features: Any) -> Any:
    """The logarithm `log(1 + exp(x))` of each number: nearly x where it is large, nearly 0 where it is small."""
    return rounded(lambda x: np.logaddexp(0, x), features)


@softplus.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.SoftplusGrad(gradients=g.activations, features=x.features)}


# ------------------------------------------------------------------ SoftplusGrad
@op(
    "SoftplusGrad",
    inputs=[GRADIENTS, FEATURES],
    outputs=[BACKPROPS],
    types={"T": FLOAT},
    example=Example({"gradients": [2.0, 1.0], "features": [0.0, 1.0]}, {"backprops": [1.0, 0.7310586]}),
    samples=signed("gradients", "features"),
    rejects=[UNLIKE_GRADIENTS],
)
def softplus_grad(gradients: Any, features: Any) -> Any:
    """The gradient of Softplus, from its operand: `gradients / (1 + exp(-features))`."""
    return rounded(lambda gradients, features: gradients * _logistic(features), gradients, features)


@softplus_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    moved = ops.Mul(x=g.backprops, y=x.gradients)
    return {
        "gradients": ops.SoftplusGrad(gradients=g.backprops, features=x.features),
        "features": ops.SigmoidGrad(y=ops.Sigmoid(x=x.features), dy=moved),
    }


# ------------------------------------------------------------------ Relu
@op(
    "Relu",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": REAL},
    example=Example({"features": [-1.0, 2.0]}, {"activations": [0.0, 2.0]}),
    samples=signed("features"),
)
def relu(features: Any) -> Any:
    """The positive numbers, and 0 in place of the negative ones."""
    return np.where(features < 0, np.zeros((), features.dtype), features)


@relu.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.ReluGrad(gradients=g.activations, features=x.features)}


# ------------------------------------------------------------------ ReluGrad
@op(
    "ReluGrad",
    inputs=[GRADIENTS, FEATURES],
    outputs=[BACKPROPS],
    types={"T": REAL},
    linear=["gradients"],
    no_grad=["features"],
    example=Example({"gradients": [5.0, 5.0], "features": [-1.0, 2.0]}, {"backprops": [0.0, 5.0]}),
    samples=signed("gradients", "features"),
    rejects=[UNLIKE_GRADIENTS],
)
def relu_grad(gradients: Any, features: Any) -> Any:
    """The gradient of Relu: it passes where the feature, or what Relu gave for it, is positive."""
    return np.multiply(gradients, (features > 0).astype(gradients.dtype))


@relu_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"gradients": ops.ReluGrad(gradients=g.backprops, features=x.features)}
