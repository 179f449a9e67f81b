"""Columns of text as bytes: hashed, compared and sorted a machine word at a time, without a string for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.data import segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from assay.data.segments import Bools, Ints

WORD = 8  # bytes
_LONG = 256  # bytes; longer texts are taken one by one
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_KEEP = np.array([(1 << (8 * count)) - 1 for count in range(WORD + 1)], dtype=np.uint64)

Words = NDArray[np.uint64]


def words_of(data: NDArray[np.uint8]) -> Words:
    """Look at bytes as words, one that starts at every byte."""
    return np.ndarray((len(data) - WORD + 1,), "<u8", data, strides=(1,))


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts that stand somewhere in `data`: where each starts and how many bytes it has.

    At least a word of other bytes follows the last text, so that words may be read beyond its end.
    """

    data: NDArray[np.uint8]
    start: Ints
    size: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Take strings."""
        packed = [text.encode() for text in texts]
        return cls._joined(b"".join(packed), np.fromiter(map(len, packed), np.int64, len(packed)))

    @classmethod
    def of_series(cls, texts: pl.Series) -> Texts:
        """Take a column of a frame, which has no nulls."""
        whole = texts.str.join("").item() if len(texts) else ""
        return cls._joined(whole.encode(), texts.str.len_bytes().to_numpy().astype(np.int64))

    @classmethod
    def _joined(cls, whole: bytes, size: Ints) -> Texts:
        return cls(np.frombuffer(whole + b"\n" * WORD, np.uint8), np.cumsum(size) - size, size)

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, number: int) -> str:
        return self._bytes(number).decode()

    def take(self, rows: Any) -> Texts:
        """Choose texts by their numbers, by a mask or by a slice."""
        return Texts(self.data, self.start[rows], self.size[rows])

    def to_list(self) -> list[str]:
        """Make strings of all."""
        ends = np.cumsum(self.size)
        packed = self.data[np.repeat(self.start - ends + self.size, self.size) + np.arange(self.size.sum())].tobytes()
        return [packed[end - size : end].decode() for end, size in zip(ends.tolist(), self.size.tolist(), strict=True)]

    @cached_property
    def _longest(self) -> int:
        return int(self.size.max(initial=0))

    def _bytes(self, number: int) -> bytes:
        start = self.start[number]
        return self.data[start : start + self.size[number]].tobytes()

    def _words(self, at: int, rows: Any = slice(None)) -> Words:
        """Eight bytes of each text from the byte `at` on, which it has; zeros behind its end."""
        found: Words = words_of(self.data)[self.start[rows] + at] & _KEEP[np.minimum(self.size[rows] - at, WORD)]
        return found

    def _walk(self) -> Iterator[tuple[int, Any]]:
        """Bytes at which words start, and the texts that reach so far and are not long."""
        for at in range(0, min(self._longest, _LONG), WORD):
            reach = (self.size > at) & (self.size <= _LONG)
            yield at, slice(None) if reach.all() else np.flatnonzero(reach)

    def _long(self) -> list[int]:
        found: list[int] = np.flatnonzero(self.size > _LONG).tolist() if self._longest > _LONG else []
        return found

    def hashes(self) -> Words:
        """Hash each text to 64 bits."""
        found = self.size.astype(np.uint64) * _MIX
        for at, rows in self._walk():
            mixed = found[rows]
            mixed ^= self._words(at, rows)
            mixed *= _ODD
            mixed ^= mixed >> np.uint64(32)
            found[rows] = mixed
        for number in self._long():
            found[number] = int.from_bytes(blake2b(self._bytes(number), digest_size=WORD).digest(), "little")
        found *= _MIX
        found ^= found >> np.uint64(29)
        return found

    def equals(self, other: Texts) -> Bools:
        """Compare each text with the one of the same number."""
        same: Bools = self.size == other.size
        for at in range(0, min(self._longest, _LONG), WORD):
            rows = np.flatnonzero(same & (self.size > at) & (self.size <= _LONG))
            same[rows] = self._words(at, rows) == other._words(at, rows)
        for number in self._long():
            same[number] = same[number] and self._bytes(number) == other._bytes(number)
        return same

    def fresh(self) -> Bools:
        """Mark the texts that differ from the one before; the first does."""
        found = np.ones(len(self), dtype=bool)
        if self._longest > WORD:
            found[1:] = ~self.take(slice(1, None)).equals(self.take(slice(None, -1)))
        elif len(self):
            words = words_of(self.data)[self.start] & _KEEP[self.size]
            found[1:] = (words[1:] != words[:-1]) | (self.size[1:] != self.size[:-1])
        return found

    def order(self, group: Ints, *, falling: bool = False) -> Ints:
        """Numbers of the texts by rising group, then by bytes, rising or `falling`; like ones stay as they are."""
        if self._long():
            texts = [self._bytes(number) for number in range(len(self))]
            places = {text: place for place, text in enumerate(sorted(set(texts)))}
            keys = [np.fromiter((places[text] for text in texts), np.uint64, len(texts))]
        else:
            keys = []
            for at in range(0, self._longest, WORD):
                rows = np.flatnonzero(self.size > at)
                word = np.zeros(len(self), np.uint64)
                word[rows] = self._words(at, rows).byteswap()  # the first byte counts most
                keys.append(word)
            if not self.data.all():  # zeros at the end of a text count
                keys.append(self.size.astype(np.uint64))
        return segments.order(group, *(~key if falling else key for key in keys))
