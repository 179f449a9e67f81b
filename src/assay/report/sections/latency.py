"""Latency and throughput: percentiles with intervals, histograms, the curve over threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import say
from assay.report.blocks import Block, Chart, Lines, Point, Section, Verdict
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.report_data import ReportData

_PERCENTILES = ("p50", "p95", "p99")


def section(found: ReportData) -> Section | None:
    """All measurements, each with its picture."""
    blocks = [block for place, bench in enumerate(found.extras["bench"]) for block in _bench(bench, place)]
    return Section("latency", say("page.latency"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Say how fast the first thing measured is."""
    loads = [(bench, load) for bench in found.extras["bench"] for load in bench.get("loads") or ()]
    if not loads:
        return None
    bench, load = loads[0]
    return Verdict(
        say("bench.verdict", target=str(bench.get("target") or ""), load=_name(load), p95=_ms(load, "p95"),
            qps=_number(load.get("throughput_qps")))
    )  # fmt: skip


def _bench(bench: Mapping[str, Any], place: int) -> list[Block]:
    loads = list(bench.get("loads") or ())
    blocks: list[Block] = [_table(bench, loads)]
    curve = _throughput(loads, place)
    blocks += [curve] if curve is not None else []
    blocks += [_histogram(load, f"{place}-{i}") for i, load in enumerate(loads) if load.get("histogram")]
    warnings = tuple(str(text) for text in bench.get("warnings") or ())
    return [*blocks, Lines(warnings, listed=True)] if warnings else blocks


def _name(load: Mapping[str, Any]) -> str:
    kind = say(f"bench.{load['kind']}") if load.get("kind") in {"closed", "open"} else str(load.get("kind") or "")
    if load.get("candidates") is not None:
        return say("bench.load_candidates", kind=kind, n=int(load.get("threads") or 1), k=int(load["candidates"]))
    return say("bench.load", kind=kind, n=int(load.get("threads") or 1))


def _value(load: Mapping[str, Any], name: str) -> tuple[float | None, float | None, float | None]:
    found = (load.get("latency_ms") or {}).get(name)
    if isinstance(found, dict):
        return _float(found.get("value")), _float(found.get("low")), _float(found.get("high"))
    return _float(found), None, None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _number(value: object) -> str:
    found = _float(value)
    return "" if found is None else f"{found:,.1f}"


def _ms(load: Mapping[str, Any], name: str) -> str:
    return _number(_value(load, name)[0])


def _percentile(load: Mapping[str, Any], name: str) -> Cell:
    value, low, high = _value(load, name)
    shown = _number(value)
    return Cell(shown if low is None or high is None else f"{shown} [{low:,.1f}, {high:,.1f}]")


def _table(bench: Mapping[str, Any], loads: list[Mapping[str, Any]]) -> Table:
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            _name(load), str(int(load.get("count") or 0)), *(_percentile(load, name) for name in _PERCENTILES),
            _ms(load, "mean"), _ms(load, "std"), _number(load.get("throughput_qps")), _errors(load),
        )
        for load in loads
    )  # fmt: skip
    headers = (
        say("column.load"), say("column.calls"), "P50 ms", "P95 ms", "P99 ms", say("column.mean_ms"),
        say("column.deviation_ms"), say("column.qps"), say("column.errors"),
    )  # fmt: skip
    return Table(headers, rows, caption=say("bench.table", target=str(bench.get("target") or "")), texts=(8,))


def _errors(load: Mapping[str, Any]) -> Cell:
    errors = {str(kind): int(n) for kind, n in (load.get("errors") or {}).items() if n}
    return Cell(", ".join(f"{kind}: {n}" for kind, n in errors.items()) or "0", tone="bad" if errors else "")


def _throughput(loads: list[Mapping[str, Any]], place: int) -> Chart | None:
    """Throughput over threads, one line for each kind of load and number of candidates."""
    points = tuple(
        Point(float(load["threads"]), float(load["throughput_qps"]), series=_series(load))
        for load in loads
        if load.get("threads") is not None and load.get("throughput_qps") is not None
    )
    if len({point.x for point in points}) < 2:  # noqa: PLR2004
        return None
    rows = tuple((point.series, f"{point.x:g}", _number(point.y)) for point in points)
    table = Table((say("column.load"), say("column.threads"), say("column.qps")), rows)
    title = say("chart.throughput")
    return Chart(f"throughput-{place}", "curves", title, say("column.threads"), say("column.qps"), points, table)


def _series(load: Mapping[str, Any]) -> str:
    kind = say(f"bench.{load['kind']}") if load.get("kind") in {"closed", "open"} else str(load.get("kind") or "")
    return kind if load.get("candidates") is None else say("bench.series", kind=kind, k=int(load["candidates"]))


def _histogram(load: Mapping[str, Any], key: str) -> Chart:
    edges = [float(edge) for edge in load["histogram"]["edges"]]
    counts = [int(count) for count in load["histogram"]["counts"]]
    points = tuple(
        Point(low, float(count), low=low, high=high)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    values = [(name, _value(load, name)[0]) for name in _PERCENTILES]
    rules = tuple((value, name.upper()) for name, value in values if value is not None)
    rows = tuple((name.upper(), _number(value)) for name, value in values)
    return Chart(
        f"latency-{key}", "histogram", say("chart.latency", load=_name(load)), "ms", say("column.calls"), points,
        Table((say("column.percentile"), "ms"), rows), rules=rules,
    )  # fmt: skip
