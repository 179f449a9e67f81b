"""What stages have done, kept by content: the same work under the same key is never done twice, also after a kill.

Everything kept carries a checksum that is checked when it is read; what is damaged is done again, and counted. A value
is one file of JSON, `{"checksum":"...","value":[...]}`; a folder has its files' checksums in `checksums.json`, and ends
in `.sealed`. Earlier versions wrote bare lists and folders without that ending: they are read if they make sense, and
sealed from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import InputError
from assay.formats.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = 2  # of what stages compute: another number makes everything be done again
MANIFEST = "checksums.json"

T = TypeVar("T")
_SEALED = re.compile(rb'\{"checksum":"([0-9a-f]{32})","value":(.*)\}', re.DOTALL)
# What reading a file raises that is not what it was when it was written; a package that is missing is another matter.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, RuntimeError)


def key_of(*parts: Any) -> str:
    """SHA-256 of whatever shapes a piece of work, written as JSON in one certain way."""
    text = json.dumps([VERSION, *parts], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Store:
    """A folder of results, with counts by stage.

    `done` counts the work that had to be done, `reused` what was there, `damaged` what was there but could not be
    believed, so that it was done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self.damaged: Counter[str] = Counter()

    def values(
        self,
        stage: str,
        key: str,
        compute: Callable[[], tuple[Any, bool]],
        read: Callable[[Any], T] = lambda plain: plain,
    ) -> T:
        """Read a value, or compute and keep it; `compute` says whether it may be kept.

        `read` makes of the plain value what is wanted, and raises ValueError, TypeError or KeyError if it cannot be.
        """
        place = self._place(stage, key).with_suffix(".json")
        label = f"{stage}/{key}"
        try:
            plain, sealed = _open(place.read_bytes(), label)
            found = read(plain)
        except FileNotFoundError:
            pass
        except _UNREADABLE:
            self.damaged[stage] += 1
        else:
            self.reused[stage] += 1
            if not sealed:
                with suppress(InputError):  # a cache that cannot be written can be read all the same
                    write_atomically(place, _seal(plain, label))
            return found
        plain, keep = compute()
        self.done[stage] += 1
        if keep:
            _make(place.parent)
            write_atomically(place, _seal(plain, label))
        return read(plain)

    def load_folder(self, stage: str, key: str, load: Callable[[Path], T], *, only: Sequence[str] = ()) -> T | None:
        """Load a kept folder after checking its files (`only` these, if any are named); None when there is none.

        A damaged one is removed, so that it is made again.
        """
        place, bare, label = self._sealed(stage, key), self._place(stage, key), f"{stage}/{key}"
        sealed = place.is_dir()
        if not sealed and not bare.is_dir():
            return None
        try:
            if sealed:
                _check(place, label, only)
            found = load(place if sealed else bare)
        except _UNREADABLE:
            self.damaged[stage] += 1
            _remove(place if sealed else bare)
            return None
        if not sealed and not only:  # all of it has been read, and makes sense
            _adopt(bare, place, label)
        return found

    def keep_folder(self, stage: str, key: str, fill: Callable[[Path], None]) -> None:
        """Fill a folder, seal it, and put it in its place in one step."""
        place = self._sealed(stage, key)
        _make(place.parent)
        draft = None
        try:
            draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
            fill(draft)
            _seal_folder(draft, f"{stage}/{key}")
            os.replace(draft, place)  # noqa: PTH105 - Path.replace says the same
            _sync(place.parent)
        except OSError as error:
            if not place.is_dir():  # another process may have put the same there
                raise InputError(f"cannot be written: {error.strerror or error}", path=str(place)) from None
        finally:
            if draft is not None:
                shutil.rmtree(draft, ignore_errors=True)
        self.done[stage] += 1

    def _place(self, stage: str, key: str) -> Path:
        return self.folder / stage / key[:2] / key

    def _sealed(self, stage: str, key: str) -> Path:
        return self._place(stage, key).with_suffix(".sealed")


def _seal(plain: Any, label: str) -> bytes:
    """Write a value with its checksum, which is also that of its place: a file under another's name is not believed."""
    body = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return b'{"checksum":"%s","value":%s}' % (_checksum(label, body).encode(), body)


def _open(data: bytes, label: str) -> tuple[Any, bool]:
    """Read what `_seal` wrote, or the bare list of an earlier version; say whether it had a checksum."""
    if data[:1] == b"[":
        return json.loads(data), False
    found = _SEALED.fullmatch(data)
    if found is None or _checksum(label, found[2]) != found[1].decode():
        raise ValueError("another checksum than it was written with")
    return json.loads(found[2]), True


def _checksum(label: str, body: bytes) -> str:
    found = hashlib.blake2b(label.encode() + b"\0", digest_size=16)
    found.update(body)
    return found.hexdigest()


def _file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _seal_folder(folder: Path, label: str) -> None:
    """Write down the checksum of every file, and see to it that all of them are on the disk."""
    files = sorted(path for path in folder.iterdir() if path.name != MANIFEST)
    for path in files:
        _sync(path)
    sums = [[path.name, path.stat().st_size, _file_checksum(path)] for path in files]
    write_atomically(folder / MANIFEST, _seal(sums, label))
    _sync(folder)


def _check(folder: Path, label: str, only: Sequence[str]) -> None:
    """Raise ValueError or OSError if a file is not what it was."""
    sums, sealed = _open((folder / MANIFEST).read_bytes(), label)
    if not sealed:
        raise ValueError("no checksum")
    for name, size, checksum in sums:
        path = folder / name
        if (not only or name in only) and (path.stat().st_size != size or _file_checksum(path) != checksum):
            raise ValueError(f"{name} has another checksum than it was written with")


def _adopt(bare: Path, place: Path, label: str) -> None:
    """Seal the folder of an earlier version, if the cache can be written."""
    with suppress(OSError, InputError):
        _seal_folder(bare, label)
        bare.rename(place)


def _remove(folder: Path) -> None:
    """Move a folder out of the way in one step, then delete it; what cannot be removed is found damaged again."""
    with suppress(OSError):
        away = Path(tempfile.mkdtemp(prefix=".damaged-", dir=folder.parent))
        with suppress(OSError):
            folder.rename(away / folder.name)
        shutil.rmtree(away, ignore_errors=True)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk; some systems cannot do that for folders."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the cache cannot be written: {error.strerror or error}", path=str(folder)) from None
