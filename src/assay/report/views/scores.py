"""What an evaluation looks like: tables of means and of queries, and the sentences under them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.data.status import STATUSES
from assay.messages import say
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores
    from assay.report.blocks import Block

_WIDE = 8  # more measures than this read better as rows


def means(systems: Sequence[Scores], *, exact: bool = False, upright: bool = False) -> Table:
    """One row per system, or per measure when there are many (never, if `upright`)."""
    labels: tuple[str, ...] = systems[0].labels
    rows: list[tuple[str, ...]] = [
        (
            scores.name,
            *(number(scores[label], whole=scores.about(label).aggregate == "sum", exact=exact) for label in labels),
        )
        for scores in systems
    ]
    table = Table((say("column.system"), *labels), tuple(rows))
    table = table.stamped(say("doubt.stamp")) if stamp(systems) else table
    return table.transposed() if len(labels) > _WIDE and not upright else table


def queries(systems: Sequence[Scores], *, exact: bool = False) -> Table:
    """One row per system and query, with the status where a value was not simply scored."""
    rows: list[tuple[str, ...]] = []
    for scores in systems:
        whole = [scores.about(label).aggregate == "sum" for label in scores.labels]
        for query, values, codes in zip(scores.query_ids, scores.values, scores.status, strict=True):
            cells = [number(float(v), whole=w, exact=exact) for v, w in zip(values, whole, strict=True)]
            odd = sorted({STATUSES[code] for code in codes if code})
            rows.append((scores.name, query, *cells, ", ".join(odd)))
    headers = (say("column.system"), say("column.query"), *systems[0].labels, say("column.status"))
    table = Table(headers, tuple(rows), names=2)
    return table.stamped(say("doubt.stamp")) if stamp(systems) else table


def stamp(systems: Sequence[Scores]) -> str:
    """Say so where a language model made the grades and nobody compared them with people's."""
    judge = next((scores.judge for scores in systems if scores.uncalibrated), None)
    return "" if judge is None else say("doubt.uncalibrated", judge=judge)


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
    lines: list[str] = [say("doubt.judged", n=first.judged, protocol=str(first.protocol))]
    named = _definitions(first)
    if named:
        lines.append(say("doubt.definitions", text="; ".join(named)))
    shared = [text for text in first.warnings if all(text in scores.warnings for scores in systems)]
    if len(systems) > 1:
        lines += [say("doubt.of_all", text=text) for text in shared]
    for scores in systems:
        own = [text for text in scores.warnings if len(systems) == 1 or text not in shared]
        lines += [say("doubt.of_one", system=scores.name, text=text) for text in own]
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


def view(found: Scores) -> list[Block]:
    """The means of one system, and what stands behind them."""
    return document([found])


def document(systems: Sequence[Scores]) -> list[Block]:
    """The means of systems side by side, and what stands behind them."""
    from assay.report.blocks import Lines  # plain evaluation needs none of it

    return [means(systems), Lines(tuple(sentences(systems)))]
