"""What stages have done, kept by content: the same work under the same key is never done twice, also after a kill."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.formats.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 2  # of what stages compute: another number makes everything be done again


def key_of(*parts: Any) -> str:
    """SHA-256 of whatever shapes a piece of work, written as JSON in one certain way."""
    text = json.dumps([VERSION, *parts], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Store:
    """A folder of results; `done` counts the work of each stage that had to be done, `reused` what was there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()

    def values(self, stage: str, key: str, compute: Callable[[], tuple[Any, bool]]) -> Any:
        """Read a value, or compute and keep it; `compute` says whether it may be kept."""
        place = self._place(stage, key).with_suffix(".json")
        with suppress(OSError, ValueError):  # a file that cannot be read is as good as none
            found = json.loads(place.read_text(encoding="utf-8"))
            self.reused[stage] += 1
            return found
        found, keep = compute()
        self.done[stage] += 1
        if keep:
            _make(place.parent)
            write_atomically(place, json.dumps(found, ensure_ascii=False, separators=(",", ":")))
        return found

    def has_folder(self, stage: str, key: str) -> bool:
        """Say whether a folder was kept."""
        return self._place(stage, key).is_dir()

    def path(self, stage: str, key: str) -> Path:
        """Where a folder is kept."""
        return self._place(stage, key)

    def keep_folder(self, stage: str, key: str, fill: Callable[[Path], None]) -> None:
        """Fill a folder and put it in its place in one step."""
        place = self._place(stage, key)
        _make(place.parent)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
        try:
            fill(draft)
            os.replace(draft, place)  # noqa: PTH105 - Path.replace says the same
        except OSError as error:
            if not place.is_dir():  # another process may have put the same there
                raise InputError(f"cannot be written: {error.strerror or error}", path=str(place)) from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        self.done[stage] += 1

    def _place(self, stage: str, key: str) -> Path:
        return self.folder / stage / key[:2] / key


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache cannot be written: {error.strerror or error}", path=str(folder)) from None
