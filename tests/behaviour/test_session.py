"""Running graphs: only what is needed, only what changed, side by side, with progress and a way to stop."""

import threading

import numpy as np
import pytest

import gradbag
from gradbag.graph import CancelledError, ClientSession, Report, ResultCache, Scope, ops


def diamond() -> tuple[Scope, dict[str, object]]:
    """x feeds two branches, which meet again."""
    scope = Scope.new_root_scope()
    x = ops.Placeholder(scope.with_op_name("x"), dtype="float64", shape=[None]).output
    weight = ops.Const(scope.with_op_name("weight"), np.array(3.0))
    left = ops.Mul(scope.with_op_name("left"), x, weight).z
    right = ops.Square(scope.with_op_name("right"), x).y
    total = ops.AddV2(scope.with_op_name("total"), left, right).z
    return scope, {"x": x, "left": left, "right": right, "total": total}


def test_only_what_the_fetches_need_runs() -> None:
    scope, nodes = diamond()
    report = Report()
    answer = ClientSession(scope).run({nodes["x"]: [1.0, 2.0]}, [nodes["left"]], report=report)
    np.testing.assert_array_equal(answer[0], [3.0, 6.0])
    assert "left" in report.ran
    assert "right" not in report.ran
    assert "total" not in report.ran


def test_a_second_run_takes_everything_from_the_cache() -> None:
    scope, _ = diamond()
    session = ClientSession(scope)
    first = session.run({"x": [1.0, 2.0]}, "total")
    report = Report()
    second = session.run({"x": [1.0, 2.0]}, "total", report=report)
    np.testing.assert_array_equal(first, second)
    assert report.ran == []
    assert [node.source for node in report.nodes] == ["cached"]


def test_only_what_a_changed_value_reaches_runs_again() -> None:
    scope = Scope.new_root_scope()
    a = ops.Placeholder(scope.with_op_name("a"), dtype="float32").output
    b = ops.Placeholder(scope.with_op_name("b"), dtype="float32").output
    ops.Exp(scope.with_op_name("of_a"), a)
    ops.Exp(scope.with_op_name("of_b"), b)
    ops.AddV2(scope.with_op_name("both"), *[scope.graph.node(n).outputs[0] for n in ("of_a", "of_b")])
    session = ClientSession(scope)
    session.run({a: 1.0, b: 2.0}, "both")
    report = Report()
    answer = session.run({a: 1.0, b: 3.0}, "both", report=report)
    np.testing.assert_allclose(answer, np.exp(1.0) + np.exp(3.0), rtol=1e-6)
    assert report.ran == ["of_b", "both"]


def test_a_cache_serves_an_edited_copy_of_a_graph() -> None:
    """Names do not matter, contents do: this is what makes edits of a page cheap."""
    cache = ResultCache()
    for name, last in (("first", 1.0), ("second", 2.0)):
        scope = Scope.new_root_scope()
        heavy = ops.Exp(scope.with_op_name(name), np.arange(4.0))
        ops.AddV2(scope.with_op_name("sum"), heavy, last)
        report = Report()
        ClientSession(scope, cache).run(fetches="sum", report=report)
    assert "sum" in report.ran
    assert "second" not in report.ran


def test_writing_into_an_answer_changes_nothing_else() -> None:
    scope, _ = diamond()
    session = ClientSession(scope)
    constant = session.run(fetches="weight")
    constant[...] = 100.0
    x = np.array([1.0])
    first, echo = session.run({"x": x}, ["total", "x"])
    first[...] = echo[...] = -1.0
    assert x[0] == 1.0
    np.testing.assert_array_equal(session.run({"x": x}, "total"), [4.0])
    one, other = session.run({"x": x}, ["total", "total"])
    one[...] = 7.0
    assert other[0] == 4.0


def test_a_changed_feed_array_is_noticed() -> None:
    scope, _ = diamond()
    session = ClientSession(scope)
    x = np.array([1.0])
    session.run({"x": x}, "total")
    x[0] = 2.0
    np.testing.assert_array_equal(session.run({"x": x}, "total"), [10.0])


def test_any_output_can_be_fed() -> None:
    scope, _ = diamond()
    report = Report()
    answer = ClientSession(scope).run({"left": [10.0], "x": [2.0]}, "total", report=report)
    np.testing.assert_array_equal(answer, [14.0])
    assert "left" not in report.ran


@pytest.mark.parametrize("limit", [0, 1 << 28])
def test_intermediate_results_are_dropped_when_their_last_reader_is_done(limit: int) -> None:
    import tracemalloc

    scope = Scope.new_root_scope()
    value = ops.Placeholder(scope.with_op_name("x"), dtype="float64").output
    for _ in range(20):
        value = ops.Neg(scope, value).y
    session = ClientSession(scope, ResultCache(min(limit, 1 << 22)))
    x = np.ones(1 << 18)  # 2 MiB
    tracemalloc.start()
    session.run({"x": x}, value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * x.nbytes + (1 << 22)


# ------------------------------------------------------------------ errors
def test_the_error_of_a_node_names_the_node() -> None:
    scope = Scope.new_root_scope()
    indices = ops.Placeholder(scope.with_op_name("ids"), dtype="int32").output
    ops.SparseSegmentSum(scope.with_op_name("pool"), np.ones((3, 2)), indices, [0, 0])
    with pytest.raises(
        gradbag.InvalidArgumentError, match=r"^node 'pool': SparseSegmentSum: indices\[1\] == 5"
    ) as told:
        ClientSession(scope).run({"ids": [0, 5]}, "pool")
    assert (told.value.node, told.value.argument) == ("pool", "indices")


def test_what_is_not_fed_is_told() -> None:
    scope, _ = diamond()
    with pytest.raises(gradbag.InvalidArgumentError, match=r"node 'x': Placeholder.*fed"):
        ClientSession(scope).run(fetches="total")


def test_a_feed_of_the_wrong_shape_or_dtype_is_told() -> None:
    scope, _ = diamond()
    session = ClientSession(scope)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"Placeholder: x:0 must have shape \[\?\]; got \[1, 1\]"):
        session.run({"x": [[1.0]]}, "total")
    with pytest.raises(gradbag.UnsupportedTypeError, match="Placeholder: x:0 must be float64; got float32"):
        session.run({"x": np.ones(1, np.float32)}, "total")


def test_an_unknown_fetch_is_told_with_a_guess() -> None:
    scope, _ = diamond()
    session = ClientSession(scope)
    with pytest.raises(gradbag.InvalidArgumentError, match="no node 'totl'; did you mean 'total'"):
        session.run(fetches="totl")
    with pytest.raises(gradbag.InvalidArgumentError, match="has 1 outputs"):
        session.run(fetches="total:1")
    with pytest.raises(gradbag.InvalidArgumentError, match="has no output 'w'; it has z"):
        session.run(fetches="total.w")
    with pytest.raises(gradbag.UnsupportedTypeError, match="a fetch is an Output, a node or a name; got int"):
        session.run(fetches=[3])


# ------------------------------------------------------------------ progress, stopping, threads
def test_progress_is_told_after_each_node() -> None:
    scope, _ = diamond()
    told: list[tuple[int, int, str]] = []
    ClientSession(scope).run({"x": [1.0]}, "total", progress=lambda *what: told.append(what))
    assert [done for done, _, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, total, _ in told} == {len(told)}
    assert told[-1][2] == "total"


def test_a_run_can_be_cancelled_and_changes_nothing() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=[], dtype="float32").node.outputs[0]
    step = ops.Assign(scope.with_op_name("assign"), variable, 2.0)
    chain = step.node.outputs[0]
    for _ in range(10):
        chain = ops.Neg(scope, chain).y
    session = ClientSession(scope)
    session.set_variable("v", 1.0)
    stop = threading.Event()

    def after_five(done: int, total: int, name: str) -> None:
        if done == 5:
            stop.set()

    with pytest.raises(CancelledError, match="cancelled after 5 of"):
        session.run(fetches=chain, progress=after_five, cancel=stop)
    assert session.variable("v") == 1.0


def test_independent_branches_run_side_by_side() -> None:
    """Two large nodes are under way at once; which threads they ran in is told by the op itself."""
    seen: set[int] = set()
    both = threading.Barrier(2, timeout=20)
    original = gradbag.eager.quick_run

    def watched(op, arrays, attrs, share):  # type: ignore[no-untyped-def]
        if op.name == "Neg":
            both.wait()
            seen.add(threading.get_ident())
        return original(op, arrays, attrs, share)

    scope = Scope.new_root_scope()
    x = ops.Placeholder(scope.with_op_name("x"), dtype="float64").output
    halves = [ops.Neg(scope, x).y for _ in range(2)]
    total = ops.AddV2(scope, *halves).z
    with pytest.MonkeyPatch.context() as patch, gradbag.set_num_threads(2):
        patch.setattr(gradbag.eager, "quick_run", watched)
        answer = ClientSession(scope).run({x: np.ones(1 << 18)}, total)
    np.testing.assert_array_equal(answer, np.full(1 << 18, -2.0))
    assert len(seen) == 2


def test_an_error_in_another_thread_reaches_the_caller() -> None:
    scope = Scope.new_root_scope()
    data = ops.Placeholder(scope.with_op_name("data"), dtype="float64").output
    bad = [ops.SparseSegmentSum(scope.with_op_name(f"bad{k}"), data, [0, 9], [0, 0]).output for k in range(2)]
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^node 'bad\d': .*indices\[1\] == 9"):
        ClientSession(scope).run({data: np.ones((4, 1 << 16))}, bad)


# ------------------------------------------------------------------ variables
def test_a_variable_keeps_its_value_from_run_to_run() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=[2], dtype="float32").node.outputs[0]
    initial = ops.Assign(scope.with_op_name("initial"), variable, [1.0, 2.0])
    step = ops.AssignAdd(scope.with_op_name("step"), variable, [1.0, 1.0])
    session = ClientSession(scope)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"node 'v': .*no value yet; run an Assign to it first"):
        session.run(fetches=variable)
    session.run(run_only=[initial])
    for _ in range(3):
        session.run(run_only=[step])
    np.testing.assert_array_equal(session.run(fetches=variable), [4.0, 5.0])


def test_all_nodes_of_a_run_read_the_value_from_before_it() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=[], dtype="float32").node.outputs[0]
    step = ops.AssignAdd(scope.with_op_name("step"), variable, 1.0)
    twice = ops.AddV2(scope.with_op_name("twice"), variable, variable).z
    session = ClientSession(scope)
    session.set_variable("v", 10.0)
    assert session.run(fetches=twice, run_only=[step]) == 20.0
    assert session.run(fetches=twice) == 22.0


def test_two_assignments_of_one_variable_in_one_run_are_refused() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=[], dtype="float32").node.outputs[0]
    both = [ops.Assign(scope, variable, float(k)) for k in range(2)]
    with pytest.raises(gradbag.InvalidArgumentError, match="the variable 'v' is assigned twice in one run"):
        ClientSession(scope).run(run_only=both)


def test_control_dependencies_run_first() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=[], dtype="float32").node.outputs[0]
    assign = ops.Assign(scope, variable, 5.0)
    after = ops.NoOp(scope.with_control_dependencies([assign.node]).with_op_name("after"))
    session = ClientSession(scope)
    session.run(run_only=[after])
    assert session.variable("v") == 5.0


def test_a_long_chain_runs_without_recursion() -> None:
    scope = Scope.new_root_scope()
    value = ops.Placeholder(scope.with_op_name("x"), dtype="float32", shape=[]).output
    for _ in range(20_000):
        value = ops.Neg(scope, value).y
    assert ClientSession(scope).run({"x": 1.0}, value) == 1.0


def test_what_a_control_input_does_to_a_variable_is_done_in_every_run() -> None:
    root = Scope.new_root_scope()
    count = ops.VariableV2(root.with_op_name("count"), shape=[], dtype="float32")
    step = ops.AssignAdd(root.with_op_name("step"), count, 1.0)
    after = ops.Const(root.with_op_name("after").with_control_dependencies([step.node]), 2.0)
    ops.NoOp(root.with_op_name("all").with_control_dependencies([after.node]))
    session = ClientSession(root)
    session.set_variable("count", 0.0)
    for _ in range(3):
        session.run(run_only=["all"])
    assert session.variable("count") == 3.0
