"""`gradbag shard`: a plan on paper."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradbag import Bags
from gradbag.cli import main
from gradbag.sharding import ShardPlan, traffic, zipf_ids
from gradbag.sharding.cost import costs


def test_a_plan_tells_memory_bytes_and_time(capsys):
    assert main(["shard", "plan", "100000", "16", "--hosts", "4", "--batch", "64", "--bag", "5", "--zipf", "1.05"]) == 0
    told = capsys.readouterr().out
    assert "memory of a host   1.6 MiB" in told  # 25000 rows of 16 and one number, in 4 bytes
    for way in ("exact", "partial", "hybrid"):
        assert re.search(rf"^{way} .* ms", told, re.MULTILINE)
    assert "fewest milliseconds: " in told


def test_bytes_are_those_of_traffic():
    plan = ShardPlan(10**6, 4)
    found = costs(plan, 16, bags=32, length=10, zipf=1.05)
    ids = zipf_ids(np.random.default_rng(0), 320, 10**6, 1.05)
    assert found[0].traffic == traffic(plan, Bags(ids, np.arange(32) * 10), 16)
    assert all(cost.overlapped <= cost.serial for cost in found)


def test_what_makes_no_sense_is_refused(capsys):
    assert main(["shard", "plan", "100", "16", "--hosts", "0"]) == 2
    assert main(["shard", "plan", "100", "16", "--hosts", "2", "--optimizer", "Nadam"]) == 2
    assert "there is no optimizer 'Nadam'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["shard"])
