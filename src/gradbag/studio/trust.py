"""Whose pages run without being asked about: those that were made here, and those that the user has said yes to.

The list lies in the folder, which may have come from a stranger, list and all. So each line is sealed with a key that
only this user has.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from .files import EXAMPLE, OWN, Folder, digest
from .sessions import user_key

MOST_OPENED = 64


class Trust:
    """Files by what is in them, and dropped files by how much of them is still on the page that runs."""

    def __init__(self, folder: Folder, state: Path) -> None:
        self._folder = folder
        self._key = user_key(state)
        self._sealed = self._read()
        self._opened: list[frozenset[tuple[str, str]]] = []

    # ------------------------------------------------------------------ files
    def knows(self, content: bytes) -> bool:
        return self.seal(content) in self._sealed

    def add(self, content: bytes) -> None:
        """Trust a file as it is now; changed by anybody else, it is foreign again."""
        seal = self.seal(content)
        if seal in self._sealed:
            return
        self._sealed.add(seal)
        with suppress(OSError), self._folder.inside((OWN,), make=True) as at:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            with open(os.open("trusted", flags, 0o600, dir_fd=at), "ab") as file:
                file.write(f"{seal}\n".encode())

    def covers(self, path: str | None) -> bool:
        """Whether the page that lies in a file may run."""
        if path is None or path.startswith(EXAMPLE):
            return True
        return self.knows(self._folder.read(path))

    # ------------------------------------------------------------------ foreign pages that are on a tab
    def remember_opened(self, nodes: Mapping[str, Any]) -> None:
        """A foreign page was opened, or dropped on a tab: it stays one under another name, too."""
        outline = _outline(nodes)
        if outline and outline not in self._opened:
            self._opened = [*self._opened, outline][-MOST_OPENED:]

    def has_foreign(self, nodes: Mapping[str, Any]) -> bool:
        """Whether half of some foreign page is on this one."""
        if not self._opened:
            return False
        own = _outline(nodes)
        return any(2 * len(own & foreign) >= len(foreign) for foreign in self._opened)

    def accept_opened(self, nodes: Mapping[str, Any] | None = None) -> None:
        """The user trusts a page, or all that were opened."""
        outline = frozenset() if nodes is None else _outline(nodes)
        self._opened = [] if nodes is None else [one for one in self._opened if one != outline]

    # ------------------------------------------------------------------ seals
    def seal(self, content: bytes) -> str:
        return hmac.digest(self._key, digest(content).encode(), "sha256").hex()

    def _read(self) -> set[str]:
        try:
            with (
                self._folder.inside((OWN,)) as at,
                open(os.open("trusted", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at), "rb") as file,
            ):
                return set(file.read(1 << 24).decode("ascii", "replace").split())
        except OSError:
            return set()


@dataclass
class Outline:
    """Of a page's text, as much as is needed here."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)


def nodes_of(page: bytes) -> dict[str, dict[str, Any]]:
    """The nodes of a page that is text still; none where it cannot be read, which is told elsewhere."""
    try:
        found: Outline = msgspec.json.decode(page, type=Outline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found.nodes


def _outline(nodes: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(entry.get("op"))) for name, entry in nodes.items() if isinstance(entry, dict))
