"""A folder of work: the files in it by what they are, and a key for each, which alone is ever sent to a page.

A key is a hash of a file's name in the folder, looked up in the table of the files that are there. No name that comes
from outside opens anything, and links that lead out of the folder are not followed.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.analysis.check_files import identify
from assay.analysis.evidence import LoadedResult, load
from assay.errors import AssayError, InputError, UnknownName
from assay.formats.detect import is_score_folder
from assay.formats.files import RESULT
from assay.formats.run_progress import PROGRESS, is_run_progress
from assay.formats.set_folders import MANIFEST
from assay.formats.watch_folders import is_watch_folder
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

OWN = "workbench"  # the folder of the workbench in a folder of work
PROGRESS_KIND = "progress"  # of a running experiment
SET = "set"  # the kind of a manifest, beside which the files of an evaluation set are
_SUFFIXES = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".qrels", ".run", ".trec", ".txt", ".gz"}
_MOST_FILES, _DEEPEST = 20_000, 6
_KEPT = 32  # files that are kept in memory once they were read
_DIGITS = 16
_REST = 20.0  # times as long as a look at all files took is waited until the next one
_TICK = 100_000_000  # nanoseconds in which a folder may change twice and show it once
_LONG = 0.1  # seconds of making something that needed memory for a moment
_LARGEST = 2_000_000_000  # bytes of a file that is looked into

Read = TypeVar("Read")


@dataclass(frozen=True)
class WorkFile:
    """A file of the folder: its key, its name there, what it is (empty for a file with a `fault`), when it changed."""

    key: str
    name: str
    kind: str
    path: Path
    stamp: tuple[int, int]
    fault: str = ""

    @property
    def stem(self) -> str:
        """Its name without folders and suffixes."""
        return Path(self.name).name.partition(".")[0] or self.name


class Workspace:
    """The files of a folder; what was found out about one is kept until it changes."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(os.path.realpath(folder))
        if not self.folder.is_dir():
            raise InputError(say("there is no such folder"), path=os.fspath(folder))
        self._lock = threading.RLock()
        self._known: dict[str, WorkFile] = {}
        self._keys: dict[str, WorkFile] = {}
        self._kept: OrderedDict[Hashable, object] = OrderedDict()
        self._notes: dict[str, tuple[tuple[int, int], object]] = {}
        self.beside: dict[str, Any] = {}  # what other parts keep about this folder
        self._folders: dict[Path, int] = {}
        self._looked = self._took = 0.0
        self._looked_at = 0
        self.version = 0  # another number as soon as any file came, went or changed

    @property
    def own(self) -> Path:
        """Where the workbench keeps what people say."""
        return self.folder / OWN

    def files(self, *kinds: str) -> list[WorkFile]:
        """All files of some kinds, by name."""
        with self._lock:
            self.look()
            return [one for one in self._known.values() if not kinds or one.kind in kinds]

    def look(self) -> int:
        """Look at the folder, where it is time to, and return its `version`."""
        with self._lock:
            if not self._is_fresh():
                self._look()
            return self.version

    def _is_fresh(self) -> bool:
        """Whether nothing came or went since the last look; files that changed in place are seen a little later.

        Looking at every file takes a twentieth of the time at most, so that large folders are answered quickly.
        """
        if not self._folders or time.perf_counter() - self._looked > _REST * self._took:
            return False
        settled = self._looked_at - _TICK
        return all(was < settled and _stamp_of(folder)[0] == was for folder, was in self._folders.items())

    def _look(self) -> None:
        begun, self._looked_at = time.perf_counter(), time.time_ns()
        found: dict[str, WorkFile] = {}
        folders: dict[Path, int] = {}
        for path, name, stamp in _walk(self.folder, folders):
            known = self._known.get(name)
            found[name] = known if known is not None and known.stamp == stamp else _look_at(path, name, stamp)
        if found != self._known:
            self.version += 1
        self._known, self._folders = found, folders
        self._keys = {one.key: one for one in found.values()}
        self._looked = time.perf_counter()
        self._took = self._looked - begun

    def find(self, key: str, *kinds: str) -> WorkFile:
        """The file with a key, which must be one of these kinds."""
        with self._lock:
            found = self._keys.get(key)
            if found is None or _stamp_of(found.path) != found.stamp:
                self._look()
                found = self._keys.get(key)
        if found is None or (kinds and found.kind not in kinds):
            raise UnknownName(say("file"), key[:_DIGITS], [])
        return found

    def read(self, file: WorkFile, reader: Callable[[str], Read], *more: Hashable) -> Read:
        """What a reader makes of a file, which is kept for a while."""
        known_as = getattr(reader, "__module__", ""), getattr(reader, "__qualname__", repr(reader))
        return self.keep((file.name, file.stamp, *known_as, *more), lambda: reader(str(file.path)))

    def keep(self, mark: Hashable, make: Callable[[], Read]) -> Read:
        """What is made once under a mark that changes with the files it is made of, and kept for a while."""
        with self._lock:
            if mark in self._kept:
                self._kept.move_to_end(mark)
                return self._kept[mark]  # type: ignore[return-value]
        begun = time.perf_counter()
        made = make()
        if time.perf_counter() - begun > _LONG:
            give_back_memory()
        with self._lock:
            self._kept[mark] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def note(self, file: WorkFile, make: Callable[[str], Read]) -> Read:
        """The little that is to be known of a file as long as it does not change; one kind of note for each file."""
        found = self._notes.get(file.name)
        if found is None or found[0] != file.stamp:
            found = self._notes[file.name] = (file.stamp, make(str(file.path)))
        return found[1]  # type: ignore[return-value]

    def result(self, key: str) -> LoadedResult:
        """A result by the key of its file."""
        return self.read(self.find(key, "result"), load)


def give_back_memory() -> None:
    """Give memory that is free back to the system, where its allocator would keep it (GNU's does, in every thread)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _stamp_of(path: Path) -> tuple[int, int]:
    """What shows that a file changed; of one that is gone, nothing that a file could have."""
    try:
        info = path.stat()
    except OSError:
        return (0, -1)
    return (info.st_mtime_ns, info.st_size)


def _walk(folder: Path, seen: dict[Path, int]) -> Iterator[tuple[Path, str, tuple[int, int]]]:
    """Files that may be of use, by name, with their stamps; caches, hidden ones and what lies elsewhere are left out.

    Notes when each folder last changed.
    """
    count, waiting = 0, [(folder, "", 0)]
    while waiting:
        here, prefix, depth = waiting.pop()
        seen[here] = _stamp_of(here)[0]
        files, folders = _list_folder(here, depth)
        if is_watch_folder(here):  # which has what was found as a result; all else is the watch's own
            files, folders = [one for one in files if one.name == RESULT], []
        scored = [one for one in folders if is_score_folder(here / one.name)]
        inner = [one for one in folders if one not in scored and depth < _DEEPEST]
        waiting += [(here / one.name, f"{prefix}{one.name}/", depth + 1) for one in reversed(inner)]
        for one in (*scored, *files):
            if one.is_symlink() and not Path(os.path.realpath(one.path)).is_relative_to(folder):
                continue
            with suppress(OSError):
                info = one.stat()
                count += 1
                yield here / one.name, prefix + one.name, (info.st_mtime_ns, info.st_size)
        if count > _MOST_FILES:
            return


def _list_folder(here: Path, depth: int) -> tuple[list[os.DirEntry[str]], list[os.DirEntry[str]]]:
    """The files of a folder that may be of use, and the folders in it, each by name."""
    try:
        with os.scandir(here) as found:
            entries = sorted((one for one in found if not one.name.startswith(".")), key=lambda one: one.name)
    except OSError:
        return [], []
    folders = [one for one in entries if one.is_dir(follow_symlinks=False) and (depth or one.name != OWN)]
    known = (one for one in entries if Path(one.name).suffix.lower() in _SUFFIXES or one.name == PROGRESS)
    return [one for one in known if one.is_file()], folders


def _look_at(path: Path, name: str, stamp: tuple[int, int]) -> WorkFile:
    key = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    if path.name == PROGRESS:
        return WorkFile(key, name, PROGRESS_KIND if is_run_progress(path) else "", path, stamp)
    try:
        kind: str = SET if path.name == MANIFEST else "" if stamp[1] > _LARGEST else identify(str(path))
    except AssayError as error:
        return WorkFile(key, name, "", path, stamp, error.message)
    return WorkFile(key, name, kind, path, stamp)
