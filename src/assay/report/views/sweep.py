"""What a sweep looks like: curves as tables, and which k to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.sweep import most_complete
from assay.messages import Said, say
from assay.report.blocks import Block, Heading, Lines
from assay.report.intervals import told
from assay.report.tables import Table
from assay.report.views.comparison import number

if TYPE_CHECKING:
    from assay.results.sweep import CutoffChoice, Sweep


def sweep(found: Sweep, protocol: str) -> list[Block]:
    """A table per measure, k across; then which k to choose."""
    blocks: list[Block] = []
    for measure in found.measures:
        rows = [
            (
                system,
                *(
                    say("interval.behind", value=number(p.estimate), interval=told(p))
                    for p in found.curve(system, measure).points
                ),
            )
            for system in found.systems
        ]
        headers = (say("column.system"), *(f"k = {k}" for k in found.k))
        blocks.append(Table(headers, tuple(rows), caption=say("sweep.title", measure=measure)))
    blocks.append(Lines((say("sweep.bands", n=found.queries, level=found.confidence_level, protocol=protocol),)))
    blocks.append(Heading(say("sweep.choices")))
    blocks.append(Lines(tuple(line for one in found.choices for line in choice_lines(found, one)), listed=True))
    return blocks


def choice_lines(found: Sweep, choice: CutoffChoice) -> list[Said]:
    """Say which k one system should have."""
    system = choice.system
    lines = [say("sweep.f1", system=system, k=choice.f1)]
    if choice.recall is not None:
        lines.append(say("sweep.recall", system=system, target=found.recall_target, k=choice.recall))
    else:
        value, k = most_complete(found, system)
        lines.append(say("sweep.no_recall", system=system, target=found.recall_target, value=value, k=k))
    if choice.answers is not None:
        lines.append(say("sweep.answers", system=system, k=choice.answers))
    if choice.survey is not None:
        lines.append(say("sweep.survey", system=system, k=choice.survey))
    return lines


def sweep_points(found: Sweep) -> Table:
    """One row per system, measure and k: the data of a chart."""
    rows = tuple(
        (curve.system, curve.measure, str(k), *(_exact(value) for value in (p.estimate, p.low, p.high)), p.reason)
        for curve in found.curves
        for k, p in zip(curve.k, curve.points, strict=True)
    )
    return Table(("system", "measure", "k", "mean", "low", "high", "reason"), rows, names=2)


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def view(found: Sweep) -> list[Block]:
    """A sweep by itself, with the protocol that its scores name."""
    return sweep(found, str(found.scores[0].protocol) if found.scores else "")
