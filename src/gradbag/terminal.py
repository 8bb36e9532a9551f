"""Tables and headings on the terminal: with rich where it is installed, in plain text elsewhere."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import Any

try:
    import rich.box
    import rich.columns
    import rich.console
    import rich.progress
    import rich.table
    import rich.text
except ModuleNotFoundError:  # the `cli` extra was not asked for
    RICH = False
else:
    RICH = True

Rows = Sequence[Sequence[str]]


def _console() -> Any:
    class Console(rich.console.Console):
        def on_broken_pipe(self) -> None:
            """The reader, say `head`, has seen enough: rich would call that a failure."""
            try:
                super().on_broken_pipe()
            except SystemExit:
                raise SystemExit(0) from None

    return Console(highlight=False)


class Terminal:
    """Where the commands write."""

    def __init__(self) -> None:
        self.rich: Any = _console() if RICH else None
        self.width: int = self.rich.width if self.rich else shutil.get_terminal_size().columns

    def heading(self, text: str) -> None:
        if self.rich:
            self.rich.print()
            self.rich.rule(rich.text.Text(text, "bold"), align="left")
        else:
            print(f"\n{text}\n{'-' * len(text)}")

    def text(self, text: str, style: str = "") -> None:
        """A paragraph, wrapped to the terminal's width."""
        if self.rich:
            self.rich.print(rich.text.Text(text, style))
        else:
            print("\n".join(textwrap.fill(line, self.width) for line in text.split("\n")))

    def line(self, text: str, style: str = "") -> None:
        """One line whatever its length: it names a file, and may be searched for."""
        if self.rich:
            self.rich.print(rich.text.Text(text, style), soft_wrap=True)
        else:
            print(text)

    def verbatim(self, text: str, style: str = "cyan") -> None:
        """Code or formulas: never wrapped."""
        if self.rich:
            self.rich.print(rich.text.Text(textwrap.indent(text, "    "), style, no_wrap=True, overflow="ignore"))
        else:
            print(textwrap.indent(text, "    "))

    def table(self, columns: Sequence[str], rows: Rows, title: str = "") -> None:
        if self.rich:
            self.rich.print(self._table(columns, rows, title))
        else:
            print(plain_table(columns, rows, title))

    def beside(self, tables: Sequence[tuple[str, Sequence[str], Rows]]) -> None:
        """Several small tables (title, columns, rows), beside each other where they fit."""
        if self.rich:
            self.rich.print(rich.columns.Columns([self._table(c, r, t) for t, c, r in tables], padding=(0, 3)))
        else:
            for title, columns, rows in tables:
                print(plain_table(columns, rows, title))

    @staticmethod
    def _table(columns: Sequence[str], rows: Rows, title: str) -> Any:
        made = rich.table.Table(title_justify="left", title_style="bold", box=rich.box.SIMPLE_HEAD)
        made.title, made.min_width = title, len(title) + 1  # a title is never broken over two lines
        for place, column in enumerate(columns):  # the first one has names, which are shown whole
            longest = max((len(row[0]) for row in rows), default=0) if not place else 0
            made.add_column(rich.text.Text(column), min_width=min(longest, 60))
        for row in rows:
            made.add_row(*[rich.text.Text(cell) for cell in row])
        return made


class Progress:
    """A bar on the terminal while a run lasts; nothing for what is over at once, or where nobody looks.

    It goes to standard error, so that results can be read from standard output.
    """

    def __init__(self, patience: float = 0.5) -> None:
        self._bar: Any = None
        self._since, self._patience = time.monotonic(), patience
        self._shown = RICH and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __call__(self, name: str, done: int, total: int) -> None:
        if not self._shown or (self._bar is None and time.monotonic() - self._since < self._patience):
            return
        if self._bar is None:
            self._bar = rich.progress.Progress(console=rich.console.Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(name)
        self._bar.update(self._task, description=name, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def plain_table(columns: Sequence[str], rows: Rows, title: str = "") -> str:
    """Aligned columns without any styling."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(columns, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (columns, *rows)]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join([*([title] if title else []), *lines, ""])
