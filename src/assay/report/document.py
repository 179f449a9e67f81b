"""How a document of blocks is written: one row here and one module of `report.renderers` for each format.

A module has `write(blocks, lang, **more)`, which returns a text. `more` are a `title`, what was `made` of what, a
`stamp` that must not be overlooked, and a `note` that explains the marks of a table which stands alone; a format takes
those of them that it has a place for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from assay.errors import UsageError, excerpt
from assay.messages import say
from assay.report.blocks import Block, Heading, Lines
from assay.wordings import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang

__all__ = ["COMMANDS", "RENDERERS", "REPORTS", "Block", "Heading", "Lines", "Renderer", "check_language", "write"]


@dataclass(frozen=True)
class Renderer:
    """A format: its name, the suffixes of its files, its module, and whether commands and reports are written in it."""

    name: str
    suffixes: tuple[str, ...]
    module: str
    commands: bool = False
    reports: bool = False


RENDERERS = (
    Renderer("csv", (".csv",), "spreadsheet", commands=True),
    Renderer("html", (".html", ".htm"), "html", reports=True),
    Renderer("markdown", (".md",), "markdown", commands=True, reports=True),
    Renderer("latex", (".tex",), "latex", commands=True, reports=True),
    Renderer("table", (".txt",), "terminal", commands=True, reports=True),
    Renderer("notebook", (), "notebook"),
    Renderer("junit", (".xml",), "junit"),
)
COMMANDS = {suffix: one.name for one in RENDERERS if one.commands for suffix in one.suffixes}
REPORTS = {suffix: one.name for one in RENDERERS if one.reports for suffix in one.suffixes}


def check_language(lang: str) -> None:
    """Refuse a language that no text has."""
    if lang not in LANGUAGES:
        raise UsageError(say("{kind}: expected one of {names}", kind=excerpt(lang), names=LANGUAGES))


def write(
    blocks: Sequence[Block],
    kind: str,
    lang: Lang = "en",
    *,
    title: str = "",
    made: str = "",
    stamp: str = "",
    note: str = "",
) -> str:
    """Write blocks in a format; CSV holds the first table only, as more than one do not fit into a file."""
    found = next((one for one in RENDERERS if one.name == kind), None)
    if found is None:
        raise UsageError(say("{kind}: expected one of {names}", kind=kind, names=[one.name for one in RENDERERS]))
    check_language(lang)
    text: str = import_module(f"assay.report.renderers.{found.module}").write(
        blocks, lang, title=title, made=made, stamp=stamp, **({"note": note} if note else {})
    )
    return text
