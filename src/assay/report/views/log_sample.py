"""What a sample of an event log looks like: how many queries each stratum has and gave, and what weights are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number, percent, short
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.log_sample import LogSample

_QUERIES = 10


def line(found: LogSample) -> Verdict:
    """How many queries were drawn."""
    key = "sample.line" if found.unit == "text" else "sample.line_requests"
    return Verdict(say(key, n=len(found.queries), population=found.population, requests=found.requests))


def table(found: LogSample) -> list[Block]:
    """Strata, the first queries, and how to use their weights."""
    return [line(found), _strata(found), _queries(found), Lines(tuple(_notes(found)), listed=True)]


def page(found: LogSample, place: int = 0) -> list[Block]:
    """The same with every query."""
    del place
    return [line(found), _strata(found), _queries(found, len(found.queries)), Lines(tuple(_notes(found)), listed=True)]


def _strata(found: LogSample) -> Table:
    rows = tuple(
        (word("stratum", one.name), f"{one.requests:,}", f"{one.queries:,}", percent(one.share), f"{one.drawn:,}")
        for one in found.strata
    )
    names = ("stratum", "requests", "queries", "sample_share", "drawn")
    return Table(tuple(say(f"column.{name}") for name in names), rows)


def _queries(found: LogSample, most: int = _QUERIES) -> Table:
    rows = tuple(
        (
            one.query_id,
            short(one.text),
            say("text.list", parts=[word("stratum", name) for name in one.strata]) if one.strata else "",
            f"{one.requests:,}",
            number(one.probability),
            number(one.weight),
        )
        for one in found.queries[:most]
    )
    names = ("query", "text", "strata", "requests", "probability", "weight")
    caption = say("sample.first", n=len(rows)) if len(rows) < len(found.queries) else ""
    return Table(tuple(say(f"column.{name}") for name in names), rows, caption=caption, names=3)


def _notes(found: LogSample) -> list[Said | str]:
    notes: list[Said | str] = [say("sample.weights")]
    if found.effective_n is not None:
        notes.append(say("sample.effective", n=len(found.queries), effective=found.effective_n))
    notes += [say(f"clicks.left_{reason}_requests", n=n) for reason, n in found.left_out.items()]
    if found.masked:
        notes.append(say("sample.masked", n=found.masked))
    return [*notes, *found.warnings]
