"""Pages: graphs in files that people and machines can both read, `*.page.json`.

page = load("mean.page.json")       nothing runs, and a page with faults opens too
check(page)                         every problem, with its node and port
graph = to_graph(page)              a node's id is its name
run(page).fetches                   its runs in one session, compared with what it expects
save(from_graph(graph), path)       canonical text: the same page is the same bytes
"""

from __future__ import annotations

from .checking import check
from .drawing import to_graph
from .import_graph import from_graph
from .links import Problem
from .migrate import FORMAT
from .model import Page, load, parse, text
from .running import Answer, Mismatch, run
from .saving import save

__all__ = [
    "FORMAT",
    "Answer",
    "Mismatch",
    "Page",
    "Problem",
    "check",
    "from_graph",
    "load",
    "parse",
    "run",
    "save",
    "text",
    "to_graph",
]
