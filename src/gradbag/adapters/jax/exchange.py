"""One batch through all devices inside `shard_map`: what `gradbag.sharding` does, in arrays of fixed sizes.

XLA on the CPU exchanges nothing but equally large parts, so there is room for so much between each pair of devices, and
what does not fill it is padding: rows that are asked for in vain, from a spare row behind a device's own. What is wrong
on one device is told to all before anything else is exchanged; so all of them raise, and none waits for another.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ... import attributes, errors, raw_ops
from ...ops.combiners import COMBINERS
from ...ops.pooling import accumulator
from ...optim.optimizer import Optimizer
from ...sharding.plan import ShardPlan
from ...spec import registry
from .calls import interpret_sized
from .optim import State, bag_step

NAME = "ShardedTable"


class Capacity(NamedTuple):
    """For how much there is room between each pair of devices.

    `rows` that one asks of the other, each once; and for gradients `entries` and the `bags` that have some there.
    """

    rows: int
    entries: int
    bags: int


class Exchange(NamedTuple):
    """What does not change from batch to batch."""

    plan: ShardPlan
    axis: str
    combiner: str
    room: Capacity

    @property
    def spare(self) -> int:
        """The row of each device that belongs to nobody, behind those of the largest shard."""
        return int(np.diff(self.plan.starts).max())


class Route(NamedTuple):
    """Where a batch goes, and what the batches of all devices want of this one."""

    asked: Any  # rows that each device asks of this one
    entries: Any  # rows of this device that the entries of each have
    lengths: Any  # of the bags of those entries, and how much is padding
    places: Any  # of each entry: its row among those that come
    offsets: Any  # where bags begin, and where the last one ends
    order: Any  # which entry goes to each device; after the last one, padding
    bags: Any  # which bag does


# ------------------------------------------------------------------ routes
def routed(how: Exchange, ids: Any, offsets: Any, count: Any) -> Route:
    """How to exchange the rows of bags, of which only the first `count` entries are some; known to both sides."""
    plan, room = how.plan, how.room
    n, bags, shards = ids.shape[0], offsets.shape[0], plan.num_shards
    problem, ids, offsets = _checked(plan, ids, offsets, count)
    padding = jnp.arange(n) >= count
    keys = raw_ops.ShardKeys(ids=ids, num_rows=plan.num_rows, num_pieces=plan.pieces, strategy=plan.strategy)
    keys = jnp.where(padding, plan.num_rows, keys)
    starts = jnp.asarray(plan.starts, keys.dtype)

    found = _sized("SortedUnique", n, plan.num_rows, ids=keys)
    first = jnp.searchsorted(found.output, starts)
    counts = jnp.diff(first)
    asking = _cut(found.output, first[:-1], counts, room.rows, 0) - starts[:-1, None]
    asking = jnp.where(jnp.arange(room.rows) < counts[:, None], asking, how.spare)
    owner = jnp.minimum(jnp.searchsorted(starts[1:], keys, side="right"), shards - 1)
    places = jnp.where(padding, 0, owner * room.rows + found.inverse - first[owner])

    # Padding belongs to one shard more than there are.
    pairs = _sized("RouteBags", n, 0, keys=keys, offsets=offsets, starts=starts, num_rows=plan.num_rows + 1)
    of_entries, of_pairs = (((jnp.cumsum(splits) - splits)[:-1], splits[:-1]) for splits in (pairs.splits, pairs.pairs))
    entries = _cut(pairs.rows, *of_entries, room.entries, how.spare)
    lengths = _cut(pairs.lengths, *of_pairs, room.bags, 0)
    lengths = jnp.concatenate([lengths, room.entries - of_entries[1][:, None]], axis=1)

    needed = [jnp.max(each) for each in (counts, of_entries[1], of_pairs[1])]
    told = lax.all_gather(jnp.stack([*needed, *problem]).astype(keys.dtype), how.axis)
    zero = jax.pure_callback(partial(_refuse, how), jax.ShapeDtypeStruct((), np.int32), told)
    sent = jnp.concatenate([asking, entries, lengths], axis=1).astype(np.int32) + zero
    asked, theirs, of_theirs = jnp.split(_swapped(how, sent), [room.rows, room.rows + room.entries], axis=1)
    order, of_bags = _cut(pairs.order, *of_entries, room.entries, n), _cut(pairs.bags, *of_pairs, room.bags, bags)
    ends = jnp.append(offsets, jnp.asarray(count, offsets.dtype))
    return Route(asked, theirs, of_theirs, places, ends, order, of_bags)


def _sized(name: str, size: int, fill: int, **given: Any) -> Any:
    op = registry[name]
    values = [given.pop(each) for each in op.input_names]
    return interpret_sized(op, values, attributes.normal(op, given), size, fill)[0]


def _cut(array: Any, first: Any, counts: Any, room: int, fill: int) -> Any:
    """The part of each device from an array that has them one after another, filled up."""
    steps = jnp.arange(room)
    return jnp.where(steps < counts[:, None], array.at[first[:, None] + steps].get(mode="clip"), fill)


def _swapped(how: Exchange, array: Any) -> Any:
    return lax.all_to_all(array, how.axis, 0, 0)


# ------------------------------------------------------------------ what is wrong
def _checked(plan: ShardPlan, ids: Any, offsets: Any, count: Any) -> tuple[list[Any], Any, Any]:
    """What is wrong as numbers (what, where, which), and harmless ids and offsets in the place of wrong ones."""
    places = jnp.arange(ids.shape[0])
    outside = ((ids < 0) | (ids >= plan.num_rows)) & (places < count)
    before = jnp.concatenate([jnp.zeros(1, offsets.dtype), offsets[:-1]])
    falling = (offsets < before) | (offsets > count) | ((jnp.arange(offsets.shape[0]) == 0) & (offsets != 0))
    id_at, offset_at = jnp.argmax(outside), jnp.argmax(falling)
    wrong = [falling.any(), outside.any()]
    problem = [
        jnp.select(wrong, [2, 1], 0),
        jnp.select(wrong, [offset_at, id_at], 0),
        jnp.select(wrong, [offsets[offset_at], ids[id_at]], 0),
    ]
    harmless = jnp.where(outside | (places >= count), 0, ids)
    return problem, harmless, jnp.where(falling.any(), jnp.zeros_like(offsets), offsets)


def _refuse(how: Exchange, told: Any) -> Any:
    """Raise what is wrong on any device, in words; else a zero, on which the exchange waits."""
    told = np.asarray(told)
    for device, (what, where, value) in enumerate(told[:, 3:].tolist()):
        if what == 1:
            text = f"device {device}: ids[{where}] == {value} out of range [0, {how.plan.num_rows})"
            raise errors.about("ids", errors.InvalidArgumentError(f"{NAME}: {text}"))
        if what == 2:
            text = f"device {device}: offsets[{where}] == {value} is not between the one before and the end"
            raise errors.about("offsets", errors.InvalidArgumentError(f"{NAME}: {text}"))
    for place, name in enumerate(Capacity._fields):
        device, room = int(told[:, place].argmax()), how.room[place]
        if told[device, place] > room:
            wanted = f"at least {told[device, place]}, as many as device {device} has for another one"
            raise errors.unfit(NAME, f"capacity.{name}", wanted, str(room))
    return np.zeros((), np.int32)


# ------------------------------------------------------------------ forward
def _fetched(how: Exchange, shard: Any, asked: Any) -> Any:
    """The rows that were asked for, device after device."""
    rows = _swapped(how, shard[asked])
    return rows.reshape(-1, *shard.shape[1:])


def _pooled(how: Exchange, rows: Any, weights: Any, route: Route) -> Any:
    """The op that one process would call on the table, so its bits."""
    every = raw_ops.EmbeddingBag(
        table=rows, ids=route.places, offsets=route.offsets, weights=weights, combiner=how.combiner
    )
    return every[:-1]  # without the bag of what is padding


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def looked_up(how: Exchange, shard: Any, weights: Any, route: Route) -> Any:
    """The combined rows of this device's bags."""
    return _pooled(how, _fetched(how, shard, route.asked), weights, route)


def _forward(how: Exchange, shard: Any, weights: Any, route: Route) -> Any:
    rows = _fetched(how, shard, route.asked)
    return _pooled(how, rows, weights, route), (weights, None if weights is None else rows, route)


def _backward(how: Exchange, kept: Any, grad: Any) -> Any:
    weights, rows, route = kept
    (ids, offsets, factors), grads = sent_back(how, grad, weights, route)
    of_shard = raw_ops.EmbeddingBagDenseGrad(
        grad=grads, ids=ids, offsets=offsets, weights=factors, num_rows=how.spare + 1, combiner="sum"
    )
    of_weights = None
    if weights is not None:
        _, pull = jax.vjp(lambda each: _pooled(how, rows, each, route), weights)
        of_weights = jnp.where(jnp.arange(len(weights)) < route.offsets[-1], pull(grad)[0], 0)
    return of_shard.astype(grad.dtype), of_weights, None


looked_up.defvjp(_forward, _backward)


# ------------------------------------------------------------------ backward
def sent_back(how: Exchange, grad: Any, weights: Any, route: Route) -> tuple[Any, Any]:
    """The gradients of bags at the owners of their rows: bags of this device's rows, and the gradient of each."""
    grad = grad.astype(accumulator(grad.dtype))
    if weights is None:
        grad = _scaled(how, grad, route)
    of_pairs = jnp.concatenate([grad, jnp.zeros_like(grad[:1])])[route.bags]
    came = _swapped(how, of_pairs)
    spare = jnp.zeros_like(came[:, :1])
    grads = jnp.concatenate([came, spare], axis=1).reshape(-1, *grad.shape[1:])
    factors = None
    if weights is not None:
        shares = raw_ops.NormalizeBagWeights(
            weights=weights.astype(grad.dtype), offsets=route.offsets, combiner=how.combiner
        )
        factors = _swapped(how, jnp.append(shares, jnp.zeros_like(shares[:1]))[route.order]).reshape(-1)
    lengths = route.lengths.reshape(-1)
    return (route.entries.reshape(-1), jnp.cumsum(lengths) - lengths, factors), grads


def _scaled(how: Exchange, grad: Any, route: Route) -> Any:
    combiner = COMBINERS[how.combiner]
    if not combiner.power:
        return grad
    # By a table: where JAX has no doubles, a root and a division of its own would round twice.
    lengths = np.arange(route.places.shape[0] + 1)
    scales = jnp.asarray((1.0 / combiner.divisor(np.maximum(lengths, 1))).astype(grad.dtype))
    scale = scales[jnp.diff(route.offsets)]
    return grad * scale.reshape(-1, *[1] * (grad.ndim - 1))


def stepped(
    how: Exchange, optimizer: Optimizer, shard: Any, state: State, grad: Any, weights: Any, route: Route
) -> tuple[Any, State]:
    """This device's rows and states after a step with the gradients of the bags of all devices."""
    bags, grads = sent_back(how, grad, weights, route)
    return bag_step(optimizer, shard, state, bags, grads, "sum")
