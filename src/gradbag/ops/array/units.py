"""More of the functions between layers: linear on one side, bounded or flat on the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import FLOAT, REAL
from ...spec import Arg, Attr, Example, op
from .activations import ACTIVATIONS, BACKPROPS, FEATURES, GRADIENTS, UNLIKE_GRADIENTS
from .operands import signed
from .precision import rounded

OUTPUTS = Arg("outputs", "T", "*shape", "What the function gave.")
ALPHA = Attr("alpha", float(np.float32(0.2)), "The slope for negative numbers.", "float")
# Of Klambauer et al., Self-Normalizing Neural Networks.
SCALE, SCALE_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123


def _passing(gradients: Any, where: Any) -> Any:
    return np.multiply(gradients, where.astype(gradients.dtype))


# ------------------------------------------------------------------ Elu
@op(
    "Elu",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": FLOAT},
    example=Example({"features": [-1.0, 2.0]}, {"activations": [-0.63212055, 2.0]}),
    samples=signed("features"),
)
def elu(features: Any) -> Any:
    """The positive numbers, and exp(x) - 1 in place of the negative ones."""
    return rounded(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), features)


@elu.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.EluGrad(gradients=g.activations, outputs=y.activations)}


# ------------------------------------------------------------------ EluGrad
@op(
    "EluGrad",
    inputs=[GRADIENTS, OUTPUTS],
    outputs=[BACKPROPS],
    types={"T": FLOAT},
    example=Example({"gradients": [2.0, 2.0], "outputs": [-0.5, 2.0]}, {"backprops": [1.0, 2.0]}),
    samples=signed("gradients", "outputs"),
)
def elu_grad(gradients: Any, outputs: Any) -> Any:
    """The gradient of Elu, from what it gave."""
    return rounded(lambda g, y: np.where(y < 0, (y + 1) * g, g), gradients, outputs)


@elu_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    negative = ops.Cast(x=ops.Less(x=x.outputs, y=0.0), DstT=x.outputs.dtype)
    return {
        "gradients": ops.EluGrad(gradients=g.backprops, outputs=x.outputs),
        "outputs": ops.Mul(x=ops.Mul(x=g.backprops, y=x.gradients), y=negative),
    }


# ------------------------------------------------------------------ Selu
@op(
    "Selu",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": FLOAT},
    example=Example({"features": [-1.0, 2.0]}, {"activations": [-1.1113307, 2.101402]}),
    samples=signed("features"),
)
def selu(features: Any) -> Any:
    """A multiple of the positive numbers, and of exp(x) - 1 in place of the negative ones, that keeps their scale."""
    return rounded(lambda x: np.where(x < 0, SCALE_ALPHA * np.expm1(np.minimum(x, 0)), SCALE * x), features)


@selu.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.SeluGrad(gradients=g.activations, outputs=y.activations)}


# ------------------------------------------------------------------ SeluGrad
@op(
    "SeluGrad",
    inputs=[GRADIENTS, OUTPUTS],
    outputs=[BACKPROPS],
    types={"T": FLOAT},
    example=Example({"gradients": [2.0, 2.0], "outputs": [-0.5, 2.0]}, {"backprops": [2.5161986, 2.101402]}),
    samples=signed("gradients", "outputs"),
)
def selu_grad(gradients: Any, outputs: Any) -> Any:
    """The gradient of Selu, from what it gave."""
    return rounded(lambda g, y: np.where(y < 0, g * (y + SCALE_ALPHA), g * SCALE), gradients, outputs)


@selu_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    negative = ops.Cast(x=ops.Less(x=x.outputs, y=0.0), DstT=x.outputs.dtype)
    return {
        "gradients": ops.SeluGrad(gradients=g.backprops, outputs=x.outputs),
        "outputs": ops.Mul(x=ops.Mul(x=g.backprops, y=x.gradients), y=negative),
    }


# ------------------------------------------------------------------ Relu6
@op(
    "Relu6",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": REAL},
    example=Example({"features": [-1.0, 2.0, 7.0]}, {"activations": [0.0, 2.0, 6.0]}),
    samples=signed("features"),
)
def relu6(features: Any) -> Any:
    """The numbers from 0 to 6, and the nearer of the two in place of the others."""
    return np.minimum(np.maximum(features, np.zeros((), features.dtype)), np.asarray(6).astype(features.dtype))


@relu6.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.Relu6Grad(gradients=g.activations, features=x.features)}


# ------------------------------------------------------------------ Relu6Grad
@op(
    "Relu6Grad",
    inputs=[GRADIENTS, FEATURES],
    outputs=[BACKPROPS],
    types={"T": REAL},
    linear=["gradients"],
    no_grad=["features"],
    example=Example({"gradients": [5.0, 5.0], "features": [-1.0, 2.0]}, {"backprops": [0.0, 5.0]}),
    samples=signed("gradients", "features"),
    rejects=[UNLIKE_GRADIENTS],
)
def relu6_grad(gradients: Any, features: Any) -> Any:
    """The gradient of Relu6: it passes between 0 and 6."""
    return _passing(gradients, (features > 0) & (features < 6))


@relu6_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"gradients": ops.Relu6Grad(gradients=g.backprops, features=x.features)}


# ------------------------------------------------------------------ LeakyRelu
@op(
    "LeakyRelu",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    attrs=[ALPHA],
    types={"T": FLOAT},
    example=Example({"features": [-1.0, 2.0], "alpha": 0.5}, {"activations": [-0.5, 2.0]}),
    samples=signed("features"),
)
def leaky_relu(features: Any, alpha: float) -> Any:
    """The positive numbers, and a part of the negative ones."""
    return np.where(features > 0, features, features * np.asarray(np.float32(alpha)).astype(features.dtype))


@leaky_relu.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"features": ops.LeakyReluGrad(gradients=g.activations, features=x.features, alpha=x.alpha)}


# ------------------------------------------------------------------ LeakyReluGrad
@op(
    "LeakyReluGrad",
    inputs=[GRADIENTS, FEATURES],
    outputs=[BACKPROPS],
    attrs=[ALPHA],
    types={"T": FLOAT},
    linear=["gradients"],
    no_grad=["features"],
    example=Example({"gradients": [5.0, 5.0], "features": [-1.0, 2.0], "alpha": 0.5}, {"backprops": [2.5, 5.0]}),
    samples=signed("gradients", "features"),
    rejects=[UNLIKE_GRADIENTS],
)
def leaky_relu_grad(gradients: Any, features: Any, alpha: float) -> Any:
    """The gradient of LeakyRelu: it passes where the feature is positive, and a part of it elsewhere."""
    return np.where(features > 0, gradients, gradients * np.asarray(np.float32(alpha)).astype(gradients.dtype))


@leaky_relu_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"gradients": ops.LeakyReluGrad(gradients=g.backprops, features=x.features, alpha=x.alpha)}


# ------------------------------------------------------------------ Softsign
@op(
    "Softsign",
    inputs=[FEATURES],
    outputs=[ACTIVATIONS],
    types={"T": FLOAT},
    example=Example({"features": [-1.0, 3.0]}, {"activations": [-0.5, 0.75]}),
    samples=signed("features"),
)
def softsign(features: Any) -> Any:
    """x / (1 + |x|) of each number."""
    return rounded(lambda x: x / (1 + np.abs(x)), features)


@softsign.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    below = ops.Square(x=ops.AddV2(x=ops.Abs(x=x.features), y=1.0))
    return {"features": ops.RealDiv(x=g.activations, y=below)}
