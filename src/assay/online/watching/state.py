"""What a watch keeps on disk: how far every file was read, the rows of open windows, and the windows that are closed.

Rows are files of their own, which no entry of the journal names until all of them are on the disk; the entry that names
them says at the same time up to where the files were read. So whatever moment a process is killed at, its successor
begins where an entry ends: with the rows up to there, each once, and no others.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from assay.data.requests import Holdings
from assay.errors import InputError, UsageError, cause
from assay.formats.files import write_atomically
from assay.formats.growing import Position
from assay.formats.journal import add_entry, read_journal, write_journal
from assay.formats.watch_folders import BAD, JOURNAL, ROWS
from assay.messages import say
from assay.online.watching.drifting import EarlierWindows
from assay.results.watch import WatchWindow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import BinaryIO, Self

_VERSION = 1
_LOCK, _EVALUATIONS = "lock", "evaluations"
_LONG = 4000  # entries after which the journal is written anew


@dataclass
class Reading:
    """How far one file was read, and the latest time that was seen in it, in microseconds."""

    position: Position = field(default_factory=Position)
    latest: int | None = None


@dataclass
class WatchState:
    """The state of a watch in a folder; times and windows are counted from 1970."""

    folder: Path
    settings: Mapping[str, Any]
    kind: str
    readings: dict[str, Reading] = field(default_factory=dict)
    rows: dict[int, list[str]] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    closed: list[WatchWindow] = field(default_factory=list)
    holdings: Holdings = field(default_factory=lambda: Holdings({}, {}))
    baseline: EarlierWindows = field(default_factory=EarlierWindows)
    spent: dict[str, float] = field(default_factory=dict)
    through: int | None = None
    waiting: str | None = None
    number: int = 0
    entries: int = 0
    _lock: BinaryIO | None = None

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any], kind: str) -> Self:
        """Open a state, or begin one; nobody else may use it until it is closed."""
        try:
            for name in (ROWS, BAD, _EVALUATIONS):
                (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(folder)) from None
        made = cls(folder, settings, kind)
        made._lock = _lock(folder / _LOCK)
        try:
            made._replay()
        except BaseException:
            made.close()
            raise
        return made

    @property
    def journal(self) -> Path:
        """The file of entries."""
        return self.folder / JOURNAL

    @property
    def bad(self) -> Path:
        """The folder of requests that went wrong."""
        return self.folder / BAD

    @property
    def evaluations(self) -> Path:
        """The folder of evaluations that wait to be sent."""
        return self.folder / _EVALUATIONS

    def place(self, name: str) -> Path:
        """Where a file of rows is."""
        return self.folder / ROWS / name

    def name_rows(self, window: int, suffix: str) -> str:
        """A name for rows of a window that the next entry will hold."""
        return f"{window}-{self.number + 1}{suffix}"

    def commit(self, waiting: bytes | None = None) -> None:
        """Make what was read since the last entry count: positions, rows and counts, and what is `waiting`."""
        self.number += 1
        if waiting is not None:
            self.waiting = f"{self.number}.waiting"
            write_atomically(self.place(self.waiting), waiting)
        self._add(self._commit_entry())
        self._remove_unnamed()

    def close_window(self, window: int, found: WatchWindow, baseline: EarlierWindows) -> None:
        """Make a closed window count, and forget its rows."""
        grown = {} if baseline is self.baseline else {"baseline": msgspec.to_builtins(baseline)}
        self._add({**self._window_entry(window, found), **grown})
        self.baseline = baseline  # not before: the journal may have been written anew, which names closed windows alone
        self._take_window(window, found)
        self._remove_unnamed()

    def close(self) -> None:
        """Let others use the state."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _add(self, entry: Mapping[str, Any]) -> None:
        if self.entries >= _LONG:
            self._shorten()
        add_entry(self.journal, entry)
        self.entries += 1

    def _shorten(self) -> None:
        """Write the journal anew, without the entries that later ones replaced."""
        windows = [self._window_entry(self.through or 0, one) for one in self.closed]
        if windows:
            windows[-1]["baseline"] = msgspec.to_builtins(self.baseline)
        entries = [self._start_entry(), *windows, self._commit_entry()]
        write_journal(self.journal, entries)
        self.entries = len(entries)

    def _start_entry(self) -> dict[str, Any]:
        return {"entry": "start", "version": _VERSION, "kind": self.kind, "settings": dict(self.settings)}

    def _window_entry(self, through: int, found: WatchWindow) -> dict[str, Any]:
        held = {
            "actions": dict(self.holdings.actions),
            "columns": {action: sorted(names) for action, names in self.holdings.columns.items()},
            "scales": sorted(self.holdings.scales),
        }
        plain = msgspec.to_builtins(found)
        return {"entry": "window", "through": through, "window": plain, "holdings": held, "spent": dict(self.spent)}

    def _commit_entry(self) -> dict[str, Any]:
        return {
            "entry": "commit",
            "number": self.number,
            "through": self.through,
            "readings": {
                place: [one.position.offset, one.position.mark, one.latest] for place, one in self.readings.items()
            },
            "rows": {str(window): names for window, names in self.rows.items()},
            "sizes": {str(window): self.sizes[window] for window in self.rows},
            "counts": dict(self.counts),
            "waiting": self.waiting,
        }

    def _replay(self) -> None:
        """Take over what an earlier process left."""
        entries = read_journal(self.journal)
        if not entries:
            self._add(self._start_entry())
            return
        self._check_start(entries[0])
        for entry in entries[1:]:
            if entry["entry"] == "window":
                self.spent = dict(entry["spent"])
                if "baseline" in entry:
                    self.baseline = msgspec.convert(entry["baseline"], EarlierWindows)
                self.holdings = msgspec.convert(entry["holdings"], Holdings)
                self._take_window(entry["through"], msgspec.convert(entry["window"], WatchWindow))
            else:
                self._take_commit(entry)
        self.entries = len(entries)
        for name in self._files_in_use:
            if not self.place(name).exists():
                raise InputError(
                    say("rows of an open window are missing"), path=str(self.place(name)),
                    hint=say("what was counted before is lost: remove the folder, and everything is counted anew"),
                )  # fmt: skip
        self._remove_unnamed()

    @property
    def _files_in_use(self) -> set[str]:
        """The files that count."""
        return {*(name for names in self.rows.values() for name in names), *([self.waiting] if self.waiting else [])}

    def _check_start(self, entry: Mapping[str, Any]) -> None:
        if entry.get("version") != _VERSION:
            raise UsageError(say("{folder} is the state of another version: name another --state", folder=self.folder))
        for name, value in {"kind": self.kind, **self.settings}.items():
            before = entry["kind"] if name == "kind" else entry["settings"].get(name)
            if before != value:
                raise UsageError(
                    say(
                        "{folder} watches with another {name} ({before}, not {now}): name another --state",
                        folder=self.folder, name=name, before=_write_out(before), now=_write_out(value),
                    )
                )  # fmt: skip

    def _take_commit(self, entry: Mapping[str, Any]) -> None:
        self.number = entry["number"]
        self.through = entry["through"]
        self.readings = {
            place: Reading(Position(offset, mark), latest)
            for place, (offset, mark, latest) in entry["readings"].items()
        }
        self.rows = {int(window): list(names) for window, names in entry["rows"].items()}
        self.sizes = Counter({int(window): size for window, size in entry["sizes"].items()})
        self.counts = Counter(entry["counts"])
        self.waiting = entry["waiting"]

    def _take_window(self, window: int, found: WatchWindow) -> None:
        self.through = window
        self.closed.append(found)
        for past in [one for one in self.rows if one <= window]:
            del self.rows[past]
            del self.sizes[past]

    def _remove_unnamed(self) -> None:
        """Remove files of rows that no entry names: those of closed windows, and those of a process that was killed."""
        named = self._files_in_use
        for path in self._files():
            if path.name not in named:
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> Iterable[Path]:
        return list((self.folder / ROWS).iterdir())


def _write_out(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lock(path: Path) -> BinaryIO:
    """Take the lock of a folder; it is free again when the process ends, however it ends."""
    file = path.open("ab")
    try:
        import fcntl
    except ImportError:  # on Windows nobody else is kept out
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UsageError(say("{folder} is in use by another watch", folder=path.parent)) from None
    return file
