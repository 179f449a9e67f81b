"""Where the numbers come from: what was checked and warned about, protocol, definitions, versions, hashes, seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.data.record import Record
from assay.messages import say
from assay.report.blocks import Block, Fold, Lines
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.analysis.report_data import Group, ReportData
    from assay.data.scores import Scores


def checks(found: ReportData) -> list[Block]:
    """Everything that a careful reader should know about the input."""
    lines: list[str] = []
    for group in found.groups:
        if group.comparison is not None:
            lines += group.comparison.warnings
        for scores in group.systems:
            lines += [say("doubt.of_one", system=scores.name, text=text) for text in scores.warnings]
    told = {str(line) for line in lines}
    lines += [text for result in found.results for text in result.warnings if str(text) not in told]
    lines += [text for one in found.every(Record) for text in getattr(one, "warnings", ()) if str(text) not in told]
    unique = tuple(dict.fromkeys(lines)) or (say("report.nothing_to_warn"),)
    tables = [_counts(group) for group in found.groups]
    return [Lines(unique, listed=True), *tables]


def _counts(group: Group) -> Table:
    """How many queries are behind the primary measure of each system."""
    names = ("queries", "missing", "undefined", "unjudged", "tied", "short", "unjudged_share")
    rows = tuple((scores.name, *_count(scores, group.primary)) for scores in group.systems)
    headers = (say("column.system"), *(say(f"count.{name}") for name in names))
    return Table(headers, rows, caption=say("report.counts", measure=group.primary))


def _count(scores: Scores, label: str) -> tuple[str, ...]:
    counts = scores.counts[scores.label_of(label)]
    share = counts.unjudged_share
    numbers = (counts.queries, counts.missing, counts.undefined, counts.unjudged, counts.tied, counts.short)
    return (*(f"{n:,}" for n in numbers), "" if share is None else f"{share:.1%}")


def provenance(found: ReportData) -> list[Block]:
    """Protocol, definitions, and how to get the same numbers again."""
    blocks: list[Block] = [_results(found)]
    inputs = [entry for result in found.results for entry in result.origin.inputs]
    if inputs:
        of_sets = any(entry.of_set for entry in inputs)
        rows = tuple(
            (entry.role, entry.path, *([entry.of_set or ""] if of_sets else []), entry.sha256 or "") for entry in inputs
        )
        headers = (say("column.role"), say("column.file"), *([say("column.set")] if of_sets else []), "SHA-256")
        blocks.append(Table(headers, tuple(dict.fromkeys(rows)), caption=say("report.inputs"), names=len(headers)))
    for group in found.groups:
        blocks += [_protocol(group.systems[0]), Fold(say("report.definitions"), (_definitions(group.systems[0]),))]
    return blocks


def _results(found: ReportData) -> Table:
    rows = [
        {
            "date": result.origin.date,
            "command": result.origin.command,
            "version": result.origin.version,
            "seed": "" if result.origin.seed is None else str(result.origin.seed),
            "judgments_hash": result.systems[0].judgments_digest if result.systems else "",
        }
        for result in found.results
    ]
    known = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    headers = tuple(say(f"column.{name}") for name in known)
    cells = tuple(tuple(row[name] for name in known) for row in rows)
    return Table(headers, cells, caption=say("report.results"), names=len(known))


def _protocol(scores: Scores) -> Table:
    rules = {"protocol": str(scores.protocol), "primary": scores.protocol.primary, **scores.protocol.rules()}
    rows = tuple((name, f"{value:g}" if isinstance(value, float) else str(value)) for name, value in rules.items())
    kept = tuple(row for row in rows if row[1] != "None")
    return Table((say("column.rule"), say("column.value")), kept, caption=say("report.protocol"), names=2)


def _definitions(scores: Scores) -> Table:
    rows = tuple(scores.definitions.items())
    return Table((say("column.measure"), say("column.definition")), rows, names=2)
