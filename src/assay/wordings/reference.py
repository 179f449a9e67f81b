"""Pages of the reference that are files beside the texts of a language, read when one is asked for."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE = re.compile(r"^# ([\w:-]+)\n", re.MULTILINE)


@cache
def measure_pages(lang: str, subject: str) -> Mapping[str, str]:
    """Pages of the measures of a subject by their names: a line that says what it is, then parts with a head each."""
    return _pages(Path(__file__).parent / lang / "measure_pages" / f"{subject}.md")


@cache
def fusion_pages(lang: str) -> Mapping[str, str]:
    """Pages of fusion methods and normalisations, under names such as method:rrf and norm:borda."""
    return _pages(Path(__file__).parent / lang / "fusion_pages.md")


def _pages(file: Path) -> dict[str, str]:
    parts = _PAGE.split(file.read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def formats_text(lang: str) -> str:
    """The page about the formats of input files."""
    return (Path(__file__).parent / lang / "formats_page.txt").read_text(encoding="utf-8")
