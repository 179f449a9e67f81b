"""What a load is, and what was measured under it."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, Protocol

from assay.errors import UsageError, clean
from assay.messages import Said, say

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Kind = Literal["closed", "open"]
Arrivals = Literal["constant", "poisson"]
Passing = Literal["nothing", "query", "candidates"]
Progress = Callable[[int, float], None]  # calls done, seconds since the start

# More calls than this are not kept; an hour at a hundred a second has a tenth of them.
MOST_CALLS = 5_000_000
_MESSAGE = 160
_KINDS = {
    "timeout": "timeout", "broken": "broken", "no connection": "no_connection", "not started": "not_started",
    "no stream": "no_stream", "no tokens": "no_tokens", "cut off": "cut_off", "error event": "error_event",
    "too large": "too_large", "no answer": "no_answer_in_it",
}  # fmt: skip


class CallFailed(Exception):
    """A call that failed: its kind, for counting, and its message."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or kind)
        self.kind, self.message = kind, message


def kind_word(kind: str) -> str:
    """The translatable words for a kind of failure; names of exceptions stay unchanged."""
    name, _, value = kind.partition(" ")
    if name in {"status", "exit", "signal"} and value:
        return say(f"load.{name}", value=value)
    return say(f"load.{_KINDS[kind]}") if kind in _KINDS else kind


@dataclass(frozen=True)
class Clock:
    """The source of the time; tests use their own."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], object] = time.sleep


CLOCK = Clock()


@dataclass(frozen=True)
class Streamed:
    """What a call gave that answers piece by piece: when its first and its last token came, and how many there were.

    `counted` says that the server named their number; else every piece counts as one.
    """

    first: float
    last: float
    tokens: int
    counted: bool = True


class LoadTarget(Protocol):
    """Something to call: prepared calls, and a way to make them for each worker."""

    @property
    def label(self) -> str:
        """Name for tables, without secrets."""

    @property
    def takes(self) -> Passing:
        """What a call hands over."""

    @property
    def is_async(self) -> bool:
        """Return whether a call is awaited."""

    def prepare(self, texts: Sequence[tuple[str, Sequence[str]]]) -> Sequence[Any]:
        """Make the calls ready, one for each query with its candidates, before any time is taken."""

    def open(self, clock: Clock = CLOCK) -> AbstractContextManager[Callable[[Any], Any]]:
        """Open what one worker needs; gives the function that makes a call and raises when it failed.

        Its return value is ignored unless it is a `Streamed`.
        """


@dataclass(frozen=True)
class LoadPlan:
    """One load: closed loop (a worker calls again when its call is done) or open loop (calls come at a fixed rate).

    `threads` is how many calls run at once, at most. It ends after `runs` calls or `seconds`, whatever comes first.
    """

    threads: int = 1
    runs: int | None = 100
    seconds: float | None = None
    rate: float | None = None
    arrivals: Arrivals = "constant"
    warmup: int = 5
    timeout: float = 30.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.runs is None and self.seconds is None:
            raise UsageError(say("give a number of runs or of seconds: one of them ends the measurement"))
        for name, least in (("threads", 1), ("runs", 1), ("warmup", 0), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise UsageError(
                    say(
                        "{name} must be a whole number of {least} or more, not {value!r}",
                        name=name,
                        least=least,
                        value=value,
                    )
                )
        for name in ("seconds", "rate", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(say("{name} must be above 0, not {value!r}", name=name, value=value))

    @property
    def kind(self) -> Kind:
        """Closed or open loop."""
        return "closed" if self.rate is None else "open"

    @property
    def limit(self) -> int:
        """Most calls that are made."""
        most = MOST_CALLS if self.runs is None else min(self.runs, MOST_CALLS)
        if self.rate is None or self.seconds is None:
            return most
        return min(most, max(1, round(self.rate * self.seconds)))


class Log:
    """Times of one worker's calls: when each was due, when it began and when it ended."""

    __slots__ = ("begun", "due", "ended", "examples", "failures", "last", "sent", "streams")

    def __init__(self) -> None:
        self.due, self.begun, self.ended = array("d"), array("d"), array("d")
        self.streams: list[Streamed] = []
        self.failures: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.last = self.sent = 0.0

    def add(self, due: float, begun: float, ended: float, got: object = None) -> None:
        """Keep a call that worked."""
        if isinstance(got, Streamed):
            self.streams.append(got)
        self.due.append(due)
        self.begun.append(begun)
        self.ended.append(ended)

    def fail(self, error: BaseException, begun: float, ended: float) -> None:
        """Count a call that failed, by kind."""
        kind = error.kind if isinstance(error, CallFailed) else type(error).__name__
        self.failures[kind] += 1
        said = error.message if isinstance(error, CallFailed) and isinstance(error.message, Said) else None
        self.examples.setdefault(kind, clean(said or " ".join(str(error).split())[:_MESSAGE]))
        self.last, self.sent = max(self.last, ended), max(self.sent, begun)

    @property
    def done(self) -> int:
        """Calls so far, failed ones included."""
        return len(self.ended) + self.failures.total()


@dataclass(frozen=True)
class Timing:
    """Every call of a load: seconds from the start of the load, in the order in which they were due.

    `seconds` ends with the last answer, `sent` is when the last call was sent. `streams` has the tokens of each call,
    where answers came piece by piece.
    """

    plan: LoadPlan
    due: tuple[float, ...]
    begun: tuple[float, ...]
    ended: tuple[float, ...]
    seconds: float
    errors: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    not_started: int = 0
    interrupted: bool = False
    hopeless: bool = False
    sent: float = 0.0
    streams: tuple[Streamed, ...] = ()


def gather(plan: LoadPlan, logs: Sequence[Log], start: float, **ends: Any) -> Timing:
    """Put the logs of all workers together."""
    # Not strict: an abandoned worker may be writing its last call just now.
    rows: list[tuple[Any, ...]] = [
        row for log in logs for row in zip(log.due, log.begun, log.ended, log.streams or repeat(None), strict=False)
    ]
    rows.sort(key=lambda row: row[:3])
    failures: Counter[str] = sum((log.failures for log in logs), Counter())
    examples = {kind: text for log in reversed(logs) for kind, text in log.examples.items()}
    last = max([start, *(row[2] for row in rows), *(log.last for log in logs)])
    sent = max([start, *(row[1] for row in rows), *(log.sent for log in logs)])
    due, begun, ended = (tuple(row[i] - start for row in rows) for i in range(3))
    streams = tuple(
        replace(row[3], first=row[3].first - start, last=row[3].last - start) for row in rows if row[3] is not None
    )
    return Timing(
        plan, due, begun, ended, last - start, dict(sorted(failures.items())), examples, sent=sent - start,
        streams=streams, **ends,
    )  # fmt: skip
