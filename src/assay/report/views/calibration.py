"""What a calibration looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import ends, say
from assay.report.blocks import Block, Heading, Lines, Verdict
from assay.report.intervals import between, interval_column, why
from assay.report.numbers import number, percent
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.trust import Calibration
    from assay.stats.agreement import Agreement
    from assay.stats.intervals import Interval


def line(found: Calibration) -> Verdict:
    """Describe how far the judge agrees with people."""
    return Verdict(say("calibrate.line", judge=found.judge, how=found.stamp), "warn" if found.poor else "")


def table(found: Calibration) -> list[Block]:
    """Agreement, confusion, bias, noise, and the systems' corrected means."""
    blocks: list[Block] = [
        Heading(say("calibrate.title", judge=found.judge, pairs=found.pairs, queries=found.queries)),
        _agreement(found),
        _confusion(found),
        _biases(found),
    ]
    if found.noise:
        rows = tuple(
            (n.judge, str(n.pairs), percent(n.differing), _shares(n.interval), f"{n.deviation:.3f}")
            for n in found.noise
        )
        interval = interval_column(n.interval for n in found.noise)
        headers = (
            say("column.judge"), say("column.pairs"), say("column.differing"), interval, say("column.deviation"),
        )  # fmt: skip
        blocks.append(Table(headers, rows, caption=say("calibrate.noise")))
    if found.systems:
        blocks += _systems(found)
    return [*blocks, Lines(found.warnings, listed=True)] if found.warnings else blocks


def _shares(of: Interval | None) -> str:
    """The ends of an interval of a share, in per cent, or why there are none."""
    return "" if of is None else ends(of.low, of.high, ".1%") or why(of.reason)


def _agreement(found: Calibration) -> Table:
    def row(name: str, of: Agreement) -> tuple[str, str, str]:
        return say(f"calibrate.{name}"), number(of.value), between(of.interval) if of.interval else why(of.reason)

    rows = (
        row("kappa", found.kappa),
        row("alpha", found.alpha),
        row("spearman", found.spearman),
        (say("calibrate.exact"), percent(found.exact), ""),
        (say("calibrate.bias"), number(found.bias.estimate, signed=True), between(found.bias, signed=True)),
    )
    intervals = (found.kappa.interval, found.alpha.interval, found.spearman.interval, found.bias)
    return Table((say("column.measure"), say("column.value"), interval_column(intervals)), rows)


def _confusion(found: Calibration) -> Table:
    grades = [f"{value:g}" for value in found.confusion.values]
    rows = tuple(
        (grade, *(str(int(count)) for count in counts))
        for grade, counts in zip(grades, found.confusion.counts, strict=True)
    )
    return Table((say("column.people"), *grades), rows, caption=say("calibrate.confusion"))


def _biases(found: Calibration) -> Table:
    rows = tuple(
        (f"{b.grade:g}", str(b.pairs), number(b.mean.estimate, signed=True), between(b.mean, signed=True))
        for b in found.biases
    )
    interval = interval_column(bias.mean for bias in found.biases)
    headers = (say("column.grade"), say("column.pairs"), say("column.bias"), interval)
    return Table(headers, rows, caption=say("calibrate.biases"))


def _systems(found: Calibration) -> list[Block]:
    rows = tuple(
        (
            s.system, s.measure, f"{s.labelled}/{s.queries}", number(s.human), number(s.judge),
            number(s.corrected.estimate), between(s.corrected.interval),
        )
        for s in found.systems
    )  # fmt: skip
    headers = (
        say("column.system"), say("column.measure"), say("column.labelled"), say("column.people"), say("column.judge"),
        say("column.corrected"), interval_column(one.corrected.interval for one in found.systems),
    )  # fmt: skip
    lines = [say("calibrate.labelled")]
    if found.ranking is not None and found.ranking.value is not None:
        lines.append(say("calibrate.ranking", value=found.ranking.value))
    return [Table(headers, rows, caption=say("calibrate.systems"), names=2), Lines(tuple(lines))]
