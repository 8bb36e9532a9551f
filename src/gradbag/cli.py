"""The command line: `gradbag run`, `check`, `export`, `import`, `diff`, `ops`, `studio`, `tour`.

Here are the arguments of all commands; what a command does stands in `commands`, in a file that is loaded when it is
asked for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import gradbag

from . import eager
from .commands import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and give the exit code."""
    options = _parser().parse_args(arguments)
    try:
        answer: int = import_module(f".commands.{options.command}", __package__).run(options)
        sys.stdout.flush()  # a reader that is gone shows here, not after the end
    except UsageError as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        sys.stderr.close()
        return 0
    except (gradbag.Error, OSError, ImportError) as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return int(options.failed)
    except KeyboardInterrupt:
        print("gradbag: stopped", file=sys.stderr)
        return 130
    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gradbag", description="Sparse gradients for every array framework.")
    native = "native kernels" if eager.available() else "NumPy only: the native kernels are not installed"
    parser.add_argument("--version", action="version", version=f"gradbag {gradbag.__version__} ({native})")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, module: str, text: str, failed: int = 1) -> Any:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        made.set_defaults(command=module, failed=failed)
        return made

    run = command("run", "running", "run a page or a GraphDef and show the results")
    run.add_argument("file", metavar="PAGE|GRAPH", help="a page (.page.json) or a GraphDef (.pb, .pbtxt)")
    run.add_argument("--run", dest="runs", action="append", default=[], metavar="NAME", help="a run of the page; all")
    run.add_argument("--fetch", nargs="+", action="extend", default=[], metavar="NODE", help="what to compute")
    run.add_argument(
        "--feed", nargs="+", action="extend", default=[], metavar="NODE=VALUE", help="a .npy file or a literal"
    )
    run.add_argument("--out", metavar="FILE.npz", help="write the results there too")
    run.add_argument("--report", action="store_true", help="tell each node's time and bytes")
    run.add_argument("--json", action="store_true", help="print the results for machines")

    check = command("check", "checking", "list everything that is wrong with pages; nothing runs")
    check.add_argument("files", nargs="+", metavar="PAGE", help="a page, or a GraphDef")
    check.add_argument("--json", action="store_true", help="print the problems for machines")

    export = command("export", "exporting", "write a page as a Python script, a GraphDef or a drawing")
    export.add_argument("file", metavar="PAGE", help="the page")
    export.add_argument("--to", required=True, choices=("python", "graphdef", "svg"), help="what to write")
    export.add_argument("--out", metavar="FILE", help="the file to write; without it, standard output")

    importer = command("import", "importing", "make a page of a TensorFlow GraphDef")
    importer.add_argument("file", metavar="GRAPH", help="a GraphDef: .pb, or .pbtxt in text form")
    importer.add_argument("--out", metavar="PAGE", help="the page file to write; without it, the page is printed")

    # 1 says that the pages differ, and nothing else.
    diff = command("diff", "differences", "tell what differs between two pages; the layout does not count", failed=2)
    diff.add_argument("one", metavar="A", help="a page, or a GraphDef")
    diff.add_argument("other", metavar="B", help="the page to compare it with")
    diff.add_argument("--json", action="store_true", help="print the differences for machines")

    ops = command("ops", "ops", "list the ops, or show one op's page")
    ops.add_argument("name", nargs="?", help="the op, by its full name or a part of it")
    form = ops.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print what an editor needs, for machines")
    form.add_argument("--markdown", action="store_true", help="print the page as Markdown")

    studio = command("studio", "studio", "draw, run and look at pages in the browser")
    studio.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="the folder of pages; this one")
    studio.add_argument("--port", type=int, metavar="N", help="the port to use; without it, a free one")
    studio.add_argument("--no-browser", action="store_true", help="print the address and open nothing")

    command("tour", "touring", "see what the library does, in two minutes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
