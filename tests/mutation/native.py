"""Compiling the kernels with one source file replaced.

The unbroken module is built once, from a copy of the sources with fewer element types and without optimisation, since
compiling is most of the work here. A broken one differs in one translation unit: the mutated header lies in a folder
that is searched first, that unit is compiled again, and linked with the unbroken objects of the others.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


class BuildError(Exception):
    """A compiler or CMake refused; the text is what it said."""


class NativeBuild:
    """The unbroken build and what can be made from it."""

    def __init__(self, root: Path, folder: Path, changed: Mapping[str, str]) -> None:
        """`changed` are the files of `root` that have another text in the copy."""
        self.root, self.changed = root, changed
        self.source, self.folder = folder / "source", folder / "objects"

    def prepare(self) -> Path:
        """Build the unbroken module, or what has changed of it, and give its path."""
        self._copy_sources()
        ninja = _tool("ninja")
        settings = {
            "CMAKE_BUILD_TYPE": "Mutation",
            "CMAKE_CXX_FLAGS_MUTATION": "-O0",
            "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
            "CMAKE_MAKE_PROGRAM": ninja,
            "Python_EXECUTABLE": sys.executable,
        }
        definitions = [f"-D{name}={value}" for name, value in settings.items()]
        _run([_tool("cmake"), "-S", str(self.source), "-B", str(self.folder), "-G", "Ninja", *definitions], self.source)
        _run([ninja], self.folder)
        self.module = next(p for s in EXTENSION_SUFFIXES for p in self.folder.glob(f"_kernels*{s}"))
        commands = json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {Path(entry["file"]).stem: shlex.split(entry["command"]) for entry in commands}
        self.link = self._link_command(ninja)
        return self.module

    def compile(self, unit: str, file: str, text: str, folder: Path) -> Path:
        """The module with `text` in place of a file of csrc, as far as one translation unit sees it."""
        overlay = folder / "csrc"
        replaced = overlay / Path(file).relative_to("csrc")
        replaced.parent.mkdir(parents=True, exist_ok=True)
        replaced.write_text(text, encoding="utf-8")
        command = self.commands[unit]
        unbroken, source = command[command.index("-o") + 1], command[command.index("-c") + 1]
        broken, module = str(folder / "unit.o"), str(folder / self.module.name)
        own = {unbroken: broken}
        if Path(source).relative_to(self.source).as_posix() == file:
            own[source] = str(replaced)
        command = [own.get(word, word) for word in command]
        _run([command[0], f"-I{overlay}", *command[1:], "-w"], self.folder)
        # Of an inline function that several objects have, the linker takes the first: so the broken one comes first.
        link = [word for word in self.link if word != unbroken]
        link[link.index("-o") + 1 : link.index("-o") + 2] = [module, broken]
        _run(link, self.folder)
        return folder / self.module.name

    def _copy_sources(self) -> None:
        """Write what differs and nothing else, so that only that is compiled again."""
        wanted = {"CMakeLists.txt": (self.root / "CMakeLists.txt").read_text(encoding="utf-8")}
        for path in (self.root / "csrc").rglob("*.[ch]*"):
            wanted[path.relative_to(self.root).as_posix()] = path.read_text(encoding="utf-8")
        wanted.update(self.changed)
        for path in list(self.source.rglob("*.[ch]*")):
            if path.relative_to(self.source).as_posix() not in wanted:
                path.unlink()
        for name, text in wanted.items():
            path = self.source / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    def _link_command(self, ninja: str) -> list[str]:
        """The last command that builds the module, without the shell's no-ops that CMake puts around it."""
        said = _run([ninja, "-t", "commands", self.module.name], self.folder)
        return shlex.split(next(part for part in said.splitlines()[-1].split("&&") if self.module.name in part))


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
