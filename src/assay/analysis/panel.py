"""What several judges, or one that was asked several times, say together: agreement, steadiness, people, systems."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.calibrate import POOR
from assay.analysis.evaluate import evaluate_run
from assay.analysis.panel_grades import LEAST, bounds_of, fit_panel, own_grades, people_of
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.errors import UsageError
from assay.formats.conversion import as_judgments, as_runs, as_whole_run
from assay.measures import defaults
from assay.messages import Said, say
from assay.results.panel import JudgePair, Panel, PanelCalibration, PanelJudge, Swap, SystemBand
from assay.stats.agreement import kappa, krippendorff_alpha
from assay.stats.cross_fitting import cross_fitted_mean
from assay.stats.intervals import mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.protocol import Protocol
    from assay.data.segments import Floats
    from assay.results.judging import Judging, PairVerdict
    from assay.stats.agreement import Agreement
    from assay.stats.intervals import Interval

_RESAMPLES = 2000
_MANY_FAILED = 0.05
_EQUAL = 1e-12
_FEW_QUERIES = 10


def assess_panel(
    judging: Judging,
    runs: Any = (),
    measures: Any = None,
    *,
    labels: Any = None,
    known: Any = None,
    protocol: str | Protocol = "trec",
    seed: int = 0,
    **overrides: object,
) -> Panel:
    """Say how far the judges of `judge_pairs` agree with each other, with themselves and with people's `labels`.

    `runs` are scored by the grades of each judge and of the panel, with those of `known` judgments besides: the band of
    a system's means, and whether the order of systems depends on the judge. Runs and judgments may be anything that
    `evaluate` takes.

    >>> import assay, json
    >>> from assay.testing import seal_of
    >>> def kind(messages): return json.dumps({"seal": seal_of(messages), "reason": "", "grade": 3})
    >>> def strict(messages): return json.dumps({"seal": seal_of(messages), "reason": "", "grade": 1})
    >>> texts = {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink.", "e": "Stones"}}
    >>> found = assay.judge_pairs([("q", "d"), ("q", "e")], judge=[kind, strict], **texts)
    >>> assay.assess_panel(found).agreements[0].exact
    0.0
    """
    own = own_grades(judging)
    queries = [one.query_id for one in judging.verdicts]
    people = None if labels is None else people_of(judging, as_judgments(labels))
    agreed = _agreements(judging.judges, own, queries, seed)
    judges = _judges(judging, own, queries, people, seed)
    systems, swaps = _systems(
        judging, own, runs, measures=measures, protocol=protocol, known=known, overrides=overrides
    )
    graded = np.array([np.nan if one.grade is None else one.grade for one in judging.verdicts])
    labelled = 0 if people is None else int((~np.isnan(people)).sum())
    found = Panel(
        judge=judging.judge, combine=judging.combine, repeats=judging.repeats, pairs=len(queries),
        queries=len(set(queries)), graded=int((~np.isnan(graded)).sum()),
        by_all=int((~np.isnan(own)).all(axis=1).sum()), tied=sum(one.tied for one in judging.verdicts),
        judges=judges, agreements=agreed, labels=labelled,
        alpha=krippendorff_alpha(own, groups=queries, n_resamples=_RESAMPLES, rng=seed),
        people=None if people is None else _kappa(graded, people, queries, seed),
        calibration=None if people is None else _calibration(judging, own, people, queries, seed),
        systems=systems, swaps=swaps, warnings=(),
    )  # fmt: skip
    return replace(found, warnings=tuple(_warnings(found)))


def _kappa(first: Floats, second: Floats, queries: Sequence[str], seed: int) -> Agreement:
    return kappa(first, second, groups=queries, n_resamples=_RESAMPLES, rng=seed)


def _agreements(names: Sequence[str], own: Floats, queries: Sequence[str], seed: int) -> tuple[JudgePair, ...]:
    found = []
    for i, j in combinations(range(len(names)), 2):
        both = ~np.isnan(own[:, i]) & ~np.isnan(own[:, j])
        exact = float(np.mean(own[both, i] == own[both, j])) if both.any() else None
        agreed = _kappa(own[:, i], own[:, j], queries, seed)
        found.append(JudgePair(names[i], names[j], int(both.sum()), agreed, exact))
    return tuple(found)


# Each judge -----------------------------------------------------------------------------------------------------------


def _judges(
    judging: Judging, own: Floats, queries: Sequence[str], people: Floats | None, seed: int
) -> tuple[PanelJudge, ...]:
    found = []
    for name, grades in zip(judging.judges, own.T, strict=True):
        votes = [vote for one in judging.verdicts for vote in one.votes if vote.judge == name]
        changed, apart = _steadiness(judging.verdicts, name)
        bill = judging.bills.get(name)
        found.append(
            PanelJudge(
                judge=name, asked=len(votes), graded=sum(vote.grade is not None for vote in votes),
                failures=dict(sorted(Counter(vote.reason for vote in votes if vote.grade is None).items())),
                pairs=int((~np.isnan(grades)).sum()), repeated=int((~np.isnan(changed)).sum()),
                flips=_share(changed, queries), apart=_share(apart, queries),
                people=None if people is None else _kappa(grades, people, queries, seed),
                bias=None if people is None else _bias(grades - people, queries),
                tokens=None if bill is None else bill.whole_tokens,
                cost=None if bill is None else bill.whole_cost, currency="" if bill is None else bill.currency,
            )
        )  # fmt: skip
    return tuple(found)


def _steadiness(verdicts: Sequence[PairVerdict], judge: str) -> tuple[Floats, Floats]:
    """Whether a judge's grades of a pair differ, and the share of pairs of them that do; NaN with fewer than two.

    Weighted grades, which hardly ever are the same, are rounded to whole ones.
    """
    changed, apart = np.full(len(verdicts), np.nan), np.full(len(verdicts), np.nan)
    for place, one in enumerate(verdicts):
        grades = [round(vote.grade) for vote in one.votes if vote.judge == judge and vote.grade is not None]
        if len(grades) > 1:
            same = sum(n * (n - 1) for n in Counter(grades).values())
            changed[place] = len(set(grades)) > 1
            apart[place] = 1 - same / (len(grades) * (len(grades) - 1))
    return changed, apart


def _share(values: Floats, queries: Sequence[str]) -> Interval:
    return mean_interval(values, clusters=queries, bounds=(0.0, 1.0))


def _bias(differences: Floats, queries: Sequence[str]) -> Interval:
    return mean_interval(differences, clusters=queries)


# People ---------------------------------------------------------------------------------------------------------------


def _calibration(
    judging: Judging, own: Floats, people: Floats, queries: Sequence[str], seed: int
) -> PanelCalibration | None:
    """Calibrated grades, where there are enough labels for them."""
    known = ~np.isnan(people) & ~np.isnan(own).all(axis=1)
    labelled = {query for query, has in zip(queries, known, strict=True) if has}
    if known.sum() < LEAST or len(labelled) < _FEW_QUERIES:
        return None
    fitted = fit_panel(judging, people, seed=seed)
    plain = own_grades(judging, "mean")
    return PanelCalibration(
        labels=int(known.sum()),
        queries=len(labelled),
        folds=fitted.folds,
        constant=fitted.constant,
        weights=dict(zip(judging.judges, fitted.weights, strict=True)),
        errors={name: _error(grades, people) for name, grades in zip(judging.judges, plain.T, strict=True)},
        error=_error(fitted.predictions, people),
        mean=cross_fitted_mean(fitted.predictions, people, groups=queries, bounds=bounds_of(judging)),
        plain=float(np.nanmean(np.nanmean(plain[~np.isnan(plain).all(axis=1)], axis=1))),
    )


def _error(grades: Floats, people: Floats) -> float:
    """Root mean squared error over the pairs that have both; 0 where there are none."""
    squares = (grades - people) ** 2
    return float(np.sqrt(np.nanmean(squares))) if (~np.isnan(squares)).any() else 0.0


# Systems --------------------------------------------------------------------------------------------------------------


def _systems(
    judging: Judging, own: Floats, runs: Any, *, measures: Any, protocol: str | Protocol, known: Any,
    overrides: Mapping[str, Any],
) -> tuple[tuple[SystemBand, ...], tuple[Swap, ...]]:  # fmt: skip
    listed = [replace(as_whole_run(run), name=name) for name, run in as_runs(runs).items()]
    if not listed:
        if measures:
            raise UsageError(say("there are no runs to compute {measures} of", measures=str(measures)))
        return (), ()
    given = {} if known is None else as_judgments(known).by_query
    columns = {name: grades for name, grades in zip(judging.judges, own.T, strict=True) if (~np.isnan(grades)).any()}
    judged = {name: _judgments(judging, grades, given) for name, grades in columns.items()}
    whole = np.array([np.nan if one.grade is None else one.grade for one in judging.verdicts])
    panel = _judgments(judging, whole, given)
    # What a protocol derives from the grades must be the same for all judges.
    grades = pl.concat([one.pairs for one in (panel, *judged.values())])
    settings = Settings.of(Judgments.of(grades, dedupe=True), measures or defaults.SINGLE, protocol, **overrides)
    bands = []
    for run in listed:
        mine = evaluate_run(panel, run, settings)
        theirs = {name: evaluate_run(one, run, settings).mean() for name, one in judged.items()}
        for column in mine.columns:
            if column.is_mean:
                values = {name: _number(means[column.label]) for name, means in theirs.items()}
                bands.append(SystemBand(run.name, column.label, _number(mine.mean()[column.label]), values))
    return tuple(bands), tuple(_swaps(bands))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _judgments(judging: Judging, grades: Floats, known: Mapping[str, Mapping[str, float]]) -> Judgments:
    """Judgments of one judge, with those that are known besides."""
    found: dict[str, dict[str, float]] = {query: dict(docs) for query, docs in known.items()}
    for one, grade in zip(judging.verdicts, grades, strict=True):
        if not np.isnan(grade):
            found.setdefault(one.query_id, {})[one.doc_id] = float(grade)
    return Judgments.from_dict(found)  # type: ignore[arg-type]


def _swaps(bands: Sequence[SystemBand]) -> list[Swap]:
    """Systems of which one has the higher mean under the panel's grades and the other under a judge's."""
    found = []
    for measure in dict.fromkeys(one.measure for one in bands):
        rows = [one for one in bands if one.measure == measure and one.panel is not None]
        for pair in combinations(rows, 2):
            first, second = sorted(pair, key=lambda one: -(one.panel or 0.0))
            apart = {
                name: value - other
                for name, value in first.judges.items()
                if value is not None and (other := second.judges[name]) is not None
            }
            against = tuple(name for name, value in apart.items() if value < -_EQUAL)
            if against:
                ends = min(apart.values()), max(apart.values())
                found.append(Swap(measure, first.system, second.system, *ends, against))
    return found


def _warnings(found: Panel) -> list[Said]:
    said = []
    poor = [one for one in found.agreements if one.kappa.value is not None and one.kappa.value < POOR]
    if poor:
        worst = min(poor, key=lambda one: one.kappa.value or 0.0)
        names = {"first": worst.first, "second": worst.second}
        said.append(say("panel.poor", n=len(poor), value=worst.kappa.value, least=POOR, **names))
    said += [
        say("panel.failing", judge=one.judge, failed=one.asked - one.graded, asked=one.asked)
        for one in found.judges
        if one.asked - one.graded > _MANY_FAILED * one.asked
    ]
    if found.labels and found.calibration is None:
        said.append(say("panel.few_labels", n=found.labels, least=LEAST, queries=_FEW_QUERIES))
    return said
