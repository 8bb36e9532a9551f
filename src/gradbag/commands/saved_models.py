"""A saved model on the command line: a signature is run by the names of what it takes and gives."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..graph.cache import new_token
from ..graph.graph import Output
from ..graph.saved_model import SavedModel, load_saved_model
from ..graph.session import ClientSession
from ..page import data_files
from ..page.running import Answer
from ..terminal import Progress
from . import UsageError, results
from .opening import fed

Array = np.ndarray[Any, Any]


def run_model(folder: Path, options: argparse.Namespace, feeds: Mapping[str, Any]) -> Answer:
    """Call a signature, as often as it is said, with the state of the last time if it was kept."""
    if options.runs:
        raise UsageError("a saved model has no runs; --signature says what to call")
    model = load_saved_model(folder, [options.signature])
    name, signature = next(iter(model.signatures.items()))
    state = Path(options.state) if options.state else None
    session = model.session if state is None or not state.exists() else _restored(model, state)
    wanted = {
        fetch: _port(model, f"--fetch {fetch}", fetch, name, signature.outputs)
        for fetch in options.fetch or signature.outputs
    }
    places = {feed: _port(model, f"--feed {feed}", feed, name, signature.inputs) for feed in feeds}
    given = {place: fed(feed, feeds[feed], place.dtype) for feed, place in places.items()}
    missing = [port for port, place in signature.inputs.items() if place not in given]
    if missing and not options.fetch:
        raise UsageError(f"{name}{signature}: say what {', '.join(missing)} shall be, with --feed")
    answer = Answer()
    with Progress() as told:
        for step in range(options.steps):
            last = step == options.steps - 1
            values = session.run(
                given,
                list(wanted.values()),
                report=answer.report if last else None,
                progress=(lambda done, total, _: told("", done, total)) if options.steps == 1 else None,
            )
            if options.steps > 1:
                told("", step + 1, options.steps)
    answer.fetches = dict(zip(wanted, values, strict=True))
    if state is not None:
        results.write_npz(state, {name: value for name, (value, _) in session.variables.items()})
    return answer


def _port(model: SavedModel, what: str, name: str, signature: str, ports: Mapping[str, Output]) -> Output:
    """What a name means: a port of the signature, or any node of the graph."""
    if name in ports:
        return ports[name]
    try:
        return model.session.find(name)
    except errors.Error:
        known = ", ".join(ports) or "none"
        raise UsageError(f"{what}: {signature} has {known}, and the graph has no node of this name") from None


def _restored(model: SavedModel, path: Path) -> ClientSession:
    """A session with the values that an earlier run has left in a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = sum(entry.file_size for entry in archive.infolist())
            if sizes > data_files.MOST_BYTES:
                raise errors.ResourceExhaustedError(
                    f"{path} has {errors.in_bytes(sizes)}; at most {errors.in_bytes(data_files.MOST_BYTES)} are read"
                )
            kept = {
                entry.filename.removesuffix(".npy"): data_files.parse(archive.read(entry), f"{path}: {entry.filename}")
                for entry in archive.infolist()
            }
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as problem:
        raise errors.InvalidArgumentError(f"{path} is no .npz file: {problem}") from None
    state = {name: (value, new_token()) for name, value in kept.items()}
    session = ClientSession(model.graph, variables={**model.session.variables, **state})
    for name, held in state.items():
        if session.variables.get(name) is not held:
            raise errors.InvalidArgumentError(
                f"{path}: {errors.shown(name)!r} is no variable of the model, or of another shape"
            )
    return session
