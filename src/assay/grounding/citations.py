"""Citation marks of an answer, such as [1], [2, 3], [1-3] and 【1】: where they are and which contexts they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.samples import Context

_MARK = re.compile(r"\[([^\[\]\n]{1,120})\]|【([^【】\n]{1,120})】")
_SEPARATOR = re.compile(r"\s*[,;，；、]\s*")
_SPAN = re.compile(r"(\d{1,3})\s*[-–~]\s*(\d{1,3})")
_PREFIX = re.compile(r"^(?:context|source|doc(?:ument)?|passage|ref|文档|资料|上下文|来源)\s*[:：#]?\s*", re.IGNORECASE)
_DIGITS = 3  # a longer number in brackets is a year or a line number


class Mark(NamedTuple):
    """A pair of brackets: its place in the answer, the contexts it names, from 0, and the numbers that name none."""

    start: int
    end: int
    contexts: tuple[int, ...]
    absent: tuple[int, ...] = ()


def marks(answer: str, contexts: Sequence[Context]) -> list[Mark]:
    """Find the citation marks of an answer; contexts are named by their number from 1 on, or by their id."""
    by_id = {context.id: place for place, context in enumerate(contexts) if context.id}
    found = []
    for match in _MARK.finditer(answer):
        places, absent = _contexts_named(match[1] or match[2], by_id, len(contexts))
        if places or absent:
            found.append(Mark(match.start(), match.end(), places, absent))
    return found


def _contexts_named(text: str, by_id: dict[str, int], count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Contexts that the text between brackets names, and the numbers that name none.

    Nothing at all if any part of it is neither a number nor an id.
    """
    if text.strip() in by_id:
        return (by_id[text.strip()],), ()
    places: list[int] = []
    numbers: list[int] = []
    for part in _SEPARATOR.split(text.strip()):
        plain = _PREFIX.sub("", part)
        span = _SPAN.fullmatch(plain)
        if part in by_id or plain in by_id:
            places.append(by_id[part if part in by_id else plain])
        elif span and int(span[1]) <= int(span[2]):
            numbers += range(int(span[1]), int(span[2]) + 1)
        elif plain.isascii() and plain.isdigit() and len(plain) <= _DIGITS:
            numbers.append(int(plain))
        else:
            return (), ()
    places += [number - 1 for number in numbers if 1 <= number <= count]
    absent = [number for number in numbers if not 1 <= number <= count]
    return tuple(dict.fromkeys(places)), tuple(dict.fromkeys(absent))


def blank_marks(answer: str, found: Sequence[Mark]) -> str:
    """Replace the marks by spaces, so that they are not part of a claim and all offsets stay the same."""
    parts, last = [], 0
    for mark in found:
        parts += [answer[last : mark.start], " " * (mark.end - mark.start)]
        last = mark.end
    return "".join([*parts, answer[last:]])
