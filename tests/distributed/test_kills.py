"""SIGKILL of ranks at random steps: what is left goes on, and ends with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KILLS = 10


def test_a_run_survives_the_death_of_ranks(tmp_path):
    command = [sys.executable, str(Path(__file__).parent / "launcher.py"), str(tmp_path), str(KILLS)]
    settings = {"GLOO_SOCKET_IFNAME": "lo", "GRADBAG_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("same ["), ended.stdout
