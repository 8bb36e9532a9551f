"""A tour in the terminal: the gradients the library is about, each beside the op it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradbag

from . import eager, raw_ops
from .terminal import Rows, Terminal

MOVIES = ["Alien", "Brazil", "Casablanca", "Duel", "Eraserhead"]
VIEWERS = ["Ann", "Ben", "Cem", "Dot"]


def main() -> None:
    terminal = Terminal()
    speed = "native kernels" if eager.available() else "NumPy bodies; the native kernels are not installed"
    terminal.heading(f"gradbag {gradbag.__version__}: sparse gradients, without the framework")
    terminal.text(
        f"Everything below is computed now, with the {speed}. A small recommender: five movies with two "
        "numbers each, four viewers with the movies they saw. Dot has seen none."
    )
    table = np.array([[1, 0], [0, 2], [3, 1], [1, 1], [2, 4]], np.float32)
    viewers = np.array([0, 0, 0, 1, 2, 2])
    movies = np.array([0, 2, 4, 1, 2, 3])
    watched = [(VIEWERS[v], MOVIES[m]) for v, m in zip(viewers, movies, strict=True)]
    terminal.beside([("table", ("movie", "x", "y"), _rows(MOVIES, table)), ("seen", ("viewer", "movie"), watched)])
    _mean(terminal, table, movies, viewers)
    _sqrt_n(terminal, table, movies, viewers)
    _fill(terminal, movies, viewers)
    _slice(terminal)
    _beyond(terminal, table, movies, viewers)
    terminal.heading("Where to go from here")
    terminal.table(
        ("command", "what it does"),
        [
            ("gradbag ops", "lists every op"),
            ("gradbag ops SparseSegmentMeanGrad", "shows one op's page"),
            ("python -c 'import gradbag; help(gradbag)'", "the same for functions"),
            ("make test-core", "runs the quick tests"),
        ],
    )


def _mean(terminal: Terminal, table: Any, movies: Any, viewers: Any) -> None:
    terminal.heading("1  SparseSegmentMean and SparseSegmentMeanGrad: the average of what was seen")
    entries = {"indices": movies, "segment_ids": viewers}
    pooled = raw_ops.SparseSegmentMeanWithNumSegments(data=table, **entries, num_segments=4)
    grad = np.array([[3, 6], [1, 1], [2, 4], [9, 9]], np.float32)
    back = raw_ops.SparseSegmentMeanGrad(grad=grad, **entries, output_dim0=5)
    terminal.beside(
        [
            ("taste", ("viewer", "x", "y"), _rows(VIEWERS, pooled)),
            ("its gradient, given", ("viewer", "x", "y"), _rows(VIEWERS, grad)),
            ("gradient of the table", ("movie", "x", "y"), _rows(MOVIES, back)),
        ]
    )
    terminal.text(
        "Ann saw three movies, so each gets a third of her gradient (3, 6): Alien gets (1, 2). Casablanca gets "
        "that and half of Cem's (2, 4). Dot's gradient goes nowhere: she has no movie to give it to."
    )


def _sqrt_n(terminal: Terminal, table: Any, movies: Any, viewers: Any) -> None:
    terminal.heading("2  SparseSegmentSqrtN and SparseSegmentSqrtNGrad: over the root")
    entries = {"indices": movies, "segment_ids": viewers}
    pooled = raw_ops.SparseSegmentSqrtN(data=table, **entries)
    grad = np.array([[3, 6], [1, 1], [2, 4]], np.float32)
    back = raw_ops.SparseSegmentSqrtNGrad(grad=grad, **entries, output_dim0=5)
    compact = raw_ops.SparseSegmentSqrtNGradV2(grad=grad, **entries, dense_output_dim0=5)
    names = [MOVIES[k] for k in compact.sorted_unique_indices]
    terminal.beside(
        [
            ("taste", ("viewer", "x", "y"), _rows(VIEWERS[:3], pooled)),
            ("gradient of the table", ("movie", "x", "y"), _rows(MOVIES, back)),
            ("only the rows in use (V2)", ("movie", "x", "y"), _rows(names, compact.output)),
        ]
    )
    terminal.text(
        "Ann's third became one over the root of three, 0.577. The compact form has the same bits; with a million "
        "movies and a thousand entries it is a thousand rows instead of a million."
    )


def _fill(terminal: Terminal, movies: Any, viewers: Any) -> None:
    terminal.heading("3  SparseFillEmptyRows and SparseFillEmptyRowsGrad: nobody is left out")
    weights = np.array([1, 2, 3, 4, 5, 6], np.float32)
    indices = np.stack([viewers, movies], 1)
    filled = raw_ops.SparseFillEmptyRows(indices=indices, values=weights, dense_shape=[4, 5], default_value=0.5)
    grad = np.arange(10, 80, 10, dtype=np.float32)
    back = raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=filled.reverse_index_map, grad_values=grad)
    names = [(VIEWERS[v], MOVIES[m]) for v, m in filled.output_indices]
    given = [(*n, _number(w), _number(g)) for n, w, g in zip(names, filled.output_values, grad, strict=True)]
    entries = [(VIEWERS[v], MOVIES[m], _number(g)) for v, m, g in zip(viewers, movies, back.d_values, strict=True)]
    terminal.beside(
        [
            ("filled, and a gradient", ("viewer", "movie", "weight", "gradient"), given),
            ("gradient of the weights", ("viewer", "movie", "gradient"), entries),
            ("of the default", ("gradient",), [(_number(back.d_default_value),)]),
        ]
    )
    terminal.text(
        f"Dot was empty ({filled.empty_row_indicator.tolist()}) and got {MOVIES[0]} with the default weight 0.5; the "
        f"gradient {_number(grad[-1])} of that entry is the default's, the others go back to where they came from."
    )


def _slice(terminal: Terminal) -> None:
    terminal.heading("4  SparseSlice and SparseSliceGrad: a window of a sparse tensor")
    indices = np.array([[0, 0], [0, 2], [1, 1], [2, 3], [3, 2]])
    values = np.array([1, 2, 3, 4, 5], np.float32)
    cut = raw_ops.SparseSlice(indices=indices, values=values, shape=[4, 4], start=[0, 1], size=[3, 3])
    grad = np.array([10, 20, 30], np.float32)
    back = raw_ops.SparseSliceGrad(
        backprop_val_grad=grad, input_indices=indices, input_start=[0, 1], output_indices=cut.output_indices
    )
    terminal.beside(
        [
            ("tensor of shape 4, 4", ("place", "value"), _entries(indices, values)),
            (
                "window at 0, 1 of size 3, 3",
                ("place", "value"),
                _entries(cut.output_indices, cut.output_values),
            ),
            ("a gradient", ("gradient",), [(_number(g),) for g in grad]),
            ("gradient of the tensor", ("place", "gradient"), _entries(indices, back)),
        ]
    )
    terminal.text("Three entries lie in the window and get their gradients back; the others had no influence: zero.")


def _beyond(terminal: Terminal, table: Any, movies: Any, viewers: Any) -> None:
    terminal.heading("5  Beyond TensorFlow: empty batches, higher orders, forward mode")
    nothing = np.array([], np.int32)
    empty = raw_ops.SparseSegmentMeanGrad(
        grad=np.zeros((0, 2), np.float32), indices=nothing, segment_ids=nothing, output_dim0=2
    )

    def loss(t: Any) -> Any:
        return (gradbag.segment_mean(t, movies, viewers, sparse_gradient=True) ** 2).sum()

    def steepness(t: Any) -> Any:
        return (gradbag.grad(loss)(t).rows ** 2).sum()

    first, second = gradbag.grad(loss)(table), gradbag.grad(steepness)(table)
    _, slope = gradbag.jvp(loss, [table], [np.ones_like(table)])
    names = [MOVIES[k] for k in first.indices]
    terminal.beside(
        [
            ("an empty batch's gradient", ("x", "y"), [tuple(map(_number, row)) for row in empty]),
            ("gradient of a loss", ("movie", "x", "y"), _rows(names, first.rows)),
            ("gradient of its squared norm", ("movie", "x", "y"), _rows(names, second.rows)),
            ("the loss along (1, 1)", ("slope",), [(_number(slope),)]),
        ]
    )
    terminal.text(
        "Zeros where TensorFlow returns uninitialised memory, a compact gradient of a compact gradient, and a "
        "directional derivative without a backward pass. Bad input is told where it is bad:"
    )
    try:
        raw_ops.SparseSegmentMean(data=table, indices=[0, 7, 2], segment_ids=[0, 0, 1])
    except gradbag.InvalidArgumentError as problem:
        terminal.verbatim(f"\nInvalidArgumentError: {problem}\n", style="red")


def _rows(names: Sequence[str], values: Any) -> Rows:
    return [(name, *map(_number, row)) for name, row in zip(names, values, strict=True)]


def _entries(places: Any, values: Any) -> Rows:
    return [(", ".join(map(str, p)), _number(v)) for p, v in zip(places.tolist(), values, strict=True)]


def _number(value: Any) -> str:
    return f"{float(value):.4g}"
