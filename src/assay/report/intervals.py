"""How an interval is shown: its ends, or why it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.edges import NamedMean, warn_of_edges
from assay.messages import Said, ends, say
from assay.report.blocks import Block, Chart, Lines, Point
from assay.report.numbers import number
from assay.report.tables import Table
from assay.stats.agreement import NO_PAIRS, NO_UNITS, ONE_PAIR, UNSTABLE
from assay.stats.arms import NO_CONTROL, NO_DENOMINATOR, NO_TREATMENT, NO_USERS
from assay.stats.bootstrap import SAME_RESAMPLES
from assay.stats.bradley_terry import APART, ONE_SIDED
from assay.stats.discrimination import ONE_CLASS
from assay.stats.intervals import TOO_FEW
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_CLUSTER, ONE_VALUE, ONE_WEIGHT
from assay.stats.off_policy import NO_LISTS, NO_OVERLAP
from assay.stats.power import NO_DEVIATION, OTHER_SIDE, TOO_MANY
from assay.stats.power import TOO_FEW as FEWER_THAN_TWO
from assay.stats.relative import NO_BASELINE, UNSURE_BASELINE
from assay.stats.signs import NOT_THE_MEAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.stats.intervals import Interval

USUAL_LEVEL = 0.95
# Every reason that statistics give for a number they lack, and what we say for it.
REASONS = {
    NO_VALUES: "interval.no_values",
    NO_SPREAD: "interval.no_spread",
    ONE_VALUE: "interval.one_value",
    ONE_WEIGHT: "interval.one_weight",
    ONE_CLUSTER: "interval.one_cluster",
    NO_BASELINE: "interval.no_baseline",
    UNSURE_BASELINE: "interval.unsure_baseline",
    TOO_FEW: "interval.too_few",
    SAME_RESAMPLES: "interval.same_resamples",
    UNSTABLE: "interval.unstable",
    NO_PAIRS: "interval.no_pairs",
    NO_UNITS: "interval.no_units",
    ONE_PAIR: "interval.one_pair",
    ONE_CLASS: "interval.one_class",
    FEWER_THAN_TWO: "interval.two_values",
    NO_DEVIATION: "interval.no_deviation",
    OTHER_SIDE: "interval.other_side",
    TOO_MANY: "interval.too_many",
    NOT_THE_MEAN: "interval.not_the_mean",
    NO_USERS: "interval.no_users",
    NO_CONTROL: "interval.no_control",
    NO_TREATMENT: "interval.no_treatment",
    NO_DENOMINATOR: "interval.no_denominator",
    NO_OVERLAP: "interval.no_overlap",
    NO_LISTS: "interval.no_lists",
    APART: "interval.apart",
    ONE_SIDED: "interval.one_sided",
}


def between(interval: Interval, *, signed: bool = False, percent: bool = False) -> str:
    """Show an interval in a cell of its own: its ends, or why it has none."""
    shown = ends(interval.low, interval.high, _form(signed=signed, percent=percent))
    return shown or _why_none(interval.low, interval.high, interval.reason)


def describe_interval(interval: Interval, *, signed: bool = False, percent: bool = False) -> str:
    """Show an interval behind a number: its ends, or that there is none and why."""
    return behind(interval.low, interval.high, _form(signed=signed, percent=percent), reason=interval.reason)


def behind(low: float | None, high: float | None, form: str, *, reason: str = "") -> str:
    """Show two ends behind a number, or that there are none and why; nothing where the reason is not known."""
    shown = ends(low, high, form)
    if shown:
        return shown
    lacking = _why_none(low, high, reason)
    return say("interval.none", reason=lacking) if lacking else ""


def _why_none(low: float | None, high: float | None, reason: str) -> Said | str:
    """Why there is no interval; in files of earlier versions, width 0 means that values do not vary."""
    return why(NO_SPREAD if low is not None and low == high else reason)


def why(reason: str) -> Said | str:
    """Return a few words on why there is no interval, or no number at all."""
    return say(REASONS[reason]) if reason in REASONS else ""


def _form(*, signed: bool, percent: bool) -> str:
    return "+.1%" if percent else "+.4f" if signed else ".4f"


def interval_column(found: Iterable[Interval | None]) -> Said:
    """The header over intervals, with the level that they have; without any, with the usual one."""
    return say("column.interval", level=next((one.confidence_level for one in found if one is not None), USUAL_LEVEL))


def near_bounds(means: Iterable[NamedMean]) -> list[Block]:
    """List the means whose interval ends at a bound of their measure; nothing where there are none."""
    told = warn_of_edges(means)
    return [Lines(told, listed=True)] if told else []


def picture(name: str, title: str, measure: str, means: Mapping[str, Interval]) -> Chart:
    """Means with their intervals as a chart, one row each."""
    points = tuple(
        Point(one, mean.estimate, mean.low, mean.high) for one, mean in means.items() if mean.estimate is not None
    )
    rows = tuple((one, number(mean.estimate), between(mean)) for one, mean in means.items())
    headers = (say("column.system"), say("column.mean"), interval_column(means.values()))
    return Chart(name, "intervals", title, measure, "", points, Table(headers, rows))
