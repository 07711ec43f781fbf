"""Compiled programs on disk, one folder per content key, shared by all processes of the user.

Layout below :attr:`Cache.path`: ``entries/<key>`` finished folders, ``building/`` folders in the making, ``locks/``.
A folder becomes an entry by one rename, so an entry that exists is complete.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, ENOSPC, EPERM, EROFS
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from sdfgad.callers import warn
from sdfgad.codegen.compiling.whole import is_whole, make_removable, seal
from sdfgad.config import settings
from sdfgad.errors import CacheWarning, ToolchainError, UsageError
from sdfgad.later import later

if TYPE_CHECKING:
    from filelock import FileLock
else:
    FileLock = later("filelock", "FileLock")

ENTRIES, BUILDING, LOCKS = "entries", "building", "locks"
_CLOSED = (EACCES, EPERM, EROFS)
"""Errors of what belongs to somebody else, or may only be read."""


@dataclass(frozen=True)
class CacheInfo:
    """What the cache holds."""

    path: Path
    entries: int
    bytes: int


class Cache:
    """The user's view, public as ``sdfgad.cache``."""

    @property
    def path(self) -> Path:
        """The cache folder; it need not exist yet."""
        return Path(settings().cache_dir or platformdirs.user_cache_dir("sdfgad", appauthor=False)).expanduser()

    def info(self) -> CacheInfo:
        """Number of entries and their size on disk."""
        entries = list(_entries(self.path))
        return CacheInfo(self.path, len(entries), sum(_size(folder) for folder in entries))

    def clear(self) -> CacheInfo:
        """Remove every entry that nobody is building right now; returns what was removed."""
        if not self.path.is_dir():
            return CacheInfo(self.path, 0, 0)
        _make_folders(self.path)
        sizes = [(_size(entry), entry) for entry in _entries(self.path)]
        removed = [size for size, entry in sizes if _remove(self.path, entry)]
        _sweep(self.path)
        return CacheInfo(self.path, len(removed), sum(removed))

    def __repr__(self) -> str:
        return f"<sdfgad.cache at {self.path}>"


cache = Cache()


def key_of(*parts: Any) -> str:
    """Content key of ``parts``: numbers, texts, bytes, None, arrays, and tuples, lists, sets or dicts of those."""
    digest = hashlib.sha256()
    for piece in _pieces(parts):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def entry(key: str) -> Path | None:
    """The finished folder of ``key``, if there is one with all that was put there."""
    folders = (root / ENTRIES / key for root in (cache.path, *spare.made) if _is_dir(root / ENTRIES / key))
    return next((folder for folder in folders if folder not in spare.useless and is_whole(folder)), None)


def publish(key: str, build: Callable[[Path], None]) -> Path:
    """The folder of ``key``, made by ``build(folder)`` if need be, and made again if it is damaged.

    One process builds, the others wait and get its result. If ``build`` raises or is interrupted, nothing stays. What
    cannot be kept in the cache folder is kept in another one until the process ends.
    """
    if (done := entry(key)) is not None:
        return done
    root = _writable_root()
    try:
        return _published(root, key, build)
    except OSError as error:  # a damaged entry of somebody else's is in the way
        if error.errno not in _CLOSED or root in spare.made:
            raise
        other = spare.folder(_not_written(root, error))
    _make_folders(other)
    return _published(other, key, build)


def _published(root: Path, key: str, build: Callable[[Path], None]) -> Path:
    with FileLock(root / LOCKS / f"{key}.lock"):
        if (done := entry(key)) is not None:
            return done
        # Whoever holds the lock is the only builder: what lies about for this key was left by a killed process.
        _discard(root, f"{key}.*")
        with _told_if_full(root), _scratch_folder(root, key) as folder:
            build(folder)
            seal(folder)
            _finish(folder, root / ENTRIES / key)
    return root / ENTRIES / key


def lend(folders: Iterable[Path], root: Path) -> None:
    """Have finished folders of this cache in the cache folder `root` too, by links to their files where that can be,
    and what is known of the machine."""
    _make_folders(root)
    for known in (file for file in cache.path.iterdir() if file.is_file()):
        shutil.copyfile(known, root / known.name)
    for folder in folders:
        shutil.copytree(folder, root / ENTRIES / folder.name, copy_function=_link, dirs_exist_ok=True)


def _link(file: str, to: str) -> None:
    try:
        os.link(file, to)
    except OSError:
        shutil.copyfile(file, to)


def withdraw(key: str) -> None:
    """Remove the folder of ``key``, which turned out to be of no use, unless somebody is at work on it. What cannot be
    removed is not looked at again by this process."""
    for root in (cache.path, *spare.made):
        if _is_dir(root / ENTRIES / key):
            try:
                _remove(root, root / ENTRIES / key)
            except OSError:
                spare.useless.add(root / ENTRIES / key)


def check_folder() -> None:
    """ToolchainError if programs cannot be kept."""
    _make_folders(cache.path)


class Spare:
    """Folders in place of cache folders that cannot be written, until the process ends. useless: entries there that
    stay though they are of no use."""

    def __init__(self) -> None:
        self.made: tuple[Path, ...] = ()
        self.useless: set[Path] = set()

    def folder(self, why: ToolchainError) -> Path:
        """The same at every call, with a warning at the first one."""
        if not self.made:
            held = tempfile.TemporaryDirectory(prefix="sdfgad-")
            atexit.register(held.cleanup)
            self.made = (Path(held.name),)
            warn(f"[{why.code}] {why.message}; programs are compiled into {held.name}, for this process only: "
                 f"{why.help}", CacheWarning)
        return self.made[0]


spare = Spare()
ON_FULL = ("no room is left on the disk: `sdfgad cache clear` empties the cache folder, SDFGAD_CACHE_DIR names another "
           "one, and TMPDIR one for temporary files")
"""What to do on a full disk."""


def _writable_root() -> Path:
    root = cache.path
    try:
        _make_folders(root)
    except ToolchainError as error:
        root = spare.folder(error)
        _make_folders(root)
    return root


def _is_dir(folder: Path) -> bool:
    """Whether there is such a folder, as far as anybody may look."""
    try:
        return folder.is_dir()
    except OSError:
        return False


@contextmanager
def _scratch_folder(root: Path, key: str) -> Iterator[Path]:
    """A folder on the cache's own file system; gone at the end unless it was renamed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=root / BUILDING))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _told_if_full(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        raise ToolchainError(f"the cache folder {root} cannot be written: {error}", code="SG507",
                             help=ON_FULL) from error


def _finish(folder: Path, final: Path) -> None:
    if final.is_dir() and not is_whole(final):  # here, not before: somebody may still be using what is left of it
        make_removable(final)
        shutil.rmtree(final)
    try:
        os.rename(folder, final)
    except OSError:
        # A second builder is possible when `clear` removed the lock file in between; both results are equal.
        if not final.is_dir():
            raise


def _make_folders(root: Path) -> None:
    try:
        for name in (ENTRIES, BUILDING, LOCKS):
            (root / name).mkdir(parents=True, exist_ok=True)
            if not os.access(root / name, os.W_OK | os.X_OK):
                raise PermissionError(f"no permission to write into {root / name}")
    except OSError as error:
        raise _not_written(root, error) from error


def _not_written(root: Path, error: OSError) -> ToolchainError:
    return ToolchainError(f"the cache folder {root} cannot be written: {error}", code="SG507",
                          help="name another one with SDFGAD_CACHE_DIR")


def _entries(root: Path) -> Iterator[Path]:
    folder = root / ENTRIES
    return (path for path in sorted(folder.iterdir()) if path.is_dir()) if folder.is_dir() else iter(())


def _remove(root: Path, entry: Path) -> bool:
    """Take the entry out of sight by a rename first: no process ever sees half an entry."""
    lock = FileLock(root / LOCKS / f"{entry.name}.lock")
    try:
        with lock.acquire(blocking=False), _scratch_folder(root, "removed") as grave:
            make_removable(entry)
            os.rename(entry, grave / entry.name)
            (root / LOCKS / f"{entry.name}.lock").unlink(missing_ok=True)
    except (TimeoutError, FileNotFoundError):
        return False
    return True


def _sweep(root: Path) -> None:
    """Remove what killed builds left: folders in the making whose lock is free."""
    for folder in sorted((root / BUILDING).glob("*.*")):
        try:
            with FileLock(root / LOCKS / f"{folder.name.partition('.')[0]}.lock").acquire(blocking=False):
                shutil.rmtree(folder, ignore_errors=True)
        except TimeoutError:
            continue


def _discard(root: Path, pattern: str) -> None:
    for folder in (root / BUILDING).glob(pattern):
        shutil.rmtree(folder, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(_file_size(file) for file in folder.rglob("*"))


def _file_size(file: Path) -> int:
    """0 for a folder, and for a file that another process removes at this moment."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _pieces(part: Any) -> Iterator[bytes]:
    """A prefix code of ``part``: type, then content; containers give their length, sets and dicts are sorted."""
    yield type(part).__name__.encode()
    if part is None or isinstance(part, bool | int | float | complex):
        yield repr(part).encode()
    elif isinstance(part, str | os.PathLike):
        yield os.fspath(part).encode()
    elif isinstance(part, bytes):
        yield part
    elif isinstance(part, Mapping):
        yield from _pieces(sorted((key_of(name), key_of(value)) for name, value in part.items()))
    elif isinstance(part, set | frozenset):
        yield from _pieces(sorted(key_of(item) for item in part))
    elif isinstance(part, tuple | list):
        yield str(len(part)).encode()
        for item in part:
            yield from _pieces(item)
    elif hasattr(part, "dtype") and hasattr(part, "tobytes"):
        yield f"{part.dtype.str}{part.shape}".encode()
        yield part.tobytes()
    else:
        raise UsageError(f"{type(part).__name__} values cannot be part of a cache key", code="SG109")
