"""Many tables in one call give what a loop over them gives, to the bit, whoever runs it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import optim, raw_ops
from gradbag.ops.row_rules import RULES
from gradbag.testing import assert_same

SPECS = [(700, 16), (40, 3), (3000, 40), (9, 64)]
FEATURES = (2, 0, 1, 2, 3)
BAGS = 300
OPTIMIZERS = [
    optim.SGD(0.1, weight_decay=0.1),
    optim.Momentum(0.1, nesterov=True),
    optim.Adagrad(0.1),
    optim.RowAdagrad(0.05),
    optim.Adam(0.01),
    optim.Adam(0.01, bias_correction="row"),
    optim.AdamW(0.01, weight_decay=0.1),
    optim.RowAdam(0.1),
    optim.RowAdam(0.1, bias_correction="row"),
    optim.RMSProp(0.01),
    optim.Ftrl(0.1),
]


class Batch:
    """Ids of all features that repeat within bags and between features, empty bags, and weights."""

    def __init__(self, seed: int, weighted: bool) -> None:
        rng = np.random.default_rng(seed)
        lengths = rng.integers(0, 12, (len(FEATURES), BAGS))
        self.ids = np.concatenate(
            [rng.integers(0, SPECS[t][0], n) for t, n in zip(FEATURES, lengths.sum(1), strict=True)]
        )
        flat = lengths.reshape(-1)
        self.offsets = (np.cumsum(flat) - flat).reshape(lengths.shape)
        self.weights = rng.uniform(0.5, 2.0, len(self.ids)).astype(np.float32) if weighted else None
        self.tables = [rng.standard_normal(spec).astype(np.float32) for spec in SPECS]
        self.widths = [SPECS[table][1] for table in FEATURES]
        self.grad = rng.standard_normal((BAGS, sum(self.widths))).astype(np.float32)

    @property
    def entries(self) -> dict[str, Any]:
        return {"ids": self.ids, "offsets": self.offsets, "weights": self.weights}

    def features(self) -> Iterator[tuple[int, dict[str, Any], Any]]:
        """Table, entries and gradient of each feature."""
        ends = [*self.offsets[1:, 0], len(self.ids)]
        columns = np.cumsum([0, *self.widths])
        for number, (table, begin, end) in enumerate(zip(FEATURES, self.offsets[:, 0], ends, strict=True)):
            weights = None if self.weights is None else self.weights[begin:end]
            entries = {"ids": self.ids[begin:end], "offsets": self.offsets[number] - begin, "weights": weights}
            yield table, entries, self.grad[:, columns[number] : columns[number + 1]].copy()


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def batch(request: Any) -> Batch:
    return Batch(3, request.param)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_a_look_up_is_those_of_its_features_side_by_side(batch: Batch, combiner: str) -> None:
    found = raw_ops.GroupedEmbeddingBag(
        tables=batch.tables, **batch.entries, combiner=combiner, feature_tables=FEATURES
    )
    each = [
        raw_ops.EmbeddingBag(table=batch.tables[table], **entries, combiner=combiner)
        for table, entries, _ in batch.features()
    ]
    assert_same(found, np.concatenate(each, 1))


def together(batch: Batch, table: int) -> tuple[dict[str, Any], Any]:
    """The entries of all features of a table, with their gradients below each other."""
    own = [(entries, grad) for found, entries, grad in batch.features() if found == table]
    begins = np.cumsum([0, *[len(entries["ids"]) for entries, _ in own]])
    offsets = np.concatenate([entries["offsets"] + begin for (entries, _), begin in zip(own, begins, strict=False)])
    ids = np.concatenate([entries["ids"] for entries, _ in own])
    weights = None if batch.weights is None else np.concatenate([entries["weights"] for entries, _ in own])
    return {"ids": ids, "offsets": offsets, "weights": weights}, np.concatenate([grad for _, grad in own])


@pytest.mark.parametrize("combiner", ["sum", "mean"])
def test_gradients_are_those_of_the_tables_one_after_another(batch: Batch, combiner: str) -> None:
    settings = {"combiner": combiner, "feature_tables": FEATURES, "table_shapes": [n for spec in SPECS for n in spec]}
    dense = raw_ops.GroupedEmbeddingBagDenseGrad(grad=batch.grad, **batch.entries, **settings)
    compact = raw_ops.GroupedEmbeddingBagGrad(grad=batch.grad, **batch.entries, **settings)
    wanted_dense, wanted_rows, wanted_ids, counts = [], [], [], []
    for table, (rows, _) in enumerate(SPECS):
        entries, grad = together(batch, table)
        given = {"grad": grad, **entries, "num_rows": rows, "combiner": combiner}
        wanted_dense.append(raw_ops.EmbeddingBagDenseGrad(**given).reshape(-1))
        one = raw_ops.EmbeddingBagGrad(**given)
        wanted_rows.append(one.output.reshape(-1))
        wanted_ids.append(one.sorted_unique_indices)
        counts.append(len(one.sorted_unique_indices))
    assert_same(dense, np.concatenate(wanted_dense))
    assert_same(compact.output, np.concatenate(wanted_rows))
    assert_same(compact.sorted_unique_indices, np.concatenate(wanted_ids))
    assert compact.counts.tolist() == counts


def test_every_rule_is_tried() -> None:
    assert {optimizer.rule_name for optimizer in OPTIMIZERS} == set(RULES)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: type(o).__name__ + o.rule_name)
def test_steps_are_those_of_the_tables_one_after_another(batch: Batch, optimizer: Any) -> None:
    one, other = [table.copy() for table in batch.tables], [table.copy() for table in batch.tables]
    states, kept = [optimizer.init(table) for table in one], [optimizer.init(table) for table in other]
    entries = (batch.ids, batch.offsets, batch.weights)
    for _ in range(2):
        optimizer.step_many(one, states, entries, batch.grad, "mean", FEATURES)
        for table in range(len(SPECS)):
            own, grad = together(batch, table)
            optimizer.step(other[table], kept[table], tuple(own.values()), grad, "mean")
    for table in range(len(SPECS)):
        assert_same(one[table], other[table])
        assert states[table].keys() == kept[table].keys()
        for name, value in kept[table].items():
            assert_same(np.asarray(states[table][name]), np.asarray(value))
        assert (one[table] != batch.tables[table]).any()


def test_bits_do_not_depend_on_threads(batch: Batch) -> None:
    def results() -> list[Any]:
        tables = [table.copy() for table in batch.tables]
        optimizer = optim.RowAdagrad(0.05)
        states = [optimizer.init(table) for table in tables]
        settings = {"feature_tables": FEATURES}
        found = raw_ops.GroupedEmbeddingBag(tables=tables, **batch.entries, **settings)
        shapes = [n for spec in SPECS for n in spec]
        dense = raw_ops.GroupedEmbeddingBagDenseGrad(grad=batch.grad, **batch.entries, table_shapes=shapes, **settings)
        entries = {"ids": batch.ids, "offsets": batch.offsets}
        dots = raw_ops.GroupedEmbeddingBagWeightsGrad(grad=batch.grad, tables=tables, **entries, **settings)
        optimizer.step_many(tables, states, tuple(batch.entries.values()), batch.grad, "mean", FEATURES)
        return [found, dense, dots, *tables, *[state["accumulator"] for state in states]]

    before = gradbag.get_num_threads()
    try:
        gradbag.set_num_threads(1)
        wanted = results()
        for threads in range(2, 9):
            gradbag.set_num_threads(threads)
            for got, want in zip(results(), wanted, strict=True):
                assert_same(got, want)
    finally:
        gradbag.set_num_threads(before)


def test_a_bad_id_names_feature_and_table_and_leaves_all_tables_alone(batch: Batch) -> None:
    place = int(batch.offsets[3, 0])
    batch.ids[place] = SPECS[2][0]
    message = rf"ids\[{place}\] == 3000 out of range \[0, 3000\); the rows of the table of feature 3"
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        raw_ops.GroupedEmbeddingBag(tables=batch.tables, **batch.entries, feature_tables=FEATURES)
    optimizer, before = optim.Adagrad(0.1), [table.copy() for table in batch.tables]
    states = [optimizer.init(table) for table in batch.tables]
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        optimizer.step_many(batch.tables, states, tuple(batch.entries.values()), batch.grad, "mean", FEATURES)
    for table, untouched, state in zip(batch.tables, before, states, strict=True):
        assert_same(table, untouched)
        assert state["step"] == 0
        assert not state["accumulator"].any()


def test_a_state_that_is_not_of_its_table_is_named(batch: Batch) -> None:
    optimizer = optim.RowAdagrad(0.1)
    states = [optimizer.init(table) for table in batch.tables]
    states[1]["accumulator"] = np.zeros(39, np.float32)
    with pytest.raises(
        gradbag.InvalidArgumentError, match=r"accumulator\[1\] must have shape \[rows#1\] with rows#1=40"
    ):
        optimizer.step_many(batch.tables, states, tuple(batch.entries.values()), batch.grad, "mean", FEATURES)


def test_two_names_for_one_table_are_refused_where_it_moves(batch: Batch) -> None:
    tables = [batch.tables[0], batch.tables[0]]
    optimizer = optim.SGD(0.1)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"tables\[0\] must be memory of its own.*tables\[1\]"):
        optimizer.step_many(
            tables,
            [optimizer.init(table) for table in tables],
            (np.array([1, 2]), np.array([[0], [1]])),
            np.ones((1, 32), np.float32),
        )


# ------------------------------------------------------------------ tables
def table_list(optimizer: Any = None, **settings: Any) -> list[gradbag.Table]:
    return [gradbag.Table(*spec, optimizer, seed=k, **settings) for k, spec in enumerate(SPECS)]


def bags_of_features(batch: Batch) -> list[gradbag.Bags]:
    return [gradbag.Bags(**entries) for _, entries, _ in batch.features()]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tables_are_looked_up_and_moved_as_one_by_one(batch: Batch, dtype: str) -> None:
    optimizer = optim.RowAdagrad(0.05)
    one, other = table_list(optimizer, dtype=dtype), table_list(optimizer, dtype=dtype)
    features = bags_of_features(batch)
    found = gradbag.lookup_many(one, features, "sum", FEATURES)
    assert_same(found, np.concatenate([other[t].lookup(b, "sum") for t, b in zip(FEATURES, features, strict=True)], 1))
    gradbag.step_many(one, dict(enumerate(features)), batch.grad, "sum", FEATURES)
    for table in range(len(SPECS)):
        entries, grad = together(batch, table)
        other[table].step(gradbag.Bags(**entries), grad, "sum")
        assert_same(one[table].values, other[table].values)
        assert one[table].step_count == 1


def test_tables_are_refused_by_feature() -> None:
    tables = table_list(optim.SGD(0.1))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"ids\[1\] == 40 out of range \[0, 40\); in feature 1"):
        gradbag.lookup_many(tables[:2], [[[1], [2]], [[3], [40]]])
    with pytest.raises(gradbag.InvalidArgumentError, match="features must be of one number of bags"):
        gradbag.lookup_many(tables[:2], [[[1], [2]], [[3]]])
    with pytest.raises(gradbag.InvalidArgumentError, match="features must be one for each of the 2 features"):
        gradbag.lookup_many(tables[:2], [[[1], [2]]])
    tables[1] = gradbag.Table(5, 2, optim.SGD(0.2))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"tables\[1\] must be a table with the optimizer"):
        gradbag.step_many(tables[:2], [[[1]], [[3]]], np.ones((1, 18), np.float32))
