"""Pages: graphs in files that people and machines can both read, `*.page.json`.

page = load("mean.page.json")       nothing runs, and a page with faults opens too
check(page)                         every problem, with its node and port
graph = to_graph(page)              a node's id is its name
run(page).fetches                   its runs in one session, compared with what it expects
save(from_graph(graph), path)       canonical text: the same page is the same bytes
"""

from __future__ import annotations

from .page_check import check
from .page_from_graph import from_graph
from .page_graph import to_graph
from .page_links import Problem
from .page_migrate import FORMAT
from .page_model import Page, load, parse, text
from .page_run import Answer, Mismatch, run
from .page_save import save

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
