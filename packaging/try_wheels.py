"""Try the wheels of a folder as users would: `python packaging/try_wheels.py FOLDER`, after `make wheels`.

The wheel of this machine and the pure one are installed into empty environments, where neither a compiler nor Node is
on the path; the one for aarch64 runs a part of the tests under qemu, in a Python of Debian's.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Whose tests need a few minutes under an emulator: each op with its kernel against its body, and threads.
EMULATED = ["tests/registry/test_kernels.py", "tests/registry/test_examples.py", "tests/registry/test_shortcuts.py"]
EMULATED += ["tests/behaviour/test_num_threads.py"]
# What starts a Python of its own, which nobody emulates.
NOT_EMULATED = "tests/behaviour/test_num_threads.py::test_without_compiled_kernels_the_number_is_remembered"
NUMBERS = """
import numpy as np, gradbag
from gradbag import eager, raw_ops
table = np.arange(8, dtype=np.float32).reshape(4, 2)
answer = raw_ops.EmbeddingBag(table=table, ids=[0, 3, 1], offsets=[0, 2], combiner="mean")
assert answer.tolist() == [[3, 4], [2, 3]], answer
print(gradbag.__version__, "compiled" if eager.available() else "pure")
"""
APT = """
APT::Architecture "arm64"; APT::Architectures {{ "arm64"; }}; APT::Install-Recommends "false"; Debug::NoLocking "1";
Dir::State "{folder}/state"; Dir::State::status "{folder}/status"; Dir::Cache "{folder}/cache";
"""


def main() -> None:
    folder = Path(sys.argv[1])
    for pattern, kind in ((f"*_{platform.machine()}.whl", "compiled"), ("*-none-any.whl", "pure")):
        (wheel,) = folder.glob(f"gradbag-{pattern}")
        in_an_empty_environment(wheel, kind)
    for system, ending in (
        ("manylinux_x86_64", "x86_64.whl"),
        ("manylinux_aarch64", "aarch64.whl"),
        ("macosx_14_0_arm64", "none-any.whl"),
        ("win_amd64", "none-any.whl"),
        ("musllinux_1_2_x86_64", "none-any.whl"),
    ):
        chosen = chosen_for(system, folder)
        assert chosen.endswith(ending), f"{system}: {chosen}"
        print(f"pip takes for {system}: {chosen}", flush=True)
    (wheel,) = folder.glob("gradbag-*_aarch64.whl")
    under_qemu(wheel)


def in_an_empty_environment(wheel: Path, kind: str) -> None:
    """Install it, compute, take the tour and open the studio."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        subprocess.run([sys.executable, "-m", "venv", place / "empty"], check=True)
        programs = place / "empty" / "bin"
        environment = {**os.environ, "PATH": str(programs), "XDG_STATE_HOME": made}  # nothing on the path could build

        def run(*command: str) -> str:
            done = subprocess.run(command, env=environment, cwd=made, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            return done.stdout

        run(str(programs / "python"), "-m", "pip", "install", "-q", f"gradbag[studio] @ {wheel.resolve().as_uri()}")
        told = run(str(programs / "python"), "-c", NUMBERS).strip()
        assert told.endswith(kind), f"{wheel.name} is {told}"
        tour = run(str(programs / "gradbag"), "tour")
        size = studio_page(programs / "gradbag", environment, place)
        print(
            f"{wheel.name}: {told}; the tour has {len(tour.splitlines())} lines, the studio {size:,} bytes", flush=True
        )


def studio_page(program: Path, environment: dict[str, str], place: Path) -> int:
    """The bytes of the page that the studio serves, and of all that it asks for."""
    (place / "pages").mkdir()
    command = [str(program), "studio", str(place / "pages"), "--no-browser", "--port", "0"]
    studio = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert studio.stdout is not None
        line = studio.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+/)#token=", line)
        assert found, line + studio.stdout.read()
        with urllib.request.urlopen(found[1]) as answer:
            page = answer.read().decode()
        parts = re.findall(r'(?:src|href)="\.?/?((?:assets/)[^"]+)"', page)
        assert parts, page
        sizes = []
        for part in parts:
            with urllib.request.urlopen(found[1] + part) as answer:
                sizes.append(len(answer.read()))
        assert all(sizes)
        return len(page) + sum(sizes)
    finally:
        studio.terminate()
        studio.wait(30)


def chosen_for(system: str, folder: Path) -> str:
    """The wheel that pip takes on another system."""
    with tempfile.TemporaryDirectory() as made:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-index",
            "--find-links",
            str(folder),
        ]
        command += ["--only-binary", ":all:", *platforms(system)]
        subprocess.run([*command, "-d", made, "gradbag"], check=True)
        (wheel,) = Path(made).iterdir()
        return wheel.name


def platforms(system: str) -> list[str]:
    """A system as pip wants it: one with glibc 2.28 takes what was made for an older one."""
    kind, _, architecture = system.partition("_")
    older = [f"manylinux_2_{minor}_{architecture}" for minor in range(28, 16, -1)] if kind == "manylinux" else [system]
    return [word for one in older for word in ("--platform", one)]


def under_qemu(wheel: Path) -> None:
    """A part of the tests on the other processor."""
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if emulator is None or shutil.which("dpkg-deb") is None:
        raise SystemExit("aarch64 was not tried: that needs Debian's or Ubuntu's qemu-user (apt-get install qemu-user)")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    root = ROOT / "build" / "aarch64"
    if not (root / f"usr/bin/python{version}").exists():
        unpack_python(root, version)
    with tempfile.TemporaryDirectory() as made:
        install = [sys.executable, "-m", "pip", "install", "-q", "--target", made, "--only-binary", ":all:"]
        install += ["--python-version", version]
        install += platforms("manylinux_aarch64")
        subprocess.run([*install, str(wheel), "pytest>=9,<10", "hypothesis>=6.100,<7"], check=True)
        python = [emulator, "-L", str(root), str(root / f"usr/bin/python{version}")]
        environment = {**os.environ, "PYTHONPATH": made, "PYTHONHOME": str(root / "usr"), "GRADBAG_NUM_THREADS": "2"}
        told = subprocess.run([*python, "-c", NUMBERS], env=environment, check=True, capture_output=True, text=True)
        assert told.stdout.strip().endswith("compiled"), told.stdout
        print(f"{wheel.name} under qemu: {told.stdout.strip()}", flush=True)
        suite = [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            "--deselect",
            NOT_EMULATED,
            *EMULATED,
        ]
        subprocess.run([*python, *suite], env=environment, cwd=ROOT, check=True)


def unpack_python(root: Path, version: str) -> None:
    """Debian's packages for arm64, beside the system and not in it."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)  # apt fetches as a user of its own
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (place / folder).mkdir(parents=True)
        (place / "status").touch()
        (place / "apt.conf").write_text(APT.format(folder=place))
        environment = {**os.environ, "APT_CONFIG": str(place / "apt.conf")}
        for step in (["update"], ["install", "-d", "-y", f"python{version}", "libstdc++6"]):
            subprocess.run(["apt-get", "-qq", *step], env=environment, check=True, stdout=subprocess.DEVNULL)
        root.mkdir(parents=True, exist_ok=True)
        for package in (place / "cache/archives").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)


if __name__ == "__main__":
    main()
