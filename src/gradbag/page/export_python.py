"""A page as a script: raw ops on NumPy arrays, or the graph's API where the page keeps variables or runs in steps."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import dtypes
from ..graph.graph import Node, Output
from ..spec import Arg
from . import literals
from .checking import inspect
from .drawing import Drawn, refuse
from .model import Page
from .running import Task, labels, node_of, one_output, tasks

Array = np.ndarray[Any, Any]
WIDEST = 110
_TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "ml_dtypes", "raw_ops", "ops", "root", "session"}
_TAKEN |= {"Scope", "ClientSession", "FOLDER", "Path"}


def to_python(page: Page) -> str:
    """A script that computes what the page's runs fetch, and prints it; the same bits come out."""
    drawn = inspect(page)
    refuse(drawn.problems)
    runs = tasks(page)
    graph = drawn.graph
    eager = len(runs) == 1 and runs[0].steps == 1 and not any(node.op.state == "variable" for node in graph)
    writer = Writer(page, drawn)
    body = writer.eager(runs[0]) if eager else writer.session(runs)
    return "\n".join([*writer.head(eager), *body, ""])


class Writer:
    """The names of a script's variables, and its lines."""

    def __init__(self, page: Page, drawn: Drawn) -> None:
        self.page, self.graph = page, drawn.graph
        self.names: dict[str, str] = {}
        self.imports: set[str] = set()
        parts = [part for parts in drawn.parts.values() for part in parts if part.op.name != "Const"]
        named = dict.fromkeys([*page.nodes, *(part.name for part in parts)])
        self.literals = {node for node in self.graph if node.name not in named}  # values that stand in ports
        self._taken = set(_TAKEN)
        for name in named:
            self.names[name] = self._unique(_identifier(name))

    def _unique(self, plain: str) -> str:
        """A name that nothing else in the script has."""
        unique, number = plain, 1
        while unique in self._taken:
            number += 1
            unique = f"{plain}_{number}"
        self._taken.add(unique)
        return unique

    def head(self, eager: bool) -> Iterator[str]:
        yield f'"""{_one_line(self.page.title) or "A page of gradbag"}: written by `gradbag export`."""'
        yield ""
        if "Path" in self.imports:
            yield "from pathlib import Path\n"
        if "ml_dtypes" in self.imports:
            yield "import ml_dtypes"
        yield "import numpy as np\n" if "np" in self.imports else ""
        yield "from gradbag import raw_ops" if eager else "from gradbag.graph import ClientSession, Scope, ops"
        if "Path" in self.imports:
            yield f"\nFOLDER = Path({_quoted(str(self.page.folder))})  # where the page's data files are"
        yield ""

    # ------------------------------------------------------------------ raw ops
    def eager(self, task: Task) -> list[str]:
        wanted = self._fetched(task)
        fed = {one_output(self.page, self.graph, n): (n, v) for n, v in task.feed.items()}
        ends = [*(o.node for o in wanted.values()), *(node_of(self.graph, name) for name in task.only)]
        lines = []
        for node in _needed(ends, fed):
            if node in self.literals:
                continue
            name = self.names[node.name]
            given = [output for output in node.outputs if output in fed]
            if given and len(node.dtypes) == 1:
                literal = self.page.array(fed[given[0]][1], given[0].dtype)
                lines.append(f"{name} = {self.array(literal)}")
            elif node.op.name == "Const":
                lines.append(f"{name} = {self.array(node.attrs['value'])}")
            else:
                call = self._call(f"raw_ops.{node.op.name}", self._keywords(node, fed))
                lines.append(f"{name} = {call}" if node.dtypes else call)
        lines += ["", *(self._print(label, self._read(output)) for label, output in wanted.items())]
        return lines

    def _keywords(self, node: Node, fed: Iterable[Output] = ()) -> dict[str, str]:
        values = [self._value(node, arg, o) for arg, o in zip(*self._flat(node), strict=True)]
        inputs = dict(zip(node.op.input_names, node.op.grouped(node.flat(values)), strict=True))
        return _written(inputs) | self._settings(node)

    @staticmethod
    def _flat(node: Node) -> tuple[list[Arg], tuple[Output, ...]]:
        return node.args, node.inputs

    def _settings(self, node: Node) -> dict[str, str]:
        changed = {a.name: node.attrs[a.name] for a in node.op.attrs if not _is_default(node.attrs[a.name], a.default)}
        return {name: self.array(v) if isinstance(v, np.ndarray) else _setting(v) for name, v in changed.items()}

    def _value(self, node: Node, arg: Arg, source: Output) -> str:
        if source.node not in self.literals:
            return self._read(source)
        array = source.node.attrs["value"]
        plain = len(node.op.allowed(arg)) == 1 and array.dtype.kind in "iub" and array.size
        return repr(array.tolist()) if plain and array.size <= literals.MOST_INLINE else self.array(array)

    def _read(self, output: Output) -> str:
        name = self.names[output.node.name]
        op = output.node.op
        if op.output_lists and op.result is None:  # the answer is the list itself
            return name + output.port.removeprefix(op.outputs[0].name)
        return name if len(op.outputs) == 1 else f"{name}.{output.port}"

    # ------------------------------------------------------------------ the graph's API
    def session(self, runs: list[Task]) -> list[str]:
        nodes = [node for node in self.graph if node not in self.literals]
        lines = ["root = Scope.new_root_scope()"]
        lines += [f"{self.names[node.name]} = {self._construct(node)}" for node in nodes]
        lines.append("session = ClientSession(root)")
        results: dict[str, str] = {}
        variables: dict[Output, str] = {}
        for task in runs:
            lines += ["", f"# {_one_line(task.name)}"]
            lines += self._run(task, results, variables)
        return [*lines, "", *(self._print(label, value) for label, value in results.items())]

    def _construct(self, node: Node) -> str:
        scope = f"root.with_op_name({_quoted(node.name)})"
        if node.control:
            before = ", ".join(f"{self.names[n.name]}.node" for n in node.control)
            scope += f".with_control_dependencies([{before}])"
        if node.op.name == "Const":
            return self._call("ops.Const", {"": scope, "value": self.array(node.attrs["value"])})
        values = [self._graph_value(node, arg, o) for arg, o in zip(*self._flat(node), strict=True)]
        inputs = dict(zip(node.op.input_names, node.op.grouped(node.flat(values)), strict=True))
        return self._call(f"ops.{node.op.name}", {"": scope, **_written(inputs), **self._settings(node)})

    def _graph_value(self, node: Node, arg: Arg, source: Output) -> str:
        if source.node in self.literals:
            return self._value(node, arg, source)
        return f"{self.names[source.node.name]}.{source.port}"

    def _run(self, task: Task, results: dict[str, str], variables: dict[Output, str]) -> Iterator[str]:
        wanted = self._fetched(task)
        only = [f"{self.names[node_of(self.graph, name).name]}.node" for name in task.only]
        empty = [name for name in task.fetch if name in self.graph and not self.graph.node(name).dtypes]
        only += [f"{self.names[name]}.node" for name in empty]
        fed = [(one_output(self.page, self.graph, name), value) for name, value in task.feed.items()]
        feeds = {output: self.page.array(value, output.dtype) for output, value in fed}
        parts: dict[str, str] = {}
        if feeds:
            given = ", ".join(f"{self._output(o)}: {self.array(a)}" for o, a in feeds.items())
            parts["feeds"] = f"{{{given}}}"
        if wanted:
            parts["fetches"] = f"[{', '.join(self._output(o) for o in wanted.values())}]"
        if only:
            parts["run_only"] = f"[{', '.join(only)}]"
        call = self._call("session.run", parts)
        names = []
        for label, output in wanted.items():
            if output not in variables:
                variables[output] = self._unique(f"{self.names[output.node.name]}_{output.port}_value")
            names.append(variables[output])
            results[label] = names[-1]
        assigned = f"{', '.join(names)} = " if len(names) > 1 else f"({names[0]},) = " if names else ""
        if task.steps > 1:
            yield f"for _ in range({task.steps}):"
            yield f"    {assigned}" + call.replace("\n", "\n    ")
        else:
            yield assigned + call

    def _output(self, output: Output) -> str:
        return f"{self.names[output.node.name]}.{output.port}"

    # ------------------------------------------------------------------ text
    def _fetched(self, task: Task) -> dict[str, Output]:
        return {label: o for name in task.fetch for label, o in labels(self.page, self.graph, name).items()}

    @staticmethod
    def _print(label: str, value: str) -> str:
        return f"print({_quoted(label + ' =')}, {value}.tolist())"

    @staticmethod
    def _call(function: str, arguments: Mapping[str, str]) -> str:
        parts = [f"{name}={text}" if name else text for name, text in arguments.items()]
        line = f"{function}({', '.join(parts)})"
        if len(line) <= WIDEST:
            return line
        return f"{function}(\n" + "".join(f"    {part},\n" for part in parts) + ")"

    def array(self, array: Array | None) -> str:
        """An array as Python text that makes the same bits; a large one is read from its data file."""
        assert array is not None
        name = dtypes.name_of(array.dtype)
        path = self._file_of(array)
        if path is not None:
            self.imports |= {"np", "Path"}
            view = ".view(ml_dtypes.bfloat16)" if name == "bfloat16" else ""
            self.imports |= {"ml_dtypes"} if view else set()
            return f"np.load(FOLDER / {_quoted(path)}){view}" + (".astype(object)" if name == "string" else "")
        self.imports.add("np")
        if name in dtypes.QUANTIZED:
            return f"np.array({array.view(array.dtype[0]).tolist()}, np.{array.dtype[0]}).view({array.dtype.descr!r})"
        if name in dtypes.COMPLEX:  # not as `1+2j`, which adds, and so forgets the sign of a zero
            return f"{self.array(np.stack([array.real, array.imag], -1))}.view(np.{name})[..., 0]"
        if name == "bfloat16":
            self.imports.add("ml_dtypes")
        dtype = {"string": "object", "bfloat16": "ml_dtypes.bfloat16"}.get(name, f"np.{name}")
        made = f"np.array({_values(array)}, {dtype})"
        return f"np.empty({array.shape}, {dtype})" if not array.size and array.ndim > 1 else made

    def _file_of(self, array: Array) -> str | None:
        if array.size <= literals.MOST_INLINE:
            return None
        return next((path for (path, _), known in self.page.read_files.items() if known is array), None)


def _identifier(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    return plain if plain and not plain[0].isdigit() else f"node_{plain}"


def _values(array: Array) -> str:
    name = dtypes.name_of(array.dtype)
    if name in dtypes.FLOAT:
        text = repr(literals.to_json(array))
        return re.sub(r"'(-?)(nan|inf)'", r"\1np.\2", text)
    return repr(array.tolist())


def _written(inputs: dict[str, Any]) -> dict[str, str]:
    """What a call says of each input: lists in brackets, nothing of one that is left out."""
    given = {name: value for name, value in inputs.items() if value is not None}
    return {name: f"[{', '.join(v)}]" if isinstance(v, list) else v for name, v in given.items()}


def _is_default(value: Any, default: Any) -> bool:
    return not isinstance(value, np.ndarray) and type(value) is type(default) and value == default


def _setting(value: Any) -> str:
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({_quoted(str(value))})"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """In double quotes, as most code writes text."""
    escaped = text.encode("unicode_escape").decode().replace('"', '\\"')
    return f'"{escaped}"'


def _one_line(text: str) -> str:
    """Text of a page in a comment or a docstring: nothing in it may end the one or the other."""
    return "".join(c if c.isprintable() else " " for c in text).replace("\\", "/").replace('"', "'")[:200].strip()


def _needed(ends: Iterable[Node], fed: Mapping[Output, Any]) -> list[Node]:
    seen: set[Node] = set()
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            if not any(output in fed for output in node.outputs):
                waiting += [source.node for source in node.inputs]
                waiting += node.control
    return sorted(seen, key=lambda node: node.number)
