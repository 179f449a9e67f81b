"""Time, memory and calls of a piece of work."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.pipeline.records import add_money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assay.pipeline.records import Answered, Scored

T = TypeVar("T")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Account:
    """What the clients of a piece of work reported: `cached` when a reply came from a cache, `estimated` as in Hits.

    `aside` are the seconds in which a client was waited for and no call was out: keeping replies, starting up.
    """

    replies: int = 0
    tokens: int = 0
    output_tokens: int = 0
    money: float | None = 0.0
    cached: bool = False
    estimated: bool = False
    aside: float = 0.0


@dataclass(frozen=True)
class Timed(Generic[T]):
    """The result of a piece of work, its milliseconds without clients' own overhead, and the cost of its calls."""

    found: T
    ms: float
    account: Account

    @property
    def remote(self) -> bool:
        """Return whether a server was asked."""
        return self.account.replies > 0

    def spent(self, told: Scored | Answered | None = None) -> dict[str, Any]:
        """Tokens and money, and whether they are estimates: as the stage says, else as its clients reported."""
        if told is not None and not (self.remote and not told.tokens and told.money == 0.0):
            names = ("tokens", "money", "estimated", "money_estimated", "output_tokens")
            return {name: getattr(told, name) for name in names}
        account = self.account
        return {
            "tokens": account.tokens, "money": account.money, "estimated": account.estimated,
            "money_estimated": account.estimated and bool(account.money), "output_tokens": account.output_tokens,
        }  # fmt: skip


_ACCOUNT: ContextVar[Account | None] = ContextVar("account", default=None)


def note(
    tokens: int, money: float | None, *, cached: bool, estimated: bool = False, output_tokens: int = 0
) -> None:  # fmt: skip
    """Record a reply, if a measurement is running."""
    account = _ACCOUNT.get()
    if account is not None:
        account.replies += 1
        account.tokens += tokens
        account.output_tokens += output_tokens
        account.money = add_money(account.money, money)
        account.cached |= cached
        account.estimated |= estimated


def note_wait(seconds: float, spans: Iterable[tuple[float, float] | None]) -> None:
    """Record how long a client was waited for and when its calls ran, if a measurement is running."""
    account = _ACCOUNT.get()
    known = sorted(span for span in spans if span is not None)
    if account is None or not known:
        return
    out, last = 0.0, -math.inf
    for start, end in known:  # calls at the same time count once
        out += max(0.0, end - max(start, last))
        last = max(last, end)
    account.aside += max(0.0, seconds - out)


def time_work(work: Callable[[], T]) -> Timed[T]:
    """Run a function and time it."""
    account = Account()
    token = _ACCOUNT.set(account)
    try:
        start = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - start
        return Timed(found, 1000 * max(0.0, seconds - account.aside), account)
    finally:
        _ACCOUNT.reset(token)


def measure_work(work: Callable[[], T]) -> tuple[T, float, int]:
    """Run a function; returns its result, its seconds and the peak of additional memory in bytes.

    Where the system cannot reset its high-water mark, growth of the mark is what is known: too small if memory was
    used and given back before.
    """
    before = _mark(reset=True)
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    return found, seconds, max(0, _mark() - before)


def _mark(*, reset: bool = False) -> int:
    """High-water mark of the memory in use, in bytes; with `reset`, memory in use now becomes the mark."""
    if reset:
        with suppress(OSError):
            _RESET.write_text("5", encoding="ascii")
    with suppress(OSError, IndexError, ValueError):
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    with suppress(ImportError):
        import resource
        import sys

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10
    return 0
