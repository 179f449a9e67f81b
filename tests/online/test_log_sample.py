"""Samples of a log: probabilities that make weighted means right, whatever the strata, and the same sample every time."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events
from assay.errors import UnknownName, UsageError
from assay.online.log_sample import draw
from assay.stats.intervals import mean_interval
from commands import run_assay as run

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 4000 if STRESS else 500
START = datetime(2026, 3, 1, tzinfo=UTC)


def log(rows) -> Events:
    """Rows of (query_id, action, text, session, minutes, feedback, results)."""
    columns = {
        "query_id": pl.String, "action": pl.String, "text": pl.String, "session": pl.String, "time": pl.Datetime("us", "UTC"),
        "feedback": pl.Float64, "results": pl.List(pl.String), "top_score": pl.Float64,
    }  # fmt: skip
    filled = [(*row, *([None] * (8 - len(row)))) for row in rows]
    timed = [(*row[:4], None if row[4] is None else START + timedelta(minutes=row[4]), *row[5:]) for row in filled]
    return Events.of(pl.DataFrame(timed, schema=columns, orient="row"), ["top_score"])


def population(rng, size=600):
    """Texts with traffic, two strata that overlap, and a value of each that depends on them."""
    traffic = np.minimum(rng.zipf(1.7, size), 60)
    first, second = rng.random(size) < 0.15, rng.random(size) < 0.1
    value = np.clip(rng.beta(4, 2, size) - 0.35 * first - 0.2 * second, 0, 1)
    return traffic, first, second, value


def test_weighted_means_are_unbiased_and_their_intervals_hold_though_strata_overlap():
    rng = np.random.default_rng(1)
    traffic, first, second, value = population(rng)
    ids = [f"q{i}" for i in range(len(traffic))]
    rates = sum(
        share * traffic * inside / (traffic * inside).sum()
        for share, inside in ((0.5, np.ones_like(first)), (0.25, first), (0.25, second))
    )
    truth, total = float(np.average(value, weights=traffic)), int(traffic.sum())
    means, totals, held = [], [], []
    for seed in range(CASES):
        drawn, probability = draw(rates, ids, 80, seed)
        weights = traffic[drawn] / probability
        found = mean_interval(value[drawn], weights=weights, bounds=(0, 1))
        means.append(found.estimate)
        totals.append(weights.sum())
        held.append(not found.excludes(truth))
    error = np.std(means) / np.sqrt(CASES)
    print(f"mean {np.mean(means):.4f} of {truth:.4f} (SE {error:.4f}), coverage {np.mean(held):.4f}")  # noqa: T201
    assert np.mean(totals) == pytest.approx(total, abs=4 * np.std(totals) / np.sqrt(CASES))
    # A ratio of two estimates has a bias of the order 1/n.
    assert np.mean(means) == pytest.approx(truth, abs=4 * error + 0.002)
    assert np.mean(held) >= 0.93
    naive = np.mean([value[draw(rates, ids, 80, seed)[0]].mean() for seed in range(50)])
    assert naive < truth - 0.05  # the strata are worse than the rest: without weights the mean is wrong


def test_the_probability_of_being_drawn_is_the_one_that_is_given():
    """Each query's own total is estimated without bias: over many seeds, the mean of 1/probability is 1."""
    rates = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    sums = np.zeros(6)
    for seed in range(4000):
        drawn, probability = draw(rates, list("abcdef"), 3, seed)
        sums[drawn] += 1 / probability
    assert sums / 4000 == pytest.approx(np.ones(6), abs=0.1)


def test_a_larger_sample_with_the_same_seed_contains_the_smaller_one():
    rows = [(f"r{i}", "query", f"text {i % 150}") for i in range(400)]
    small, large = (assay.sample_log(log(rows), n, seed=3) for n in (20, 60))
    assert {one.query_id for one in small.queries} < {one.query_id for one in large.queries}
    assert assay.sample_log(log(rows[::-1]), 20, seed=3) == small
    assert assay.sample_log(log(rows), 20, seed=4) != small


STORY = [
    # two requests of one session: the first found nothing and was put in other words, the second was not clicked
    ("r1", "query", "shose", "s1", 0, None, []),
    ("r2", "query", "shoes", "s1", 1, None, ["a", "b"]),
    ("r3", "query", "shoes", "s2", 60, None, ["a", "b"]),
    ("r3", "click", None, "s2", 61),
    ("r4", "query", "boots", "s3", 120, None, ["c"]),
    ("r4", "click", None, "s3", 121),
    ("r4", "feedback", None, "s3", 122, -1.0),
    ("r5", "query", "brand new", "s4", 15 * 24 * 60, None, ["d"], 0.1),
    ("r5", "click", None, "s4", 15 * 24 * 60 + 1),
]


def test_strata_are_what_happened_to_the_requests():
    found = assay.sample_log(log(STORY), 10)
    assert {one.text: one.strata for one in found.queries} == {
        "shose": ("reformulated", "zero_results"),
        "shoes": ("no_click",),
        "boots": ("thumbs_down",),
        "brand new": ("new",),
    }
    assert {one.name: (one.requests, one.queries) for one in found.strata} == {
        "random": (5, 4), "thumbs_down": (1, 1), "no_click": (1, 1), "reformulated": (1, 1), "zero_results": (1, 1), "new": (1, 1),
    }  # fmt: skip
    assert {one.weight for one in found.queries if one.text == "shoes"} == {
        2.0
    }  # all are drawn: weights are the traffic
    assert "all of them" in found.warnings[0]


def test_stars_are_poor_up_to_two_and_an_attribute_gives_its_lowest_tenth():
    rows = [(f"r{i}", "query", f"t{i}", None, None, None, None, i / 20) for i in range(20)]
    rows += [(f"r{i}", "feedback", None, None, None, float(1 + i % 5)) for i in range(20)]
    found = assay.sample_log(log(rows), 20, strata=["thumbs_down", "low:top_score"])
    assert {one.name: one.requests for one in found.strata} == {"random": 20, "thumbs_down": 8, "low:top_score": 2}


def test_requests_can_be_drawn_instead_of_texts():
    found = assay.sample_log(log(STORY), 3, unit="request", random=1.0)
    assert (found.population, len(found.queries), [one.name for one in found.strata]) == (5, 3, ["random"])
    assert sum(one.weight for one in found.queries) == pytest.approx(3 / found.queries[0].probability)


def test_shares_of_strata_are_kept_and_those_of_empty_ones_go_to_the_others():
    found = assay.sample_log(log(STORY[:2]), 1, strata={"zero_results": 0.3, "thumbs_down": 0.2})
    assert {one.name: one.share for one in found.strata} == {"random": 0.7, "zero_results": 0.3, "thumbs_down": 0.0}
    assert "thumbs down" in found.warnings[0]
    equal = assay.sample_log(log(STORY[:2]), 1, strata=["zero_results", "thumbs_down"])
    assert {one.name: one.share for one in equal.strata} == {"random": 0.5, "zero_results": 0.5, "thumbs_down": 0.0}


@pytest.mark.parametrize("more", [{"random": 0}, {"strata": {"no_click": 1.0}}, {"strata": {"no_click": -0.2}}])
def test_odd_shares_are_refused(more):
    with pytest.raises(UsageError, match="share"):
        assay.sample_log(log(STORY), 3, **more)


def test_unknown_strata_and_attributes_are_named():
    with pytest.raises(UnknownName, match="no_click"):
        assay.sample_log(log(STORY), 3, strata=["noclick"])
    with pytest.raises(UnknownName, match="top_score"):
        assay.sample_log(log(STORY), 3, strata=["low:topscore"])


def test_personal_data_is_taken_out_when_asked():
    rows = [("r1", "query", "mail ann@example.com"), ("r2", "query", "tea")]
    found = assay.sample_log(log(rows), 2, redact=True)
    assert found.masked == 1
    assert "ann@example.com" not in json.dumps(found.to_dict())


def test_the_command_writes_queries_whose_weights_every_mean_uses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"r{i}", "query", f"text {i % 40}", f"s{i}", i, None, ["a"] if i % 3 else []) for i in range(200)]
    assay.write_events(log(rows), "events.parquet")
    out = run("log", "sample", "events.parquet", "-n", "15", "-o", "queries.jsonl", "--lang", "zh")
    assert out.returncode == 0, out.stderr
    assert "抽取了 15 个" in out.stdout
    rows = [json.loads(line) for line in (tmp_path / "queries.jsonl").read_text().splitlines()]
    weights = {row["query_id"]: row["weight"] for row in rows}
    values = {query: float(i % 2) for i, query in enumerate(weights)}
    assay.write_judgments(assay.Judgments.from_dict({query: {"a": 1} for query in weights}), "j.qrels")
    assay.write_run(
        assay.Run.from_dict({query: {"a" if value else "x": 1.0} for query, value in values.items()}, "r"), "r.run"
    )
    scored = run("evaluate", "j.qrels", "r.run", "-m", "hit_rate@1", "--weights", "queries.jsonl", "--format", "json")
    mean = json.loads(scored.stdout)["systems"][0]["metrics"]["hit_rate@1"]
    assert mean == pytest.approx(sum(weights[q] * values[q] for q in weights) / sum(weights.values()))
    assert run("log", "sample", "events.parquet", "-o", "set", "-q").returncode == 0
    assert (tmp_path / "set" / "queries.jsonl").is_file()
    assert run("log", "sample", "events.parquet", "--stratum", "no_click=0.2", "--stratum", "new").returncode == 2


@pytest.mark.parametrize(
    ("strata", "random", "told"),
    [
        ({"no_click": 0.9}, 0.5, "add up to 1.4"),
        ({"no_click": 0.3}, 0.5, "add up to 0.8"),
        (["no_click"], 1, "leaves nothing"),
    ],
)
def test_shares_that_cannot_be_had_are_refused(strata, random, told):
    with pytest.raises(UsageError, match=told):
        assay.sample_log(log([("q", "query", "tea")]), 1, strata=strata, random=random)
    assert assay.sample_log(log([("q", "query", "tea")]), 1, random=1).n == 1


@pytest.mark.parametrize("ask", [lambda log: assay.sample_log(log, 2), lambda log: assay.click_judgments(log, least=1)])
def test_what_a_log_set_aside_is_said_beside_what_was_made_of_it(ask, tmp_path):
    rows = [
        {"query_id": name, "user_query": name, "client_id": "u", "timestamp": "2026-01-01T00:00:00Z"} for name in "ab"
    ]
    acts = [
        {"query_id": name, "action_name": action, "client_id": "u", "timestamp": "2026-01-01T00:00:05Z",
         "event_attributes": {"object": {"object_id": "d"}, "position": {"ordinal": 1}}}
        for name in ("a", "b", "nowhere") for action in ("impression", "click")
    ]  # fmt: skip
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, *acts]))
    log = assay.read_events(path)
    told = [*(one.reason for one in log.quarantine), *log.notes]
    assert told
    assert set(told) <= set(ask(log).warnings)
