"""Look-ups in the rows of all ranks as steps of PyTorch's tape, and their transposes, to the second order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from .. import errors, raw_ops
from ..adapters.torch.bags import to_array, to_tensor
from ..sharding import Entries, Part, Prepared, look_up, send_back
from ..sharding.pooling import taken as taken_rows
from .entries import also
from .wire import GroupWire

NAME = "ShardedEmbeddingBag"


class Call(NamedTuple):
    """A batch on its way: who carries it, what is asked, and the layers whose rows are looked up."""

    wire: GroupWire
    prepared: Prepared
    layers: list[Any]

    @property
    def size(self) -> int:
        return len(self.layers)

    @property
    def tables(self) -> list[Any]:
        """Those that make their step in backward, or None."""
        return [layer.table for layer in self.layers]


def array_of(tensor: Any) -> Any:
    return to_array(NAME, "tensor", tensor.detach().contiguous())


# ------------------------------------------------------------------ forward
class LookUp(torch.autograd.Function):  # type: ignore[misc]
    """(call, a tensor of this rank's rows for each feature, weights of the entries of each) to combined rows."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
        tables, weights = tensors[: call.size], tensors[call.size :]
        ctx.call = call
        ctx.save_for_backward(*tensors)
        sources = [
            array_of(tensor) if table is None else table for tensor, table in zip(tables, call.tables, strict=True)
        ]
        found = look_up(call.wire, call.prepared, sources)
        ctx.rows = [rows if each is not None else None for (_, rows), each in zip(found, weights, strict=True)]
        dtypes = [each.dtype for each in tables]
        return tuple(to_tensor(pooled).to(dtype) for (pooled, _), dtype in zip(found, dtypes, strict=True))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call: Call = ctx.call
        tables, weights = ctx.saved_tensors[: call.size], ctx.saved_tensors[call.size :]
        of_weights = [
            _weights_gradient(call, place, tables[place], weights[place], ctx.rows[place], grads[place])
            if ctx.needs_input_grad[1 + call.size + place]
            else None
            for place in range(call.size)
        ]
        if torch.is_grad_enabled():
            if any(table is not None for table in call.tables):
                wanted = "None where backward is differentiated again (create_graph=True)"
                raise also(RuntimeError, errors.unfit(NAME, "optimizer", wanted, "one whose step has no gradient"))
            of_tables = Scatter.apply(call, [len(table) for table in tables], *grads, *weights)
            return None, *of_tables, *of_weights
        entries = send_back(call.wire, call.prepared, [array_of(grad) for grad in grads])
        of_tables = [_moved(call.layers[place], each, tables[place]) for place, each in enumerate(entries)]
        return None, *of_tables, *of_weights


def _moved(layer: Any, entries: Entries, like: Any) -> Any:
    """The sparse gradient of this rank's rows, or None where they have moved already."""
    layer.moves.note(entries.rows)
    if layer.table is not None:
        layer.table.step(entries.bags(), entries.grads, combiner="sum")
        return None
    return _gradient(entries, like)


def _gradient(entries: Entries, like: Any) -> Any:
    touched, gradient = entries.gradient(len(like))
    places = torch.from_numpy(np.asarray(touched, np.int64))[None]
    values = to_tensor(gradient).to(like.dtype)
    return torch.sparse_coo_tensor(places, values, like.shape, is_coalesced=True, check_invariants=False)


# ------------------------------------------------------------------ gradients of weights
def _weights_gradient(call: Call, place: int, table: Any, weights: Any, rows: Any, grad: Any) -> Any:
    """What the weights get, of the rows that are here; as on one process, whose table they are."""
    feature, route = call.prepared.pairs_of_routes()[place]
    again = torch.is_grad_enabled()
    found = Fetch.apply(call, place, table) if again else to_tensor(rows).to(grad.dtype)
    with torch.enable_grad():
        leaf = weights if again else weights.detach().requires_grad_()
        offsets = torch.from_numpy(np.array(feature.bags.offsets))
        places = torch.from_numpy(np.array(route.rows.places))
        pooled = raw_ops.EmbeddingBag(table=found, ids=places, offsets=offsets, weights=leaf, combiner=feature.combiner)
        return torch.autograd.grad(pooled, leaf, grad, create_graph=again)[0]


class Fetch(torch.autograd.Function):  # type: ignore[misc]
    """The distinct rows of a feature, from wherever they are."""

    @staticmethod
    def forward(ctx: Any, call: Call, place: int, table: Any) -> Any:
        ctx.call, ctx.place, ctx.shape = call, place, table.shape
        given, came = call.prepared._counts(place, 0)
        rows = taken_rows(array_of(table), call.prepared.asked[place].rows)
        return to_tensor(call.wire.swap([Part(rows, came, given)])[0])

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Any) -> Any:
        given, came = ctx.call.prepared._counts(ctx.place, 0)
        (theirs,) = ctx.call.wire.swap([Part(array_of(grad), given, came)])
        places = torch.from_numpy(np.asarray(ctx.call.prepared.asked[ctx.place].rows, np.int64))
        return None, None, grad.new_zeros(ctx.shape).index_add_(0, places, to_tensor(theirs))


# ------------------------------------------------------------------ backward, where it is differentiated again
class Scatter(torch.autograd.Function):  # type: ignore[misc]
    """(call, rows of this rank in each table, gradients of combined rows, weights) to dense gradients of the rows."""

    @staticmethod
    def forward(ctx: Any, call: Call, sizes: list[int], *tensors: Any) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        grads = tensors[: call.size]
        entries = send_back(call.wire, call.prepared, [array_of(grad) for grad in grads])
        return tuple(
            _gradient(each, grad.new_empty((size, grad.shape[1]))).to_dense()
            for each, grad, size in zip(entries, grads, sizes, strict=True)
        )

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call: Call = ctx.call
        grads, weights = ctx.saved_tensors[: call.size], ctx.saved_tensors[call.size :]
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            leaves = [each if again or each is None else each.detach().requires_grad_() for each in weights]
            rows = LookUp.apply(call, *cotangents, *leaves)
            wanted = [place for place in range(call.size) if ctx.needs_input_grad[2 + call.size + place]]
            of_weights: list[Any] = [None] * call.size
            if wanted:
                found = torch.autograd.grad(
                    rows, [leaves[place] for place in wanted], grads, create_graph=again, allow_unused=True
                )
                for place, each in zip(wanted, found, strict=True):
                    of_weights[place] = each
        return None, None, *(row if again else row.detach() for row in rows), *of_weights
