"""Optimizers for the rows of a table that a batch has used, in place; rows that it has not used cost nothing.

    >>> import numpy as np
    >>> from gradbag import optim
    >>> table = np.ones((1000, 2), np.float32)
    >>> adagrad = optim.RowAdagrad(lr=0.5)
    >>> state = adagrad.init(table)
    >>> adagrad.apply(table, state, (np.array([7, 3, 7]), np.ones((3, 2), np.float32)))  # row 7 is there twice
    >>> table[[3, 4, 7]].tolist(), state["accumulator"][[3, 4, 7]].tolist(), state["step"]
    ([[0.5, 0.5], [1.0, 1.0], [0.5, 0.5]], [1.0, 0.0, 4.0], 1)

`step` goes from the gradient of combined bags to the table in one pass, so that no gradient of rows exists:

    >>> bags = (np.array([7, 3, 8]), np.array([0, 2]))  # ids and where bags begin: {7, 3} and {8}
    >>> adagrad.step(table, state, bags, np.ones((2, 2), np.float32), combiner="sum")

A table is an array of NumPy, a tensor of PyTorch or a variable of TensorFlow; see `gradbag.jax.row_step` for JAX and
`gradbag.torch.optim` for parameters. What an optimizer keeps is a plain dict of arrays beside the number of steps.
"""

from .optimizer import Optimizer
from .optimizers import SGD, Adagrad, Adam, AdamW, Ftrl, Momentum, RMSProp, RowAdagrad, RowAdam

RowWiseAdagrad = RowAdagrad  # as FBGEMM calls it

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Ftrl",
    "Momentum",
    "Optimizer",
    "RMSProp",
    "RowAdagrad",
    "RowAdam",
    "RowWiseAdagrad",
]
