"""How far a judge's grades can be trusted: agreement with people, bias, noise, and what it means for systems."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.evaluate import evaluate_run
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.errors import InputError
from assay.formats.conversion import as_judgments, as_runs, as_whole_run
from assay.messages import Said, say
from assay.results.trust import Bias, Calibration, Corrected, Noise
from assay.stats.agreement import (
    confusion_matrix,
    kappa,
    kendall_tau,
    krippendorff_alpha,
    spearman,
)
from assay.stats.intervals import mean_interval
from assay.stats.prediction_powered import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.protocol import Protocol
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.data.segments import Floats
    from assay.stats.agreement import Agreement

LEAST, ENOUGH = 50, 100
POOR = 0.4  # below this kappa, a judge's grades are too far from people's to replace them
RESAMPLES = 2000


def calibrate(
    judged: Any,
    human: Any,
    *,
    runs: Any = (),
    measures: Any = None,
    protocol: str | Protocol = "trec",
    votes: Sequence[Mapping[str, float | str]] = (),
    seed: int = 0,
    **overrides: object,
) -> Calibration:
    """Compare a judge's grades with people's on the pairs that both graded; at least 50 are needed.

    Judgments and runs may be anything that `evaluate` takes.

    >>> import assay
    >>> people = {f"q{i}": {"d": i % 3} for i in range(60)}
    >>> judge = {query: {"d": max(docs["d"], 1)} for query, docs in people.items()}
    >>> round(assay.calibrate(judge, people).exact, 2)
    0.67
    """
    judged, human = as_judgments(judged), as_judgments(human)
    _check(judged, human)
    queries, theirs, ours = _common(judged, human)
    if len(theirs) < LEAST:
        raise InputError(
            say(
                "only {n} pairs are graded by both the judge and people: at least {least} are needed",
                n=len(theirs),
                least=LEAST,
            ),
            path=human.source.label if human.source else None,
            hint=say("label more pairs; {enough} or more give useful intervals", enough=ENOUGH),
        )
    options = {"groups": queries, "n_resamples": RESAMPLES, "rng": seed}

    # What a protocol derives from the grades must be the same for both.
    grades = pl.concat([judged.pairs, human.pairs])
    settings = Settings.of(Judgments.of(grades, dedupe=True), measures, protocol, **overrides)

    def score(judgments: Judgments, run: Run) -> Scores:
        return evaluate_run(judgments, run, settings)

    listed = [replace(as_whole_run(run), name=name) for name, run in as_runs(runs).items()]
    corrected = _systems(judged, human, listed, score)
    agreement = kappa(ours, theirs, **options)  # type: ignore[arg-type]
    return Calibration(
        judge=judged.judge or "judge",
        pairs=len(theirs),
        queries=len(set(queries)),
        exact=float(np.mean(ours == theirs)),
        kappa=agreement,
        alpha=krippendorff_alpha(np.stack([ours, theirs], axis=1), **options),  # type: ignore[arg-type]
        spearman=spearman(ours, theirs, **options),  # type: ignore[arg-type]
        confusion=confusion_matrix(theirs, ours),
        bias=mean_interval(ours - theirs),
        biases=_biases(ours, theirs),
        noise=_noise(votes),
        ranking=_ranking(corrected),
        systems=corrected,
        warnings=_warnings(theirs, ours, queries),
        stamp=_stamp(agreement, len(theirs)),
        poor=agreement.value is None or bool(agreement.value < POOR),
    )


def _biases(ours: Floats, theirs: Floats) -> tuple[Bias, ...]:
    """How far the judge is from the people, at each of their grades."""
    return tuple(
        Bias(float(grade), int((theirs == grade).sum()), mean_interval((ours - theirs)[theirs == grade]))
        for grade in np.unique(theirs)
    )


def _stamp(agreement: Agreement, pairs: int) -> str:
    """The calibration shown beside numbers made with this judge."""
    if agreement.value is None:
        return say("calibrate.stamp_open", n=pairs)
    return say("calibrate.stamp", value=agreement.value, n=pairs)


def _check(judged: Judgments, human: Judgments) -> None:
    place = human.source.label if human.source else None
    if human.judge:
        raise InputError(
            say("these grades are not people's: {judge} made them", judge=human.judge),
            path=place,
            hint=say("give the judge's grades first, then people's"),
        )
    if not set(judged.query_ids) & set(human.query_ids):
        raise InputError(
            say("the judge's grades and people's have no query in common"), path=place, hint=say("check the query ids")
        )


def _common(judged: Judgments, human: Judgments) -> tuple[list[str], Floats, Floats]:
    """Pairs that both graded; negative grades do not count."""
    ours, theirs = judged.by_query, human.by_query
    rows = [
        (query, theirs[query][doc], ours[query][doc])
        for query in sorted(set(ours) & set(theirs))
        for doc in sorted(set(ours[query]) & set(theirs[query]))
        if ours[query][doc] >= 0 and theirs[query][doc] >= 0
    ]
    return [row[0] for row in rows], np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def _warnings(theirs: Floats, ours: Floats, queries: Sequence[str]) -> tuple[Said, ...]:
    found = []
    agreement = kappa(ours, theirs).value
    if agreement is None or agreement < POOR:
        found.append(say("calibrate.poor", value=agreement or 0.0, least=POOR))
    if len(theirs) < ENOUGH:
        found.append(say("calibrate.few", n=len(theirs), enough=ENOUGH))
    if theirs.max() != ours.max() and (theirs.max() <= ours.max() / 2 or ours.max() <= theirs.max() / 2):
        found.append(say("calibrate.scales", human=float(theirs.max()), judge=float(ours.max())))
    if len(set(queries)) < LEAST / 5:
        found.append(say("calibrate.few_queries", n=len(set(queries))))
    return tuple(found)


def _noise(votes: Sequence[Mapping[str, float | str]]) -> tuple[Noise, ...]:
    """Spread of each judge's repeated grades of the same pair."""
    groups: dict[str, dict[tuple[str, str], list[float]]] = {}
    for vote in votes:
        if vote.get("grade") is not None:
            pair = (str(vote["query_id"]), str(vote["doc_id"]))
            groups.setdefault(str(vote["judge"]), {}).setdefault(pair, []).append(float(vote["grade"]))
    found = []
    for name, pairs in sorted(groups.items()):
        repeated = {pair: grades for pair, grades in pairs.items() if len(grades) > 1}
        if repeated:
            spread = [float(np.var(grades, ddof=1)) for grades in repeated.values()]
            differing = [len(set(grades)) > 1 for grades in repeated.values()]
            share = mean_interval(differing, clusters=[query for query, _ in repeated], bounds=(0.0, 1.0))
            deviation = math.sqrt(math.fsum(spread) / len(spread))
            found.append(Noise(name, len(repeated), sum(differing) / len(repeated), deviation, share))
    return tuple(found)


def _systems(
    judged: Judgments, human: Judgments, runs: Sequence[Run], scored: Callable[[Judgments, Run], Scores]
) -> tuple[Corrected, ...]:
    """Correct each system's means; the unit is the query, and one counts as labelled if people graded all its pairs."""
    complete = {
        query
        for query, docs in judged.by_query.items()
        if query in human.by_query and set(docs) <= set(human.by_query[query])
    }
    found = []
    for run in runs:
        by_judge, by_people = scored(judged, run), scored(human, run)
        means = [column.label for column in by_judge.columns if column.is_mean]
        found += [_correct_mean(by_judge, by_people, label, complete) for label in means]
    return tuple(found)


def _correct_mean(by_judge: Scores, by_people: Scores, label: str, complete: set[str]) -> Corrected:
    mine = dict(zip(by_judge.query_ids, by_judge.column(label), strict=True))
    theirs = dict(zip(by_people.query_ids, by_people.column(label), strict=True))
    both = [query for query in mine if query in complete and not math.isnan(theirs.get(query, math.nan))]
    rest = [value for query, value in mine.items() if query not in set(both) and not math.isnan(value)]
    labels = [theirs[query] for query in both]
    return Corrected(
        system=by_judge.name,
        measure=label,
        labelled=len(both),
        queries=len(both) + len(rest),
        human=math.fsum(labels) / len(labels) if labels else None,
        judge=math.fsum(mine[query] for query in both) / len(both) if both else None,
        corrected=prediction_powered_mean(
            labels,
            [mine[query] for query in both],
            unlabelled=rest,
            bounds=by_judge.about(label).limits(by_judge.column(label)),
        ),
    )


def _ranking(systems: Sequence[Corrected]) -> Agreement | None:
    """Compare how people and the judge order the systems: Kendall's tau on the first measure."""
    first = [row for _, group in itertools.groupby(systems, key=lambda row: row.system) for row in [next(group)]]
    known = [(row.human, row.judge) for row in first if row.human is not None and row.judge is not None]
    if len(known) < 3:  # noqa: PLR2004
        return None
    return kendall_tau([pair[0] for pair in known], [pair[1] for pair in known])
