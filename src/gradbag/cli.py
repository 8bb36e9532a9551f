"""The command line: `gradbag run`, `check`, `export`, `import`, `diff`, `ops`, `shard`, `studio`, `tour`.

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

    run = command("run", "running", "run a page, a GraphDef or a saved model and show the results")
    run.add_argument(
        "file",
        metavar="PAGE|GRAPH|MODEL",
        help="a page (.page.json), a GraphDef (.pb, .pbtxt) or the folder of a saved model",
    )
    run.add_argument("--run", dest="runs", action="append", default=[], metavar="NAME", help="a run of the page; all")
    run.add_argument(
        "--signature", default="", metavar="NAME", help="of a saved model; serving_default or the only one"
    )
    run.add_argument("--steps", type=_natural, default=1, metavar="N", help="call the signature so often; 1")
    run.add_argument("--state", metavar="FILE.npz", help="variables of the saved model: read if there, written after")
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

    export = command("export", "exporting", "write a page as a Python script, a GraphDef, a drawing or a web page")
    export.add_argument("file", metavar="PAGE", help="the page")
    export.add_argument("--to", required=True, choices=("python", "graphdef", "svg", "html"), help="what to write")
    export.add_argument("--out", metavar="FILE", help="the file to write; without it, standard output")

    importer = command("import", "importing", "make a page of a GraphDef or a saved model of TensorFlow")
    importer.add_argument(
        "file", metavar="GRAPH|MODEL", help="a GraphDef (.pb, or .pbtxt in text form), or the folder of a saved model"
    )
    importer.add_argument("--signature", default="", metavar="NAME", help="of a saved model; without it, all of them")
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
    studio.add_argument(
        "folder",
        nargs="?",
        default=".",
        metavar="FOLDER|RECORD",
        help="the folder of pages, this one; or what gradbag.capture has saved",
    )
    studio.add_argument("--port", type=int, metavar="N", help="the port to use; without it, a free one")
    studio.add_argument("--no-browser", action="store_true", help="print the address and open nothing")

    _shard(command("shard", "sharding", "plan a table on several hosts, or check how fast they exchange rows"))
    command("tour", "touring", "see what the library does, in two minutes")
    return parser


def _natural(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


def _shard(shard: Any) -> None:
    actions = shard.add_subparsers(dest="action", required=True, metavar="ACTION")
    plan = actions.add_parser("plan", help="memory, bytes and time of a step on each host, by a cost model")
    plan.add_argument("rows", type=int, metavar="ROWS", help="of the whole table")
    plan.add_argument("columns", type=int, metavar="COLUMNS", help="of a row")
    plan.add_argument("--hosts", type=int, required=True, metavar="N", help="how many share it")
    plan.add_argument("--batch", type=int, default=8192, metavar="BAGS", help="on each host; 8192")
    plan.add_argument("--bag", type=int, default=20, metavar="IDS", help="in each bag; 20")
    plan.add_argument("--zipf", type=float, default=1.05, metavar="A", help="how unevenly ids occur; 1.05")
    plan.add_argument("--dtype", default="float32", choices=("float32", "float64", "float16", "bfloat16"))
    plan.add_argument("--optimizer", default="RowAdagrad", metavar="NAME", help="of gradbag.optim; RowAdagrad")
    plan.add_argument("--partition", default="mod", choices=("div", "mod", "hash"))
    plan.add_argument("--gigabits", type=float, default=10.0, metavar="G", help="a second, of the link of a host; 10")
    plan.add_argument("--cores", type=int, default=8, metavar="N", help="of a host; 8")
    check = actions.add_parser("check", help="exchange rows by torchrun or Ray, and tell how fast")
    check.add_argument("--megabytes", type=int, default=64, metavar="MB", help="of an exchange; 64")
    check.add_argument("--repeat", type=int, default=10, metavar="N", help="how often; 10")
    check.add_argument("--ray", action="store_true", help="on the nodes of the Ray cluster that runs, or RAY_ADDRESS")


if __name__ == "__main__":
    sys.exit(main())
