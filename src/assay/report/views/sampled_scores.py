"""What estimates from sampled judgments look like: means and differences, each with two intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.edges import NamedMean, warn_of_edges
from assay.messages import Said, ends, say
from assay.report.blocks import Block, Heading, Lines, Verdict
from assay.report.numbers import number, percent
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.sampled import SampledDifference, SampledMean, SampledScores
    from assay.stats.intervals import Interval

_MANY = 100  # judged documents per query, from which on estimates of ratios were unbiased to .005


def line(found: SampledScores) -> Verdict:
    """How many documents were judged, of how many, and the first mean."""
    one = found.means[0]
    return Verdict(
        say(
            "sample.estimated_line", judged=found.judged, pooled=found.pooled, system=one.system, measure=one.measure,
            value=number(one.estimate), ends=_ends(one.sampling),
        )
    )  # fmt: skip


def table(found: SampledScores) -> list[Block]:
    """Means, differences from the first system, and what the intervals are."""
    changes = [_table(found.differences, signed=True)] if found.differences else []
    return [_table(found.means, signed=False), *changes, Lines(tuple(_notes(found)), listed=True)]


def page(found: SampledScores, place: int = 0) -> list[Block]:
    """The same under a heading."""
    return [Heading(say("sample.heading")), line(found), *table(found)] if not place else table(found)


def _table(rows: tuple[SampledMean, ...] | tuple[SampledDifference, ...], *, signed: bool) -> Table:
    names = ("system", "measure", "difference" if signed else "estimate", "sampling_error", "sampling_ends",
             "queries_ends")  # fmt: skip
    cells = tuple(
        (one.system, one.measure, number(one.estimate, signed=signed), number(one.error) or "-",
         _ends(one.sampling, signed=signed), _ends(one.queries, signed=signed))
        for one in rows
    )  # fmt: skip
    return Table(tuple(say(f"column.{name}") for name in names), cells, names=2)


def _ends(interval: Interval, *, signed: bool = False) -> str:
    return ends(interval.low, interval.high, "+.4f" if signed else ".4f") or "-"


def _notes(found: SampledScores) -> list[Said]:
    lost = [
        say("sample.unpooled", system=name, share=percent(share))
        for name, share in (found.unpooled or {}).items()
        if share >= 0.05  # noqa: PLR2004 - less is within what the estimate of the share can be wrong by
    ]
    each = found.judged / max(found.queries, 1)
    few = [] if each >= _MANY else [say("sample.few", n=f"{each:.0f}")]
    apart = [say("sample.of_differences", baseline=found.baseline)] if found.differences else []
    return [
        say("sample.intervals", level=percent(found.confidence_level).replace(".0%", "%")), *apart, *few, *lost,
        *warn_of_edges(NamedMean(one.measure, one.system, one.queries) for one in found.means),
    ]  # fmt: skip
