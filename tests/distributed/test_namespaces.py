"""Hosts that are network namespaces: bytes are counted at their interfaces, and the net between them is cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import gradbag
from gradbag.sharding import zipf_ids

HOSTS = 2
ROWS, COLUMNS, BAGS, LENGTH, STEPS = 20_000, 32, 512, 20, 60  # as in the program


def one_process() -> np.ndarray:
    table = gradbag.Table(ROWS, COLUMNS, gradbag.optim.SGD(0.1), init="normal")
    for step in range(STEPS):
        ids = [zipf_ids(np.random.default_rng([step, rank]), BAGS * LENGTH, ROWS, 1.05) for rank in range(HOSTS)]
        bags = gradbag.Bags(np.concatenate(ids), np.arange(HOSTS * BAGS) * LENGTH)
        table.step(bags, np.ones((HOSTS * BAGS, COLUMNS), np.float32), "sum")
    return table.values


def test_bytes_on_the_wire_and_a_net_that_is_cut(hosts, tmp_path):
    switch, names = hosts
    program = Path(__file__).parent / "namespace_program.py"
    ranks = []
    for rank, name in enumerate(names[:HOSTS]):
        settings = {
            "RANK": str(rank),
            "WORLD_SIZE": str(HOSTS),
            "MASTER_ADDR": "10.78.0.1",
            "MASTER_PORT": "29500",
            "GLOO_SOCKET_IFNAME": "eth0",
            "GRADBAG_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = ["ip", "netns", "exec", name, sys.executable, str(program), str(tmp_path / "table.npy")]
        ranks.append(subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True))
    try:
        said = [rank.stdout.readline() for rank in ranks]
        assert all(line.startswith("bytes ") for line in said), said
        while "step 3" not in ranks[0].stdout.readline():
            pass
        port = ["ip", "-n", switch, "link", "set", "port1"]
        subprocess.run([*port, "down"], check=True)
        time.sleep(5)
        subprocess.run([*port, "up"], check=True)
        begin = time.monotonic()
        ends = [rank.wait(timeout=90) for rank in ranks]
        assert time.monotonic() - begin < 90
    finally:
        for rank in ranks:
            rank.kill()
            rank.stdout.close()
    found = [json.loads(line.removeprefix("bytes ")) for line in said]
    for way in ("exact", "partial"):
        told, payload, counted = (sum(each[way][name] for each in found) for name in ("told", "payload", "counted"))
        assert payload == told
        assert told <= counted <= 1.02 * told, f"{way}: {counted} bytes for {told}"
    assert set(ends) <= {0, 3}, ends
    if ends == [0] * HOSTS:
        assert np.load(tmp_path / "table.npy").tobytes() == one_process().tobytes()
