"""What is wrong or missing in traces: spans that cannot be read, and requests that lack what measures need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.formats.traces.reading import read_traces
from assay.messages import say
from assay.results.check import Finding

if TYPE_CHECKING:
    from assay.data.served import Served

_EXAMPLES = 3
# What a request may lack without a fault: applications need not search, and few record what a call cost.
_HARMLESS = {"no_retrieval", "no_usage", "no_cost", "failed"}


def check_traces(place: str) -> tuple[str, list[Finding]]:
    """Check a file or a folder of traces: how many requests it holds, and what they lack, by reason."""
    found = read_traces(place)
    holds = say("check.traces", n=len(found), spans=found.counts["spans"])
    faults = [Finding(place, say("check.odd_spans"), fault.rows, fault.message) for fault in found.faults]
    lacking: dict[tuple[str, str], list[Served]] = {}
    for one in found:
        for name, why in one.lacks.items():
            if why not in _HARMLESS:
                lacking.setdefault((name, why), []).append(one)
    return holds, [*faults, *(_finding(place, *kind, rows) for kind, rows in lacking.items())]


def _finding(place: str, name: str, why: str, rows: list[Served]) -> Finding:
    field, reason = say(f"served.of_{name}"), say(f"served.{why}")
    message = say("check.lacking", n=len(rows), field=field, why=reason)
    return Finding(
        place, say("check.lacks", field=field), len(rows), message, tuple(one.id for one in rows[:_EXAMPLES])
    )
