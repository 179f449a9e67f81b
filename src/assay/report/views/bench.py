"""What a measurement of speed looks like: latency, throughput, and published figures beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.marks import tone
from assay.report.numbers import duration, ms
from assay.report.tables import Cell, Table
from assay.results.bench import BATCH_SECONDS

if TYPE_CHECKING:
    from assay.results.bench import Bench, Histogram, Latency, Load
    from assay.stats.intervals import Interval

# Published for rerankers: milliseconds P50/P95/P99 by candidates; queries a second of models on 1 and 4 threads and
# how many times as fast a GPU is.
REFERENCE_MS = {20: (80, 120, 150), 50: (200, 300, 400), 100: (400, 600, 800), 200: (800, 1200, 1500)}
REFERENCE_QPS = (("BGE-base", 50, 180, 10), ("BGE-v2-m3", 40, 150, 8), ("BGE-large", 20, 70, 6))


def line(found: Bench) -> Verdict:
    """Say how fast the target is under its first load."""
    if not found.loads or found.loads[0].latency_ms is None:
        return Verdict(say("bench.none", target=found.target), "bad")
    load, latency = found.loads[0], found.loads[0].latency_ms
    times = {"p95": duration(latency.p95.estimate), "qps": f"{load.throughput_qps:,.1f}"}
    status = found.status_of(load)
    return Verdict(say("bench.line", target=found.target, load=_parts(load), **times), tone(status))


def table(found: Bench, *, reference: bool = False) -> list[Block]:
    """Latency, throughput, warnings; with `reference`, published figures of rerankers beside them."""
    head: list[Block] = [Lines((say("bench.interrupted"),))] if found.interrupted else []
    blocks = [*head, _latency(found, reference=reference), _throughput(found)]
    if reference:
        blocks += [_models(), Lines((say("bench.reference_note"),))]
    return [*blocks, Lines(found.warnings, listed=True), Lines(tuple(_notes(found)))]


def page(found: Bench, place: int = 0) -> list[Block]:
    """The tables, throughput over threads, and the distribution of each load."""
    curve = _curve(found, place)
    pictured = [(i, load, load.histogram) for i, load in enumerate(found.loads) if load.histogram is not None]
    drawn = [_histogram(load, histogram, f"{place}-{i}") for i, load, histogram in pictured]
    return [*table(found), *([] if curve is None else [curve]), *drawn]


def _notes(found: Bench) -> list[Said]:
    closed = any(load.kind == "closed" for load in found.loads)
    notes = [say("bench.method", calls=say("bench.closed_method" if closed else "bench.open_method"))]
    if found.goal is not None:
        goal = {"target": found.goal.target, "excellent": found.goal.excellent, "batch": BATCH_SECONDS}
        notes.append(say("bench.target_p95", **goal))
    return [*notes, say("bench.bundled")] if found.texts else notes


def _latency(found: Bench, *, reference: bool) -> Table:
    level, sized = found.confidence_level, found.has_candidates
    headers = [
        *([say("column.candidates")] if sized else []), say("column.load"), say("column.threads"), say("column.calls"),
        *(say("column.percentile_of", n=n, level=level) for n in (50, 95, 99)), say("column.mean"), say("column.std"),
    ]  # fmt: skip
    texts = () if found.goal is None else (len(headers),)
    headers += [] if found.goal is None else [say("column.status")]
    headers += [say("column.reference")] if reference and sized else []
    rows: list[tuple[str | Cell, ...]] = []
    for load in found.loads:
        row = _row(load, load.latency_ms, sized=sized)
        status = found.status_of(load)
        more = [] if found.goal is None else [Cell(say(f"status.{status}"), tone=tone(status))]
        rows.append((*row, *more, *([_reference(load)] if reference and sized else [])))
        if load.service_ms is not None:
            blank = [""] * (len(headers) - len(row))
            rows.append((*_row(load, load.service_ms, sized=sized, service=True), *blank))
    caption = say("bench.latency", target=found.target)
    return Table(tuple(headers), tuple(rows), caption, names=2 if sized else 1, texts=texts)


def _row(load: Load, latency: Latency | None, *, sized: bool, service: bool = False) -> tuple[str, ...]:
    left = [*([str(load.candidates)] if sized and not service else [""] * sized)]
    left.append(say("loop.service") if service else _loop(load))
    left += ["", ""] if service else [str(load.threads), f"{load.count:,}"]
    if latency is None:
        return (*left, "", "", "", "", "")
    ends = (_percentile(latency.p50), _percentile(latency.p95), _percentile(latency.p99))
    return (*left, *ends, ms(latency.mean), ms(latency.std))


def _loop(load: Load) -> Said:
    return say("loop.closed") if load.rate is None else say("loop.open", rate=load.rate)


def _percentile(of: Interval) -> str:
    return f"{ms(of.estimate)} [{ms(of.low)}, {ms(of.high)}]"


def _reference(load: Load) -> str:
    known = REFERENCE_MS.get(load.candidates or 0)
    return "" if known is None else "/".join(map(str, known))


def _throughput(found: Bench) -> Table:
    sized, offered = found.has_candidates, found.has_rates
    scaled = len({load.threads for load in found.loads}) > 1 and not offered
    headers = [
        *([say("column.candidates")] if sized else []), say("column.threads"),
        *([say("column.offered")] if offered else []), say("column.throughput"),
        *([say("column.speedup")] if scaled else []), say("column.errors"),
    ]  # fmt: skip
    rows = []
    for load in found.loads:
        cells = [*([str(load.candidates)] if sized else []), str(load.threads)]
        cells += [f"{load.rate:g}" if load.rate is not None else ""] if offered else []
        cells.append(f"{load.throughput_qps:,.1f}")
        faster = found.speed_up(load)
        cells += ["" if faster is None else f"{faster:.2f}x"] if scaled else []
        rows.append((*cells, f"{load.failed:,}"))
    return Table(tuple(headers), tuple(rows), say("bench.throughput"))


def _models() -> Table:
    rows = tuple((name, str(one), str(four), f"{gpu}x") for name, one, four, gpu in REFERENCE_QPS)
    headers = tuple(say(f"column.{name}") for name in ("model", "one_thread", "four_threads", "gpu"))
    return Table(headers, rows, say("bench.reference_throughput"))


def _parts(load: Load) -> list[Said]:
    """Which load is meant."""
    sized = [] if load.candidates is None else [say("load.candidates", n=load.candidates)]
    return [_loop(load), say("load.threads", n=load.threads), *sized]


def _curve(found: Bench, place: int) -> Chart | None:
    """Throughput over threads, one line for each kind of load and number of candidates."""
    points = tuple(Point(float(load.threads), load.throughput_qps, series=_series(load)) for load in found.loads)
    if len({point.x for point in points}) < 2:  # noqa: PLR2004
        return None
    rows = tuple((point.series, f"{point.x:g}", f"{point.y:,.1f}") for point in points)
    axes = (say("column.threads"), say("column.throughput"))
    table = Table((say("column.load"), *axes), rows)
    return Chart(f"throughput-{place}", "curves", say("chart.throughput"), *axes, points, table)


def _series(load: Load) -> Said:
    return say("text.list", parts=[part for part in _parts(load) if part.key != "load.threads"])


def _histogram(load: Load, histogram: Histogram, key: str) -> Chart:
    edges = histogram.edges
    points = tuple(
        Point(low, float(count), low=low, high=high)
        for low, high, count in zip(edges[:-1], edges[1:], histogram.counts, strict=True)
    )
    known = {} if load.latency_ms is None else load.latency_ms.percentiles()
    values = [(name.upper(), one.estimate) for name, one in known.items()]
    rules = tuple((value, name) for name, value in values if value is not None)
    rows = tuple((name, ms(value)) for name, value in values)
    return Chart(
        f"latency-{key}", "histogram", say("chart.latency", load=_parts(load)), say("axis.ms"), say("column.calls"),
        points, Table((say("column.percentile"), say("axis.ms")), rows), rules=rules,
    )  # fmt: skip


def bench_rows(found: Bench) -> Table:
    """Every load as one row with exact numbers, for a spreadsheet."""
    names = ("p50", "p95", "p99")
    headers = [
        "target", "kind", "threads", "candidates", "rate", "seconds", "count", "errors", "throughput_qps",
        *(f"{name}_{part}" for name in names for part in ("ms", "low", "high")), "mean_ms", "std_ms",
    ]  # fmt: skip
    rows = []
    for load in found.loads:
        left = [found.target, load.kind, load.threads, load.candidates, load.rate, load.seconds, load.count]
        left += [load.failed, load.throughput_qps]
        of = load.latency_ms
        ends = [] if of is None else [part for name in names for part in _ends(getattr(of, name))] + [of.mean, of.std]
        rows.append(tuple("" if cell is None else str(cell) for cell in (*left, *(ends or [None] * 11))))
    return Table(tuple(headers), tuple(rows), names=2)


def _ends(of: Interval) -> list[float | None]:
    return [of.estimate, of.low, of.high]
