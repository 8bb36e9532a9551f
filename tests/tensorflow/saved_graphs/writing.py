"""How a graph is saved with what it was given and what it answered: a folder for each.

`graph.pb` or `saved_model/`, `case.json` (what to run before, what to feed and fetch, how often, how exactly the
answers are wanted), `feeds_STEP.npz` and `wanted_STEP.npz`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

STEPS = 20
Make = Callable[[Path], None]
MADE: dict[str, Make] = {}
v1 = tf.compat.v1


def graph(make: Make) -> Make:
    """A graph that is named for the function that makes it."""
    MADE[make.__name__] = make
    return make


def write(
    where: Path, given: Sequence[Mapping[str, Any]], answers: Sequence[Sequence[Any]], /, *, exact: bool, **case: Any
) -> None:
    """`given` and `answers` have an entry for each step; what is exact must agree in every bit."""
    (where / "case.json").write_text(json.dumps({"steps": len(given), "exact": exact, **case}))
    for step, (feeds, wanted) in enumerate(zip(given, answers, strict=True)):
        np.savez(where / f"feeds_{step}.npz", **{str(i): _plain(feeds[name]) for i, name in enumerate(case["feeds"])})
        np.savez(where / f"wanted_{step}.npz", **{str(i): _plain(value) for i, value in enumerate(wanted)})


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    return array.astype("S") if array.dtype.kind == "O" else array


def frozen(where: Path, function: Any, *given: Any, exact: bool = True, dynamic: bool = True) -> None:
    """A function with its variables as constants, and what it answers."""
    arrays = [np.asarray(g) for g in given]
    specs = [
        tf.TensorSpec([None, *a.shape[1:]] if dynamic and a.ndim else a.shape, tf.as_dtype(a.dtype), f"x{i}")
        for i, a in enumerate(arrays)
    ]
    concrete = tf.function(function).get_concrete_function(*specs)
    constant = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    (where / "graph.pb").write_bytes(constant.graph.as_graph_def().SerializeToString())
    names = [t.name for t in constant.inputs]
    fed = dict(zip(names, arrays, strict=True)) if len(names) == len(arrays) else _by_spec(names, arrays)
    answers = tf.nest.flatten(concrete(*[tf.constant(a) for a in arrays]), expand_composites=True)
    fetches = [t.name for t in constant.outputs]
    write(where, [fed], [[a.numpy() for a in answers]], feeds=list(fed), fetches=fetches, exact=exact)


def frozen_with_frames(where: Path, build: Callable[..., Any], *given: Any) -> None:
    """A graph of TensorFlow 1 whose loops are cycles of Enter, Merge, Switch, NextIteration and Exit; frozen."""
    arrays = [np.asarray(g) for g in given]
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as made, v1.Session() as session:
            v1.set_random_seed(7)
            places = [v1.placeholder(tf.as_dtype(a.dtype), a.shape, f"x{i}") for i, a in enumerate(arrays)]
            results = tf.nest.flatten(build(*places))
            session.run(v1.global_variables_initializer())
            answers = session.run(results, dict(zip(places, arrays, strict=True)))
            names = [result.op.name for result in results]
            constant = v1.graph_util.convert_variables_to_constants(session, made.as_graph_def(), names)
    finally:
        v1.enable_control_flow_v2()
    assert {"Enter", "Exit", "NextIteration", "LoopCond"} <= {node.op for node in constant.node}
    (where / "graph.pb").write_bytes(constant.SerializeToString())
    fed = {place.name: array for place, array in zip(places, arrays, strict=True)}
    write(where, [fed], [answers], feeds=list(fed), fetches=[result.name for result in results], exact=False)


def _by_spec(names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    """TensorFlow leaves out what a function does not read."""
    return {name: arrays[int(name.partition(":")[0][1:])] for name in names}


def trained(
    where: Path,
    build: Callable[[dict[str, Any]], tuple[Any, Any]],
    batches: Sequence[Mapping[str, Any]],
    *,
    resource: bool,
    exact: bool = False,
) -> None:
    """A graph of TensorFlow 1: `build(placeholders)` gives the loss and the op that trains."""
    with tf.Graph().as_default() as made, v1.Session() as session:
        v1.set_random_seed(7)
        with v1.variable_scope("", use_resource=resource):
            places = {
                name: v1.placeholder(
                    tf.as_dtype(np.asarray(v).dtype), [None, *np.shape(v)[1:]] if np.ndim(v) else [], name
                )
                for name, v in batches[0].items()
            }
            loss, train = build(places)
            first = v1.group(v1.global_variables_initializer(), v1.tables_initializer())
        (where / "graph.pb").write_bytes(made.as_graph_def(add_shapes=True).SerializeToString())
        session.run(first)
        losses = []
        for batch in batches:
            value, _ = session.run([loss, train], {places[name]: v for name, v in batch.items()})
            losses.append([value])
    feeds = [{places[name].name: v for name, v in batch.items()} for batch in batches]
    run_only = [train.name.partition(":")[0]]
    write(
        where,
        feeds,
        losses,
        feeds=list(feeds[0]),
        fetches=[loss.name],
        exact=exact,
        init=[first.name],
        run_only=run_only,
    )


def saved(
    where: Path, module: Any, signature: Any, batches: Sequence[Mapping[str, Any]], *, exact: bool = False
) -> None:
    """A saved model whose signature is called step after step."""
    specs = {
        name: tf.TensorSpec([None, *np.shape(v)[1:]], tf.as_dtype(np.asarray(v).dtype), name)
        for name, v in batches[0].items()
    }
    function = signature.get_concrete_function(**specs)
    tf.saved_model.save(module, str(where / "saved_model"), signatures=function)
    loaded = tf.saved_model.load(str(where / "saved_model"))
    serving = loaded.signatures["serving_default"]
    wanted = []
    for batch in batches:
        answer = serving(**{name: tf.constant(v) for name, v in batch.items()})
        names = sorted(answer)
        wanted.append([answer[name].numpy() for name in names])
    write(where, batches, wanted, feeds=list(batches[0]), fetches=names, exact=exact, saved_model=True)
