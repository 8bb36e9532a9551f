"""`gradbag run`: a page, a GraphDef or a saved model, without the studio."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import errors
from .. import page as pages
from ..graph.graph import Graph, Output
from ..graph.session import ClientSession
from ..page.checking import inspect
from ..page.drawing import refuse
from ..page.running import Answer, one_output
from ..terminal import Progress, Terminal
from . import UsageError, results
from .opening import existing, fed, is_graph, model_folder, open_graph, typed_value
from .saved_models import run_model


def run(options: argparse.Namespace) -> int:
    feeds = dict(_split(text) for text in options.feed)
    if options.out and not options.out.endswith(".npz"):
        raise UsageError("--out must end in .npz")
    folder = model_folder(options.file)
    where = folder or existing(options.file)
    try:
        if folder is not None:
            answer = run_model(folder, options, feeds)
        elif options.signature or options.state or options.steps != 1:
            raise UsageError(f"--signature, --steps and --state are for the folder of a saved model; {where} is a file")
        elif is_graph(where):
            answer = _graph(open_graph(where, options.fetch), options.runs, options.fetch, feeds)
        else:
            answer = _page(pages.load(where), options.runs, options.fetch, feeds)
    except errors.Error as problem:
        if options.json:
            print(json.dumps({"error": {"node": problem.node, "port": problem.argument, "text": str(problem)}}))
        raise
    if options.out:
        results.write_npz(Path(options.out), answer.fetches)
    if options.json:
        print(json.dumps(results.as_json(answer, options.report), ensure_ascii=False))
    else:
        results.show(answer, options.report, Terminal())
    return 1 if answer.mismatches else 0


def _split(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--feed {text[:60]!r}: write NODE=FILE.npy or NODE=VALUE")
    return name, typed_value(value)


def _page(page: pages.Page, runs: Sequence[str], fetch: Sequence[str], feeds: dict[str, Any]) -> Answer:
    if feeds:
        drawn = inspect(page)
        refuse(drawn.problems)
        feeds = {name: fed(name, value, one_output(page, drawn.graph, name).dtype) for name, value in feeds.items()}
    with Progress() as told:
        return pages.run(page, runs, fetch, feeds, told=told)


def _graph(graph: Graph, runs: Sequence[str], fetch: Sequence[str], feeds: dict[str, Any]) -> Answer:
    """A graph has no runs: it fetches what nothing reads."""
    if runs:
        raise UsageError("a GraphDef has no runs; --fetch says what to compute")
    session = ClientSession(graph)
    read = {source.node for node in graph for source in node.inputs}
    ends = [output.name.removesuffix(":0") for node in graph if node not in read for output in node.outputs]
    only = [node for node in graph if not node.dtypes and not fetch]
    wanted: dict[str, Output] = {name: session.find(name) for name in (fetch or ends)}
    fed = {name: fed(name, value, session.find(name).dtype) for name, value in feeds.items()}
    answer = Answer()
    with Progress() as told:
        values = session.run(
            fed,
            list(wanted.values()),
            only,
            report=answer.report,
            progress=lambda done, total, _: told("", done, total),
        )
    answer.fetches = dict(zip(wanted, values, strict=True))
    return answer
