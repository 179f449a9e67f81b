"""What an experiment looks like: one table of all combinations, tables of stages and indexes, the winner in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.analysis.edges import NamedMean, warn_of_edges
from assay.errors import excerpt
from assay.messages import Said, say, word
from assay.report.blocks import Block, Chart, Fold, Lines, Point, Verdict
from assay.report.intervals import behind, between, interval_column
from assay.report.marks import FRONT, daggers, mark
from assay.report.numbers import about, number, pvalue, three_digits
from assay.report.tables import Cell, Table
from assay.report.views import axes, conclusion
from assay.report.views.scores import definitions, name_method, unevenness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.results.experiment import Findings, Holdout, IndexTrace, Quality, Row
    from assay.stats.intervals import Interval

_MEGA, _THOUSAND = 1e6, 1000
_COLUMNS = 6  # measures that fit beside each other; more of them are rows of a table of their own
LATENCY = {"mean": "column.mean_ms", "p50": "column.p50", "p95": "column.p95", "p99": "column.p99"}


def line(found: Findings) -> Verdict:
    """Say which combination won, and whether that is shown; without judgments, how many ran."""
    failed = len(found.combinations) - len(found.done)
    told = conclusion.line(found.conclusion)
    if found.stamp:
        told = Verdict(say("axes.stamped" if found.of_known_items else "axes.stamped_model", text=told.text), told.tone)
    if not found.judged:
        told = Verdict(say("experiment.unjudged", n=len(found.done)))
    elif not found.done or found.conclusion.state == "nothing":
        told = Verdict(say("experiment.none"), "bad")
    if not failed:
        return told
    return Verdict(say("text.then", first=told.text, second=say("experiment.how_many_failed", n=failed)), told.tone)


def table(found: Findings, *, brief: bool = False) -> list[Block]:
    """Put an experiment together, the most important part first."""
    blocks: list[Block] = [summary(found)]
    blocks += [] if (every := figures(found)) is None else [every]
    blocks.append(Lines(tuple(sentences(found))))
    blocks += [] if (known := reference_figures(found)) is None else [known]
    blocks += [] if (ended := outcomes(found)) is None else [ended]
    blocks += [] if (declined := refusals(found)) is None else [declined]
    if not brief:
        blocks.append(stages(found))
        blocks += [] if (built := indexes(found)) is None else [built]
    if (alike := agreements(found)) is not None:
        blocks.append(alike)
    edges = warn_of_edges(_means(found))  # of all means that are shown; a comparison told of those of common queries
    named = {text.key for text in edges}
    warned = (*(text for text in found.warnings if getattr(text, "key", "") not in named), *edges)
    return [*blocks, Lines(warned, listed=True)] if warned else blocks


def _means(found: Findings) -> list[NamedMean]:
    """The means of all combinations, those of the deciding measure first."""
    labels = sorted(found.measures, key=lambda label: label != found.measure)
    shown = [(label, row.name, row.quality.get(label)) for label in labels for row in found.done]
    return [NamedMean(label, name, quality.mean) for label, name, quality in shown if quality is not None]


def page(found: Findings, place: int = 0) -> list[Block]:
    """The tables, and quality against latency and money."""
    drawn = [_front(found, "latency", place), _front(found, "money", place)]
    work, built = stages(found), indexes(found)
    every = _intervals(found)
    folds: list[Block] = [] if every is None else [Fold(say("experiment.intervals"), (every,))]
    folds += [Fold(say("experiment.stages"), (work,))] if work.rows else []
    folds += [] if built is None else [Fold(say("experiment.indexes"), (built,))]
    return [*table(found, brief=True), *(chart for chart in drawn if chart is not None), *folds]


def summary(found: Findings) -> Table:
    """One row per combination: measures, interval and p of the deciding one, latency, money, the front."""
    if not found.judged:
        return _times(found)
    first = found.measure
    others = [label for label in found.measures if label != first] if len(found.measures) <= _COLUMNS else []
    methods = {label: methods_of(found, label) for label in (first, *others)}
    headers = (
        say("column.system"), *([say("column.description")] if found.labels else []),
        title_of(first, methods[first]), _interval_column(found, [first]),
        say("column.from_baseline", baseline=found.baseline), *(title_of(label, methods[label]) for label in others),
        *map(say, LATENCY.values()), say("column.cost_thousand"), say("column.front"),
    )  # fmt: skip
    rows = tuple(_row(row, first, others, found) for row in found.combinations)
    return Table(headers, rows, names=2 if found.labels else 1)


def _times(found: Findings) -> Table:
    """One row per combination: latency and money, where nothing was scored."""
    described = bool(found.labels)
    headers = (
        say("column.system"), *([say("column.description")] if described else []),
        *map(say, LATENCY.values()), say("column.cost_thousand"),
    )  # fmt: skip

    def cells(row: Row) -> tuple[str | Cell, ...]:
        label = [found.labels.get(row.name, "")] if described else []
        return (*label, *(_latency(row, name) for name in LATENCY), _cost(row))

    return Table(headers, _rows(found, len(headers), cells), names=2 if described else 1)


def outcomes(found: Findings) -> Table | None:
    """How the questions of applications ended: each question is in one row."""
    rows = tuple(
        (
            row.name, say(f"experiment.question_{one.status}"), word("call", one.reason) if one.reason else "",
            f"{one.questions:,}", excerpt(one.example) if one.example else "",
        )
        for row in found.combinations
        for one in row.outcomes
    )  # fmt: skip
    headers = (
        say("column.system"), say("column.status"), say("column.reason"), say("column.questions"),
        say("column.example"),
    )  # fmt: skip
    caption = say("experiment.outcomes")
    told = [
        say("experiment.first_token", name=row.name, **{p: row.latency_ms[f"first_token_{p}"] for p in ("p50", "p95")})
        for row in found.combinations
        if "first_token_p50" in row.latency_ms
    ]
    if told:
        caption = say("text.then", first=caption, second=told)
    return Table(headers, rows, caption=caption, names=2, texts=(2, 4)) if rows else None


def refusals(found: Findings) -> Table | None:
    """How each combination took the questions that no document answers."""
    if not found.refusals:
        return None
    headers = (
        say("column.system"), say("column.questions"), say("column.refused"), say("column.right_refusals"),
        interval_column([one.right for one in found.refusals]), say("column.failed"), say("column.answered_anyway"),
    )  # fmt: skip
    rows = tuple(
        (
            one.system, f"{one.questions:,}", f"{one.refused:,}", number(one.right.estimate), between(one.right),
            one.reason or (f"{one.failed:,}" if one.failed else ""), excerpt(one.answered) if one.answered else "",
        )
        for one in found.refusals
    )  # fmt: skip
    return Table(headers, rows, caption=say("experiment.refusals"), texts=(6,))


def agreement_alone(found: Findings, heading: Said) -> list[Block]:
    """How far combinations agree, and what is to be said about their queries."""
    blocks: list[Block] = [Lines((heading,))]
    blocks += [] if (table := agreements(found)) is None else [table]
    return [*blocks, Lines(found.warnings, listed=True)] if found.warnings else blocks


def agreements(found: Findings) -> Table | None:
    """How far combinations agree, two by two."""
    if not found.agreements:
        return None
    one = found.agreements[0]
    headers = (
        say("column.system"), say("column.other_system"), say("column.rbo"), say("column.overlap", k=one.k),
        say("column.unit"), say("column.queries"),
    )  # fmt: skip
    rows = tuple(
        (
            each.first, each.second, "" if each.rbo is None else f"{each.rbo:.4f}",
            "" if each.overlap is None else f"{each.overlap:.1%}", say(f"experiment.{each.unit}"), f"{each.queries:,}",
        )
        for each in found.agreements
    )  # fmt: skip
    return Table(headers, rows, caption=say("experiment.agreement"), names=2, texts=(4,))


def ladder(found: Findings) -> Table:
    """The deciding measure with its interval and its p, the latency and the front: what a choice needs at a glance."""
    first = found.measure
    headers = (
        say("column.system"), title_of(first, methods_of(found, first)), _interval_column(found, [first]),
        say("column.from_baseline", baseline=found.baseline), say(LATENCY["p95"]), say("column.front"),
    )  # fmt: skip

    def cells(row: Row) -> tuple[str | Cell, ...]:
        mean = _deciding(row.quality.get(first), strong=_leads(found, row))
        return (*mean, _latency(row, "p95"), FRONT if row.pareto else "")

    return Table(headers, _rows(found, len(headers), cells))


def side_by_side(found: Findings, labels: Sequence[str]) -> Table:
    """Some measures of every combination beside its latency and the time that its index took."""
    chosen = [label for label in labels if label in found.measures]
    titles = [title_of(label, methods_of(found, label)) for label in chosen]
    headers = (say("column.system"), *titles, say(LATENCY["p95"]), say("column.build"))

    def cells(row: Row) -> tuple[str | Cell, ...]:
        built = "" if row.index is None else three_digits(row.index.build_seconds)
        return (*(_cell(row.quality.get(label)) for label in chosen), _latency(row, "p95"), built)

    return Table(headers, _rows(found, len(headers), cells))


def _rows(
    found: Findings, size: int, cells: Callable[[Row], tuple[str | Cell, ...]]
) -> tuple[tuple[str | Cell, ...], ...]:
    """A row for each combination; one that failed says so and is empty."""
    failed: tuple[str | Cell, ...] = (_failure_cell(), *("" for _ in range(size - 2)))
    return tuple((row.name, *(cells(row) if row.done else failed)) for row in found.combinations)


def _failure_cell() -> Cell:
    return Cell(say("experiment.failed"), tone="bad")


def _deciding(quality: Quality | None, *, strong: bool) -> tuple[str | Cell, ...]:
    """The mean of the deciding measure, its interval, and the p-value of its difference from the baseline's."""
    mean = _cell(quality, strong=strong)
    return (mean, "", "") if quality is None else (mean, between(quality.mean), pvalue(quality.pvalue))


def _latency(row: Row, name: str) -> str:
    return "" if row.latency_ms.get(name) is None else f"{row.latency_ms[name]:,.1f}"


def _row(row: Row, first: str, others: list[str], found: Findings) -> tuple[str | Cell, ...]:
    label = [found.labels.get(row.name, "")] if found.labels else []
    if not row.done:
        return (row.name, *label, _failure_cell(), *("" for _ in range(len(others) + 4 + len(LATENCY))))
    return (
        row.name, *label, *_deciding(row.quality.get(first), strong=_leads(found, row)),
        *(_cell(row.quality.get(name)) for name in others),
        *(_latency(row, name) for name in LATENCY), _cost(row),
        FRONT if row.pareto else "",
    )  # fmt: skip


def _cost(row: Row) -> str:
    return "" if row.cost_per_query is None else about(f"{_THOUSAND * row.cost_per_query:.4g}", row.cost_estimated)


def _cell(quality: Quality | None, *, strong: bool = False) -> Cell:
    return Cell("") if quality is None else Cell(number(quality.mean.estimate), mark(quality.verdict), strong=strong)


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


def _intervals(found: Findings) -> Table | None:
    """Every mean with its interval, where there is more than the deciding measure."""
    if len(found.measures) < 2:  # noqa: PLR2004
        return None
    rows = tuple(
        (label, row.name, _cell(quality), between(quality.mean), pvalue(quality.pvalue))
        for label in found.measures
        for row in found.done
        if (quality := row.quality.get(label)) is not None
    )
    headers = (
        say("column.measure"), say("column.system"), say("column.mean"), _interval_column(found, found.measures),
        say("column.from_baseline", baseline=found.baseline),
    )  # fmt: skip
    return Table(headers, rows, names=2)


def _interval_column(found: Findings, labels: Sequence[str]) -> Said:
    qualities = (row.quality.get(label) for row in found.done for label in labels)
    return interval_column(one.mean for one in qualities if one is not None)


def _index_figures(trace: IndexTrace) -> tuple[str, str, str]:
    return three_digits(trace.build_seconds), f"{trace.chunks:,}", three_digits(trace.bytes / _MEGA)


def reference_figures(found: Findings) -> Table | None:
    """Published figures from the experiment file, never mixed with what was measured."""
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
        if quality is None or mean is None:
            cells.append("")
            continue
        by = quality.method if len(methods) > 1 else ""
        shown = say("measure.judged_by", value=number(mean), method=name_method(by)) if by else number(mean)
        cells.append(shown)
    return (label, say("text.list", parts=[name_method(method) for method in methods]) if methods else "", *cells)


def methods_of(found: Findings, label: str) -> list[str]:
    """The methods that judged the answers behind a measure, over all combinations; none for other measures."""
    values = [row.quality[label].method for row in found.combinations if label in row.quality]
    return list(dict.fromkeys(method for method in values if method))


def title_of(label: str, methods: list[str]) -> str:
    """The label of a measure with the method that judged, unless the label names it."""
    if not methods or "method=" in label:
        return label
    return say("measure.by_methods", label=label, methods=[name_method(method) for method in methods])


def sentences(found: Findings) -> list[str]:
    """Describe in sentences what the table shows."""
    told = [*unevenness(found.scores[0]), *definitions(found.scores[0])] if found.scores else []
    said = [basis(found), *told] if found.judged else [say("experiment.unjudged", n=len(found.done))]
    rest = [
        say("experiment.row_failed", name=row.name, reason=row.reason) for row in found.combinations if not row.done
    ]
    return [*said, *outcome(found), *axes.lines(found), *rest]


def basis(found: Findings) -> Said:
    """Describe the queries and rules behind the numbers, and what the marks mean."""
    if not found.scores:  # a part that was stored alone: there is no telling how many queries it had
        return daggers(found.baseline, found.alpha)
    n, protocol = found.scores[0].judged, str(found.scores[0].protocol)
    if len(found.done) < 2:  # noqa: PLR2004
        return say("experiment.summary_one", n=n, protocol=protocol)
    return say("experiment.summary", n=n, protocol=protocol, marks=daggers(found.baseline, found.alpha))


def front(found: Findings) -> list[Said]:
    """Say which combinations none beats in quality, latency and money, where there are several."""
    names = [row.name for row in found.done if row.pareto]
    unsure = [row.name for row in found.done if row.within_noise]
    said = [say("experiment.front", measure=found.measure, names=names)] if len(found.done) > 1 else []
    return [*said, *([say("experiment.front_noise", names=unsure)] if unsure else [])]


def _leads(found: Findings, row: Row) -> bool:
    return len(found.done) > 1 and row.name in found.conclusion.best


def outcome(found: Findings) -> list[Said]:
    """Say which combination won, how far to trust that, and which are on the front."""
    done, best = found.done, found.conclusion
    if not done or best.state == "nothing":
        return []
    said = [conclusion.sentence(best), *([] if (told := conclusion.against_baseline(best)) is None else [told])]
    if found.holdout is not None:
        said.append(_holdout(found.holdout, found.winner or found.baseline, found.baseline))
        said += [] if (told := conclusion.on_holdout(best)) is None else [told]
    elif len(done) > 1 and len(best.best) == 1:
        said.append(say("experiment.no_holdout", n=len(done)))
    said += front(found)
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
    return (
        list(names) if len(names) == 1 else [say("{name} ({other})", name=name, other=stage) for stage, name in found]
    )


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
            "" if stage.output_tokens is None else about(f"{stage.output_tokens:,}", stage.estimated),
            "" if stage.money is None else about(f"{stage.money:.6g}", stage.money_estimated),
        )
        for row in found.combinations
        for stage in row.stages
    )  # fmt: skip
    names = ("system", "stage", "p50", "p95", "tokens", "output_tokens", "money")
    return Table(tuple(say(f"column.{name}") for name in names), rows, caption=say("experiment.stages"), names=2)


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


def _front(found: Findings, cost: Literal["latency", "money"], place: int) -> Chart | None:
    """Quality against what it costs; those that nothing beats in both are joined."""
    priced = [(row, row.price(cost), found.value_of(row)) for row in found.done]
    shown = {row.name: Point(price, mean, series=_series(row), label=row.name)
             for row, price, mean in priced if price is not None and mean is not None}  # fmt: skip
    if len(shown) < 2:  # noqa: PLR2004
        return None
    points = tuple(shown.values())
    axis = say("axis.p95") if cost == "latency" else say("axis.cost_per_query")
    rows = tuple((p.label, f"{p.x:,.6g}", number(p.y), FRONT if row.pareto else "")
                 for row in found.done if (p := shown.get(row.name)) is not None)  # fmt: skip
    table = Table((say("column.system"), axis, found.measure, say("column.front")), rows, texts=(3,))
    edge = tuple((float(p.x), p.y) for row in found.edge(cost) if (p := shown.get(row.name)) is not None)
    name = f"front-{'latency' if cost == 'latency' else 'cost'}-{place}"
    title = say("chart.front", measure=found.measure, cost=axis)
    return Chart(name, "frontier", title, axis, found.measure, points, table, line=edge, write_x="{:,.6g}".format)


def _series(row: Row) -> Said:
    return say("experiment.on_front") if row.pareto else say("experiment.beaten")
