"""What an evaluation set looks like: its files and where they came from, its counts, and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.results.sets import FileOfSet, SetDescription


def line(found: SetDescription) -> Verdict:
    """Name, version and size."""
    key = "set.line" if found.documents is not None else "set.line_bare"
    return Verdict(
        say(key, name=found.name, version=found.version, queries=found.queries, documents=found.documents or 0),
        "warn" if found.missing or found.warnings else "good",
    )


def table(found: SetDescription) -> list[Block]:
    """Files, counts, and what is missing."""
    notes = (*found.missing, *found.warnings, *found.notes)
    return [line(found), _files(found), _facts(found), *([Lines(notes, listed=True)] if notes else [])]


def page(found: SetDescription, place: int = 0) -> list[Block]:
    """The same."""
    del place
    return table(found)


def _files(found: SetDescription) -> Table:
    rows = tuple(
        (one.name, f"{one.rows:,}", _makers(one), "; ".join(one.models), "; ".join(one.sources), _when(one))
        for one in found.files
    )
    names = ("file", "set_rows", "set_made_by", "set_models", "set_sources", "set_made_at")
    kept = [i for i in range(len(names)) if i < 2 or any(row[i] for row in rows)]  # noqa: PLR2004 - name and rows
    return Table(
        tuple(say(f"column.{names[i]}") for i in kept),
        tuple(tuple(row[i] for i in kept) for row in rows),
        names=len(kept),
    )


def _when(one: FileOfSet) -> Said | str:
    return say("set.edited", made=one.made_at[:10], edited=one.edited_at[:10]) if one.edited_at else one.made_at[:10]


def _makers(one: FileOfSet) -> Said:
    return say("text.list", parts=[say("set.of", what=word("set.maker", name), n=n) for name, n in one.made_by.items()])


def _facts(found: SetDescription) -> Table:
    rows: list[tuple[Said | str, Said | str]] = [
        (say("set.fact_kinds"), _counts({word("set.kind", name): n for name, n in found.kinds.items()})),
        (say("set.fact_languages"), _counts({word("set.language", name): n for name, n in found.languages.items()})),
        *((name, _counts(values)) for name, values in found.categories.items()),
    ]
    if found.grades:
        rows.append((say("set.fact_judged"), say("set.judged", n=found.pairs_judged, queries=found.judged_queries)))
        rows.append((say("set.fact_grades"), _counts(found.grades)))
    if found.judge:
        rows.append((say("set.fact_judge"), found.judge))
    rows.append((say("set.fact_gold"), say("set.gold", n=found.spans, queries=found.gold_queries, of=found.queries)))
    rows.append((say("set.fact_references"), say("set.share", n=found.references, of=found.queries)))
    rows += [
        (
            say("set.fact_inclusion", role=say(f"set.role.{one.role}")),
            say("set.inclusion", n=one.rows, low=number(one.least), high=number(one.most)),
        )
        for one in found.inclusion
    ]
    return Table((say("column.set_fact"), say("column.value")), tuple(rows), names=2)


def _counts(values: Mapping[str, int]) -> Said:
    return say("text.list", parts=[say("set.of", what=name, n=n) for name, n in values.items()])
