"""Tables whose shards are actors of Ray: for NumPy, for serving, and for clusters that are there already.

    import ray, gradbag
    from gradbag.ray import ShardedTable

    ray.init(address="auto")
    table = ShardedTable(10**8, 64, 4, gradbag.optim.RowAdagrad(0.1), folder="/shared/checkpoints")
    rows = table.lookup(bags)
    table.push(bags, gradient_of(rows))
    table.save()

Ray authenticates by a token: every node needs RAY_AUTH_MODE=token and the same RAY_AUTH_TOKEN.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
import ray

from . import errors
from .bags import Bags
from .ops.combiners import combiner_named
from .optim import Optimizer
from .sharding import ShardPlan, bag_gradient, checkpoint, pool, route_bags, route_rows, shard_table
from .sharding.pooling import owner_gradient, shares, taken
from .table.beginnings import Init

Array = np.ndarray[Any, Any]
_NAME = "ShardedTable"


class _Shard:
    """An actor: the rows of one shard. What it does is in the order of its calls."""

    def __init__(self, plan: ShardPlan, shard: int, columns: int, settings: list[Any], folder: str | None) -> None:
        self.plan, self.shard, self.columns, self.folder = plan, shard, columns, folder
        self.settings = ray.get(settings[0])
        self.restore(None if folder is None else checkpoint.newest(folder))

    def restore(self, step: int | None) -> int:
        """Return to a checkpoint, or to the beginning."""
        self.waiting: dict[int, tuple[Array, ...]] = {}
        self.table = shard_table(self.plan, self.shard, self.columns, **self.settings)
        if step is not None:
            checkpoint.restore(str(self.folder), self.table, self.plan, self.shard, step)
        return self.table.step_count

    def about(self) -> tuple[int, int]:
        return self.table.step_count, os.getpid()

    def rows(self, rows: Array) -> Array:
        block = self.table._block(_NAME, rows, False)
        return taken(block.values, block.ids).astype(self.table.dtype, copy=False)

    def push(self, step: int, worker: int, workers: int, *given: Array) -> int:
        """Gradients of one worker; the step is made when all have come, in the order of their numbers."""
        if step != self.table.step_count:
            wanted = f"{self.table.step_count}, where shard {self.shard} is (recover() brings all of them to one)"
            raise errors.unfit(_NAME, "step", wanted, str(step))
        self.waiting[worker] = given
        if len(self.waiting) == workers:
            parts = [self.waiting[each] for each in sorted(self.waiting)]
            self.waiting = {}
            rows, lengths, grads = (np.concatenate([part[place] for part in parts]) for place in range(3))
            factors = np.concatenate([part[3] for part in parts]) if len(parts[0]) == 4 else None
            self.table.apply(owner_gradient(grads, rows, lengths, factors, self.table.rows))
        return self.table.step_count

    def save(self) -> Any:
        step = self.table.step_count
        source = checkpoint.source_of(self.table)
        files = checkpoint.write_shard(str(self.folder), step, self.plan, self.shard, source)
        return step, files, checkpoint.described(self.table)


class Started(NamedTuple):
    """A look-up that is on its way."""

    bags: Bags
    combiner: str
    route: Any
    answers: list[Any]


class ShardedTable:
    """A table of `rows`, whose `shards` are actors of Ray; look-ups and steps have the bits of one `gradbag.Table`.

    A batch is one call for each shard. `start` and `finish` are the halves of `lookup`, so that the rows of the next
    batch travel while this one is computed: what is asked for after `push` sees the rows that it has moved. `push`
    waits while more than `pending` steps are on their way.

    An actor that dies, or the host that it is on, is started again by Ray from the newest checkpoint in `folder`, which
    all hosts must see; then `recover` brings all shards to the step of that checkpoint, and gives it. With several
    workers each gives its number to `push`, and a step is made when the gradients of all have come.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        shards: int,
        optimizer: Optimizer | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        partition: str = "mod",
        init: Init = None,
        seed: int = 0,
        dtype: Any = "float32",
        pending: int = 2,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.plan = ShardPlan(rows, shards, partition)
        self.columns, self.pending = columns, pending
        self.folder = None if folder is None else os.fspath(folder)
        settings = {"optimizer": optimizer, "init": init, "seed": seed, "dtype": dtype}
        # Ray forgets large arguments of an actor once it has started, and then cannot start it again. This one is kept.
        self._settings = ray.put(settings)
        actor = ray.remote(_Shard).options(max_restarts=-1, max_task_retries=0, num_cpus=0, **(options or {}))
        self.shards = [
            actor.remote(self.plan, shard, columns, [self._settings], self.folder) for shard in range(shards)
        ]
        self._pushed: list[list[Any]] = []
        self.step = self.recover()

    # ------------------------------------------------------------------ look-ups
    def lookup(self, bags: Any, combiner: str = "mean") -> Array:
        """The combined rows of each bag."""
        return self.finish(self.start(bags, combiner))

    def start(self, bags: Any, combiner: str = "mean") -> Started:
        """Ask for the rows of bags."""
        bags = Bags.of(bags)
        route = route_rows(self.plan, self.plan.keys(bags.ids))
        asked = np.split(route.rows, np.cumsum(route.splits)[:-1])
        answers = [shard.rows.remote(rows) for shard, rows in zip(self.shards, asked, strict=True)]
        return Started(bags, combiner_named(_NAME, combiner).name, route, answers)

    def finish(self, started: Started) -> Array:
        """Wait for the rows that were asked for, and combine them."""
        rows = np.concatenate(ray.get(started.answers))
        wide = rows.astype(np.float32) if rows.dtype.itemsize == 2 else rows
        return pool(wide, started.route, started.bags, started.combiner)

    # ------------------------------------------------------------------ steps
    def push(self, bags: Any, grad: Any, combiner: str = "mean", *, worker: int = 0, workers: int = 1) -> int:
        """Move the rows that bags have picked, given the gradient of what was looked up; gives the new step."""
        bags, grad = Bags.of(bags), np.asarray(grad)
        combiner = combiner_named(_NAME, combiner).name
        route = route_bags(self.plan, self.plan.keys(bags.ids), np.asarray(bags.offsets))
        grads = bag_gradient(grad, route, bags, combiner, exact=True)
        entries, pairs = np.cumsum(route.splits)[:-1], np.cumsum(route.pairs)[:-1]
        parts = [np.split(route.rows, entries), np.split(route.lengths, pairs), np.split(grads, pairs)]
        factors = shares(bags, combiner, grads.dtype)
        if factors is not None:
            parts.append(np.split(factors[route.order], entries))
        while len(self._pushed) >= self.pending:
            ray.get(self._pushed.pop(0))
        sent = [
            shard.push.remote(self.step, worker, workers, *given)
            for shard, *given in zip(self.shards, *parts, strict=True)
        ]
        self._pushed.append(sent)
        self.step += 1
        return self.step

    def wait(self) -> None:
        """Wait until all that was pushed has arrived."""
        while self._pushed:
            ray.get(self._pushed.pop(0))

    # ------------------------------------------------------------------ checkpoints
    def save(self) -> int:
        """Write a checkpoint, and give its step."""
        if self.folder is None:
            raise errors.unfit(_NAME, "folder", "given, to save a checkpoint", "None")
        self.wait()
        told = ray.get([shard.save.remote() for shard in self.shards])
        step, _, about = told[0]
        if {each[0] for each in told} != {step}:
            raise errors.Error(f"{_NAME}: shards are at the steps {sorted({each[0] for each in told})}; see recover()")
        checkpoint.commit(self.folder, step, self.plan, [file for each in told for file in each[1]], about)
        return int(step)

    def recover(self, limit: float = 120.0) -> int:
        """Bring all shards to the newest checkpoint, or to the beginning, and give its step; waits for lost actors."""
        self._pushed.clear()
        step = None if self.folder is None else checkpoint.newest(self.folder)
        deadline = time.monotonic() + limit
        while True:
            try:
                ray.get([shard.restore.remote(step) for shard in self.shards], timeout=limit)
                break
            except ray.exceptions.RayActorError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        self.step = step or 0
        return self.step

    def gather(self) -> Array:
        """The whole table."""
        self.wait()
        sizes = [np.arange(self.plan.size(shard)) for shard in range(self.plan.num_shards)]
        found = ray.get([shard.rows.remote(rows) for shard, rows in zip(self.shards, sizes, strict=True)])
        whole = np.empty((self.plan.num_rows, self.columns), found[0].dtype)
        for shard, rows in enumerate(found):
            whole[self.plan.ids(shard)] = rows
        return whole

    def pids(self) -> list[int]:
        """The processes of the actors."""
        return [pid for _, pid in ray.get([shard.about.remote() for shard in self.shards])]
