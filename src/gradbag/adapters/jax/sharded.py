"""A table whose rows are spread over the devices of a mesh, in one process or in several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from ... import errors
from ...bags import Bags
from ...ops.combiners import combiner_named
from ...optim.optimizer import Optimizer
from ...sharding.plan import ShardPlan
from ...sharding.routes import route_bags, route_rows
from ...sharding.rows import beginning
from ...table.beginnings import Init
from .exchange import NAME, Capacity, Exchange, looked_up, routed, stepped
from .optim import State


class ShardedTable:
    """A table of `rows`, of which each device of a mesh holds a share; it keeps no arrays itself.

    Values, gradients and steps have the bits that one process would compute for the batches of all devices, one after
    another, on any number of devices and processes. `begin` gives the rows and what the optimizer keeps of them as
    arrays that are spread along the mesh's `axis`; `lookup` and `step` take batches that are spread likewise, also
    inside `jit`. Inside a `shard_map` of one's own, `lookup_here` and `step_here` take the part of the device.

    XLA exchanges nothing but equally large parts: `capacity` says for how many there is room between each pair of
    devices, and `capacity_for` measures it on batches. Without it there is room for the worst that can come, all
    entries of a device at one other. One that is too small is an error on all devices, which says how much it needs.

        >>> import jax, jax.numpy as jnp
        >>> import gradbag.jax
        >>> spread = gradbag.jax.ShardedTable(1000, 4, jax.make_mesh((1,), ("hosts",)), init="normal")
        >>> table, _ = spread.begin()
        >>> loss = lambda table: spread.lookup(table, jnp.array([[7, 3], [9, 7]])).sum()
        >>> print(jax.grad(loss)(table)[7])
        [1. 1. 1. 1.]

    The gradient is the sum over all devices.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        mesh: Mesh,
        axis: str | None = None,
        combiner: str = "mean",
        *,
        optimizer: Optimizer | None = None,
        capacity: Capacity | tuple[int, int, int] | None = None,
        partition: str = "mod",
        init: Init = None,
        seed: int = 0,
        dtype: Any = "float32",
    ) -> None:
        errors.check_natural(NAME, "rows", rows, least=1)
        self.axis = mesh.axis_names[0] if axis is None else axis
        if self.axis not in mesh.axis_names:
            raise errors.unfit(NAME, "axis", f"one of the mesh's, {', '.join(mesh.axis_names)}", repr(axis))
        # What is spread here may come as the caller has it, and is brought into place.
        self.mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))
        self.plan = ShardPlan(rows, mesh.shape[self.axis], partition)
        if rows >= 2**31 - 1 and not jax.config.jax_enable_x64:
            raise errors.unfit(NAME, "rows", "below 2**31 - 1, as jax_enable_x64 is off", str(rows))
        self.columns, self.optimizer = columns, optimizer
        self.combiner = combiner_named(NAME, combiner).name
        self.capacity = None if capacity is None else Capacity(*capacity)
        for name, room in zip(Capacity._fields, self.capacity or (), strict=False):
            errors.check_natural(NAME, f"capacity.{name}", room, least=1)
        self.dtype = jnp.dtype(dtype)
        self._rows_of = {
            shard: beginning(self.plan, shard, init, seed, self.dtype) for shard in range(self.plan.num_shards)
        }
        self._held = int(np.diff(self.plan.starts).max()) + 1  # and the spare row
        self._lookup, self._step = jax.jit(self._looked_up), jax.jit(self._stepped)

    # ------------------------------------------------------------------ rows
    def begin(self) -> tuple[Any, State]:
        """The table and the state of the optimizer; each process makes its own rows, by their numbers in the whole."""
        shape = (self._held * self.plan.num_shards, self.columns)

        def made(index: Any) -> Any:
            shard = (index[0].start or 0) // self._held
            rows = np.zeros((self._held, self.columns), self.dtype)
            size = self.plan.size(shard)
            rows[:size] = self._rows_of[shard](np.arange(size), self.columns)
            return rows

        table = jax.make_array_from_callback(shape, self._sharding(P(self.axis)), made)
        if self.optimizer is None:
            return table, {}
        specs = self._spread(jax.eval_shape(self.optimizer.init, table))
        return table, jax.jit(self.optimizer.init, out_shardings=jax.tree.map(self._sharding, specs))(table)

    def gather(self, array: Any) -> Any:
        """What belongs to all rows, in their order, on every process: the table, or a state."""
        whole = np.asarray(jax.jit(lambda each: each, out_shardings=self._sharding(P()))(array))
        shards = range(self.plan.num_shards)
        out = np.empty((self.plan.num_rows, *whole.shape[1:]), whole.dtype)
        for shard in shards:
            begin = shard * self._held
            out[self.plan.ids(shard)] = whole[begin : begin + self.plan.size(shard)]
        return out

    def _sharding(self, spec: Any) -> NamedSharding:
        return NamedSharding(self.mesh, spec)

    def _spread(self, tree: Any) -> Any:
        """Arrays along the axis, numbers everywhere."""
        return jax.tree.map(lambda each: P(self.axis) if each.ndim else P(), tree)

    # ------------------------------------------------------------------ look-ups and steps
    def lookup(self, table: Any, ids: Any, offsets: Any = None, weights: Any = None, counts: Any = None) -> Any:
        """The combined rows of the bags of all devices.

        `ids` is a matrix with a bag in each row, or a vector with the `offsets` at which bags begin; each device has an
        equal part of both, and its offsets count from its own first id. `counts`, one for each device, tell how many of
        its ids are some; the rest only fills up. The table and the weights have gradients, to any order.
        """
        return self._lookup(table, *self._placed(ids, offsets, weights, counts))

    def step(
        self,
        table: Any,
        state: State,
        ids: Any,
        grad: Any,
        offsets: Any = None,
        weights: Any = None,
        counts: Any = None,
    ) -> tuple[Any, State]:
        """The table and the state after a step of the optimizer with the gradient of what was looked up."""
        if self.optimizer is None:
            raise errors.unfit(NAME, "optimizer", "given, to make a step", "None")
        return self._step(table, state, jnp.asarray(grad), *self._placed(ids, offsets, weights, counts))  # type: ignore[no-any-return]

    def _placed(self, *arrays: Any) -> list[Any]:
        ids = jnp.asarray(arrays[0])
        if not jnp.issubdtype(ids.dtype, jnp.integer):
            raise errors.wrong_type(NAME, "ids", ["integers"], str(ids.dtype))
        for name, array in zip(("ids", "offsets", "weights", "counts"), arrays, strict=True):
            if array is not None and np.shape(array)[0] % self.plan.num_shards:
                wanted = f"equally many for each of {self.plan.num_shards} devices"
                raise errors.unfit(NAME, name, wanted, f"{np.shape(array)[0]} in all")
        return [ids, *(None if each is None else jnp.asarray(each) for each in arrays[1:])]

    def _looked_up(self, table: Any, *batch: Any) -> Any:
        return self._on_devices(self.lookup_here, P(self.axis), table, *batch)

    def _stepped(self, table: Any, state: State, grad: Any, *batch: Any) -> Any:
        specs = (P(self.axis), self._spread(state))

        def here(table: Any, state: State, grad: Any, *batch: Any) -> Any:
            return self.step_here(table, state, batch[0], grad, *batch[1:])

        return self._on_devices(here, specs, table, state, grad, *batch)

    def _on_devices(self, function: Any, out: Any, *given: Any) -> Any:
        specs = tuple(self._spread(each) for each in given)
        return jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=out, check_vma=False)(*given)

    # ------------------------------------------------------------------ inside shard_map
    def lookup_here(self, shard: Any, ids: Any, offsets: Any = None, weights: Any = None, counts: Any = None) -> Any:
        """`lookup` of this device's part, where the mesh's axis is known: inside `shard_map`."""
        how, route, weights = self._route(ids, offsets, weights, counts)
        return looked_up(how, shard, weights, route)

    def step_here(
        self,
        shard: Any,
        state: State,
        ids: Any,
        grad: Any,
        offsets: Any = None,
        weights: Any = None,
        counts: Any = None,
    ) -> tuple[Any, State]:
        """`step` of this device's part, inside `shard_map`."""
        assert self.optimizer is not None
        how, route, weights = self._route(ids, offsets, weights, counts)
        return stepped(how, self.optimizer, shard, state, grad, weights, route)

    def _route(self, ids: Any, offsets: Any, weights: Any, counts: Any) -> tuple[Exchange, Any, Any]:
        if (ids.ndim == 2) == (offsets is not None) or ids.ndim not in (1, 2):
            given = "offsets" if offsets is not None else "no offsets"
            raise errors.unfit(NAME, "ids", "a matrix, or a vector with offsets", f"{ids.ndim} axes with {given}")
        if ids.ndim == 2:
            offsets = jnp.arange(ids.shape[0]) * ids.shape[1]
        if weights is not None:
            if weights.shape != ids.shape:
                raise errors.wrong_shape(NAME, "weights", ", ".join(map(str, ids.shape)), "", weights.shape)
            weights = weights.reshape(-1)
        ids = ids.reshape(-1)
        count = ids.shape[0] if counts is None else counts[0]
        n, bags = ids.shape[0], offsets.shape[0]
        room = self.capacity or Capacity(min(n, self._held), n, min(n, bags))
        how = Exchange(self.plan, self.axis, self.combiner, room)
        return how, routed(how, ids, offsets, count), weights

    # ------------------------------------------------------------------ capacities
    def capacity_for(self, batches: Iterable[Any], slack: float = 1.25) -> Capacity:
        """What a device needs for the largest of these batches of one device, bags as `gradbag.Bags.of` takes them."""
        needed = np.ones(3, np.int64)
        for batch in batches:
            bags = Bags.of(batch)
            keys = self.plan.keys(bags.ids)
            pairs = route_bags(self.plan, keys, np.asarray(bags.offsets))
            most = [route_rows(self.plan, keys).splits.max(), pairs.splits.max(), pairs.pairs.max()]
            needed = np.maximum(needed, most)
        return Capacity(*(int(np.ceil(slack * each)) for each in needed))
