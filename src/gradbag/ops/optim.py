"""Steps of optimizers on the rows of a table: the table is changed in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..spec import Arg, Example, Kernel, Reject, op
from .pooling import check_indices
from .samples import row_steps


# ------------------------------------------------------------------ RowSgd
@op(
    "RowSgd",
    inputs=[
        Arg("table", "T", "rows *inner", "The table whose rows move.", updates=True),
        Arg("indices", "Tidx", "n", "The row of the table that each row of the gradient belongs to."),
        Arg("grad", "T", "n *inner", "Rows of the gradient."),
        Arg("learning_rate", "T", "", "How far to go."),
    ],
    outputs=[],
    types={"T": ("float32", "float64"), "Tidx": INDEX},
    kernel=Kernel("row_sgd", scratch=("n",)),
    example=Example(
        {
            "table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            "indices": [2, 0],
            "grad": [[10.0, 0.0], [0.0, 4.0]],
            "learning_rate": 0.5,
        },
        {},
        after={"table": [[1.0, 0.0], [3.0, 4.0], [0.0, 6.0]]},
    ),
    samples=row_steps,
    rejects=[
        Reject({"indices": [0, 3]}, r"indices\[1\] == 3 out of range \[0, 3\)"),
        Reject({"grad": [[1.0, 2.0]]}, r"grad must have shape \[n \*inner\] with n=2, inner=\[2\]; got \[1, 2\]"),
        Reject({"learning_rate": [0.5]}, r"learning_rate must have shape \[\]; got \[1\]"),
    ],
)
def row_sgd(table: Any, indices: Any, grad: Any, learning_rate: Any) -> Any:
    """Move rows of a table against their gradient, in place; rows that are not named stay as they are.

    table[indices[i]] -= learning_rate * grad[i], one after the other
    """
    check_indices("indices", indices, len(table))
    moved = table.copy()
    np.subtract.at(moved, indices, learning_rate * grad)
    return [moved]
