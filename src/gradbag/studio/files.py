"""The folder of pages: every name is judged by its text first, then opened step by step without following links.

Beside the pages lies `.gradbag`, the studio's own: former versions, what was thrown away, journals, whom it trusts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from .. import errors
from ..page import data_files
from .answers import Refused
from .limits import Limits
from .messages import FileInfo

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".page.json"
CAPTURE = ".gbcap"
EXAMPLE = "example:"
EXAMPLES = Path(__file__).parent.parent / "examples"
OWN = ".gradbag"
BETWEEN_COUNTS = 30.0  # seconds
_LONGEST_PART = 200
_DEEPEST = 8
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def checked_name(path: object, suffix: str = SUFFIX) -> str:
    """A path that names a page in the folder, or a refusal; the disk is not touched."""
    try:
        name = data_files.check_path(path, suffix)
        name.encode()
    except (errors.Error, UnicodeEncodeError) as problem:
        raise Refused(400, "name", f"{str(problem)[:200]}.") from None
    for part in name.split("/"):
        # The last is what stands for bytes that are no text.
        if part.startswith(".") or len(part.encode()) > _LONGEST_PART or "~" in part or "\ufffd" in part:
            raise Refused(400, "name", "A name may not begin with a dot, hold a ~ or be longer than 200 bytes.")
    return name


def digest(content: bytes) -> str:
    """The version of a file: what is in it, nothing else."""
    return hashlib.sha256(content).hexdigest()[:32]


@contextmanager
def told_when_full() -> Iterator[None]:
    """Problems of the disk, in words."""
    try:
        yield
    except OSError as problem:
        if problem.errno in _FULL:
            text = "The disk is full: nothing was written, and what was saved before is still there."
            raise Refused(507, "disk", text) from None
        if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise Refused(403, "readonly", "This folder cannot be written to.") from None
        raise


class Folder:
    """The one folder whose pages are shown. Its methods wait for the disk: call them in a thread."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self.root, self.limits = Path(os.path.realpath(root)), limits
        self._used, self._used_at = (
            0,
            -BETWEEN_COUNTS,
        )  # bytes of what is put aside, at most, and when they were counted
        self._known: dict[tuple[str, int, int, int], FileInfo] = {}

    @property
    def readonly(self) -> bool:
        return not os.access(self.root, os.W_OK | os.X_OK)

    # ------------------------------------------------------------------ opening
    @contextmanager
    def inside(self, parts: tuple[str, ...], make: bool = False) -> Iterator[int]:
        """A folder below the root, open; a link on the way is refused."""
        at = os.open(self.root, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700 if part == OWN else 0o777, dir_fd=at)
                below = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    def read(self, path: str, suffix: str = SUFFIX) -> bytes:
        """The bytes of a page, of an example, or of another file that ends so."""
        if path.startswith(EXAMPLE):
            return self._example(path)
        *folders, name = checked_name(path, suffix).split("/")
        try:
            with self.inside(tuple(folders)) as at:
                return self._read_in(at, name)
        except FileNotFoundError:
            raise Refused(404, "missing", f"There is no page {path[:80]}.") from None
        except OSError:
            raise Refused(403, "name", f"{path[:80]} is no ordinary file of this folder.") from None

    def _read_in(self, at: int, name: str, most: int | None = None) -> bytes:
        most = self.limits.page_file if most is None else most
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "no ordinary file")
            if status.st_size > most:
                raise Refused(413, "too-large", f"The file has {errors.in_bytes(status.st_size)}, which is too much.")
            return file.read(most + 1)

    def _example(self, path: str) -> bytes:
        name = path.removeprefix(EXAMPLE)
        if name not in examples():
            raise Refused(404, "missing", f"There is no example {name[:80]!r}.")
        return (EXAMPLES / f"{name}{SUFFIX}").read_bytes()

    def home_of(self, path: str | None) -> Path:
        """Where the data files of a page lie."""
        if path and path.startswith(EXAMPLE):
            return EXAMPLES
        parts = checked_name(path).split("/")[:-1] if path and path.endswith(SUFFIX) else []
        home = self.root.joinpath(*parts)
        if Path(os.path.realpath(home)) != home:
            raise Refused(403, "name", "A part of this path is a link, which is not followed.")
        return home

    # ------------------------------------------------------------------ writing
    def write(self, path: str, content: bytes, data: dict[str, bytes], version: str | None, force: bool) -> str:
        """Save a page, its data files first, and give its new version; the former one is kept."""
        *folders, name = checked_name(path).split("/")
        with self._writing(folders) as at:
            before = self._before(at, name)
            found = None if before is None else digest(before)
            if found != (version or None) and not force:
                raise Stale(before)
            if before is None:
                self._check_twins(at, name)
            if before == content and not data:
                return digest(content)
            for file, array in data.items():
                *below, tail = data_files.check_path(file).split("/")
                with self.inside((*folders, *below), make=True) as data_at:
                    data_files.write_whole_in(data_at, tail, array)
            if before is not None:
                self.keep("versions", path, before)
            data_files.write_whole_in(at, name, content)
        return digest(content)

    @contextmanager
    def _writing(self, folders: list[str]) -> Iterator[int]:
        """A folder, open for a change that no other studio makes at the same time."""
        with told_when_full(), self._opened_for_writing(tuple(folders)) as at, self.alone():
            yield at

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is compared is still there when it is replaced, whichever process asks."""
        if fcntl is None:
            yield
            return
        with self.inside((OWN,), make=True) as own:
            lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=own)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _opened_for_writing(self, folders: tuple[str, ...]) -> Iterator[int]:
        try:
            with self.inside(folders, make=True) as at:
                yield at
        except (NotADirectoryError, FileNotFoundError):
            raise Refused(403, "name", "A part of this path is no folder.") from None
        except OSError as problem:
            if problem.errno == errno.ELOOP:
                raise Refused(403, "name", "A part of this path is a link, which is not followed.") from None
            raise

    def _before(self, at: int, name: str) -> bytes | None:
        try:
            return self._read_in(at, name)
        except FileNotFoundError:
            return None
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR):
                raise Refused(403, "name", f"{name[:80]} is no ordinary file of this folder.") from None
            raise

    @staticmethod
    def _check_twins(at: int, name: str) -> None:
        """Two names that some computers take for one would overwrite each other there."""
        folded = unicodedata.normalize("NFC", name).casefold()
        for other in os.listdir(at):
            if other != name and unicodedata.normalize("NFC", other).casefold() == folded:
                raise Refused(
                    409, "name", f"There is already a file {other[:80]}: the names differ only in their case."
                )

    def rename(self, path: str, to: str) -> None:
        """Give a page another name; none is overwritten."""
        *folders, name = checked_name(path).split("/")
        *others, new = checked_name(to).split("/")
        if folders != others:
            raise Refused(400, "name", "A page can be renamed only within its folder, where its data files are.")
        with self._writing(folders) as at:
            if self._before(at, name) is None:
                raise Refused(404, "missing", f"There is no page {path[:80]}.")
            if self._before(at, new) is not None:
                raise Refused(409, "exists", f"There is already a page {to[:80]}.")
            os.rename(name, new, src_dir_fd=at, dst_dir_fd=at)
            os.fsync(at)

    def discard(self, path: str) -> None:
        """Take a page away; it is kept in the trash."""
        *folders, name = checked_name(path).split("/")
        with self._writing(folders) as at:
            content = self._before(at, name)
            if content is None:
                raise Refused(404, "missing", f"There is no page {path[:80]}.")
            self.keep("trash", path, content)
            os.unlink(name, dir_fd=at)
            os.fsync(at)

    # ------------------------------------------------------------------ the studio's own
    def keep(self, kind: str, path: str, content: bytes) -> None:
        """Put a former content aside: the last ten of a page, as long as there is room for them."""
        self.make_room(len(content))
        short = quote(path, safe="")
        if len(short) > _LONGEST_PART:
            short = short[:100] + digest(path.encode())
        with self.inside((OWN, kind, short), make=True) as at:
            stamp = f"{time.time_ns():020d}-{digest(content)}{SUFFIX}"
            data_files.write_whole_in(at, stamp, content)
            for old in sorted(os.listdir(at))[: -self.limits.versions]:
                os.unlink(old, dir_fd=at)

    def make_room(self, wanted: int) -> None:
        """Forget the oldest versions and trash where all of it would become too much; journals stay."""
        self._used += wanted
        now = time.monotonic()
        if self._used <= self.limits.autosave and now - self._used_at < BETWEEN_COUNTS:
            return
        files = sorted(self._own_files(), key=lambda found: found[1])
        total = sum(size for _, _, size in files) + wanted
        self._used, self._used_at = total, now
        for place, _, size in files:
            if total <= self.limits.autosave:
                return
            if place[1] in ("versions", "trash"):
                with self.inside(place[:-1]) as at, suppress(FileNotFoundError):
                    os.unlink(place[-1], dir_fd=at)
                total -= size
        if total > self.limits.autosave:
            most = errors.in_bytes(self.limits.autosave)
            raise Refused(
                507, "quota", f"Unsaved work takes more than {most}, which is the most: save or discard some."
            )

    def _own_files(self) -> Iterator[tuple[tuple[str, ...], float, int]]:
        for folder, _, names in os.walk(self.root / OWN):
            for name in names:
                with suppress(OSError):
                    status = os.stat(os.path.join(folder, name), follow_symlinks=False)
                    parts = Path(folder).relative_to(self.root).parts
                    if len(parts) > 1:
                        yield (*parts, name), status.st_mtime, status.st_size

    # ------------------------------------------------------------------ what there is
    def pages(self) -> list[FileInfo]:
        """Each page with its title and version; files that are as they were are not read again."""
        found = []
        seen = {}
        for path, key in self._page_files():
            info = self._known.get(key)
            if info is None:
                try:
                    info = described(path, self.read(path))
                except Refused:
                    info = FileInfo(path=path, title="", version="", problems=True)
            seen[key] = info
            found.append(info)
        self._known = seen
        return found

    def captures(self) -> list[str]:
        """The records of `gradbag.capture` beside the pages."""
        found = []
        for name in sorted(os.listdir(self.root)):
            with suppress(Refused):
                if name.endswith(CAPTURE) and not os.path.islink(self.root / name):
                    found.append(checked_name(name, CAPTURE))
        return found[: self.limits.pages]

    def state(self) -> object:
        """Something that differs when a page has come, gone or changed."""
        return [key for _, key in self._page_files()], self.captures()

    def _page_files(self) -> Iterator[tuple[str, tuple[str, int, int, int]]]:
        count = 0
        for visited, (folder, below, names) in enumerate(os.walk(self.root)):
            if visited == self.limits.folders:
                return
            here = Path(folder).relative_to(self.root)
            below[:] = sorted(
                name for name in below if not name.startswith((".", "__")) and name not in ("node_modules", "venv")
            )
            if len(here.parts) >= _DEEPEST:
                below.clear()
            for name in sorted(names):
                path = (here / name).as_posix()
                if not name.endswith(SUFFIX) or name.startswith("."):
                    continue
                with suppress(Refused, OSError):
                    checked_name(path)
                    status = os.stat(os.path.join(folder, name), follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield path, (path, status.st_mtime_ns, status.st_size, status.st_ino)
                        count += 1
                if count == self.limits.pages:
                    return


class Stale(Exception):
    """A file is not what the one who saves it has seen."""

    def __init__(self, current: bytes | None) -> None:
        super().__init__("stale")
        self.current = current


# ------------------------------------------------------------------ examples
def examples() -> list[str]:
    """The names of the shipped pages, in the order in which they are shown."""
    there = sorted(path.name.removesuffix(SUFFIX) for path in EXAMPLES.glob(f"*{SUFFIX}"))
    order = (EXAMPLES / "order.txt").read_text("utf-8").split()
    return sorted(there, key=lambda name: order.index(name) if name in order else len(order))


def example_pages() -> list[FileInfo]:
    return [described(f"{EXAMPLE}{name}", (EXAMPLES / f"{name}{SUFFIX}").read_bytes()) for name in examples()]


def described(path: str, content: bytes) -> FileInfo:
    """The line of a list; a file that is no page shows as one with problems."""
    try:
        heading = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        title = msgspec.json.decode(heading.get("title", b'""'))
        problems = "format" not in heading or "nodes" not in heading
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        title, problems = "", True
    shown = title[:200] if isinstance(title, str) else ""
    return FileInfo(path=path, title=shown, version=digest(content), problems=problems)
