"""One rank: it goes through all cases with 1, 2, 3 and 4 ranks, and writes down what it has seen."""

from __future__ import annotations

import pickle
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

sys.path.insert(0, str(Path(__file__).parent))

from cases import COLUMNS, ROWS, SIZES, STEPS, Case, batch, cases, cut

import gradbag.torch
from gradbag.adapters.torch.bags import to_array

RULE = {"lr": 0.1}


def bags_of(case, size, rank, step, dtype):
    bags, grad = batch(case, step)
    own = bags[cut(case, size, rank)]
    weights = None if own.weights is None else torch.tensor(own.weights).to(dtype).requires_grad_()
    grad = torch.tensor(grad[cut(case, size, rank)]).to(dtype)
    return (torch.tensor(own.ids), torch.tensor(own.offsets), weights), grad


def plain(tensor):
    return to_array("test", "tensor", tensor.detach())


def train(case, group, size, rank):
    """Twenty steps; what came out, the last gradients, the table and the states."""
    kept = getattr(torch, case.dtype)
    optimizer = gradbag.optim.RowAdagrad(**RULE) if case.fused else None
    bag = gradbag.torch.ShardedEmbeddingBag(
        ROWS, COLUMNS, case.combiner, optimizer=optimizer, partition=case.strategy, dtype=kept, process_group=group
    )
    computing = bag._like().dtype
    narrow = computing.itemsize == 2  # which only PyTorch's own optimizers take
    kind = torch.optim.SGD if narrow else gradbag.torch.optim.RowAdagrad
    outside = None if case.fused else kind(bag.parameters(), **RULE)
    own = bag.plan.ids(rank)
    ready, ahead = None, bags_of(case, size, rank, 0, computing)
    for step in range(STEPS):
        (ids, offsets, weights), grad = ahead
        ready = bag.prepare(ids, offsets, weights)
        ahead = bags_of(case, size, rank, step + 1, computing)
        rows = bag(ready)
        rows.backward(grad)
        seen = {"rows": plain(rows), "weights": None if weights is None else plain(weights.grad)}
        if outside is not None:
            gradient = bag.weight.grad.coalesce()
            assert len(gradient.values()) == len(bag.weight.grad._values())  # it was so, each row once
            seen["touched"], seen["gradient"] = own[plain(gradient.indices()[0])], plain(gradient.values())
            outside.step()
            outside.zero_grad()
    seen["table"], seen["own"] = plain(bag.gather()), own
    if not narrow:
        state = bag.table.state if case.fused else outside.state[bag.weight]
        seen["state"], seen["steps"] = np.array(state["accumulator"]), state["step"]
    return seen


def sum_by_tree(group, size, rank):
    """Rows and gradients of `exact=False`, in all ways."""
    seen = {}
    for strategy in ("div", "mod", "hash"):
        for exchange in ("auto", "rows", "partial", "hybrid"):
            case = Case("mean", True, strategy, "float32", True)
            bag = gradbag.torch.ShardedEmbeddingBag(
                ROWS,
                COLUMNS,
                "mean",
                exact=False,
                exchange=exchange,
                optimizer=gradbag.optim.SGD(0.1),
                partition=strategy,
                process_group=group,
            )
            for step in range(3):
                (ids, offsets, weights), grad = bags_of(case, size, rank, step, torch.float32)
                rows = bag(ids, offsets, weights.detach())
                rows.backward(grad)
            seen[strategy, exchange] = plain(rows), plain(bag.gather())
    return seen


def several(group, size, rank):
    """Two tables, and two features of one of them, in one exchange and apart."""
    answers = []
    for apart in (True, False):
        users, films = (
            gradbag.torch.ShardedEmbeddingBag(ROWS, columns, "sum", init="normal", seed=columns, process_group=group)
            for columns in (2, 4)
        )
        bags = gradbag.torch.ShardedEmbeddingBags({"user": users, "seen": films, "liked": films})
        batches = {}
        for number, name in enumerate(bags.bags):
            case = Case("sum", name == "liked", "mod", "float32", False)
            batches[name] = bags_of(case, size, rank, number, torch.float32)[0]
        sent, messages = users.wire.sent, 0
        if apart:
            rows = {name: bags.bags[name](*batches[name]) for name in batches}
        else:
            swap = bags.wire.swap

            def counted(parts, swap=swap):
                nonlocal messages
                messages += 1
                return swap(parts)

            bags.wire.swap = counted
            rows = bags(batches)
        sum(each.sum() for each in rows.values()).backward()
        grads = [users.weight.grad, films.weight.grad, batches["liked"][2].grad]
        answers.append(([plain(each) for each in rows.values()], [plain(each.to_dense()) for each in grads], messages))
        assert users.wire.sent >= sent
    return answers


def second_order(group, size, rank):
    """A gradient of a gradient, in rows, in weights and in both."""
    case = Case("sqrtn", True, "mod", "float64", False)
    bag = gradbag.torch.ShardedEmbeddingBag(
        ROWS, COLUMNS, "sqrtn", dtype=torch.float64, init="normal", process_group=group
    )
    (ids, offsets, weights), grad = bags_of(case, size, rank, 0, torch.float64)
    rows = bag(ids, offsets, weights)
    first = torch.autograd.grad((rows**3 * grad).sum(), [bag.weight, weights], create_graph=True)
    second = torch.autograd.grad(sum((each**2).sum() for each in first), [bag.weight, weights])
    return [plain(bag.gather()), *(plain(each.to_dense()) for each in (*first, *second))]


def refusals(group, size, rank):
    """The same words on every rank, and the group goes on."""
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "sum", init="normal", process_group=group)
    last = size - 1
    bad = [
        ([1, ROWS if rank == last else 2], [0, 1], None),
        ([1, -1 if rank == last else 2], [0, 1], None),
        ([1, 2], [0, 3 if rank == 0 else 1], None),
        ([1.5, 2.0] if rank == last else [1, 2], [0, 1], None),
        ([1, 2], [0, 1], torch.ones(3) if rank == last else torch.ones(2)),
    ]
    told = []
    for ids, offsets, weights in bad:
        try:
            bag(torch.tensor(ids), torch.tensor(offsets), weights)
        except gradbag.Error as problem:
            told.append((type(problem).__name__, str(problem)))
        else:
            told.append(None)
    return told, plain(bag(torch.tensor([1, 2]), torch.tensor([0, 1])))


def parts_of_tensors(group, size, rank):
    """Rows that do not follow each other are no part of a tensor."""
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, partition="mod", process_group=group)
    try:
        bag.distributed()
    except gradbag.InvalidArgumentError as problem:
        return str(problem)
    return None


def looking_only(group, size, rank):
    """Without a gradient, fewer bytes."""
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "sum", init="normal", process_group=group)
    (ids, offsets, _), _ = bags_of(Case("sum", False, "mod", "float32", False), size, rank, 0, torch.float32)
    rows = bag(ids, offsets)
    sent = bag.wire.sent
    with torch.no_grad():
        again = bag(ids, offsets)
    assert not again.requires_grad
    assert torch.equal(rows, again)
    return sent, bag.wire.sent - sent


def saved_by_torch(folder, groups, rank):
    """A checkpoint of PyTorch by every number of ranks, read by every other: the table and the state."""
    seen = {}
    for fused, (size, group) in product((True, False), groups.items()):
        place = folder / f"torch-{size}-{fused}"
        if rank < size:
            bag, outside = rows_of(group, fused, "normal")
            dcp.save({"bag": bag.distributed(outside)}, checkpoint_id=place, process_group=group)
        dist.barrier()
        for other, readers in groups.items():
            if rank < other:
                bag, outside = rows_of(readers, fused, "zeros")
                dcp.load({"bag": bag.distributed(outside)}, checkpoint_id=place, process_group=readers)
                state = bag.table.state if fused else outside.state[bag.weight]
                seen[fused, size, other] = plain(bag.gather()), np.array(state["accumulator"]), bag.plan.ids(rank)
                assert state["step"] == 2
            dist.barrier()
    return seen


def rows_of(group, fused, init):
    """A layer after two steps."""
    rule = gradbag.optim.RowAdagrad(**RULE) if fused else None
    bag = gradbag.torch.ShardedEmbeddingBag(
        ROWS + 1, COLUMNS, optimizer=rule, partition="div", init=init, process_group=group
    )
    outside = None if fused else gradbag.torch.optim.RowAdagrad(bag.parameters(), **RULE)
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    for step in range(2):
        ids = torch.arange(ROWS + 1).reshape(-1, 1)[step::2]
        rows = bag(torch.tensor_split(ids, size)[rank])
        rows.backward(torch.ones_like(rows))
        if outside is not None:
            outside.step()
            outside.zero_grad()
    return bag, outside


def main() -> None:
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    seen = {}
    groups = {size: dist.new_group(list(range(size))) for size in SIZES}
    seen["saved_by_torch"] = saved_by_torch(folder, groups, rank)
    for size, group in groups.items():
        if rank >= size:
            continue
        for case in cases():
            seen[size, case] = train(case, group, size, rank)
        for other in (sum_by_tree, several, second_order, refusals, parts_of_tensors, looking_only):
            seen[size, other.__name__] = other(group, size, rank)
    dist.barrier()
    (folder / f"{rank}").write_bytes(pickle.dumps(seen))
    dist.destroy_process_group()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
