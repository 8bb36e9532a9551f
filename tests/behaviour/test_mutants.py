"""What `make test-mutation` breaks is quoted from the sources, so who changes a kernel changes the quotation, too."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_mutants_fits_the_sources() -> None:
    done = subprocess.run(
        [sys.executable, "tests/mutation/run.py", "--list"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "csrc/kernels/slice_grad.hpp" in done.stdout
