"""Evaluate an experiment: one row per combination with quality, time and money, and which one to choose."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.agreement import compare_lists
from assay.analysis.axes import decide_axes
from assay.analysis.compare import compare
from assay.analysis.front import FrontPoint, find_front
from assay.analysis.means import column_mean
from assay.analysis.unknown_ids import find_unknown
from assay.errors import UsageError, excerpt
from assay.formats.set_folders import KINDS, MADE_BY, UNKNOWN
from assay.messages import say, word
from assay.pipeline.asked import OUTCOMES
from assay.pipeline.records import add_output_tokens
from assay.pipeline.runner import total
from assay.results.comparison import Rules
from assay.results.conclusion import describe_best
from assay.results.experiment import AxisDecision, Findings, Holdout, Quality, QuestionCount, Row, StageTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.analysis.experiment_scores import Evaluator
    from assay.data.scores import Scores
    from assay.pipeline.asked import Asked, Outcome
    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.grid import StageChoice
    from assay.pipeline.runner import Execution, Work
    from assay.results.comparison import Comparison
    from assay.results.conclusion import Conclusion

PERCENTILES = (50, 95, 99)
_FRONT_RESAMPLES = 2000  # of every two combinations


def evaluate_experiment(
    evaluator: Evaluator, outcomes: Iterable[Execution], *, tell: Callable[[Scores], None] = lambda _: None
) -> Findings:
    """Evaluate all combinations under one protocol; queries that are held out only check the winner.

    `tell` is called with the scores of each as soon as they are known.
    """
    experiment, collection = evaluator.experiment, evaluator.collection
    listed = list(outcomes)
    done = _keep_complete(listed)
    chosen_on, held = evaluator.chosen_on, evaluator.held_out
    systems = []
    for outcome in done:
        systems.append(evaluator.scores(outcome, chosen_on))
        tell(systems[-1])
    names = [outcome.combination.name for outcome in done]
    baseline = experiment.baseline if experiment.baseline in names else names[0]
    label = evaluator.primary(systems[0])
    rules = Rules()
    found = compare(systems, _common(systems), baseline=baseline, rules=rules) if len(systems) > 1 else None
    decided = _conclude(systems, label, found, baseline, named=experiment.baseline == baseline)
    winner = next(iter(decided.best), "")
    rows = [describe_outcome(outcome, systems, found, experiment.labels) for outcome in listed]
    check = None
    if held:
        taken = winner or baseline
        both = {outcome.combination.name: outcome for outcome in done if outcome.combination.name in {taken, baseline}}
        check = _evaluate_holdout(evaluator, both, (taken, baseline), held, (label, len(chosen_on or ())))
        decided = replace(decided, holdout=check.check(rules.alpha) if len(decided.best) == 1 else "none")
    return Findings(
        tuple(_with_front(rows, done, systems, label)),
        label,
        tuple(dict.fromkeys(name for scores in systems for name in scores.labels)),
        baseline,
        winner,
        check,
        axes=_axes(listed),
        warnings=(
            *collection.warnings,
            *_empty(collection),
            *_ambiguous(collection),
            *_warnings(listed, experiment, baseline, found),
            *find_unknown(listed, collection),
            *evaluator.notes(),
        ),
        reference=experiment.reference,
        alpha=rules.alpha,
        concluded=decided,
        decisions=_decide(done, systems, label, baseline) if _has_measure(found, label) else (),
        query_kinds=_kinds(collection),
        scores=tuple(systems),
    )


def describe_experiment(experiment: Experiment, collection: Collection, outcomes: Iterable[Execution]) -> Findings:
    """Describe what combinations did where nothing is judged: times, money, and how far their lists agree."""
    listed = list(outcomes)
    done = _keep_complete(listed)
    names = [outcome.combination.name for outcome in done]
    baseline = experiment.baseline if experiment.baseline in names else names[0]
    unused = [say("experiment.evaluate_unused", names=sorted(experiment.evaluate))] if experiment.evaluate else []
    return Findings(
        tuple(describe_outcome(outcome, (), None, experiment.labels) for outcome in listed),
        "",
        (),
        baseline,
        "",
        axes=_axes(listed),
        warnings=(
            *_empty(collection),
            *_warnings(listed, experiment, baseline, None),
            *find_unknown(listed, collection),
            *unused,
        ),
        reference=experiment.reference,
        agreements=compare_lists(done, baseline),
        query_kinds=_kinds(collection),
    )


def _decide(
    done: Sequence[Execution], systems: Sequence[Scores], label: str, baseline: str
) -> tuple[AxisDecision, ...]:
    return decide_axes([one.combination for one in done], systems, label, baseline)


def _has_measure(found: Comparison | None, label: str) -> bool:
    """Return whether systems were compared by a measure, which they have on the same queries."""
    return found is not None and label in found.measures


def _kinds(collection: Collection) -> dict[str, int]:
    """How many queries are of people, of a model, or simulated; nothing where the queries do not say who made them."""
    makers = [collection.table.get(query.id, {}).get(MADE_BY) for query in collection.queries]
    return dict(Counter(KINDS.get(str(maker), UNKNOWN) for maker in makers)) if any(makers) else {}


def _keep_complete(outcomes: Sequence[Execution]) -> list[Execution]:
    """The combinations that ran to their end, of which there must be one."""
    done = [outcome for outcome in outcomes if outcome.done]
    if not done:
        name, reason = outcomes[0].combination.name, outcomes[0].reason
        raise UsageError(say("every combination failed; {name}: {reason}", name=name, reason=reason))
    return done


def _axes(outcomes: Sequence[Execution]) -> dict[str, tuple[str, ...]]:
    """The values of each axis, in the order in which they were tried."""
    found: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for axis, value in outcome.combination.axes.items():
            found.setdefault(axis, {})[value] = None
    return {axis: tuple(values) for axis, values in found.items()}


def _common(systems: Sequence[Scores]) -> list[str]:
    """Measures that all systems have on the same queries, which a fair comparison needs."""
    first = systems[0]
    found = []
    for label in first.labels:
        like = [scores for scores in systems if scores.definitions.get(label) == first.definitions[label]]
        known = [~np.isnan(scores.column(label)) for scores in like]
        same = all(scores.query_ids == first.query_ids for scores in systems)
        if len(known) == len(systems) and any(known[0]) and (not same or all((one == known[0]).all() for one in known)):
            found.append(label)
    return found


def describe_outcome(
    outcome: Execution, systems: Sequence[Scores] = (), found: Comparison | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Row:  # fmt: skip
    """One combination with its times and its money, and with the means of those systems that are scored."""
    combination = outcome.combination
    row = Row(
        combination.name,
        "failed",
        outcome.reason or "failed",
        labels.get(combination.name, ""),
        {str(axis): value for axis, value in combination.axes.items()},
        {stage: _stage_settings(choice) for stage, choice in combination.choices.items()},
    )
    if not outcome.done:
        return row
    scores = next((one for one in systems if one.name == combination.name), None)
    whole = _ms_without_cache(list(zip(*outcome.work.values(), strict=True)))
    stages = tuple(_stage(name, works) for name, works in outcome.work.items())
    money = [stage.money for stage in stages]
    count = len(outcome.hits)
    cost = None if any(one is None for one in money) else sum(one or 0.0 for one in money) / count
    return replace(
        row,
        status="done",
        reason="",
        quality={} if scores is None else {label: _quality(scores, label, found) for label in scores.labels},
        latency_ms={
            "mean": float(whole.mean()),
            **{f"p{p}": float(np.percentile(whole, p)) for p in PERCENTILES},
            **_further_times(outcome.asked),
        },
        stages=stages,
        index=outcome.index,
        cost_per_query=cost,
        cost_estimated=any(stage.money_estimated for stage in stages),
        timed=any(map(_is_timed, zip(*outcome.work.values(), strict=True))),
        outcomes=count_outcomes(outcome.asked),
    )


def _is_timed(works: Sequence[Work]) -> bool:
    """Return whether the time of a query is known: no cache gave it, and it did not fail."""
    return not any(one.cached or one.reason for one in works)


def count_outcomes(asked: Sequence[Asked]) -> tuple[QuestionCount, ...]:
    """How the questions of an application ended: each is counted once, the answered ones first."""
    found: dict[tuple[Outcome, str], list[Asked]] = {}
    for one in asked:
        found.setdefault((one.status, one.reason), []).append(one)
    order = sorted(found, key=lambda key: (OUTCOMES.index(key[0]), key[1] != "", -len(found[key])))
    return tuple(
        QuestionCount(*key, len(found[key]), next((one.message for one in found[key] if one.message), ""))
        for key in order
    )


def _further_times(asked: Sequence[Asked]) -> dict[str, float]:
    """Percentiles of the time to the first text, and of the time that an application names, where they are known."""
    found: dict[str, float] = {}
    for name in ("first", "own"):
        known = [ms for one in asked if one.status != "failed" and (ms := getattr(one, f"{name}_ms")) is not None]
        title = {"first": "first_token", "own": "own"}[name]
        found |= {f"{title}_p{p}": float(np.percentile(known, p)) for p in PERCENTILES if known}
    return found


def _stage_settings(choice: StageChoice) -> dict[str, Any]:
    """The method and the parameters of a stage, as they were used; of an address, nothing that may be a secret."""
    params: dict[str, Any] = {}
    for name, value in choice.params.items():
        if name == "headers" and isinstance(value, dict):
            params[name] = ", ".join(sorted(value))
        elif name == "url":
            params[name] = str(value).partition("?")[0]
        else:
            params[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    method = choice.method.partition("?")[0] if "://" in choice.method else choice.method
    return {"method": method, **params, **({"size": choice.size} if choice.size else {})}


def _ms_without_cache(works: Sequence[Sequence[Work]]) -> NDArray[np.float64]:
    """Milliseconds of each query whose time is known, summed over its stages; of all queries if there is none."""
    known = [row for row in works if _is_timed(row)]
    return np.array([sum(one.ms for one in row) for row in known or works])


def _stage(name: str, works: Sequence[Work]) -> StageTime:
    ms = _ms_without_cache([(work,) for work in works])
    tokens, money = total(works)
    guessed, priced = any(work.estimated for work in works), any(work.money_estimated for work in works)
    return StageTime(
        name, float(np.percentile(ms, 50)), float(np.percentile(ms, 95)), tokens, money, guessed, priced,
        add_output_tokens(works),
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
    return Quality(column_mean(scores, label))


def _conclude(
    systems: Sequence[Scores], label: str, found: Comparison | None, baseline: str, *, named: bool
) -> Conclusion:
    """Conclude which system is best; measures that systems have on different queries are not tested."""
    if found is not None and _has_measure(found, label):
        return replace(found.conclusion(label), baseline_named=named)
    means = {scores.name: None if math.isnan(scores[label]) else scores[label] for scores in systems}
    lower = systems[0].about(label).lower_is_better
    return describe_best(label, means, lower=lower, baseline=baseline, baseline_named=named)


def _with_front(rows: Sequence[Row], done: Sequence[Execution], systems: Sequence[Scores], label: str) -> Iterator[Row]:
    """Mark the rows that no other beats in quality, latency and money."""
    column = systems[0].about(label)
    queries = sorted({query for scores in systems for query in scores.query_ids})
    weights, clusters = _weights_and_clusters(systems, queries)
    points = [_front_point(outcome, scores, label, queries) for outcome, scores in zip(done, systems, strict=True)]
    limits = column.limits(np.concatenate([point.quality for point in points]))
    reach = None if limits is None else limits[1] - limits[0]
    rules = Rules(n_resamples=_FRONT_RESAMPLES)
    places = dict(
        zip(
            (outcome.combination.name for outcome in done),
            find_front(points, rules, sign=column.direction, reach=reach, weights=weights, clusters=clusters),
            strict=True,
        )
    )
    for row in rows:
        place = places.get(row.name)
        yield row if place is None else replace(row, pareto=place.on_front, within_noise=place.within_noise)


def _weights_and_clusters(
    systems: Sequence[Scores], queries: Sequence[str]
) -> tuple[NDArray[np.float64] | None, NDArray[np.str_] | None]:
    """The weight and the cluster of each query, which are the same for all systems; None where they have none."""
    weights: dict[str, float] = {}
    clusters: dict[str, str] = {}
    for scores in systems:
        if scores.weights is not None:
            weights |= dict(zip(scores.query_ids, scores.weights.tolist(), strict=True))
        if scores.clusters is not None:
            clusters |= dict(zip(scores.query_ids, scores.clusters, strict=True))
    return (
        np.array([weights.get(query, 0.0) for query in queries]) if weights else None,
        np.array([clusters.get(query, query) for query in queries]) if clusters else None,
    )


def _front_point(outcome: Execution, scores: Scores, label: str, queries: Sequence[str]) -> FrontPoint:
    """Each query's quality, time and money; the time of a query that a cache helped to answer is unknown."""
    values = dict(zip(scores.query_ids, scores.column(label).tolist(), strict=True))
    works = list(zip(*outcome.work.values(), strict=True))
    ms = np.array([sum(one.ms for one in row) if _is_timed(row) else np.nan for row in works])
    priced = all(one.money is not None for row in works for one in row)
    return FrontPoint(
        np.array([values.get(query, np.nan) for query in queries]),
        None if np.isnan(ms).all() else ms,
        np.array([sum(one.money or 0.0 for one in row) for row in works]) if priced else None,
    )


def _evaluate_holdout(
    evaluator: Evaluator,
    outcomes: Mapping[str, Execution],
    names: tuple[str, str],
    held: set[str],
    told: tuple[str, int],
) -> Holdout:
    winner, baseline = names
    label, chosen_on = told
    systems = [evaluator.scores(outcomes[name], held) for name in dict.fromkeys((baseline, winner))]
    if len(systems) == 1:
        return Holdout(len(held), chosen_on, label, _quality(systems[0], label, None).mean, None, None, None)
    found = compare(systems, [label], baseline=baseline)
    means, contrast = found.means[label], found.contrast(winner, label)
    return Holdout(
        len(held), chosen_on, label, means[1], means[0], contrast.difference, contrast.pvalue, contrast.verdict
    )


def _empty(collection: Collection) -> list[str]:
    """Warn of documents without text: how many there are, and how many of them are judged relevant."""
    empty = {document.id for document in collection.documents if not document.text.strip()}
    if not empty:
        return []
    if collection.judgments is None:
        return [say("experiment.empty_unjudged", n=len(empty))]
    rows = collection.judgments.frame.filter(pl.col("grade") > 0)["doc_id"].to_list()
    return [say("experiment.empty_documents", n=len(empty), relevant=len(empty & set(rows)))]


def _ambiguous(collection: Collection) -> list[str]:
    """Warn of gold spans that occur several times in their document: how many, and the first as an example."""
    found = [span for span in collection.spans if span.others]
    if not found:
        return []
    first = found[0]
    whole = next(document.text for document in collection.documents if document.id == first.doc_id)
    example = {"text": excerpt(whole[first.start : first.end]), "doc": first.doc_id, "times": len(first.places)}
    return [say("experiment.ambiguous_gold", n=len(found), whole=len(collection.spans), **example)]


def _unknown_times(outcome: Execution) -> list[str]:
    """Warn of queries whose time in a stage is unknown because the replies came from a cache."""
    said: list[str] = []
    for stage, works in outcome.work.items():
        cached, name = sum(work.cached for work in works), outcome.combination.name
        if cached == len(works):
            said.append(say("experiment.time_unknown", name=name, stage=stage))
        elif cached:
            counts = {"n": len(works) - cached, "of": len(works)}
            said.append(say("experiment.time_partly", name=name, stage=stage, **counts))
    return said


def _warnings(
    outcomes: Sequence[Execution], experiment: Experiment, baseline: str, found: Comparison | None
) -> list[str]:
    said: list[str] = []
    if experiment.baseline and baseline != experiment.baseline:
        said.append(say("experiment.baseline_lost", asked=experiment.baseline, name=baseline))
    for outcome in outcomes:
        if outcome.faults and outcome.done:
            counts = [
                say("call.count", reason=word("call", reason), n=n)
                for reason, n in Counter(outcome.faults).most_common()
            ]
            said.append(say("experiment.faults", name=outcome.combination.name, counts=counts))
        said += _unknown_times(outcome)
    if any(work.estimated or work.money_estimated for one in outcomes for works in one.work.values() for work in works):
        said.append(say("experiment.estimated"))
    return [*said, *(found.warnings if found is not None else ())]
