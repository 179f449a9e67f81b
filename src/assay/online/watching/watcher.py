"""Reading what is new, closing the windows that are over, and saying what was found."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.data.requests import look_through
from assay.formats.files import RESULT
from assay.formats.growing import is_file_of
from assay.formats.writing import write_result
from assay.messages import say
from assay.online.watching.bad import expire_windows, keep_bad, name_bad, write_bad
from assay.online.watching.by_words import judge_by_words
from assay.online.watching.drifting import find_drift
from assay.online.watching.evaluations import keep_evaluations, name_evaluations
from assay.online.watching.feeds import is_read, last_write, list_files
from assay.online.watching.measuring import Judged, describe_measures, measure_window, tell_time
from assay.online.watching.signals import group_users
from assay.online.watching.state import Reading
from assay.results.result import make_result
from assay.results.watch import OpenWindow, Watch

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from assay.data.served import Served
    from assay.online.watching.feeds import EventFeed, Piece, TraceFeed
    from assay.online.watching.judging import WatchJudge
    from assay.online.watching.outbox import Outbox
    from assay.online.watching.settings import WatchSettings
    from assay.online.watching.state import WatchState

_MICRO = 1_000_000
_MANY_PARTS = 32  # files of one window after which they are put together


def read_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass
class Watcher:
    """Watches files with a state on disk; `clock` says what time it is, in microseconds."""

    places: tuple[str, ...]
    settings: WatchSettings
    feed: EventFeed | TraceFeed
    state: WatchState
    clock: Callable[[], int] = read_clock
    judge: WatchJudge | None = None
    bad: str | os.PathLike[str] | None = None
    keep: float | None = None
    outbox: Outbox | None = None

    def close(self) -> None:
        """Let others use the state."""
        self.state.close()

    def catch_up(self) -> Watch:
        """Read all that is new, and close the windows that are over: by the clock, too, as nothing more is there."""
        while self.step():
            pass
        self._release()
        self._close_until(self.clock() - self._lateness)
        self._send(now=True)
        return self.tell()

    def follow(self, pause: float = 5.0) -> Iterator[Watch]:
        """Read on for ever, and say what was found whenever windows were closed."""
        told = -1
        while True:
            more = self.step()
            if not more and self._is_quiet(list_files(self.places)):
                self._release()
                self._close_until(self.clock() - self._lateness)
            self._send()
            if len(self.state.closed) != told and not more:
                told = len(self.state.closed)
                yield self.tell()
            if not more:
                time.sleep(pause)

    def step(self) -> bool:
        """Read a piece of the file that is furthest behind, and close the windows that are over; False: nothing new."""
        self._recognise(list_files(self.places))
        self._close_until(self._watermark(list_files(self.places)))
        files = list_files(self.places)
        for path in sorted(files, key=lambda one: self._reading(one).latest or 0):
            reading = self._reading(path)
            piece = self.feed.read(path, reading.position, self.clock(), self._behind(path, files))
            if piece is not None:
                self._take(path, reading, piece)
                self._close_until(self._watermark(files))
                return True
        return False

    def _send(self, *, now: bool = False) -> None:
        """Send the evaluations of closed windows, where that was asked for."""
        if self.outbox is not None:
            self.outbox.send(self.state.evaluations, self.state.through, now=now)

    def _release(self) -> None:
        """Count what waited for more that does not come."""
        if (piece := self.feed.release(self.clock())) is not None:
            self._keep(piece)

    def tell(self) -> Watch:
        """What was found so far, which is a result file of the state, too, for others to read.

        The requests that went wrong are written where that was asked for.
        """
        state, settings = self.state, self.settings
        if self.keep is not None:
            for folder in (state.bad, state.evaluations):
                expire_windows(folder, int((self.clock() / _MICRO - self.keep) // settings.width))
        if self.bad is not None:
            write_bad(state.bad, self.bad)
        left = {name: n for name, n in state.counts.items() if n and name != "rows"}
        width = round(settings.width * _MICRO)
        found = Watch(
            state.kind,  # type: ignore[arg-type]
            describe_measures(settings, state.closed),
            tuple(state.closed),
            settings.rule,
            settings.width,
            settings.lateness,
            settings.protocol,
            state.baseline.windows if state.baseline.counts or state.baseline.lists else 0,
            tuple(OpenWindow(tell_time(one * width), state.sizes[one]) for one in sorted(state.rows)),
            state.counts["rows"],
            left,
            self._warnings(),
            None if self.outbox is None else self.outbox.tell(state.evaluations, state.through),
        )
        write_result(make_result(found, warnings=found.warnings), state.folder / RESULT)
        return found

    def _warnings(self) -> tuple[str, ...]:
        unwatched = self.settings.unwatched
        found = [say("watch.unwatched", names=list(unwatched), protocol=self.settings.protocol)] if unwatched else []
        if self.state.kind == "events" and any(one is not None for one in (self.judge, self.bad, self.outbox)):
            found.append(say("watch.no_traces"))
        return tuple(found)

    @property
    def _lateness(self) -> int:
        return round(self.settings.lateness * _MICRO)

    def _reading(self, path: Path) -> Reading:
        return self.state.readings.get(str(path)) or Reading()

    def _recognise(self, files: Sequence[Path]) -> None:
        """Go on with files that were renamed where they were, as a rotation leaves them."""
        readings = self.state.readings
        for path in (one for one in files if str(one) not in readings):
            moved = next((one for one in readings.values() if is_file_of(path, one.position)), None)
            if moved is not None:
                readings[str(path)] = Reading(moved.position, moved.latest)

    def _take(self, path: Path, reading: Reading, piece: Piece) -> None:
        """Keep what a piece holds together with how far the file was read."""
        known = [one for one in (reading.latest, piece.latest) if one is not None]
        self.state.readings[str(path)] = Reading(piece.position, max(known, default=None))
        self._keep(piece)

    def _keep(self, piece: Piece) -> None:
        """Keep the rows of a piece by window, and let them count."""
        state = self.state
        state.counts.update({name: n for name, n in piece.left_out.items() if n})
        for window, rows in piece.rows.items():
            if state.through is not None and window <= state.through:
                state.counts["late"] += len(rows)
                continue
            state.counts["rows"] += len(rows)
            state.sizes[window] += len(rows)
            name = state.name_rows(window, self.feed.suffix)
            before = state.rows.get(window, [])
            parts = [] if len(before) < _MANY_PARTS else [state.place(one) for one in before]
            self.feed.save(self.feed.join(parts, rows), state.place(name))
            state.rows[window] = [name] if parts else [*before, name]
        state.commit(self.feed.checkpoint())

    def _behind(self, path: Path, files: Sequence[Path]) -> int | None:
        """How far the other file that is furthest behind was read; None where no other holds anything up."""
        others = (one for one in files if one != path and not self._is_quiet([one]))
        return min((self._reading(one).latest or 0 for one in others), default=None)

    def _watermark(self, files: Sequence[Path]) -> int | None:
        """The time before which no rows are expected: that of the files, or of the first request that is incomplete."""
        reached, floor = self._find_time(files), self.feed.floor
        return reached if reached is None or floor is None else min(reached, floor)

    def _find_time(self, files: Sequence[Path]) -> int | None:
        """The time of the file that is furthest behind, less the lateness.

        A file that has not been written to for longer than the lateness holds nothing up.
        """
        times = [self._reading(path).latest for path in files if not self._is_quiet([path])]
        held = [one for one in times if one is not None]
        if len(held) < len(times):
            return None
        if not held:
            held = [one.latest for one in self.state.readings.values() if one.latest is not None]
            return max(held) - self._lateness if held else None
        return min(held) - self._lateness

    def _is_quiet(self, files: Sequence[Path]) -> bool:
        """Whether files are read to their ends, and were not written to for longer than the lateness."""
        since = self.clock() - max(self._lateness, _MICRO)
        return all(is_read(path, self._reading(path).position) and last_write(path) < since for path in files)

    def _close_until(self, watermark: int | None) -> None:
        """Close the windows that end at a time or before it, in order."""
        if watermark is None:
            return
        width = round(self.settings.width * _MICRO)
        for window in sorted(self.state.rows):
            if (window + 1) * width > watermark:
                break
            self._close(window)

    def _close(self, window: int) -> None:
        state = self.state
        own, following = self._rows_of(window), [path for one in self._after(window) for path in self._rows_of(one)]
        content = self.feed.load(window, own, following)
        empty = 0 if state.through is None else window - state.through - 1
        state.holdings |= look_through(content.events)
        drift, baseline = find_drift(content.events, self.settings, state.baseline)
        words, judged = self._judge_by_words(content.served), self._judge(content.served)
        made = measure_window(
            content,
            self.settings,
            window,
            holdings=state.holdings,
            more=[*words.values, *drift, *judged.values],
            empty_before=empty,
        )
        keep_bad(content.served, name_bad(state.bad, window))
        said = [] if self.outbox is None else [*words.evaluations, *judged.evaluations]
        keep_evaluations(said, name_evaluations(state.evaluations, window), self.clock() * 1000)
        state.close_window(window, replace(made, unjudged=judged.unjudged, judge_failed=judged.failed), baseline)

    def _rows_of(self, window: int) -> list[Path]:
        return [self.state.place(name) for name in self.state.rows.get(window, ())]

    def _after(self, window: int) -> range:
        """The windows in which something may happen to a request of one: the next, and those within the lateness."""
        return range(window + 1, window + 1 + max(1, math.ceil(self.settings.lateness / self.settings.width)))

    def _judge_by_words(self, served: Sequence[Served]) -> Judged:
        return judge_by_words(served, group_users(served), self.settings.rule.confidence_level)

    def _judge(self, served: Sequence[Served]) -> Judged:
        """Have a sample judged, where there is a judge, on today's money."""
        if self.judge is None or not served:
            return Judged()
        level, day = self.settings.rule.confidence_level, tell_time(self.clock())[:10]
        return self.judge.judge(served, group_users(served), level, self.state.spent, day)
