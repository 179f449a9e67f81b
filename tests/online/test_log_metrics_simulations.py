"""How often intervals of `assay log metrics` hold the truth of simulated logs; in full with ASSAY_STRESS=1.

`pytest -s` prints the figures of docs/events.md.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from scipy.stats import gamma

import assay
from assay.measures import parse
from assay.stats.arms import arm_of
from assay.stats.clustered import cluster_quantile_interval, ratio_interval
from simulated_logs import MEASURES, add_up, as_events, draw_requests

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 4000 if STRESS else 100
SLACK = 0 if STRESS else 4
MEANS = {"any_click": 0.32, "clicks": 0.416, "ctr": 0.416 / 5, "query_latency": 100.0}
USERS = pytest.mark.parametrize("users", [50, 200, 1000])


def tell(text):
    """Print a figure, for docs/events.md."""
    sys.stdout.write(f"{text}\n")


def error(rate):
    return np.sqrt(rate * (1 - rate) / CASES)


def find_interval(requests, name):
    _, columns = add_up(requests, name)
    return ratio_interval(arm_of(*columns), bounds=parse(name).bounds)


def holds(interval, truth):
    """Whether the truth is inside; an end that is empty claims nothing."""
    return (interval.low is None or interval.low <= truth) and (interval.high is None or truth <= interval.high)


def test_intervals_of_simulated_users_are_those_of_their_events():
    requests = draw_requests(np.random.default_rng(3), users=120, earlier=0)
    found = assay.log_metrics(as_events(requests), [*MEASURES, "query_latency(p=95)"])
    for name in MEASURES:
        ours, theirs = find_interval(requests, name), found.value(name).interval
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    ours, theirs = find_quantile(requests, 0.95), found.value("query_latency(p=95)").interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@USERS
@pytest.mark.parametrize(("name", "once"), [*((name, False) for name in MEASURES), ("any_click", True)])
def test_intervals_of_a_log_hold_the_truth(name, once, users):
    rng = np.random.default_rng(13)
    found = [find_interval(draw_requests(rng, users, earlier=0, once=once), name) for _ in range(CASES)]
    covered = np.mean([holds(one, MEANS[name]) for one in found])
    tell(f"log metrics {name}{', one request each' if once else ''}, {users} users: {covered:.4f} +- {error(0.95):.4f}")
    assert covered >= 0.93 - SLACK * error(0.05)


def draw_costs(rng, users, spread):
    """Costs of requests with a heavy tail, by user: lognormal about a lognormal of the user."""
    sizes = 1 + rng.negative_binomial(1, 1 / 3, users)
    of = np.repeat(np.arange(users), sizes)
    costs = np.exp(rng.normal(0, 0.5, users)[of] + rng.normal(0, spread, len(of)))
    return np.bincount(of, weights=costs), sizes


@pytest.mark.parametrize("users", [50, 200, 1000])
@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_intervals_of_a_heavy_tail_hold_the_truth_from_200_users_on(spread, users):
    rng, truth = np.random.default_rng(15), np.exp((spread**2 + 0.25) / 2)
    found = [ratio_interval(arm_of(*draw_costs(rng, users, spread)), bounds=(0, np.inf)) for _ in range(CASES)]
    covered = np.mean([holds(one, truth) for one in found])
    tell(f"log metrics cost, lognormal {spread}, {users} users: {covered:.4f} +- {error(0.95):.4f}")
    least = {(1.0, 50): 0.88, (1.5, 50): 0.83, (1.5, 200): 0.88}.get((spread, users), 0.92)
    assert covered >= least - SLACK * error(0.05)


def test_means_of_few_users_without_an_upper_bound_say_that_their_intervals_may_be_too_short():
    rng, measures = np.random.default_rng(16), ["any_click", "query_latency", "query_latency(p=50)"]
    few, many = (assay.log_metrics(as_events(draw_requests(rng, n, earlier=0)), measures) for n in (150, 600))
    told = [text for text in map(str, few.warnings) if "fewer than 200 users" in text]
    assert len(told) == 1
    assert "query_latency" in told[0] and "any_click" not in told[0] and "p=50" not in told[0]
    assert not any("fewer than 200 users" in text for text in map(str, many.warnings))


def find_quantile(requests, share):
    return cluster_quantile_interval(requests.latency, share, np.unique(requests.of, return_inverse=True)[1])


def true_quantile(share):
    """Latencies are gamma about a gamma of the user: the quantile by the mixture over many users."""
    from scipy.optimize import brentq

    chances = (np.arange(4000) + 0.5) / 4000
    delays = gamma.ppf(chances, 20, scale=5)
    return brentq(lambda x: gamma.cdf(x, 5, scale=delays / 5).mean() - share, 1, 2000)


@USERS
@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_intervals_of_percentiles_of_a_log_hold_the_truth(share, users):
    rng, truth = np.random.default_rng(14), true_quantile(share)
    found = [find_quantile(draw_requests(rng, users, earlier=0), share) for _ in range(CASES)]
    covered = np.mean([holds(one, truth) for one in found])
    empty = np.mean([one.low is None or one.high is None for one in found])
    tell(
        f"log metrics P{share * 100:.0f}, {users} users: {covered:.4f} +- {error(0.95):.4f}, without an end {empty:.4f}"
    )
    assert covered >= 0.93 - SLACK * error(0.05)
    assert all(one.reason for one in found if one.low is None or one.high is None)
