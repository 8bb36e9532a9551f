"""From the folder of a saved model to a graph whose variables have their values, without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors
from ...ops.array.lookup_tables import pairs
from ..bulk import in_bulk
from ..graph import Graph, Output
from ..graphdef.attrs import by_name
from ..graphdef.files import read_message
from ..graphdef.inlining import Inliner
from ..graphdef.library import Library
from ..graphdef.loading import CONSTANT_LIMIT, FILE_LIMIT, built
from ..graphdef.references import Reference, parse
from ..graphdef.tensors import Budget, read_tensor
from ..session import ClientSession
from .bundle import Bundle
from .signatures import FIRST, Signature, chosen, described

Array = np.ndarray[Any, Any]
FILE = "saved_model.pb"
_MAIN_OPS = ("saved_model_main_op", "legacy_init_op")


@dataclass(frozen=True)
class SavedModel:
    """A graph with its signatures, and a session that has the values of its variables."""

    graph: Graph
    signatures: Mapping[str, Signature]
    session: ClientSession

    def signature(self, name: str = "") -> Signature:
        """One by its name; without one, the serving one or the only one."""
        return self.signatures[chosen(name, self.signatures, "the saved model")]

    def run(self, feeds: Mapping[str, Any] | None = None, signature: str = "", **more: Any) -> dict[str, Array]:
        """Call a signature; variables that it changes stay changed for the next call."""
        called = self.signature(signature)
        given = {**(feeds or {}), **more}
        for name in given:
            if name not in called.inputs:
                raise errors.InvalidArgumentError(f"{name!r} is no input; there are {', '.join(called.inputs)}")
        fed = {called.inputs[name]: value for name, value in given.items()}
        return dict(zip(called.outputs, self.session.run(fed, list(called.outputs.values())), strict=True))


@in_bulk
def load_saved_model(
    folder: str | Path,
    signatures: Sequence[str] | None = None,
    *,
    tags: Sequence[str] = ("serve",),
    file_limit: int = FILE_LIMIT,
    constant_limit: int = CONSTANT_LIMIT,
) -> SavedModel:
    """A saved model of TensorFlow: `saved_model.pb`, and the variables and assets beside it.

    Only what the signatures need is loaded: all of them, or those that are named, where "" is the serving one or the
    only one. `tags` choose the graph where a file has several. The limits are those of `load_graphdef`.
    """
    where = Path(folder)
    model = read_message("SavedModel", where / FILE, file_limit)
    meta = _tagged(model, tags, where)
    known = described(meta)
    wanted = list(known) if signatures is None else [chosen(name, known, str(where)) for name in signatures]
    budget = Budget(constant_limit)
    inliner = Inliner(Library(meta.graph_def.library, meta.graph_def.node))
    inliner.write_out(meta.graph_def.node)
    outputs = [(name, {e.key: inliner.source(parse(e.value.name)) for e in known[name].outputs}) for name in wanted]
    inputs = {name: {e.key: inliner.source(parse(e.value.name)) for e in known[name].inputs} for name in wanted}
    kept = _Kept(inliner, where, budget, {parse(a.tensor_info.name)[0]: a.filename for a in meta.asset_file_def})
    first = [name for name in _first(meta) if kept.must_run(name)]
    ends = [node for _, refs in outputs for node, _ in refs.values()] + first
    ends += [node for refs in inputs.values() for node, _ in refs.values()]
    graph = built(inliner, budget, ends)
    session = ClientSession(graph)
    for name, value in kept.values(graph).items():
        session.set_variable(name, value)
    if first:
        session.run(run_only=first)
    made = {
        name: Signature(*({key: _output(graph, ref) for key, ref in refs.items()} for refs in (inputs[name], outs)))
        for name, outs in outputs
    }
    return SavedModel(graph, made, session)


def _tagged(model: Any, tags: Sequence[str], where: Path) -> Any:
    if not model.meta_graphs:
        raise errors.InvalidArgumentError(f"{where / FILE} has no graph")
    for meta in model.meta_graphs:
        if set(tags) <= set(meta.meta_info_def.tags):
            return meta
    if len(model.meta_graphs) == 1:
        return model.meta_graphs[0]
    known = "; ".join(", ".join(meta.meta_info_def.tags) for meta in model.meta_graphs)
    raise errors.InvalidArgumentError(f"{where / FILE} has no graph with the tags {', '.join(tags)}; it has {known}")


def _output(graph: Graph, reference: Reference) -> Output:
    return Output(graph.node(reference[0]), reference[1])


def _first(meta: Any) -> list[str]:
    """The nodes that must run once, before anything else."""
    for entry in meta.signature_def:
        if entry.key == FIRST:
            return [parse(e.value.name)[0] for e in entry.value.outputs]
    for collection in meta.collection_def:
        if collection.key in _MAIN_OPS:
            return [parse(name)[0] for name in collection.value.node_list.value]
    return []


class _Kept:
    """What the model keeps beside its graph: values of variables, keys and values of tables, vocabularies."""

    def __init__(self, inliner: Inliner, where: Path, budget: Budget, assets: Mapping[str, str]) -> None:
        self.inliner, self.where, self.budget, self.assets = inliner, where, budget, assets
        self.calls = {call.name: call for call in inliner.calls}
        index = where / "variables" / "variables.index"
        self.bundle = Bundle(index.with_name("variables")) if index.exists() else None
        self.restored: dict[str, list[Reference]] = {}  # variable or table to what it is given
        self.files: dict[str, tuple[str, Any]] = {}  # tables that are filled from a file: the asset, and how
        given_to = {
            self._behind(call.inputs[0])[0]: call.inputs[1] for call in inliner.calls if call.op == "AssignVariableOp"
        }
        for call in inliner.calls:
            if call.op in ("AssignVariableOp", "Assign", "LookupTableImportV2"):
                given = [self._behind(reference) for reference in call.inputs]
                if all(self.calls[name].op == "RestoreV2" for name, _ in given[1:]):
                    self.restored[given[0][0]] = given[1:]
            elif call.op == "InitializeTableFromTextFileV2":
                table, file = (self._behind(reference)[0] for reference in call.inputs)
                if self.calls[file].op == "ReadVariableOp":  # the name of the file is kept in a variable
                    variable = self._behind(self.calls[file].inputs[0])[0]
                    file = self._behind(given_to[variable])[0] if variable in given_to else file
                self.files[table] = file, call.proto
        self._restore_originals()

    def _restore_originals(self) -> None:
        """Keras 3 saves copies of its variables, each of which begins as the original that the signature reads."""
        for call in self.inliner.calls:
            if call.op == "AssignVariableOp":
                copy, source = (self.calls[self._behind(reference)[0]] for reference in call.inputs)
                if copy.name in self.restored and source.op == "ReadVariableOp":
                    self.restored.setdefault(self._behind(source.inputs[0])[0], self.restored[copy.name])

    def must_run(self, name: str) -> bool:
        """Whether there is something to do at first; what only fills tables from files is done without a graph."""
        waiting, seen = [name], set()
        while waiting:
            call = self.calls.get(waiting.pop())
            if call is None or call.name in seen:
                continue
            seen.add(call.name)
            names_file = call.op == "AssignVariableOp" and self._behind(call.inputs[1])[0] in self.assets
            if call.op == "InitializeTableFromTextFileV2" or names_file:
                call.op, call.inputs, call.proto = "NoOp", [], None
            waiting += [self.inliner.source(reference)[0] for reference in call.inputs] + call.control
        return any(self.calls[one].op not in ("NoOp", "Const", "HashTableV2") for one in seen)

    def values(self, graph: Graph) -> dict[str, Array]:
        """The values of those variables and tables that the graph has."""
        found: dict[str, Array] = {}
        for name, references in self.restored.items():
            if name in graph:
                arrays = [self._restored(reference) for reference in references]
                found[name] = arrays[0] if len(arrays) == 1 else pairs(arrays[0], arrays[1])
        for name, (asset, proto) in self.files.items():
            if name in graph:
                found[name] = self._vocabulary(asset, by_name(proto.attr))
        return found

    def _behind(self, reference: Reference) -> Reference:
        """What a value is, behind the nodes that only hand it on."""
        source = self.inliner.source(reference)
        while self.calls[source[0]].op == "Identity":
            source = self.inliner.source(self.calls[source[0]].inputs[0])
        return source

    def _restored(self, reference: Reference) -> Array:
        call = self.calls[reference[0]]
        names = self._constant(call.inputs[1])
        if self.bundle is None or reference[1] >= names.size:
            raise errors.InvalidArgumentError(f"{self.where} has no variables for the node {call.name!r}")
        name = names.reshape(-1)[reference[1]]
        return self.bundle.read(name.decode() if isinstance(name, bytes) else name, self.budget)

    def _constant(self, reference: Reference) -> Array:
        call = self.calls[self._behind(reference)[0]]
        if call.op != "Const" or call.proto is None:
            raise errors.InvalidArgumentError(f"the node {call.name!r} must be a constant")
        return read_tensor(by_name(call.proto.attr, call.given)["value"].tensor, self.budget)

    def _vocabulary(self, asset: str, given: Mapping[str, Any]) -> Array:
        """The table of a text file in the folder of assets; a graph cannot name any other file."""
        if asset not in self.assets:
            raise errors.InvalidArgumentError(f"the node {asset!r} names a file that is no asset of {self.where}")
        path = self.where / "assets" / Path(self.assets[asset]).name
        self.budget.take(path.stat().st_size)
        lines = (
            path.read_bytes().decode("utf-8", "replace").splitlines()[given["offset"].i if "offset" in given else 0 :]
        )
        size = given["vocab_size"].i if "vocab_size" in given else -1
        lines = lines[:size] if size >= 0 else lines
        delimiter = given["delimiter"].s.decode() if "delimiter" in given else "\t"
        columns = [_column(lines, given[name].i, delimiter, str(path)) for name in ("key_index", "value_index")]
        return pairs(columns[0], columns[1])


def _column(lines: Sequence[str], index: int, delimiter: str, where: str) -> Array:
    """What a table takes from each line of a file: -1 its number, -2 all of it, else a column."""
    if index == -1:
        return np.arange(len(lines))
    found = np.empty(len(lines), object)
    for number, line in enumerate(lines):
        parts = [line] if index == -2 else line.split(delimiter)
        if index >= len(parts):
            raise errors.InvalidArgumentError(f"{where}: line {number + 1} has no column {index}")
        found[number] = parts[max(index, 0)]
    return found
