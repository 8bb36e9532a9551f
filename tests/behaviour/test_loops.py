"""Loops of graphs: the functional While, its derivatives, its variables, its lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import errors
from gradbag.graph import ClientSession, Scope, add_symbolic_gradients, load_graphdef

pytest.importorskip("google.protobuf")

# A loop of x = step(x) while a counter is below n, in the text form of a GraphDef.
TYPE = 'attr {{ key: "{0}" value {{ type: {1} }} }}'


def arg(name: str, kind: str) -> str:
    return f'{{ name: "{name}" type: {kind} }}'


def node(name: str, op: str, *inputs: str, **types: str) -> str:
    read = " ".join(f'input: "{text}"' for text in inputs)
    return f'name: "{name}" op: "{op}" {read} ' + " ".join(TYPE.format(*item) for item in types.items())


def constant(name: str, value: int) -> str:
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{}} int_val: {value} }}"
    return node(name, "Const", dtype="DT_INT32") + f' attr {{ key: "value" value {{ {tensor} }} }}'


def loop(
    body: list[str], *, returned: str = "y", kinds: tuple[str, ...] = (), outer: str = "", given: str = ""
) -> bytes:
    """A graph with the placeholders n and x and a While of (counter, n, x, ...)."""
    every = ("DT_INT32", "DT_INT32", "DT_DOUBLE", *kinds)
    names = ["i", "n", "x", *(f"extra{k}" for k in range(len(kinds)))]
    args = " ".join("input_arg " + arg(name, kind) for name, kind in zip(names, every, strict=True))
    outs = " ".join(f"output_arg {arg(f'o_{name}', kind)}" for name, kind in zip(names, every, strict=True))
    made = {"i": "next:z:0", "n": "n", "x": f"{returned}"} | {name: name for name in names[3:]}
    returns = " ".join(f'ret {{ key: "o_{name}" value: "{made[name]}" }}' for name in names)
    inner = "".join(
        f" node_def {{ {text} }}"
        for text in [constant("one", 1), node("next", "AddV2", "i", "one:output:0", T="DT_INT32"), *body]
    )
    waits = 'control_ret { key: "done" value: "done" }' if any('name: "done"' in text for text in body) else ""
    listed = " ".join(f"type: {kind}" for kind in every)
    function = 'attr {{ key: "{0}" value {{ func {{ name: "{0}_of_it" }} }} }}'
    return f"""
        node {{ {node("n", "Placeholder", dtype="DT_INT32")} }}
        node {{ {node("x", "Placeholder", dtype="DT_DOUBLE")} }}
        node {{ {constant("zero", 0)} }}
        {outer}
        node {{ name: "loop" op: "While" input: "zero" input: "n" input: "x" {given}
          attr {{ key: "T" value {{ list {{ {listed} }} }} }} {function.format("cond")} {function.format("body")} }}
        node {{ {node("y", "Identity", "loop:2", T="DT_DOUBLE")} }}
        library {{
          function {{ signature {{ name: "cond_of_it" {args} output_arg {arg("go", "DT_BOOL")} }}
            node_def {{ {node("less", "Less", "i", "n", T="DT_INT32")} }} ret {{ key: "go" value: "less:z:0" }} }}
          function {{ signature {{ name: "body_of_it" {args} {outs} }} {inner} {returns} {waits} }}
        }}""".encode()


CUBE = [node("square", "Mul", "x", "x", T="DT_DOUBLE"), node("cube", "Mul", "square:z:0", "x", T="DT_DOUBLE")]


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_loop_goes_round_and_differentiates_to_any_order(rounds: int) -> None:
    graph = load_graphdef(loop(CUBE, returned="cube:z:0"))
    session, scope = ClientSession(graph), Scope.over(graph)
    x = session.find("x")
    wanted = [session.find("y")]
    for _ in range(3):
        wanted.append(add_symbolic_gradients(scope, [wanted[-1]], [x], unconnected="none")[0])
    at, power = np.array([0.9, -1.1]), 3**rounds
    got = session.run({"n": np.int32(rounds), "x": at}, wanted)
    factor = 1.0
    for order, value in enumerate(got):
        np.testing.assert_allclose(value, factor * at ** max(power - order, 0), 1e-12, err_msg=str(order))
        factor *= power - order


def test_the_number_of_rounds_may_change_from_run_to_run() -> None:
    graph = load_graphdef(loop(CUBE, returned="cube:z:0"))
    session = ClientSession(graph)
    (slope,) = add_symbolic_gradients(Scope.over(graph), [session.find("y")], [session.find("x")])
    for rounds in (2, 0, 1, 3, 4, 5, 2):
        (got,) = session.run({"n": np.int32(rounds), "x": np.array(0.9)}, [slope])
        np.testing.assert_allclose(got, 3**rounds * 0.9 ** (3**rounds - 1), 1e-12)


HELD = 'attr { key: "shape" value { shape {} } }'
COUNTED = {
    "kinds": ("DT_RESOURCE",),
    "outer": f"node {{ {node('held', 'VarHandleOp', dtype='DT_DOUBLE')} {HELD} }}",
    "given": 'input: "held"',
}


def test_a_loop_changes_variables_when_the_whole_run_has_succeeded() -> None:
    body = [node("done", "AssignAddVariableOp", "extra0", "x", dtype="DT_DOUBLE"), *CUBE]
    graph = load_graphdef(loop(body, returned="cube:z:0", **COUNTED))  # type: ignore[arg-type]
    session = ClientSession(graph)
    session.set_variable("held", 10.0)
    feeds = {"n": np.int32(3), "x": np.array(2.0)}
    session.run(feeds, ["y"])
    assert session.variable("held") == 10 + 2 + 2**3 + 2**9
    with pytest.raises(errors.UnsupportedTypeError, match=r"While has no gradient where .*AssignAddVariableOp"):
        add_symbolic_gradients(Scope.over(graph), [session.find("y")], [session.find("x")])


def test_a_loop_reads_variables_and_they_have_gradients() -> None:
    body = [
        node("read", "ReadVariableOp", "extra0", dtype="DT_DOUBLE"),
        node("times", "Mul", "x", "read:value:0", T="DT_DOUBLE"),
    ]
    graph = load_graphdef(loop(body, returned="times:z:0", **COUNTED))  # type: ignore[arg-type]
    session = ClientSession(graph)
    session.set_variable("held", 3.0)
    found = add_symbolic_gradients(Scope.over(graph), [session.find("y")], [session.find("held"), session.find("x")])
    got = session.run({"n": np.int32(4), "x": np.array(2.0)}, ["y", *found])
    assert [float(value) for value in got] == [2 * 3**4, 4 * 2 * 3**3, 3**4]


def test_a_loop_without_an_end_can_be_cancelled() -> None:
    class Soon:
        left = 1000

        def is_set(self) -> bool:
            self.left -= 1
            return self.left < 0

    session = ClientSession(load_graphdef(loop(CUBE, returned="cube:z:0")))
    with pytest.raises(gradbag.graph.CancelledError):
        session.run({"n": np.int32(2**31 - 1), "x": np.array(0.5)}, ["y"], cancel=Soon())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([node("odd", "Frobnicate", "x"), node("odder", "Jump", "x")], r"Frobnicate \(node 'loop/odd'\); Jump"),
        (
            [node("wrong", "Cast", "x", SrcT="DT_DOUBLE", DstT="DT_FLOAT")],
            r"input\[2\] must be float64 as it comes in; got float32",
        ),
    ],
    ids=["all that is missing", "another dtype"],
)
def test_what_is_wrong_with_a_body_is_said(body: list[str], told: str) -> None:
    returned = {"odd": "x", "wrong": "wrong:y:0"}[body[0].split('"')[1]]
    with pytest.raises(errors.Error, match=told):
        load_graphdef(loop(body, returned=returned))


def test_a_loop_is_neither_saved_nor_drawn_and_says_so() -> None:
    graph = load_graphdef(loop(CUBE, returned="cube:z:0"))
    for write in (gradbag.graph.to_graphdef_bytes, gradbag.graph.page.from_graph):
        with pytest.raises(errors.UnsupportedTypeError, match="node 'loop': While"):
            write(graph)


def test_lists_say_what_is_wrong() -> None:
    from gradbag.graph.lists import List, ops, run

    def call(name: str, *values: Any, **attrs: Any) -> Any:
        return run(ops[name], values, attrs)

    filled = List([np.ones(2), None], None)
    kind: dict[str, Any] = {"element_dtype": "float64"}
    assert call("TensorListStack", filled, -1, **kind, num_elements=-1)[0].tolist() == [[1, 1], [0, 0]]
    for name, values, more, told in [
        ("TensorListGetItem", (filled, 2, -1), {"Tshape": "int32"}, r"index == 2 out of range \[0, 2\)"),
        ("TensorListPopBack", (List([], None), -1), {}, "has no member to take"),
        ("TensorListPopBack", (List([None], None), -1), {}, "its shape is not known"),
        ("TensorListStack", (filled, -1), {"num_elements": 3}, "must be 3"),
        ("TensorListStack", (List([np.ones(2), np.ones(3)], None), -1), {"num_elements": -1}, "that of the first"),
        ("TensorListReserve", (-1, -2), {"shape_type": "int32"}, "num_elements == -2 must not be negative"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=told):
            call(name, *values, **kind, **more)


# ------------------------------------------------------------------ frames
def framed(*, entered: str = "loop", stop: str = "LoopCond", leaves: str = "switch_x") -> bytes:
    """TensorFlow 1's form of a loop: x is doubled until it is not below n, which is the same in every round."""
    frame = f' attr {{ key: "frame_name" value {{ s: "{entered}" }} }}'
    nodes = [
        node("n", "Placeholder", dtype="DT_DOUBLE"),
        node("x", "Placeholder", dtype="DT_DOUBLE"),
        node("enter_n", "Enter", "n", T="DT_DOUBLE") + frame + ' attr { key: "is_constant" value { b: true } }',
        node("enter_x", "Enter", "x", T="DT_DOUBLE") + frame,
        node("merge_x", "Merge", "enter_x", "next_x", T="DT_DOUBLE"),
        node("less", "Less", "merge_x", "enter_n", T="DT_DOUBLE"),
        node("go", stop, "less"),
        node("switch_x", "Switch", "merge_x", "go", T="DT_DOUBLE"),
        node("inside", "Identity", "switch_x:1", T="DT_DOUBLE"),
        node("twice", "AddV2", "inside", "inside", T="DT_DOUBLE"),
        node("next_x", "NextIteration", "twice", T="DT_DOUBLE"),
        node("out", "Exit", leaves, T="DT_DOUBLE"),
        node("y", "Identity", "out", T="DT_DOUBLE"),
    ]
    return "".join(f"node {{ {text} }}\n" for text in nodes).encode()


def test_a_frame_is_a_loop_with_derivatives() -> None:
    graph = load_graphdef(framed())
    session = ClientSession(graph)
    assert session.run({"n": 100.0, "x": 3.0}, ["y"])[0] == 192.0
    assert session.run({"n": 1.0, "x": 3.0}, ["y"])[0] == 3.0
    (found,) = add_symbolic_gradients(Scope.over(graph), [graph.node("y").outputs[0]], [graph.node("x").outputs[0]])
    assert session.run({"n": 100.0, "x": 3.0}, [found])[0] == 64.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop": "Identity"}, "the frame 'loop' is no loop: it has 0 nodes LoopCond, and must have one"),
        ({"leaves": "switch_x:1"}, "the Exit 'out' must read the first output of a Switch of the loop"),
    ],
)
def test_a_frame_that_is_no_loop_is_refused(change: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        load_graphdef(framed(**change))
