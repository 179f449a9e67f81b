"""From samples to scores: what answers are worth, and which method says so."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.answer_columns import Cell, Column, columns_of
from assay.analysis.answer_methods import Available, embeddings, is_order, judged, words_first
from assay.analysis.answer_stages import Staged, stage_of
from assay.analysis.doubts import doubts
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import answer_measures, for_answers
from assay.data.scores import STATUSES, Counts, Scores
from assay.errors import UsageError, excerpt
from assay.formats.files import system_name
from assay.formats.samples import as_samples, join_samples
from assay.grounding.citations import marks
from assay.grounding.holding import flag
from assay.grounding.record import Blank
from assay.messages import say
from assay.stats.intervals import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.protocol import AnswerMethod, Protocol
    from assay.data.samples import Sample, Samples
    from assay.grounding.case import Case
    from assay.grounding.record import Support
    from assay.judge.answers import AnswerJudge
    from assay.llm.progress import Progress
    from assay.measures import Measure
    from assay.messages import Lang
    from assay.stats.intervals import Interval
    from assay.text.embeddings import Chosen

_NAMES = 4  # of systems in a message
_LOOKED_AT = 200  # samples that tell the language of all


@dataclass(frozen=True)
class Outcome:
    """All that was found out about one sample: its support with the evidence, its stage, its values by label.

    `trail` says why methods failed before the one that judged it.
    """

    sample: Sample
    support: Support
    staged: Staged
    cells: Mapping[str, Cell]
    trail: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Answers(Scores):
    """Scores of answers, with what was found out about each sample."""

    outcomes: tuple[Outcome, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)

    @property
    def methods(self) -> dict[str, int]:
        """How many samples each method judged."""
        return dict(Counter(outcome.support.method for outcome in self.outcomes))

    def interval(self, label: str) -> Interval:
        """The mean of a measure with its confidence interval, which ends where values do."""
        found = mean_interval(self.column(label), weights=self.weights)
        low, high = self.about(label).bounds
        if found.low is None or found.high is None:
            return found
        return replace(
            found,
            low=found.low if low is None else max(found.low, low),
            high=found.high if high is None else min(found.high, high),
        )

    @property
    def stages(self) -> dict[str, str | None]:
        """The stage of every sample by its id."""
        return {outcome.sample.query_id: outcome.staged.stage for outcome in self.outcomes}


@dataclass(frozen=True)
class Plan:
    """What is to be computed, by which methods, for which samples."""

    samples: Samples
    measures: dict[str, Measure]
    asked: Mapping[str, str]
    protocol: Protocol
    method: AnswerMethod
    here: Available
    mix: bool = False
    calibration: str = ""
    name: str = "answers"
    notes: tuple[str, ...] = ()


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
    name: str | None = None,
    max_chars: int = 60_000,
    progress: Callable[[Progress], object] | None = None,
    deadline: float | None = None,
) -> Answers:
    """Evaluate answers: samples may be a path, a list of dicts, a frame, or samples.

    `judge` is a language model: an `assay.llm.Client`, or a function from messages to text. With method `auto`, it
    judges; where it fails or there is none, words take over, and embeddings where words fail. Method `s4` has
    embeddings before words; without a method, the protocol's applies. The method stands beside each value, and a mean
    holds values of one method unless `mix` asks for all. Several systems are for `answer_systems`.
    """
    read = as_samples(samples, columns=columns)
    if len(read.systems) > 1:
        column = excerpt(read.mapping.get("system", "system"))
        listed = ", ".join(read.systems[:_NAMES]) + (" ..." if len(read.systems) > _NAMES else "")
        raise UsageError(
            f"the column {column} names {len(read.systems)} systems ({listed}): assay.answer_systems evaluates each"
        )
    plan = planned(
        read, measures, method=method, judge=judge, embedder=embedder, text_lang=text_lang,
        protocol=protocol, mix=mix, calibration=calibration, name=name, max_chars=max_chars, progress=progress,
        deadline=deadline,
    )  # fmt: skip
    return evaluated(plan)


def answer_systems(
    samples: Any,
    measures: Sequence[str | Measure] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Answers]:
    """Evaluate the answers of several systems side by side; returns scores by system, which `compare` takes.

    The systems are named in a column `system` of the samples, or `samples` maps names to samples. All are judged in one
    go, by the same embeddings and the same questions; `more` are the arguments of `answers`.
    """
    if isinstance(samples, Mapping):
        samples = join_samples({name: as_samples(part, columns=columns) for name, part in samples.items()})
    return evaluated_systems(planned(samples, measures, columns=columns, **more))


def planned(
    samples: Any,
    measures: Sequence[str | Measure] | Mapping[str, Measure] | None,
    *,
    method: AnswerMethod | None = None,
    judge: Any = None,
    embedder: Any = "auto",
    text_lang: Lang | None = None,
    columns: Mapping[str, str] | None = None,
    protocol: str | Protocol = "answers",
    name: str | None = None,
    mix: bool = False,
    calibration: str = "",
    **asking: Any,
) -> Plan:
    """Settle everything before anything is judged or paid for."""
    read = as_samples(samples, columns=columns)
    rules = for_answers(load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol)
    method = method or rules.method
    wanted, asked = answer_measures(measures, rules)
    named = [field if field == column else f"{field} = {column}" for field, column in read.mapping.items()]
    notes: tuple[str, ...] = (say("answers.mapping", text=", ".join(named)),) if named else ()
    if measures is None:
        wanted, left_out = _usual(wanted, rules, read, judged=judge is not None and _may_judge(method))
    else:
        lacking = [f"{label} ({lack})" for label, one in wanted.items() if (lack := _lacks(one, read))]
        left_out = [say("answers.lacking", names=lacking)] if lacking else []
    notes = (*notes, *left_out)
    methods = {measure.arguments.get("method", "auto") for measure in wanted.values()} | {method}
    _check_judge(wanted, judge)
    asked_of = {"llm", "auto", "mix"} if _may_judge(method) else {"llm"}
    made = None if judge is None else _judge(wanted, judge, read, text_lang, methods=asked_of, asking=asking)
    if made is not None and not made.is_asked and method != "llm":  # a judge who is asked nothing judges nothing
        made = None
    chosen: Chosen | None = None
    told: tuple[str, ...] = ()
    wait = words_first(method)  # then embeddings have to be named
    needed = any(measure.needs_method for measure in wanted.values())
    in_order = is_order(method) and needed and not (wait and embedder in (None, "auto"))
    if methods & {"embedding", "sigmoid"} or in_order:
        texts = [text for sample in read for text in (sample.answer or "",) if text]
        chosen, told = embeddings(embedder, texts, needed="embedding" in methods)
        if chosen is not None and wait and not methods & {"embedding", "sigmoid"}:
            told = (say("answers.embedder_waits", embedder=chosen.embedder.name),)
    here = Available(made, chosen, told)
    for one in methods & {"llm", "embedding", "words"}:
        here.chain(one)
    title = name or (system_name(read.source.label) if read.source else "answers")
    return Plan(
        read, wanted, asked, rules, method, here, mix=mix, calibration=calibration, name=title, notes=(*notes, *told)
    )


def _may_judge(method: str) -> bool:
    """Say whether a language model may judge by this method, if there is one."""
    return method == "llm" or is_order(method)


def _check_judge(measures: Mapping[str, Measure], judge: Any) -> None:
    alone = next((label for label, measure in measures.items() if measure.spec.needs_judge), None)
    if alone is not None and judge is None:
        raise UsageError(f"{alone} needs a judge: --judge MODEL with --url (in Python: judge=client)")


def _usual(
    measures: dict[str, Measure], protocol: Protocol, samples: Samples, *, judged: bool
) -> tuple[dict[str, Measure], list[str]]:
    """What is computed when nothing is asked for: what the samples allow, and of a judge, one call per answer."""
    names = protocol.headline if judged and protocol.headline else tuple(measures)
    found, lacking = {}, []
    for label in names:
        measure = measures[label]
        if measure.spec.needs_judge and not judged:
            continue
        missing = _lacks(measure, samples)
        if missing:
            lacking.append(f"{label} ({missing})")
        else:
            found[label] = measure
    if not found:
        raise UsageError(f"the samples have nothing to compute: {', '.join(lacking)}")
    return found, [say("answers.left_out", names=lacking)] if lacking else []


def _lacks(measure: Measure, samples: Samples) -> str:
    """The field that no sample has although the measure needs it."""
    for need in measure.needs:
        options = need.split("|")
        if not any(_has(sample, option) for sample in samples for option in options):
            return " or ".join(options).replace("marks", "[1] marks")
    return ""


def _has(sample: Sample, name: str) -> bool:
    if name == "reference":
        return bool(sample.references)
    if name == "answerable":
        return flag(sample) is not None
    if name == "marks":
        return bool(sample.answer and sample.contexts and marks(sample.answer, sample.contexts))
    return getattr(sample, name) is not None or name in sample.faults


def _judge(
    measures: Mapping[str, Measure],
    judge: Any,
    samples: Samples,
    lang: Lang | None,
    *,
    methods: set[str],
    asking: Mapping[str, Any],
) -> AnswerJudge:
    """Make the judge, who is asked what measures need that name one of these methods, or that only a judge can give."""
    from assay.judge.answers import AnswerJudge
    from assay.llm import as_client

    asked = [
        measure
        for measure in measures.values()
        if measure.spec.needs_judge or measure.arguments.get("method", "auto") in methods
    ]
    pieces = frozenset(piece for measure in asked for piece in measure.pieces)
    criteria = dict.fromkeys(measure.criterion for measure in asked if measure.criterion is not None)
    return AnswerJudge(as_client(judge), pieces, tuple(criteria), lang or language_of(samples), **asking)


def language_of(samples: Samples) -> Lang:
    """The language to ask a judge in."""
    from assay.text.words import language

    texts = [text or "" for sample in samples.rows[:_LOOKED_AT] for text in (sample.question, sample.answer)]
    return "zh" if language(" ".join(texts)) == "zh" else "en"


def evaluated(plan: Plan) -> Answers:
    """Judge every sample of one system and compute every measure."""
    return _system(plan, plan.samples, _outcomes(plan))


def evaluated_systems(plan: Plan) -> dict[str, Answers]:
    """Judge every sample and compute every measure for each system; one that no column names is called by the plan."""
    outcomes = _outcomes(plan)
    names = plan.samples.systems
    found: dict[str, Answers] = {}
    for name in names or (plan.name,):
        own = plan.samples.of(name) if names else plan.samples
        mine = tuple(one for one in outcomes if not names or one.sample.system == name)
        found[name] = _system(replace(plan, name=name), own, mine)
    if len(found) > 1 and not set.intersection(*(set(scores.query_ids) for scores in found.values())):
        apart = say("answers.apart")
        found = {name: replace(scores, notes=(*scores.notes, apart)) for name, scores in found.items()}
    return found


def _outcomes(plan: Plan) -> tuple[Outcome, ...]:
    rows = plan.samples.rows
    keys = sorted({_run_of(measure, plan) for measure in plan.measures.values()} | {plan.method})
    chains = {key: plan.here.chain(key) for key in keys}  # type: ignore[arg-type]
    judge = plan.here.judge if any("llm" in chain for chain in chains.values()) else None
    replies = None if judge is None else judge.ask(rows)  # once for all chains
    runs = {key: judged(rows, chain, plan.here, replies) for key, chain in chains.items()}
    # One sample after the other: what was read in its contexts is still at hand for the next measure.
    return tuple(_outcome(plan, {key: cases[place] for key, cases in runs.items()}) for place in range(len(rows)))


def _system(plan: Plan, samples: Samples, outcomes: tuple[Outcome, ...]) -> Answers:
    found = {label: [outcome.cells[label] for outcome in outcomes] for label in plan.measures}
    table = columns_of(plan.measures, found, mix=plan.mix, chain=plan.here.chain(plan.method))
    return _scores(replace(plan, samples=samples), table, outcomes)


def _outcome(plan: Plan, cases: Mapping[str, Case]) -> Outcome:
    cells = {label: _cell(measure, cases[_run_of(measure, plan)]) for label, measure in plan.measures.items()}
    case = cases[plan.method]
    return Outcome(case.sample, case.support, _staged(stage_of(case), cells), cells, case.trail)


def _staged(found: Staged, cells: Mapping[str, Cell]) -> Staged:
    """Call nothing fine of which a measure that was asked for could not be judged."""
    failed = next((f"{label}: {cell.reason}" for label, cell in cells.items() if cell.status == "failed"), None)
    return found if failed is None or found.stage != "fine" else Staged(None, failed)


def _run_of(measure: Measure, plan: Plan) -> str:
    """The chain of methods that judges for a measure: its own if it names one, the judge alone if nobody else can."""
    if measure.spec.needs_judge:
        return plan.method if "llm" in plan.here.chain(plan.method) else "llm"
    own = measure.arguments.get("method", "auto")
    return own if own in {"llm", "embedding", "words"} else plan.method


def _cell(measure: Measure, case: Case) -> Cell:
    value = measure.value(case)
    method, why = _found_by(measure, case)
    if isinstance(value, Blank):
        return Cell(None, value.status, value.reason, method)
    if not math.isfinite(value):
        return Cell(None, "failed", f"the value {value} is not a number", method)
    note = case.grade(measure.criterion.name).reason if measure.criterion is not None and method == "llm" else ""
    return Cell(float(value), "scored", why, method, note)


def _found_by(measure: Measure, case: Case) -> tuple[str | None, str]:
    """The method that found a value, and why one before it failed to grade the answer."""
    named = measure.arguments.get("method", "auto")
    if not measure.needs_method:
        return (named if named not in {"auto", "mix"} else None), ""
    if measure.spec.needs_judge:
        return "llm", ""
    return (case.method, "") if measure.criterion is None else case.grader_of(measure.criterion.name)


def _scores(plan: Plan, table: Sequence[Column], outcomes: tuple[Outcome, ...]) -> Answers:
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
        inputs=() if source is None else (("samples", source),),
        file=None if source is None else source.portable,
        asked=plan.asked,
        judge=judge.name if used and judge is not None else "",
        calibration=plan.calibration,
        embedder=_embedder(plan, table),
        outcomes=outcomes,
        mapping=plan.samples.mapping,
    )
    apart = [say("answers.parts", labels=_parted(table))] if _parted(table) else []
    return replace(
        scores, warnings=(*doubts(scores), *_fallbacks(scores), *_failures(scores), *apart), notes=plan.notes
    )


def _embedder(plan: Plan, table: Sequence[Column]) -> str:
    """Whose embeddings stand behind any of the values."""
    used = any(column.definition.arguments.get("method") in {"embedding", "sigmoid", "mix"} for column in table)
    return plan.here.embeddings.embedder.name if used and plan.here.embeddings is not None else ""


def _parted(table: Sequence[Column]) -> list[str]:
    """Labels of the measures that several methods found values of."""
    others = {column.measure for column in table if column.label == column.definition.text}
    return [column.label for column in table if column.measure in others and column.label != column.definition.text]


def _fallbacks(scores: Answers) -> list[str]:
    """Say how many samples another method had to judge, and the commonest reason."""
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
    """Say how many samples no method could judge, and the commonest reason."""
    reasons = Counter(
        outcome.support.reason or (outcome.trail or ("",))[-1]
        for outcome in scores.outcomes
        if outcome.support.status == "failed"
    )
    lines = [say("answers.failed", n=reasons.total(), reason=reasons.most_common(1)[0][0])] if reasons else []
    return [*lines, *(say("answers.none", label=label, reason=_commonest(scores, label)) for label in scores.failed)]


def _commonest(scores: Answers, label: str) -> str:
    """The reason that most of the failed values of a measure have."""
    cells = [outcome.cells[label] for outcome in scores.outcomes if label in outcome.cells]
    return Counter(cell.reason for cell in cells if cell.status == "failed").most_common(1)[0][0]


def _counts(column: Column, values: Any) -> Counts:
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
