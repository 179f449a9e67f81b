"""Follows an experiment while it runs, and lets others look at it: a file in the folder of its results."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.errors import AssayError
from assay.formats.run_progress import PROGRESS, SIGN_SECONDS, this_process, write_run_progress
from assay.results.run_progress import CombinationProgress, RunProgress, StageProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assay.pipeline.grid import Combination
    from assay.results.run_progress import CombinationState, RunPhase, RunState

_PAUSE = 1.0  # seconds between two looks at whether there is something to write
_SHARE = 20.0  # times as long as writing took is waited until the next time
# Which stage of a combination a piece of kept work belongs to.
_PART_OF = {"search": "retrieve", "fuse": "retrieve"}
_PAID = frozenset({"query", "search", "rerank", "generate", "app"})  # what `fuse` costs is that of its searches


class RunFollower:
    """What an experiment does now, as its parts tell it. Use it as a context, in which a thread writes what is new.

    Without a folder nothing is noted and nothing is written. Parts tell it with calls that only change memory.
    """

    def __init__(self, folder: str | Path | None = None, name: str = "") -> None:
        self._place = None if folder is None else Path(folder) / PROGRESS
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._start = self._begun = time.monotonic()
        now = _now()
        self._found = RunProgress(name, "running", now, now, this_process(), ())
        self._combinations: dict[str, CombinationProgress] = {}
        self._stages: dict[str, StageProgress] = {}  # of the combination that runs
        self._work: dict[str, dict[str, Counter[str]]] = {}
        self._current = self._stage = ""
        self._block, self._counts_itself = (0, 0), set[str]()
        self._changed, self._signed, self._next = True, 0.0, 0.0
        self._judging: tuple[float, int] = (0.0, 0)

    @property
    def is_on(self) -> bool:
        """Whether anybody can look."""
        return self._place is not None

    # What parts tell -----------------------------------------------------------------------------------------------

    def plan(self, combinations: Sequence[Combination], queries: int, *, baseline: str) -> None:
        """What will run."""
        with self._lock:
            self._combinations = {
                one.name: CombinationProgress(one.name, axes={str(axis): value for axis, value in one.axes.items()})
                for one in combinations
            }
            self._found = replace(self._found, queries=queries, baseline=baseline)

    def begin(self, combination: Combination, stages: Iterable[str]) -> None:
        """A combination begins."""
        if not self.is_on or self._found.phase != "combinations":
            return
        with self._lock:
            self._current, self._stage, self._begun = combination.name, "", time.monotonic()
            self._stages = {stage: StageProgress(stage, 0, self._found.queries) for stage in stages}
            self._work[combination.name] = {"made": Counter(), "reused": Counter()}
            self._block = (0, 0)
            self._counts_itself.clear()
            self._change(state="running")

    def block(self, start: int, size: int) -> None:
        """The work on some queries begins; all stages do their part of it one after the other."""
        self._pass_stage()
        self._block = (start, size)

    def at(self, stage: str) -> None:
        """A stage begins on these queries; the one before has done its part."""
        if not self.is_on:
            return
        self._pass_stage()
        self._stage, self._changed = stage, True

    def step(self) -> None:
        """The stage has done one more of these queries."""
        known = self._by_queries()
        if known is not None and known.done < sum(self._block):
            self._stages[self._stage] = replace(known, done=max(known.done, self._block[0]) + 1)
            self._changed = True

    def reach(self, stage: str, done: int, total: int) -> None:
        """A stage that counts by itself has come so far."""
        if self.is_on and self._current:
            known = self._stages.get(stage, StageProgress(stage))
            self._counts_itself.add(stage)
            self._stages[stage] = replace(known, done=done, total=total)
            self._stage, self._changed = stage, True

    def _pass_stage(self) -> None:
        known = self._by_queries()
        if known is not None:
            self._stages[self._stage] = replace(known, done=max(known.done, sum(self._block)))

    def _by_queries(self) -> StageProgress | None:
        """The stage that runs, if it works query by query."""
        return None if not self.is_on or self._stage in self._counts_itself else self._stages.get(self._stage)

    def note_work(self, kind: str, rows: Any | None) -> None:
        """A piece of work was done, with these rows, or was in the cache; calls that were made now are paid for."""
        if not self.is_on:
            return
        if self._current in self._work:
            self._work[self._current]["reused" if rows is None else "made"][_PART_OF.get(kind, kind)] += 1
            self._changed = True
        if kind in _PAID and rows is not None:
            listed = rows if isinstance(rows, list) else [rows]
            money = [row.get("money", 0.0) for row in listed if not row.get("cached")]
            self._spend(sum(one for one in money if one is not None), money.count(None))

    def _spend(self, money: float, unpriced: int) -> None:
        with self._lock:
            own = self._combinations.get(self._current)
            if own is not None:
                now = replace(own, spent=own.spent + money, unpriced=own.unpriced + unpriced)
                self._combinations[own.name] = now
            else:
                so_far = self._found.apart_unpriced
                self._found = replace(self._found, apart=self._found.apart + money, apart_unpriced=so_far + unpriced)

    def end(self, state: CombinationState, **numbers: Any) -> None:
        """A combination ended, with its numbers."""
        if not self.is_on or self._found.phase != "combinations":
            return
        if state == "done":
            self._pass_stage()
        with self._lock:
            self._change(state=state, stages=self._list_stages(), stage="", **numbers)
            self._current, self._stage, self._stages = "", "", {}

    def score(self, name: str, measure: str, *, lower: bool, **numbers: Any) -> None:
        """A combination has numbers of quality."""
        if not self.is_on or name not in self._combinations:
            return
        with self._lock:
            self._found = replace(self._found, measure=measure, lower=lower)
            self._combinations[name] = replace(self._combinations[name], **numbers)
            self._changed = True

    def enter(self, phase: RunPhase) -> None:
        """The run as a whole goes on with something else."""
        with self._lock:
            self._current, self._stage, self._stages = "", "", {}
            self._found = replace(self._found, phase=phase)
            self._changed = True

    def pay(self, judging: float | None) -> None:
        """What a judge has cost so far."""
        with self._lock:
            self._judging = (judging or 0.0, int(judging is None))

    def conclude(self, front: Mapping[str, bool]) -> None:
        """What the tests at the end say about the front."""
        with self._lock:
            for name, on_front in front.items():
                self._combinations[name] = replace(self._combinations[name], on_front=on_front)

    def _change(self, **values: Any) -> None:
        if self._current in self._combinations:
            seconds = time.monotonic() - self._begun
            own = self._combinations[self._current]
            self._combinations[self._current] = replace(own, seconds=seconds, **values)
        self._changed = True

    # What others see -----------------------------------------------------------------------------------------------

    def now(self, state: RunState = "running", reason: str = "") -> RunProgress:
        """How far the run is."""
        with self._lock:
            if self._current:
                self._change(stages=self._list_stages(), stage=self._stage)
            return replace(
                self._found, state=state, reason=reason, updated=_now(), seconds=time.monotonic() - self._start,
                combinations=tuple(self._combinations.values()), apart=self._found.apart + self._judging[0],
                apart_unpriced=self._found.apart_unpriced + self._judging[1],
            )  # fmt: skip

    def _list_stages(self) -> tuple[StageProgress, ...]:
        work: Mapping[str, Counter[str]] = self._work.get(self._current, {})
        made, reused = (work.get(name, Counter()) for name in ("made", "reused"))
        return tuple(
            replace(one, made=made[one.stage], reused=reused[one.stage]) for one in list(self._stages.values())
        )

    def write(self, state: RunState = "running", reason: str = "") -> None:
        """Replace the file; a disk that takes nothing is no reason to stop the run."""
        if self._place is None:
            return
        begun = time.thread_time()
        self._changed = False
        with suppress(AssayError, OSError):
            self._place.parent.mkdir(parents=True, exist_ok=True)
            write_run_progress(self._place, self.now(state, reason))
        self._signed = time.monotonic()
        self._next = self._signed + max(_PAUSE, _SHARE * (time.thread_time() - begun))

    def _write_what_is_new(self) -> None:
        while not self._end.wait(_PAUSE):
            now = time.monotonic()
            if now >= self._next and (self._changed or now - self._signed >= SIGN_SECONDS):
                self.write()

    def __enter__(self) -> Self:
        if self.is_on:
            self.write()
            self._thread = threading.Thread(target=self._write_what_is_new, name="assay-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        stopped: RunState = "failed" if isinstance(error, Exception) else "interrupted"
        told = error.message if isinstance(error, AssayError) else "" if error is None else type(error).__name__
        if kind is not None:
            for name, one in self._combinations.items():
                if one.state == "running":
                    self._combinations[name] = replace(one, state="interrupted")
        self.write("finished" if kind is None else stopped, told if stopped == "failed" else "")


def keep_counting(follow: RunFollower, stage: str, tell: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Tell both who shows a bar, and who follows, how far a stage is."""

    def both(done: int, total: int) -> None:
        tell(done, total)
        follow.reach(stage, done, total)

    return both


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
