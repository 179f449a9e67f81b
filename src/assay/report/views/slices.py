"""What a comparison by slice looks like: one row per slice and system, and what the correction changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.marks import tone
from assay.report.numbers import number, percent, pvalue, signed
from assay.report.tables import Cell, Table
from assay.results.comparison import LEAST_QUERIES

if TYPE_CHECKING:
    from assay.data.record import Value
    from assay.results.slices import SliceComparison, SliceLift

_NO_VALUE = "-"


def line(found: SliceComparison) -> Verdict:
    """How many slices of the first measure are better, worse, or neither."""
    measure = found.measures[0]
    counts = {name: found.count(measure, name) for name in ("better", "worse", "equivalent")}
    text = say(
        "slices.line", measure=measure, baseline=found.baseline, attribute=found.attribute, n=len(found.of(measure)),
        **counts,
    )  # fmt: skip
    return Verdict(text, tone("worse" if counts["worse"] else "better" if counts["better"] else "inconclusive"))


def table(found: SliceComparison) -> list[Block]:
    """A table for every measure, then what the correction changed and what was left out."""
    return [*(lifts(found, measure) for measure in found.measures), Lines(tuple(sentences(found)))]


def page(found: SliceComparison, place: int = 0) -> list[Block]:
    """The same with a picture of the lifts on every measure."""
    drawn = [_picture(found, measure, place) for measure in found.measures]
    return [*drawn, Lines(tuple(sentences(found)))]


def lifts(found: SliceComparison, measure: str) -> Table:
    """One row per slice and system."""
    many = len(found.systems) > 2  # noqa: PLR2004
    level = found.rules.confidence_level
    headers = (
        found.attribute, *([say("column.system")] if many else []), say("column.queries"),
        *([say("column.effective")] if found.uneven else []), *([say("column.heaviest")] if found.weighted else []),
        found.baseline, say("column.mean") if many else found.systems[1], say("column.difference"),
        say("column.interval", level=level), say("column.relative"), say("column.p"),
        say("column.p_corrected", name=say(f"correction.{found.rules.correction}")), say("column.verdict"),
    )  # fmt: skip
    rows = tuple(_row(found, one, many=many) for one in found.of(measure))
    caption = say("slices.title", measure=measure, baseline=found.baseline, attribute=found.attribute)
    return Table(headers, rows, caption=caption, names=1 + many, texts=(len(headers) - 1,))


def _row(found: SliceComparison, one: SliceLift, *, many: bool) -> tuple[str | Cell, ...]:
    weight = one.weight
    heaviest = "" if weight is None else say("slices.heaviest", query=weight.heaviest, share=weight.share)
    verdict = say("slices.too_few", least=LEAST_QUERIES) if one.too_few else say(f"verdict.{one.verdict}")
    return (
        one.value or _NO_VALUE,
        *([one.system] if many else []),
        f"{one.n:,}",
        *([f"{one.effective_n:,.1f}"] if found.uneven else []),
        *([heaviest] if found.weighted else []),
        number(one.before),
        number(one.after),
        number(one.difference.estimate, signed=True),
        between(one.difference, signed=True),
        percent(one.relative.estimate, signed=True),
        "" if one.pvalue is None else pvalue(one.pvalue),
        "" if one.adjusted is None else pvalue(one.adjusted),
        Cell(verdict, tone="" if one.too_few else tone(one.verdict)),
    )


def sentences(found: SliceComparison) -> list[Said]:
    """What was corrected, which slices the correction turned, and which queries are in no slice."""
    told = [say("slices.corrected", n=found.tests, correction=say(f"correction.{found.rules.correction}"))]
    for measure in found.measures:
        turned = [_tell_turn(found, one) for one in found.of(measure) if one.turned]
        if turned:
            told.append(say("slices.turned", measure=measure, n=found.tests, slices=turned))
    if found.uneven:
        told.append(say("slices.clustered" if found.clustered else "slices.weighted"))
    if found.lacking:
        told.append(say("slices.lacking", n=found.lacking))
    return told


def _tell_turn(found: SliceComparison, one: SliceLift) -> Said:
    key = "slices.turned_one" if len(found.systems) == 2 else "slices.turned_system"  # noqa: PLR2004
    return say(
        key, attribute=found.attribute, value=one.value or _NO_VALUE, system=one.system, p=pvalue(one.pvalue or 0.0),
        adjusted=pvalue(one.adjusted or 0.0),
    )  # fmt: skip


def _picture(found: SliceComparison, measure: str, place: int) -> Chart:
    points = tuple(
        Point(one.value or _NO_VALUE, one.difference.estimate, one.difference.low, one.difference.high, one.system)
        for one in found.of(measure)
        if one.difference.estimate is not None
    )
    title = say("slices.chart", measure=measure, baseline=found.baseline, attribute=found.attribute)
    name = f"lifts-{measure}-{place}"
    return Chart(
        name, "intervals", title, say("axis.difference"), found.attribute, points,
        replace(lifts(found, measure), caption=""), write=signed,
    )  # fmt: skip


def rows(found: SliceComparison) -> Table:
    """Every lift as one row with exact numbers, for a spreadsheet."""
    plain = found.to_rows()
    return Table(tuple(plain[0]), tuple(tuple(map(_exact, row.values())) for row in plain), names=5)


def _exact(value: Value) -> str:
    return number(value, exact=True) if isinstance(value, float) else "" if value is None else str(value)
