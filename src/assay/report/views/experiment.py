"""What an experiment looks like: one table of all combinations, tables of stages and indexes, the winner in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from assay.messages import Said, say
from assay.report.document import Block, Lines
from assay.report.intervals import behind, between
from assay.report.tables import Cell, Table
from assay.report.views.comparison import number, pvalue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.experiment import Findings, Holdout, IndexTrace, Quality, Row
    from assay.stats.intervals import Interval

_ALPHA = 0.05
_BETTER, _WORSE = "\N{DAGGER}", "\N{DOUBLE DAGGER}"
_MEGA, _THOUSAND = 1e6, 1000
_COLUMNS = 6  # measures that fit beside each other; more of them are rows of a table of their own
LATENCY = {"mean": "column.mean_ms", "p50": "column.p50", "p95": "column.p95", "p99": "column.p99"}


def document(found: Findings, *, brief: bool = False) -> list[Block]:
    """Put an experiment together, the most important part first."""
    blocks: list[Block] = [summary(found)]
    blocks += [] if (table := figures(found)) is None else [table]
    blocks.append(Lines(tuple(sentences(found))))
    blocks += [] if (table := published(found)) is None else [table]
    if not brief:
        blocks.append(stages(found))
        blocks += [] if (table := indexes(found)) is None else [table]
    if found.warnings:
        blocks.append(Lines(found.warnings, listed=True))
    return blocks


def summary(found: Findings) -> Table:
    """One row per combination: measures, interval and p of the deciding one, latency, money, the front."""
    first = found.measure
    others = [label for label in found.measures if label != first] if len(found.measures) <= _COLUMNS else []
    methods = {label: methods_of(found, label) for label in (first, *others)}
    headers = (
        say("column.system"), *([say("column.description")] if found.labels else []),
        titled(first, methods[first]), say("column.interval", level=0.95),
        say("column.from_baseline", baseline=found.baseline), *(titled(label, methods[label]) for label in others),
        *map(say, LATENCY.values()), say("column.cost_thousand"), say("column.front"),
    )  # fmt: skip
    rows = tuple(_row(row, first, others, found) for row in found.combinations)
    return Table(headers, rows, names=2 if found.labels else 1)


def _row(row: Row, first: str, others: list[str], found: Findings) -> tuple[str | Cell, ...]:
    label = [found.labels.get(row.name, "")] if found.labels else []
    if not row.done:
        return (row.name, *label, say("experiment.failed"), *("" for _ in range(len(others) + 4 + len(LATENCY))))
    quality = row.quality[first]
    cost = "" if row.cost_per_query is None else about(f"{_THOUSAND * row.cost_per_query:.4g}", row.cost_estimated)
    return (
        row.name, *label, _cell(quality, strong=row.name == found.winner), between(quality.mean),
        pvalue(quality.pvalue), *(_cell(row.quality[name]) if name in row.quality else "" for name in others),
        *(f"{row.latency_ms[name]:.1f}" for name in LATENCY), cost,
        say("experiment.front_mark") if row.pareto else "",
    )  # fmt: skip


def about(number: str, estimated: object) -> str:
    """Mark a number that is an estimate."""
    return f"~{number}" if estimated and number else number


def _cell(quality: Quality, *, strong: bool = False) -> Cell:
    mark = {"better": _BETTER, "worse": _WORSE}.get(quality.verdict, "")
    return Cell(number(quality.mean.estimate), mark, strong=strong)


def figures(found: Findings) -> Table | None:
    """Every figure of an experiment as a row: measures, latency, index. None where columns are enough."""
    done = found.done
    labels = list(dict.fromkeys(name for row in done for name in row.quality))
    if len(labels) <= _COLUMNS:
        return None
    rows: list[tuple[str | Cell, ...]] = [_figure(label, done, methods_of(found, label)) for label in labels]
    for name, key in LATENCY.items():
        times = [row.latency_ms.get(name) for row in done]
        rows.append((say(key), "", *("" if ms is None else f"{ms:,.1f}" for ms in times)))
    traces = [row.index for row in done]
    if any(trace is not None for trace in traces):
        shown = [("", "", "") if trace is None else _index_figures(trace) for trace in traces]
        rows += [
            (say(f"column.{key}"), "", *(figures[place] for figures in shown))
            for place, key in enumerate(("build", "chunks", "index_size"))
        ]
    headers = (say("column.measure"), say("column.method"), *(row.name for row in done))
    return Table(headers, tuple(rows), caption=say("experiment.figures"), names=2)


def _index_figures(trace: IndexTrace) -> tuple[str, str, str]:
    return three_digits(trace.build_seconds), f"{trace.chunks:,}", three_digits(trace.bytes / _MEGA)


def published(found: Findings) -> Table | None:
    """Figures that somebody published, as the experiment file has them; never mixed with what was measured."""
    if found.reference is None or not found.reference.figures:
        return None
    rows = found.reference.figures
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    digits = {name: max(_digits(row.get(name)) for row in rows.values()) for name in columns}
    body = tuple(
        (name, *(_as_printed(row.get(column), digits[column]) for column in columns)) for name, row in rows.items()
    )
    caption = say("experiment.published", source=found.reference.source or "?")
    return Table((say("column.system"), *columns), body, caption=caption)


def _digits(value: object) -> int:
    return len(repr(value).partition(".")[2]) if isinstance(value, float) else 0


def _as_printed(value: object, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else "" if value is None else str(value)


def _figure(label: str, done: Sequence[Row], methods: list[str]) -> tuple[str | Cell, ...]:
    cells: list[str | Cell] = []
    for row in done:
        quality = row.quality.get(label)
        mean = None if quality is None else quality.mean.estimate
        by = f" ({quality.method})" if quality is not None and len(methods) > 1 and quality.method else ""
        cells.append("" if mean is None else Cell(f"{mean:.4f}{by}"))
    return (label, ", ".join(methods), *cells)


def methods_of(found: Findings, label: str) -> list[str]:
    """Who judged the answers behind a measure, over all combinations; nobody for other measures."""
    values = [row.quality[label].method for row in found.combinations if label in row.quality]
    return list(dict.fromkeys(method for method in values if method))


def titled(label: str, methods: list[str]) -> str:
    """The label of a measure with the method that judged, unless the label names it."""
    return f"{label} [{', '.join(methods)}]" if methods and "method=" not in label else label


def sentences(found: Findings) -> list[Said]:
    """Say what the table shows."""
    first = found.scores[0] if found.scores else None
    n, protocol = (0, "") if first is None else (first.judged, str(first.protocol))
    said = [
        say(
            "experiment.summary", n=n, protocol=protocol, dagger=_BETTER, double=_WORSE, baseline=found.baseline,
            alpha=_ALPHA,
        )
        if len(found.done) > 1
        else say("experiment.summary_one", n=n, protocol=protocol)
    ]  # fmt: skip
    rest = [
        say("experiment.row_failed", name=row.name, reason=row.reason) for row in found.combinations if not row.done
    ]
    return [*said, *outcome(found), *rest]


def outcome(found: Findings) -> list[Said]:
    """Say which combination won, how far to trust that, and which are on the front."""
    done = found.done
    if not found.winner or not done:
        return []
    value = found.row(found.winner).quality[found.measure].mean.estimate or 0.0
    said = [say("experiment.winner", measure=found.measure, name=found.winner, value=value)]
    if found.holdout is not None:
        said.append(_holdout(found.holdout, found.winner, found.baseline))
    elif len(done) > 1:
        said.append(say("experiment.no_holdout", n=len(done)))
    names = [row.name for row in done if row.pareto]
    said += [say("experiment.front", measure=found.measure, names=names)] if len(done) > 1 else []
    embedders = _embedders(done)
    return [*said, say("experiment.embedders", names=embedders)] if embedders else said


def _embedders(done: Sequence[Row]) -> list[str]:
    """Embedders that combinations used, with their stages where not all stages used the same."""
    found = dict.fromkeys(
        (stage, str(chosen["embedder"]))
        for row in done
        for stage, chosen in row.stages_chosen.items()
        if chosen.get("embedder")
    )
    names = dict.fromkeys(name for _, name in found)
    return list(names) if len(names) == 1 else [f"{name} ({stage})" for stage, name in found]


def _holdout(check: Holdout, winner: str, baseline: str) -> Said:
    values: dict[str, Any] = {
        "chosen": check.chosen_on, "held": check.queries, "name": winner,
        "value": check.winner.estimate or 0.0, "interval": _ends(check.winner),
    }  # fmt: skip
    if check.difference is None or check.baseline is None:
        return say("experiment.holdout_same", **values)
    return say(
        "experiment.holdout", **values, baseline=baseline, base=check.baseline.estimate or 0.0,
        difference=check.difference.estimate or 0.0, bounds=_ends(check.difference, signed=True),
        p=pvalue(check.pvalue),
    )  # fmt: skip


def _ends(value: Interval, *, signed: bool = False) -> str:
    return behind(value.low, value.high, "+.4f" if signed else ".4f", reason=value.reason)


def stages(found: Findings) -> Table:
    """Time, tokens and money of each stage of each combination."""
    rows = tuple(
        (
            row.name, stage.stage, f"{stage.ms_p50:.2f}", f"{stage.ms_p95:.2f}",
            about(f"{stage.tokens:,}", stage.estimated),
            "" if stage.money is None else about(f"{stage.money:.6g}", stage.money_estimated),
        )
        for row in found.combinations
        for stage in row.stages
    )  # fmt: skip
    names = ("system", "stage", "p50", "p95", "tokens", "money")
    return Table(tuple(say(f"column.{name}") for name in names), rows, caption=say("experiment.stages"), names=2)


def three_digits(value: float) -> str:
    """A size with three digits that say something, never as a power of ten: 0.00412, 1.25, 1,250."""
    places = 2 if value <= 0 else min(6, max(0, 2 - math.floor(math.log10(value))))
    return f"{value:,.{places}f}"


def indexes(found: Findings) -> Table | None:
    """Build time, chunks, size and memory of the indexes."""
    rows = tuple(
        (
            row.name, f"{row.index.chunks:,}", three_digits(row.index.build_seconds),
            three_digits(row.index.bytes / _MEGA),
            three_digits(row.index.peak_memory_bytes / _MEGA),
        )
        for row in found.combinations
        if row.index is not None
    )  # fmt: skip
    names = ("system", "chunks", "build", "index_size", "peak")
    headers = tuple(say(f"column.{name}") for name in names)
    return Table(headers, rows, caption=say("experiment.indexes")) if rows else None


def view(found: Findings) -> list[Block]:
    """All of it, as the command shows it."""
    return document(found)
