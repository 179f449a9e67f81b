"""Simulated event logs of A/B tests, and the users' sums that they come to without a path through events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import polars as pl

from assay.data.events import Events
from assay.online.ab import measure_lift
from assay.stats.arms import arm_of

START = datetime(2026, 10, 5, tzinfo=UTC)
MOST = 8  # results that a request shows
MEASURES = ("any_click", "clicks", "ctr", "query_latency")


@dataclass(frozen=True)
class Requests:
    """Requests of users with habits of their own: whose, in the test or before, when, and what came of each.

    Users with odd numbers are in the treatment. A request shows two to eight results and has 0, 1 or 2 clicks.
    """

    users: int
    of: np.ndarray
    tested: np.ndarray
    hours: np.ndarray
    latency: np.ndarray
    clicks: np.ndarray
    shown: np.ndarray

    def parts(self, measure):
        """What each request adds to the numerator and the denominator of a measure."""
        one = np.ones(len(self.of))
        return {
            "any_click": ((self.clicks > 0) * one, one),
            "clicks": (self.clicks * one, one),
            "ctr": (self.clicks * one, self.shown * one),
            "query_latency": (self.latency, one),
        }[measure]

    def before(self, hour):
        """The requests up to an hour: what a look at that time sees."""
        chosen = self.hours < hour
        names = ("of", "tested", "hours", "latency", "clicks", "shown")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def draw_requests(rng, users=400, *, lift=0.0, slower=0.0, earlier=3.0, days=10, once=False):
    """Draw requests before the test and in it; `lift` is of clicks, `slower` of latency, once: one request each."""
    habit, delay = 0.8 * rng.beta(2, 3, users), rng.gamma(20, 5, users)
    within = np.ones(users, int) if once else 1 + rng.negative_binomial(1, 1 / 3, users)
    sizes = (rng.negative_binomial(1, 1 / (1 + earlier), users), within)
    of = np.concatenate([np.repeat(np.arange(users), size) for size in sizes])
    tested = np.arange(len(of)) >= sizes[0].sum()
    treated = tested & (of % 2 == 1)
    hours = np.where(tested, rng.integers(0, 24 * days, len(of)), -rng.integers(1, 24 * 7, len(of)))
    clicked = rng.random(len(of)) < habit[of] * np.where(treated, 1 + lift, 1)
    clicks = clicked * (1 + (rng.random(len(of)) < 0.3))
    latency = rng.gamma(5, delay[of] / 5) * np.where(treated, 1 + slower, 1)
    return Requests(users, of, tested, hours, latency, clicks, rng.integers(2, MOST + 1, len(of)))


def as_events(requests):
    """The log of requests: one row for each, for each result that was shown and for each click."""
    rows = pl.DataFrame({
        "query_id": np.arange(len(requests.of)).astype(str), "user": requests.of.astype(str), "hours": requests.hours,
        "variant": np.where(requests.of % 2 == 1, "new", "old"), "latency_ms": requests.latency,
    }).with_columns(
        (pl.lit(START) + pl.duration(hours="hours")).alias("time"),
        pl.when(pl.Series(requests.tested)).then("variant"),
        action=pl.lit("query"),
    ).drop("hours")  # fmt: skip
    plain = rows.drop("latency_ms")
    places = [
        plain.filter(pl.Series(number > i)).with_columns(
            action=pl.lit(action), position=pl.lit(i + 1), doc_id=pl.lit(f"d{i}")
        )
        for action, number, most in (("impression", requests.shown, MOST), ("click", requests.clicks, 2))
        for i in range(most)
    ]
    return Events.of(pl.concat([rows, *places], how="diagonal"))


def add_up(requests, measure, *, cuped=False):
    """One value per user of the test: numerator and denominator in it, and both before it; and who they are."""
    columns = []
    for tested in (True, False) if cuped else (True,):
        chosen = requests.tested == tested
        columns += [
            np.bincount(requests.of[chosen], weights=one[chosen], minlength=requests.users)
            for one in requests.parts(measure)
        ]
    there = np.flatnonzero(np.bincount(requests.of[requests.tested], minlength=requests.users))
    return there, [column[there] for column in columns]


def find_lift(requests, measure, *, cuped=False):
    """The lift of a measure, as the analysis of the log finds it."""
    users, columns = add_up(requests, measure, cuped=cuped)
    names = ("values", "denominator", "covariate", "covariate_denominator")
    arms = [arm_of(**dict(zip(names, (one[users % 2 == i] for one in columns), strict=False))) for i in range(2)]
    share = measure == "any_click" and not cuped and bool((columns[1] == 1).all())
    return measure_lift(*arms, 0.95, share=share)
