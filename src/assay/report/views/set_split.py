"""What a split of a set looks like: the queries of each part, in all and by stratum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import percent
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.sets import SetSplit


def line(found: SetSplit) -> Verdict:
    """How many queries went into how many parts."""
    return Verdict(
        say("set.split", name=found.source, version=found.version, n=found.queries, parts=len(found.parts)), "good"
    )


def table(found: SetSplit) -> list[Block]:
    """Parts as rows, strata as columns."""
    rows = tuple(
        (
            one.name, one.version, "" if one.share is None else percent(one.share),
            percent(one.queries / found.queries), f"{one.queries:,}",
            *(f"{one.strata.get(stratum, 0):,}" for stratum in found.strata),
        )
        for one in found.parts
    )  # fmt: skip
    names = ("set_part", "version", "set_share_asked", "share", "queries")
    headers = (*(say(f"column.{name}") for name in names), *found.strata)
    key = "set.stable_together" if found.together else "set.stable"
    told = say(key, seed=found.seed, together=found.together, units=found.units)
    notes = (told,) if found.parts[0].share is not None else ()
    caption = say("set.by", column=found.by) if found.strata else ""
    return [
        line(found),
        Table(headers, rows, caption=caption, names=2),
        *([Lines(notes, listed=True)] if notes else []),
    ]


def page(found: SetSplit, place: int = 0) -> list[Block]:
    """The same."""
    del place
    return table(found)
