"""The optimizers; each is its settings, and the numbers that its rule takes in a step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .. import errors
from .optimizer import Optimizer


@dataclass(frozen=True)
class SGD(Optimizer):
    """A row moves against its gradient: `row -= lr * g`."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"torch": {}, "tensorflow": {}, "fbgemm": {}}

    @property
    def rule_name(self) -> str:
        return "Sgd"


@dataclass(frozen=True)
class Momentum(Optimizer):
    """Steps add up: `m = momentum * m + g; row -= lr * m`, for rows that are touched."""

    momentum: float = 0.9
    nesterov: bool = False

    presets: ClassVar[dict[str, dict[str, Any]]] = {"tensorflow": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("momentum", 0.0)

    @property
    def rule_name(self) -> str:
        return "Momentum"


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Steps become smaller where gradients were large: `a += g * g; row -= lr * g / (sqrt(a) + epsilon)`."""

    epsilon: float = 1e-10
    initial_accumulator: float = 0.0

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "torch": {"epsilon": 1e-10},
        "tensorflow": {"epsilon": 1e-7, "initial_accumulator": 0.1},
        "fbgemm": {"epsilon": 1e-8},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("epsilon", 0.0)
        self._check("initial_accumulator", 0.0)

    @property
    def rule_name(self) -> str:
        return "Adagrad"

    def initial(self, state: str) -> float:
        return self.initial_accumulator


@dataclass(frozen=True)
class RowAdagrad(Adagrad):
    """Adagrad with one number a row: `a += mean(g * g); row -= lr / (sqrt(a) + epsilon) * g`."""

    epsilon: float = 1e-8

    presets: ClassVar[dict[str, dict[str, Any]]] = {"fbgemm": {"epsilon": 1e-8}}

    @property
    def rule_name(self) -> str:
        return "RowWiseAdagrad"


@dataclass(frozen=True)
class Adam(Optimizer):
    """Running means of gradients and of their squares, for rows that are touched.

    `bias_correction="global"` counts the steps of the table, "row" those of each row, which keeps one number more.
    `epsilon` is added to the root of the corrected square; with `epsilon_hat=True` to that of the square itself, as
    TensorFlow and PyTorch's SparseAdam do.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    bias_correction: str = field(default="global", kw_only=True)
    epsilon_hat: bool = field(default=False, kw_only=True)

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "torch": {"epsilon": 1e-8, "epsilon_hat": True},
        "tensorflow": {"epsilon": 1e-7, "epsilon_hat": True},
        "fbgemm": {"epsilon": 1e-8},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("beta1", 0.0, 1.0)
        self._check("beta2", 0.0, 1.0)
        self._check("epsilon", 0.0)
        self._check_choice("bias_correction", "global", "row")
        if self.epsilon_hat and self.bias_correction == "row":
            raise errors.unfit(type(self).__name__, "epsilon_hat", "False where bias_correction is 'row'", "True")

    @property
    def rule_name(self) -> str:
        return "Adam" if self.bias_correction == "global" else "CountedAdam"

    def numbers(self, step: Any) -> dict[str, Any]:
        numbers = super().numbers(step)
        if self.bias_correction == "global":
            root = _missing(self.beta2, step) ** 0.5
            numbers["learning_rate"] = numbers["learning_rate"] * root / _missing(self.beta1, step)
            numbers["epsilon"] = self.epsilon if self.epsilon_hat else self.epsilon * root
        return numbers


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose weight decay is a share of the row, `lr * weight_decay`, and no part of the gradient."""

    weight_decay: float = field(default=0.01, kw_only=True)
    decoupled: bool = field(default=True, kw_only=True)

    presets: ClassVar[dict[str, dict[str, Any]]] = {"torch": {"epsilon": 1e-8}, "fbgemm": {"epsilon": 1e-8}}


@dataclass(frozen=True)
class RowAdam(Adam):
    """Adam with one mean of squares a row."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"fbgemm": {"epsilon": 1e-8}}

    @property
    def rule_name(self) -> str:
        return "RowWiseAdam" if self.bias_correction == "global" else "RowWiseCountedAdam"


@dataclass(frozen=True)
class RMSProp(Optimizer):
    """Gradients over the root of their running mean square, with momentum, for rows that are touched."""

    rho: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-7
    initial_square: float = 0.0

    presets: ClassVar[dict[str, dict[str, Any]]] = {"tensorflow": {"epsilon": 1e-7}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("rho", 0.0, 1.0)
        self._check("momentum", 0.0)
        self._check("epsilon", 0.0)
        self._check("initial_square", 0.0)

    @property
    def rule_name(self) -> str:
        return "RmsProp"

    def initial(self, state: str) -> float:
        return self.initial_square if state == "square" else 0.0


@dataclass(frozen=True)
class Ftrl(Optimizer):
    """Follow the regularized leader: rows are exactly zero until their gradients add up to more than `l1`.

    `l2` is a part of its own rule; it has no `weight_decay`.
    """

    l1: float = 0.0
    l2: float = 0.0
    l2_shrinkage: float = 0.0
    initial_accumulator: float = 0.1

    presets: ClassVar[dict[str, dict[str, Any]]] = {"tensorflow": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("l1", "l2", "l2_shrinkage", "initial_accumulator"):
            self._check(name, 0.0)
        if self.weight_decay:
            raise errors.unfit("Ftrl", "weight_decay", "0; see l2 and l2_shrinkage", str(self.weight_decay))

    @property
    def rule_name(self) -> str:
        return "Ftrl"

    def initial(self, state: str) -> float:
        return self.initial_accumulator if state == "accumulator" else 0.0

    def numbers(self, step: Any) -> dict[str, Any]:
        return {**super().numbers(step), "l2_strength": self.l2}


def _missing(beta: float, step: Any) -> Any:
    """1 - beta**step, also where the step is an array of JAX, which may have no more than 32 bits."""
    if not beta or not hasattr(step, "__array_namespace__"):
        return 1 - beta**step
    return -step.__array_namespace__().expm1(step * math.log(beta))
