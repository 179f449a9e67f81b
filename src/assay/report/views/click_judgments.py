"""What judgments from clicks look like: how many pairs have which grade, and what positions are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.numbers import number, short
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.click_judgments import ClickJudgments

_POSITIONS, _PAIRS, _GRADES = 20, 10, 12


def line(found: ClickJudgments) -> Verdict:
    """How many pairs have a grade."""
    text = say("clicks.line", pairs=len(found.pairs), queries=len(found.queries), model=found.model)
    return Verdict(text, "" if len(found.pairs) else "warn")


def table(found: ClickJudgments) -> list[Block]:
    """Grades, positions, the pairs that were shown most, and what was left out."""
    grades = [_grades(found)] if len(found.grades) <= _GRADES else []
    pairs = [_pairs(found)] if len(found.pairs) else []
    return [line(found), *grades, _positions(found, _POSITIONS), *pairs, Lines(tuple(_notes(found)), listed=True)]


def page(found: ClickJudgments, place: int = 0) -> list[Block]:
    """The same with a picture of the positions."""
    return [*table(found), _picture(found, place)]


def _grades(found: ClickJudgments) -> Table:
    starts = {float(i): f"{cut:.4g}" for i, cut in enumerate(found.cuts, 1)}
    rows = tuple((f"{grade:g}", starts.get(grade, ""), f"{n:,}") for grade, n in found.grades.items())
    return Table((say("column.grade"), say("clicks.from"), say("column.pairs")), rows)


def _positions(found: ClickJudgments, most: int | None = None) -> Table:
    with_model = any(one.examination is not None for one in found.positions)
    headers = tuple(say(f"column.{name}") for name in ("position", "impressions", "clicks", "ctr"))
    rows = []
    for one in found.positions[:most]:
        row = (str(one.position), f"{one.impressions:,}", f"{one.clicks:,}", number(one.rate))
        rows.append((*row, number(one.examination), number(one.standard_error)) if with_model else row)
    more = (say("column.examination"), say("column.standard_error")) if with_model else ()
    return Table((*headers, *more), tuple(rows), caption=say("clicks.positions"))


def _pairs(found: ClickJudgments) -> Table:
    expected = "examined" if found.model == "pbm" else "expected"
    names = ("query", "document", "impressions", "clicks", expected, "value")
    headers = (*(say(f"column.{name}") for name in names), say("column.interval", level=found.confidence_level),
               say("column.grade"))  # fmt: skip
    pairs, rows = found.pairs, []
    for i in found.most_shown(_PAIRS):
        limits = ends(pairs.low[i], pairs.high[i], ".4f")
        query = short(found.queries[pairs.query[i]].text, 30)
        counts = (f"{pairs.impressions[i]:,}", f"{pairs.clicks[i]:,}", number(pairs.expected[i]))
        grade = f"{pairs.grade[i]:.4g}"
        rows.append((query, short(pairs.doc_id[i], 30), *counts, number(pairs.value[i]), limits, grade))
    return Table(headers, tuple(rows), caption=say("clicks.most_shown"), names=2)


def _notes(found: ClickJudgments) -> list[Said | str]:
    counts = say("clicks.counts", requests=found.requests, impressions=found.impressions, clicks=found.clicks)
    notes: list[Said | str] = [say(f"clicks.model_{found.model.partition('(')[0]}"), counts]
    if found.rare:
        notes.append(say("clicks.rare", n=found.rare, least=found.least))
    if found.silent:
        notes.append(say("clicks.silent", n=found.silent))
    notes += [say(f"clicks.left_{reason}", n=n) for reason, n in found.left_out.items()]
    if found.comes_back:
        notes.append(say("clicks.effect", effect=found.design_effect))
    return [*notes, *found.warnings, say("clicks.stamp")]


def _picture(found: ClickJudgments, place: int) -> Chart:
    rate, seen = say("column.ctr"), say("column.examination")
    points = [Point(float(one.position), one.rate, series=rate) for one in found.positions]
    points += [
        Point(float(one.position), one.examination, series=seen)
        for one in found.positions
        if one.examination is not None
    ]
    title = say("clicks.positions")
    return Chart(
        f"positions-{place}",
        "curves",
        title,
        say("column.position"),
        say("column.value"),
        tuple(points),
        _positions(found),
    )
