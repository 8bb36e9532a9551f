"""Compiling the kernels with one source file replaced.

The unbroken module is built once, by the project's own CMakeLists.txt but without optimisation, since compiling is most
of the work here. A broken one differs in one translation unit: the mutated header lies in a folder that is searched
first, that unit is compiled again, and linked with the unbroken objects of the others.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

UNIT_FOLDER = "csrc/bind"


class BuildError(Exception):
    """A compiler or CMake refused; the text is what it said."""


class NativeBuild:
    """The unbroken build and what can be made from it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder

    def prepare(self) -> Path:
        """Build the unbroken module, or what has changed of it, and give its path."""
        ninja = _tool("ninja")
        settings = {
            "CMAKE_BUILD_TYPE": "Mutation",
            "CMAKE_CXX_FLAGS_MUTATION": "-O0",
            "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
            "CMAKE_MAKE_PROGRAM": ninja,
            "Python_EXECUTABLE": sys.executable,
        }
        definitions = [f"-D{name}={value}" for name, value in settings.items()]
        _run([_tool("cmake"), "-S", str(self.root), "-B", str(self.folder), "-G", "Ninja", *definitions], self.root)
        _run([ninja, "-C", str(self.folder)], self.root)
        self.module = next(p for s in EXTENSION_SUFFIXES for p in self.folder.glob(f"_kernels*{s}"))
        commands = json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {Path(entry["file"]).stem: shlex.split(entry["command"]) for entry in commands}
        self.link = shlex.split(self._link_command(ninja))
        return self.module

    def compile(self, unit: str, file: str, text: str, folder: Path) -> Path:
        """The module with `text` in place of a file of csrc, as far as one translation unit sees it."""
        overlay = folder / "csrc"
        replaced = overlay / Path(file).relative_to("csrc")
        replaced.parent.mkdir(parents=True, exist_ok=True)
        replaced.write_text(text, encoding="utf-8")
        command = self.commands[unit]
        object_file, source = command[command.index("-o") + 1], command[command.index("-c") + 1]
        own = {object_file: str(folder / "unit.o")}
        if Path(source).relative_to(self.root).as_posix() == file:
            own[source] = str(replaced)
        command = [own.get(word, word) for word in command]
        _run([command[0], f"-I{overlay}", *command[1:], "-w"], self.folder)
        own[self.link[self.link.index("-o") + 1]] = str(folder / self.module.name)
        _run([own.get(word, word) for word in self.link], self.folder)
        return folder / self.module.name

    def _link_command(self, ninja: str) -> str:
        """The last command that builds the module, between the shell's no-ops that CMake puts around it."""
        said = _run([ninja, "-C", str(self.folder), "-t", "commands", self.module.name], self.root)
        return next(part for part in said.splitlines()[-1].split("&&") if self.module.name in part)


def units(root: Path) -> list[str]:
    """The translation units that bind kernels: one per family, each beside a header of its name."""
    return sorted(p.stem for p in (root / UNIT_FOLDER).glob("*.cpp") if (root / f"csrc/kernels/{p.stem}.hpp").exists())


def _tool(name: str) -> str:
    """A program of this Python's environment, or else of the system."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise BuildError(f"{name} is not installed; `make test-mutation` installs it")
    return found


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
