"""Score answers: one value per sample and measure, with the method that judged it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from assay.analysis.answer_methods import judge_samples
from assay.analysis.answer_plan import plan_answers
from assay.analysis.answer_stages import StageFinding, stage_of
from assay.analysis.means import column_mean
from assay.analysis.warnings import agreement, find_score_warnings
from assay.data.scores import Counts, Scores
from assay.data.status import STATUSES
from assay.errors import UsageError, excerpt
from assay.formats.samples import as_samples, join_samples
from assay.grounding.record import Blank
from assay.messages import say, some
from assay.results.answers import AnswerCell, AnswerDetails, JudgedSample
from assay.results.support import Method

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from assay.analysis.answer_plan import AnswerPlan
    from assay.data.nuggets import QuestionNuggets
    from assay.data.protocol import AnswerMethod, Protocol
    from assay.data.record import Record
    from assay.data.samples import Samples
    from assay.grounding.case import Case
    from assay.llm.progress import Progress
    from assay.measures import Measure
    from assay.messages import Lang
    from assay.stats.intervals import Interval

_NAMES = 4  # of systems in a message
_METHODS = frozenset(get_args(Method))


@dataclass(frozen=True)
class MethodColumn:
    """The cells of one measure that one method found; `definition` names the method."""

    label: str
    measure: Measure
    definition: Measure
    method: str | None
    cells: tuple[AnswerCell, ...]


@dataclass(frozen=True, eq=False)
class Answers(Scores):
    """Scores of answers, with what was found out about each sample."""

    outcomes: tuple[JudgedSample, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)

    def beside(self) -> tuple[Record, ...]:
        """What was found out about every sample."""
        return (answer_details([self]),)

    @property
    def methods(self) -> dict[str, int]:
        """How many samples each method judged."""
        return dict(Counter(outcome.support.method for outcome in self.outcomes))

    def interval(self, label: str) -> Interval:
        """The mean of a measure with its confidence interval, which stays within the measure's bounds."""
        return column_mean(self, label)

    @property
    def stages(self) -> dict[str, str | None]:
        """The stage of every sample by its id."""
        return {outcome.sample.query_id: outcome.stage for outcome in self.outcomes}


def answer_means(systems: Sequence[Scores]) -> dict[str, dict[str, Interval]]:
    """The means of all measures with their intervals, by system and label."""
    return {scores.name: {label: column_mean(scores, label) for label in scores.labels} for scores in systems}


def answer_details(systems: Sequence[Answers]) -> AnswerDetails:
    """Collect the findings about the samples of one or more systems."""
    methods: Counter[str] = Counter()
    for scores in systems:
        methods.update(scores.methods)
    embedder = next((scores.embedder for scores in systems if scores.embedder), "")
    several = len(systems) > 1
    return AnswerDetails(
        samples=tuple(
            replace(one, system=scores.name if several else "") for scores in systems for one in scores.outcomes
        ),
        methods=dict(methods),
        agreement={method: agreement(method, embedder) for method in methods},
        columns=dict(systems[0].mapping),
        means=answer_means(systems),
        scores=tuple(systems),
    )


def answers(
    samples: Any,
    measures: Sequence[str | Measure] | None = None,
    *,
    method: AnswerMethod | None = None,
    judge: Any = None,
    embedder: Any = "auto",
    text_lang: Lang | None = None,
    columns: Mapping[str, str] | None = None,
    protocol: str | Protocol = "answers",
    mix: bool = False,
    calibration: str = "",
    cluster: str | Mapping[str, str] | None = None,
    nuggets: str | os.PathLike[str] | Sequence[QuestionNuggets] | None = None,
    name: str | None = None,
    max_chars: int = 60_000,
    progress: Callable[[Progress], object] | None = None,
    deadline: float | None = None,
) -> Answers:
    """Evaluate answers: samples may be a path, a list of dicts, a frame, or samples.

    `judge` is a language model: an `assay.llm.Client`, or a function from messages to text. With method `auto`, it
    judges; where it fails or there is none, words take over, and embeddings where words fail. Method `s4` has
    embeddings before words; without a method, the protocol's applies. Each value has its method beside it, and a mean
    holds values of one method unless `mix` asks for all. Several systems are for `answer_systems`. Samples of one
    conversation, or with the same value of the column `cluster`, are counted as one in intervals and tests. `nuggets`,
    a file or what `read_nuggets` returns, are given to the samples with their ids.

    >>> import assay
    >>> samples = [{"question": "When was it built?", "answer": "In 1889.", "contexts": ["It was built in 1889."]}]
    >>> assay.answers(samples, "faithfulness", method="words")["faithfulness"]
    1.0
    """
    read = as_samples(samples, columns=columns)
    if len(read.systems) > 1:
        column = excerpt(read.mapping.get("system", "system"))
        raise UsageError(
            say(
                "the column {column} names {n} systems ({names}): assay.answer_systems evaluates each of them",
                column=column,
                n=len(read.systems),
                names=some(read.systems, _NAMES),
            )
        )
    plan = plan_answers(
        read, measures, method=method, judge=judge, embedder=embedder, text_lang=text_lang,
        protocol=protocol, mix=mix, calibration=calibration, cluster=cluster, nuggets=nuggets,
        name=name, max_chars=max_chars, progress=progress, deadline=deadline,
    )  # fmt: skip
    return score_answers(plan)


def answer_systems(
    samples: Any,
    measures: Sequence[str | Measure] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Answers]:
    """Evaluate the answers of several systems; returns scores by system, which `compare` accepts.

    The systems are named in a column `system` of the samples, or `samples` maps names to samples. All are judged
    together, by the same embeddings and the same questions; `more` are the arguments of `answers`.

    >>> import assay
    >>> samples = [
    ...     {"id": "1", "system": "old", "answer": "In 1920.", "reference": "In 1889."},
    ...     {"id": "1", "system": "new", "answer": "In 1889.", "reference": "In 1889."},
    ... ]
    >>> {name: scores["exact_match"] for name, scores in assay.answer_systems(samples, "exact_match").items()}
    {'old': 0.0, 'new': 1.0}
    """
    if isinstance(samples, Mapping):
        samples = join_samples({name: as_samples(part, columns=columns) for name, part in samples.items()})
    return score_systems(plan_answers(samples, measures, columns=columns, **more))


def score_answers(plan: AnswerPlan) -> Answers:
    """Judge every sample of one system and compute every measure."""
    return score_system(plan, plan.samples, judge_each(plan))


def score_systems(plan: AnswerPlan) -> dict[str, Answers]:
    """Judge every sample and compute every measure for each system; the plan names a system that no column names."""
    outcomes = judge_each(plan)
    names = plan.samples.systems
    found: dict[str, Answers] = {}
    for name in names or (plan.name,):
        own = plan.samples.of(name) if names else plan.samples
        mine = tuple(one for one in outcomes if not names or one.sample.system == name)
        found[name] = score_system(replace(plan, name=name), own, mine)
    if len(found) > 1 and not set.intersection(*(set(scores.query_ids) for scores in found.values())):
        apart = say("answers.apart")
        found = {name: replace(scores, notes=(*scores.notes, apart)) for name, scores in found.items()}
    return found


def judge_each(plan: AnswerPlan) -> tuple[JudgedSample, ...]:
    """Judge every sample and compute every measure."""
    rows = plan.samples.rows
    keys = sorted({plan.chain_of(measure) for measure in plan.measures.values()} | {plan.method})
    chains = {key: plan.here.chain(key) for key in keys}  # type: ignore[arg-type]
    judge = plan.here.judge if any("llm" in chain for chain in chains.values()) else None
    replies = None if judge is None else judge.ask(rows)  # once for all chains
    runs = {key: judge_samples(rows, chain, plan.here, replies) for key, chain in chains.items()}
    # Sample by sample, so that what was read in its contexts is still in memory for the next measure.
    return tuple(_outcome(plan, {key: cases[place] for key, cases in runs.items()}) for place in range(len(rows)))


def score_system(plan: AnswerPlan, samples: Samples, outcomes: tuple[JudgedSample, ...]) -> Answers:
    """Put what was found out about the samples of one system together to its scores."""
    cells = {label: [outcome.cells[label] for outcome in outcomes] for label in plan.measures}
    table = [column for label, mine in cells.items() for column in _columns(plan, label, mine)]
    return _scores(replace(plan, samples=samples), table, outcomes)


def _outcome(plan: AnswerPlan, cases: Mapping[str, Case]) -> JudgedSample:
    cells = {label: _cell(measure, cases[plan.chain_of(measure)]) for label, measure in plan.measures.items()}
    case = cases[plan.method]
    staged = _stage_unless_failed(stage_of(case), cells)
    return JudgedSample(case.sample, case.support, staged.stage, staged.why, cells, case.trail)


def _stage_unless_failed(found: StageFinding, cells: Mapping[str, AnswerCell]) -> StageFinding:
    """Return the stage, but not "fine" if a measure that was asked for could not be judged."""
    failed = next(
        (
            say("blank.fault", field=label, fault=cell.reason)
            for label, cell in cells.items()
            if cell.status == "failed"
        ),
        None,
    )
    return found if failed is None or found.stage != "fine" else StageFinding(None, failed)


def _cell(measure: Measure, case: Case) -> AnswerCell:
    value = measure.value(case)
    method, why = _method_of_value(measure, case)
    if isinstance(value, Blank):
        return AnswerCell(None, value.status, value.reason, method)
    if not math.isfinite(value):
        return AnswerCell(None, "failed", say("blank.not_finite", value=str(value)), method)
    note = case.grade(measure.criterion.name).reason if measure.criterion is not None and method == "llm" else ""
    if measure.spec.note is not None:
        note = measure.spec.note(case, measure.arguments)
    return AnswerCell(float(value), "scored", why, method, note)


def _method_of_value(measure: Measure, case: Case) -> tuple[str | None, str]:
    """The method that found a value, and why one before it failed to grade the answer."""
    named = measure.arguments.get("method", "auto")
    if not measure.needs_method:
        return (named if named not in {"auto", "mix"} else None), ""
    if measure.spec.needs_judge:
        return "llm", ""
    return (case.method, "") if measure.criterion is None else case.grader_of(measure.criterion.name)


# Columns: one for each measure and method, so that no mean mixes methods unless asked to ------------------------------


def _columns(plan: AnswerPlan, label: str, cells: Sequence[AnswerCell]) -> list[MethodColumn]:
    """Sort the cells of a measure by method; the first column has the measure's own label."""
    measure, chain = plan.measures[label], plan.here.chain(plan.method)
    alone = measure.spec.needs_judge
    if alone or not measure.needs_method:
        method = next((cell.method for cell in cells if cell.method), None)
        definition = measure(method="llm") if alone else measure
        return [MethodColumn(label, measure, definition, method, tuple(cells))]
    scored = {cell.method for cell in cells if cell.value is not None}
    own = str(measure.arguments.get("method"))
    order = [own] if own in _METHODS else [method for method in chain if method in scored] or [chain[-1]]
    if (plan.mix or own == "mix") and len(order) > 1:
        return [MethodColumn(label, measure, measure(method="mix"), "mix", tuple(cells))]
    return [_column(label, measure, method, cells, first=i == 0) for i, method in enumerate(order)]


def _column(label: str, measure: Measure, method: str, cells: Sequence[AnswerCell], *, first: bool) -> MethodColumn:
    definition = measure(method=method)
    own = tuple(cell if cell.value is None or cell.method == method else _leave_to_other_method(cell) for cell in cells)
    return MethodColumn(label if first else definition.text, measure, definition, method, own)


def _leave_to_other_method(cell: AnswerCell) -> AnswerCell:
    """A cell without a value, for a sample that another method judged."""
    return replace(
        cell, value=None, status="unjudged", reason=say("blank.judged_by", method=say(f"method.{cell.method}"))
    )


def _scores(plan: AnswerPlan, table: Sequence[MethodColumn], outcomes: tuple[JudgedSample, ...]) -> Answers:
    size = len(plan.samples.rows)
    values = np.full((size, len(table)), np.nan)
    status = np.zeros((size, len(table)), dtype=np.uint8)
    for i, column in enumerate(table):
        for place, cell in enumerate(column.cells):
            status[place, i] = STATUSES.index(cell.status)
            if cell.value is not None:
                values[place, i] = cell.value
            elif cell.status == "missing" and column.measure.spec.zero_if_missing and plan.protocol.missing == "zero":
                values[place, i] = 0.0
    judge = plan.here.judge
    used = judge is not None and any(column.method in {"llm", "mix"} for column in table)
    source = plan.samples.source
    scores = Answers(
        name=plan.name,
        query_ids=[sample.query_id for sample in plan.samples],
        columns=tuple(column.definition.column(column.label) for column in table),
        values=values,
        status=status,
        counts={column.label: _counts(column, values[:, i]) for i, column in enumerate(table)},
        protocol=plan.protocol,
        judgments=plan.samples.digest,
        inputs=(*(() if source is None else (("samples", source),)), *plan.inputs),
        file=None if source is None else source.portable,
        asked=plan.asked,
        judge=judge.name if used and judge is not None else "",
        calibration=plan.calibration,
        clusters=None if plan.clusters is None else tuple(plan.clusters[row.query_id] for row in plan.samples),
        embedder=_embedder(plan, table),
        outcomes=outcomes,
        mapping=plan.samples.mapping,
    )
    apart = (
        [say("answers.parts", labels=_labels_of_several_methods(table))] if _labels_of_several_methods(table) else []
    )
    return replace(
        scores,
        warnings=(*find_score_warnings(scores), *_fallbacks(scores), *_failures(scores), *apart),
        notes=plan.notes,
    )


def _embedder(plan: AnswerPlan, table: Sequence[MethodColumn]) -> str:
    """The embedder that produced any of the values."""
    used = any(column.definition.arguments.get("method") in {"embedding", "sigmoid", "mix"} for column in table)
    return plan.here.embeddings.embedder.name if used and plan.here.embeddings is not None else ""


def _labels_of_several_methods(table: Sequence[MethodColumn]) -> list[str]:
    """Labels of the measures that several methods found values of."""
    others = {column.measure for column in table if column.label == column.definition.text}
    return [column.label for column in table if column.measure in others and column.label != column.definition.text]


def _fallbacks(scores: Answers) -> list[str]:
    """Return how many samples a fallback method judged, with the most common reason."""
    by_method: dict[str, Counter[str]] = {}
    for outcome in scores.outcomes:
        fallen = {cell.method: cell.reason for cell in outcome.cells.values() if cell.value is not None and cell.reason}
        if outcome.trail and outcome.support.status != "failed":
            fallen[outcome.support.method] = outcome.trail[0]
        for method, reason in fallen.items():
            by_method.setdefault(str(method), Counter())[reason] += 1
    return [
        say("answers.fallback", n=reasons.total(), method=method, reason=reasons.most_common(1)[0][0])
        for method, reasons in by_method.items()
    ]


def _failures(scores: Answers) -> list[str]:
    """Return how many samples no method could judge, with the most common reason."""
    reasons = Counter(
        outcome.support.reason or (outcome.trail or ("",))[-1]
        for outcome in scores.outcomes
        if outcome.support.status == "failed"
    )
    lines = [say("answers.failed", n=reasons.total(), reason=reasons.most_common(1)[0][0])] if reasons else []
    return [*lines, *(say("answers.none", label=label, reason=_commonest(scores, label)) for label in scores.failed)]


def _commonest(scores: Answers, label: str) -> str:
    """The most common reason why values of a measure failed."""
    cells = [outcome.cells[label] for outcome in scores.outcomes if label in outcome.cells]
    return Counter(cell.reason for cell in cells if cell.status == "failed").most_common(1)[0][0]


def _counts(column: MethodColumn, values: Any) -> Counts:
    tally = Counter(cell.status for cell in column.cells)
    return Counts(
        queries=int((~np.isnan(values)).sum()),
        missing=tally["missing"],
        undefined=tally["undefined"],
        abstained=tally["abstained"],
        not_applicable=tally["not_applicable"],
        failed=tally["failed"],
        judged_by=dict(Counter(str(cell.method) for cell in column.cells if cell.status == "unjudged")),
    )
