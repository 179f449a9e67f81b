"""What an evaluation looks like: tables of means and of queries, and the sentences under them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.data.scores import MISSING, STATUSES, UNDEFINED, UNJUDGED
from assay.report.tables import Table, clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores

_WIDE = 8  # more measures than this read better as rows
_EXAMPLES = 3
_UNJUDGED_ALARM = 0.2


def means(systems: Sequence[Scores], *, exact: bool = False, upright: bool = False) -> Table:
    """One row per system, or per measure when there are many (never, if `upright`)."""
    labels = systems[0].labels
    rows = [
        (
            scores.name,
            *(number(scores[label], whole=scores.aggregates.get(label) == "sum", exact=exact) for label in labels),
        )
        for scores in systems
    ]
    table = Table(("system", *labels), tuple(rows))
    return table.transposed() if len(labels) > _WIDE and not upright else table


def queries(systems: Sequence[Scores], *, exact: bool = False) -> Table:
    """One row per system and query, with the status where a value was not simply scored."""
    rows = []
    for scores in systems:
        whole = [scores.aggregates.get(label) == "sum" for label in scores.labels]
        for query, values, codes in zip(scores.query_ids, scores.values, scores.status, strict=True):
            cells = [number(float(v), whole=w, exact=exact) for v, w in zip(values, whole, strict=True)]
            odd = sorted({STATUSES[code] for code in codes if code})
            rows.append((scores.name, query, *cells, ", ".join(odd)))
    return Table(("system", "query", *systems[0].labels, "status"), tuple(rows), names=2)


def number(value: float, *, whole: bool = False, exact: bool = False) -> str:
    """Show a value with four decimals (or all of them), a count as a whole number, nothing for no value."""
    if math.isnan(value):
        return ""
    if whole and value == int(value):
        return str(int(value))
    return repr(value) if exact else f"{value:.4f}"


def sentences(systems: Sequence[Scores]) -> list[str]:
    """Say what stands behind the numbers and what a careful reader should know."""
    first = systems[0]
    lines = [f"{_judged(first)} judged queries, protocol {first.protocol.name}"]
    named = [f"{label} = {text}" for label, text in first.definitions.items() if _differs(label, text)]
    if named and len(named) <= _WIDE:
        lines.append("definitions: " + "; ".join(named))
    for scores in systems:
        lines += [f"{clean(scores.name)}: {text}" for text in warnings(scores)]
    return list(dict.fromkeys([*lines, *(note for scores in systems for note in scores.notes)]))


def _judged(scores: Scores) -> int:
    return int((scores.status != UNJUDGED).any(axis=1).sum())


def _differs(label: str, definition: str) -> bool:
    """Tell whether a label hides parameters."""
    return label != definition and "(" in definition


def warnings(scores: Scores) -> list[str]:
    """List the odd things about one system's scores."""
    out = []
    for code, one, many, rule in (
        (MISSING, "judged query is missing", "judged queries are missing", scores.protocol.missing),
        (UNDEFINED, "query has no relevant document", "queries have no relevant document", scores.protocol.undefined),
        (UNJUDGED, "query has no judgments", "queries have no judgments", "nowhere"),
    ):
        found = _queries_with(scores, code)
        if found:
            single = len(found) == 1
            fate = {"zero": "as 0", "skip": "nowhere"}.get(rule, rule)
            what = f"1 {one} and counts" if single else f"{len(found):,} {many} and count"
            out.append(f"{what} {fate}: {_some(found)}")
    out += _doubts(scores)
    return out


def _doubts(scores: Scores) -> list[str]:
    out = []
    tied = max(scores.counts.items(), key=lambda item: item[1].tied)
    if tied[1].tied:
        rule = {"docid": "document id", "given": "the order given"}.get(scores.protocol.ties, scores.protocol.ties)
        many = "1 query hangs" if tied[1].tied == 1 else f"{tied[1].tied} queries hangs"
        out.append(f"{tied[0]} of {many} on tied scores, broken by {rule}")
    holes = [(label, c.unjudged_share) for label, c in scores.counts.items() if "@" in scores.definitions[label]]
    worst = max(holes, key=lambda item: item[1] or 0.0, default=None)
    shallow = min(holes, key=lambda item: int(scores.definitions[item[0]].rpartition("@")[2]), default=None)
    if worst and shallow and (shallow[1] or 0.0) > _UNJUDGED_ALARM:
        out.append(f"{shallow[1]:.0%} of the documents behind {shallow[0]} are unjudged and count as not relevant")
    return out


def _queries_with(scores: Scores, code: int) -> list[str]:
    rows = (scores.status == code).any(axis=1)
    return [query for query, odd in zip(scores.query_ids, rows, strict=True) if odd]


def _some(items: list[str]) -> str:
    return clean(", ".join(items[:_EXAMPLES])) + (" ..." if len(items) > _EXAMPLES else "")
