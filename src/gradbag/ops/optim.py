"""Steps of optimizers on the rows of a table, which is changed in place with what the optimizer keeps.

Every rule (`row_rules.py`) makes two ops: one takes rows of a gradient, the other the gradient of what bags were
combined into, so that rows of a gradient never exist. Both add up first what belongs to one row, entry after entry
from zero on, and then apply the rule once to each row that is named. Rows that are not named stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..spec import Arg, Attr, Example, Kernel, Reject, op, snake_case, titled
from .bags import scatter_bags_compact
from .combiners import COMBINERS
from .embedding_bag import COMBINER, GRAD, IDS, OFFSETS, WEIGHTS
from .embedding_bag import REJECTS as BAG_REJECTS
from .pooling import check_indices
from .row_rules import NUMBERS, RULES, TABLE_BEFORE, Array, Rule, power, with_decay
from .samples import Inputs, Rng, offset_bags, values

FLOATING = ("float32", "float64")
TABLE = Arg("table", "T", "rows *inner", "The table whose rows move.", updates=True)
INDICES = Arg("indices", "Tidx", "n", "The row of the table that each row of the gradient belongs to.")
ROWS = Arg("grad", "T", "n *inner", "Rows of the gradient.")
DECAYS = ("l2", "decay")
ROW_EXAMPLE = {"indices": [2, 0, 2], "grad": [[1.0, 2.0], [2.0, 4.0], [3.0, 0.0]]}
BAG_EXAMPLE = {"grad": [[1.0, 2.0], [9.0, 9.0], [3.0, 0.0]], "ids": [2, 0, 0, 2], "offsets": [0, 3, 3]}


def _declare(rule: Rule) -> None:
    states = [Arg(s.name, "T", s.shape, s.doc, updates=True) for s in rule.states]
    numbers = numbers_of(rule)
    before = dict(zip(["table", *[s.name for s in rule.states]], [TABLE_BEFORE, *rule.before], strict=True))
    after = dict(zip(before, rule.after, strict=True))

    def declare(name: str, entries: Sequence[Arg], attrs: Sequence[Attr], gradient: Any, doc: str, **rest: Any) -> None:
        inputs = [TABLE, *states, *entries, *numbers]
        example = rest.pop("example")

        @op(
            name,
            inputs=inputs,
            outputs=[],
            attrs=attrs,
            example=Example({**before, **example, **rule.numbers, **rest.pop("settings", {})}, {}, after=after),
            **rest,
        )
        @titled(name, f"{doc}\n\n{rule.formula}")
        @taking([arg.name for arg in inputs], [attr.name for attr in attrs])
        def _(*given: Any, **settings: Any) -> Any:
            updated, rest = given[: 1 + len(states)], given[1 + len(states) :]
            g, touched = gradient(len(updated[0]), *rest[: len(entries)], **settings)
            chosen = {attr.name: settings[attr.name] for attr in rule.attrs}
            return moved_rows(rule, g, touched, updated, rest[len(entries) :], chosen)

    declare(
        rule.row_op,
        [INDICES, ROWS],
        rule.attrs,
        _summed,
        "Move rows of a table against their gradient, in place; g is the sum of the rows of `grad` of one index.",
        types={"T": FLOATING, "Tidx": INDEX},
        kernel=Kernel(f"{snake_case(rule.name)}_rows", scratch=("n",) * 4, settings=names_of(rule.attrs)),
        example=ROW_EXAMPLE,
        samples=lambda rng: _row_steps(rng, rule),
        rejects=[
            Reject({"indices": [2, 3, 1]}, r"indices\[1\] == 3 out of range \[0, 3\)"),
            Reject({"grad": [[1.0, 2.0]]}, r"grad must have shape \[n \*inner\] with n=3, inner=\[2\]; got \[1, 2\]"),
            Reject({"learning_rate": [0.5]}, r"learning_rate must have shape \[\]; got \[1\]"),
        ],
    )
    bag_attrs = [COMBINER, *rule.attrs]
    declare(
        rule.bag_op,
        [GRAD, IDS, OFFSETS, WEIGHTS],
        bag_attrs,
        _of_bags,
        "Move the rows of a table that bags have picked, in place; g is a row's gradient, as EmbeddingBagGrad has it.",
        types={"T": FLOATING, "Tidx": INDEX, "Toffsets": INDEX},
        kernel=Kernel(f"{snake_case(rule.name)}_bags", scratch=("n",) * 6, settings=names_of(bag_attrs)),
        example=BAG_EXAMPLE,
        settings={"combiner": "sum"},
        samples=lambda rng: _bag_steps(rng, rule),
        rejects=[
            Reject({"ids": [2, 0, 3, 2]}, r"ids\[2\] == 3 out of range \[0, 3\)"),
            Reject({"ids": [2, -1, 3, 2]}, r"ids\[1\] == -1 out of range \[0, 3\)"),
            *[reject for reject in BAG_REJECTS if "ids" not in reject.change],
        ],
    )


def numbers_of(rule: Rule) -> list[Arg]:
    """The numbers that a step takes, those of its decay at last."""
    numbers = [Arg(name, "T", "", NUMBERS[name]) for name in rule.numbers]
    decays = [Arg(name, "T", "", f"{NUMBERS[name]} Left out: none.", optional=True) for name in DECAYS]
    return numbers + (decays if rule.decays else [])


def names_of(attrs: Sequence[Attr]) -> tuple[str, ...]:
    return tuple(attr.name for attr in attrs)


def taking(inputs: Sequence[str], attrs: Sequence[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a function that takes anything the parameters that it would have if written out."""

    def entitle(body: Callable[..., Any]) -> Callable[..., Any]:
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in inputs]
        body.__signature__ = Signature(  # type: ignore[attr-defined]
            [*parameters, *[Parameter(name, Parameter.KEYWORD_ONLY) for name in attrs]]
        )
        return body

    return entitle


# ------------------------------------------------------------------ what the ops mean
def _summed(rows: int, indices: Array, grad: Array, **_: Any) -> tuple[Array, Array]:
    """The gradient of each row that is named, and which rows those are."""
    check_indices("indices", indices, rows)
    touched, positions = np.unique(indices, return_inverse=True)
    total = np.zeros((len(touched), *grad.shape[1:]), grad.dtype)
    np.add.at(total, positions, grad)  # in order
    return total, touched


def _of_bags(
    rows: int, grad: Array, ids: Array, offsets: Array, weights: Array | None, *, combiner: str, **_: Any
) -> tuple[Array, Array]:
    return scatter_bags_compact(grad, ids, offsets, weights, rows, COMBINERS[combiner])


def moved_rows(
    rule: Rule, g: Array, touched: Array, updated: Sequence[Array], numbers: Sequence[Any], attrs: dict[str, Any]
) -> list[Array]:
    """The table and the states with the rows that are touched as the rule wants them."""
    columns = int(np.prod(g.shape[1:], dtype=np.int64))
    g = g.reshape(len(touched), columns)
    per_row = [False, *[state.per_row for state in rule.states]]
    w, *states = (a[touched].reshape(len(touched), 1 if p else columns) for a, p in zip(updated, per_row, strict=True))
    if rule.decays:
        *numbers, l2, decay = numbers
        g, w = with_decay(rule, g, w, l2, decay)
    moved = rule.update(g, w, *states, *numbers, **attrs)
    answer = [array.copy() for array in updated]
    for new, rows in zip(answer, moved, strict=True):
        new[touched] = rows.reshape(len(touched), *new.shape[1:])
    return answer


# ------------------------------------------------------------------ samples
def step_settings(rng: Rng, rule: Rule, number: int, rows: int, inner: tuple[int, ...]) -> tuple[Inputs, Inputs]:
    """The table with states before the entries of a sample, and what comes after them."""
    states = {s.name: np.abs(values(rng, rows, *(() if s.per_row else inner))) for s in rule.states}
    numbers: Inputs = {name: abs(value - 0.1) + 0.05 for name, value in rule.numbers.items()}
    if rule.decays:
        l2, decay = [(None, None), (0.0, 0.0), (0.25, None), (None, 0.125), (0.25, 0.125)][number % 5]
        numbers |= {"l2": l2, "decay": decay}
    attrs = {attr.name: bool(number % 2) for attr in rule.attrs}
    return {"table": values(rng, rows, *inner), **states}, {**numbers, **attrs}


def _row_steps(rng: Rng, rule: Rule) -> Iterator[Inputs]:
    shapes: list[tuple[int, tuple[int, ...], int]] = [
        (5, (3,), 4),
        (1, (2,), 6),  # one row again and again
        (6, (2, 3), 6),
        (4, (), 3),
        (3, (70,), 5),
        (4, (2,), 0),
        (4, (0,), 3),
        (50, (17,), 300),
        (3000, (2,), 900),
    ]
    for number, (rows, inner, count) in enumerate(shapes):
        first, last = step_settings(rng, rule, number, rows, inner)
        yield {**first, "indices": rng.integers(0, rows, count), "grad": values(rng, count, *inner), **last}


def _bag_steps(rng: Rng, rule: Rule) -> Iterator[Inputs]:
    for number, (rows, inner, ids, offsets) in enumerate(offset_bags(rng)):
        weights = None if number % 2 else rng.uniform(0.5, 2.0, len(ids))
        first, last = step_settings(rng, rule, number, rows, inner)
        entries = {"grad": values(rng, len(offsets), *inner), "ids": ids, "offsets": offsets, "weights": weights}
        yield {**first, **entries, **last, "combiner": list(COMBINERS)[number % len(COMBINERS)]}


for _rule in RULES.values():
    _declare(_rule)


# ------------------------------------------------------------------ RowDecay
def _decays(rng: Rng) -> Iterator[Inputs]:
    for sample in _row_steps(rng, RULES["Sgd"]):
        last = rng.integers(0, 9, len(sample["table"]))
        yield {"table": sample["table"], "last": last, "indices": sample["indices"], "step": 6, "rate": 0.125}


@op(
    "RowDecay",
    inputs=[
        TABLE,
        Arg("last", "int64", "rows", "The step up to which each row has decayed.", updates=True),
        INDICES,
        Arg("step", "int64", "", "The step up to which the named rows shall decay."),
        Arg("rate", "T", "", "The share of a row that a step takes away."),
    ],
    outputs=[],
    types={"T": FLOATING, "Tidx": INDEX},
    kernel=Kernel("row_decay", scratch=("n",) * 4),
    example=Example(
        {"table": TABLE_BEFORE, "last": [1, 1, 0], "indices": [2, 0, 2], "step": 2, "rate": 0.5},
        {},
        after={"table": [[0.5, 1.0], [3.0, 4.0], [1.25, 1.5]], "last": [2, 1, 2]},
    ),
    samples=_decays,
    rejects=[
        Reject({"indices": [2, 3, 1]}, r"indices\[1\] == 3 out of range \[0, 3\)"),
        Reject({"step": [2]}, r"step must have shape \[\]; got \[1\]"),
    ],
)
def row_decay(table: Any, last: Any, indices: Any, step: Any, rate: Any) -> Any:
    """Make up for the decay that rows have missed since they were last looked at, in place, each row once.

    table[r] *= (1 - rate)**(step - last[r]), by a factor that is computed in double; last[r] = step. A row that is
    further already stays as it is.
    """
    check_indices("indices", indices, len(table))
    touched = np.unique(indices)
    behind = touched[last[touched] < step]
    missed = np.float64(step) - last[behind].astype(np.float64)
    factors = power(1 - np.float64(rate), missed).astype(table.dtype)
    answer, reached = table.copy(), last.copy()
    answer[behind] *= factors.reshape(-1, *[1] * (table.ndim - 1))
    reached[behind] = step
    return [answer, reached]
