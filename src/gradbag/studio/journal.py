"""The journal: every state of a page that is not saved yet, so that a crash loses a second of work at most.

One file for each page, to which lines are only added. A line begins with a checksum: one that was cut short is not
read, and the one before it counts. What another tab has written there, and this one has not seen, is put aside into a
journal of its own before anything comes after it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zlib import crc32

import msgspec

from ..page import data_files
from .answers import Refused
from .files import OWN, SUFFIX, Folder, checked_name, told_when_full
from .messages import Unsaved

_UNTITLED = re.compile(r"untitled-[0-9a-zA-Z-]{1,64}")
_PLACE = (OWN, "journal")
MOST_BLOCKS = 6  # that are named of a page


@dataclass
class Entry:
    """A state of a page; `page` is its JSON."""

    path: str
    sequence: int
    saved_at: str
    page: msgspec.Raw
    seal: str = ""  # tells whether it was written here
    client: str = ""  # the tab that wrote it


def checked_journal(path: str) -> str:
    """The name of a page in the folder, or of one that has no file yet."""
    return path if _UNTITLED.fullmatch(path) else checked_name(path)


class Journal:
    """The journals of a folder. Its methods wait for the disk: call them in a thread."""

    def __init__(self, folder: Folder, seal: Callable[[bytes], str] = lambda page: "") -> None:
        self._folder, self._seal = folder, seal

    def add(self, path: str, page: bytes, sequence: int, client: str = "", seen: str = "") -> bool:
        """Put a state of a page on the disk, for good; whether the state of another tab stands aside for it."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        # A line break in JSON stands between values only, never inside one.
        flat = page.replace(b"\n", b" ").replace(b"\r", b" ")
        raw = msgspec.Raw(flat)
        with told_when_full(), self._folder.alone():
            beside = self._put_aside(path, client, seen)
            self._write(Entry(checked_journal(path), sequence, now, raw, self._seal(flat), _checked_client(client)))
            if _checked_client(client):
                self.drop(_beside(client))  # what was put aside of this tab is older
        return beside

    def _write(self, entry: Entry) -> None:
        body = msgspec.json.encode(entry)
        line = b"%08x %s\n" % (crc32(body), body)
        self._folder.make_room(len(line))
        with self._folder.inside(_PLACE, make=True) as at:
            self._append(at, _file(entry.path), line)

    def _put_aside(self, path: str, client: str, seen: str) -> bool:
        """The last state goes into a journal of its own, if it is of a tab whose work this one has not seen."""
        last = self.last(path)
        if last is None or last.client in ("", client, seen) or not _checked_client(last.client):
            return False
        self._write(replace(last, path=_beside(last.client)))
        return True

    def _append(self, at: int, name: str, line: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        try:
            size = os.fstat(descriptor).st_size
            if size + len(line) > self._folder.limits.journal:
                data_files.write_whole_in(at, name, line)
                return
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # after one that was cut short
            try:
                written = os.write(descriptor, line)
                while written < len(line):
                    written += os.write(descriptor, line[written:])
                os.fsync(descriptor)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
            if not size:
                os.fsync(at)
        finally:
            os.close(descriptor)

    def last(self, path: str) -> Entry | None:
        """The latest state of a page that is whole."""
        return self._last_in(_file(checked_journal(path)))

    def _last_in(self, name: str) -> Entry | None:
        try:
            with (
                self._folder.inside(_PLACE) as at,
                open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at), "rb") as file,
            ):
                lines = file.read(2 * self._folder.limits.journal).split(b"\n")
        except OSError:
            return None
        for line in reversed(lines):
            body = line[9:]
            if body and line[:8] == b"%08x" % crc32(body):
                with suppress(msgspec.DecodeError, RecursionError):
                    return msgspec.json.decode(body, type=Entry)  # type: ignore[no-any-return,unused-ignore]
        return None

    def is_own(self, entry: Entry) -> bool:
        """Whether this user wrote it: a folder may come from somebody else, journals and all."""
        return entry.seal == self._seal(bytes(entry.page))

    def saved(self, path: str, client: str, seen: str) -> None:
        """A tab has saved the page: its own states are not needed any more, those of others are."""
        with told_when_full(), self._folder.alone():
            self._put_aside(path, client, seen)
            self.drop(path)
            if _checked_client(client):
                self.drop(_beside(client))

    def left(self, path: str, client: str) -> None:
        """A tab does not want its states any more."""
        with told_when_full(), self._folder.alone():
            last = self.last(path)
            if last is not None and last.client in ("", client):
                self.drop(path)
            if _checked_client(client):
                self.drop(_beside(client))

    def drop(self, path: str) -> None:
        """Nobody wants it any more."""
        with told_when_full(), suppress(FileNotFoundError), self._folder.inside(_PLACE) as at:
            os.unlink(_file(checked_journal(path)), dir_fd=at)
            os.fsync(at)

    def move(self, path: str, to: str) -> None:
        """A page has another name; what is unsaved of it is taken along."""
        entry = self.last(path)
        if entry is not None:
            self.add(to, bytes(entry.page), entry.sequence, entry.client)
            self.drop(path)

    def unsaved(self) -> list[Unsaved]:
        """The pages that have unsaved states, the latest first, and by what a user may know them again."""
        try:
            with self._folder.inside(_PLACE) as at:
                files = sorted(name for name in os.listdir(at) if name.endswith(".journal"))
        except OSError:
            return []
        found: list[Unsaved] = []
        for name in files:
            entry = self._last_in(name)
            # Believed only if the file is called as the path says: the folder may have come from somebody else.
            if entry is not None and name == _file(entry.path):
                with suppress(Refused):
                    found.append(_told(checked_journal(entry.path), entry))
        return sorted(found, key=lambda one: one["saved_at"], reverse=True)


def _told(path: str, entry: Entry) -> Unsaved:
    page: object = None
    with suppress(msgspec.DecodeError, RecursionError):
        page = msgspec.json.decode(entry.page)
    page = page if isinstance(page, dict) else {}
    title, nodes = page.get("title"), page.get("nodes")
    blocks = list(nodes)[:MOST_BLOCKS] if isinstance(nodes, dict) else []
    named = title if isinstance(title, str) else ""
    return Unsaved(path=path, title=named, saved_at=entry.saved_at, blocks=[block[:80] for block in blocks])


def _beside(client: str) -> str:
    """The journal that takes what a tab wrote into one that another tab writes, too."""
    return f"untitled-{client}"


def _checked_client(client: str) -> str:
    """A name that a tab gave itself, or none."""
    return client if _UNTITLED.fullmatch(_beside(client)) else ""


def is_untitled(path: str | None) -> bool:
    return path is None or not path.endswith(SUFFIX)


def _file(path: str) -> str:
    return f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.journal"
