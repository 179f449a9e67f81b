"""What comes from a pipe, which can be read once: as much of it as is harmless is kept, to be read again."""

from __future__ import annotations

import sys
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, cast
from weakref import finalize

from assay.data.limits import HARMLESS, MEGABYTE
from assay.errors import InputError
from assay.formats.unpacking import GZIP
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Pipe:
    """Bytes from a named pipe, or from standard input: read when they are asked for, and kept.

    Much of what is packed goes into a file without a name, the rest is in memory.
    """

    def __init__(self, path: Path | None, label: str) -> None:
        self.label = label
        self.source = sys.stdin.buffer if path is None else path.open("rb")
        self.size, self.is_gone = 0, False
        if path is not None:
            finalize(self, self.source.close)

    @cached_property
    def _copy(self) -> BinaryIO:
        from tempfile import SpooledTemporaryFile

        start = self.source.read(len(GZIP))
        found = cast("BinaryIO", SpooledTemporaryFile(HARMLESS)) if start == GZIP else BytesIO()  # noqa: SIM115
        finalize(self, found.close)
        self.size = found.write(start)
        return found

    def start(self, size: int) -> bytes:
        """First bytes; no more are waited for."""
        kept = self._copy
        if self.size < size or self.is_gone:
            self._keep(size)
        kept.seek(0)
        return kept.read(size)

    def forget(self) -> None:
        """Keep the first bytes only: somebody has all."""
        self._copy = BytesIO(self.start(MEGABYTE))

    def whole(self) -> BinaryIO:
        """All bytes, from the beginning."""
        while self._keep(self.size + MEGABYTE):
            pass
        self._copy.seek(0)
        return self._copy

    def blocks(self, first: int) -> Iterator[bytes]:
        """All bytes: `first` some, then a megabyte at a time; from a limit on, none are kept."""
        yield self.start(first)
        at = first
        while at < self.size:
            self._copy.seek(at)
            block = self._copy.read(MEGABYTE)
            yield block
            at += len(block)
        while block := self.source.read(MEGABYTE):
            if self.size + len(block) > HARMLESS:
                self.is_gone = True
                self._copy.truncate(0)
            self.size += len(block) if self.is_gone else self._write(block)
            yield block

    def _keep(self, size: int) -> bool:
        """Have so many bytes; False when there are no more."""
        if self.is_gone:
            raise InputError(
                say("more than {n} MB came through the pipe, and are needed a second time", n=HARMLESS // MEGABYTE),
                path=self.label,
                hint=say("give it as a file, or a run with the rows of each query in one place"),
            )
        _ = self._copy
        block = self.source.read(max(0, size - self.size))
        self.size += self._write(block)
        return bool(block)

    def _write(self, block: bytes) -> int:
        self._copy.seek(self.size)
        return self._copy.write(block)
