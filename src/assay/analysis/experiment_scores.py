"""How the combinations of an experiment are scored: by measures of rankings, of gold spans and of answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.answer_rules import ANSWERING, answer_rules
from assay.analysis.evaluate import evaluate_run
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import Settings, span_measures, split_protocol, subject_of
from assay.analysis.tuning import split
from assay.analysis.warnings import find_score_warnings
from assay.data.run import Run
from assay.data.scores import Counts
from assay.data.spans import GoldSpan, SpanCase
from assay.data.status import STATUSES, UNDEFINED
from assay.errors import InputError, UsageError
from assay.measures import defaults, is_rubric
from assay.measures.judged import read_rubric
from assay.messages import say
from assay.pipeline.measuring import Account
from assay.pipeline.records import add_money

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.answer_rules import AnswerRules
    from assay.analysis.answers import Answers
    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.scores import Column, Scores, Subject
    from assay.measures import Measure
    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.runner import Execution
    from assay.pipeline.stages import Setup

Cells = dict[str, tuple[float | None, str]]  # by query: a value, or None, and the status


class Evaluator:
    """Scores what combinations gave under the experiment's protocol, over all queries or some.

    What cannot be computed is refused when it is made, before anything runs or is paid for. `chosen_on` has the queries
    that the winner is chosen on and `held_out` those it is checked on, where a share `holdout` is kept apart.
    """

    def __init__(self, experiment: Experiment, collection: Collection, setup: Setup, *, holdout: float = 0.0) -> None:
        assert collection.judgments is not None
        self.experiment, self.collection, self._judgments = experiment, collection, collection.judgments
        self._found: dict[str, Answers] = {}
        self._spent = Account()
        self._early: dict[str, Scores] = {}
        told = dict(experiment.evaluate)
        place = experiment.at("evaluate")
        answering: dict[str, Any] = {name: told.pop(name) for name in ANSWERING if name in told}
        asked, share = _check_asked(told.pop("measures", None), place), told.pop("span_share", None)
        try:
            whole = load_protocol(told.pop("protocol", "trec"))
            protocol, own_spans = split_protocol(whole)
            given = [_resolve_rubric(text, experiment.folder) for text in asked]
            wanted = _by_subject(given, protocol, own_spans, collection)
            self.settings = _settings(wanted["rankings"], protocol, self._judgments, told)
            self._spans, asked_spans = span_measures(wanted["spans"], protocol, own_spans, share)
            _rehearse(self._judgments, self.settings, self._spans)
        except (UsageError, InputError) as error:
            raise InputError(error.message, path=place) from None
        if self._spans and not collection.spans:
            label = next(iter(self._spans))
            raise InputError(
                say("{label} needs gold spans", label=label),
                path=experiment.at("evaluate.measures"),
                hint=say("name their file: [data] gold = FILE"),
            )
        if given and given[0] in wanted["answers"]:
            _check_deciding(asked[0], experiment, experiment.at("evaluate.measures"))
        data = (experiment, collection)
        self._answers = answer_rules(wanted["answers"], self.settings.protocol, answering, data, setup)
        # Documents that are judged by spans alone say less than the spans.
        self._order: list[str | Measure] = given or ([] if "judgments" in experiment.data else [*self._spans])
        self._asked = {**self.settings.asked, **asked_spans, **({} if self._answers is None else self._answers.asked)}
        self._asked |= {
            Path(text).name: one.label for text, one in zip(asked, given, strict=True) if not isinstance(one, str)
        }
        self._primary = whole.primary if whole.primary in self._spans else self.settings.protocol.primary
        self.chosen_on, self.held_out = _split_queries(collection, holdout, experiment.seed)

    def primary(self, scores: Scores) -> str:
        """The measure that decides: the first that was asked for, that of gold spans, or the protocol's."""
        first = str(self._order[0] if self._order else self._primary)
        label = self._asked.get(first, first)
        return label if label in scores.labels else scores.labels[0]

    @property
    def spent(self) -> float | None:
        """What a judge has cost so far."""
        return self._spent.money

    def score_early(self, outcome: Execution) -> Scores | None:
        """Evaluate an outcome on the queries to choose on, while others still run; `scores` then gives the same.

        A judge that is a language model is asked when all have run: they have the first claim on the money.
        """
        if outcome.run is None or (self._answers is not None and self._answers.judge):
            return None
        name = outcome.combination.name
        self._early[name] = self.scores(outcome, self.chosen_on)
        return self._early[name]

    def scores(self, outcome: Execution, queries: set[str] | None) -> Scores:
        """Evaluate the outcome of one combination; columns are in the order in which they were asked for."""
        if queries is self.chosen_on and (known := self._early.pop(outcome.combination.name, None)) is not None:
            return known
        run, judgments = outcome.run, self._judgments
        assert run is not None
        if queries is not None:
            kept = pl.col("query_id").is_in(list(queries))
            run = replace(run, rows=run.frame.filter(kept), empty=tuple(name for name in run.empty if name in queries))
            empty = tuple(name for name in judgments.empty if name in queries)
            judgments = replace(judgments, rows=judgments.frame.filter(kept), empty=empty)
        scores = evaluate_run(
            judgments, run, self.settings, name=outcome.combination.name, clusters=self.collection.clusters
        )
        scores = replace(_with_spans(scores, self._spans, self._span_cases(outcome)), asked=self._asked)
        if outcome.samples is not None and self._answers is not None:
            scores = _with_answers(scores, self._score_answers(outcome), self._answers)
        return _in_order(scores, [self._asked.get(str(measure), str(measure)) for measure in self._order])

    def _span_cases(self, outcome: Execution) -> dict[str, SpanCase]:
        """The queries that have gold spans, with the chunks that were retrieved."""
        spans: dict[str, list[GoldSpan]] = {}
        for span in self.collection.spans:
            spans.setdefault(span.query_id, []).append(span)
        return {
            query.id: SpanCase(spans[query.id], [outcome.chunks[number] for number in hits.chunks])
            for query, hits in zip(self.collection.queries, outcome.hits, strict=True)
            if query.id in spans
        }

    def _score_answers(self, outcome: Execution) -> Answers:
        """Score the answers of an outcome, once: the held-out queries ask for them again."""
        name = outcome.combination.name
        if name not in self._found:
            assert self._answers is not None and outcome.samples is not None
            self._found[name], spent = self._answers.score(outcome.samples, name)
            self._spent.replies += spent.replies
            self._spent.tokens += spent.tokens
            self._spent.money = add_money(self._spent.money, spent.money)
        return self._found[name]

    def notes(self) -> list[str]:
        """Notes on the answers' scores: what holds for all systems once, the rest by system."""
        if self._answers is None:
            return []
        told: dict[str, list[str]] = {}
        for name, found in self._found.items():
            notes = found.notes if self._answers.embedder == "auto" else ()  # why no embeddings were found
            for text in (*found.warnings, *notes):
                told.setdefault(text, []).append(name)
        every = len(self._found)
        lines = [
            text if len(names) == every else say("doubt.of_one", system=names, text=text)
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


def _resolve_rubric(text: str, folder: Path) -> str | Measure:
    """The path of a rubric in the folder of the experiment; any other measure unchanged."""
    return read_rubric(folder / text) if is_rubric(text) else text


def _check_asked(asked: object, place: str) -> list[str]:
    if asked is not None and (not isinstance(asked, list) or not all(isinstance(text, str) for text in asked)):
        raise InputError(say('measures must be a list of texts, as in ["ndcg@10", "recall@10"]'), path=place)
    return asked or []


def _by_subject(
    asked: Sequence[str | Measure], protocol: Protocol, own_spans: Mapping[str, str], collection: Collection
) -> dict[Subject, list[str | Measure]]:
    """Group the measures asked for by subject; by default the protocol's, and those of spans that the data allow."""
    if not protocol.measures:
        raise UsageError(
            say(
                "protocol {name} has no measure of rankings: choose another, and name measures of answers in measures",
                name=protocol.name,
            )
        )
    headline: list[str | Measure] = [*protocol.headline]
    if not asked:
        spans: list[str | Measure] = [*own_spans] or [*defaults.SPANS]
        return {"rankings": headline, "spans": spans if collection.spans else [], "answers": []}
    found: dict[Subject, list[str | Measure]] = {"rankings": [], "spans": [], "answers": []}
    for measure in asked:
        found[subject_of(measure, protocol, own_spans)].append(measure)
    found["rankings"] = found["rankings"] or headline[:1] or [next(iter(protocol.measures))]
    return found


def _settings(wanted: list[str | Measure], protocol: Protocol, judgments: Judgments, told: dict[str, Any]) -> Settings:
    """The settings for rankings; lists of chunks are folded to documents before they are cut, unless set otherwise."""
    fold = {"fold": "before"} if protocol.fold is None else {}
    return Settings.of(judgments, wanted or None, protocol, **{**fold, **told})


def _rehearse(judgments: Judgments, settings: Settings, spans: Mapping[str, Measure]) -> None:
    """Compute every measure once on a tiny example, so that errors appear before the real work."""
    row = next(judgments.frame.select("query_id", "doc_id").iter_rows(), None)
    if row is not None:
        evaluate_run(judgments, Run.from_dict({row[0]: {row[1]: 1.0}}), settings)
    for measure in spans.values():
        measure.span_value(SpanCase([GoldSpan("q", "d", 0, 1)], []))


def _check_deciding(label: str, experiment: Experiment, place: str) -> None:
    """Refuse a measure of answers as the one that decides where a combination has no answers."""
    silent = [one.name for one in experiment.combinations if one.generator == "none"]
    if silent and len(silent) < len(experiment.combinations):
        raise InputError(
            say("{label} decides which combination wins, but {name} generates no answers", label=label, name=silent[0]),
            path=place,
            hint=say("put another measure first"),
        )


def _split_queries(collection: Collection, share: float, seed: int) -> tuple[set[str] | None, set[str] | None]:
    """Split the queries into those to choose on and those to check on; a cluster stays on one side."""
    if not share:
        return None, None
    if not 0 < share < 1:
        raise UsageError(say("holdout = {share:g}: expected a share between 0 and 1, as in 0.3", share=share))
    judgments, clusters = collection.judgments, collection.clusters
    assert judgments is not None
    if clusters is None:
        train, test, _ = split(judgments, 1 - share, seed)
        return set(train), set(test)
    names = sorted(set(clusters.values()))
    drawn = np.random.default_rng(seed).permutation(len(names))[: round((1 - share) * len(names))]
    chosen = {names[i] for i in drawn}
    train, test, _ = split(judgments, [query for query, name in clusters.items() if name in chosen])
    return set(train), set(test)


# Columns beside those of rankings -------------------------------------------------------------------------------------


def _with_spans(scores: Scores, measures: Mapping[str, Measure], cases: Mapping[str, SpanCase]) -> Scores:
    """Add the columns of measures of gold spans; queries without spans are undefined."""
    for label, measure in measures.items():
        cells: Cells = {query: (measure.span_value(case), "scored") for query, case in cases.items()}
        scores = _with_column(scores, measure.column(label), cells)
    return scores


def _with_answers(scores: Scores, found: Answers, rules: AnswerRules) -> Scores:
    """Add the columns of a system's answers to those of its ranking."""
    for place, column in enumerate(found.columns):
        cells: Cells = {
            query: (None if np.isnan(value) else float(value), STATUSES[code])
            for query, value, code in zip(
                found.query_ids, found.values[:, place], found.status[:, place].tolist(), strict=True
            )
        }
        scores = _with_column(scores, column, cells)
    joined = replace(scores, judge=scores.judge or rules.judge, embedder=scores.embedder or found.embedder)
    return replace(joined, warnings=find_score_warnings(joined))


def _with_column(scores: Scores, about: Column, cells: Cells) -> Scores:
    """Add one column; queries that have no cell are undefined."""
    rows = [cells.get(query, (None, "undefined")) for query in scores.query_ids]
    column = np.array([np.nan if value is None else value for value, _ in rows])
    codes = np.array(
        [STATUSES.index(status) if status in STATUSES else UNDEFINED for _, status in rows], dtype=np.uint8
    )
    number = {status: int((codes == code).sum()) for code, status in enumerate(STATUSES)}
    counts = Counts(
        queries=int((~np.isnan(column)).sum()), missing=number["missing"], undefined=number["undefined"],
        unjudged=number["unjudged"], abstained=number["abstained"],
        not_applicable=number["not_applicable"], failed=number["failed"],
    )  # fmt: skip
    return replace(
        scores,
        columns=(*scores.columns, about),
        values=np.column_stack([scores.values, column]),
        status=np.column_stack([scores.status, codes]),
        counts={**scores.counts, about.label: counts},
    )


def _in_order(scores: Scores, first: Sequence[str]) -> Scores:
    """Put some columns first, each followed by the other columns of the same measure."""
    order: list[int] = []
    for label in first:
        if label in scores.labels:
            place = scores.labels.index(label)
            name = scores.columns[place].name
            further = [i for i, c in enumerate(scores.columns) if c.name == name and c.label not in first]
            order += [i for i in (place, *further) if i not in order]
    order += [i for i in range(len(scores.columns)) if i not in order]
    columns = tuple(scores.columns[i] for i in order)
    return replace(
        scores,
        columns=columns,
        values=scores.values[:, order],
        status=scores.status[:, order],
        counts={column.label: scores.counts[column.label] for column in columns},
    )
