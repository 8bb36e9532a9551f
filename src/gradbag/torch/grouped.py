"""Many tables in one layer: one call looks up all of them, as FBGEMM's table-batched bags do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from .. import eager, errors, raw_ops
from ..adapters.torch import operators, views
from ..adapters.torch.bags import to_tensor
from ..bags import Bags
from ..ops.combiners import COMBINERS
from ..optim import Optimizer, arrays
from ..optim.entries import of_features
from ..spec import registry
from .entries import Entries, also
from .fused import PREFIX

NAME = "GroupedEmbeddingBag"


class GroupedEmbeddingBag(nn.Module):  # type: ignore[misc]
    """Tables whose rows are looked up in bags, all in one call; the results of all features stand side by side.

        >>> import torch
        >>> import gradbag.torch
        >>> bags = gradbag.torch.GroupedEmbeddingBag([(1000, 16), (50, 4)], feature_table_map=[0, 1, 0])
        >>> ids, offsets = torch.tensor([3, 17, 3, 49, 0, 999]), torch.tensor([0, 2, 3, 4, 5, 5, 6])
        >>> bags(ids, offsets).shape  # three features of two bags
        torch.Size([2, 36])

    `embedding_specs` has rows and columns of each table, `feature_table_map` the table of each feature; without it each
    table has one. `mode` is "sum", "mean" or "sqrtn". Ids and offsets are in FBGEMM's layout: feature after feature,
    bag after bag, with a last offset where the ids end. A `KeyedJaggedTensor` of TorchRec will do in their place, or a
    list or dict of `gradbag.Bags`, one for each feature; where there are names, `feature_names` puts them in order.

    The tables are `weights`, ordinary parameters, with gradients of any order; `sparse=True` makes them sparse tensors.
    With `fused`, an optimizer of `gradbag.optim`, backward itself moves the rows of all tables, in one call again: no
    gradient is made, and each backward of a call is a step. Buffers keep what the optimizer keeps.
    """

    def __init__(
        self,
        embedding_specs: Sequence[tuple[int, int]],
        feature_table_map: Sequence[int] | None = None,
        mode: str = "sum",
        *,
        sparse: bool = False,
        fused: Optimizer | None = None,
        feature_names: Sequence[str] | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        specs = [(int(rows), int(columns)) for rows, columns in embedding_specs]
        if not specs:
            raise errors.unfit(NAME, "embedding_specs", "rows and columns of at least one table", "none")
        if mode not in COMBINERS:
            raise errors.unfit(NAME, "mode", "one of " + ", ".join(map(repr, COMBINERS)), repr(mode))
        features = list(range(len(specs)) if feature_table_map is None else feature_table_map)
        for place, table in enumerate(features):
            if not 0 <= table < len(specs):
                raise errors.invalid(NAME, errors.Fault("range", "feature_table_map", (place,), table, 0, len(specs)))
        if feature_names is not None and len(feature_names) != len(features):
            raise errors.unfit(NAME, "feature_names", f"one for each of {len(features)} features", str(feature_names))
        self.embedding_specs, self.feature_table_map, self.mode, self.sparse = specs, features, mode, sparse
        self.feature_names = None if feature_names is None else list(feature_names)
        self.fused = fused
        tables = [torch.empty(spec, device=device, dtype=dtype) for spec in specs]
        self.weights = nn.ParameterList([nn.Parameter(table) for table in tables])
        self._attrs: dict[str, Any] = {
            "combiner": mode,
            "sparse_gradient": sparse,
            "feature_tables": () if feature_table_map is None else tuple(features),
        }
        self._seen: tuple[tuple[int, ...], list[Any], list[dict[str, Any]]] | None = None
        self.reset_parameters()
        if fused is not None:
            self._keep_state(fused)

    def reset_parameters(self) -> None:
        for table in self.weights:
            nn.init.normal_(table)

    def _keep_state(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise errors.wrong_type(NAME, "fused", ["an optimizer of gradbag.optim"], type(optimizer).__name__)
        if optimizer.is_lazy:
            raise errors.unfit(NAME, "fused", "an optimizer with decay='touched'", "decay='lazy'")
        for number, table in enumerate(self.weights):
            for name, value in optimizer.init(table.detach()).items():
                if name != "step":
                    self.register_buffer(f"{PREFIX}{name}_{number}", value)
        self.register_buffer(f"{PREFIX}step", torch.tensor(0))

    # ------------------------------------------------------------------ look-ups
    def forward(self, ids: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        entries = self._entries(ids, offsets, per_sample_weights)
        tables = self.weights._parameters.values()
        if torch.compiler.is_compiling():
            return self._by_op(tables, entries)
        moves = torch.is_grad_enabled() and any(table.requires_grad for table in tables)
        try:
            if self.fused is not None and moves:
                if not all(table.requires_grad for table in tables):
                    raise errors.unfit(NAME, "weights", "parameters that all require a gradient, or none", "some")
                return _Fused.apply(self, *entries, next(iter(tables)))
            of_weights = entries.weights is not None and entries.weights.requires_grad
            if moves or (torch.is_grad_enabled() and of_weights):
                return self._by_op(tables, entries)
            return self._at_once(entries)
        except errors.Error as problem:
            raise also(RuntimeError, problem) from None

    def _by_op(self, tables: Any, entries: Entries) -> Any:
        ids, starts, weights = entries
        return raw_ops.GroupedEmbeddingBag(tables=list(tables), ids=ids, offsets=starts, weights=weights, **self._attrs)

    def _at_once(self, entries: Entries) -> Any:
        """Without a tape: on the memory of the tables, which need not be found anew in each call."""
        tables, _ = self._memory()
        values = [*tables, *map(_array, entries)]
        answer = eager.shortcut(_GROUPED, values, self._attrs)
        if answer is NotImplemented:
            answer = eager.answer(_GROUPED, values, self._attrs)
        return views.to_tensor(answer)

    def _memory(self) -> tuple[list[Any], list[dict[str, Any]]]:
        """The memory of the tables, and of what the optimizer keeps of each, as arrays."""
        tensors = [*self.weights._parameters.values(), *self._buffers.values()]
        places = tuple([tensor.data_ptr() for tensor in tensors])
        if self._seen is None or self._seen[0] != places:
            tables = [_array(table.detach()) for table in self.weights]
            kept = [] if self.fused is None else [state.name for state in self.fused.rule.states]
            states = [
                {name: _array(self._buffers[f"{PREFIX}{name}_{number}"]) for name in kept}
                for number in range(len(tables))
            ]
            self._seen = places, tables, states
        return self._seen[1], self._seen[2]

    def _step(self, entries: Entries, grad: Any) -> None:
        """Move the rows of all tables."""
        assert self.fused is not None
        tables, states = self._memory()
        count = self._buffers[f"{PREFIX}step"]
        assert count is not None
        for state in states:
            state["step"] = int(count)
        bags = tuple(map(_array, entries))
        step = of_features(self.fused, bags, _array(grad), self.mode, self._attrs["feature_tables"])
        arrays.run_many(self.fused, tables, states, step)
        count.fill_(states[0]["step"])
        torch.autograd.graph.increment_version([*self.weights._parameters.values(), *self._buffers.values()])

    # ------------------------------------------------------------------ what a caller may give
    def _entries(self, ids: Any, offsets: Any, weights: Any) -> Entries:
        """Ids, a row of starts for each feature, and weights."""
        if not isinstance(ids, torch.Tensor):
            if offsets is not None or weights is not None:
                raise errors.unfit(NAME, "offsets and per_sample_weights", "None beside bags that have both", "more")
            ids, offsets, weights = self._of_features(ids)
        offsets = torch.as_tensor(offsets)
        features = len(self.feature_table_map)
        if offsets.ndim != 1 or (offsets.shape[0] - 1) % features or not offsets.shape[0]:
            wanted = f"{features} features times bags, and one more"
            raise errors.wrong_shape(NAME, "offsets", wanted, "", offsets.shape)
        if not torch.compiler.is_compiling() and int(offsets[-1]) != ids.shape[0]:
            last = offsets.shape[0] - 1
            hint = f"must be the number of ids, {ids.shape[0]}"
            raise errors.invalid(NAME, errors.Fault("rule", "offsets", (last,), int(offsets[-1]), hint=hint))
        return Entries(ids, offsets[:-1].reshape(features, -1), weights)

    def _of_features(self, given: Any) -> tuple[Any, Any, Any]:
        if hasattr(given, "weights_or_none"):  # of TorchRec
            keys = list(given.keys())
            if (self.feature_names is None or keys == self.feature_names) and len(keys) == len(self.feature_table_map):
                return given.values(), given.offsets(), given.weights_or_none()
            given = Bags.from_keyed_jagged(given)
        if isinstance(given, Mapping):
            missing = [name for name in self.feature_names or () if name not in given]
            if missing:
                raise errors.unfit(NAME, "ids", f"bags of every feature, {missing[0]!r} among them", str(list(given)))
            given = [given[name] for name in self.feature_names] if self.feature_names else list(given.values())
        bags = [Bags.of(one) for one in given]
        sizes = {len(one) for one in bags}
        if len(bags) != len(self.feature_table_map) or len(sizes) != 1:
            wanted = f"equally many bags of each of {len(self.feature_table_map)} features"
            raise errors.unfit(NAME, "ids", wanted, str([len(one) for one in bags]))
        whole = Bags.concatenate(bags)
        weights = None if whole.weights is None else to_tensor(whole.weights).to(self.weights[0].dtype)
        return to_tensor(whole.ids), to_tensor(whole.splits), weights

    def extra_repr(self) -> str:
        told = [f"{len(self.embedding_specs)} tables", f"{len(self.feature_table_map)} features", f"mode={self.mode!r}"]
        return ", ".join([*told, *([] if self.fused is None else [f"fused={self.fused}"])])


def _array(tensor: Any) -> Any:
    """The memory of a tensor; of a kernel's own making where it cannot be seen as an array."""
    if tensor is None:
        return None
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):
        try:
            return views.to_array(_GROUPED, _GROUPED.inputs[0], tensor)
        except views.NotOnCPUError:
            raise views.not_dense(_GROUPED, _GROUPED.inputs[0], tensor) from None


class _Fused(torch.autograd.Function):  # type: ignore[misc]
    """`table` is one of the layer's: that it requires a gradient puts the call on the tape."""

    @staticmethod
    def forward(ctx: Any, layer: Any, ids: Any, starts: Any, weights: Any, table: Any) -> Any:
        ctx.layer = layer
        ctx.save_for_backward(ids, starts, weights)
        ctx.versions = [t._version for t in layer.weights] if ctx.needs_input_grad[3] else None
        ctx.set_materialize_grads(False)
        return layer._at_once(Entries(ids, starts, weights))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        layer = ctx.layer
        if torch.is_grad_enabled():
            wanted = (
                "None where backward is differentiated again (create_graph=True): the step it makes has no gradient"
            )
            raise also(RuntimeError, errors.unfit(NAME, "fused", wanted, type(layer.fused).__name__))
        of_weights = None
        if grad is not None:
            entries = Entries(*ctx.saved_tensors)
            if ctx.versions is not None:
                of_weights = _grad_of_weights(layer, entries, grad, ctx.versions)
            layer._step(entries, grad)
        return None, None, None, of_weights, None


def _grad_of_weights(layer: GroupedEmbeddingBag, entries: Entries, grad: Any, versions: list[int]) -> Any:
    if versions != [table._version for table in layer.weights]:
        wanted = "tables that no other step has moved since the look-up, for the gradient of per_sample_weights"
        raise also(RuntimeError, errors.unfit(NAME, "weights", wanted, "others"))
    with torch.enable_grad():
        leaf = entries.weights.detach().requires_grad_()
        rows = layer._by_op([table.detach() for table in layer.weights], entries._replace(weights=leaf))
        return torch.autograd.grad(rows, leaf, grad)[0]


_GROUPED = registry["GroupedEmbeddingBag"]
operators.operator_of(_GROUPED)
