"""Rows of the files that are watched: what is new in a file, kept by window until the window is closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from assay.data.events import QUERY, Events
from assay.data.served import Served, as_log
from assay.data.source import Source
from assay.errors import AssayError, InputError, NoSuchFile
from assay.formats.events.cleaning import CleaningRules, clean
from assay.formats.events.reading import grows_by_lines, read_rows
from assay.formats.events.recognition import files_of
from assay.formats.events.rows import FileRows
from assay.formats.files import Input, write_atomically
from assay.formats.growing import Position, read_new_lines
from assay.formats.traces.open_traces import OpenTraces
from assay.formats.traces.reading import read_new_traces, read_whole_traces
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized

    from assay.formats.traces.spans import Batch

_WHOLE = "whole:"  # begins the mark of a file that is read at once
_WINDOW = "_window"
_SECOND = 1_000_000  # microseconds
_SETTLE = 60.0  # seconds that a trace waits for more of its spans at most


class Piece(NamedTuple):
    """What is new in a file: rows by window, the latest time among them in microseconds, and what was left out."""

    position: Position
    rows: Mapping[int, Sized]
    latest: int | None
    left_out: Counter[str]


class Content(NamedTuple):
    """What a window holds when it is closed: its requests, and how many rows were repeated or faulty.

    Requests of traces are there as they were `served`, too.
    """

    events: Events
    set_aside: int
    served: tuple[Served, ...] = ()


@dataclass(frozen=True)
class EventFeed:
    """Files of an event log; `width` is that of a window in microseconds."""

    width: int
    rules: CleaningRules = field(default_factory=CleaningRules)
    suffix = ".parquet"

    @property
    def floor(self) -> int | None:
        """Since when something waits for more: nothing does."""
        return None

    def read(self, place: Path, position: Position, now: int, behind: int | None = None) -> Piece | None:
        """Read what is new in a file; None where nothing is."""
        del behind  # rows wait for no others
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

    def release(self, now: int) -> None:
        """Nothing waits: rows are given out as they are read."""

    def checkpoint(self) -> None:
        """Nothing waits that would have to be kept."""

    def save(self, rows: Sized, place: Path) -> None:
        """Write rows of a window."""
        buffer = BytesIO()  # a disk that fails is an error of ours, and not of the library's
        cast("pl.DataFrame", rows).write_parquet(buffer)
        write_atomically(place, buffer.getvalue())

    def join(self, parts: Sequence[Path], rows: Sized) -> pl.DataFrame:
        """Put rows of a window that were read one after the other together."""
        return pl.concat([*map(pl.read_parquet, parts), cast("pl.DataFrame", rows)])

    def load(self, window: int, own: Sequence[Path], following: Sequence[Path]) -> Content:
        """The requests of a window with all that happened to them.

        What happens to a request after its window has ended counts for it, as far as it is in the `following` ones.
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


@dataclass
class TraceFeed:
    """Files of traces; those that are not complete yet are `waiting`, and are kept with how far the files were read."""

    width: int
    waiting: OpenTraces
    suffix = ".jsonl"

    @classmethod
    def of(cls, width: int, lateness: float, stored: bytes | None = None) -> TraceFeed:
        """A feed that goes on where another one stopped."""
        settle, patience = min(max(lateness, 1.0), _SETTLE), max(lateness, _SETTLE)
        if stored is None:
            return cls(width, OpenTraces(settle, patience))
        return cls(width, OpenTraces.from_bytes(stored, settle=settle, patience=patience))

    def read(self, place: Path, position: Position, now: int, behind: int | None = None) -> Piece | None:
        """Read what is new in a file; None where nothing is.

        `behind` is how far other files were read: what is later than that may still get spans from them.
        """
        del now  # open traces have a clock of their own
        if not _size(place):
            return None
        left, reached = Counter[str](), 0
        if Input.at(place).is_packed:
            mark = _mark(place)
            if position.mark == mark:
                return None
            left["restarted"] += bool(position.mark)
            batches, after = read_whole_traces(place), Position(0, mark)
        else:
            new = read_new_traces(place, position)
            if new.position == position:
                return None
            left["restarted"] += new.restarted
            batches, after = iter([new.batch]), new.position
        for batch in batches:
            left["unreadable"] += batch.rejected
            self.waiting.add(batch)
            reached = max(reached, self._last_time(batch))
        reached = reached // 1000 or self.waiting.time_ns // 1000
        until = reached if behind is None else min(reached, behind)
        return self._split(self.waiting.take(until_ns=until * 1000), after, left, reached or None)

    def _last_time(self, batch: Batch) -> int:
        """The latest time of a batch, without clocks that are ahead of ours."""
        horizon = self.waiting.horizon
        times = [*(one.end_ns for one in batch.spans), *(one.time_ns for one in batch.events)]
        return max((one for one in times if one <= horizon), default=0)

    def release(self, now: int) -> Piece | None:
        """Give out the traces that are complete by the clock."""
        found = self.waiting.take(datetime.fromtimestamp(now / _SECOND, UTC))
        return self._split(found, Position(), Counter(), None) if found else None

    def _split(self, served: Iterable[Served], position: Position, left: Counter[str], latest: int | None) -> Piece:
        rows: dict[int, list[Served]] = {}
        for one in served:
            if one.time is None:
                left["no_time"] += 1
            else:
                rows.setdefault(_micros(one.time) // self.width, []).append(one)
        return Piece(position, rows, latest, left)

    @property
    def floor(self) -> int | None:
        """The begin of the earliest trace that is open: its request is not given out yet."""
        starts = [
            span.start_ns for trace in self.waiting.traces.values() for span in trace.spans.values() if span.start_ns
        ]
        return min(starts) // 1000 if starts else None

    def checkpoint(self) -> bytes:
        """What is waiting, to be kept."""
        return self.waiting.to_bytes()

    def save(self, rows: Sized, place: Path) -> None:
        """Write requests of a window."""
        write_atomically(place, b"".join(msgspec.json.encode(one) + b"\n" for one in cast("list[Served]", rows)))

    def join(self, parts: Sequence[Path], rows: Sized) -> list[Served]:
        """Put requests of a window that were read one after the other together."""
        return [*_decode(parts), *cast("list[Served]", rows)]

    def load(self, window: int, own: Sequence[Path], following: Sequence[Path]) -> Content:
        """The requests of a window, each once."""
        del window, following
        found = _decode(own)
        served = tuple({one.id: one for one in found}.values())
        log = as_log(served)
        gaps = pl.Series("score_gap", [_gap(one) for one in served], pl.Float64)
        events = Events(log.frame.with_columns(gaps), (*log.attributes, "score_gap"))
        return Content(events, len(found) - len(served), served)


def _decode(parts: Sequence[Path]) -> list[Served]:
    decoder = msgspec.json.Decoder(Served)
    return [one for path in parts for one in decoder.decode_lines(path.read_bytes())]


def _gap(one: Served) -> float | None:
    """How much better the best document is than the next."""
    scores = sorted((found.score for found in one.contexts or () if found.score is not None), reverse=True)
    return scores[0] - scores[1] if len(scores) > 1 else None


def _micros(time: datetime) -> int:
    return round(time.timestamp() * _SECOND)


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
