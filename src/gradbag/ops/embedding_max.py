"""The largest of the rows of each bag, element by element, and its gradients.

Which entry won each element is an output of its own, so a gradient need not look at the rows again: it goes to the
winners and to nobody else. Picking what the winners have and adding to it are each other's transposes, which gives
every order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import Fault
from ..spec import Arg, Example, Kernel, Reject, op
from .bags import check_bags
from .embedding_bag import BAGS, GRAD, IDS, NUM_ROWS, OFFSETS, REJECTS, SPARSE_GRADIENT, TABLE, TYPES
from .pooling import Array, accumulator
from .samples import Inputs, Rng, offset_bags, values

NOBODY = -1
WINNERS = Arg("winners", "int64", "bags *inner", "Which entry won each element: its place in `ids`, or -1 for nobody.")
WINNER_TYPES = {name: TYPES[name] for name in ("T", "Tidx")}
WON = {"ids": [0, 2, 3, 1], "winners": [[0, 2], [-1, -1], [3, 3]]}
WON_REJECTS = [
    Reject({"ids": [0, 2, 9, 1]}, r"ids\[2\] == 9 out of range \[0, [45]\)"),
    Reject({"winners": [[0, 2], [-2, 9], [3, 3]]}, r"winners\[1\] == -2 out of range \[-1, 4\)"),
    Reject({"winners": [[0, 2], [-1, -1], [3, 4]]}, r"winners\[2\] == 4 out of range \[-1, 4\)"),
]
ROWS_REJECT = Reject({"num_rows": -1}, r"num_rows == -1 must not be negative")


# ------------------------------------------------------------------ what it means
def largest(table: Array, ids: Array, offsets: Array) -> tuple[Array, Array]:
    """Entry after entry of every bag challenges what the bag has; only what is greater wins."""
    check_bags(ids, table.shape[0], offsets)
    output = np.zeros((len(offsets), *table.shape[1:]), table.dtype)
    winners = np.full(output.shape, NOBODY, np.int64)
    lengths = np.diff(offsets, append=len(ids))
    for turn in range(int(lengths.max(initial=0))):
        bags = np.flatnonzero(lengths > turn)
        entries = offsets[bags] + turn
        rows = table[ids[entries]]
        wins = rows > output[bags] if turn else np.ones(rows.shape, bool)
        output[bags] = np.where(wins, rows, output[bags])
        winners[bags] = np.where(wins, entries.reshape(-1, *[1] * (rows.ndim - 1)), winners[bags])
    return output, winners


def check_range(argument: str, numbers: Array, low: int, high: int) -> None:
    """Raise the fault of the first number outside [low, high), which names its row."""
    bad = np.flatnonzero((numbers < low) | (numbers >= high))
    if len(bad):
        row = int(bad[0]) // (numbers.size // len(numbers))
        raise Fault("range", argument, (row,), int(numbers.flat[bad[0]]), low, high)


def places(ids: Array, winners: Array, rows: int) -> tuple[Array, tuple[Array, ...]]:
    """Which elements somebody won, and where in a table of so many rows each of those comes from."""
    check_range("ids", ids, 0, rows)
    check_range("winners", winners, NOBODY, len(ids))
    won = winners != NOBODY
    return won, (ids[winners[won]], *np.nonzero(won)[1:])


def add_to_winners(grad: Array, ids: Array, winners: Array, rows: int) -> Array:
    won, where = places(ids, winners, rows)
    total = np.zeros((rows, *grad.shape[1:]), accumulator(grad.dtype))
    np.add.at(total, where, grad[won].astype(total.dtype))  # bag after bag
    return total.astype(grad.dtype)


# ------------------------------------------------------------------ samples
def bag_maxima(rng: Rng) -> Iterator[Inputs]:
    for rows, inner, ids, offsets in offset_bags(rng):
        yield {"table": values(rng, rows, *inner), "ids": ids, "offsets": offsets}


def _won(rng: Rng) -> Iterator[tuple[int, Inputs]]:
    """What maxima leave behind, and winners at random: any bag may have an entry of another's."""
    for sample in bag_maxima(rng):
        winners = largest(**sample)[1]
        yield len(sample["table"]), {"ids": sample["ids"], "winners": winners}
        drawn = rng.integers(NOBODY, len(sample["ids"]), winners.shape)
        yield len(sample["table"]), {"ids": sample["ids"], "winners": drawn}


def picked_maxima(rng: Rng) -> Iterator[Inputs]:
    for rows, entries in _won(rng):
        yield {"table": values(rng, rows, *entries["winners"].shape[1:]), **entries}


def maximum_gradients(rng: Rng) -> Iterator[Inputs]:
    for rows, entries in _won(rng):
        yield {"grad": values(rng, *entries["winners"].shape), **entries, "num_rows": rows}


# ------------------------------------------------------------------ EmbeddingBagMax
@op(
    "EmbeddingBagMax",
    inputs=[TABLE, IDS, OFFSETS],
    attrs=[SPARSE_GRADIENT],
    outputs=[Arg("output", "T", "bags *inner", "One row per bag; zeros for an empty one."), WINNERS],
    types=TYPES,
    kernel=Kernel("bag_max", scratch=("bags",)),
    example=Example(
        {"table": [[8.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], **BAGS},
        {"output": [[8.0, 8.0], [0.0, 0.0], [3.0, 4.0]], "winners": WON["winners"]},
    ),
    samples=bag_maxima,
    rejects=[
        *REJECTS[:5],
        Reject({"table": 1.0}, r"table must have shape \[rows \*inner\]; got \[\]"),
        Reject({"offsets": []}, r"ids\[0\] belongs to no bag: offsets are empty"),
    ],
)
def embedding_bag_max(table: Any, ids: Any, offsets: Any, *, sparse_gradient: bool = False) -> Any:
    """Look up the rows of a table for bags of ids, and keep the largest of each bag, element by element.

    output[b] = maximum of table[ids[i]] over the entries i of bag b; the first of equals wins

    A NaN wins where it comes first in its bag, and never later, as in PyTorch.
    """
    return largest(table, ids, offsets)


@embedding_bag_max.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "ids": x.ids, "winners": y.winners, "num_rows": ops.rows(x.table)}
    if x.sparse_gradient:
        return {"table": ops.row_grad(ops.EmbeddingBagMaxGrad(**entries), x.table)}
    return {"table": ops.EmbeddingBagMaxDenseGrad(**entries)}


# ------------------------------------------------------------------ EmbeddingBagMaxPick
@op(
    "EmbeddingBagMaxPick",
    inputs=[TABLE, IDS, WINNERS],
    outputs=[Arg("output", "T", "bags *inner", "One row per bag.")],
    types=WINNER_TYPES,
    kernel=Kernel("bag_max_pick", scratch=("n",)),
    linear=["table"],
    example=Example(
        {"table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], **WON},
        {"output": [[1.0, 8.0], [0.0, 0.0], [3.0, 4.0]]},
    ),
    samples=picked_maxima,
    rejects=WON_REJECTS,
)
def embedding_bag_max_pick(table: Any, ids: Any, winners: Any) -> Any:
    """What the winners of EmbeddingBagMax have in a table: that in which its own move, for example.

    output[b] = table[ids[winners[b]]], element by element; zero where nobody won
    """
    won, where = places(ids, winners, len(table))
    output = np.zeros(winners.shape, table.dtype)
    output[won] = table[where]
    return output


@embedding_bag_max_pick.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"ids": x.ids, "winners": x.winners, "num_rows": ops.rows(x.table)}
    return {"table": ops.EmbeddingBagMaxDenseGrad(grad=g.output, **entries)}


# ------------------------------------------------------------------ EmbeddingBagMaxDenseGrad
GRAD_EXAMPLE = {"grad": [[4.0, 8.0], [9.0, 9.0], [2.0, 1.0]], **WON, "num_rows": 5}


@op(
    "EmbeddingBagMaxDenseGrad",
    inputs=[GRAD, IDS, WINNERS, NUM_ROWS],
    outputs=[Arg("output", "T", "rows *inner", "The gradient of the table; zeros where nothing won.")],
    types=WINNER_TYPES,
    kernel=Kernel("bag_max_grad", passes=("grad", "ids", "winners"), scratch=("n",) * 16),
    linear=["grad"],
    example=Example(GRAD_EXAMPLE, {"output": [[4.0, 0.0], [2.0, 1.0], [0.0, 0.0], [0.0, 8.0], [0.0, 0.0]]}),
    samples=maximum_gradients,
    rejects=[*WON_REJECTS, ROWS_REJECT],
)
def embedding_bag_max_dense_grad(grad: Any, ids: Any, winners: Any, num_rows: Any) -> Any:
    """The gradient of EmbeddingBagMax: give it all to the winners.

    output[ids[winners[b]]] += grad[b], element by element, for each bag b
    """
    return add_to_winners(grad, ids, winners, int(num_rows))


@embedding_bag_max_dense_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"grad": ops.EmbeddingBagMaxPick(table=g.output, ids=x.ids, winners=x.winners)}


# ------------------------------------------------------------------ EmbeddingBagMaxGrad
@op(
    "EmbeddingBagMaxGrad",
    inputs=[GRAD, IDS, WINNERS, NUM_ROWS],
    outputs=[
        Arg("output", "T", "unique *inner", "The gradient of the rows that were looked up."),
        Arg("sorted_unique_indices", "Tidx", "unique", "Which rows those are, ascending, each once."),
    ],
    types=WINNER_TYPES,
    kernel=Kernel("bag_max_grad_compact", scratch=("n",) * 16),
    linear=["grad"],
    example=Example(
        GRAD_EXAMPLE,
        {"output": [[4.0, 0.0], [2.0, 1.0], [0.0, 0.0], [0.0, 8.0]], "sorted_unique_indices": [0, 1, 2, 3]},
    ),
    samples=maximum_gradients,
    rejects=[*WON_REJECTS, ROWS_REJECT],
)
def embedding_bag_max_grad(grad: Any, ids: Any, winners: Any, num_rows: Any) -> Any:
    """The compact gradient of EmbeddingBagMax: only the rows that were looked up, and which rows those are."""
    check_range("ids", ids, 0, int(num_rows))
    touched, positions = np.unique(ids, return_inverse=True)
    return add_to_winners(grad, positions, winners, len(touched)), touched


@embedding_bag_max_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    ids = ops.positions(x.ids, y.sorted_unique_indices)
    return {"grad": ops.EmbeddingBagMaxPick(table=g.output, ids=ids, winners=x.winners)}
