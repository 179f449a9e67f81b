"""Warnings about scores: gaps in the judgments, ties, means over fewer queries."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from assay.data.judgments import describe_calibration, warn_of_judge
from assay.data.status import MISSING, UNDEFINED, UNJUDGED
from assay.measures import REGISTRY
from assay.messages import Said, say, some

if TYPE_CHECKING:
    from assay.data.scores import Column, Counts, Scores

_EXAMPLES = 3
_UNJUDGED_ALARM = 0.2
_AGREEMENT = {"wordllama": ".60", "minilm": ".59"}  # Spearman with people on MTRAG: docs/validation.md


def find_score_warnings(scores: Scores, *, complete: bool = False) -> tuple[Said, ...]:
    """List the warnings about one system's scores; `complete` judgments have no gaps to warn of."""
    if about_answers(scores):
        return (
            *_judge_calibration(scores),
            *_partial_means(scores),
            *_method_mixture(scores),
            *_agreement(scores),
            *_unlike_people(scores),
            *_unknown_to_people(scores),
            *find_unevenness(scores),
        )
    gaps = [] if complete else _judgment_gaps(scores)
    return (
        *_judge_calibration(scores),
        *_warn_of_sample(scores),
        *_unreachable_thresholds(scores),
        *_absent_queries(scores),
        *_means_of_fewer_queries(scores),
        *_tie_dependence(scores),
        *gaps,
        *find_unevenness(scores),
    )


def _warn_of_sample(scores: Scores) -> list[Said]:
    """Say that the values are estimates."""
    of = scores.sampling
    return [] if of is None else [say("sample.warning", judged=of.judged, pooled=of.pooled)]


def about_answers(scores: Scores) -> bool:
    """Return whether these are scores of answers, not of rankings."""
    return scores.subject == "answers"


def _partial_means(scores: Scores) -> list[Said]:
    """Name the means over fewer samples than there are, those with the same gaps together."""
    size = len(scores.query_ids)
    groups: dict[tuple[Said, ...], list[str]] = {}
    zeros: dict[int, list[str]] = {}
    for label, counts in scores.counts.items():
        told = explain_left_out(counts, size)
        if told:
            groups.setdefault(tuple(told), []).append(label)
        elif counts.missing:
            zeros.setdefault(counts.missing, []).append(label)
    lines = [
        say("answers.fewer", labels=labels, n=scores.counts[labels[0]].queries, of=size, why=list(why))
        for why, labels in groups.items()
    ]
    return [*lines, *(say("answers.zero", n=count, labels=labels) for count, labels in zeros.items())]


def explain_left_out(counts: Counts, size: int) -> list[Said]:
    """Say why samples are in no mean, with their numbers; a missing answer that counts as 0 is in it."""
    gone = size - counts.queries
    kinds = {name: getattr(counts, name) for name in ("abstained", "not_applicable", "undefined", "failed")}
    kinds["missing"] = gone - sum(kinds.values()) - sum(counts.judged_by.values())
    others = [say("left.judged_by", n=n, method=say(f"method.{method}")) for method, n in counts.judged_by.items()]
    return [*others, *(say(f"left.{name}", n=count) for name, count in kinds.items() if count > 0)]


def _method_mixture(scores: Scores) -> list[Said]:
    labels = [column.label for column in scores.columns if column.method == "mix"]
    counts = getattr(scores, "methods", {})
    used = [f"{method} {count}" for method, count in counts.items()] or ["llm", "embedding", "words"]
    return [say("answers.mixed", labels=labels, methods=used)] if labels else []


def agreement(method: str, embedder: str = "") -> Said:
    """Say how far a method agrees with people."""
    if method == "llm":
        return say("agreement.llm")
    sees = say("agreement.sees")
    if method != "embedding":
        return say(f"agreement.{method}", sees=sees)
    embedder = embedder or "wordllama"
    if embedder not in _AGREEMENT:
        return say("agreement.embedder", embedder=embedder, sees=sees)
    return say("agreement.embedding", embedder=embedder, rho=_AGREEMENT[embedder], sees=sees)


def _agreement(scores: Scores) -> list[Said]:
    """Say of every method that was used how far it agrees with people."""
    unknown = set(_labels_unknown(scores))
    methods = {column.method for column in scores.columns if column.label not in unknown}
    used = [name for name in ("llm", "embedding", "words") if name in methods]
    return [agreement(name, scores.embedder) for name in used if name != "llm" or not scores.calibration]


def _unlike_people(scores: Scores) -> list[Said]:
    """Name the measures that do not follow what people say, where no judge gave their values."""
    known = [(column, REGISTRY.get(column.name)) for column in scores.columns if column.method not in {"", "llm"}]
    labels = [column.label for column, spec in known if spec is not None and spec.unlike_people]
    return [say("agreement.unlike", labels=labels, n=len(labels))] if labels else []


def _labels_unknown(scores: Scores) -> list[str]:
    """Labels of values without a judge that nobody has compared with people's."""
    known = [(column, REGISTRY.get(column.name)) for column in scores.columns if column.method not in {"", "llm"}]
    return [column.label for column, spec in known if spec is not None and spec.people_unknown]


def _unknown_to_people(scores: Scores) -> list[Said]:
    labels = _labels_unknown(scores)
    return [say("agreement.unknown", labels=labels, n=len(labels))] if labels else []


def _judge_calibration(scores: Scores) -> list[Said]:
    if scores.uncalibrated:
        return [warn_of_judge(scores.judge)]
    return [describe_calibration(scores.judge, scores.calibration)] if scores.judge else []


def _absent_queries(scores: Scores) -> list[Said]:
    out = []
    for code, key, rule in (
        (MISSING, "doubt.missing", scores.protocol.missing),
        (UNDEFINED, "doubt.undefined", scores.protocol.undefined),
        (UNJUDGED, "doubt.unjudged_query", "skip"),
    ):
        rows = (scores.status == code).any(axis=1)
        found = list(itertools.compress(scores.query_ids, rows))
        if found and code == UNJUDGED and (over := [one.label for one in scores.columns if one.over == "run"]):
            out.append(say("doubt.unjudged_in", n=len(found), labels=over, some=some(found, _EXAMPLES)))
        elif found:
            out.append(say(key, n=len(found), fate=say(f"fate.{rule}"), some=some(found, _EXAMPLES)))
    return out


def _unreachable_thresholds(scores: Scores) -> list[Said]:
    """Name the thresholds that no grade reaches: every query is without relevant documents then."""
    by_threshold: dict[float, list[str]] = {}
    for label, counts in scores.counts.items():
        if not scores.judged or counts.undefined < scores.judged:
            continue
        threshold = scores.about(label).threshold
        if threshold is not None:
            by_threshold.setdefault(threshold, []).append(label)
    return [say("doubt.unreached", n=least, labels=some(labels, _EXAMPLES)) for least, labels in by_threshold.items()]


def _means_of_fewer_queries(scores: Scores) -> list[Said]:
    """Name the means over fewer queries than were judged."""
    by_number: dict[int, list[str]] = {}
    for label, counts in scores.counts.items():
        if counts.queries < scores.judged and scores.about(label).over == "judged":
            by_number.setdefault(counts.queries, []).append(label)
    return [
        say("doubt.fewer", labels=some(labels, _EXAMPLES), n=number, judged=scores.judged)
        for number, labels in by_number.items()
    ]


def _tie_dependence(scores: Scores) -> list[Said]:
    label, counts = max(scores.counts.items(), key=lambda item: item[1].tied)
    if not counts.tied:
        return []
    return [say("doubt.tied", label=label, n=counts.tied, rule=say(f"rule.{scores.protocol.ties}"))]


def _judgment_gaps(scores: Scores) -> list[Said]:
    """Warn where many documents behind a number were never judged; the shallowest cutoff says most."""
    shares = [(_depth(scores.about(label)), label, c.unjudged_share or 0.0) for label, c in scores.counts.items()]
    _, label, share = min(shares)
    if all(every == 1.0 for _, _, every in shares):
        return [say("doubt.no_common")]
    return [say("doubt.unjudged", share=share, label=label)] if share > _UNJUDGED_ALARM else []


def _depth(column: Column) -> float:
    return float("inf") if column.k is None else float(column.k)


def find_unevenness(scores: Scores) -> tuple[Said, ...]:
    """Say how many equal, independent queries weights and clusters leave, and which of them is the heaviest."""
    weights = np.ones(len(scores.query_ids)) if scores.weights is None else scores.weights
    kept = np.where(np.isnan(scores.values).all(axis=1), 0.0, weights)
    if not kept.any() or (scores.weights is None and scores.clusters is None):
        return ()
    from assay.stats.moments import weighing

    told = []
    if scores.weights is not None:
        of = weighing(kept)
        query = scores.query_ids[of.heaviest]
        told.append(say("doubt.weighted", n=of.n, effective=of.effective_n, query=query, share=of.share))
    if scores.clusters is not None:
        names, places = np.unique(np.array(scores.clusters), return_inverse=True)
        of = weighing(np.bincount(places, weights=kept))
        values = {"effective": of.effective_n, "cluster": str(names[of.heaviest]), "share": of.share}
        told.append(say("doubt.clustered", n=int((kept > 0).sum()), clusters=of.n, **values))
    return tuple(told)
