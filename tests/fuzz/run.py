"""Fuzz for some minutes: `python tests/fuzz/run.py MINUTES [PART …]`. What is found is kept in tests/fuzz/cases."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PARTS = ("ops", "loaders", "exports", "requests")
PATIENCE = 60.0  # seconds without a word after which a worker counts as hanging


class Part:
    """The workers of one part, one after the other."""

    def __init__(self, name: str, seconds: float, seed: int) -> None:
        self.name, self.seed, self.end = name, seed, time.monotonic() + seconds
        self.count, self.of, self.findings = 0, 0, 0
        self.seen: set[str] = set()
        self.seconds = seconds

    def run(self) -> None:
        while (left := self.end - time.monotonic()) > 1:
            with tempfile.NamedTemporaryFile() as current:
                self._work(left, Path(current.name))
            self.seed += 1

    def _work(self, seconds: float, current: Path) -> None:
        command = [sys.executable, str(HERE / "worker.py"), self.name, str(self.seed), str(seconds), str(current)]
        with tempfile.TemporaryFile("w+") as errors:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=HERE)
            watch = threading.Timer(seconds + PATIENCE, worker.kill)
            watch.start()
            before = self.count
            assert worker.stdout is not None
            for line in worker.stdout:
                told = json.loads(line)
                if "finding" in told:
                    self.keep(told["finding"], told["problem"])
                else:
                    self.count, self.of = before + told["count"], told["of"]
                    self.seen |= set(told["seen"])
            code = worker.wait()
            watch.cancel()
            if code != 0:
                errors.seek(0)
                text = current.read_text().partition("\n")[0]
                self.keep(json.loads(text or "{}"), f"the process ended with {code}: {errors.read()[-500:]}")

    def keep(self, case: dict[str, Any], problem: str) -> None:
        self.findings += 1
        text = json.dumps({"part": self.name, "case": case, "problem": problem}, indent=1)
        name = f"{self.name}-{hashlib.sha256(json.dumps(case).encode()).hexdigest()[:12]}.json"
        (HERE / "cases").mkdir(exist_ok=True)
        (HERE / "cases" / name).write_text(text + "\n")
        print(f"FOUND tests/fuzz/cases/{name}: {problem[:300]}", flush=True)


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    names = sys.argv[2:] or list(PARTS)
    seed = time.time_ns() % (1 << 31)
    print(f"{minutes:g} minutes of {', '.join(names)}, from seed {seed}", flush=True)
    parts = [Part(name, 60 * minutes, seed) for name in names]
    threads = [threading.Thread(target=part.run) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for part in parts:
        rate = part.count / part.seconds
        print(
            f"{part.name:9} {part.count:9,} cases, {rate:7,.0f} a second, {len(part.seen)} of {part.of} covered, "
            f"{part.findings} findings"
        )
    return 1 if any(part.findings for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
