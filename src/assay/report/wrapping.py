"""Lines of a width: Latin text is broken at spaces, Chinese text between any two characters that may be separated."""

from __future__ import annotations

import re
import unicodedata

_HAN = r"\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_CLOSING = "，。；：、！？）」』】》〉”’…"
_OPENING = "（「『【《〈“‘"
_BREAK_INSIDE = re.compile(rf"(?<=[{_HAN}{_CLOSING}])\s*\n\s*(?=[{_HAN}{_OPENING}])")
# What stays together: a Chinese character with what opens before it and closes behind it, or a run without spaces.
_PIECE = re.compile(
    rf"[{_OPENING}]*(?:[{_HAN}]|[^\s{_HAN}{_OPENING}{_CLOSING}]+)[{_CLOSING}]*\s*|[{_OPENING}{_CLOSING}]+\s*"
)


def width(text: str) -> int:
    """Columns that a text takes in a terminal: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def has_chinese(text: str) -> bool:
    """Return whether any of a text is Chinese."""
    return re.search(f"[{_HAN}]", text) is not None


def join_lines(text: str) -> str:
    """Join lines into one; no space is put between Chinese characters where a line was broken."""
    return " ".join(_BREAK_INSIDE.sub("", text.strip()).split())


def wrap(text: str, size: int, indent: str = "", further: str | None = None) -> list[str]:
    """Break a text into lines of at most so many columns; `further` indents all lines but the first."""
    rest = indent if further is None else further
    lines = [indent]
    for piece in _PIECE.findall(join_lines(text)):
        if lines[-1].strip() and width(lines[-1]) + width(piece.rstrip()) > size:
            lines.append(rest)
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()]
