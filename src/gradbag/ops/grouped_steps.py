"""Steps of optimizers on the rows of many tables in one call: the rules of `row_rules.py`, one op more for each.

Tables and states are lists, which are changed in place; nothing is before all ids of all tables were checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..dtypes import INDEX
from ..spec import Arg, Example, Kernel, Reject, op, snake_case, titled
from . import grouped
from .bags import scatter_bags_compact
from .combiners import COMBINERS
from .embedding_bag import COMBINER, IDS, WEIGHTS
from .grouped_embedding_bag import FEATURE_TABLES, GRAD, OFFSETS
from .grouped_embedding_bag import REJECTS as BAG_REJECTS
from .grouped_samples import groups
from .optim import BAG_EXAMPLE, FLOATING, moved_rows, names_of, numbers_of, step_settings, taking
from .row_rules import RULES, TABLE_BEFORE, Rule
from .samples import Inputs, Rng, values

TABLES = Arg("tables", "T", "rows# columns#", "The tables whose rows move.", many=True, updates=True)


def _declare(rule: Rule) -> None:
    states = [
        Arg(
            s.name,
            "T",
            "rows#" if s.per_row else "rows# columns#",
            f"{s.doc} One for each table.",
            many=True,
            updates=True,
        )
        for s in rule.states
    ]
    inputs = [TABLES, *states, GRAD, IDS, OFFSETS, WEIGHTS, *numbers_of(rule)]
    attrs = [COMBINER, *rule.attrs, FEATURE_TABLES]
    updated = ["tables", *[s.name for s in rule.states]]
    one_table: dict[str, Any] = dict(BAG_EXAMPLE)
    ids, starts = one_table["ids"], one_table["offsets"]
    # Two tables that are those of the example of one, and that get the same.
    entries = {
        "grad": [row + row for row in one_table["grad"]],
        "ids": ids + ids,
        "offsets": [starts, [start + len(ids) for start in starts]],
    }
    before = {name: [one, one] for name, one in zip(updated, [TABLE_BEFORE, *rule.before], strict=True)}
    after = {name: [one, one] for name, one in zip(updated, rule.after, strict=True)}

    @op(
        rule.grouped_op,
        inputs=inputs,
        outputs=[],
        attrs=attrs,
        types={"T": FLOATING, "Tidx": INDEX, "Toffsets": INDEX},
        kernel=Kernel(f"{snake_case(rule.name)}_grouped", scratch=("n",) * 6, settings=names_of(attrs)),
        example=Example({**before, **entries, **rule.numbers, "combiner": "sum"}, {}, after=after),
        samples=lambda rng: _steps(rng, rule),
        rejects=[
            Reject(
                {"ids": [2, 0, 3, 2, *ids]}, r"ids\[2\] == 3 out of range \[0, 3\); the rows of the table of feature 0"
            ),
            Reject(
                {"ids": [*ids, 2, -1, 0, 2]},
                r"ids\[5\] == -1 out of range \[0, 3\); the rows of the table of feature 1",
            ),
            Reject({"offsets": [[0, 3, 3], [4, 3, 7]]}, r"offsets\[1, 1\] == 3 follows 4"),
            Reject({"grad": [[1.0], [2.0], [3.0]]}, r"grad has shape \[3, 1\], which must have the 4 columns"),
            *[reject for reject in BAG_REJECTS if set(reject.change) <= {"weights", "feature_tables"}],
        ],
    )
    @titled(
        rule.grouped_op,
        "Move the rows of many tables that bags have picked, in place; g is a row's gradient, as in "
        f"GroupedEmbeddingBagGrad.\n\n{rule.formula}",
    )
    @taking([arg.name for arg in inputs], [attr.name for attr in attrs])
    def step(*given: Any, combiner: str, feature_tables: Any, **settings: Any) -> Any:
        lists, (grad, ids, offsets, weights, *numbers) = given[: len(updated)], given[len(updated) :]
        shapes = [table.shape for table in lists[0]]
        moved = []
        entries = grouped.entries_of_tables(grad, ids, offsets, weights, shapes, feature_tables)
        for number, of_table in enumerate(entries):
            g, touched = scatter_bags_compact(*of_table, shapes[number][0], COMBINERS[combiner])
            moved.append(moved_rows(rule, g, touched, [some[number] for some in lists], numbers, settings))
        return [new for some in zip(*moved, strict=True) for new in some]

    @step.shapes
    def _(tables: Any, *given: Any, feature_tables: Any, **settings: Any) -> Any:
        grad, _, offsets = given[len(states) : len(states) + 3]
        columns = [None if table.shape is None else table.shape[1] for table in tables]
        grouped.checked_shapes(columns, offsets, feature_tables, grad)
        return []


def _steps(rng: Rng, rule: Rule) -> Iterator[Inputs]:
    for number, group in enumerate(groups(rng)):
        each = [step_settings(rng, rule, number, rows, (columns,)) for rows, columns in group.shapes]
        lists = {name: [first[name] for first, _ in each] for name in each[0][0]}
        lists = {"tables": lists.pop("table"), **lists}
        entries = {"grad": values(rng, group.offsets.shape[1], group.width), **group.entries()}
        yield {**lists, **entries, "weights": group.weights, **each[0][1], **group.settings}


for _rule in RULES.values():
    _declare(_rule)
