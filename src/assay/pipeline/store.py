"""Finished work of stages, stored by a key of its content, so that it is never done twice, even after a kill.

Everything kept carries a checksum that is checked when it is read; what is damaged is done again, and counted. What
cannot be read for another reason (too many open files, no permission) stays as it is and ends the work; where nothing
can be written, work continues, with one warning.

A value is one file of JSON, `{"checksum":"...","value":[...]}`; a folder has its files' checksums in `checksums.json`,
and ends in `.sealed`. Earlier versions wrote bare lists and folders without that ending: they are read if they make
sense, and sealed from then on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import InputError, cause, clean
from assay.formats.files import sync, write_atomically
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VERSION = 2  # of what stages compute: another number makes everything be done again
MANIFEST = "checksums.json"

T = TypeVar("T")
_SEALED = re.compile(rb'\{"checksum":"([0-9a-f]{32})","value":(.*)\}', re.DOTALL)
# What reading raises when bytes are not what they were when they were written, or a file of a folder is not there. Too
# many open files, no permission, a package that is missing or of another version say nothing about the bytes.
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, EOFError, OverflowError, RecursionError, FileNotFoundError)
_LOOKS = 3  # at a folder that other processes change while it is read
_log = logging.getLogger("assay.pipeline")


def key_of(*parts: Any) -> str:
    """SHA-256 of everything that affects a piece of work, written as canonical JSON."""
    text = json.dumps([VERSION, *parts], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Store:
    """A folder of results, with counts by stage.

    `done` counts the work that had to be done, `reused` what was there, `damaged` what was there but could not be
    trusted, so that it was done again. `notice` is called with the stage of each piece of work and what was done, None
    where it was there.
    """

    def __init__(self, folder: Path, notice: Callable[[str, Any | None], None] = lambda *_: None) -> None:
        self.folder, self._notice = folder, notice
        self.done: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self.damaged: Counter[str] = Counter()
        self._warned = False

    def values(
        self,
        stage: str,
        key: str,
        compute: Callable[[], tuple[Any, bool]],
        read: Callable[[Any], T] = lambda plain: plain,
        check: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Read a value, or compute and keep it; `compute` says whether it may be kept.

        `read` converts the plain value, and raises ValueError, TypeError or KeyError if it cannot be.
        `check` raises ValueError if a kept value cannot be used; a new one that it refuses is not kept.
        """
        kept = self.find(stage, key, read, check)
        if kept is not None:
            return kept
        plain, keep = compute()
        found = read(plain)
        self.add(stage, key, plain, keep=keep and _passes(check, found))
        return found

    def find(
        self,
        stage: str,
        key: str,
        read: Callable[[Any], T] = lambda plain: plain,
        check: Callable[[T], None] = lambda _: None,
    ) -> T | None:
        """Read a kept value; None where there is none that can be used. `read` and `check` as in `values`."""
        place, label = self._file(stage, key), f"{stage}/{key}"
        data = _bytes_at(place)
        if data is None:
            return None
        try:
            plain, sealed = _open(data, label)
            found = read(plain)
            check(found)
        except (*_DAMAGE, AttributeError):
            self.damaged[stage] += 1
            return None
        self.reused[stage] += 1
        self._notice(stage, None)
        if not sealed:
            with suppress(InputError):  # a cache that cannot be written can be read all the same
                write_atomically(place, _seal(plain, label))
        return found

    def add(self, stage: str, key: str, plain: Any, *, keep: bool = True) -> None:
        """Count a value that was computed now, and keep it in the place of an earlier one, unless told otherwise."""
        self.done[stage] += 1
        self._notice(stage, plain)
        if keep:
            self._keep(self._file(stage, key), _seal(plain, f"{stage}/{key}"))

    def load_folder(self, stage: str, key: str, load: Callable[[Path], T], *, only: Sequence[str] = ()) -> T | None:
        """Load a kept folder after checking its files (`only` these, if any are named); None when there is none.

        A damaged one is removed, so that it is made again. One that another process has put in its place, sealed or
        removed since we began to read is looked at again.
        """
        place, bare, label = self._seal_path(stage, key), self._place(stage, key), f"{stage}/{key}"
        for _ in range(_LOOKS):
            sealed = place.is_dir()
            folder = place if sealed else bare
            before = _state(folder)
            if before is None:
                return None
            try:
                if sealed:
                    _check(folder, label, only)
                found = load(folder)
            except _DAMAGE:
                if _state(folder) == before and sealed == place.is_dir():
                    self.damaged[stage] += 1
                    _remove(folder, before)
                    return None
            except OSError as error:
                raise _unreadable(folder, error) from None
            else:
                if not only:
                    self._notice(stage, None)
                if not sealed and not only:  # all of it has been read, and makes sense
                    _adopt(bare, place, label)
                return found
        return None

    def keep_folder(self, stage: str, key: str, fill: Callable[[Path], None]) -> None:
        """Fill a folder, seal it, and put it in its place in one step.

        Where it cannot be kept, another folder is filled anyway, as the caller may measure it.
        """
        place = self._seal_path(stage, key)
        try:
            self._write_folder(place, fill, f"{stage}/{key}")
        except (OSError, InputError) as error:
            if not place.is_dir():  # another process may have put the same there
                self._warn(place, error)
                with tempfile.TemporaryDirectory() as other:
                    fill(Path(other))
        self.done[stage] += 1
        self._notice(stage, [])

    def _write_folder(self, place: Path, fill: Callable[[Path], None], label: str) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
        try:
            fill(draft)
            _seal_folder(draft, label)
            os.replace(draft, place)  # noqa: PTH105 - Path.replace says the same
            sync(place.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _keep(self, place: Path, data: bytes) -> None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(place, data)
        except (OSError, InputError) as error:
            self._warn(place, error)

    def _warn(self, place: Path, error: OSError | InputError) -> None:
        """Warn once that work is not kept."""
        if not self._warned:
            self._warned = True
            why = say("{path}: {reason}", path=str(place), reason=cause(error))
            _log.warning(
                clean(
                    say(
                        "the cache of stages cannot be written, so finished work is not kept: {reason}",
                        reason=why if isinstance(error, OSError) else error.message,
                    )
                )
            )

    def _file(self, stage: str, key: str) -> Path:
        return self._place(stage, key).with_suffix(".json")

    def _place(self, stage: str, key: str) -> Path:
        return self.folder / stage / key[:2] / key

    def _seal_path(self, stage: str, key: str) -> Path:
        return self._place(stage, key).with_suffix(".sealed")


def _seal(plain: Any, label: str) -> bytes:
    """Write a value with its checksum, which is also that of its place: a file under another name is not used."""
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
        sync(path)
    sums = [[path.name, path.stat().st_size, _file_checksum(path)] for path in files]
    write_atomically(folder / MANIFEST, _seal(sums, label))
    sync(folder)


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


def _remove(folder: Path, before: tuple[int, ...]) -> None:
    """Move a folder out of the way in one step, then delete it; what cannot be removed is found damaged again.

    If another process has put a good one there at the last moment, it goes back.
    """
    with suppress(OSError):
        away = Path(tempfile.mkdtemp(prefix=".damaged-", dir=folder.parent))
        with suppress(OSError):
            moved = folder.rename(away / folder.name)
            if moved.stat().st_ino != before[1]:
                moved.rename(folder)
        shutil.rmtree(away, ignore_errors=True)


def _state(folder: Path) -> tuple[int, ...] | None:
    """What changes when another folder takes this one's place, or a name in it; an inode's number may be used again."""
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(folder, error) from None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _bytes_at(place: Path) -> bytes | None:
    """What a file holds; None when there is none."""
    try:
        return place.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(place, error) from None


def _passes(check: Callable[[T], None], found: T) -> bool:
    try:
        check(found)
    except _DAMAGE:
        return False
    return True


def _unreadable(place: Path, error: OSError) -> InputError:
    return InputError(say("the cache cannot be read: {reason}", reason=cause(error)), path=str(place))
