"""Where data came from: shown in messages and results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A file (or another named origin) that data was read from, and its encoding where it was named.

    `of_set` is the name and version of the evaluation set that the file belongs to, if it does.
    """

    label: str
    path: Path | None = None
    encoding: str | None = None
    of_set: str | None = None

    @cached_property
    def sha256(self) -> str | None:
        """Hash of the file's bytes, computed on first use; None for what is not a file."""
        if self.path is None or not self.path.is_file():
            return None
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    @property
    def portable(self) -> str:
        """The path to show to others: relative if below the current folder, else the name of the file alone."""
        if self.path is None or not Path(self.label).is_absolute():
            return self.label
        below = os.path.relpath(self.label)
        return Path(self.label).name if below.startswith("..") or Path(below).is_absolute() else below
