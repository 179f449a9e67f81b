"""Prediction-powered means: a few trusted labels correct many cheap predictions (PPI++, Angelopoulos et al. 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import Floats, check_share, vector
from assay.stats.intervals import Interval, t_interval
from assay.stats.moments import NO_SPREAD, NO_VALUES, Moments, exact_sum, moments_of, sample, scale_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LEAST = 2


@dataclass(frozen=True)
class PredictionPowered:
    """Estimate with its interval; `tuning` is lambda, the trust put in the predictions (0: none, labels only).

    `effective_n` is how many labels alone would give the same standard error. What cannot be computed is None, with the
    reason.
    """

    estimate: float | None
    standard_error: float | None
    interval: Interval
    tuning: float | None
    effective_n: float | None
    n_labelled: int
    n_unlabelled: int
    reason: str = ""


def prediction_powered_mean(
    labels: ArrayLike,
    predictions: ArrayLike,
    *,
    unlabelled: ArrayLike,
    weights: ArrayLike | None = None,
    unlabelled_weights: ArrayLike | None = None,
    tuning: float | None = None,
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """Mean of labels y over a population, from n labelled items (y, prediction f) and N items with a prediction g only.

    estimate = mean(y) - lambda (mean(f) - mean(g)), SE^2 = var(y - lambda f)/n + lambda^2 var(g)/N, and by default
    lambda = cov(y, f) / ((1 + n/N) var(f and g)), which makes SE smallest; it may exceed 1 when the predictions have
    another scale. Degrees of freedom by Welch and Satterthwaite, so without predictions this is Student's interval.
    Weighted, means and variances are those of `moments` and n, N effective numbers. Both sets must be drawn from one
    population, the labelled ones at random.
    """
    check_share(confidence_level, "confidence_level")
    y, f, u = _sample_labels(labels, predictions, weights)
    g, v, _ = sample(unlabelled, unlabelled_weights)
    factor = _tune_lambda(y, f, u, g, v) if tuning is None else tuning
    if not math.isfinite(factor):
        raise UsageError(say("tuning must be finite, not {tuning}", tuning=tuning))
    plain, rest = moments_of(y, u), moments_of(y - factor * f, u)
    both = _sum(rest, moments_of(factor * g, v)) if factor else rest
    interval = t_interval(both, confidence_level)
    effective = None
    if both.standard_error and plain.standard_error:
        effective = plain.effective_n * (plain.standard_error / both.standard_error) ** 2
    interval = replace(interval, method="prediction-powered", n=len(y))
    return PredictionPowered(both.mean, both.standard_error, interval, factor, effective, len(y), len(g), both.reason)


def _sample_labels(
    labels: ArrayLike, predictions: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats | None]:
    y, f = vector(labels, "labels"), vector(predictions, "predictions")
    if len(y) != len(f):
        raise UsageError(
            say(
                "labels and predictions must have the same length, not {labels} and {predictions}",
                labels=len(y),
                predictions=len(f),
            )
        )
    absent = np.isnan(y) | np.isnan(f)
    f, u, _ = sample(np.where(absent, np.nan, f), weights)
    return sample(np.where(absent, np.nan, y), weights).values, f, u


def _sum(rest: Moments, bulk: Moments) -> Moments:
    """Moments of the sum of two independent means."""
    if rest.mean is None or bulk.mean is None:
        return Moments(rest.n, reason=NO_VALUES)
    mean = rest.mean + bulk.mean
    if rest.standard_error is None or bulk.standard_error is None or rest.df is None or bulk.df is None:
        return Moments(rest.n, mean, reason=rest.reason or bulk.reason)
    a, b = rest.standard_error, bulk.standard_error
    error = math.hypot(a, b)
    if not error:
        return Moments(rest.n, mean, standard_error=0.0, df=rest.df, reason=NO_SPREAD)
    df = 1 / ((a / error) ** 4 / rest.df + (b / error) ** 4 / bulk.df)
    return Moments(rest.n, mean, standard_error=error, df=df)


def _tune_lambda(y: Floats, f: Floats, u: Floats | None, g: Floats, v: Floats | None) -> float:
    """Lambda with the smallest standard error; 0 where there is too little to tune it by."""
    n, bulk = len(y), len(g)
    if min(n, bulk) < _LEAST:
        return 0.0
    up, down = int(scale_of(y)), int(scale_of(np.concatenate([f, g])))
    y, f, g = np.ldexp(y, -up), np.ldexp(f, -down), np.ldexp(g, -down)
    u = np.full(n, 1 / n) if u is None else u
    v = np.full(bulk, 1 / bulk) if v is None else v
    pooled = moments_of(np.concatenate([f, g]), np.concatenate([n * u, bulk * v]) / (n + bulk)).deviation
    if not pooled:
        return 0.0
    together = exact_sum(u * (y - exact_sum(u * y)) * (f - exact_sum(u * f))) / (1 - exact_sum(u**2))
    return math.ldexp(together / ((1 + exact_sum(v**2) / exact_sum(u**2)) * pooled**2), up - down)
