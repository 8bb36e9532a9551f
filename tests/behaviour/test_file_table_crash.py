"""A process that uses a table in a file is killed: at any time, and at every single call that writes."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gradbag import FileTable, Table, optim

# What is done in a step depends on its number alone: whoever knows the number can do the same in memory.
STEP = """
import os, signal, sys
import numpy as np
import gradbag

def step(table):
    rng = np.random.default_rng(table.step_count)
    bags = gradbag.Bags(rng.integers(0, 500, 100), np.arange(0, 100, 4))
    table.step(bags, rng.normal(size=(25, 8)).astype(np.float32))
"""
TRAINING = (
    STEP
    + """
table = gradbag.FileTable.open(sys.argv[1])
print("open", flush=True)
while True:
    for _ in range(3):
        step(table)
    table.checkpoint()
    print(table.step_count, flush=True)
"""
)


def trained(table: Table | FileTable, steps: int) -> None:
    names: dict[str, object] = {}
    exec(compile(STEP, "step", "exec"), names)  # noqa: S102  # our own text
    while table.step_count < steps:
        names["step"](table)  # type: ignore[operator]


def assert_same(file: FileTable, table: Table) -> None:
    assert file.step_count == table.step_count
    assert file.read(np.arange(500)).tobytes() == table.values.tobytes()
    block = file._block("test", np.arange(500), True)
    for name in ("mean", "square"):
        assert block.state[name].tobytes() == table.state[name].tobytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.kills)])
def test_the_last_checkpoint_survives_kills_bit_for_bit(kills: int, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    FileTable.create(path, 500, 8, optim.Adam(0.1)).close()
    memory = Table(500, 8, optim.Adam(0.1))
    rng = np.random.default_rng(0)
    told, new = 0, 0
    for number in range(kills):
        command = [sys.executable, "-c", TRAINING, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            lines = [process.stdout.readline()] if number % 2 else []  # a checkpoint, or none for sure
            time.sleep(float(rng.uniform(0, 0.1)))
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().split()
        told = int(lines[-1]) if lines else told
        with FileTable.open(path) as file:
            assert file.step_count in (told, told + 3)  # the last that was told, or the one that was being told
            new += file.step_count > memory.step_count
            trained(memory, file.step_count)
            assert_same(file, memory)
        told = memory.step_count
    assert new >= kills // 2


KILLED = (
    STEP
    + """
# Dies at the so manieth call that changes a file: before it, or in its middle.
left, torn = int(sys.argv[2]), sys.argv[3] == "torn"

def dying(call):
    def run(*given):
        global left
        left -= 1
        if not left:
            if torn and call is real["pwrite"]:
                call(given[0], bytes(given[1])[: len(given[1]) // 2], given[2])
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given)
    return run

table = gradbag.FileTable.open(sys.argv[1])
real = {name: getattr(os, name) for name in ("pwrite", "fsync", "ftruncate")}
for name, call in real.items():
    setattr(os, name, dying(call))
step(table)
step(table)
print("checkpoint", flush=True)
table.checkpoint()
print("done", flush=True)
step(table)
print("end", flush=True)
"""
)


@pytest.mark.slow
@pytest.mark.kills
@pytest.mark.parametrize("how", ["whole", "torn"])
def test_whichever_call_is_the_last_a_checkpoint_is_there(how: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    FileTable.create(path, 500, 8, optim.Adam(0.1)).close()
    with FileTable.open(path) as file:
        trained(file, 2)
        file.checkpoint()
    first, second = Table(500, 8, optim.Adam(0.1)), Table(500, 8, optim.Adam(0.1))
    trained(first, 2)
    trained(second, 4)
    whole = path.read_bytes()
    found = []
    calls = [*range(1, 20), *range(20, 2000, 23 if how == "whole" else 37)]
    for number in calls:
        path.write_bytes(whole)
        Path(f"{path}.journal").unlink(missing_ok=True)
        command = [sys.executable, "-c", KILLED, str(path), str(number), how]
        answer = subprocess.run(command, capture_output=True, text=True)
        lines = answer.stdout.split()
        assert answer.returncode == (0 if "end" in lines else -signal.SIGKILL), answer.stderr
        with FileTable.open(path) as file:
            found.append(file.step_count)
            assert file.step_count == 2 or "checkpoint" in lines
            assert file.step_count == 4 or "done" not in lines
            assert_same(file, first if file.step_count == 2 else second)
        if "end" in lines:
            break
    assert found.count(2) > 5
    assert found.count(4) > 3
    assert found == sorted(found)
    assert "end" in lines
