"""Latency and throughput: percentiles with intervals, histograms, the curve over threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Chart, Lines, Point, Section, Verdict
from assay.report.tables import Cell, Table
from assay.results.bench import Bench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.report_data import ReportData
    from assay.results.bench import Histogram, Load
    from assay.stats.intervals import Interval


def section(found: ReportData) -> Section | None:
    """All measurements, each with its picture."""
    blocks = [block for place, bench in enumerate(found.every(Bench)) for block in _bench(bench, place)]
    return Section("latency", say("page.latency"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Say how fast the first thing measured is."""
    loads = [(bench, load) for bench in found.every(Bench) for load in bench.loads]
    if not loads:
        return None
    bench, load = loads[0]
    p95 = None if load.latency_ms is None else load.latency_ms.p95.estimate
    qps = _number(load.throughput_qps)
    return Verdict(say("bench.verdict", target=bench.target, load=_name(load), p95=_number(p95), qps=qps))


def _bench(bench: Bench, place: int) -> list[Block]:
    blocks: list[Block] = [_table(bench)]
    curve = _throughput(bench.loads, place)
    blocks += [curve] if curve is not None else []
    pictured = [(i, load, load.histogram) for i, load in enumerate(bench.loads) if load.histogram is not None]
    blocks += [_histogram(load, histogram, f"{place}-{i}") for i, load, histogram in pictured]
    return [*blocks, Lines(bench.warnings, listed=True)] if bench.warnings else blocks


def _name(load: Load) -> str:
    kind = say(f"bench.{load.kind}")
    if load.candidates is not None:
        return say("bench.load_candidates", kind=kind, n=load.threads, k=load.candidates)
    return say("bench.load", kind=kind, n=load.threads)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def _percentiles(load: Load) -> dict[str, Interval | None]:
    if load.latency_ms is None:
        return dict.fromkeys(("p50", "p95", "p99"))
    return {**load.latency_ms.percentiles()}


def _percentile(found: Interval | None) -> Cell:
    if found is None:
        return Cell("")
    shown = _number(found.estimate)
    ends = "" if found.low is None or found.high is None else f" [{found.low:,.1f}, {found.high:,.1f}]"
    return Cell(shown + ends)


def _table(bench: Bench) -> Table:
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            _name(load),
            str(load.count),
            *(_percentile(found) for found in _percentiles(load).values()),
            _number(None if load.latency_ms is None else load.latency_ms.mean),
            _number(None if load.latency_ms is None else load.latency_ms.std),
            _number(load.throughput_qps),
            _errors(load),
        )
        for load in bench.loads
    )
    headers = (
        say("column.load"), say("column.calls"), "P50 ms", "P95 ms", "P99 ms", say("column.mean_ms"),
        say("column.deviation_ms"), say("column.qps"), say("column.errors"),
    )  # fmt: skip
    return Table(headers, rows, caption=say("bench.table", target=bench.target), texts=(8,))


def _errors(load: Load) -> Cell:
    errors = {kind: n for kind, n in load.errors.items() if n}
    return Cell(", ".join(f"{kind}: {n}" for kind, n in errors.items()) or "0", tone="bad" if errors else "")


def _throughput(loads: Sequence[Load], place: int) -> Chart | None:
    """Throughput over threads, one line for each kind of load and number of candidates."""
    points = tuple(Point(float(load.threads), load.throughput_qps, series=_series(load)) for load in loads)
    if len({point.x for point in points}) < 2:  # noqa: PLR2004
        return None
    rows = tuple((point.series, f"{point.x:g}", _number(point.y)) for point in points)
    table = Table((say("column.load"), say("column.threads"), say("column.qps")), rows)
    title = say("chart.throughput")
    return Chart(f"throughput-{place}", "curves", title, say("column.threads"), say("column.qps"), points, table)


def _series(load: Load) -> str:
    kind = say(f"bench.{load.kind}")
    return kind if load.candidates is None else say("bench.series", kind=kind, k=load.candidates)


def _histogram(load: Load, histogram: Histogram, key: str) -> Chart:
    edges = histogram.edges
    points = tuple(
        Point(low, float(count), low=low, high=high)
        for low, high, count in zip(edges[:-1], edges[1:], histogram.counts, strict=True)
    )
    values = [(name, None if found is None else found.estimate) for name, found in _percentiles(load).items()]
    rules = tuple((value, name.upper()) for name, value in values if value is not None)
    rows = tuple((name.upper(), _number(value)) for name, value in values)
    return Chart(
        f"latency-{key}", "histogram", say("chart.latency", load=_name(load)), "ms", say("column.calls"), points,
        Table((say("column.percentile"), "ms"), rows), rules=rules,
    )  # fmt: skip
