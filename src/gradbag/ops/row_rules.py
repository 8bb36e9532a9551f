"""What each optimizer does with the rows of a table that have a gradient: one table of rules, in plain NumPy.

A rule sees every row once: `g` is its summed gradient and `w` the row, both with a line for each row and one axis of
columns; a state is the same, or a line of one column where there is one number a row. Numbers are scalars of the
table's type. Every product, sum, root and quotient is rounded to that type, in the order that is written here, and
none is fused with another, so that a kernel can give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spec import Attr
from .bags import dot_bags

Array = np.ndarray[Any, Any]
Update = Callable[..., Sequence[Array]]  # (g, w, *states, *numbers, **attrs) to (w, *states)


@dataclass(frozen=True)
class State:
    """What an optimizer keeps beside the table: an array like it, or one number a row."""

    name: str
    doc: str
    per_row: bool = False

    @property
    def shape(self) -> str:
        return "rows" if self.per_row else "rows *inner"


@dataclass(frozen=True)
class Rule:
    """How the rows of a table move: a row of this table for each, and a functor in C++."""

    name: str
    update: Update
    formula: str
    states: Sequence[State]
    numbers: Mapping[str, float]  # with a value of each, for examples and tests
    before: Sequence[Any]  # an example: the states, and below the table and the states after the step
    after: Sequence[Any]
    attrs: Sequence[Attr] = ()
    decays: bool = True  # whether it takes `l2` and `decay`

    @property
    def row_op(self) -> str:
        """The name of the op that takes rows of a gradient."""
        return self.name if self.name.startswith("RowWise") else f"Row{self.name}"

    @property
    def bag_op(self) -> str:
        """The name of the op that takes the gradient of bags."""
        return f"EmbeddingBag{self.name}Step"

    @property
    def grouped_op(self) -> str:
        """The name of the op that takes the gradient of bags in many tables."""
        return f"Grouped{self.bag_op}"


NUMBERS = {
    "learning_rate": "How far to go.",
    "momentum": "How much of the last step is made again.",
    "epsilon": "What keeps the divisor away from zero.",
    "beta1": "How much of the mean of gradients stays.",
    "beta2": "How much of the mean of their squares stays.",
    "rho": "How much of the mean of squares stays.",
    "l1": "How large a sum of gradients must be to move a row away from zero.",
    "l2": "How strongly rows are drawn to zero, as a part of the loss: `l2 * row` is added to the gradient.",
    "l2_strength": "How strongly rows are drawn to zero.",
    "l2_shrinkage": "The same for the gradient alone, not for what is kept of it.",
    "decay": "The share of a row that is taken away before it moves; `learning_rate * weight_decay` makes it AdamW's.",
}


# ------------------------------------------------------------------ the updates
def sgd(g: Array, w: Array, learning_rate: Any) -> Sequence[Array]:
    return (w - learning_rate * g,)


def momentum_step(
    g: Array, w: Array, m: Array, learning_rate: Any, momentum: Any, *, nesterov: bool
) -> Sequence[Array]:
    m = momentum * m + g
    return w - learning_rate * (g + momentum * m if nesterov else m), m


def adagrad(g: Array, w: Array, a: Array, learning_rate: Any, epsilon: Any) -> Sequence[Array]:
    a = a + g * g
    return w - (learning_rate * g) / (np.sqrt(a) + epsilon), a


def row_wise_adagrad(g: Array, w: Array, a: Array, learning_rate: Any, epsilon: Any) -> Sequence[Array]:
    a = a + mean_square(g)
    return w - (learning_rate / (np.sqrt(a) + epsilon)) * g, a


def adam(
    g: Array, w: Array, m: Array, v: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Array]:
    return _adam(g, g * g, w, m, v, learning_rate, beta1, beta2, epsilon)


def row_wise_adam(
    g: Array, w: Array, m: Array, v: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Array]:
    return _adam(g, mean_square(g), w, m, v, learning_rate, beta1, beta2, epsilon)


def counted_adam(
    g: Array, w: Array, m: Array, v: Array, steps: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Array]:
    steps, learning_rate, epsilon = corrected(steps, learning_rate, beta1, beta2, epsilon)
    return *_adam(g, g * g, w, m, v, learning_rate, beta1, beta2, epsilon), steps


def row_wise_counted_adam(
    g: Array, w: Array, m: Array, v: Array, steps: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Array]:
    steps, learning_rate, epsilon = corrected(steps, learning_rate, beta1, beta2, epsilon)
    return *_adam(g, mean_square(g), w, m, v, learning_rate, beta1, beta2, epsilon), steps


def rms_prop(
    g: Array, w: Array, v: Array, m: Array, learning_rate: Any, rho: Any, momentum: Any, epsilon: Any
) -> Sequence[Array]:
    v = rho * v + (1 - rho) * (g * g)
    m = momentum * m + (learning_rate * g) / np.sqrt(v + epsilon)
    return w - m, v, m


def ftrl(
    g: Array, w: Array, a: Array, z: Array, learning_rate: Any, l1: Any, l2_strength: Any, l2_shrinkage: Any
) -> Sequence[Array]:
    n = a + g * g
    z = (z + (g + (2 * l2_shrinkage) * w)) - ((np.sqrt(n) - np.sqrt(a)) / learning_rate) * w
    q = np.sqrt(n) / learning_rate + 2 * l2_strength
    return np.where(np.abs(z) > l1, (np.where(z < 0, -l1, l1) - z) / q, w.dtype.type(0)), n, z


def _adam(
    g: Array, square: Array, w: Array, m: Array, v: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Array]:
    m = m + (1 - beta1) * (g - m)
    v = v + (1 - beta2) * (square - v)
    return w - (learning_rate * m) / (np.sqrt(v) + epsilon), m, v


def mean_square(g: Array) -> Array:
    """The mean of squares of each row; they are added in the lanes of EmbeddingBagWeightsGrad."""
    every = np.arange(len(g))
    mean: Array = dot_bags(g, g, every, every) / g.dtype.type(max(g.shape[1], 1))
    return mean[:, None]


def corrected(steps: Array, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any) -> tuple[Array, Array, Array]:
    """One step more for each row; and what Adam takes in place of its numbers, since a row has had so many steps.

    All of it is computed in double, and rounded once.
    """
    steps = steps + 1
    first, second = (1 - power(beta, steps) for beta in (beta1, beta2))
    root = np.sqrt(second)
    rates = np.float64(learning_rate) * root / first
    return steps, rates.astype(steps.dtype), (np.float64(epsilon) * root).astype(steps.dtype)


def power(base: Any, exponents: Array) -> Array:
    """Powers by the function of the C library: what NumPy has for whole arrays may differ in the last bit."""
    found = [np.float64(base) ** np.float64(exponent) for exponent in exponents.reshape(-1)]
    return np.array(found, np.float64).reshape(exponents.shape)


def with_decay(rule: Rule, g: Array, w: Array, l2: Any, decay: Any) -> tuple[Array, Array]:
    """What a rule that decays begins with; nothing happens where a number is left out or zero."""
    pulled = g if l2 is None or l2 == 0 else g + l2 * w
    return pulled, w if decay is None or decay == 0 else w - decay * w


# ------------------------------------------------------------------ the table
_MOMENTUM = State("momentum_buffer", "What earlier steps add up to.")
_ACCUMULATOR = State("accumulator", "The sum of squared gradients.")
_ROW_ACCUMULATOR = State("accumulator", "The sum of the mean squared gradient of each row.", per_row=True)
_MEAN = State("mean", "The running mean of gradients.")
_SQUARE = State("square", "The running mean of squared gradients.")
_ROW_SQUARE = State("square", "The running mean of the mean squared gradient of each row.", per_row=True)
_STEPS = State("steps", "How often each row has moved.", per_row=True)
_RATE = {"learning_rate": 0.5}
_ADAM = {**_RATE, "beta1": 0.5, "beta2": 0.5, "epsilon": 0.0}
_COUNTED = {**_ADAM, "beta2": 0.75}
_MEANS = [[2.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
_MEANS_AFTER = [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
_SQUARES_AFTER = [[16.0, 16.0], [0.0, 0.0], [16.0, 16.0]]
_AFTER_ADAM = [[0.75, 1.75], [3.0, 4.0], [4.75, 5.75]]
_AFTER_ADAGRAD = [[0.75, 1.5], [3.0, 4.0], [4.5, 5.75]]
# The example of every rule: what the rows 0 and 2 of the table get is [2, 4] and [4, 2].
TABLE_BEFORE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
_BIAS = "\nIts bias is the caller's to correct, by learning_rate and epsilon."
_COUNTED_BIAS = (
    "steps = steps + 1, and before that learning_rate *= sqrt(1 - beta2**steps) / (1 - beta1**steps),\n"
    "epsilon *= sqrt(1 - beta2**steps): every row has a bias of its own."
)
_ADAM_FORMULA = (
    "mean = mean + (1 - beta1) * (g - mean)\n"
    "square = square + (1 - beta2) * ({square} - square)\n"
    "row = row - learning_rate * mean / (sqrt(square) + epsilon)"
)

RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "Sgd",
            sgd,
            "row = row - learning_rate * g",
            [],
            _RATE,
            [],
            [[[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]]],
        ),
        Rule(
            "Momentum",
            momentum_step,
            "momentum_buffer = momentum * momentum_buffer + g\n"
            "row = row - learning_rate * momentum_buffer, or of g + momentum * momentum_buffer with nesterov",
            [_MOMENTUM],
            {**_RATE, "momentum": 0.5},
            [[[2.0, 2.0], [1.0, 1.0], [4.0, 2.0]]],
            [[[-0.5, -0.5], [3.0, 4.0], [2.0, 4.5]], [[3.0, 5.0], [1.0, 1.0], [6.0, 3.0]]],
            [Attr("nesterov", False, "Look ahead: go as if the next step were known.")],
        ),
        Rule(
            "Adagrad",
            adagrad,
            "accumulator = accumulator + g * g\nrow = row - learning_rate * g / (sqrt(accumulator) + epsilon)",
            [_ACCUMULATOR],
            {**_RATE, "epsilon": 0.0},
            [[[12.0, 0.0], [1.0, 1.0], [0.0, 12.0]]],
            [_AFTER_ADAGRAD, [[16.0, 16.0], [1.0, 1.0], [16.0, 16.0]]],
        ),
        Rule(
            "RowWiseAdagrad",
            row_wise_adagrad,
            "accumulator = accumulator + mean of g * g\nrow = row - learning_rate / (sqrt(accumulator) + epsilon) * g",
            [_ROW_ACCUMULATOR],
            {**_RATE, "epsilon": 0.0},
            [[6.0, 1.0, 6.0]],
            [_AFTER_ADAGRAD, [16.0, 1.0, 16.0]],
        ),
        Rule(
            "Adam",
            adam,
            _ADAM_FORMULA.format(square="g * g") + _BIAS,
            [_MEAN, _SQUARE],
            _ADAM,
            [_MEANS, [[28.0, 16.0], [0.0, 0.0], [16.0, 28.0]]],
            [_AFTER_ADAM, _MEANS_AFTER, _SQUARES_AFTER],
        ),
        Rule(
            "RowWiseAdam",
            row_wise_adam,
            _ADAM_FORMULA.format(square="mean of g * g") + _BIAS,
            [_MEAN, _ROW_SQUARE],
            _ADAM,
            [_MEANS, [22.0, 0.0, 22.0]],
            [_AFTER_ADAM, _MEANS_AFTER, [16.0, 0.0, 16.0]],
        ),
        Rule(
            "CountedAdam",
            counted_adam,
            _ADAM_FORMULA.format(square="g * g") + "\n" + _COUNTED_BIAS,
            [_MEAN, _SQUARE, _STEPS],
            _COUNTED,
            [_MEANS, [[20.0, 16.0], [0.0, 0.0], [16.0, 20.0]], [0.0, 0.0, 0.0]],
            [_AFTER_ADAM, _MEANS_AFTER, _SQUARES_AFTER, [1.0, 0.0, 1.0]],
        ),
        Rule(
            "RowWiseCountedAdam",
            row_wise_counted_adam,
            _ADAM_FORMULA.format(square="mean of g * g") + "\n" + _COUNTED_BIAS,
            [_MEAN, _ROW_SQUARE, _STEPS],
            _COUNTED,
            [_MEANS, [18.0, 0.0, 18.0], [0.0, 0.0, 0.0]],
            [_AFTER_ADAM, _MEANS_AFTER, [16.0, 0.0, 16.0], [1.0, 0.0, 1.0]],
        ),
        Rule(
            "RmsProp",
            rms_prop,
            "square = rho * square + (1 - rho) * g * g\n"
            "momentum_buffer = momentum * momentum_buffer + learning_rate * g / sqrt(square + epsilon)\n"
            "row = row - momentum_buffer",
            [_SQUARE, _MOMENTUM],
            {**_RATE, "rho": 0.5, "momentum": 0.5, "epsilon": 0.0},
            [[[28.0, 16.0], [0.0, 0.0], [16.0, 28.0]], [[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]]],
            [
                [[0.5, 1.5], [3.0, 4.0], [4.5, 5.5]],
                _SQUARES_AFTER,
                [[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]],
            ],
        ),
        Rule(
            "Ftrl",
            ftrl,
            "sum = accumulator + g * g\n"
            "linear = linear + g + 2 * l2_shrinkage * row - (sqrt(sum) - sqrt(accumulator)) / learning_rate * row\n"
            "row = (sign(linear) * l1 - linear) / (sqrt(sum) / learning_rate + 2 * l2_strength), or zero where\n"
            "linear is not beyond l1; accumulator = sum",
            [_ACCUMULATOR, State("linear", "The sum of gradients, less what the row stands for.")],
            {**_RATE, "l1": 1.0, "l2_strength": 0.0, "l2_shrinkage": 0.0},
            [[[0.0, 9.0], [0.0, 0.0], [9.0, 0.0]], [[-3.0, -2.0], [0.0, 0.0], [15.5, 19.0]]],
            [
                [[1.0, 0.5], [3.0, 4.0], [0.0, 0.5]],
                [[4.0, 25.0], [0.0, 0.0], [25.0, 4.0]],
                [[-5.0, -6.0], [0.0, 0.0], [-0.5, -3.0]],
            ],
            decays=False,
        ),
    )
}
