"""What an evaluation looks like: tables of means and of queries, and the sentences under them."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from assay.data.scores import STATUSES
from assay.report.tables import Table, clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores

_WIDE = 8  # more measures than this read better as rows
_WIDTH = 110


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
    lines = [f"{first.judged:,} judged {'query' if first.judged == 1 else 'queries'}, protocol {first.protocol}"]
    named = _definitions(first)
    if named:
        text = "definitions: " + "; ".join(named)
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    shared = [text for text in first.warnings if all(text in scores.warnings for scores in systems)]
    if len(systems) > 1:
        lines += [f"all systems: {clean(text)}" for text in shared]
    for scores in systems:
        own = [text for text in scores.warnings if len(systems) == 1 or text not in shared]
        lines += [f"{clean(scores.name)}: {clean(text)}" for text in own]
    return list(dict.fromkeys([*lines, *(note for scores in systems for note in scores.notes)]))


def _definitions(scores: Scores) -> list[str]:
    """Spell out labels that hide parameters, the cutoffs of one definition together."""
    cuts: dict[tuple[str, str], list[str]] = {}
    for label, text in scores.definitions.items():
        if label != text and "(" in text:
            name, at, cut = label.rpartition("@")
            short, _, same = text.rpartition("@")
            key = (name, short) if at and cut == same else (label, text)
            cuts.setdefault(key, []).append(cut if key[0] == name else "")
    return [
        f"{label}@{','.join(found)} = {text}" if found[0] else f"{label} = {text}"
        for (label, text), found in cuts.items()
    ]
