"""Wheels for Linux on two processors from one machine: zig compiles for both, for glibc 2.28 and with its own libc++.

`python packaging/wheels.py FOLDER [ARCHITECTURE …]`; what comes out is audited and named manylinux_2_28.
"""

from __future__ import annotations

import os
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
    """A wheel for one processor."""
    with tempfile.TemporaryDirectory() as made:
        tools, raw = Path(made) / "tools", Path(made) / "raw"
        tools.mkdir()
        for command in ("cc", "c++"):
            text = COMPILER.format(python=sys.executable, command=command, architecture=architecture, glibc=GLIBC)
            (tools / command).write_text(text)
            (tools / command).chmod(0o755)
        (tools / "toolchain.cmake").write_text(TOOLCHAIN.format(architecture=architecture, folder=tools))
        suffix = sysconfig.get_config_var("EXT_SUFFIX").replace(os.uname().machine, architecture)
        environment = {
            **os.environ,
            "CMAKE_ARGS": f"-DCMAKE_TOOLCHAIN_FILE={tools}/toolchain.cmake -DNB_SUFFIX={suffix}",
            "SETUPTOOLS_EXT_SUFFIX": suffix,
            "_PYTHON_HOST_PLATFORM": f"linux-{architecture}",
            "GRADBAG_COMPILED": "1",
        }
        run = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", str(raw)]
        subprocess.run([*run, str(ROOT)], env=environment, check=True)
        (wheel,) = raw.glob("*.whl")
        platform = f"manylinux_{GLIBC.replace('.', '_')}_{architecture}"
        audit = [sys.executable, "-m", "auditwheel", "repair", "--plat", platform, "--wheel-dir", str(folder)]
        subprocess.run([*audit, str(wheel)], check=True)
        (found,) = folder.glob(f"*{architecture}.whl")
        return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for architecture in sys.argv[2:] or ("x86_64", "aarch64"):
        for old in folder.glob(f"*{architecture}.whl"):
            old.unlink()
        print(f"{architecture}: {build(architecture, folder)}", flush=True)


if __name__ == "__main__":
    main()
