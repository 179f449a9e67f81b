"""A folder of work: the files in it by what they are, and a key for each, which alone is ever sent to a page.

A key is a hash of a file's name in the folder, looked up in the table of the files that are there. No name that comes
from outside opens anything, and links that lead out of the folder are not followed.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.analysis.check_files import identify
from assay.analysis.evidence import LoadedResult, load
from assay.errors import AssayError, InputError, UnknownName
from assay.formats.detect import is_score_folder
from assay.formats.files import RESULT
from assay.formats.set_folders import MANIFEST
from assay.formats.watch_folders import is_watch_folder
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

OWN = "workbench"  # the folder of the workbench in a folder of work
SET = "set"  # the kind of a manifest, beside which the files of an evaluation set are
_SUFFIXES = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".qrels", ".run", ".trec", ".txt", ".gz"}
_MOST_FILES, _DEEPEST = 20_000, 6
_KEPT = 32  # files that are kept in memory once they were read
_DIGITS = 16
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
        self._kept: OrderedDict[Hashable, object] = OrderedDict()
        self._notes: dict[str, tuple[tuple[int, int], object]] = {}

    @property
    def own(self) -> Path:
        """Where the workbench keeps what people say."""
        return self.folder / OWN

    def files(self, *kinds: str) -> list[WorkFile]:
        """All files of some kinds, by name."""
        with self._lock:
            found = {}
            for path, name in _walk(self.folder):
                stamp = _stamp_of(path)
                known = self._known.get(name)
                found[name] = known if known is not None and known.stamp == stamp else _look_at(path, name, stamp)
            self._known = found
            return [one for one in found.values() if not kinds or one.kind in kinds]

    def find(self, key: str, *kinds: str) -> WorkFile:
        """The file with a key, which must be one of these kinds."""
        with self._lock:
            known = {one.key: one for one in self._known.values()}
            if key not in known or _stamp_of(known[key].path) != known[key].stamp:
                known = {one.key: one for one in self.files()}
            found = known.get(key)
        if found is None or (kinds and found.kind not in kinds):
            raise UnknownName(say("file"), key[:_DIGITS], [])
        return found

    def read(self, file: WorkFile, reader: Callable[[str], Read], *more: Hashable) -> Read:
        """What a reader makes of a file, which is kept for a while."""
        known_as = getattr(reader, "__module__", ""), getattr(reader, "__qualname__", repr(reader))
        mark = (file.name, file.stamp, *known_as, *more)
        with self._lock:
            if mark in self._kept:
                self._kept.move_to_end(mark)
                return self._kept[mark]  # type: ignore[return-value]
        made = reader(str(file.path))
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


def _stamp_of(path: Path) -> tuple[int, int]:
    """What shows that a file changed; of one that is gone, nothing that a file could have."""
    try:
        info = path.stat()
    except OSError:
        return (0, -1)
    return (info.st_mtime_ns, info.st_size)


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files that may be of use, by name; caches, hidden ones and what lies elsewhere are left out."""
    count = 0
    for place, folders, names in os.walk(folder):
        here = Path(place)
        depth = len(here.relative_to(folder).parts)
        inner = sorted(one for one in folders if not one.startswith(".") and not (here / one).is_symlink())
        inner = [one for one in inner if depth or one != OWN] if depth < _DEEPEST else []
        scored = [one for one in inner if is_score_folder(here / one)]
        folders[:] = [one for one in inner if one not in scored]
        if is_watch_folder(here):  # which has what was found as a result; all else is the watch's own
            folders[:], names = [], [RESULT]  # noqa: PLW2901 - what is walked next is told in place
        listed = [*scored, *(one for one in sorted(names) if Path(one).suffix.lower() in _SUFFIXES)]
        for name in listed:
            path = here / name
            inside = Path(os.path.realpath(path)).is_relative_to(folder)
            if not name.startswith(".") and inside and path.exists():
                count += 1
                yield path, path.relative_to(folder).as_posix()
        if count > _MOST_FILES:
            return


def _look_at(path: Path, name: str, stamp: tuple[int, int]) -> WorkFile:
    key = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    try:
        kind: str = SET if path.name == MANIFEST else "" if stamp[1] > _LARGEST else identify(str(path))
    except AssayError as error:
        return WorkFile(key, name, "", path, stamp, error.message)
    return WorkFile(key, name, kind, path, stamp)
