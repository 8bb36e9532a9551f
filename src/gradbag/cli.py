"""The command line: `gradbag run`, `check`, `export`, `import`, `diff`, `ops`, `tour`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gradbag

from . import kernels
from .commands import checking, differences, exporting, importing, ops, running, touring
from .commands.opening import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        answer: int = options.run(options)
        sys.stdout.flush()  # a reader that is gone shows here, not after the end
    except UsageError as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return 2
    except gradbag.Error as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return int(getattr(options, "failed", 1))
    except BrokenPipeError:  # the reader, say `head`, has seen enough
        sys.stderr.close()
        return 0
    except OSError as problem:
        print(f"gradbag: {problem}", file=sys.stderr)
        return int(getattr(options, "failed", 1))
    except KeyboardInterrupt:
        print("gradbag: stopped", file=sys.stderr)
        return 130
    return answer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gradbag", description="Sparse gradients for every array framework.")
    native = "native kernels" if kernels.available() else "NumPy only: the native kernels are not installed"
    parser.add_argument("--version", action="version", version=f"gradbag {gradbag.__version__} ({native})")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (running, checking, exporting, importing, differences, ops, touring):
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
