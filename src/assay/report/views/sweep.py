"""What a sweep looks like: curves as tables, and which k to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.edges import NamedMean
from assay.measures import defaults
from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Fold, Heading, Lines, Point, Verdict
from assay.report.intervals import describe_interval, near_bounds
from assay.report.numbers import number
from assay.report.tables import Table
from assay.report.views.conclusion import describe_test
from assay.report.views.scores import definitions, unevenness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.sweep import Curve, CutoffChoice, Sweep
    from assay.stats.intervals import Interval

_OPEN = 4  # systems whose advice is shown without a click


def line(found: Sweep) -> Verdict:
    """Recommend a k for the first system."""
    return Verdict(choice_lines(found, found.choices[0])[0]) if found.choices else Verdict(say("sweep.none"))


def table(found: Sweep, *, protocol: str = "") -> list[Block]:
    """A table per measure, k across; then which k to choose."""
    blocks: list[Block] = []
    for measure in found.measures:
        rows = [
            (
                system,
                *(_point(p) for p in found.curve(system, measure).points),
            )
            for system in found.systems
        ]
        headers = (say("column.system"), *(f"k = {k}" for k in found.k))
        blocks.append(Table(headers, tuple(rows), caption=say("sweep.title", measure=measure)))
    blocks += [behind(found, protocol), *near_bounds(_means(found))]
    return [*blocks, Heading(say("sweep.choices")), _advice(found)]


def page(found: Sweep, place: int = 0) -> list[Block]:
    """Curves as pictures, and which k to choose."""
    drawn = curves(found.curves, place)
    advice = _advice(found)
    choices: list[Block] = [Heading(say("sweep.choices")), advice]
    choices = choices if len(found.systems) <= _OPEN else [Fold(say("sweep.choices"), (advice,))]
    return [*drawn, behind(found), *near_bounds(_means(found)), *choices]


def behind(found: Sweep, protocol: str = "") -> Lines:
    """What the means are based on, and what their labels mean."""
    first = found.scores[0] if found.scores else None
    rules = protocol or ("" if first is None else str(first.protocol))
    said = say("sweep.bands", n=found.queries, level=found.confidence_level, protocol=rules)
    told = [] if first is None else [*unevenness(first), *definitions(first)]
    return Lines((said, *told))


def _means(found: Sweep) -> list[NamedMean]:
    """The means that are shown, at every k."""
    return [
        NamedMean(f"{measure}@{k}", system, mean)
        for measure in found.measures
        for system in found.systems
        for k, mean in zip(found.k, found.curve(system, measure).points, strict=True)
    ]


def _advice(found: Sweep) -> Lines:
    return Lines(tuple(text for one in found.choices for text in choice_lines(found, one)), listed=True)


def curves(found: Sequence[Curve], place: int = 0) -> list[Chart]:
    """A picture of each measure over k, a line for each system."""
    names = dict.fromkeys(one.measure for one in found)
    return [_curve(f"curve-{place}-{name}", name, [one for one in found if one.measure == name]) for name in names]


def _curve(name: str, measure: str, found: Sequence[Curve]) -> Chart:
    points = tuple(
        Point(float(k), p.estimate, p.low, p.high, series=one.system)
        for one in found
        for k, p in zip(one.k, one.points, strict=True)
        if p.estimate is not None
    )
    rows = tuple((one.system, *(_point(p) for p in one.points)) for one in found)
    table = Table((say("column.system"), *(f"k = {k}" for k in found[0].k)), rows)
    return Chart(name, "curves", say("sweep.title", measure=measure), "k", measure, points, table)


def _point(point: Interval) -> Said:
    return say("interval.behind", value=number(point.estimate), interval=describe_interval(point))


def choice_lines(found: Sweep, choice: CutoffChoice) -> list[Said]:
    """Recommend a k for one system."""
    system = choice.system
    edge = len(found.k) > 1 and choice.f1 == max(found.k)
    lines = [say("sweep.f1_edge" if edge else "sweep.f1", system=system, k=choice.f1, shown=_say_difference(choice))]
    if choice.recall is not None:
        lines.append(say("sweep.recall", system=system, target=found.recall_target, k=choice.recall))
    else:
        value, k = found.highest(system, defaults.COMPLETE)
        lines.append(say("sweep.no_recall", system=system, target=found.recall_target, value=value, k=k))
    if choice.answers is not None:
        lines.append(say("sweep.answers", system=system, k=choice.answers))
    if choice.survey is not None:
        lines.append(say("sweep.survey", system=system, k=choice.survey))
    return lines


def _say_difference(choice: CutoffChoice) -> Said | str:
    """Whether the best k is shown to differ from the next best."""
    best = choice.conclusion
    if best is None or best.against_second is None:
        return ""
    key = "sweep.differs" if best.against_second.decision == "better" else "sweep.differs_not"
    return say(key, second=best.second[0], value=best.second_value or 0.0, test=describe_test(best.against_second))


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
