"""What an experiment looks like: one table of all combinations, tables of stages and indexes, the winner in words."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assay.messages import Said, say
from assay.report.document import Block, Lines
from assay.report.intervals import behind, between
from assay.report.tables import Cell, Table
from assay.report.views.comparison import number, pvalue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.experiment import Findings, Holdout, Quality, Row

_ALPHA = 0.05
_BETTER, _WORSE = "\N{DAGGER}", "\N{DOUBLE DAGGER}"
_MEGA, _THOUSAND = 1e6, 1000
_COLUMNS = 6  # measures that fit beside each other; more of them are rows of a table of their own
LATENCY = {"mean": "column.mean_ms", "p50": "column.p50", "p95": "column.p95", "p99": "column.p99"}


def document(found: Findings, *, brief: bool = False) -> list[Block]:
    """Put an experiment together, the most important part first."""
    part = plain(found)
    blocks: list[Block] = [summary(found)]
    blocks += [] if (table := figures(part)) is None else [table]
    blocks.append(Lines(tuple(sentences(found))))
    blocks += [] if (table := published(part)) is None else [table]
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
    part = plain(found)
    methods = {label: methods_of(part, label) for label in (first, *others)}
    headers = (
        say("column.system"), *([say("column.description")] if found.labels else []),
        titled(first, methods[first]), say("column.interval", level=0.95),
        say("column.from_baseline", baseline=found.baseline), *(titled(label, methods[label]) for label in others),
        *map(say, LATENCY.values()), say("column.cost_thousand"), say("column.front"),
    )  # fmt: skip
    rows = tuple(_row(row, first, others, found) for row in found.rows)
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


def figures(part: Mapping[str, Any]) -> Table | None:
    """Every figure of an experiment, as written, as a row: measures, latency, index. None where columns are enough."""
    done = [one for one in part["combinations"] if one.get("status") == "done"]
    labels = list(dict.fromkeys(name for one in done for name in one.get("quality") or {}))
    if len(labels) <= _COLUMNS:
        return None
    rows: list[tuple[str | Cell, ...]] = [_figure(label, done, methods_of(part, label)) for label in labels]
    for name, key in LATENCY.items():
        times = [(one.get("latency_ms") or {}).get(name) for one in done]
        rows.append((say(key), "", *("" if ms is None else f"{float(ms):,.1f}" for ms in times)))
    traces = [one.get("index") or {} for one in done]
    for key, field, scale, form in (
        ("build", "build_seconds", 1.0, three_digits), ("chunks", "chunks", 1.0, "{:,.0f}".format),
        ("index_size", "bytes", _MEGA, three_digits),
    ):  # fmt: skip
        values = [trace.get(field) for trace in traces]
        if any(value is not None for value in values):
            shown = ("" if value is None else form(float(value) / scale) for value in values)
            rows.append((say(f"column.{key}"), "", *shown))
    headers = (say("column.measure"), say("column.method"), *(str(one["name"]) for one in done))
    return Table(headers, tuple(rows), caption=say("experiment.figures"), names=2)


def published(part: Mapping[str, Any]) -> Table | None:
    """Figures that somebody published, as the experiment file has them; never mixed with what was measured."""
    known = part.get("reference") or {}
    rows = known.get("figures") or {}
    if not rows:
        return None
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    digits = {name: max(_digits(row.get(name)) for row in rows.values()) for name in columns}
    body = tuple(
        (str(name), *(_as_printed(row.get(column), digits[column]) for column in columns)) for name, row in rows.items()
    )
    caption = say("experiment.published", source=str(known.get("source") or "?"))
    return Table((say("column.system"), *columns), body, caption=caption)


def _digits(value: object) -> int:
    return len(repr(value).partition(".")[2]) if isinstance(value, float) else 0


def _as_printed(value: object, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else "" if value is None else str(value)


def _figure(label: str, done: list[dict[str, Any]], methods: list[str]) -> tuple[str | Cell, ...]:
    cells: list[str | Cell] = []
    for one in done:
        value = (one.get("quality") or {}).get(label) or {}
        mean, method = value.get("mean"), str(value.get("method") or "")
        by = f" ({method})" if len(methods) > 1 and method else ""
        cells.append("" if mean is None else Cell(f"{float(mean):.4f}{by}"))
    return (label, ", ".join(methods), *cells)


def methods_of(part: Mapping[str, Any], label: str) -> list[str]:
    """Who judged the answers behind a measure, over all combinations; nobody for other measures."""
    values = ((one.get("quality") or {}).get(label) or {} for one in part["combinations"])
    return list(dict.fromkeys(str(value["method"]) for value in values if value.get("method")))


def titled(label: str, methods: list[str]) -> str:
    """The label of a measure with the method that judged, unless the label names it."""
    return f"{label} [{', '.join(methods)}]" if methods and "method=" not in label else label


def sentences(found: Findings) -> list[Said]:
    """Say what the table shows."""
    n, protocol = found.systems[0].judged, str(found.settings.protocol)
    said = [
        say(
            "experiment.summary", n=n, protocol=protocol, dagger=_BETTER, double=_WORSE, baseline=found.baseline,
            alpha=_ALPHA,
        )
        if len(found.systems) > 1
        else say("experiment.summary_one", n=n, protocol=protocol)
    ]  # fmt: skip
    failed = [row for row in found.rows if not row.done]
    rest = [say("experiment.row_failed", name=row.name, reason=row.reason) for row in failed]
    return [*said, *outcome(plain(found)), *rest]


def deciding(part: Mapping[str, Any]) -> str:
    """The measure that decided an experiment, as written; the first one where a file does not say."""
    first = next((label for one in part["combinations"] for label in one.get("quality") or {}), "")
    return str(part.get("measure") or first)


def outcome(part: Mapping[str, Any]) -> list[Said]:
    """Say of an experiment, as written, which combination won, how far to trust that, and which are on the front."""
    winner, measure = part.get("winner"), deciding(part)
    done = [one for one in part["combinations"] if one.get("status") == "done"]
    if not winner or not done:
        return []
    quality = next(one["quality"] for one in done if one["name"] == winner["name"])
    said = [say("experiment.winner", measure=measure, name=winner["name"], value=_mean(quality[measure]))]
    if winner.get("holdout"):
        said.append(_holdout(winner["holdout"], str(winner["name"]), str(part["baseline"])))
    elif len(done) > 1:
        said.append(say("experiment.no_holdout", n=len(done)))
    names = [one["name"] for one in done if one.get("pareto")]
    said += [say("experiment.front", measure=measure, names=names)] if len(done) > 1 else []
    embedders = _embedders(done)
    return [*said, say("experiment.embedders", names=embedders)] if embedders else said


def _embedders(done: Sequence[Mapping[str, Any]]) -> list[str]:
    """Embedders that combinations used, with their stages where not all stages used the same."""
    found = dict.fromkeys(
        (stage, str(chosen["embedder"]))
        for one in done
        for stage, chosen in (one.get("stages_chosen") or {}).items()
        if chosen.get("embedder")
    )
    names = dict.fromkeys(name for _, name in found)
    return list(names) if len(names) == 1 else [f"{name} ({stage})" for stage, name in found]


def _holdout(check: Mapping[str, Any], winner: str, baseline: str) -> Said:
    values: dict[str, Any] = {
        "chosen": check["chosen_on"], "held": check["queries"], "name": winner,
        "value": _mean(check["winner"]), "interval": _ends(check["winner"]),
    }  # fmt: skip
    change = check.get("difference")
    if change is None or check.get("baseline") is None:
        return say("experiment.holdout_same", **values)
    return say(
        "experiment.holdout", **values, baseline=baseline, base=_mean(check["baseline"]), difference=_mean(change),
        bounds=_ends(change, signed=True), p=pvalue(check["pvalue"]),
    )  # fmt: skip


def _mean(value: Mapping[str, Any]) -> float:
    return float(value["mean"] or 0.0)


def _ends(value: Mapping[str, Any], *, signed: bool = False) -> str:
    form = "+.4f" if signed else ".4f"
    return behind(value["low"], value["high"], form, reason=str(value.get("reason") or ""))


def stages(found: Findings) -> Table:
    """Time, tokens and money of each stage of each combination."""
    rows = tuple(
        (
            row.name, stage.stage, f"{stage.ms_p50:.2f}", f"{stage.ms_p95:.2f}",
            about(f"{stage.tokens:,}", stage.estimated),
            "" if stage.money is None else about(f"{stage.money:.6g}", stage.money_estimated),
        )
        for row in found.rows
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
        for row in found.rows
        if row.index is not None
    )  # fmt: skip
    names = ("system", "chunks", "build", "index_size", "peak")
    headers = tuple(say(f"column.{name}") for name in names)
    return Table(headers, rows, caption=say("experiment.indexes")) if rows else None


def plain(found: Findings) -> dict[str, Any]:
    """Plain values for a result file."""
    axes: dict[str, list[str]] = {}
    for row in found.rows:
        for axis, value in row.combination.axes.items():
            values = axes.setdefault(axis, [])
            values += [value] if value not in values else []
    return {
        "axes": axes,
        "measure": found.measure,
        "baseline": found.baseline,
        "winner": {"name": found.winner, "holdout": None if found.holdout is None else _plain_holdout(found.holdout)},
        "combinations": [_plain_row(row, found.labels.get(row.name, "")) for row in found.rows],
        **({} if found.reference is None else {"reference": asdict(found.reference)}),
    }


def _plain_row(row: Row, label: str) -> dict[str, Any]:
    return {
        "name": row.name,
        **({"description": label} if label else {}),
        "axes": dict(row.combination.axes),
        "stages_chosen": {
            stage: {"method": choice.method, **choice.params, **({"size": choice.size} if choice.size else {})}
            for stage, choice in row.combination.choices.items()
        },
        "status": "done" if row.done else "failed",
        "reason": row.reason or None,
        "pareto": row.pareto,
        "quality": {label: _plain_quality(quality) for label, quality in row.quality.items()},
        "latency_ms": dict(row.latency_ms),
        "stages": [asdict(stage) for stage in row.stages],
        "index": None if row.index is None else asdict(row.index),
        "cost_per_query": row.cost_per_query,
        "cost_estimated": row.cost_estimated,
    }


def _plain_quality(quality: Quality) -> dict[str, Any]:
    mean = quality.mean
    return {
        "mean": mean.estimate, "low": mean.low, "high": mean.high, "reason": mean.reason, "pvalue": quality.pvalue,
        "verdict": quality.verdict, **({"method": quality.method} if quality.method else {}),
    }  # fmt: skip


def _plain_holdout(check: Holdout) -> dict[str, Any]:
    def interval(one: Any) -> Mapping[str, Any] | None:
        if one is None:
            return None
        return {"mean": one.estimate, "low": one.low, "high": one.high, "reason": one.reason}

    contrast = check.contrast
    return {
        "queries": check.queries,
        "chosen_on": check.chosen_on,
        "measure": check.measure,
        "winner": interval(check.winner),
        "baseline": interval(check.baseline),
        "difference": None if contrast is None else interval(contrast.difference),
        "pvalue": None if contrast is None else contrast.pvalue,
    }
