"""The command line: `gradbag ops`, `gradbag tour`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import gradbag

from . import kernels, pages, raw_ops
from .spec import Op, registry
from .terminal import Terminal


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        answer: int = options.run(options)
    except gradbag.Error as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        sys.stderr.close()
        return 0
    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gradbag", description="Sparse gradients for every array framework.")
    native = "native kernels" if kernels.available() else "NumPy only: the native kernels are not installed"
    parser.add_argument("--version", action="version", version=f"gradbag {gradbag.__version__} ({native})")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    ops = commands.add_parser("ops", help="list the ops, or show one op's page")
    ops.add_argument("name", nargs="?", help="the op, by its full name or a part of it")
    form = ops.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print what an editor needs, for machines")
    form.add_argument("--markdown", action="store_true", help="print the page as Markdown")
    ops.set_defaults(run=_ops)

    tour = commands.add_parser("tour", help="see what the library does, in two minutes")
    tour.set_defaults(run=_tour)
    return parser


def _tour(options: argparse.Namespace) -> int:
    from . import tour

    tour.main()
    return 0


def _ops(options: argparse.Namespace) -> int:
    found = _find(options.name)
    if not found:
        print(f"gradbag: no op is called {options.name!r}; `gradbag ops` lists them all", file=sys.stderr)
        return 2
    if options.json:
        blocks = [pages.block(op) for op in found]
        print(json.dumps(blocks[0] if options.name and len(blocks) == 1 else blocks, indent=2))
    elif options.markdown:
        print("\n".join(pages.markdown(op) for op in found))
    elif len(found) == 1:
        _page(found[0], Terminal())
    else:
        _catalogue(found, Terminal())
    return 0


def _find(name: str | None) -> list[Op]:
    """All ops, the op of that name, or the ops whose names contain it."""
    if name is None:
        return list(registry)
    if name in registry:
        return [registry[name]]
    wanted = name.replace("_", "").lower()
    exact = [op for op in registry if op.name.lower() == wanted]
    return exact or [op for op in registry if wanted in op.name.lower()]


def _catalogue(found: Sequence[Op], terminal: Terminal) -> None:
    for category in dict.fromkeys(op.category for op in found):
        rows = [(op.name, pages.summary(op)) for op in found if op.category == category]
        terminal.table(("op", "what it does"), rows, title=category.replace("_", " "))
    terminal.text(f"{len(found)} ops. `gradbag ops NAME` shows one.")


def _page(op: Op, terminal: Terminal) -> None:
    terminal.heading(op.name)
    terminal.text(pages.summary(op))
    if pages.details(op):
        terminal.verbatim("\n" + pages.details(op) + "\n")
    columns = ("", "dtype", "shape", "")
    terminal.table(columns, [(a.name, a.dtype, f"[{a.shape}]", a.doc) for a in op.inputs], title="inputs")
    if op.attrs:
        terminal.table(columns, [(a.name, "bool", f"= {a.default}", a.doc) for a in op.attrs], title="settings")
    terminal.table(columns, [(a.name, a.dtype, f"[{a.shape}]", a.doc) for a in op.outputs], title="outputs")
    terminal.table(
        ("type", "may be"), [(name, ", ".join(allowed)) for name, allowed in op.types.items()], title="dtypes"
    )
    if op.sized_outputs:
        terminal.text(pages.out_text(op))
    terminal.text(pages.gradient_text(op))
    terminal.heading("Example")
    terminal.verbatim(f"{pages.example_call(op)}\n")
    answer = getattr(raw_ops, op.name)(**op.example.inputs)
    for arg, value in zip(op.outputs, answer if op.result is not None else [answer], strict=True):
        terminal.verbatim(f"{arg.name} =", style="")
        terminal.verbatim(pages.show(value) + "\n", style="green")


if __name__ == "__main__":
    sys.exit(main())
