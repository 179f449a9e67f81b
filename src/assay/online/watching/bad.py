"""Requests that went wrong, as samples for people and for an evaluation set: what failed, and what was not answered.

Those of a window are a file of their own in the state, which has the name of the window: however often a window is
closed before that counts, they are there once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assay.formats.files import write_atomically
from assay.online.watching.signals import SIGNALS

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from assay.data.served import Served

_SUFFIX = ".jsonl"
_MOST = 100  # of a window, the first ones
_REASONS = ("error_rate", "no_answer")


def keep_bad(served: Sequence[Served], place: Path) -> None:
    """Write the requests of a window that went wrong, each with why; nothing where there are none."""
    found = [{**_row(one), "why": why} for one in served if (why := _why(one))][:_MOST]
    if found:
        write_atomically(place, b"".join(msgspec.json.encode(one) + b"\n" for one in found))


def write_bad(folder: Path, place: str | os.PathLike[str]) -> None:
    """Write the requests of all windows that went wrong as one file of samples."""
    write_atomically(place, b"".join(path.read_bytes() for path in sorted(folder.glob(f"*{_SUFFIX}"))))


def name_bad(folder: Path, window: int) -> Path:
    """The file of a window."""
    return folder / f"{window:020d}{_SUFFIX}"


def expire_windows(folder: Path, last: int) -> None:
    """Delete the files of windows before one."""
    for path in folder.glob(f"*{_SUFFIX}"):
        if int(path.name.removesuffix(_SUFFIX)) < last:
            path.unlink(missing_ok=True)


def _why(one: Served) -> str:
    """The signal that a request adds to."""
    for name in _REASONS:
        part = SIGNALS[name].part(one)
        if part is not None and part[0]:
            return name
    return ""


def _row(one: Served) -> dict[str, Any]:
    """A request as a row of samples; texts that were not recorded are left out."""
    contexts = [{"id": found.id, "text": found.text} for found in one.contexts or () if found.text is not None]
    told = {
        "id": one.id,
        "question": one.question,
        "answer": one.answer or "",
        "contexts": contexts,
        "time": None if one.time is None else one.time.isoformat(),
        "session": one.session,
        "error": one.error,
    }
    return {name: value for name, value in told.items() if value is not None}
