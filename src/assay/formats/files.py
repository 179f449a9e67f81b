"""Opening input: files, gzip, standard input; and writing output so that nothing is ever left half-written."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from assay.data.source import Source
from assay.errors import InputError

_HEAD = 1 << 16
_GZIP = b"\x1f\x8b"
_LONGEST = 120  # bytes of a file name that come from a system's name


@dataclass(frozen=True)
class Input:
    """One input file: its label for messages, its bytes, and its first bytes for guessing a format."""

    label: str
    path: Path | None

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Input:
        """Open a path, or standard input for '-'."""
        text = os.fspath(place)
        if text == "-":
            return _standard_input()
        path = Path(text)
        try:
            there = path.exists()
        except OSError as error:
            raise InputError(_why(error), path=text[:60] + "...") from None
        if not there:
            raise InputError("no such file", path=text, hint="check the spelling; '-' reads standard input")
        if path.is_file() and path.stat().st_size == 0:
            raise InputError("the file is empty", path=text, hint="expected at least one row")
        return cls(text, path)

    @property
    def source(self) -> Source:
        """Where the data came from."""
        return Source(self.label, self.path if self.path is not None and self.path.is_file() else None)

    @cached_property
    def is_packed(self) -> bool:
        """Say whether the bytes are packed or come from a pipe, which can be read only once."""
        return self.path is None or not self.path.is_file() or self._start(2) == _GZIP

    @cached_property
    def head(self) -> bytes:
        """First bytes, unpacked."""
        return self.data[:_HEAD] if self.is_packed else self._start(_HEAD)

    @cached_property
    def data(self) -> bytes:
        """All bytes, unpacked."""
        import gzip
        import zlib

        try:
            raw = sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()
            data = gzip.decompress(raw) if raw[:2] == _GZIP else raw
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot be read: {_why(error)}", path=self.label) from None
        if not data:
            raise InputError("the file is empty", path=self.label, hint="expected at least one row")
        return data

    @cached_property
    def size(self) -> int:
        """Number of bytes, unpacked."""
        return len(self.data) if self.is_packed or self.path is None else self.path.stat().st_size

    def part(self, start: int, end: int) -> bytes:
        """Bytes from `start` up to `end`, unpacked."""
        if self.is_packed or self.path is None:
            return self.data[start:end]
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    @property
    def text(self) -> str:
        """All text; a byte order mark is dropped and bytes that are not UTF-8 are refused with their line."""
        if b"\0" in self.data[:_HEAD]:
            raise InputError("this is a binary file, not text", path=self.label, hint="expected TREC, JSON or CSV text")
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"byte 0x{self.data[error.start]:02x} is not UTF-8 text",
                path=self.label,
                line=line,
                hint="save it as UTF-8",
            ) from None

    def _start(self, size: int) -> bytes:
        assert self.path is not None
        try:
            with self.path.open("rb") as file:
                return file.read(size)
        except OSError as error:
            raise InputError(f"cannot be read: {_why(error)}", path=self.label) from None

    @cached_property
    def suffix(self) -> str:
        """File suffix without .gz, in lower case."""
        name = self.label.lower().removesuffix(".gz")
        return "" if self.path is None else Path(name).suffix


def read_toml(place: str) -> dict[str, Any]:
    """Read a TOML file."""
    import tomllib

    source = Input.at(place)
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", path=place) from None


@lru_cache(maxsize=1)
def _standard_input() -> Input:
    """Standard input can be read once, but may be asked for more than that."""
    return Input("<stdin>", None)


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file completely or not at all."""
    import tempfile

    target = Path(path)
    raw = data.encode() if isinstance(data, str) else data
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {_why(error)}", path=str(target)) from None
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {_why(error)}", path=str(target)) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_KNOWN_SUFFIXES = {
    ".run",
    ".trec",
    ".txt",
    ".gz",
    ".json",
    ".jsonl",
    ".ndjson",
    ".csv",
    ".tsv",
    ".parquet",
    ".res",
    ".input",
}


def system_name(label: str) -> str:
    """Name a system after its file, without the suffixes we know; names themselves may contain dots."""
    name = Path(label).name
    while Path(name).suffix.lower() in _KNOWN_SUFFIXES and Path(name).stem:
        name = Path(name).stem
    return name


def file_name(name: str) -> str:
    """Make a system's name fit for a file; one that had to be changed ends in a hash and is met once."""
    from hashlib import sha256

    plain = "".join(sign if sign.isalnum() or sign in "-_.=" else "-" for sign in name).strip("-.")
    short = plain.encode()[:_LONGEST].decode(errors="ignore")
    if short == name:
        return name
    return f"{short or 'system'}-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
