"""Break the library on purpose, once for each gradient rule, kernel and NumPy body: some test must notice every time.

    python tests/mutation/run.py                    all mutants, in a few minutes
    python tests/mutation/run.py --only slice       those whose name matches a regular expression
    python tests/mutation/run.py --list             their names

Gradient rules are broken in this process, as the registry tells; sources are broken in a copy, as `sources` lists them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from native import BuildError, NativeBuild
from rich.console import Console  # noqa: TID251  # a development program, not the package
from rich.progress import Progress, TextColumn, TimeElapsedColumn  # noqa: TID251
from rich.table import Table  # noqa: TID251
from rich.text import Text  # noqa: TID251
from rules import Reached, RuleMutant, rule_mutants
from sources import SourceMutant, affected_ops, source_mutants, table_faults, with_fewer_types
from subject import op_of

import gradbag
from gradbag.spec import Op, registry

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
GRADIENT_TESTS = "tests/registry/test_gradients.py"
NEEDS_ALL_TYPES = "tests/registry/test_kernels.py::test_a_declared_kernel_exists_for_every_dtype"
PATIENCE = 120  # seconds for the tests of one mutant, which may have made a loop endless

Mutant = RuleMutant | SourceMutant


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: noticed by a test, or survived, or not even a mutant."""

    mutant: Mutant
    seconds: float
    noticed_by: str = ""
    fault: str = ""


# ------------------------------------------------------------------ rules: in this process
class FirstFailure:
    """A pytest plugin: runs the tests of one op, or of all, and keeps the name of the first that fails."""

    def __init__(self, op: Op | None) -> None:
        self.op, self.failed, self.passed, self.stumbled = op, "", 0, ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self.op is None or op_of(item) == self.op.name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.passed and report.when == "call"
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_exception_interact(self, call: pytest.CallInfo[object]) -> None:
        # A check that fails has noticed something; any other exception means that the mutant itself is no sane code.
        if call.excinfo is not None and not issubclass(call.excinfo.type, (AssertionError, gradbag.Error)):
            self.stumbled = call.excinfo.exconly()


def run_gradient_tests(op: Op | None) -> FirstFailure:
    plugin = FirstFailure(op)
    # Not captured: pytest would capture the progress display too.
    arguments = ["-x", "-q", "--capture=no", "-p", "no:cacheprovider", GRADIENT_TESTS]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(arguments, plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"pytest ended with {code!r}:\n{said.getvalue()}")
    return plugin


def try_rule(mutant: RuleMutant) -> Outcome:
    started, reached = time.perf_counter(), Reached()
    with mutant.broken(reached):
        found = run_gradient_tests(mutant.op)
    seconds = time.perf_counter() - started
    if not reached.count:
        return Outcome(mutant, seconds, fault="no test runs the broken rule")
    if found.stumbled:
        return Outcome(mutant, seconds, fault=found.stumbled)
    return Outcome(mutant, seconds, noticed_by=found.failed)


# ------------------------------------------------------------------ sources: in processes of their own
def run_subject(
    replacements: dict[str, Path], ops: Iterable[Op], tests: Iterable[str], folder: Path
) -> tuple[str, str]:
    """The test that notices the replaced modules, or what made the run worthless; both empty when all tests pass."""
    report = folder / "report.json"
    report.write_text(json.dumps({"running": "", "failed": ""}), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("subject.py")), "--report", str(report)]
    command += [word for module, path in replacements.items() for word in ("--replace", f"{module}={path}")]
    command += ["--ops", ",".join(op.name for op in ops), "--without", NEEDS_ALL_TYPES, *tests]
    # Fresh memory is filled with rubbish, so that an output byte that nobody writes shows. Of the loops that are
    # compiled for several instruction sets, those that any processor can run are broken, so those must be run.
    environment = {**os.environ, "MALLOC_PERTURB_": "165", "GRADBAG_SIMD": "baseline"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, said = None, ""
    seen = json.loads(report.read_text(encoding="utf-8"))
    if code == pytest.ExitCode.OK:
        return "", ""
    if seen["failed"]:
        return seen["failed"], ""
    if code is None or code < 0:
        ending = "does not end" if code is None else f"dies of {signal.Signals(-code).name}"
        return f"{seen['running']} {ending}", ""
    return "", f"the tests did not run:\n{said}"


def try_source(mutant: SourceMutant, build: NativeBuild, folder: Path) -> Outcome:
    started = time.perf_counter()
    folder.mkdir(parents=True)
    replacements = {"gradbag.eager._kernels": build.module}
    text = mutant.text(ROOT)
    noticed = fault = ""
    try:
        if mutant.module:
            replacements[mutant.module] = folder / Path(mutant.file).name
            replacements[mutant.module].write_text(text, encoding="utf-8")
        else:
            replacements["gradbag.eager._kernels"] = build.compile(mutant.unit, mutant.file, text, folder)
        noticed, fault = run_subject(replacements, affected_ops(mutant), mutant.tests, folder)
    except BuildError as problem:
        fault = f"it does not compile: {problem}"
    shutil.rmtree(folder)
    return Outcome(mutant, time.perf_counter() - started, noticed, fault)


# ------------------------------------------------------------------ the program
def unbroken_faults(build: NativeBuild, sources: list[SourceMutant], rules: list[RuleMutant]) -> list[str]:
    """A test that fails anyway notices nothing."""
    failed = []
    if sources:
        folder = WORK / "unbroken"
        folder.mkdir(parents=True, exist_ok=True)
        tests = ["tests/mutation/reach.py", *sorted({test for mutant in sources for test in mutant.tests})]
        failed += run_subject({"gradbag.eager._kernels": build.module}, registry, tests, folder)
    if rules:
        found = run_gradient_tests(None)
        failed.append(found.failed or ("" if found.passed else f"no test in {GRADIENT_TESTS} ran"))
    return [f"Without any mutant: {name}" for name in failed if name]


def try_all(console: Console, rules: list[RuleMutant], sources: list[SourceMutant]) -> tuple[list[Outcome], list[str]]:
    """The outcomes, in the order of the mutants, and what makes them worthless."""
    shutil.rmtree(WORK / "mutants", ignore_errors=True)
    build = NativeBuild(ROOT, WORK / "native", with_fewer_types(ROOT))
    columns = (*Progress.get_default_columns()[:-1], TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False) as progress:
        task = progress.add_task("Unbroken", total=len(rules) + len(sources), note="compiling the kernels")
        try:
            if sources:
                build.prepare()
        except BuildError as problem:
            return [], [str(problem)]
        progress.update(task, note="running its tests")
        faults = unbroken_faults(build, sources, rules)
        if faults:
            return [], faults
        progress.update(task, description="Mutants", note="")
        missed = 0

        def counted(tried: Callable[[], Outcome]) -> Outcome:
            nonlocal missed
            outcome = tried()
            if not outcome.noticed_by:
                missed += 1
                console.print(Text(f"Not noticed: {outcome.mutant.name}", "red"))
            progress.update(task, advance=1, note=f"{missed} not noticed" if missed else "")
            return outcome

        with ThreadPoolExecutor(_cores()) as workers:
            waiting = [
                workers.submit(counted, lambda m=m, k=k: try_source(m, build, WORK / "mutants" / str(k)))
                for k, m in enumerate(sources)
            ]
            outcomes = [counted(lambda m=m: try_rule(m)) for m in rules]
            outcomes += [w.result() for w in waiting]
    return outcomes, []


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def show(console: Console, outcomes: list[Outcome]) -> None:
    table = Table("mutant", "noticed by", "seconds", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[2].justify = "right"
    for outcome in outcomes:
        test = outcome.noticed_by.partition("::")[2] or outcome.noticed_by
        verdict = Text(test) if test else Text("it is no mutant" if outcome.fault else "nobody", "bold red")
        table.add_row(Text(outcome.mutant.name), verdict, f"{outcome.seconds:.1f}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the library on purpose; some test must notice every time.")
    parser.add_argument("--only", default="", metavar="PATTERN", help="mutants whose name matches, ignoring case")
    parser.add_argument("--list", action="store_true", help="name the mutants and do nothing")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the registry's tests need no plugins, which take long to load
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200)

    faults = table_faults(ROOT)
    if faults:
        print("The table of mutants does not fit the sources:", *faults, sep="\n  ")
        return 1
    wanted = re.compile(given.only, re.IGNORECASE)
    rules = [m for m in rule_mutants() if wanted.search(m.name)]
    sources = [m for m in source_mutants(ROOT) if wanted.search(m.name)]
    if given.list or not rules + sources:
        print(*(m.name for m in (*rules, *sources)), sep="\n")
        return 0 if rules + sources else 1

    started = time.perf_counter()
    outcomes, faults = try_all(console, rules, sources)
    if faults:
        print(*faults, sep="\n")
        return 1
    show(console, outcomes)
    missed = [o for o in outcomes if not o.noticed_by]
    seconds = time.perf_counter() - started
    print(f"\n{len(outcomes) - len(missed)} of {len(outcomes)} mutants were noticed, in {seconds:.0f} seconds.")
    for outcome in missed:
        print(f"  {outcome.mutant.name}: {outcome.fault or 'survived'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
