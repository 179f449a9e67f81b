"""How far interleaving goes with how many users, and how often it is wrong; in full with ASSAY_STRESS=1.

`pytest -s` prints the figures of docs/interleaving.md.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events
from assay.stats.arms import arm_of, lift

STRESS = os.environ.get("ASSAY_STRESS") == "1"
REPEATS = 200 if STRESS else 5
MANY = 20_000  # users of a simulated A/B test, whose z is brought to the number of users of the other
MARGIN = 3 if STRESS else 1  # standard errors by which interleaving must be ahead
LOGS = 2000 if STRESS else 40
QUERIES, DOCS, K = 200, 30, 10


def draw_world(rng, change):
    """Documents of queries with their chances of a click, and two rankings.

    A small change errs as before, by a tenth less; a new ranking errs by a third less, and elsewhere.
    """
    relevance = rng.beta(0.5, 2.5, (QUERIES, DOCS))
    noise = rng.normal(size=relevance.shape)
    other = 0.27 * noise if change == "small" else 0.2 * rng.normal(size=relevance.shape)
    return relevance, [np.argsort(-(relevance + one), axis=1) for one in (0.3 * noise, other)]


def draw_users(rng, users):
    """Whose requests there are, and for what; users differ in how often they ask and how readily they click."""
    of = np.repeat(np.arange(users), 1 + rng.negative_binomial(1, 0.4, users))
    return of, rng.integers(0, QUERIES, len(of)), rng.beta(3, 3, users)[of]


def click(rng, relevance, query, shown, habit):
    """Clicks at each place: seen with 1/sqrt(place), liked as the document and the user are."""
    seen = rng.random(shown.shape) < 1 / np.sqrt(np.arange(1, K + 1))
    return seen & (rng.random(shown.shape) < relevance[query[:, None], shown] * habit[:, None])


def z_of_ab_test(rng, world, users, measure):
    """The lift of the new ranking over its standard error, half of the users each."""
    relevance, rankings = world
    of, query, habit = draw_users(rng, users)
    treated = of % 2 == 1
    shown = np.where(treated[:, None], rankings[1][query][:, :K], rankings[0][query][:, :K])
    clicks = click(rng, relevance, query, shown, habit).sum(axis=1)
    value = (clicks > 0) * 1.0 if measure == "any_click" else clicks * 1.0
    sums = [np.bincount(of, weights=one) for one in (value, np.ones(len(of)))]
    arms = [arm_of(*(one[np.arange(users) % 2 == side] for one in sums)) for side in (0, 1)]
    found = lift(*arms)
    return found.absolute.estimate / found.standard_error


def z_of_interleaving(rng, world, users, method):
    """Wins less losses over the root of their squares, by user: all users see interleaved lists."""
    relevance, rankings = world
    of, query, habit = draw_users(rng, users)
    lists = [[list(map(str, ranked[q])) for q in range(QUERIES)] for ranked in rankings]
    found = [
        assay.interleave(lists[0][q], lists[1][q], method=method, k=K, query=int(q), user=int(u))
        for q, u in zip(query, of, strict=True)
    ]
    shown = np.array([[int(doc) for doc in one.documents] for one in found])
    team = np.array([[{"A": -1, "B": 1, None: 0}[name] for name in one.teams] for one in found])
    points = (click(rng, relevance, query, shown, habit) * team).sum(axis=1)
    wins, losses = (np.bincount(of, weights=one) for one in (points > 0, points < 0))
    return (wins - losses).sum() / np.sqrt(((wins - losses) ** 2).sum())


@pytest.mark.parametrize(("change", "times"), [("small", 5), ("new", 1)])
def test_interleaving_sees_a_difference_with_far_fewer_users_than_an_ab_test(change, times):
    """The squared ratio of the mean z: as many times the users has the A/B test to have for the same certainty."""
    users, z = 300, {"team-draft": [], "optimised": [], "any_click": [], "clicks": []}
    for repeat in range(REPEATS):
        rng = np.random.default_rng(repeat)
        world = draw_world(rng, change)
        for name, values in z.items():
            if name in {"team-draft", "optimised"}:
                values.append(z_of_interleaving(rng, world, users, name))
            else:
                values.append(z_of_ab_test(rng, world, MANY, name) * np.sqrt(users / MANY))
    means = {name: np.mean(values) for name, values in z.items()}
    errors = {name: np.std(values, ddof=1) / np.sqrt(REPEATS) for name, values in z.items()}
    for name, mean in means.items():
        sys.stdout.write(f"{change} {name}: mean z {mean:.3f} +- {errors[name]:.3f} with {users} users\n")
    for name in ("any_click", "clicks"):
        sys.stdout.write(
            f"users of an A/B test on {name} for each of team draft: {(means['team-draft'] / means[name]) ** 2:.0f}\n"
        )
    assert means["team-draft"] - MARGIN * errors["team-draft"] > times * max(means["any_click"], means["clicks"])
    assert means["optimised"] - MARGIN * errors["optimised"] > times * max(means["any_click"], means["clicks"])


def draw_null_log(rng, users=60):
    """Users with strong tastes of their own, of which as many go one way as the other."""
    rows, number = [], 0
    for user in range(users):
        taste = rng.beta(0.5, 0.5)
        for _ in range(1 + int(rng.negative_binomial(1, 0.25))):
            teams = {"a": "old", "b": "new"} if rng.random() < 0.5 else {"b": "new", "a": "old"}
            log = json.dumps({"method": "team-draft", "teams": {**teams, str(number): None}})
            rows.append({"query_id": str(number), "user": str(user), "action": "query", "teams": log})
            if rng.random() < 0.7:
                rows.append(
                    {"query_id": str(number), "action": "click", "doc_id": "b" if rng.random() < taste else "a"}
                )
            number += 1
    return Events.of(pl.DataFrame(rows, infer_schema_length=None))


@pytest.mark.parametrize("sequential", [False, True])
def test_false_alarms_keep_to_the_level_where_requests_of_a_user_hang_together(sequential):
    alarms = naive = 0
    logs = LOGS if not sequential else LOGS // 4
    for i in range(logs):
        found = assay.interleaving_test(
            draw_null_log(np.random.default_rng(i)), control="old", days=9, sequential=sequential, tuning=1000
        )
        one = found.test("new")
        alarms += one.outcome in {"better", "worse"}
        total = one.wins + one.losses
        naive += abs(one.wins - total / 2) > 1.96 * np.sqrt(total) / 2
    error = np.sqrt(0.05 * 0.95 / logs)
    sys.stdout.write(
        f"sequential {sequential}: false alarms {alarms / logs:.3f}, by requests {naive / logs:.3f} (error {error:.3f})\n"
    )
    assert alarms / logs < 0.05 + (3 if STRESS else 4) * error
    assert naive / logs > 0.15
