"""What a loader of graph files must refuse, each with an error that names the node; and that nothing is written."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag.graph import ClientSession, Graph, Scope, load_graphdef, ops, save_graphdef, to_graphdef_bytes
from gradbag.graph.graphdef.messages import message
from gradbag.graph.graphdef.tensors import Budget, read_tensor

from .graph_files import Maker, set_attr

Refusal = gradbag.InvalidArgumentError


def assert_refused(data: Any, message: str, kind: type[gradbag.Error] = Refusal, **options: Any) -> None:
    with pytest.raises(kind) as refused:
        load_graphdef(data, **options)
    assert re.search(message, str(refused.value)), refused.value
    assert len(str(refused.value)) < 3000


# ------------------------------------------------------------------ ops
def test_all_unknown_ops_are_told_at_once() -> None:
    made = Maker()
    made.const()
    for number in range(25):
        made.node(f"read{number}", "ReadFile", "c")
    made.node("save", "SaveV2", "missing")
    made.node("open/it", "PyFunc", "c", "also")
    assert_refused(
        made.bytes,
        r"gradbag does not have: ReadFile \(nodes 'read0', .*'read19' and 5 more\); SaveV2 \(node 'save'\); "
        r"PyFunc \(node 'open/it'\)\. ",
    )


# ------------------------------------------------------------------ constants
CONSTANTS: list[tuple[dict[str, Any], str]] = [
    ({"shape": (10**10,), "float_val": [1.0]}, r"need 37\.3 GiB, but only 1\.0 GiB may be used \(constant_limit\)"),
    ({"shape": (2, 3), "tensor_content": b"\0" * 23}, r"takes 24 bytes of tensor_content; got 23"),
    ({"shape": (2, 3), "tensor_content": b"\0" * 25}, r"takes 24 bytes of tensor_content; got 25"),
    ({"shape": (0,), "tensor_content": b"\0"}, r"takes 0 bytes of tensor_content; got 1"),
    ({"shape": (2,), "dtype": "bool", "tensor_content": b"\1\2"}, r"bytes other than 0 and 1"),
    ({"shape": (1,), "dtype": "string", "tensor_content": b"\1a"}, r"strings in tensor_content"),
    ({"shape": (2,), "float_val": [1.0, 2.0, 3.0]}, r"shape \[2\] takes 2 numbers in float_val; got 3"),
    ({"shape": (0,), "float_val": [1.0]}, r"takes 0 numbers in float_val; got 1"),
    ({"shape": (2,), "dtype": "complex64", "scomplex_val": [1.0]}, r"takes 4 numbers in scomplex_val; got 1"),
    ({"shape": (1,), "int_val": [1]}, r"is float32, but its values stand in int_val"),
    ({"shape": (1,), "float_val": [1.0], "tensor_content": b"\0" * 4}, r"both in tensor_content and in float_val"),
    ({"dtype": "uint8", "int_val": [256]}, r"values beyond 0 to 255"),
    ({"dtype": "float16", "half_val": [65536]}, r"values beyond 0 to 65535"),
    ({"shape": (-1,), "float_val": [1.0]}, r"unknown shape"),
    ({"shape": (2, -2), "float_val": [1.0]}, r"has the size -2"),
    ({"shape": (1,) * 255, "float_val": [1.0]}, r"has 255 axes, more than 254"),
    ({"shape": (1,) * 65, "float_val": [1.0]}, r"has 65 axes, more than 64"),
    ({"shape": (2**40, 2**40), "float_val": [1.0]}, r"more elements than can be counted"),
    ({"shape": (2**40, 0, 2**40), "float_val": [1.0]}, r"more elements than can be counted"),
]


@pytest.mark.parametrize(("fields", "message"), CONSTANTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_constant_is_refused(fields: dict[str, Any], message: str) -> None:
    made = Maker()
    made.const("bad", **fields)
    kind = gradbag.ResourceExhaustedError if "GiB" in message else Refusal
    assert_refused(made.bytes, r"^node 'bad': .*" + message, kind)


def test_a_constant_of_unknown_rank_is_refused() -> None:
    made = Maker()
    made.const("bad").tensor_shape.unknown_rank = True
    assert_refused(made.bytes, "^node 'bad': the tensor has an unknown shape")


@pytest.mark.parametrize(("number", "name"), [(0, "DT_INVALID"), (20, "DT_RESOURCE"), (21, "DT_VARIANT"), (99, "99")])
def test_a_dtype_that_is_none_is_refused_even_without_elements(number: int, name: str) -> None:
    made = Maker()
    tensor = made.const("bad", shape=(0,))
    tensor.dtype = number
    assert_refused(made.bytes, f"^node 'bad': gradbag has no dtype .*{name}", gradbag.UnsupportedTypeError)
    made.proto.node[0].attr[0].value.type = number
    assert_refused(made.bytes, f"^node 'bad': gradbag has no dtype .*{name}", gradbag.UnsupportedTypeError)


def test_a_constant_must_have_the_dtype_that_its_node_says() -> None:
    made = Maker()
    made.const("bad", float_val=[1.0])
    made.proto.node[0].attr[0].value.type = 3
    assert_refused(made.bytes, "^node 'bad': Const: value must be int32; got float32", gradbag.UnsupportedTypeError)


def test_constants_share_one_budget() -> None:
    made = Maker()
    for number in range(3):
        made.const(f"c{number}", shape=(100,), float_val=[1.0])
    assert len(load_graphdef(made.bytes, constant_limit=1200)) == 3
    assert_refused(
        made.bytes, "^node 'c2': .* only 1.2 KiB may be used", gradbag.ResourceExhaustedError, constant_limit=1199
    )


def test_short_lists_repeat_their_last_value_and_empty_ones_are_zeros() -> None:
    made = Maker()
    made.const("short", shape=(4,), float_val=[1.0, 2.0])
    made.const("none", shape=(2,), dtype="int64")
    made.const("half", shape=(3,), dtype="float16", half_val=[0x3C00, 0x4000])
    made.const("complex", shape=(2,), dtype="complex64", scomplex_val=[1.0, 2.0])
    made.const("text", shape=(2,), dtype="string")
    values = {node.name: node.attrs["value"].tolist() for node in load_graphdef(made.bytes)}
    assert values == {
        "short": [1, 2, 2, 2],
        "none": [0, 0],
        "half": [1, 2, 2],
        "complex": [1 + 2j, 1 + 2j],
        "text": ["", ""],
    }


def test_content_is_little_endian_and_may_be_written_to() -> None:
    made = Maker()
    made.const("c", dtype="int32", shape=(2,), tensor_content=b"\1\0\0\0\0\1\0\0")
    value = load_graphdef(made.bytes).node("c").attrs["value"]
    assert value.tolist() == [1, 256]
    assert value.flags.aligned
    assert value.flags.writeable


def test_placeholders_keep_what_is_not_known() -> None:
    made = Maker()
    sizes = made.node("some", "Placeholder", dtype="float32").attr.add(key="shape").value.shape
    sizes.dim.add(size=-1)
    sizes.dim.add(size=3)
    made.node("none", "Placeholder", dtype="float32").attr.add(key="shape").value.shape.unknown_rank = True
    graph = load_graphdef(made.bytes)
    assert graph.node("some").shapes == [(None, 3)]
    assert graph.node("none").shapes == [None]
    for _ in range(300):
        sizes.dim.add(size=1)
    assert_refused(made.bytes, "^node 'some': the shape has 302 axes")


# ------------------------------------------------------------------ inputs
@pytest.mark.parametrize(
    "port",
    [
        "2147483648",
        "4294967296",
        "99999999999999999999",
        "01",
        "00",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "0x1",
        "1_0",
        "",
        "a",
        "\u0661",  # a digit, but not of ours
        "0:0",
    ],
)
def test_a_port_is_plain_digits(port: str) -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("bad", "Identity", f"c:{port}", T="float32")
    assert_refused(made.bytes, r"^node 'bad': the input 'c:.*' is no name:port")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["c:1"], r"Identity: the input c:1 asks for an output that Const does not have"),
        (["c:999999999"], r"asks for an output that Const does not have"),
        (["nothing"], r"the input 'nothing' is no node of the graph"),
        (["c", "^nothing"], r"the input 'nothing' is no node of the graph"),
        (["c", "^c:0"], r"the input 'c:0' is no node of the graph"),
        (["^c", "c"], r"the input 'c' stands after a control input"),
        ([""], r"the input '' is no node of the graph"),
        (["none"], r"the input none:0 asks for an output that NoOp does not have"),
        ([], r"has 0 inputs; it takes 1 inputs"),
        (["c", "c"], r"has 2 inputs; it takes 1 inputs"),
    ],
    ids=str,
)
def test_a_wrong_input_is_refused(inputs: list[str], message: str) -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("none", "NoOp")
    made.node("bad", "Identity", *inputs, T="float32")
    assert_refused(made.bytes, r"^node 'bad': .*" + message)


def test_control_inputs_may_repeat() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("after", "NoOp", "^c", "^c")
    assert ClientSession(load_graphdef(made.bytes)).run(run_only=["after"]) == []


# ------------------------------------------------------------------ names
@pytest.mark.parametrize("name", ["", "a\0b", "a b", "_a", "a:0", "^a", "é", "a" * 1025, "a" * 100_000, "<script>"])
def test_a_wrong_name_is_refused(name: str) -> None:
    made = Maker()
    made.const(name, float_val=[1.0])
    assert_refused(made.bytes, "is no name for a node")


def test_a_name_that_looks_like_a_path_is_only_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Maker()
    made.const("../../etc/passwd", float_val=[1.0])
    assert ClientSession(load_graphdef(made.bytes)).run(fetches="../../etc/passwd:0") == 1.0
    assert list(tmp_path.iterdir()) == []


def test_two_nodes_of_a_name_are_refused() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.const("c", float_val=[2.0])
    assert_refused(made.bytes, "^node 'c': the graph has two nodes of this name")


# ------------------------------------------------------------------ attributes
def spoil_add(change: Callable[[Any], None]) -> bytes:
    made = Maker()
    made.const("c", float_val=[1.0])
    change(made.node("bad", "AddV2", "c", "c", T="float32"))
    return made.bytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: set_attr(n, "T", "float32"), r"the attribute 'T' is given twice"),
        (lambda n: set_attr(n, "U", "float32"), r"AddV2 has no attribute 'U'; it takes T"),
        (lambda n: set_attr(n, "N", 2), r"AddV2 has no attribute 'N'"),
        (lambda n: setattr(n.attr[0].value, "type", 3), r"AddV2: x must be int32 as T says; got float32"),
        (lambda n: setattr(n.attr[0].value, "type", 7), r"AddV2: T must be one of .*; got string"),
        (lambda n: setattr(n.attr[0].value, "type", 101), r"gradbag has no dtype number 101"),
        (lambda n: setattr(n.attr[0].value, "i", 1), r"the attribute T must stand in the field 'type'; got i"),
        (lambda n: n.attr[0].value.Clear(), r"the attribute T must stand in the field 'type'; got nothing"),
        (
            lambda n: setattr(n.attr[0].value, "placeholder", "T"),
            r"the attribute T must stand in the field 'type'; got placeholder",
        ),
    ],
    ids=range(9),
)
def test_a_wrong_attribute_is_refused(change: Callable[[Any], None], message: str) -> None:
    assert_refused(spoil_add(change), "^node 'bad': .*" + message, gradbag.Error)


def test_notes_are_ignored_and_defaults_are_taken() -> None:
    def note(node: Any) -> None:
        set_attr(node, "_output_shapes", {"s": b"nonsense"})
        set_attr(node, "_class", {"s": [b"loc:@c"]})

    assert len(load_graphdef(spoil_add(note))) == 2
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("shape", "Shape", "c", T="float32")
    assert load_graphdef(made.bytes).node("shape").attrs == {"out_type": "int32"}


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("Cast", {"SrcT": "float32"}, r"Cast: the attribute DstT is required"),
        ("Pack", {"T": "float32"}, r"Pack: the attribute N is required"),
        ("Pack", {"T": "float32", "N": 2}, r"Pack: N says 2 values; the node has 1"),
        ("Pack", {"T": "float32", "N": "float32"}, r"N must stand in the field 'i'; got type"),
        ("Pack", {"T": "float32", "N": 2**62}, r"N says 4611686018427387904 values"),
        ("Squeeze", {"squeeze_dims": {"f": [1.0]}}, r"squeeze_dims must be a list of ints"),
        ("PreventGradient", {"message": {"s": b"\xff"}}, r"message must be UTF-8 text"),
        ("Shape", {"out_type": "string"}, r"Shape: out_type must be one of int32, int64; got string"),
    ],
    ids=str,
)
def test_attributes_that_do_not_fit_the_op_are_refused(op: str, attrs: dict[str, Any], message: str) -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("bad", op, "c", **attrs)
    assert_refused(made.bytes, "^node 'bad': .*" + message, gradbag.Error)


# ------------------------------------------------------------------ cycles
def test_cycles_are_told_with_their_nodes() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.node("tail", "AddV2", "b", "c")
    made.node("a", "AddV2", "c", "b")
    made.node("b", "Neg", "a")
    assert_refused(made.bytes, "^the graph has a cycle: (a -> b -> a|b -> a -> b)$")
    made.node("self", "Identity", "self")
    assert_refused(made.bytes, "the graph has a cycle")
    long = Maker()
    for number in range(50):
        long.node(f"n{number}", "Identity", f"n{(number - 1) % 50}")
    assert_refused(long.bytes, r"^the graph has a cycle: (n\d+ -> ){10}\.\.\. \(50 nodes\)$")
    waiting = Maker()
    waiting.node("a", "NoOp", "^b")
    waiting.node("b", "NoOp", "^a")
    assert_refused(waiting.bytes, "the graph has a cycle: (a -> b -> a|b -> a -> b)")


# ------------------------------------------------------------------ functions
def chain_of_functions(count: int, calls: int = 1) -> Maker:
    made = Maker()
    made.const("c", float_val=[1.0])
    for number in range(count):
        function = made.function(f"f{number}", y="x")
        for k in range(calls if number else 0):
            made.node(f"n{k}", f"f{number - 1}", "x", into=function)
    made.node("call", f"f{count - 1}", "c")
    return made


def test_functions_that_call_themselves_are_refused() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    f = made.function("f", y="again:y:0")
    made.node("again", "f", "x", into=f)
    made.node("call", "f", "c")
    assert_refused(made.bytes, "^the file's functions call each other in a cycle: f -> f$")
    f.node_def[0].op = "PartitionedCall"
    set_attr(f.node_def[0], "f", {"func": "g"})
    f.ret[0].value = "again:output:0"
    made.node("back", "f", "x", into=made.function("g", y="back:y:0"))
    assert_refused(made.bytes, "call each other in a cycle: (f -> g -> f|g -> f -> g)$")


def test_calls_go_32_deep_and_no_deeper() -> None:
    assert "call/n0/n0" in load_graphdef(chain_of_functions(32).bytes)
    assert_refused(chain_of_functions(33).bytes, "the function 'f32': its calls go deeper than 32")


def test_calls_that_multiply_are_refused_before_anything_is_built() -> None:
    assert_refused(
        chain_of_functions(31, calls=8).bytes,
        "with the functions written out the graph would take about",
        gradbag.ResourceExhaustedError,
    )


def one_call(change: Callable[[Maker, Any, Any], None]) -> bytes:
    made = Maker()
    made.const("c", float_val=[1.0])
    function = made.function("f", y="one:y:0")
    made.node("one", "Neg", "x", into=function)
    call = made.node("call", "PartitionedCall", "c", f={"func": "f"})
    change(made, function, call)
    return made.bytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m, f, c: setattr(c.attr[0].value.func, "name", "g"),
            r"node 'call': the function 'g' is not in the file",
        ),
        (
            lambda m, f, c: c.attr[0].value.Clear(),
            r"node 'call': PartitionedCall: the attribute f must name a function",
        ),
        (lambda m, f, c: m.function("f", y="x"), r"the function 'f': the file has two of this name"),
        (lambda m, f, c: m.function("Neg", y="x"), r"the function 'Neg': an op has the same name"),
        (lambda m, f, c: c.input.append("c"), r"node 'call': the function 'f': it takes 1 arguments; got 2"),
        (lambda m, f, c: f.ret.pop(), r"the function 'f': nothing is returned for 'y'"),
        (lambda m, f, c: f.ret.add(key="y"), r"the function 'f': ret has 'y' twice"),
        (lambda m, f, c: setattr(f.ret[0], "value", "two:y:0"), r"node 'call': the input 'two:y:0' is neither a node"),
        (lambda m, f, c: setattr(f.ret[0], "value", "one:z:0"), r"node 'call': .* Neg has the outputs y"),
        (lambda m, f, c: setattr(f.ret[0], "value", "one:y:1"), r"node 'call': .* Neg has the outputs y"),
        (lambda m, f, c: setattr(f.ret[0], "value", "one:y:4294967296"), r"node 'call': .* is no name:port"),
        (lambda m, f, c: setattr(f.ret[0], "value", "one"), r"node 'call': .* is no name:port"),
        (lambda m, f, c: m.node("one", "Neg", "x", into=f), r"the function 'f': two of its nodes have the same name"),
        (lambda m, f, c: f.signature.input_arg.add(name="x"), r"the function 'f': two arguments share a name"),
        (lambda m, f, c: setattr(f.signature.input_arg[0], "number_attr", "N"), r"the function 'f': 'x' is a list"),
        (lambda m, f, c: f.control_ret.add(key="k", value="no"), r"node 'call': the input 'call/no' is no node"),
        (lambda m, f, c: f.node_def[0].input.append("^no"), r"node 'call/one': the input 'call/no' is no node"),
        (lambda m, f, c: f.node_def.add(name="bad", op="WriteFile"), r"WriteFile \(node 'call/bad'\)"),
        (lambda m, f, c: c.input.__setitem__(0, "call"), r"the graph has a cycle"),
    ],
    ids=range(19),
)
def test_a_wrong_function_is_refused(change: Callable[..., None], message: str) -> None:
    assert len(load_graphdef(one_call(lambda *_: None))) == 3
    assert_refused(one_call(change), message)


def test_a_call_that_hands_on_its_own_output_is_refused() -> None:
    made = Maker()
    made.function("f", "x z", "y w", y="z", w="x")
    made.node("call", "f", "call:1", "call")
    made.node("end", "Identity", "call")
    assert_refused(made.bytes, r"^node 'end': the graph has a cycle: 'call' is an input of itself")


def test_names_do_not_grow_with_the_depth_of_calls() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    for number in range(3):
        function = made.function(f"f{number}", y="x")
        if number:
            made.node("n" * 1000, f"f{number - 1}", "x", into=function)
    made.node("call", "f2", "c")
    assert_refused(made.bytes, "'call/n+.* is no name for a node")


def test_a_long_row_of_calls_that_hand_on_their_inputs_is_quick() -> None:
    made = Maker()
    made.const("c", float_val=[1.0])
    made.function("f", "x z", "y w", y="z", w="x")
    last = "c"
    for number in range(5000):
        made.node(f"call{number}", "f", f"{last}:0", f"{last}:0")
        last = f"call{number}"
    made.node("end", "Identity", last)
    assert load_graphdef(made.bytes).node("end").inputs[0].name == "c:0"


# ------------------------------------------------------------------ wire and text
def test_deep_nesting_is_refused() -> None:
    made = Maker()
    value = made.node("deep", "NoOp").attr.add(key="_f").value
    for _ in range(40):
        value = value.func.attr.add(key="f").value
    assert_refused(made.bytes, "is no GraphDef")
    for deep in (65, 200_000):
        assert_refused(b"node {" + b"a {" * deep, "nested deeper than 64")
    assert_refused(b"node { name: 'a' op: " + b"[" * 100_000, "is no GraphDef")


def test_text_with_more_fields_than_are_read_is_refused() -> None:
    for data in (b"node {}\n" * 300_000, b"node { op: 'Const' attr { value { list { i: [" + b"1," * 300_000 + b"]}}}}"):
        assert_refused(data, r"has about \d+,\d+ fields, more than the 262,144", gradbag.ResourceExhaustedError)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\xff\xff\xff\xff\x0f",  # a length of 4 GiB
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a varint of more than ten bytes
        b"\x0a\x05\x0a\x10abc",  # a length past the end of its message
        b"\x0a\x04\x0a\x02\xff\xfe",  # a name that is not UTF-8
        b"\x0b\x0b\x0b",  # groups that do not end
        b"\x07",  # a wire type that there is none of
        b"garbage",
        b"node { name: 'a' ",
        b"node { name: 1 }",
        b"node { name: '\xff' }",
        b"node { attr { value { i: 99999999999999999999999 } } }",
        b"versions { producer: 1e400 }",
    ],
)
def test_what_is_no_graphdef_is_refused(data: bytes) -> None:
    assert_refused(data, "is no GraphDef")


def test_a_saved_model_is_not_an_empty_graph() -> None:
    assert_refused(b"\x08\x01", "has no node; a saved model is no GraphDef: load_saved_model takes its folder")
    assert_refused(b"", "is empty")


def test_numbers_one_by_one_and_packed_may_mix() -> None:
    head = b"\x08\x09\x12\x04\x12\x02\x08\x03"  # int64, of shape [3]
    proto = message("TensorProto").FromString(head + b"\x50\x01" + b"\x52\x01\x02" + b"\x50\x03")
    assert read_tensor(proto, Budget(100)).tolist() == [1, 2, 3]


def test_wrong_wire_types_and_unknown_fields_are_skipped() -> None:
    text = b"""node { name: "c" op: "NoOp" experimental_debug_info { original_node_names: "x" } }
        debug_info { files: "f" } unknown: 5 # a comment {{{{ """
    assert [node.name for node in load_graphdef(text)] == ["c"]
    extra = Maker()
    extra.node("c", "NoOp")
    assert len(load_graphdef(extra.bytes + b"\x2a\x02ab" + b"\x0d\0\0\0\0")) == 1


def test_files_have_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(to_graphdef_bytes(Graph()) * 100)
    assert_refused(path, r"graph\.pb is larger than 100 bytes", gradbag.ResourceExhaustedError, file_limit=100)
    assert_refused(b"a" * 101, r"is larger than 100 bytes", gradbag.ResourceExhaustedError, file_limit=100)
    assert_refused(
        "/dev/zero", r"/dev/zero is larger than 64\.0 KiB", gradbag.ResourceExhaustedError, file_limit=1 << 16
    )
    with pytest.raises(FileNotFoundError):
        load_graphdef(tmp_path / "none.pb")
    with pytest.raises(gradbag.UnsupportedTypeError, match="source must be a path or bytes; got int"):
        load_graphdef(3)  # type: ignore[arg-type]


def test_nothing_is_written_where_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope.new_root_scope()
    ops.Const(scope.with_op_name("bad"), np.array(["\ud800"], object))
    with pytest.raises(Refusal, match=r"^node 'bad': a string has no UTF-8 form"):
        save_graphdef(scope.graph, tmp_path / "graph.pb")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "graph.pb").write_bytes(b"before")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_graphdef(Graph(), tmp_path / "graph.pb")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("graph.pb", b"before")]


# ------------------------------------------------------------------ altered files
def sound_graph() -> bytes:
    made = Maker()
    made.const("c", shape=(2, 2), float_val=[1.0, 2.0])
    made.const("i", dtype="int32", shape=(2,), tensor_content=bytes(8))
    function = made.function("f", y="one:y:0")
    made.node("one", "Neg", "x", into=function, T="float32")
    made.node("call", "PartitionedCall", "c", f={"func": "f"})
    made.node("mean", "SparseSegmentMean", "call", "i", "i", T="float32", Tidx="int32", Tsegmentids="int32")
    made.node("pack", "Pack", "mean", "mean:0", T="float32", N=2, axis=-1)
    made.const("axis", dtype="int32", int_val=[1])
    made.const("ones", dtype="int32", shape=(1,), int_val=[1])
    made.node("sum", "Sum", "pack", "axis", "^mean", T="float32", Tidx="int32", keep_dims=True)
    made.node("slice", "StridedSlice", "sum", "ones", "ones", "ones", T="float32", Index="int32", begin_mask=1)
    made.node("shape", "Shape", "slice", T="float32", out_type="int32")
    made.node("fill", "Fill", "shape", "axis", T="int32", index_type="int32")
    return made.bytes


def load_or_refuse(data: bytes) -> str:
    """An altered file gives a graph or an error of gradbag, nothing else."""
    try:
        graph = load_graphdef(data, constant_limit=1 << 20)
    except gradbag.Error:
        return "refused"
    to_graphdef_bytes(graph)
    return "loaded"


@pytest.mark.filterwarnings("ignore:.*escape sequence:DeprecationWarning")  # protobuf's, of a text file
def test_altered_bytes_give_a_graph_or_a_refusal() -> None:
    data = sound_graph()
    assert load_or_refuse(data) == "loaded"
    rng = np.random.default_rng(11)
    outcomes = [load_or_refuse(data[:cut]) for cut in range(len(data))]
    text = str(type(Maker().proto).FromString(data)).encode()
    for number in range(1800):
        changed = bytearray(data if number % 6 else text)
        for place in rng.integers(0, len(data) - 4, rng.integers(1, 4)):
            match rng.integers(3):
                case 0:
                    changed[place] = rng.integers(256)
                case 1:
                    changed[place] ^= 1 << rng.integers(8)
                case _:
                    del changed[place]
        outcomes.append(load_or_refuse(bytes(changed)))
    assert {"loaded", "refused"} == set(outcomes)


def test_altered_fields_give_a_graph_or_a_refusal() -> None:
    data = sound_graph()
    rng = np.random.default_rng(12)
    numbers = [0, 1, -1, 2, 3, 7, 20, 255, 2**31 - 1, -(2**31), 2**62, -(2**63)]
    outcomes = []
    for _ in range(700):
        proto = type(Maker().proto).FromString(data)
        fields = list(every_field(proto))
        for _ in range(rng.integers(1, 3)):
            alter(*fields[rng.integers(len(fields))], rng, numbers)
        outcomes.append(load_or_refuse(proto.SerializeToString()))
    assert {"loaded", "refused"} == set(outcomes)


def every_field(message: Any) -> Any:
    for field, value in message.ListFields():
        yield message, field
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from every_field(inner)


def alter(message: Any, field: Any, rng: np.random.Generator, numbers: list[int]) -> None:
    value = getattr(message, field.name)
    if field.is_repeated:
        if len(value) and rng.random() < 0.5:
            del value[int(rng.integers(len(value)))]
        elif len(value) and field.message_type is not None:
            value.add().CopyFrom(value[int(rng.integers(len(value)))])
        elif len(value):
            value.extend([value[0]] * int(rng.integers(1, 5)))
        return
    try:
        if field.message_type is not None:
            message.ClearField(field.name)
        elif isinstance(value, str):
            setattr(
                message, field.name, str(rng.choice(["c", "i", "mean:1", "^c", "", "call", "f", "Neg", "T", "x:0"]))
            )
        elif isinstance(value, bytes):
            setattr(message, field.name, value[: int(rng.integers(len(value) + 1))])
        else:
            setattr(message, field.name, numbers[int(rng.integers(len(numbers)))])
    except ValueError:  # a number that the field does not take
        message.ClearField(field.name)


@pytest.mark.parametrize("what", ["nodes", "attributes"])
def test_a_file_of_empty_messages_is_refused_before_they_are_made(what: str) -> None:
    """Two bytes make a node of eighty in memory."""
    count = 9_000_000
    data = b"\x0a\x00" * count
    if what == "attributes":
        inside = b"\x2a\x00" * count
        size = len(inside)
        length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21])
        data = b"\x0a" + length + inside
    before = gradbag.get_memory_limit()
    gradbag.set_memory_limit(1 << 28)
    try:
        with pytest.raises(
            gradbag.ResourceExhaustedError, match=r"^the GraphDef holds more messages than fit the 256.0 MiB"
        ):
            load_graphdef(data)
    finally:
        gradbag.set_memory_limit(None)
    assert before > 1 << 28
