"""What a measurement of speed looks like: latency, throughput, and published figures beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Figure, Lines, Point, Verdict
from assay.report.marks import tone
from assay.report.numbers import about, duration, ms
from assay.report.tables import Cell, Table
from assay.results.bench import BATCH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.results.bench import Bench, Capacity, Histogram, Latency, LimitCheck, Load
    from assay.stats.intervals import Interval

# Published for rerankers: milliseconds P50/P95/P99 by candidates; queries a second of models on 1 and 4 threads and
# how many times as fast a GPU is.
REFERENCE_MS = {20: (80, 120, 150), 50: (200, 300, 400), 100: (400, 600, 800), 200: (800, 1200, 1500)}
REFERENCE_QPS = (("BGE-base", 50, 180, 10), ("BGE-v2-m3", 40, 150, 8), ("BGE-large", 20, 70, 6))


def line(found: Bench) -> Verdict:
    """Describe how fast the target is under its first load."""
    if not found.loads or found.loads[0].latency_ms is None:
        return Verdict(say("bench.none", target=found.target), "bad")
    load, latency = found.loads[0], found.loads[0].latency_ms
    times = {"p95": duration(latency.p95.estimate), "qps": f"{load.throughput_qps:,.1f}"}
    tones = [tone(found.verdict) if found.checks else "", tone(found.status_of(load))]
    return Verdict(say("bench.line", target=found.target, load=_parts(load), **times), next(filter(None, tones), ""))


def figure(found: Bench) -> Figure | None:
    """What 95% of the calls of the first load take."""
    if not found.loads or (latency := found.loads[0].latency_ms) is None:
        return None
    of = latency.p95
    ends = "" if of.low is None and of.high is None else f"[{ms(of.low)}, {ms(of.high)}]"
    name = say("bench.figure", target=found.target, n=found.loads[0].count)
    return Figure(name, duration(of.estimate), ends)


def table(found: Bench, *, reference: bool = False) -> list[Block]:
    """Latency, throughput, warnings; with `reference`, published figures of rerankers beside them."""
    head: list[Block] = [Lines((say("bench.interrupted"),))] if found.interrupted else []
    blocks = [*head, _latency(found, reference=reference), _throughput(found), *_checks(found)]
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
    if any(load.streaming is not None and not load.streaming.counted for load in found.loads):
        notes.append(say("bench.pieces"))
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
        blank = [""] * (len(headers) - len(row))
        rows += [(*_row(load, of, sized=sized, part=name), *blank) for name, of in _parts_of(load)]
    caption = say("bench.latency", target=found.target)
    return Table(tuple(headers), tuple(rows), caption, names=2 if sized else 1, texts=texts)


def _parts_of(load: Load) -> list[tuple[Said, Latency]]:
    """Times that are parts of a call, and what they are called."""
    stream = load.streaming
    known = {
        "service": load.service_ms,
        "first_token": None if stream is None else stream.first_token_ms,
        "per_token": None if stream is None else stream.per_token_ms,
    }
    return [(say(f"loop.{name}"), of) for name, of in known.items() if of is not None]


def _row(load: Load, latency: Latency | None, *, sized: bool, part: Said | None = None) -> tuple[str, ...]:
    left = [*([str(load.candidates)] if sized and part is None else [""] * sized)]
    left.append(_loop(load) if part is None else part)
    left += [str(load.threads), f"{load.count:,}"] if part is None else ["", ""]
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
    """Calls a second of each load; of an open loop, whether it keeps up and what the last answers took."""
    sized, offered = found.has_candidates, found.has_rates
    scaled = len({load.threads for load in found.loads}) > 1 and not offered
    columns: list[tuple[Said, Callable[[Load], str | Cell]]] = [
        *([(say("column.candidates"), lambda load: str(load.candidates))] if sized else []),
        (say("column.threads"), lambda load: str(load.threads)),
        *([(say("column.offered"), lambda load: "" if load.rate is None else f"{load.rate:g}")] if offered else []),
        (say("column.throughput"), lambda load: f"{load.throughput_qps:,.1f}"),
        *([(say("column.tokens_per_second"), _tokens)] if found.has_streams else []),
        *([(say("column.speedup"), lambda load: _speed_up(found, load))] if scaled else []),
        (say("column.errors"), lambda load: f"{load.failed:,}"),
        *([(say("column.drain"), _drain), (say("column.keeps_up"), _pace)] if offered else []),
    ]
    rows = tuple(tuple(show(load) for _, show in columns) for load in found.loads)
    texts = (len(columns) - 1,) if offered else ()
    return Table(tuple(name for name, _ in columns), rows, say("bench.throughput"), texts=texts)


def _speed_up(found: Bench, load: Load) -> str:
    faster = found.speed_up(load)
    return "" if faster is None else f"{faster:.2f}x"


def _tokens(load: Load) -> str:
    stream = load.streaming
    return "" if stream is None else about(f"{stream.tokens_per_second:,.1f}", not stream.counted)


def _drain(load: Load) -> str:
    return "" if load.drain_seconds is None else f"{load.drain_seconds:.2f}"


def _pace(load: Load) -> str | Cell:
    return "" if load.pace is None else Cell(say(f"pace.{load.pace.decision}_word"), tone=tone(load.pace.decision))


def _checks(found: Bench) -> list[Block]:
    """How much the target bears, and the limits that were set."""
    borne = tuple(say("bench.bears", load=_group(found, one), reason=one.reason) for one in found.capacity)
    blocks: list[Block] = [Lines(borne)] if borne else []
    if not found.checks:
        return blocks
    headers = tuple(say(f"column.{name}") for name in ("load", "quantity", "limit", "value", "status"))
    rows = tuple(
        (
            say("text.list", parts=_parts(found.loads[one.load])), one.figure, _figure(one, one.limit), _figures(one),
            Cell(say(f"limit.{one.verdict}"), tone=tone(one.verdict)),
        )
        for one in found.checks
    )  # fmt: skip
    return [*blocks, Table(headers, rows, say("bench.limits"), names=2, texts=(4,))]


def _group(found: Bench, of: Capacity) -> list[str]:
    sized = [] if of.candidates is None else [say("load.candidates", n=of.candidates)]
    several = len({one.threads for one in found.capacity}) > 1
    return [*sized, *([say("load.threads", n=of.threads)] if several else [])] or [found.target]


def _figure(check: LimitCheck, value: float | None) -> str:
    if check.figure == "error_rate":
        return "" if value is None else f"{value:.2%}"
    return ms(value)


def _figures(check: LimitCheck) -> str:
    shown = _figure(check, check.value)
    if check.figure == "error_rate" or (check.low is None and check.high is None):
        return shown
    return f"{shown} [{ms(check.low)}, {ms(check.high)}]"


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
    title = say("chart.throughput")
    return Chart(f"throughput-{place}", "curves", title, *axes, points, table, write="{:,.1f}".format)


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
    streams = ("first_token", "per_token") if found.has_streams else ()
    headers = [
        "target", "kind", "threads", "candidates", "rate", "seconds", "count", "errors", "throughput_qps",
        *_headers(""), *(one for name in streams for one in _headers(f"{name}_")),
        *(["tokens_per_second"] if streams else []),
        *(["sending_seconds", "drain_seconds", "keeps_up"] if found.has_rates else []),
    ]  # fmt: skip
    rows = []
    for load in found.loads:
        stream = load.streaming
        times = [load.latency_ms, *([getattr(stream, f"{name}_ms", None) for name in streams])]
        cells = [found.target, load.kind, load.threads, load.candidates, load.rate, load.seconds, load.count]
        cells += [load.failed, load.throughput_qps, *(part for of in times for part in _numbers(of, names))]
        cells += [getattr(stream, "tokens_per_second", None)] if streams else []
        pace = None if load.pace is None else load.pace.decision
        cells += [load.sending_seconds, load.drain_seconds, pace] if found.has_rates else []
        rows.append(tuple("" if cell is None else str(cell) for cell in cells))
    return Table(tuple(headers), tuple(rows), names=2)


def _headers(prefix: str) -> list[str]:
    ends = [f"{prefix}{name}_{part}" for name in ("p50", "p95", "p99") for part in ("ms", "low", "high")]
    return [*ends, f"{prefix}mean_ms", f"{prefix}std_ms"]


def _numbers(of: Latency | None, names: Sequence[str]) -> list[float | None]:
    if of is None:
        return [None] * (3 * len(names) + 2)
    return [part for name in names for part in _ends(getattr(of, name))] + [of.mean, of.std]


def _ends(of: Interval) -> list[float | None]:
    return [of.estimate, of.low, of.high]
