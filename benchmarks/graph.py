"""Measure what graphs and pages cost beyond their ops.

    python benchmarks/graph.py               a few seconds
    python benchmarks/graph.py --long        with a chain of a million nodes

Each time is the processor's, and the least of several: on a machine that does other things too, that is the one that
means something. All of it happens in one thread. No number is a threshold: machines differ.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gradbag import eager
from gradbag import page as pages
from gradbag.graph import ClientSession, Graph, Report, ResultCache
from gradbag.page.checking import inspect
from gradbag.spec import find

NODES = 10_000


def least(repeat: int, work: Callable[[], Any]) -> float:
    """The shortest time of several, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


# ------------------------------------------------------------------ pages
def large_page() -> bytes:
    """A page of many nodes, half of them with a value in a port, in a chain with ties to earlier ones."""
    nodes: dict[str, Any] = {"n0": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2, 3]}}}
    for k in range(1, NODES):
        before = {"from": f"n{k - 1}"}
        other = 0.5 if k % 2 else {"from": f"n{max(k - 50, 0)}"}
        nodes[f"n{k}"] = {"op": "AddV2" if k % 2 else "Maximum", "in": {"x": before, "y": other}}
    layout = {name: [k % 100 * 300, k // 100 * 150] for k, name in enumerate(nodes)}
    page = pages.Page({"format": pages.FORMAT, "nodes": nodes, "layout": layout})
    return pages.text(page).encode()


def page_rows(repeat: int) -> list[tuple[str, str]]:
    text = large_page()
    page = pages.parse(text)
    drawn = inspect(page)
    graph = drawn.graph
    last = f"n{NODES - 1}"
    cache = ResultCache(1 << 30)
    ClientSession(graph, cache).run(fetches=[last])
    totals = []
    for number in range(repeat):
        changed = text.replace(b'"n9991": {"op": "AddV2", "in": {"x": {"from": "n9990"}, "y": 0.5}}', _change(number))
        assert changed != text
        report = Report()
        start = time.process_time()
        now = inspect(pages.parse(changed), drawn)
        ClientSession(now.graph, cache).run(fetches=[last], report=report)
        total = time.process_time() - start
        assert len(report.ran) < 20
        totals.append(total - sum(node.seconds for node in report.nodes if node.source == "ran"))
    return [
        (f"read the text of a page of {NODES:,} nodes", f"{least(repeat, lambda: pages.parse(text)) * 1e3:.0f} ms"),
        ("check all of it", f"{least(repeat, lambda: pages.check(page)) * 1e3:.0f} ms"),
        ("write its text", f"{least(repeat, lambda: pages.text(page)) * 1e3:.0f} ms"),
        (
            "run it for the first time",
            f"{least(repeat, lambda: ClientSession(graph).run(fetches=[last])) * 1e3:.0f} ms",
        ),
        ("read, check and run it after one value has changed, less the nodes that ran", f"{min(totals) * 1e3:.0f} ms"),
    ]


def _change(number: int) -> bytes:
    return b'"n9991": {"op": "AddV2", "in": {"x": {"from": "n9990"}, "y": %d.25}}' % (number + 1)


# ------------------------------------------------------------------ sessions
def chain(count: int) -> Graph:
    graph = Graph()
    node = graph.add(find("Const"), "n0", (), {"value": np.ones(3, np.float32), "dtype": "float32"})
    negate = find("Neg")
    for k in range(1, count):
        node = graph.add(negate, f"n{k}", node.outputs)
    return graph


def session_rows(repeat: int) -> list[tuple[str, str]]:
    graph = chain(NODES)
    session, cached = ClientSession(graph, ResultCache(0)), ClientSession(graph)
    last = f"n{NODES - 1}"
    for one in (session, cached):
        one.run(fetches=[last])  # the plan is made once
    negate, array = find("Neg"), np.ones(3, np.float32)

    def ops_alone() -> None:
        for _ in range(NODES - 1):
            eager.quick_run(negate, [array], {})

    alone = least(repeat, ops_alone)
    whole = least(repeat, lambda: session.run(fetches=[last]))
    kept = least(repeat, lambda: cached.run(fetches=[last]))
    return [
        ("an op on three numbers, called alone", f"{alone / NODES * 1e6:.2f} µs"),
        ("a session's own cost per node", f"{(whole - alone) / NODES * 1e6:.2f} µs"),
        (f"run {NODES:,} nodes again when nothing has changed", f"{kept * 1e3:.1f} ms"),
    ]


def long_rows() -> list[tuple[str, str]]:
    start = time.process_time()
    graph = chain(1_000_000)
    built = time.process_time()
    ClientSession(graph, ResultCache(0)).run(fetches=["n999999"])
    return [
        ("build a chain of a million nodes", f"{built - start:.1f} s"),
        ("plan and run it", f"{time.process_time() - built:.1f} s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--long", action="store_true", help="build and run a chain of a million nodes too")
    parser.add_argument("--repeat", type=int, default=7, help="take the least of so many times")
    options = parser.parse_args()
    table = Table(title="graphs and pages", title_justify="left")
    table.add_column("what")
    table.add_column("time", justify="right")
    for row in [*page_rows(options.repeat), *session_rows(options.repeat), *(long_rows() if options.long else [])]:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
