"""What a measurement of speed looks like: latency, throughput, and published figures beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Lines
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.data.protocol import Protocol, Target
    from assay.results.bench import Bench, Latency, Load
    from assay.stats.intervals import Interval

# Published for rerankers: milliseconds P50/P95/P99 by candidates; queries a second of models on 1 and 4 threads and
# how many times as fast a GPU is.
REFERENCE_MS = {20: (80, 120, 150), 50: (200, 300, 400), 100: (400, 600, 800), 200: (800, 1200, 1500)}
REFERENCE_QPS = (("BGE-base", 50, 180, 10), ("BGE-v2-m3", 40, 150, 8), ("BGE-large", 20, 70, 6))
_KEEPS_UP = 0.95  # of the calls that were offered
_BATCH_SECONDS = 2.0  # P95 that is good enough where nobody waits for it


def bench(found: Bench, *, reference: bool = False, protocol: Protocol | None = None) -> list[Block]:
    """Latency, throughput, doubts; with `reference`, published figures of rerankers beside them."""
    goal = None if protocol is None else next((t for t in protocol.targets if t.measure == "latency_p95"), None)
    head: list[Block] = [Lines((say("bench.interrupted"),))] if found.interrupted else []
    blocks = [*head, _latency(found, goal, reference=reference), _throughput(found)]
    if reference:
        blocks += [_models(), Lines((say("bench.reference_note"),))]
    kinds = {load.kind for load in found.loads}
    calls = say("bench.open_method" if kinds == {"open"} else "bench.closed_method")
    notes = [say("bench.method", calls=calls)]
    if goal is not None:
        target = {"target": goal.target, "excellent": goal.excellent, "batch": _BATCH_SECONDS}
        notes.append(say("bench.target_p95", **target))
    if found.texts:
        notes.append(say("bench.bundled"))
    return [*blocks, Lines(found.warnings, listed=True), Lines(tuple(notes))]


def _latency(found: Bench, goal: Target | None, *, reference: bool) -> Table:
    sized = any(load.candidates is not None for load in found.loads)
    level = found.confidence_level
    headers = [
        *([say("column.candidates")] if sized else []), say("column.loop"), say("column.threads"), say("column.calls"),
        *(say("column.percentile_of", n=n, level=level) for n in (50, 95, 99)), say("column.mean"), say("column.std"),
    ]  # fmt: skip
    names = 2 if sized else 1
    texts: tuple[int, ...] = ()
    if goal is not None:
        texts = (len(headers),)
        headers.append(say("column.status"))
    if reference and sized:
        headers.append(say("column.reference"))
    rows = []
    for load in found.loads:
        row = _row(load, load.latency_ms, sized=sized)
        rows.append(
            (*row, *([_status(load, goal)] if goal else []), *([_reference(load)] if reference and sized else []))
        )
        if load.service_ms is not None:
            rest = len(headers) - len(row)
            rows.append((*_row(load, load.service_ms, sized=sized, service=True), *[""] * rest))
    return Table(tuple(headers), tuple(rows), say("bench.latency", target=found.target), names=names, texts=texts)


def _row(load: Load, latency: Latency | None, *, sized: bool, service: bool = False) -> tuple[str, ...]:
    loop = say("loop.service") if service else _loop(load)
    left = [*([str(load.candidates)] if sized and not service else [""] * sized), loop]
    left += ["", ""] if service else [str(load.threads), f"{load.count:,}"]
    if latency is None:
        return (*left, "", "", "", "", "")
    ends = (_percentile(latency.p50), _percentile(latency.p95), _percentile(latency.p99))
    return (*left, *ends, ms(latency.mean), ms(latency.std))


def _loop(load: Load) -> str:
    return say("loop.closed") if load.rate is None else say("loop.open", rate=load.rate)


def ms(value: float | None) -> str:
    """Show milliseconds with three digits that say something."""
    if value is None:
        return "?"
    if value < 1:
        return f"{value:.3g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004


def _percentile(of: Interval) -> str:
    return f"{ms(of.estimate)} [{ms(of.low)}, {ms(of.high)}]"


def _status(load: Load, goal: Target) -> str:
    value = None if load.latency_ms is None else load.latency_ms.p95.estimate
    if value is None:
        return say("status.unmeasured")
    if load.rate is not None and load.throughput_qps < load.rate * _KEEPS_UP:
        return say("status.high")  # the queue grows: what was measured is only how long that went on
    best = goal.excellent is not None and value < goal.excellent
    return say("status.excellent" if best else "status.ok" if value < goal.target else "status.high")


def _reference(load: Load) -> str:
    known = REFERENCE_MS.get(load.candidates or 0)
    return "" if known is None else "/".join(map(str, known))


def _throughput(found: Bench) -> Table:
    sized = any(load.candidates is not None for load in found.loads)
    is_open = any(load.rate is not None for load in found.loads)
    single = {load.candidates: load.throughput_qps for load in found.loads if load.threads == 1 and load.rate is None}
    scaled = len({load.threads for load in found.loads}) > 1 and not is_open
    headers = [
        *([say("column.candidates")] if sized else []), say("column.threads"),
        *([say("column.offered")] if is_open else []), say("column.throughput"),
        *([say("column.speedup")] if scaled else []), say("column.errors"),
    ]  # fmt: skip
    rows = []
    for load in found.loads:
        base = single.get(load.candidates)
        cells = [*([str(load.candidates)] if sized else []), str(load.threads)]
        cells += [f"{load.rate:g}" if load.rate is not None else ""] if is_open else []
        cells.append(f"{load.throughput_qps:,.1f}")
        cells += [f"{load.throughput_qps / base:.2f}x" if base else ""] if scaled else []
        rows.append((*cells, f"{sum(load.errors.values()):,}"))
    return Table(tuple(headers), tuple(rows), say("bench.throughput"))


def _models() -> Table:
    rows = tuple((name, str(one), str(four), f"{gpu}x") for name, one, four, gpu in REFERENCE_QPS)
    headers = tuple(say(f"column.{name}") for name in ("model", "one_thread", "four_threads", "gpu"))
    return Table(headers, rows, say("bench.reference_throughput"))


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
        left += [sum(load.errors.values()), load.throughput_qps]
        of = load.latency_ms
        ends = [] if of is None else [part for name in names for part in _ends(getattr(of, name))] + [of.mean, of.std]
        rows.append(tuple("" if cell is None else str(cell) for cell in (*left, *(ends or [None] * 11))))
    return Table(tuple(headers), tuple(rows), names=2)


def _ends(of: Interval) -> list[float | None]:
    return [of.estimate, of.low, of.high]


def view(found: Bench) -> list[Block]:
    """All of it, as the command shows it."""
    return bench(found)
