"""Folders in which a watch keeps its state, as others may look at them while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

JOURNAL, ROWS, BAD = "journal", "rows", "bad"  # the state of the watch, its rows, requests that went wrong
_SUFFIX = ".jsonl"


def is_watch_folder(place: str | os.PathLike[str]) -> bool:
    """Whether a folder is the state of a watch."""
    folder = Path(place)
    return (folder / JOURNAL).is_file() and (folder / ROWS).is_dir()


def list_bad_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The files of requests that went wrong, one for each window that has some, the latest first."""
    return sorted((Path(folder) / BAD).glob(f"*{_SUFFIX}"), reverse=True)
