"""The systems: means with marks, intervals as a picture, every measure in detail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Lines, Point, Section
from assay.report.intervals import between
from assay.report.sections.summary import TONES
from assay.report.tables import Table, plain
from assay.report.views import comparison as shown
from assay.report.views import scores as evaluation
from assay.report.views.comparison import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.report_data import Group, ReportData
    from assay.data.scores import Scores
    from assay.report.blocks import Tone
    from assay.results.comparison import Comparison
    from assay.stats.intervals import Interval


def section(found: ReportData) -> Section | None:
    """All groups of systems, one after the other."""
    blocks = [block for place, group in enumerate(found.groups) for block in _group(group, place)]
    return Section("systems", say("page.systems"), tuple(blocks)) if blocks else None


def _group(group: Group, place: int) -> list[Block]:
    if group.comparison is None:
        told = Lines(tuple(evaluation.sentences(group.systems)[:2]))
        if len(group.systems) == 1:
            return [_alone(group.systems[0], group.means[group.systems[0].name]), told]
        pictures = [_means(group, label, place) for label in _pictured(group.systems[0].labels, group.primary)]
        return [evaluation.means(group.systems), *pictures, told]
    found = group.comparison
    labels = [group.primary, *(label for label in found.measures if label != group.primary)]
    blocks: list[Block] = [
        shown.summary(found),
        Lines((shown.heading(found, str(group.systems[0].protocol)), *shown.best(found))),
        *(_chart(found, label, place) for label in _pictured(found.measures, group.primary)),
        coloured(found, group.primary),
    ]
    if len(labels) > 1:
        blocks.append(Fold(say("report.other_measures"), tuple(coloured(found, label) for label in labels[1:])))
    if found.pairs:
        blocks.append(Fold(say("report.all_pairs"), tuple(shown.matrix(found, pairs) for pairs in found.pairs)))
    blocks.append(Lines(tuple(shown.verdict(found, c) for c in found.contrasts if c.measure == group.primary)))
    for lifts in found.lifted():
        blocks += shown.lifts(found, lifts)
    if found.likeness:
        blocks.append(shown.likeness(found, found.likeness))
    return blocks


def _alone(scores: Scores, means: Mapping[str, Interval]) -> Table:
    """One system: a row for each measure, with the interval of its mean."""
    rows = []
    for label in scores.labels:
        interval = between(means[label]) if label in means else ""
        shown = evaluation.number(scores[label], whole=scores.about(label).aggregate == "sum")
        rows.append((label, shown, interval, f"{scores.counts[label].queries:,}"))
    headers = (say("column.measure"), scores.name, say("column.interval", level=0.95), say("column.queries"))
    table = Table(headers, tuple(rows))
    return table.stamped(say("doubt.stamp")) if scores.uncalibrated else table


def _pictured(labels: tuple[str, ...], primary: str) -> list[str]:
    """The measures that get a picture: the primary one and two more."""
    return [primary, *(label for label in labels if label != primary)][:3]


def coloured(found: Comparison, label: str) -> Table:
    """The details of a measure, its verdicts coloured."""
    table = shown.details(found, label)
    tones: list[Tone] = ["", *(TONES[found.contrast(name, label).verdict] for name in found.systems[1:])]
    rows = tuple((*row[:-1], replace(plain(row[-1]), tone=tone)) for row, tone in zip(table.rows, tones, strict=True))
    return Table(table.headers, rows, table.caption, table.names, table.texts)


def _chart(found: Comparison, label: str, place: int) -> Chart:
    means = dict(zip(found.systems, found.means[label], strict=True))
    return intervals(f"means-{place}-{label}", say("chart.means", measure=label), label, means)


def _means(group: Group, label: str, place: int) -> Chart:
    means = {name: found[label] for name, found in group.means.items() if label in found}
    return intervals(f"means-{place}-{label}", say("chart.means", measure=label), label, means)


def intervals(name: str, title: str, measure: str, means: dict[str, Interval]) -> Chart:
    """Means with their intervals, one row each."""
    points = tuple(
        Point(one, mean.estimate, mean.low, mean.high) for one, mean in means.items() if mean.estimate is not None
    )
    rows = tuple((one, number(mean.estimate), between(mean)) for one, mean in means.items())
    level = next((mean.confidence_level for mean in means.values()), 0.95)
    headers = (say("column.system"), say("column.mean"), say("column.interval", level=level))
    return Chart(name, "intervals", title, measure, "", points, Table(headers, rows))
