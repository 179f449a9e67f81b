"""What a check of the input looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import say, tell
from assay.report.blocks import Block, Lines, Verdict
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from assay.messages import Lang
    from assay.results.check import Finding, InputCheck


def line(found: InputCheck) -> Verdict:
    """The number of findings in one sentence."""
    errors = any(one.error for one in found.findings)
    return Verdict(say("check.count", n=len(found.findings)) if found.findings else say("check.nothing"),
                   "bad" if errors else "warn" if found.findings else "good")  # fmt: skip


def lines(found: InputCheck, lang: Lang = "en") -> str:
    """Every finding as a line of its own that names its file, as compilers write them, and how many there are."""
    kinds = [
        say(f"check.file{'_holds' if one.holds else ''}", where=clean(one.where), kind=say(f"check.kind_{one.kind}"),
            holds=one.holds)
        for one in found.files
    ]  # fmt: skip
    told = [tell(text, lang) for text in (*kinds, *(text for one in found.findings for text in _lines(one)))]
    return "\n".join([*told, tell(line(found).text, lang)]) + "\n"


def _lines(one: Finding) -> list[str]:
    level = say(f"check.{one.level}")
    head = say("check.finding", where=clean(one.where), level=level, kind=one.title, n=one.count, message=one.message)
    return [head, *([say("check.example", text=clean("; ".join(one.examples)))] if one.examples else [])]


def table(found: InputCheck) -> list[Block]:
    """Every finding as a row of one table."""
    rows = tuple(
        (
            one.where, Cell(say(f"check.{one.level}"), tone="bad" if one.error else "warn"), one.title,
            f"{one.count:,}", one.message, "; ".join(one.examples),
        )
        for one in found.findings
    )  # fmt: skip
    names = ("file", "level", "kind", "count", "message", "examples")
    return [Table(tuple(say(f"column.{name}") for name in names), rows, names=6), Lines((line(found).text,))]


def finding_rows(found: InputCheck) -> Table:
    """Every finding as a row, for a spreadsheet."""
    rows = tuple(tuple(str(value) for value in row.values()) for row in found.to_rows())
    return Table(("file", "level", "kind", "count", "message", "examples"), rows, names=6)
