"""What is wrong or doubtful in an event log: rows by fault, with what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assay.data.events import QUERY
from assay.formats.events.reading import read_events
from assay.messages import say
from assay.results.check import CheckedFile, Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.events import EventFault

# What is put right without a doubt, and so is no finding: positions that all begin at 0.
_HARMLESS = {"positions_from_zero"}


def check_events(
    places: Sequence[str], columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> tuple[list[CheckedFile], list[Finding]]:
    """Check files as one log: queries may be in one file and their events in another."""
    log = read_events(places, map=columns, encoding=encoding)
    counts = log.frame.select((pl.col("action") == QUERY).sum().alias("queries"), pl.len()).collect().row(0)
    holds = say("check.events", queries=counts[0], events=counts[1] - counts[0])
    files = [CheckedFile(place, "events", holds if place == places[0] else "") for place in places]
    where = ", ".join(places)
    return files, [_finding(where, fault) for fault in log.faults if fault.kind not in _HARMLESS]


def _finding(where: str, fault: EventFault) -> Finding:
    return Finding(where, say(f"events.title_{fault.kind}"), fault.rows, fault.message, fault.examples)
