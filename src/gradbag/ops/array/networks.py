"""Layers of networks: biases, soft maxima and the losses of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import FLOAT, INDEX, NUMBER
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from ..pooling import check_indices
from .array_samples import Rng
from .operands import nonzero
from .precision import rounded

FORMAT = Attr(
    "data_format", "NHWC", "Where the channels are: on the last axis, or with NCHW on the second.", "string",
    ("NHWC", "NCHW"),
)  # fmt: skip
LOGITS = Arg("logits", "T", "*outer classes", "A number for each class.")


def _place(argument: str, known: Known, data_format: str) -> int:
    assert known.shape is not None
    if len(known.shape) < 2:
        raise Fault("shape", argument, (), known.shape, hint="must have at least two axes")
    return 1 if data_format == "NCHW" else len(known.shape) - 1


def _biased(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, data_format in [((3, 4), "NHWC"), ((2, 1, 3), "NHWC"), ((0, 2), "NHWC"), ((2, 3, 2, 2), "NCHW")]:
        bias = shape[1] if data_format == "NCHW" else shape[-1]
        yield {"value": nonzero(rng, shape), "bias": nonzero(rng, (bias,)), "data_format": data_format}


# ------------------------------------------------------------------ BiasAdd
@op(
    "BiasAdd",
    inputs=[
        Arg("value", "T", "*shape", "Any array of at least two axes."),
        Arg("bias", "T", "channels", "A number for each channel."),
    ],
    outputs=[Arg("output", "T", "*shape", "Their sums.")],
    attrs=[FORMAT],
    types={"T": NUMBER},
    linear=["value", "bias"],
    example=Example({"value": [[1.0, 2.0], [3.0, 4.0]], "bias": [0.5, 1.0]}, {"output": [[1.5, 3.0], [3.5, 5.0]]}),
    samples=_biased,
    rejects=[Reject({"bias": [1.0]}, r"bias has shape \[1\].*2 channels of value")],
)  # fmt: skip
def bias_add(value: Any, bias: Any, data_format: str) -> Any:
    """Add a number to every channel."""
    behind = 0 if data_format == "NHWC" else value.ndim - 2
    return np.asarray(np.add(value, bias.reshape(-1, *[1] * behind)))


@bias_add.shapes
def _(value: Known, bias: Known, data_format: str) -> Any:
    if value.shape is None:
        return [None]
    channels = value.shape[_place("value", value, data_format)]
    if channels is not None and bias.shape is not None and bias.shape[0] not in (None, channels):
        raise Fault(
            "shape", "bias", (), bias.shape, hint=f"must be one number for each of the {channels} channels of value"
        )
    return [value.shape]


@bias_add.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"value": g.output, "bias": ops.BiasAddGrad(out_backprop=g.output, data_format=x.data_format)}


# ------------------------------------------------------------------ BiasAddGrad
def _summed(rng: Rng) -> Iterator[dict[str, Any]]:
    for drawn in _biased(rng):
        yield {"out_backprop": drawn["value"], "data_format": drawn["data_format"]}


@op(
    "BiasAddGrad",
    inputs=[Arg("out_backprop", "T", "*shape", "The gradient that comes in.")],
    outputs=[Arg("output", "T", "channels", "The gradient of the bias.")],
    attrs=[FORMAT],
    types={"T": NUMBER},
    linear=["out_backprop"],
    example=Example({"out_backprop": [[1.0, 2.0], [3.0, 4.0]]}, {"output": [4.0, 6.0]}),
    samples=_summed,
    rejects=[Reject({"out_backprop": [1.0]}, r"out_backprop has shape \[1\], which must have at least two axes")],
)
def bias_add_grad(out_backprop: Any, data_format: str) -> Any:
    """The gradient of the bias of BiasAdd: the sum of each channel."""
    place = 1 if data_format == "NCHW" else out_backprop.ndim - 1
    axes = tuple(axis for axis in range(out_backprop.ndim) if axis != place)
    if out_backprop.dtype.kind in "iu":
        return out_backprop.sum(axes, dtype=out_backprop.dtype)
    return rounded(lambda a: a.sum(axes), out_backprop)


@bias_add_grad.shapes
def _(out_backprop: Known, data_format: str) -> Any:
    if out_backprop.shape is None:
        return [(None,)]
    return [(out_backprop.shape[_place("out_backprop", out_backprop, data_format)],)]


@bias_add_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {
        "out_backprop": ops.BiasAdd(value=ops.ZerosLike(x=x.out_backprop), bias=g.output, data_format=x.data_format)
    }


# ------------------------------------------------------------------ Softmax
def _logits(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in [(3, 4), (2, 1, 3), (5,), (2, 0, 3)]:
        yield {"logits": nonzero(rng, shape)}


@op(
    "Softmax",
    inputs=[LOGITS],
    outputs=[Arg("softmax", "T", "*outer classes", "How likely each class is.")],
    types={"T": FLOAT},
    example=Example({"logits": [[0.0, 0.0], [0.0, 1.0]]}, {"softmax": [[0.5, 0.5], [0.26894143, 0.7310586]]}),
    samples=_logits,
    rejects=[Reject({"logits": 1.0}, r"logits must have shape \[\*outer classes\]")],
)
def softmax(logits: Any) -> Any:
    """The exponentials along the last axis, divided by their sum."""
    return rounded(_softmax, logits)


def _softmax(logits: Any) -> Any:
    if not logits.size:
        return logits
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


@softmax.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    weighed = ops.Mul(x=g.softmax, y=y.softmax)
    total = ops.Sum(input=weighed, axis=[-1], keep_dims=True)
    return {"logits": ops.Sub(x=weighed, y=ops.Mul(x=total, y=y.softmax))}


# ------------------------------------------------------------------ LogSoftmax
@op(
    "LogSoftmax",
    inputs=[LOGITS],
    outputs=[Arg("logsoftmax", "T", "*outer classes", "The logarithms of Softmax.")],
    types={"T": FLOAT},
    example=Example({"logits": [[0.0, 0.0]]}, {"logsoftmax": [[-0.6931472, -0.6931472]]}),
    samples=_logits,
    rejects=[Reject({"logits": 1.0}, r"logits must have shape \[\*outer classes\]")],
)
def log_softmax(logits: Any) -> Any:
    """The logarithm of Softmax, also where that is too small for a number."""
    return rounded(_log_softmax, logits)


def _log_softmax(logits: Any) -> Any:
    if not logits.size:
        return logits
    lowered = logits - logits.max(-1, keepdims=True)
    return lowered - np.log(np.exp(lowered).sum(-1, keepdims=True))


@log_softmax.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    total = ops.Sum(input=g.logsoftmax, axis=[-1], keep_dims=True)
    return {"logits": ops.Sub(x=g.logsoftmax, y=ops.Mul(x=ops.Softmax(logits=x.logits), y=total))}


# ------------------------------------------------------------------ SoftmaxCrossEntropyWithLogits
def _labelled(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, classes in [(3, 4), (1, 2), (0, 3)]:
        yield {"features": nonzero(rng, (rows, classes)), "labels": rng.uniform(0.1, 1.0, (rows, classes))}


LOSS = Arg("loss", "T", "rows", "The loss of each row.")
BACKPROP = Arg("backprop", "T", "rows classes", "The gradient of the losses with respect to the features.")


@op(
    "SoftmaxCrossEntropyWithLogits",
    inputs=[
        Arg("features", "T", "rows classes", "The logits: a number for each class of each row."),
        Arg("labels", "T", "rows classes", "How likely each class is in truth."),
    ],
    outputs=[LOSS, BACKPROP],
    types={"T": FLOAT},
    example=Example(
        {"features": [[0.0, 0.0]], "labels": [[1.0, 0.0]]}, {"loss": [0.6931472], "backprop": [[-0.5, 0.5]]}
    ),
    samples=_labelled,
    rejects=[Reject({"labels": [[1.0, 0.0, 0.0]]}, r"labels must have shape \[rows classes\]")],
)
def softmax_cross_entropy_with_logits(features: Any, labels: Any) -> Any:
    """The cross entropy between labels and the Softmax of features, and its gradient, which is needed next anyway."""
    loss = rounded(lambda f, t: -(t * _log_softmax(f)).sum(-1), features, labels)
    return loss, rounded(lambda f, t: _softmax(f) - t, features, labels)


@softmax_cross_entropy_with_logits.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    found = _pulled(ops, x, g, ops.Sum(input=x.labels, axis=[-1], keep_dims=True), x.labels)
    across = ops.Neg(x=ops.Mul(x=ops.ExpandDims(input=g.loss, axis=-1), y=ops.LogSoftmax(logits=x.features)))
    return {"features": found, "labels": ops.Sub(x=across, y=g.backprop)}


def _pulled(ops: Any, x: Any, g: Any, mass: Any, labels: Any) -> Any:
    """What both losses and both gradients say about the features."""
    likely = ops.Softmax(logits=x.features)
    slope = ops.Sub(x=ops.Mul(x=likely, y=mass), y=labels)
    through = ops.Mul(x=g.backprop, y=likely)
    curved = ops.Sub(x=through, y=ops.Mul(x=ops.Sum(input=through, axis=[-1], keep_dims=True), y=likely))
    return ops.AddV2(x=ops.Mul(x=ops.ExpandDims(input=g.loss, axis=-1), y=slope), y=curved)


# ------------------------------------------------------------------ SparseSoftmaxCrossEntropyWithLogits
def _numbered(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, classes in [(3, 4), (1, 2), (0, 3)]:
        yield {"features": nonzero(rng, (rows, classes)), "labels": rng.integers(0, classes, rows)}


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    inputs=[
        Arg("features", "T", "rows classes", "The logits: a number for each class of each row."),
        Arg("labels", "Tlabels", "rows", "The number of the true class of each row."),
    ],
    outputs=[LOSS, BACKPROP],
    types={"T": FLOAT, "Tlabels": INDEX},
    example=Example({"features": [[0.0, 0.0]], "labels": [0]}, {"loss": [0.6931472], "backprop": [[-0.5, 0.5]]}),
    samples=_numbered,
    rejects=[Reject({"labels": [2]}, r"labels\[0\] == 2 out of range \[0, 2\)")],
)
def sparse_softmax_cross_entropy_with_logits(features: Any, labels: Any) -> Any:
    """The same as SoftmaxCrossEntropyWithLogits where one class of each row is the true one."""
    return softmax_cross_entropy_with_logits.body(features, np.eye(features.shape[1], dtype=features.dtype)[labels])


@sparse_softmax_cross_entropy_with_logits.check
def _(features: Any, labels: Any) -> None:
    check_indices("labels", labels, features.shape[1])


@sparse_softmax_cross_entropy_with_logits.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    labels = ops.Sub(x=ops.Softmax(logits=x.features), y=y.backprop)  # one where the true class is, else zero
    return {"features": _pulled(ops, x, g, 1.0, ops.StopGradient(input=labels))}
