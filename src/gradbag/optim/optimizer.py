"""What all optimizers have in common: settings that do not change, and a state that the caller keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from .. import adapters, errors
from ..ops.combiners import combiner_named
from ..ops.row_rules import RULES, Rule
from . import arrays
from .entries import of_bags, of_features, of_rows

State = dict[str, Any]


@dataclass(frozen=True)
class Optimizer:
    """How the rows of a table move; the settings of all of them.

    `lr` is a number, or a function from the number of the step, from 1 on, to one. `weight_decay` draws rows to zero:
    as a part of the loss, or with `decoupled=True` by a share of the row of its own. Rows decay when they are touched;
    with `decay="lazy"` they then make up for the steps that they have missed, as if all rows had decayed in every step
    (at the present rate, and see `catch_up`), for which the decay must be decoupled.
    """

    lr: float | Callable[[Any], Any]
    weight_decay: float = field(default=0.0, kw_only=True)
    decoupled: bool = field(default=False, kw_only=True)
    decay: str = field(default="touched", kw_only=True)

    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        if not callable(self.lr):
            self._check("lr", 0.0)
        self._check("weight_decay", 0.0)
        self._check_choice("decay", "touched", "lazy")
        if self.decay == "lazy" and not self.decoupled:
            raise errors.unfit(type(self).__name__, "decay", "'touched' where decoupled is False", "'lazy'")
        if self.decoupled and not self.rule.decays:
            raise errors.unfit(type(self).__name__, "decoupled", "False: it has no weight decay", "True")

    # ------------------------------------------------------------------ settings that equal those of other libraries
    @classmethod
    def torch(cls, lr: Any, **settings: Any) -> Self:
        """Equal to PyTorch's optimizer for sparse gradients, by its defaults."""
        return cls._like("torch", lr, settings)

    @classmethod
    def tensorflow(cls, lr: Any, **settings: Any) -> Self:
        """Equal to TensorFlow's op for sparse gradients, by the defaults of its optimizer."""
        return cls._like("tensorflow", lr, settings)

    @classmethod
    def fbgemm(cls, lr: Any, **settings: Any) -> Self:
        """Equal to FBGEMM's optimizer of table-batched bags, by its defaults."""
        return cls._like("fbgemm", lr, settings)

    @classmethod
    def _like(cls, library: str, lr: Any, settings: dict[str, Any]) -> Self:
        if library not in cls.presets:
            known = ", ".join(cls.presets) or "none"
            raise errors.unfit(cls.__name__, "preset", f"one of those that it has ({known})", library)
        return cls(lr, **{**cls.presets[library], **settings})

    # ------------------------------------------------------------------ what it does
    def init(self, table: Any) -> State:
        """What the optimizer keeps of a table, before the first step: a dict of arrays, and the number of steps."""
        home = home_of(table)
        state = {"step": home.counter()}
        for kept in self.rule.states:
            state[kept.name] = home.full(table, kept.per_row, self.initial(kept.name))
        if self.is_lazy:
            state["last"] = home.full(table, True, 0, "int64")
        return state

    def apply(self, table: Any, state: State, row_grad: Any) -> None:
        """Move the rows that a gradient names, in place; what belongs to one row is added up first.

        `row_grad` is a `RowGrad`, a sparse tensor of PyTorch, `tf.IndexedSlices`, or a pair of indices and rows.
        """
        home_of(table).run(self, table, state, of_rows(self, row_grad))

    def step(self, table: Any, state: State, bags: Any, grad: Any, combiner: str = "mean") -> None:
        """Move the rows that bags have picked, in place, given the gradient of the combined rows.

        `bags` has `ids`, `offsets` and perhaps `weights`, or is a tuple of them. The same as `apply` with the compact
        gradient of the look-up, without making it.
        """
        name = combiner_named(type(self).__name__, combiner).name
        home_of(table).run(self, table, state, of_bags(self, bags, grad, name))

    def step_many(
        self,
        tables: Sequence[Any],
        states: Sequence[State],
        bags: Any,
        grad: Any,
        combiner: str = "mean",
        feature_tables: Sequence[int] = (),
    ) -> None:
        """The steps of many tables in one call, given the gradient of what GroupedEmbeddingBag has made of them.

        `bags` is as in `step`, with a row of offsets for each feature; `feature_tables` tells the table of each, if
        not every table has one feature. The tables have made equally many steps.
        """
        function = type(self).__name__
        name = combiner_named(function, combiner).name
        if self.is_lazy:
            raise errors.unfit(function, "decay", "'touched' for many tables", "'lazy'")
        if not tables or len(states) != len(tables):
            raise errors.unfit(function, "states", f"one for each of the tables, {len(tables)}", str(len(states)))
        steps = {int(state["step"]) for state in states}
        if len(steps) > 1:
            raise errors.unfit(function, "states", "of tables that have made equally many steps", str(sorted(steps)))
        entries = of_features(self, bags, grad, name, tuple(feature_tables))
        home_of(tables[0]).run_many(self, tables, states, entries)

    def catch_up(self, table: Any, state: State, indices: Any = None) -> None:
        """With `decay="lazy"`, let rows decay that have missed steps: those that are named, or all of them.

        Called with the ids of a batch before they are looked up, it makes a lazy decay exact; called once at the end,
        it leaves a table that has decayed everywhere.
        """
        if self.is_lazy:
            home = home_of(table)
            every = np.arange(table.shape[0]) if indices is None else indices
            home.catch_up(self, table, state, every, state["step"])

    # ------------------------------------------------------------------ what differs
    @property
    def rule(self) -> Rule:
        """The rule by which rows move."""
        return RULES[self.rule_name]

    @property
    def rule_name(self) -> str:
        raise NotImplementedError

    def initial(self, state: str) -> float:
        """What a state is before the first step."""
        return 0.0

    def numbers(self, step: Any) -> dict[str, Any]:
        """The numbers that the rule takes in some step."""
        named = {name: getattr(self, name) for name in self.rule.numbers if hasattr(self, name)}
        return {**named, "learning_rate": self.rate(step)}

    @property
    def attrs(self) -> dict[str, Any]:
        return {attr.name: getattr(self, attr.name) for attr in self.rule.attrs}

    # ------------------------------------------------------------------ for those who run it
    @property
    def is_lazy(self) -> bool:
        return self.decay == "lazy" and self.weight_decay > 0

    def rate(self, step: Any) -> Any:
        return self.lr(step) if callable(self.lr) else self.lr

    def decay_rate(self, step: Any) -> Any:
        """The share of a row that a step takes away."""
        return self.rate(step) * self.weight_decay

    def inputs(self, step: Any) -> dict[str, Any]:
        """The numbers of a call, those of its decay among them."""
        numbers = self.numbers(step)
        if self.weight_decay and not self.decoupled:
            numbers["l2"] = self.weight_decay
        elif self.weight_decay and not self.is_lazy:
            numbers["decay"] = self.decay_rate(step)
        return numbers

    def kept(self, state: State) -> dict[str, Any]:
        """The arrays of a state, in the order of the rule."""
        wanted = [kept.name for kept in self.rule.states] + (["last"] if self.is_lazy else [])
        missing = [name for name in ("step", *wanted) if name not in state]
        if missing:
            raise errors.unfit(type(self).__name__, "state", f"what `init` has made, with {missing[0]!r}", "another")
        return {name: state[name] for name in wanted}

    # ------------------------------------------------------------------ checks
    def _check(self, name: str, low: float, below: float = math.inf) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
            raise errors.wrong_type(type(self).__name__, name, ["a number"], type(value).__name__)
        if not low <= value < below:
            raise errors.unfit(type(self).__name__, name, f"in [{low:g}, {below:g})", str(value))

    def _check_choice(self, name: str, *allowed: str) -> None:
        value = getattr(self, name)
        if value not in allowed:
            raise errors.unfit(type(self).__name__, name, "one of " + ", ".join(map(repr, allowed)), repr(value))


for _name in ("init", "apply", "step", "step_many", "catch_up"):
    setattr(getattr(Optimizer, _name), "autograph_info__", {})  # noqa: B010  # TensorFlow does not rewrite them then


def home_of(table: Any) -> Any:
    """The module that runs steps on such a table: `arrays`, or the one of its framework."""
    kind: Any = type(table)
    return _home(kind)


@cache  # a step of ten rows should cost little more than its kernel
def _home(kind: type) -> Any:
    adapter = adapters.adapter_of(kind)
    return arrays if adapter is None else import_module(f"{adapter.__name__}.optim")
