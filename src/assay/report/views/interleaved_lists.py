"""What interleaved lists look like: how many there are, and how much of them is contested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Facts, Lines, Verdict
from assay.report.numbers import percent, short
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.interleaving import InterleavedLists

_LISTS = 3


def line(found: InterleavedLists) -> Verdict:
    """How many lists there are."""
    return Verdict(
        say("interleaving.lists", lists=len(found.lists), queries=found.queries, systems=list(found.systems)),
        "warn" if found.warnings else "",
    )


def table(found: InterleavedLists) -> list[Block]:
    """The sentence, facts, and the first lists."""
    facts = [
        (say("column.method"), found.method, ""),
        (say("interleaving.contested"), percent(found.contested), ""),
    ]
    if found.left_out:
        facts.append((say("interleaving.left_out"), f"{found.left_out:,}", ""))
    first = [_places(found)] if found.lists else []
    return [line(found), Facts(tuple(facts)), *first, Lines(found.warnings, listed=True)]


def page(found: InterleavedLists, place: int = 0) -> list[Block]:
    """The same: lists are for programs."""
    del place
    return table(found)


def _places(found: InterleavedLists) -> Table:
    rows = tuple(
        (short(one.query_id, 30), str(place), short(doc, 30), team or "")
        for one in found.lists[:_LISTS]
        for place, (doc, team) in enumerate(zip(one.documents, one.teams, strict=True), 1)
    )
    headers = tuple(say(f"column.{name}") for name in ("query", "position", "document", "team"))
    return Table(headers, rows, caption=say("interleaving.first_lists"), names=1, texts=(2, 3))
