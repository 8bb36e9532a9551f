"""What a module of PyTorch does with its tables, seen through hooks, which get values to look at and give none back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from .. import eager
from ..capturing.seen import Seen
from ..spec import registry
from .entries import Entries, entries_of, without
from .grouped import GroupedEmbeddingBag


class Watching:
    """Every `nn.Embedding`, `nn.EmbeddingBag`, `gradbag.torch.EmbeddingBag` and `GroupedEmbeddingBag` in a module."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._hooks: list[Any] = []

    def begin(self, seen: Seen) -> None:
        names: dict[int, str] = {}  # a table that two layers share is one
        for path, layer in self._model.named_modules():
            if isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
                tables, hook = [layer.weight], _looked_up
            elif isinstance(layer, GroupedEmbeddingBag):
                tables, hook = list(layer.weights), _looked_up_in_groups
            else:
                continue
            for number, table in enumerate(tables):
                name = ".".join(filter(None, [path, "" if len(tables) == 1 else str(number)])) or "table"
                if id(table) not in names:
                    names[id(table)] = name
                    rows, columns = table.shape
                    seen.add_table(name, rows, columns, str(table.dtype).removeprefix("torch."))
                    if table.requires_grad and getattr(layer, "fused", None) is None:
                        self._hooks.append(table.register_hook(partial(_graded, seen, name)))
            ours = [names[id(table)] for table in tables]
            self._hooks.append(layer.register_forward_hook(partial(hook, seen, ours), with_kwargs=True))
        self._hooks.append(self._model.register_forward_pre_hook(partial(_begun, seen)))

    def end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []


def _begun(seen: Seen, *_: Any) -> None:
    if not torch.is_grad_enabled():  # no gradient will say that the step is over
        seen.step()


# ------------------------------------------------------------------ look-ups
def _looked_up(seen: Seen, names: list[str], layer: Any, args: Any, kwargs: Any, output: Any) -> None:
    if torch.compiler.is_compiling():
        return
    input, offsets, weights = _given(args, kwargs, "input")
    padding = layer.padding_idx
    if isinstance(layer, nn.EmbeddingBag):
        entries = entries_of(layer.weight, input, offsets, weights, layer.include_last_offset)
    else:
        length = input.shape[-1] if input.ndim > 1 else 1
        entries = Entries(input.reshape(-1), torch.arange(input.numel() // max(length, 1)) * length)
    ids, starts, weights = map(_array_or_none, entries)
    seen.looked_up(names[0], ids, starts, _array(output), padding)
    if getattr(layer, "fused", None) is not None and output.requires_grad:
        if padding is not None:
            ids, starts, weights = map(_array_or_none, without(padding, entries, layer.num_embeddings))
        parts = [(names[0], layer.weight, ids, starts, weights, slice(None))]
        output.register_hook(partial(_graded_through, seen, layer.mode, parts))


def _looked_up_in_groups(seen: Seen, names: list[str], layer: Any, args: Any, kwargs: Any, output: Any) -> None:
    if torch.compiler.is_compiling():
        return
    ids, starts, weights = layer._entries(*_given(args, kwargs, "ids"))
    ids, bounds = _array(ids), np.append(_array(starts).reshape(-1), len(ids))
    parts, column = [], 0
    for feature, table in enumerate(layer.feature_table_map):
        begins = bounds[feature * starts.shape[1] :][: starts.shape[1] + 1]
        own, columns = slice(begins[0], begins[-1]), slice(column, column + layer.embedding_specs[table][1])
        column = columns.stop
        seen.looked_up(names[table], ids[own], begins[:-1] - begins[0], _array(output[:, columns]), None)
        some = None if weights is None else _array(weights[own])
        parts.append((names[table], layer.weights[table], ids[own], begins[:-1] - begins[0], some, columns))
    if layer.fused is not None and output.requires_grad:
        output.register_hook(partial(_graded_through, seen, layer.mode, parts))


def _given(args: Any, kwargs: Any, first: str) -> list[Any]:
    names = (first, "offsets", "per_sample_weights")
    given = dict(zip(names, args, strict=False)) | kwargs
    return [given.get(name) for name in names]


# ------------------------------------------------------------------ gradients
def _graded(seen: Seen, name: str, grad: Any) -> None:
    if torch.compiler.is_compiling():
        return
    if grad.is_sparse:
        rows = grad.detach().coalesce()
        seen.graded(name, _array(rows.indices()[0]), _array(rows.values()))
    else:
        seen.graded(name, None, _array(grad))


def _graded_through(seen: Seen, mode: str, parts: list[Any], grad: Any) -> None:
    """Where backward itself makes the step, the gradient of a table is worked out here."""
    for name, table, ids, starts, weights, columns in parts:
        given = [_array(grad[:, columns]), ids, starts, weights, table.shape[0]]
        rows, indices = eager.run(registry["EmbeddingBagGrad"], given, {"combiner": mode})
        seen.graded(name, indices, rows)


def _array(tensor: Any) -> Any:
    """The numbers of a tensor, wherever it lies; NumPy has no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()


def _array_or_none(tensor: Any) -> Any:
    return None if tensor is None else _array(tensor)
