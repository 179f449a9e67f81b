"""Time and memory of a piece of work."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measured(work: Callable[[], T]) -> tuple[T, float, int]:
    """Do something; its result, its seconds, and how many bytes of memory it needed at most on top of what was used.

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
