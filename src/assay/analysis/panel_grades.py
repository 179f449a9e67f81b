"""The grades of a panel: each judge's own, people's beside them, and one that is calibrated on people's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError
from assay.judge.panel import combine_grades
from assay.messages import say
from assay.stats.cross_fitting import cross_fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.judgments import Judgments
    from assay.data.segments import Floats
    from assay.judge.panel import Combine
    from assay.results.judging import Judging, PairVerdict
    from assay.stats.cross_fitting import CrossFitted

LEAST = 50  # labelled pairs
_DIGITS = 6  # of a calibrated grade


def own_grades(judging: Judging, combine: Combine | None = None) -> Floats:
    """Each judge's own grade of each pair, its repeats combined: a row per pair, a column per judge, NaN for none."""
    how = combine or judging.combine
    rows = [[_own(verdict, name, how) for name in judging.judges] for verdict in judging.verdicts]
    return np.array(rows, dtype=np.float64).reshape(len(judging.verdicts), len(judging.judges))


def _own(verdict: PairVerdict, judge: str, combine: Combine) -> float:
    grades = [vote.grade for vote in verdict.votes if vote.judge == judge and vote.grade is not None]
    return combine_grades(grades, combine) if grades else math.nan


def people_of(judging: Judging, labels: Judgments) -> Floats:
    """People's grade of each pair, NaN for none; grades of a judge, or beyond the scale, are refused."""
    place = labels.source.label if labels.source else None
    if labels.judge:
        raise InputError(say("these grades are not people's: {judge} made them", judge=labels.judge), path=place)
    by_query = labels.by_query
    found = np.array([by_query.get(one.query_id, {}).get(one.doc_id, math.nan) for one in judging.verdicts])
    found[found < 0] = np.nan
    if judging.grades and np.any((found < judging.grades[0]) | (found > judging.grades[-1])):
        raise InputError(
            say(
                "people's grades reach to {most:g}, the scale of the judges from {low} to {high}",
                most=float(np.nanmax(found)), low=judging.grades[0], high=judging.grades[-1],
            ),
            path=place,
            hint=say("let the judges use the scale of the labels: --scale"),
        )  # fmt: skip
    return found


def bounds_of(judging: Judging) -> tuple[float, float]:
    """The lowest and the highest grade of the scale; in files of earlier versions, of those that were given."""
    given = judging.grades or [vote.grade or 0.0 for one in judging.verdicts for vote in one.votes]
    return float(min(given, default=0)), float(max(given, default=1))


def fit_panel(judging: Judging, people: Floats, *, seed: int = 0) -> CrossFitted:
    """Predict people's grades from the judges'; a query's grades by models that have seen none of its labels."""
    ratings = own_grades(judging, "mean")
    known = ~np.isnan(people) & ~np.isnan(ratings).all(axis=1)
    if known.sum() < LEAST:
        raise InputError(
            say("only {n} judged pairs have a label: calibrated grades need {least}", n=int(known.sum()), least=LEAST),
            hint=say("label more pairs, drawn at random from those that are judged"),
        )
    queries = [one.query_id for one in judging.verdicts]
    return cross_fit(ratings, people, groups=queries, bounds=bounds_of(judging), rng=seed)


def calibrate_grades(judging: Judging, labels: Judgments, *, seed: int = 0) -> Judging:
    """Put calibrated grades in place of the panel's; pairs that failed stay so."""
    people = people_of(judging, labels)
    fitted = fit_panel(judging, people, seed=seed).predictions
    verdicts = [
        one if one.grade is None else replace(one, grade=round(float(value), _DIGITS), tied=False)
        for one, value in zip(judging.verdicts, fitted, strict=True)
    ]
    stamp = f" on {int((~np.isnan(people)).sum())} labels {labels.digest[:8]}"
    return replace(judging, judge=_insert(judging.judge, stamp), verdicts=_explain(verdicts), combine="calibrated")


def _insert(judge: str, stamp: str) -> str:
    head, word, tail = judge.partition("x calibrated")
    return head + word + stamp + tail


def _explain(verdicts: Sequence[PairVerdict]) -> tuple[PairVerdict, ...]:
    """Give each verdict the explanation of the vote that is nearest to its grade."""
    found = []
    for one in verdicts:
        scored = [vote for vote in one.votes if vote.grade is not None]
        if one.grade is not None and scored:
            nearest = min(scored, key=lambda vote: abs((vote.grade or 0.0) - (one.grade or 0.0)))
            found.append(replace(one, explanation=nearest.explanation))
        else:
            found.append(one)
    return tuple(found)
