"""Structs of Thrift's compact protocol, in which Parquet describes itself: dicts from numbers of fields to values."""

from __future__ import annotations

from typing import Any

_DEEPEST = 16
_TRUE, _FALSE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 8, 9, 10, 11, 12
_FIXED = {_TRUE: 1, _FALSE: 1, 3: 1, 7: 8}  # bytes of values of which nothing is asked
_WHOLE = frozenset({4, 5, 6})
_LONGEST = 10  # bytes of a number


class Damaged(Exception):
    """Bytes that are not a struct."""


def read_struct(data: bytes, start: int, end: int) -> tuple[dict[int, Any], int]:
    """Read the struct that begins at `start`, and say where it ends; it must end before `end`."""
    reader = _Thrift(data, start, end)
    return reader.struct(0), reader.at


class _Thrift:
    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data, self.at, self.end = data, start, end

    def byte(self) -> int:
        if self.at >= self.end:
            raise Damaged
        self.at += 1
        return self.data[self.at - 1]

    def size(self) -> int:
        """A number of seven bits a byte, the lowest first."""
        found = 0
        for place in range(_LONGEST):
            byte = self.byte()
            found |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:  # noqa: PLR2004
                return found
        raise Damaged

    def whole(self) -> int:
        found = self.size()
        return (found >> 1) ^ -(found & 1)

    def struct(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.whole()
            kind = head & 0xF
            found[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE:
            return self.whole()
        if kind == _BINARY:
            return self.skip(self.size())
        if depth > _DEEPEST:
            raise Damaged
        if kind in (_LIST, _SET):
            return self.items(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in _FIXED:
            return self.skip(_FIXED[kind])
        if kind == _MAP:
            return self.pairs(depth)
        raise Damaged

    def skip(self, size: int) -> None:
        self.at += size
        if self.at > self.end:
            raise Damaged

    def items(self, depth: int) -> list[Any]:
        head = self.byte()
        size = head >> 4 if head >> 4 < 0xF else self.size()  # noqa: PLR2004
        if size > self.end - self.at:  # every item takes a byte at least
            raise Damaged
        return [self.value(head & 0xF, depth + 1) for _ in range(size)]

    def pairs(self, depth: int) -> None:
        size = self.size()
        kinds = self.byte() if size else 0
        if size > self.end - self.at:
            raise Damaged
        for _ in range(size):
            self.value(kinds >> 4, depth + 1)
            self.value(kinds & 0xF, depth + 1)
