"""Opening input: files, gzip, standard input; and writing output so that nothing is ever left half-written."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.data.limits import LINE, MEGABYTE, long_line
from assay.data.source import Source
from assay.errors import InputError, NoSuchFile, UsageError, cause
from assay.formats import encodings
from assay.formats.pipes import Pipe
from assay.formats.unpacking import GZIP, unpack, unpack_all
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

RESULT = "result.json"  # the file of a folder that `assay run` wrote
_HEAD = 1 << 16
_FIRST_LINE = 1 << 12  # bytes of a run that are looked at for its tag
_LONGEST = 120  # bytes of a file name that come from a system's name


@dataclass(frozen=True)
class Input:
    """One input file: its label for messages, its bytes, and its first bytes for guessing a format.

    Bytes of text are converted to UTF-8: from its `encoding`, or from the one to try `otherwise`.
    """

    label: str
    path: Path | None
    encoding: str | None = None
    otherwise: str | None = None

    @classmethod
    def at(cls, place: str | os.PathLike[str], encoding: str | None = None) -> Input:
        """Open a path, or standard input for '-'."""
        text = os.fspath(place)
        known = None if encoding is None else encodings.codec_of(encoding), encodings.current_fallback()
        if text == "-":
            return _standard_input(*known)
        text = result_in(text)
        path = Path(text)
        try:
            there = path.exists()
        except OSError as error:
            raise InputError(cause(error), path=text[:60] + "...") from None
        if not there:
            raise NoSuchFile(text)
        if path.is_file() and path.stat().st_size == 0:
            raise InputError(say("the file is empty"), path=text, hint=say("expected at least one row"))
        return cls(text, path, *known)

    @property
    def source(self) -> Source:
        """Where the data came from."""
        return Source(self.label, self.path if self.path is not None and self.path.is_file() else None, self.encoding)

    @cached_property
    def is_packed(self) -> bool:
        """Say whether the bytes are packed or in another encoding, or come from a pipe, which can be read only once."""
        if self._is_pipe or self.encoding is not None or self.otherwise is not None:
            return True
        start = self._start(4)
        return start.startswith(GZIP) or encodings.encoding_of_mark(start) is not None

    @cached_property
    def is_stream(self) -> bool:
        """Return whether the file can be unpacked piece by piece: gzip of a text that is taken for UTF-8."""
        if not self.is_packed or self.encoding or self.otherwise:
            return False
        return self._start(2) == GZIP and encodings.encoding_of_mark(next(self.stream(_HEAD), b"")) is None

    def stream(self, first: int) -> Iterator[bytes]:
        """Bytes of a gzip file, unpacked, or of text from a pipe: `first` some and then a megabyte at a time."""
        if self.is_text_pipe:
            yield from self._pipe.blocks(first)
            return
        with self._open_once() as file:
            yield from unpack(file, self.label, first)

    @property
    def _is_pipe(self) -> bool:
        """Return whether the bytes come from a pipe, which can be read only once."""
        return self.path is None or not self.path.is_file()

    @contextmanager
    def _open_once(self) -> Iterator[BinaryIO]:
        """The file, or what came from the pipe, from its beginning."""
        try:
            if self._is_pipe:
                yield self._pipe.whole()
            else:
                assert self.path is not None
                with self.path.open("rb") as file:
                    yield file
        except OSError as error:
            raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=self.label) from None

    @cached_property
    def _pipe(self) -> Pipe:
        return Pipe(self.path, self.label)

    @cached_property
    def is_text_pipe(self) -> bool:
        """Return whether text that is taken for UTF-8 comes from a pipe."""
        if not self._is_pipe or self.encoding or self.otherwise:
            return False
        start = self._start(4)
        return not start.startswith(GZIP) and encodings.encoding_of_mark(start) is None

    @cached_property
    def head(self) -> bytes:
        """First bytes, unpacked and in UTF-8."""
        if not self.is_packed or ("data" not in self.__dict__ and self.is_text_pipe):
            return self._start(_HEAD)
        return next(self.stream(_HEAD), b"") if self.is_stream else self.data[:_HEAD]

    @cached_property
    def data(self) -> bytes:
        """All bytes, unpacked and in UTF-8."""
        with self._open_once() as file:
            is_gzip = file.read(len(GZIP)) == GZIP
            file.seek(0)
            data = unpack_all(file, self.label) if is_gzip else file.read()
        if self._is_pipe and not is_gzip:
            self._pipe.forget()  # one copy is enough
        if not data:
            raise InputError(say("the file is empty"), path=self.label, hint=say("expected at least one row"))
        return encodings.as_utf8(data, self.label, self.encoding, self.otherwise)

    @cached_property
    def size(self) -> int:
        """Number of bytes, unpacked."""
        return len(self.data) if self.is_packed or self.path is None else self.path.stat().st_size

    def forget_head(self) -> None:
        """Let go of the first bytes, of which many files would keep much."""
        self.__dict__.pop("head", None)

    def part(self, start: int, end: int) -> bytes:
        """Bytes from `start` up to `end`, unpacked."""
        if self.is_packed or self.path is None:
            return self.data[start:end]
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def refuse_long_lines(self) -> None:
        """Refuse a text of lines of which one is longer than the limit; only some bytes of a file are looked at."""
        most, at = LINE.value * MEGABYTE, 0
        while at + most < self.size:
            at = self._line_end(at, at + most)

    def _line_end(self, start: int, end: int) -> int:
        """Offset behind the last line that ends between two places, looking backwards from the second."""
        look = _HEAD
        while (found := self.part(max(start, end - look), end).rfind(b"\n")) < 0:
            if look >= end - start:
                raise long_line(self.label)
            look *= 16
        return max(start, end - look) + found + 1

    @property
    def text(self) -> str:
        """All text; a byte order mark is dropped and bytes that are not UTF-8 are refused with their line."""
        if b"\0" in self.data[:_HEAD]:
            raise InputError(
                say("this is a binary file, not text"),
                path=self.label,
                hint=encodings.cure_of_zeros(self.data[:_HEAD]),
            )
        return decode(self.data, self.label).removeprefix("\ufeff")

    def _start(self, size: int) -> bytes:
        if self._is_pipe:
            return self._pipe.start(size)
        with self._open_once() as file:
            return file.read(size)

    @cached_property
    def suffix(self) -> str:
        """File suffix without .gz, in lower case."""
        name = self.label.lower().removesuffix(".gz")
        return "" if self.path is None else Path(name).suffix


def decode(data: bytes, label: str, line: int = 1) -> str:
    """Text of bytes in UTF-8, whose first line has a number; what is not is refused with its line."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            say("byte 0x{byte:02x} is not UTF-8 text", byte=data[error.start]),
            path=label,
            line=line + data.count(b"\n", 0, error.start),
            hint=encodings.cure(data, error.start),
        ) from None


def read_toml(place: str) -> dict[str, Any]:
    """Read a TOML file."""
    from assay.data.toml import decode_toml

    return decode_toml(Input.at(place).text, place)


@lru_cache(maxsize=1)
def _standard_input(encoding: str | None, otherwise: str | None) -> Input:
    """Standard input can be read once, but may be asked for more than that."""
    return Input("<stdin>", None, encoding, otherwise)


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file completely or not at all; a link is written through, and permissions stay as they were.

    The bytes are on the disk before they take the file's place, so that a crash leaves the old file or the new one.
    """
    raw = data.encode() if isinstance(data, str) else data
    write_by(path, lambda file: file.write(raw))


def write_by(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Have a file written by a function, completely or not at all."""
    target = Path(os.path.realpath(path))
    try:
        # As it was given: what /dev/stdout leads to may have no name of its own. A link that leads nowhere raises.
        given = Path(path)
        before = given.stat() if given.exists() or target.is_symlink() else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            with given.open("wb") as file:  # a pipe or a device takes what it is given; a folder refuses
                write(file)
        else:
            _replace(target, write, before)
    except (OSError, ValueError) as error:
        raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=os.fspath(path)) from None


def _replace(target: Path, write: Callable[[BinaryIO], object], before: os.stat_result | None) -> None:
    """Write a temporary file beside the target and rename it; the temporary file is always removed."""
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{target.name[:_LONGEST]}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            _give_to(draft, before)
        draft.chmod(0o666 & ~_umask() if before is None else stat.S_IMODE(before.st_mode))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync(target.parent)


def _give_to(draft: Path, before: os.stat_result) -> None:
    """Keep the owner of a file, as far as permissions allow."""
    now = draft.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.chown(draft, before.st_uid, before.st_gid)


def sync(path: Path) -> None:
    """Bring a file, or a folder's list of names, to the disk, on systems that can; it is in place in any case."""
    with suppress(OSError):  # Windows opens no folders; file systems over a network may know nothing of this
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# What is read of a folder that is given as documents or as a BEIR collection.
FOLDER_SUFFIXES = {".txt", ".md", ".markdown", ".html", ".htm", ".pdf", ".tsv"}
_FOLDER_FILES = {"corpus.jsonl", "queries.jsonl"}


def check_outputs(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None]
) -> None:
    """Refuse to write over an input, or two outputs to one file, however their paths are spelled.

    None and '-' are not files. Of a folder that is read, the files that its readers look at are inputs.
    """
    written = [os.fspath(place) for place in outputs if place and place != "-"]
    read = {os.path.realpath(place) for place in inputs if place and place != "-" and is_there(place)}
    for output in written:
        if any(_is_part(output, place) for place in read):
            raise UsageError(say("{output} is also an input: choose another output", output=output))
    for i, output in enumerate(written):
        twin = next((other for other in written[i + 1 :] if _same(output, other)), None)
        if twin is not None:
            raise UsageError(
                say(
                    "{output} and {twin} are the same file: give each output a file of its own",
                    output=output,
                    twin=twin,
                )
            )


def is_there(place: str | os.PathLike[str]) -> bool:
    """Return whether a file or a folder is there; what cannot be a path is not."""
    try:
        return Path(place).exists()
    except (OSError, ValueError):  # too long, or no text for a path
        return False


def result_in(place: str) -> str:
    """The result file of a folder that `assay run` wrote, where that is what a path names; else the path."""
    inside = os.path.join(place, RESULT)  # noqa: PTH118 - the path may be too long for one
    return inside if is_there(place) and Path(place).is_dir() and is_there(inside) else place


def _same(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return is_there(one) and is_there(other) and Path(one).samefile(other)


def _is_part(output: str, place: str) -> bool:
    """Return whether an output would replace a file that is read, or a document of a folder that is read."""
    if not Path(place).is_dir():
        return _same(output, place)
    real = Path(os.path.realpath(output))
    documents = real.suffix.lower() in FOLDER_SUFFIXES or real.name in _FOLDER_FILES
    return documents and real.is_file() and real.is_relative_to(place)


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


def system_name(label: str, tag: str = "") -> str:
    """Name a system after its file, without the suffixes we know; names themselves may contain dots.

    A suffix that the tag of its run ends in too belongs to the name.
    """
    name = Path(label).name
    while name != tag and Path(name).suffix.lower() in _KNOWN_SUFFIXES and Path(name).stem:
        name = Path(name).stem
    return name


def run_name(place: str | os.PathLike[str]) -> str:
    """Name a run after its file, and look at the tag of its first line where the file name ends like a format."""
    label = os.fspath(place)
    return system_name(label, _tag(Path(label)) if system_name(label) != Path(label).name else "")


def _tag(path: Path) -> str:
    """The tag in the first line of a TREC run; empty where there is none, or the file can be read only once."""
    import gzip
    import zlib

    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
        with gzip.open(path) if packed else path.open("rb") as opened:
            fields = opened.readline(_FIRST_LINE).split()
    except (OSError, EOFError, zlib.error):
        return ""  # the reader of the file will report what is wrong with it
    return fields[5].decode("utf-8", "replace") if len(fields) > 5 else ""  # noqa: PLR2004


def file_name(name: str) -> str:
    """Turn a system's name into a file name; a changed one ends in a hash, so that it stays unique."""
    from hashlib import sha256

    plain = "".join(sign if sign.isalnum() or sign in "-_.=" else "-" for sign in name).strip("-.")
    short = plain.encode()[:_LONGEST].decode(errors="ignore")
    if short == name:
        return name
    return f"{short or 'system'}-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
