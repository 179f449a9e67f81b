"""Rows of the files that are watched: what is new in a file, kept by window until the window is closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.data.events import QUERY, Events
from assay.data.source import Source
from assay.errors import AssayError, InputError, NoSuchFile
from assay.formats.events.cleaning import CleaningRules, clean
from assay.formats.events.reading import grows_by_lines, read_rows
from assay.formats.events.recognition import files_of
from assay.formats.events.rows import FileRows
from assay.formats.files import write_by
from assay.formats.growing import Position, read_new_lines
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHOLE = "whole:"  # begins the mark of a file that is read at once
_WINDOW = "_window"


class Piece(NamedTuple):
    """What is new in a file: rows by window, the latest time among them in microseconds, and what was left out."""

    position: Position
    rows: Mapping[int, pl.DataFrame]
    latest: int | None
    left_out: Counter[str]


class Content(NamedTuple):
    """What a window holds when it is closed: its requests, and how many rows were repeated or faulty."""

    events: Events
    set_aside: int


@dataclass(frozen=True)
class EventFeed:
    """Files of an event log; `width` is that of a window in microseconds."""

    width: int
    rules: CleaningRules = field(default_factory=CleaningRules)
    suffix = ".parquet"

    def read(self, place: Path, position: Position, now: int) -> Piece | None:
        """Read what is new in a file; None where nothing is."""
        lines, left = None, Counter[str]()
        if not _size(place):
            return None
        if grows_by_lines(place):
            found = read_new_lines(place, position)
            if not found.data:
                return None
            lines, position = found.data, found.position
            left.update(restarted=int(found.restarted))
        else:
            mark = _mark(place)
            if position.mark == mark:
                return None
            left.update(restarted=int(bool(position.mark)))
            position = Position(0, mark)
        try:
            rows = read_rows(place, lines)
        except InputError:
            if lines is None:
                raise
            left["unreadable"] += sum(bool(line.strip()) for line in lines.split(b"\n"))
            return Piece(position, {}, None, left)
        left["unreadable"] += sum(fault.rows for fault in rows.faults)
        return self._split(rows, position, left, now)

    def _split(self, rows: FileRows, position: Position, left: Counter[str], now: int) -> Piece:
        """Rows by the window of their time; those without a time belong to none."""
        stamp = pl.col("time").dt.epoch("us")
        frame = rows.frame.with_columns((stamp // self.width).alias(_WINDOW)).collect()
        timed = frame.filter(pl.col(_WINDOW).is_not_null())
        left["no_time"] += len(frame) - len(timed)
        parts = {int(key[0]): part.drop(_WINDOW) for key, part in timed.partition_by(_WINDOW, as_dict=True).items()}
        past = timed.filter(stamp <= now).select(stamp.max()).item()
        return Piece(position, parts, past, left)

    def save(self, rows: pl.DataFrame, place: Path) -> None:
        """Write rows of a window."""
        write_by(place, rows.write_parquet)

    def join(self, parts: Sequence[Path], rows: pl.DataFrame) -> pl.DataFrame:
        """Put rows of a window that were read one after the other together."""
        return pl.concat([*map(pl.read_parquet, parts), rows])

    def load(self, window: int, own: Sequence[Path], following: Sequence[Path]) -> Content:
        """The requests of a window with all that happened to them.

        What happens to a request after its window has ended counts for it, as far as it was read before it is closed.
        """
        first, last = window * self.width, (window + 1) * self.width
        files = [FileRows(pl.scan_parquet(path), Source(path.name)) for path in (*own, *following)]
        log = clean(files, (), self.rules)
        stamp = pl.col("time").dt.epoch("us")
        inside = (stamp >= first) & (stamp < last)
        frame = log.frame.collect()
        read = sum(int(pl.scan_parquet(path).select(pl.len()).collect().item()) for path in own)
        kept = frame.filter(inside)
        requests = kept.filter(pl.col("action") == QUERY).select("query_id").unique()
        counted = frame.join(requests, on="query_id", how="semi")
        return Content(Events(counted.lazy()), read - len(kept))


def list_files(places: Sequence[str]) -> list[Path]:
    """The files that are there now: those that were named, and those of folders."""
    found: list[Path] = []
    for place in places:
        try:
            found += map(Path, files_of(place))
        except AssayError:  # a folder that is still empty
            continue
    return list(dict.fromkeys(found))


def refuse_missing(places: Sequence[str]) -> None:
    """Refuse a place that does not exist: a file to which nothing was written yet is there, and empty."""
    for place in places:
        if not Path(place).exists():
            raise NoSuchFile(place)


def is_read(place: Path, position: Position) -> bool:
    """Whether a file was read to its end."""
    return position.mark.startswith(_WHOLE) or position.offset >= _size(place)


def last_write(place: Path) -> int:
    """When a file was last written to, in microseconds; 0 for one that is gone."""
    try:
        return place.stat().st_mtime_ns // 1000
    except OSError:
        return 0


def _size(place: Path) -> int:
    try:
        return place.stat().st_size
    except OSError:
        return 0


def _mark(place: Path) -> str:
    return f"{_WHOLE}{_size(place)}:{last_write(place)}"
