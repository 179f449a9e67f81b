"""What came out of an experiment: one row per combination with quality, time, money, and which one to take."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.analysis.answer_rules import ANSWERING, answer_rules, of_answers, sides_apart
from assay.analysis.columns import is_span_measure, span_column, span_values, with_answers, with_column
from assay.analysis.compare import compare
from assay.analysis.evaluate import evaluate_run
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import Settings
from assay.analysis.tuning import split
from assay.errors import InputError, UsageError, excerpt
from assay.messages import say
from assay.pipeline.measuring import Account
from assay.pipeline.records import together
from assay.pipeline.runner import total
from assay.results.comparison import Rules
from assay.stats.intervals import mean_intervals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.analysis.answers import Answers
    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.scores import Scores
    from assay.pipeline.experiment import Collection, Experiment, Reference
    from assay.pipeline.grid import Combination
    from assay.pipeline.records import IndexTrace
    from assay.pipeline.runner import Execution, Work
    from assay.pipeline.stages import Setup
    from assay.results.comparison import Comparison, Contrast, Decision
    from assay.stats.intervals import Interval

PERCENTILES = (50, 95, 99)
Figures = tuple[float, float, float]


@dataclass(frozen=True)
class StageTime:
    """What one stage takes: milliseconds of a query, tokens and money of all queries together.

    `estimated` says that tokens of some query are an estimate, `money_estimated` that its money is.
    """

    stage: str
    ms_p50: float
    ms_p95: float
    tokens: int
    money: float | None
    estimated: bool = False
    money_estimated: bool = False


@dataclass(frozen=True)
class Quality:
    """A mean with its interval; the corrected p-value of its difference from the baseline's and the verdict on it.

    `method` says who judged the answers behind it.
    """

    mean: Interval
    pvalue: float | None = None
    verdict: Decision | Literal[""] = ""
    method: str = ""


@dataclass(frozen=True)
class Row:
    """One combination: done with all its numbers, or failed with the reason.

    `timed` is False when a cache had a part in every query: its latency is not known, and never speaks for it.
    """

    combination: Combination
    reason: str = ""
    quality: Mapping[str, Quality] = field(default_factory=dict)
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    stages: tuple[StageTime, ...] = ()
    index: IndexTrace | None = None
    cost_per_query: float | None = None
    pareto: bool = False
    timed: bool = True

    @property
    def name(self) -> str:
        """Name of the combination."""
        return self.combination.name

    @property
    def done(self) -> bool:
        """Say whether it ran to its end."""
        return not self.reason

    @property
    def cost_estimated(self) -> bool:
        """Say whether the money of some stage is an estimate."""
        return any(stage.money_estimated for stage in self.stages)


@dataclass(frozen=True)
class Holdout:
    """The winner on queries that had no part in choosing it, beside the baseline on the same queries."""

    queries: int
    chosen_on: int
    measure: str
    winner: Interval
    baseline: Interval | None
    contrast: Contrast | None


@dataclass(frozen=True)
class Findings:
    """An experiment evaluated: rows in the order of the grid, scores of those that ran, and the winner.

    `labels` describe combinations; `reference` has published figures, which are no part of any score.
    """

    rows: tuple[Row, ...]
    systems: tuple[Scores, ...]
    measure: str
    measures: tuple[str, ...]
    baseline: str
    winner: str
    holdout: Holdout | None
    settings: Settings
    judgments: Judgments
    warnings: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None

    def row(self, name: str) -> Row:
        """Find a row by the name of its combination."""
        return next(row for row in self.rows if row.name == name)


def evaluate_experiment(judge: Judge, outcomes: Iterable[Execution], *, holdout: float = 0.0) -> Findings:
    """Evaluate all combinations under one protocol; a share `holdout` of the queries only checks the winner."""
    experiment, collection = judge.experiment, judge.collection
    listed = list(outcomes)
    done = [outcome for outcome in listed if outcome.done]
    if not done:
        raise UsageError(f"every combination failed; {listed[0].combination.name}: {listed[0].reason}")
    chosen_on, held = _parted(collection.judgments, holdout, experiment.seed)
    systems = [judge.scores(outcome, chosen_on) for outcome in done]
    names = [outcome.combination.name for outcome in done]
    baseline = experiment.baseline if experiment.baseline in names else names[0]
    label = judge.primary(systems[0])
    found = compare(systems, _common(systems), baseline=baseline, rules=Rules()) if len(systems) > 1 else None
    sign = systems[0].about(label).direction
    winner = max(systems, key=lambda scores: -math.inf if math.isnan(scores[label]) else sign * scores[label]).name
    rows = [_row(outcome, systems, found) for outcome in listed]
    check = None
    if held:
        both = {outcome.combination.name: outcome for outcome in done if outcome.combination.name in {winner, baseline}}
        check = _checked(judge, both, (winner, baseline), held, (label, len(chosen_on or ())))
    return Findings(
        tuple(_with_front(rows, label, sign)), tuple(systems), label,
        tuple(dict.fromkeys(name for scores in systems for name in scores.labels)), baseline, winner, check,
        judge.settings, collection.judgments,
        (*_ambiguous(collection), *_warnings(listed, experiment, baseline, found), *judge.said()),
        experiment.labels, experiment.reference,
    )  # fmt: skip


def _common(systems: Sequence[Scores]) -> list[str]:
    """Measures that all systems have on the same queries: an answer that one system lacks is in no fair comparison."""
    first = systems[0]
    found = []
    for label in first.labels:
        like = [scores for scores in systems if scores.definitions.get(label) == first.definitions[label]]
        known = [~np.isnan(scores.column(label)) for scores in like]
        same = all(scores.query_ids == first.query_ids for scores in systems)
        if len(known) == len(systems) and any(known[0]) and (not same or all((one == known[0]).all() for one in known)):
            found.append(label)
    return found


def _parted(judgments: Judgments, share: float, seed: int) -> tuple[set[str] | None, set[str] | None]:
    if not share:
        return None, None
    if not 0 < share < 1:
        raise UsageError(f"holdout = {share:g}: expected a share between 0 and 1, as in 0.3")
    train, test, _ = split(judgments, 1 - share, seed)
    return set(train), set(test)


class Judge:
    """Evaluates outcomes under the experiment's protocol, over all queries or some: rankings, spans and answers."""

    def __init__(self, experiment: Experiment, collection: Collection, setup: Setup) -> None:
        told = dict(experiment.evaluate)
        self.experiment, self.collection = experiment, collection
        self._found: dict[str, Answers] = {}
        self._spent = Account()
        answering: dict[str, Any] = {name: told.pop(name) for name in ANSWERING if name in told}
        self._share = float(told.pop("span_share", 0.5))
        asked: list[str] | None = told.pop("measures", None)
        name = told.pop("protocol", "trec")
        place = f"{experiment.path}: evaluate"
        try:
            protocol = sides_apart(load_protocol(name))
            if protocol.fold is None:
                told.setdefault("fold", "before")
            _check_measures(asked, protocol)
            answers = [text for text in asked or () if of_answers(text, protocol)]
            ranked = (
                None if asked is None else [t for t in asked if not is_span_measure(t) and not of_answers(t, protocol)]
            )
            ranked = ranked or (
                None if asked is None else list(protocol.headline)[:1] or [next(iter(protocol.measures))]
            )
            self.settings = Settings.of(collection.judgments, ranked or _headline(protocol), protocol, **told)
        except (UsageError, InputError) as error:
            raise InputError(str(error), path=place) from None
        self._spans = _span_measures(asked, collection, place)
        first = asked[0] if asked else None
        if first is not None and first in answers:
            _check_deciding(first, experiment, f"{place}.measures")
        self._answers = answer_rules(answers, self.settings.protocol, answering, (experiment, collection), setup)
        self._asked = first if first is None or is_span_measure(first) else self.settings.asked.get(first, first)

    def primary(self, scores: Scores) -> str:
        """The measure that decides: the first that was asked for, else the protocol's."""
        for label in (self._asked, scores.asked.get(self._asked or "")):
            if label is not None and label in scores.labels:
                return label
        return self.settings.protocol.primary or scores.labels[0]

    def scores(self, outcome: Execution, queries: set[str] | None) -> Scores:
        """Evaluate one outcome."""
        data = self.collection
        run, judgments = outcome.run, data.judgments
        assert run is not None
        if queries is not None:
            kept = pl.col("query_id").is_in(list(queries))
            run = replace(run, rows=run.frame.filter(kept), empty=tuple(name for name in run.empty if name in queries))
            empty = tuple(name for name in judgments.empty if name in queries)
            judgments = replace(judgments, rows=judgments.frame.filter(kept), empty=empty)
        scores = evaluate_run(judgments, run, self.settings, name=outcome.combination.name)
        ids = [query.id for query in data.queries]
        for text in self._spans:
            scores = with_column(scores, span_column(text), span_values(text, outcome, ids, data.spans, self._share))
        if outcome.samples is not None and self._answers is not None:
            scores = with_answers(scores, self._answered(outcome), self._answers.judge)
        return scores

    def _answered(self, outcome: Execution) -> Answers:
        """Score the answers of an outcome, once: the held-out queries ask for them again."""
        name = outcome.combination.name
        if name not in self._found:
            assert self._answers is not None and outcome.samples is not None
            self._found[name], spent = self._answers.score(outcome.samples, name)
            self._spent.replies += spent.replies
            self._spent.tokens += spent.tokens
            self._spent.money = together(self._spent.money, spent.money)
        return self._found[name]

    def said(self) -> list[str]:
        """What is to be known about the answers' scores: what holds for all systems once, the rest by system."""
        if self._answers is None:
            return []
        told: dict[str, list[str]] = {}
        for name, found in self._found.items():
            notes = found.notes if self._answers.embedder == "auto" else ()  # why no embeddings were found
            for text in (*found.warnings, *notes):
                told.setdefault(text, []).append(name)
        every = len(self._found)
        lines = [
            text if len(names) == every else say("doubt.of_one", system=", ".join(names), text=text)
            for text, names in told.items()
        ]
        if embedder := next((found.embedder for found in self._found.values() if found.embedder), ""):
            lines.append(say("experiment.embedder", embedder=embedder))
        if self._spent.tokens:
            judge, money = self._answers.judge, self._spent.money
            key = "experiment.judged_free" if money is None else "experiment.judged"
            lines.append(
                say(key, judge=judge, tokens=self._spent.tokens, **({} if money is None else {"money": money}))
            )
        return [*self._answers.notes, *lines]


def _check_measures(asked: object, protocol: Protocol) -> None:
    """Refuse a list that is none, and a protocol that has nothing to say about rankings."""
    if asked is not None and (not isinstance(asked, list) or not all(isinstance(text, str) for text in asked)):
        raise UsageError('measures must be a list of texts, as in ["ndcg@10", "recall@10"]')
    if all(of_answers(label, protocol) for label in protocol.measures):
        raise UsageError(
            f"protocol {protocol.name} has no measure of rankings: name another, and measures of answers in measures"
        )


def _check_deciding(label: str, experiment: Experiment, place: str) -> None:
    """Refuse a measure of answers as the one that decides where a combination has no answers."""
    silent = [one.name for one in experiment.combinations if one.choices["generate"].method == "none"]
    if silent and len(silent) < len(experiment.combinations):
        raise InputError(
            f"{label} decides, but {silent[0]} generates no answers", path=place, hint="name another measure first"
        )


def _headline(protocol: Any) -> list[str] | None:
    return list(protocol.headline) or None


def _span_measures(asked: Sequence[str] | None, collection: Collection, place: str) -> list[str]:
    found = [text for text in asked or () if is_span_measure(text)]
    if found and not collection.spans:
        raise InputError(f"{found[0]} needs gold spans", path=f"{place}.measures", hint="[data] gold = FILE")
    return found or (["span_recall@5", "span_precision@5"] if collection.spans and asked is None else [])


def _row(outcome: Execution, systems: Sequence[Scores], found: Comparison | None) -> Row:
    combination = outcome.combination
    if not outcome.done:
        return Row(combination, outcome.reason or "failed")
    scores = next(one for one in systems if one.name == combination.name)
    whole = _known_ms(list(zip(*outcome.work.values(), strict=True)))
    stages = tuple(_stage(name, works) for name, works in outcome.work.items())
    money = [stage.money for stage in stages]
    count = len(outcome.hits)
    cost = None if any(one is None for one in money) else sum(one or 0.0 for one in money) / count
    return Row(
        combination,
        quality={label: _quality(scores, label, found) for label in scores.labels},
        latency_ms={"mean": float(whole.mean()), **{f"p{p}": float(np.percentile(whole, p)) for p in PERCENTILES}},
        stages=stages,
        index=outcome.index,
        cost_per_query=cost,
        timed=not all(any(one.cached for one in works) for works in zip(*outcome.work.values(), strict=True)),
    )


def _known_ms(works: Sequence[Sequence[Work]]) -> NDArray[np.float64]:
    """Milliseconds of the queries that no cache served, each the sum of its works; of all if there is no such query."""
    known = [row for row in works if not any(one.cached for one in row)]
    return np.array([sum(one.ms for one in row) for row in known or works])


def _stage(name: str, works: Sequence[Work]) -> StageTime:
    ms = _known_ms([(work,) for work in works])
    tokens, money = total(works)
    guessed, priced = any(work.estimated for work in works), any(work.money_estimated for work in works)
    return StageTime(
        name, float(np.percentile(ms, 50)), float(np.percentile(ms, 95)), tokens, money, guessed, priced
    )  # fmt: skip


def _quality(scores: Scores, label: str, found: Comparison | None) -> Quality:
    return replace(_mean(scores, label, found), method=scores.about(label).method)


def _mean(scores: Scores, label: str, found: Comparison | None) -> Quality:
    if found is not None and label in found.measures:
        mean = found.means[label][found.systems.index(scores.name)]
        if scores.name == found.baseline:
            return Quality(mean)
        contrast = found.contrast(scores.name, label)
        return Quality(mean, contrast.adjusted, contrast.verdict)
    values = scores.column(label)
    return Quality(mean_intervals(values[~np.isnan(values)][:, None])[0])


def _with_front(rows: Sequence[Row], label: str, sign: float = 1.0) -> list[Row]:
    """Mark the rows that no other beats: at least as good in quality, P95 latency and money, and better in one.

    `sign` is -1 for a measure that should be small.
    """
    figures = [_figures(row, label, sign) if row.done else None for row in rows]
    known = [one for one in figures if one is not None]
    return [
        replace(row, pareto=mine is not None and not any(_beats(other, mine) for other in known))
        for row, mine in zip(rows, figures, strict=True)
    ]


def _beats(one: Figures, other: Figures) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _figures(row: Row, label: str, sign: float) -> Figures:
    quality = row.quality[label].mean.estimate
    latency = row.latency_ms["p95"] if row.timed else math.inf
    cost = math.inf if row.cost_per_query is None else row.cost_per_query
    return (-math.inf if quality is None else sign * quality, -latency, -cost)


def _checked(
    judge: Judge, outcomes: Mapping[str, Execution], names: tuple[str, str], held: set[str], told: tuple[str, int]
) -> Holdout:
    winner, baseline = names
    label, chosen_on = told
    systems = [judge.scores(outcomes[name], held) for name in dict.fromkeys((baseline, winner))]
    if len(systems) == 1:
        return Holdout(len(held), chosen_on, label, _quality(systems[0], label, None).mean, None, None)
    found = compare(systems, [label], baseline=baseline)
    means = found.means[label]
    return Holdout(len(held), chosen_on, label, means[1], means[0], found.contrast(winner, label))


def _ambiguous(collection: Collection) -> list[str]:
    """Say how many gold spans occur several times in their document, with the first as an example."""
    found = [span for span in collection.spans if span.others]
    if not found:
        return []
    first = found[0]
    whole = next(document.text for document in collection.documents if document.id == first.doc_id)
    example = {"text": excerpt(whole[first.start : first.end]), "doc": first.doc_id, "times": len(first.places)}
    return [say("experiment.ambiguous_gold", n=len(found), whole=len(collection.spans), **example)]


def _unknown_times(outcome: Execution) -> list[str]:
    """Say of which queries a stage's time is not known, because a cache had the replies."""
    said = []
    for stage, works in outcome.work.items():
        cached, name = sum(work.cached for work in works), outcome.combination.name
        if cached == len(works):
            said.append(f"{name}: the time of {stage} is not known: all replies came from a cache")
        elif cached:
            said.append(
                f"{name}: times of {stage} stand on {len(works) - cached} of {len(works)} queries, others were cached"
            )
    return said


def _warnings(
    outcomes: Sequence[Execution], experiment: Experiment, baseline: str, found: Comparison | None
) -> list[str]:
    said: list[str] = []
    if experiment.baseline and baseline != experiment.baseline:
        said.append(say("experiment.baseline_lost", asked=experiment.baseline, name=baseline))
    for outcome in outcomes:
        if outcome.faults and outcome.done:
            counts = ", ".join(f"{reason} {n}" for reason, n in Counter(outcome.faults).most_common())
            said.append(say("experiment.faults", name=outcome.combination.name, counts=counts))
        said += _unknown_times(outcome)
    if any(work.estimated or work.money_estimated for one in outcomes for works in one.work.values() for work in works):
        said.append(say("experiment.estimated"))
    return [*said, *(found.warnings if found is not None else ())]
