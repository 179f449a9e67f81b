"""Columns of text as bytes: hashed, compared and sorted a machine word at a time, without a string for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.data import segments
from assay.errors import InputError
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.data.segments import Bools, Ints

WORD = 8  # bytes
_ROOMY = 128  # bytes for each text; more are not searched for zeros
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
    """Texts within `data`: where each starts and how many bytes it has.

    At least a word of other bytes follows the last text, so that words may be read beyond its end.
    """

    data: NDArray[np.uint8]
    start: Ints
    size: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Take strings."""
        packed = [text.encode() for text in texts]
        return cls._join(b"".join(packed), np.fromiter(map(len, packed), np.int64, len(packed)))

    @classmethod
    def of_series(cls, texts: pl.Series) -> Texts:
        """Take a column of a frame."""
        if texts.null_count():
            raise InputError(
                say("row {row} has no {column}", row=texts.is_null().arg_true()[0] + 1, column=texts.name),
                hint=say("give every row an id"),
            )
        texts = texts.cast(pl.String)
        whole = texts.str.join("").item() if len(texts) else ""
        return cls._join(whole.encode(), texts.str.len_bytes().to_numpy().astype(np.int64))

    @classmethod
    def _join(cls, whole: bytes, size: Ints) -> Texts:
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

    @cached_property
    def _shortest(self) -> int:
        return int(self.size.min(initial=_LONG))

    def _words(self, at: int, rows: Any = slice(None)) -> Words:
        """Eight bytes of each text from the byte `at` on, which it has; zeros behind its end."""
        found: Words = words_of(self.data)[self.start[rows] + at]
        if self._shortest - at < WORD:
            uniform = self._shortest == self._longest
            found &= _KEEP[self._shortest - at] if uniform else _KEEP[np.minimum(self.size[rows] - at, WORD)]
        return found

    def _walk(self) -> Iterator[tuple[int, Any]]:
        """Bytes at which words start, and the texts that reach so far and are not long."""
        for at in range(0, min(self._longest, _LONG), WORD):
            reach = (self.size > at) & (self.size <= _LONG)
            yield at, slice(None) if reach.all() else np.flatnonzero(reach)

    def _long(self) -> list[int]:
        found: list[int] = np.flatnonzero(self.size > _LONG).tolist() if self._longest > _LONG else []
        return found

    @cached_property
    def _few(self) -> list[Words] | None:
        """All words of texts that have two at most, zeros where one has no more; they are hashed, and then compared."""
        if self._longest > 2 * WORD:
            return None
        found = []
        for at, rows in self._walk():
            word = self._words(at, rows)
            if not isinstance(rows, slice):
                word, some = np.zeros(len(self), np.uint64), word
                word[rows] = some
            found.append(word)
        return found

    def hashes(self) -> Words:
        """Hash each text to 64 bits."""
        found, few = self.size.astype(np.uint64) * _MIX, self._few
        for at, rows in self._walk():
            mixed = found[rows]
            mixed ^= self._words(at, rows) if few is None else few[at // WORD][rows]
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
        for at, reach in self._walk():
            if isinstance(reach, slice) and same.all():
                same &= self._words(at) == other._words(at)
                continue
            rows = np.flatnonzero(same & (self.size > at) & (self.size <= _LONG))
            if len(rows):
                same[rows] = self._words(at, rows) == other._words(at, rows)
        for number in self._long():
            same[number] = same[number] and self._bytes(number) == other._bytes(number)
        return same

    def match(self, rows: Ints, other: Texts, others: Ints) -> Bools:
        """Compare some texts with some of another column, by their numbers; both were hashed."""
        mine, theirs = self._few, other._few
        if mine is None or theirs is None:
            return self.take(rows).equals(other.take(others))
        same: Bools = self.size[rows] == other.size[others]
        for word, wanted in zip(mine, theirs, strict=False):
            same &= word[rows] == wanted[others]
        return same

    def changes(self) -> Bools:
        """Mark the texts that differ from the one before; the first does."""
        found = np.ones(len(self), dtype=bool)
        if self._longest > WORD:
            found[1:] = ~self.take(slice(1, None)).equals(self.take(slice(None, -1)))
        elif len(self):
            found = segments.changes(self._words(0))
            if self._shortest < self._longest:
                found |= segments.changes(self.size)
        return found

    def order(self, group: Ints, *, falling: bool = False) -> tuple[Ints, Bools]:
        """Numbers of the texts by rising group, then by bytes, rising or `falling`; like ones stay as they are.

        And in that order, whether each differs from the one before in text or group. Texts are sorted by a word at a
        time, which decides among those that were alike so far.
        """
        # Of texts that differ by zeros at their ends, the shorter is less.
        size = -self.size if falling else self.size
        alone = len(self.data) < _ROOMY * len(self) and self.data.all()
        found = np.argsort(group, kind="stable") if alone else segments.order(group, size)
        place, alike, fresh = np.arange(len(self)), group[found], np.ones(len(self), dtype=bool)
        for at in range(0, min(self._longest, _LONG), WORD):
            rows = found[place]
            word = np.zeros(len(rows), np.uint64)
            reach = np.flatnonzero(self.size[rows] > at)
            word[reach] = self._words(at, rows[reach]).byteswap()  # the first byte counts most
            if (segments.changes(word) & ~segments.changes(alike)).any():  # many begin alike, as addresses do
                order = segments.order(alike, ~word if falling else word)
                found[place], word = rows[order], word[order]
            new = segments.changes(alike) | segments.changes(word)
            fresh[place], alike = new, np.cumsum(new) - 1
            more = np.bincount(alike, self.size[found[place]] > at + WORD) > 0
            undecided = (more & (np.bincount(alike) > 1))[alike]
            place, alike = place[undecided], alike[undecided]
        texts = [self._bytes(row) for row in found[place].tolist()]
        ranks = {text: rank for rank, text in enumerate(sorted(set(texts), reverse=falling))}
        rank = np.array([ranks[text] for text in texts], np.int64)
        order = segments.order(alike, rank)
        found[place], fresh[place] = found[place[order]], segments.changes(alike) | segments.changes(rank[order])
        return found, fresh | segments.changes(self.size[found])
