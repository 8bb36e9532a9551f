"""Measure training steps of a graph that TensorFlow has saved: here, and in TensorFlow's session.

    python benchmarks/saved_graph.py                 1,000 steps of a wide & deep model, three times each
    python benchmarks/saved_graph.py --batch 512     with larger batches

Both run the same nodes from the same GraphDef, on as many threads as they like. The losses of both are compared. No
number is a threshold: machines differ.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from rich.console import Console
from rich.table import Table

from gradbag.graph import ClientSession, ResultCache, load_graphdef

v1 = tf.compat.v1
USERS, ITEMS, WIDE, COLUMNS = 10_000, 50_000, 100_000, 16


def wide_and_deep() -> tuple[bytes, str, list[str]]:
    """The GraphDef, the loss, and the nodes that start and that train."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(7)
        with v1.variable_scope("", use_resource=True):
            user = v1.placeholder(tf.int64, [None], "user")
            item = v1.placeholder(tf.int64, [None], "item")
            numbers = v1.placeholder(tf.float32, [None, 8], "numbers")
            label = v1.placeholder(tf.float32, [None], "label")
            wide = v1.get_variable("wide", [WIDE, 1], initializer=v1.zeros_initializer())
            users = v1.get_variable("users", [USERS, COLUMNS])
            items = v1.get_variable("items", [ITEMS, COLUMNS])
            hidden = tf.concat(
                [tf.nn.embedding_lookup(users, user), tf.nn.embedding_lookup(items, item), numbers], axis=1
            )
            for place, units in enumerate([64, 32, 1]):
                width = hidden.shape[1]
                kernel = v1.get_variable(f"kernel_{place}", [width, units])
                bias = v1.get_variable(f"bias_{place}", [units], initializer=v1.zeros_initializer())
                hidden = tf.nn.bias_add(hidden @ kernel, bias)
                hidden = tf.nn.relu(hidden) if units > 1 else hidden
            crossed = (user * 7919 + item) % WIDE
            logits = tf.squeeze(hidden, 1) + tf.squeeze(tf.nn.embedding_lookup(wide, crossed), 1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, logits))
            step = v1.train.get_or_create_global_step()
            others = [v for v in v1.trainable_variables() if v is not wide]
            first = v1.train.FtrlOptimizer(0.1).minimize(loss, var_list=[wide])
            second = v1.train.AdagradOptimizer(0.05).minimize(loss, global_step=step, var_list=others)
            train, start = v1.group(first, second), v1.global_variables_initializer()
        return graph.as_graph_def().SerializeToString(), loss.name, [start.name, train.name]


def batches(count: int, size: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    return [
        {
            "user": rng.integers(0, USERS, size),
            "item": rng.integers(0, ITEMS, size),
            "numbers": rng.standard_normal((size, 8)).astype(np.float32),
            "label": rng.integers(0, 2, size).astype(np.float32),
        }
        for _ in range(count)
    ]


def here(saved: bytes, loss: str, nodes: list[str]) -> Callable[[dict[str, Any]], Any]:
    graph = load_graphdef(saved, outputs=[loss, *nodes])
    session = ClientSession(graph, ResultCache(0))
    session.run(run_only=nodes[:1])
    return lambda batch: session.run(batch, loss, run_only=nodes[1:])


def there(saved: bytes, loss: str, nodes: list[str]) -> Callable[[dict[str, Any]], Any]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(v1.GraphDef.FromString(saved), name="")
    session = v1.Session(graph=graph)
    session.run(nodes[0])
    return lambda batch: session.run([loss, nodes[1]], {f"{name}:0": value for name, value in batch.items()})[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3, help="take the least of so many times")
    options = parser.parse_args()
    saved = wide_and_deep()
    drawn = batches(options.steps, options.batch)
    times: dict[str, list[float]] = {"TensorFlow": [], "gradbag": []}
    losses: dict[str, list[float]] = {}
    for _ in range(options.repeat):
        for name, made in (("TensorFlow", there(*saved)), ("gradbag", here(*saved))):
            made(drawn[0])  # what is worked out once
            start = time.perf_counter()
            losses[name] = [float(made(batch)) for batch in drawn]
            times[name].append(time.perf_counter() - start)
    apart = np.abs(np.subtract(*losses.values())).max()
    table = Table(title=f"{options.steps} training steps, batches of {options.batch}", title_justify="left")
    for column in ("what", "seconds", "of TensorFlow's"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, found in times.items():
        table.add_row(name, f"{min(found):.2f}", f"{min(found) / min(times['TensorFlow']):.2f}")
    Console().print(table)
    Console().print(f"the losses differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
