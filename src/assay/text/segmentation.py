"""Chinese words: by rjieba where it is installed, else pairs of neighbouring characters."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from assay.text.words import HAN

if TYPE_CHECKING:
    from collections.abc import Callable

Segmenter = Literal["rjieba", "bigrams"]
_RUN = re.compile(f"[{HAN}]+")


@cache
def segmenter() -> Segmenter:
    """Name the segmenter in use."""
    return "bigrams" if _cutter() is None else "rjieba"


@cache
def _cutter() -> Callable[[str], list[str]] | None:
    try:
        import rjieba
    except ImportError:
        return None
    cut: Callable[[str], list[str]] = rjieba.cut
    return cut


def han_words(text: str, *, how: Segmenter | None = None) -> list[str]:
    """Words of the Chinese parts of a text; everything else is left out."""
    cut = _cutter() if how != "bigrams" else None
    runs = _RUN.findall(text)
    if cut is None:
        return [word for run in runs for word in _pairs(run)]
    return [word for run in runs for word in cut(run)]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
