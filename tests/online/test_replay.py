"""Replays: estimates by five lines of Python, on real data and on a simulator whose truth is known; refusals."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import AssayError
from assay.stats.off_policy import NO_OVERLAP

STRESS = os.environ.get("ASSAY_STRESS") == "1"
ITEMS = "abcde"


def value(found, estimator):
    return found.estimate(estimator).estimate


# Real data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv.gz", "parquet"])
def test_the_open_bandit_log_gives_the_known_numbers_of_the_uniform_policy(shared, tmp_path, suffix):
    """By its description: IPS .00301, SNIPS .00319, an effective sample size of 656; the truth is .0046."""
    place = shared / "open_bandit" / "bts_men.csv.gz"
    if suffix == "parquet":
        place = tmp_path / "bts.parquet"
        pl.read_csv(shared / "open_bandit" / "bts_men.csv.gz").write_parquet(place)
    found = assay.replay(place, "uniform")
    assert value(found, "ips") == pytest.approx(0.00301, abs=1e-5)
    assert value(found, "snips") == pytest.approx(0.00319, abs=1e-5)
    assert found.best.ess == pytest.approx(656, abs=0.5)
    truth = pl.read_csv(shared / "open_bandit" / "random_men.csv.gz")["click"].mean()
    for name in ("ips", "snips", "doubly_robust"):
        assert found.estimate(name).interval.low < truth < found.estimate(name).interval.high
    assert found.logged.estimate == pytest.approx(0.0069)


def test_without_overlap_the_open_bandit_log_gives_no_number(shared, call):
    """Always showing item 12: IPS would say .0095, where the uniform log has .0034."""
    place = shared / "open_bandit" / "bts_men.csv.gz"
    rows = pl.read_csv(place)
    naive = ((rows["item_id"] == 12) / rows["propensity_score"] * rows["click"]).mean()
    assert naive == pytest.approx(0.0095, abs=1e-4)
    Path("always.py").write_text("def policy(rows, items):\n    return [float(item == '12') for item in items]\n")
    code, out, _ = call("ab", "replay", str(place), "--policy", "always:policy", "--format", "json")
    found = json.loads(out)["replay"]
    assert code == 1
    assert [one["estimate"] for one in found["estimates"]] == [None] * 4
    assert found["estimates"][0]["interval"]["estimate"] is None
    assert found["estimates"][0]["ess"] < 10
    code, out, _ = call("ab", "replay", str(place), "--policy", "always:policy")
    assert (code, "no overlap" in out, "0.0095" in out, "0.00948" in out) == (1, True, False, False)


# By hand --------------------------------------------------------------------------------------------------------------


def draw_table(rng, n, *, users=0):
    """A log of a policy that prefers early items; clicks fall with the place and differ by item."""
    chances = np.array([0.4, 0.25, 0.15, 0.12, 0.08])
    item, place = rng.choice(5, size=n, p=chances), rng.integers(1, 4, n)
    rate = TRUE_RATES[item] / place
    table = {"item_id": [ITEMS[i] for i in item], "position": place, "click": (rng.random(n) < rate).astype(int),
             "propensity_score": chances[item]}  # fmt: skip
    return pl.DataFrame({**table, "user_id": [f"u{i}" for i in rng.integers(0, users, n)]} if users else table)


TRUE_RATES = np.array([0.1, 0.3, 0.2, 0.5, 0.4])
NEW = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
TRUTH = float((NEW * TRUE_RATES).sum() * np.mean([1, 1 / 2, 1 / 3]))


def test_estimates_are_those_of_their_formulas():
    table = draw_table(np.random.default_rng(1), 2000)
    found = assay.replay(table, lambda rows, items: NEW)
    w = [NEW[ITEMS.index(item)] / p for item, p in table.select("item_id", "propensity_score").iter_rows()]
    y = table["click"].to_list()
    assert value(found, "ips") == pytest.approx(sum(a * b for a, b in zip(w, y, strict=True)) / 2000, rel=1e-12)
    assert value(found, "snips") == pytest.approx(sum(a * b for a, b in zip(w, y, strict=True)) / sum(w), rel=1e-12)
    assert found.best.ess == pytest.approx(sum(w) ** 2 / sum(a * a for a in w), rel=1e-12)
    assert found.best.largest_weight == pytest.approx(max(w) / sum(w), rel=1e-12)
    assert found.mean_weight.estimate == pytest.approx(sum(w) / 2000, rel=1e-12)
    assert value(found, "snips") - found.logged.estimate == pytest.approx(found.difference.estimate, rel=1e-9)


def test_the_doubly_robust_estimate_is_its_formula_with_models_of_other_folds():
    table = draw_table(np.random.default_rng(2), 1500)
    found = assay.replay(table, lambda rows, items: NEW)
    rows = list(
        zip(
            (ITEMS.index(one) for one in table["item_id"]),
            table["position"],
            table["click"],
            table["propensity_score"],
            strict=True,
        )
    )
    total = 0.0
    for fold in range(5):
        seen = [row for i, row in enumerate(rows) if i % 5 != fold]
        mean = sum(row[2] for row in seen) / len(seen)
        place = {
            p: (sum(r[2] for r in seen if r[1] == p) + 1) / (mean * sum(r[1] == p for r in seen) + 1) for p in (1, 2, 3)
        }
        item = {
            a: (sum(r[2] for r in seen if r[0] == a) + 1) / (sum(mean * place[r[1]] for r in seen if r[0] == a) + 1)
            for a in range(5)
        }
        for i, (a, p, y, chance) in enumerate(rows):
            if i % 5 == fold:
                model = {b: mean * place[p] * item[b] for b in range(5)}
                total += sum(NEW[b] * model[b] for b in range(5)) + NEW[a] / chance * (y - model[a])
    assert value(found, "doubly_robust") == pytest.approx(total / len(rows), rel=1e-9)


def test_item_position_weights_add_up_over_the_places_of_a_list():
    rng = np.random.default_rng(3)
    rows = [{"request_id": f"r{i // 3}", "item_id": ITEMS[int(rng.integers(5))], "position": 1 + i % 3, "click": int(rng.random() < 0.3),
             "propensity_score": 0.2} for i in range(1500)]  # fmt: skip
    found = assay.replay(rows, lambda frame, items: NEW)
    by_list = [
        sum(NEW[ITEMS.index(one["item_id"])] / 0.2 * one["click"] for one in rows[i : i + 3]) for i in range(0, 1500, 3)
    ]
    assert value(found, "item_position") == pytest.approx(sum(by_list) / 500, rel=1e-12)
    assert (found.lists, found.unit) == (500, "request")


def test_a_run_earns_where_it_ranks_what_was_shown():
    """Two queries, two documents, each at each place with one half; the run has its first document on top."""
    rows = [{"query_id": f"q{i % 2}", "item_id": "ab"[i // 2 % 2], "position": 1 + i // 4 % 2, "click": int(i % 3 == 0), "propensity_score": 0.5}
            for i in range(960)]  # fmt: skip
    run = {"q0": ["a", "b"], "q1": ["b", "a"], "q9": ["a"]}
    found = assay.replay(rows, run)
    shown = [one["click"] for one in rows if run[one["query_id"]][one["position"] - 1] == one["item_id"]]
    assert value(found, "snips") == pytest.approx(sum(shown) / len(shown), rel=1e-12)
    assert value(found, "ips") == pytest.approx(2 * sum(shown) / len(rows), rel=1e-12)
    assert found.best.ess == pytest.approx(len(shown), rel=1e-12)


def test_queries_that_a_run_lacks_are_left_out_and_counted():
    rows = [
        {"query_id": f"q{i % 4}", "item_id": "ab"[i // 4 % 2], "position": 1, "click": 1, "propensity_score": 0.5}
        for i in range(1200)
    ]
    found = assay.replay(rows, {f"q{i}": ["a"] for i in range(3)})
    assert found.rows == 900
    assert [dict(one.values)["n"] for one in found.warnings if one.key == "replay.other_queries"] == [300]


def test_uniform_is_over_the_documents_of_each_query():
    rows = [
        {
            "query_id": f"q{i % 2}",
            "item_id": f"{i % 2}{i % (4 if i % 2 else 6)}",
            "click": i % 3 == 0,
            "propensity_score": 0.25,
        }
        for i in range(1200)
    ]
    rows = [{**one, "click": int(one["click"])} for one in rows]
    found = assay.replay(rows)
    sizes = {q: len({one["item_id"] for one in rows if one["query_id"] == q}) for q in ("q0", "q1")}
    assert sorted(sizes.values()) == [2, 3]
    assert found.mean_weight.estimate == pytest.approx(sum(1 / sizes[one["query_id"]] / 0.25 for one in rows) / 1200)


# Truth ----------------------------------------------------------------------------------------------------------------


def test_estimates_are_unbiased_and_their_intervals_cover_the_truth():
    """The mean of many logs is within 2 of its standard errors of the truth (4 in the reduced count)."""
    logs = 4000 if STRESS else 80
    found = [assay.replay(draw_table(np.random.default_rng(i), 800), lambda rows, items: NEW) for i in range(logs)]
    for name in ("snips", "ips", "doubly_robust"):
        values = np.array([value(one, name) for one in found])
        error = values.std(ddof=1) / math.sqrt(logs)
        covered = np.mean(
            [one.estimate(name).interval.low <= TRUTH <= one.estimate(name).interval.high for one in found]
        )
        sys.stdout.write(
            f"{name}: bias {values.mean() - TRUTH:+.6f} +- {error:.6f} (truth {TRUTH:.4f}), deviation {values.std():.4f}, covered {covered:.3f}\n"
        )
        assert abs(values.mean() - TRUTH) < (2 if STRESS else 4) * error + (1e-4 if name == "snips" else 0)
        assert covered > (0.935 if STRESS else 0.86)


def test_a_user_with_many_rows_widens_intervals():
    rng = np.random.default_rng(5)
    table = draw_table(rng, 3000)
    habit = rng.beta(0.3, 0.6, 60)
    user = rng.integers(0, 60, 3000)
    table = table.with_columns(click=pl.Series((rng.random(3000) < habit[user]).astype(int)))
    apart = assay.replay(table, lambda rows, items: NEW)
    together = assay.replay(table.with_columns(user_id=pl.Series([f"u{i}" for i in user])), lambda rows, items: NEW)
    widths = [one.best.interval.high - one.best.interval.low for one in (apart, together)]
    assert (apart.unit, together.unit) == ("row", "user")
    assert widths[1] > 2 * widths[0]
    assert "replay.by_row" in {one.key for one in apart.warnings}


def test_a_policy_beyond_the_log_is_refused():
    """The log shows only a; the policy shows it half of the time, and otherwise b, of which there is one row.

    999 rows have the same weight, and their click rate would say nothing of b.
    """
    rows = [{"item_id": "a", "click": i % 2, "propensity_score": 1.0} for i in range(999)]
    found = assay.replay([*rows, {"item_id": "b", "click": 0, "propensity_score": 1.0}], lambda rows, items: [0.5, 0.5])
    assert "replay.weights_low" in {one.key for one in found.warnings}
    assert (found.best.ess > 900, found.overlap, found.best.estimate) == (True, False, None)


@pytest.mark.parametrize(("least", "largest", "holds"), [(100, 0.05, True), (2000, 0.05, False), (100, 0.0001, False)])
def test_overlap_takes_enough_rows_and_no_weight_above_all(least, largest, holds):
    from assay.results.replay import ReplayRules

    rules = ReplayRules(least_ess=least, largest=largest)
    found = assay.replay(draw_table(np.random.default_rng(1), 1000), lambda rows, items: NEW, rules=rules)
    assert found.overlap is holds
    assert (found.best.estimate is None) is not holds
    assert (found.best.interval.reason == NO_OVERLAP) is not holds
    assert (found.difference.estimate is None) is not holds


# Event logs -----------------------------------------------------------------------------------------------------------


def ubi(form, n=300):
    """Requests for tea whose impressions have propensities, or whose interleaved lists have them."""
    rng = np.random.default_rng(7)
    for i in range(n):
        of = {"query_id": f"r{i}", "client_id": f"u{i % 50}", "timestamp": f"2026-03-{1 + i % 9:02d}T08:00:00Z"}
        shown = assay.interleave(["a", "b", "c"], ["b", "c", "a"], k=3, query="tea", user=i, propensities=True)
        log = {"interleaving": shown.to_attributes()} if form == "interleaved" else {}
        yield {**of, "user_query": "Tea", "query_response_hit_ids": list(shown.documents), "query_attributes": log}
        for place, (doc, chance) in enumerate(zip(shown.documents, shown.propensities, strict=True), 1):
            more = {"object": {"object_id": doc}, "position": {"ordinal": place}}
            if form == "impressions":
                yield {**of, "action_name": "impression", "event_attributes": {**more, "propensity": chance}}
            if rng.random() < 0.5 / place:
                yield {**of, "action_name": "click", "event_attributes": more}


@pytest.mark.parametrize("form", ["impressions", "interleaved"])
def test_event_logs_with_propensities_are_replayed(call, form):
    lines = list(ubi(form))
    Path("log.ndjson").write_text("\n".join(map(json.dumps, lines)))
    Path("queries.jsonl").write_text('{"query_id": "7", "text": "tea"}\n')
    Path("new.run").write_text("7 Q0 b 1 3 new\n7 Q0 a 2 2 new\n7 Q0 c 3 1 new\n")
    code, out, err = call(
        "ab", "replay", "log.ndjson", "--policy", "new.run", "--queries", "queries.jsonl", "--format", "json"
    )
    assert code == 0, err
    found = json.loads(out)["replay"]
    clicks = {
        (one["query_id"], one["event_attributes"]["object"]["object_id"])
        for one in lines
        if one.get("action_name") == "click"
    }
    total = count = 0.0
    for one in lines:
        if "user_query" in one:
            number = int(one["query_id"][1:])
            chances = assay.interleave(
                ["a", "b", "c"], ["b", "c", "a"], k=3, query="tea", user=number, propensities=True
            ).propensities
            for doc, chance, wanted in zip(one["query_response_hit_ids"], chances, "bac", strict=True):
                total += (doc == wanted) / chance * ((one["query_id"], doc) in clicks)
                count += (doc == wanted) / chance
    by = {one["estimator"]: one for one in found["estimates"]}
    assert by["snips"]["estimate"] == pytest.approx(total / count, rel=1e-9)
    assert by["ips"]["estimate"] == pytest.approx(total / 900, rel=1e-9)
    assert by["item_position"]["estimate"] == pytest.approx(total / 300, rel=1e-9)
    assert (found["lists"], found["unit"]) == (300, "user")


def test_an_event_log_without_propensities_says_what_to_log(call):
    Path("log.ndjson").write_text("\n".join(map(json.dumps, ubi("none", 5))))
    code, _, err = call("ab", "replay", "log.ndjson", "--policy", "uniform")
    assert code == 2
    assert "propensity" in err


# Mistakes -------------------------------------------------------------------------------------------------------------


def table(**changes):
    rows = draw_table(np.random.default_rng(0), 300)
    return rows.with_columns(**changes)


@pytest.mark.parametrize(
    ("log", "policy", "said"),
    [
        (table(propensity_score=pl.lit(0.0)), "uniform", "the propensity 0 is not above 0"),
        (table(propensity_score=pl.lit(1.5)), "uniform", "the propensity 1.5 is not above 0"),
        (table(click=pl.lit("often")), "uniform", "'often' is no number"),
        (table(click=pl.lit(-1)), "uniform", "must not be below 0"),
        (table().drop("propensity_score"), "uniform", "no column for propensity"),
        (table(), {"q": ["a"]}, "the log has no queries"),
        (table(query_id=pl.lit("x")), {"q": ["a"]}, "none of the queries of the log, such as x"),
        (table(), lambda rows, items: [0.5] * 5, "do not add up to 1"),
        (table(), lambda rows, items: [1.5, -0.5, 0, 0, 0], "below 0"),
        (table(), lambda rows, items: [0.5, 0.5], "expected a probability for each row and document"),
        (table(), lambda rows, items: 1 / 0, "ZeroDivisionError"),
        (table(), "no_such_module:policy", "no_such_module"),
        (17, "uniform", "not int"),
    ],
)
def test_a_mistake_is_refused_with_its_cure(log, policy, said):
    with pytest.raises(AssayError, match=said):
        assay.replay(log, policy)


def test_columns_may_be_named(call):
    draw_table(np.random.default_rng(0), 600).rename({"item_id": "article", "click": "sold"}).write_csv("log.csv")
    assert call("ab", "replay", "log.csv", "--policy", "uniform")[0] == 2
    code, out, err = call(
        "ab",
        "replay",
        "log.csv",
        "--policy",
        "uniform",
        "--map",
        "doc_id=article",
        "--map",
        "reward=sold",
        "--format",
        "csv",
    )
    assert code == 0, err
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["snips", "ips", "doubly_robust", "item_position"]
