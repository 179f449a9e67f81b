"""Measures of event logs, against plain Python from their definitions, statsmodels, and simulations of known truth."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import assay
from assay.data.events import Events
from assay.errors import InputError, UsageError
from assay.measures import REGISTRY, parse
from assay.online.log_metrics import log_metrics
from assay.online.user_table import user_table
from assay.stats.arms import arm_of
from assay.stats.clustered import cluster_quantile_interval, ratio_interval
from commands import run_assay as run

UBI = Path(__file__).parents[2] / ".." / "shared" / "data" / "ubi" / "ubi_queries_events.ndjson"
CASES = 4000 if os.environ.get("ASSAY_STRESS") else 300
START = datetime(2026, 3, 1, tzinfo=UTC)


def make_log(seed: int = 7, users: int = 40) -> list[dict]:
    """A log with everything that measures count, and with gaps in everything."""
    rng = np.random.default_rng(seed)
    rows: list[dict] = []
    number = 0
    for user in range(users):
        time = START + timedelta(seconds=int(rng.integers(0, 4 * 86400)))
        for _ in range(int(rng.integers(1, 7))):
            number += 1
            time += timedelta(seconds=float(rng.choice([3, 200, 299, 301, 5000])))
            common = {"query_id": f"q{number}", "user": f"u{user}"}
            found = int(rng.integers(0, 9))
            rows.append(common | {
                "session": f"s{user}" if rng.random() < 0.9 else None, "time": time, "action": "query",
                "text": rng.choice(["tea", " Tea", "green tea", "pot", None]), "variant": "ab"[user % 2],
                "result_count": found if rng.random() < 0.9 else None,
                "latency_ms": float(rng.lognormal(5, 1)) if rng.random() < 0.9 else None,
                "input_tokens": int(rng.integers(10, 99)) if rng.random() < 0.8 else None,
                "output_tokens": int(rng.integers(10, 99)) if rng.random() < 0.8 else None,
                "cost": float(rng.random()) if rng.random() < 0.8 else None,
            })  # fmt: skip
            rows += [
                common | {"time": time, "action": "impression", "doc_id": f"d{p}", "position": p}
                for p in range(1, found + 1)
            ]
            for place in rng.integers(1, 10, int(rng.integers(0, 4))).tolist():
                rows.append(common | {
                    "time": time + timedelta(seconds=int(rng.choice([2, 5, 9, 40]))), "action": "click",
                    "doc_id": f"d{place}", "position": place if rng.random() < 0.9 else None,
                    "dwell_ms": float(rng.choice([500, 29999, 30000, 90000])) if rng.random() < 0.8 else None,
                })  # fmt: skip
            for action in ("copy", "regenerate"):
                rows += [common | {"time": time, "action": action}] * int(rng.integers(0, 3) % 3)
            if rng.random() < 0.5:
                rows.append(common | {"time": time, "action": "feedback", "feedback": float(rng.choice([1, -1]))})
    rows.append(
        {
            "query_id": "nowhere",
            "user": "u1",
            "time": START,
            "action": "click",
            "doc_id": "d1",
            "position": 1,
            "orphan": True,
        }
    )
    order = rng.permutation(len(rows))
    return [rows[i] for i in order]


def as_events(rows: list[dict]) -> Events:
    return Events.of(pl.DataFrame(rows, infer_schema_length=None))


class Query:
    """One request with its events, as the definitions speak of it."""

    def __init__(self, request: dict, events: list[dict], following: dict | None):
        self.request, self.events, self.following = request, events, following

    def of(self, action: str) -> list[dict]:
        return [row for row in self.events if row["action"] == action]

    def clicks(self) -> list[dict]:
        return sorted(self.of("click"), key=lambda row: (row["time"], row.get("position") or math.inf))

    def reworded(self) -> bool | None:
        text = self.request["text"]
        if (self.request["session"] or self.request["user"]) is None or text is None:
            return None
        if self.following is None or self.following["text"] is None:
            return False
        soon = (self.following["time"] - self.request["time"]).total_seconds() <= 300
        return soon and self.following["text"].strip().lower() != text.strip().lower()


def queries(rows: list[dict]) -> list[Query]:
    requests = [row for row in rows if row["action"] == "query"]
    found = []
    for one in requests:
        events = [row for row in rows if row["query_id"] == one["query_id"] and row["action"] != "query"]
        later = [
            r
            for r in requests
            if r["session"] == one["session"]
            and (one["session"] or r["user"] == one["user"] is not None)
            and (r["time"], r["query_id"]) > (one["time"], one["query_id"])
        ]
        found.append(Query(one, events, min(later, key=lambda r: (r["time"], r["query_id"]), default=None)))
    return found


def ctr_5(q: Query):
    seen = {row["doc_id"]: row["position"] for row in q.of("impression")}
    clicked = {row["doc_id"] for row in q.of("click")}
    near = {doc for doc, position in seen.items() if position <= 5}
    return len(near & clicked), len(near), len(clicked - set(seen))


def first_click_rr(q: Query):
    if not q.clicks():
        return 0, 1, 0
    place = q.clicks()[0]["position"]
    return (1 / place, 1, 0) if place else (0, 0, 1)


def bad(q: Query):
    again = q.reworded()
    return (0, 0, 1) if again is None else (int(again and not q.of("click")), 1, 0)


def good(q: Query):
    again = q.reworded()
    return (0, 0, 1) if again is None else (int(not again and not q.of("click")), 1, 0)


def satisfied(q: Query):
    times = [row["dwell_ms"] for row in q.of("click")]
    if any(time is not None and time >= 30_000 for time in times):
        return 1, 1, 0
    return (0, 0, 1) if None in times else (0, 1, 0)


def pogo(q: Query):
    pairs = zip(q.clicks(), q.clicks()[1:], strict=False)
    back = [a for a, b in pairs if (b["time"] - a["time"]).total_seconds() <= 10 and a["doc_id"] != b["doc_id"]]
    return len(back), len(q.clicks()), 0


def dwell(q: Query):
    times = [row["dwell_ms"] for row in q.of("click")]
    known = [time / 1000 for time in times if time is not None]
    return sum(known), len(known), len(times) - len(known)


def known(value):
    return (0, 0, 1) if value is None else (value, 1, 0)


def tokens(q: Query):
    both = q.request["input_tokens"], q.request["output_tokens"]
    return known(None if None in both else sum(both))


ORACLES = {
    "ctr@5": ctr_5,
    "any_click": lambda q: (int(bool(q.of("click"))), 1, 0),
    "abandonment": lambda q: (int(not q.of("click")), 1, 0),
    "abandonment(kind='bad')": bad,
    "abandonment(kind='good')": good,
    "first_click_rr": first_click_rr,
    "clicks": lambda q: (len(q.of("click")), 1, 0),
    "reformulation": lambda q: known(q.reworded()),
    "zero_results": lambda q: known(None if q.request["result_count"] is None else q.request["result_count"] == 0),
    "dwell": dwell,
    "satisfied_click": satisfied,
    "pogo": pogo,
    "thumbs": lambda q: (sum(r["feedback"] == 1 for r in q.of("feedback")), len(q.of("feedback")), 0),
    "copy": lambda q: (int(bool(q.of("copy"))), 1, 0),
    "regenerate": lambda q: (int(bool(q.of("regenerate"))), 1, 0),
    "query_latency": lambda q: known(q.request["latency_ms"]),
    "query_tokens": tokens,
    "query_cost": lambda q: known(q.request["cost"]),
}


def test_every_measure_of_events_is_checked():
    names = {parse(text).name for text in ORACLES} | {"satisfaction"}  # of stars, below
    assert names == {name for name, spec in REGISTRY.items() if spec.of == "events"}


@pytest.mark.parametrize("text", ORACLES)
def test_a_measure_is_what_its_definition_says(text):
    rows = make_log()
    found = log_metrics(as_events(rows), text, by="variant")
    for variant in "ab":
        parts = [ORACLES[text](q) for q in queries(rows) if q.request["variant"] == variant]
        numerator, denominator, left_out = (sum(column) for column in zip(*parts, strict=True))
        one = found.value(text, variant)
        assert numerator > 0
        assert one.numerator == pytest.approx(numerator, rel=1e-12)
        assert (one.denominator, one.left_out, one.queries) == (denominator, left_out, len(parts))
        assert one.interval.estimate == pytest.approx(numerator / denominator, rel=1e-12)


def test_stars_are_no_thumbs_and_thumbs_no_stars():
    rows = [{"query_id": "1", "user": "u", "action": "query", "time": START}] + [
        {"query_id": "1", "user": "u", "action": "feedback", "feedback": stars} for stars in (5.0, 4.0, 1.0, 3.0)
    ]
    found = log_metrics(as_events(rows), "satisfaction,thumbs")
    assert found.value("satisfaction").interval.estimate == 0.5
    assert [one.label for one in found.measures if one.lacking] == ["thumbs"]


@pytest.mark.parametrize(("p", "share"), [(50, 0.5), (95, 0.95), (99, 0.99)])
def test_a_percentile_is_that_of_numpy(p, share):
    rows = make_log()
    values = [row["latency_ms"] for row in rows if row["action"] == "query" and row["latency_ms"] is not None]
    one = log_metrics(as_events(rows), f"query_latency(p={p})").value(f"query_latency(p={p})")
    assert one.interval.estimate == pytest.approx(np.quantile(values, share), rel=1e-12)


def test_days_are_those_of_the_time_zone():
    rows = [{"query_id": "1", "user": "u", "action": "query", "time": datetime(2026, 3, 1, 20, tzinfo=UTC)}]
    log = as_events([*rows, {**rows[0], "action": "click"}])
    assert log_metrics(log, "any_click", by="day").groups == (("2026-03-01",),)
    assert log_metrics(log, "any_click", by="day", timezone="Asia/Shanghai").groups == (("2026-03-02",),)
    with pytest.raises(UsageError, match="no time zone 'Nowhere'"):
        log_metrics(log, "any_click", by="day", timezone="Nowhere")


def test_what_a_log_does_not_hold_is_undefined_and_never_0():
    log = as_events([{"query_id": "1", "user": "u", "action": "query", "time": START}])
    found = log_metrics(log, "any_click,zero_results,query_cost")
    assert found.values == ()
    assert [str(one.lacking).partition(",")[0] for one in found.measures] == [
        "any_click needs click", "zero_results needs results or result_count", "query_cost needs cost"
    ]  # fmt: skip
    with pytest.raises(UsageError, match="any_click needs click"):
        user_table(log, "any_click")


def test_without_users_it_says_what_intervals_count():
    rows = [{key: value for key, value in row.items() if key != "user"} for row in make_log()]
    found = log_metrics(as_events(rows), "any_click")
    assert found.cluster == "session"
    assert "no users" in found.warnings[0]
    rows = [{key: value for key, value in row.items() if key != "session"} for row in rows]
    assert log_metrics(as_events(rows), "any_click").cluster == "query_id"


def test_requests_without_a_user_are_left_out_and_counted():
    rows = make_log()
    lost = sum(row["action"] == "query" and row["user"] == "u3" for row in rows)
    rows = [{**row, "user": None} if row["user"] == "u3" else row for row in rows]
    found = log_metrics(as_events(rows), "any_click")
    assert (found.without_cluster, found.users) == (lost, 39)
    assert found.queries == sum(row["action"] == "query" for row in rows) - lost


def test_users_reduced_apart_add_up_to_the_whole():
    rows = make_log()
    texts = list(ORACLES)
    whole = user_table(as_events(rows), texts).sort("user")
    apart = [[row for row in rows if int(row["user"][1:]) % 3 == part] for part in range(3)]
    parts = pl.concat([user_table(as_events(part), texts) for part in apart]).sort("user")
    assert_frame_equal(parts, whole, rel_tol=1e-12)
    assert whole["ctr@5.denominator"].sum() == log_metrics(as_events(rows), "ctr@5").value("ctr@5").denominator


def test_a_standard_error_is_that_of_regression_with_clusters():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    y = rng.gamma(2, 3, len(users)) + users % 5
    fit = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": users}, use_t=True)
    found = ratio_interval(arm_of(np.bincount(users, weights=y), np.bincount(users)))
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-9)


def simulate(rng, users: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Users with rates of their own and 1 to 12 requests, more of them where the rate is high."""
    own = rng.beta(4 * rate, 4 * (1 - rate), users)
    asked = 1 + rng.binomial(11, 0.1 + 0.6 * own)
    return rng.binomial(asked, own), asked


@pytest.mark.parametrize(("users", "rate"), [(40, 0.3), (200, 0.05), (1000, 0.5)])
def test_intervals_of_ratios_hold_the_truth(users, rate):
    rng = np.random.default_rng(3)
    own = np.random.default_rng(0).beta(4 * rate, 4 * (1 - rate), 2_000_000)
    asked = 1 + 11 * (0.1 + 0.6 * own)
    truth = (own * asked).mean() / asked.mean()
    held = 0
    for _ in range(CASES):
        one = ratio_interval(arm_of(*simulate(rng, users, rate)), bounds=(0, 1))
        held += one.low <= truth <= one.high
    assert held / CASES >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / CASES) * (CASES < 4000)


@pytest.mark.parametrize(("users", "share"), [(60, 0.5), (300, 0.95), (2000, 0.99)])
def test_intervals_of_percentiles_hold_the_truth(users, share):
    rng = np.random.default_rng(4)
    truth = float(np.exp(math.sqrt(1.5) * pytest.importorskip("scipy.special").ndtri(share)))
    cases, held = CASES // 2, 0
    for _ in range(cases):
        codes = np.repeat(np.arange(users), rng.integers(1, 9, users))
        x = np.exp(rng.normal(0, math.sqrt(0.5), users)[codes] + rng.normal(0, 1, len(codes)))
        one = cluster_quantile_interval(x, share, codes)
        held += (one.low is None or one.low <= truth) and (one.high is None or truth <= one.high)
    assert held / cases >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / cases) * (CASES < 4000)


@pytest.mark.skipif(not UBI.exists(), reason="the log of the search shop is not here")
def test_the_real_log_counts_as_a_loop_over_its_rows_does():
    log = assay.read_events(UBI)
    rows = log.frame.collect().to_dicts()
    asked = {row["query_id"] for row in rows if row["action"] == "query"}
    clicked = {row["query_id"] for row in rows if row["action"] == "click"} & asked
    found = log_metrics(log, "any_click,clicks,dwell")
    assert (found.value("any_click").numerator, found.value("any_click").denominator) == (len(clicked), len(asked))
    clicks = sum(row["action"] == "click" and row["query_id"] in asked for row in rows)
    assert found.value("clicks").numerator == clicks
    assert next(one for one in found.measures if one.label == "dwell").lacking


def test_no_interval_of_what_is_at_least_0_goes_below_0():
    rows = [{"query_id": f"q{i}", "user": f"u{i}", "action": "query", "cost": 100.0 * (i == 0)} for i in range(5)]
    found = log_metrics(as_events(rows), "query_cost").value("query_cost").interval
    assert found.estimate == 20
    assert found.low == 0  # Student's is 20 - 2.776 x 20 = -35.5
    assert found.high == pytest.approx(20 + 2.776445 * 20)


def test_bad_abandonment_without_texts_says_what_is_lacking():
    rows = [
        {"query_id": "1", "user": "ann", "action": "query"},
        {"query_id": "1", "user": "ann", "action": "click"},
        {"query_id": "2", "user": "ann", "action": "query"},
    ]
    found = log_metrics(as_events(rows), "abandonment,abandonment(kind='bad')")
    assert [bool(one.lacking) for one in found.measures] == [False, True]
    assert "text" in found.measures[1].lacking
    assert [one.measure for one in found.values] == ["abandonment"]


def test_a_log_that_is_damaged_inside_is_refused_by_name(tmp_path):
    from assay.data.source import Source

    place = tmp_path / "log.parquet"
    ids = [str(i) for i in range(5000)]
    pl.DataFrame({"query_id": ids, "user": ids, "action": ["query"] * 5000}).write_parquet(place, compression="zstd")
    data = bytearray(place.read_bytes())
    data[200:600] = b"\xff" * 400
    place.write_bytes(data)
    log = replace(Events.of(pl.scan_parquet(place)), sources=(Source("log.parquet", place),))
    with pytest.raises(InputError, match=r"log\.parquet"):
        log_metrics(log, "any_click")


def test_parameters_are_checked_also_where_the_log_has_no_values():
    rows = [{"query_id": "1", "user": "ann", "action": "query"}, {"query_id": "1", "user": "ann", "action": "click"}]
    with pytest.raises(UsageError, match="percentile"):
        log_metrics(as_events(rows), "query_latency(p=101)")


def test_measures_that_are_all_undefined_are_refused_with_what_they_need(tmp_path):
    rows = [{"query_id": "1", "user": "ann", "action": "query"}, {"query_id": "1", "user": "ann", "action": "click"}]
    place = tmp_path / "log.csv"
    pl.DataFrame(rows).write_csv(place)
    found = run("log", "metrics", place, "-m", "thumbs")
    assert found.returncode == 2
    assert "thumbs needs ratings by thumbs" in found.stderr
    assert run("log", "metrics", place, "-m", "thumbs,clicks").returncode == 0


def test_sessions_that_are_numbered_by_user_are_those_of_one_user():
    """Each of two users has a session 1: neither asked twice, though the session has two texts."""
    rows = [
        {"query_id": user, "user": user, "session": "1", "time": START + timedelta(seconds=i), "action": "query",
         "text": text}
        for i, (user, text) in enumerate((("ann", "tea"), ("bob", "milk")))
    ]  # fmt: skip
    more = rows[0] | {"query_id": "later", "time": START + timedelta(seconds=9), "text": "green tea"}
    assert log_metrics(as_events(rows), "reformulation").value("reformulation").numerator == 0
    assert log_metrics(as_events([*rows, more]), "reformulation").value("reformulation").numerator == 1
    drawn = assay.sample_log(as_events([*rows, more]), 3, strata=["reformulated"], unit="request")
    assert [one.query_id for one in drawn.queries if one.strata] == ["ann"]


def test_logs_are_taken_as_places_of_files(tmp_path):
    place = tmp_path / "log.csv"
    rows = [{"query_id": f"q{i}", "user": f"u{i}", "text": "tea", "device": "ab"[i % 2]} for i in range(4)]
    acts = [
        row | {"action": action, "doc_id": "d", "position": 1} for row in rows for action in ("impression", "click")
    ]
    pl.DataFrame([row | {"action": "query", "doc_id": None, "position": None} for row in rows] + acts).write_csv(place)
    read = assay.read_events(place, attributes=["device"])
    assert log_metrics(str(place), "ctr", by="device") == log_metrics(read, "ctr", by="device")
    assert_frame_equal(user_table(place, "ctr", by=()).sort("user"), user_table(read, "ctr", by=()).sort("user"))
    assert assay.click_judgments([place], "ctr", least=1).clicks == 4
    assert assay.sample_log(place, 1, strata=["no_click"]).requests == 4


def ctr_log(*rows: tuple) -> Events:
    """Rows of (query_id, action, doc_id, position, results, result_count)."""
    names = ["query_id", "action", "doc_id", "position", "results", "result_count"]
    filled = [
        dict(zip(names, (*row, *[None] * (6 - len(row))), strict=True)) | {"user": row[0], "text": "tea"}
        for row in rows
    ]
    kinds = {"results": pl.List(pl.String), "result_count": pl.Int64, "position": pl.Int32, "doc_id": pl.String}
    return Events.of(pl.DataFrame(filled, infer_schema_length=None, schema_overrides=kinds))


def test_ctr_counts_documents_that_were_shown_once_on_both_sides():
    shown = [("1", "query"), *[("1", "impression", doc, i) for i, doc in ((1, "a"), (2, "b"), (2, "b"))]]
    clicks = [("1", "click", doc, i) for i, doc in ((1, "a"), (1, "a"), (2, "b"), (3, "c"))]
    found = log_metrics(ctr_log(*shown, *clicks), "ctr,ctr@1")
    whole, first = found.value("ctr"), found.value("ctr@1")
    assert (whole.numerator, whole.denominator, whole.left_out) == (2, 2, 1)  # c was not shown
    assert (first.numerator, first.denominator) == (1, 1)
    judged = assay.click_judgments(ctr_log(*shown, *clicks), "ctr", least=1)
    assert (judged.clicks, judged.impressions, judged.left_out) == (2, 2, {"not_shown": 1})


def test_ctr_without_impressions_takes_lists_of_results_and_no_number_of_hits():
    rows = [("1", "query", None, None, ["a", "b"], 5000), ("1", "click", "b", 2), ("2", "query", None, None, None, 9),
            ("2", "click", "z", 1)]  # fmt: skip
    found = log_metrics(ctr_log(*rows), "ctr,ctr@1")
    assert (found.value("ctr").numerator, found.value("ctr").denominator, found.value("ctr").left_out) == (1, 2, 1)
    assert (found.value("ctr@1").numerator, found.value("ctr@1").denominator) == (0, 1)
    assert log_metrics(ctr_log(*rows[2:]), "ctr").measures[0].lacking


def rated(tmp_path: Path, *ratings: object, name: str = "feedback") -> Events:
    """A log of requests, each with one rating: an action or a value."""
    import json

    rows = [{"query_id": f"q{i}", "client_id": f"u{i}", "user_query": "tea"} for i in range(len(ratings))]
    for i, one in enumerate(ratings):
        act = {"query_id": f"q{i}", "client_id": f"u{i}", "action_name": one if name == "action" else "feedback"}
        rows.append(act if name == "action" else act | {"event_attributes": {name: one}})
    place = tmp_path / "rated.ndjson"
    place.write_text("\n".join(map(json.dumps, rows)))
    return assay.read_events(place)


def test_thumbs_and_stars_of_one_log_are_counted_apart(tmp_path):
    log = rated(tmp_path, *["up"] * 10, *[5] * 10, "down", 1)
    found = log_metrics(log, "thumbs,satisfaction")
    assert (found.value("thumbs").numerator, found.value("thumbs").denominator) == (10, 11)
    assert (found.value("satisfaction").numerator, found.value("satisfaction").denominator) == (10, 11)
    drawn = assay.sample_log(log, 50, strata=["thumbs_down"], unit="request")
    assert {one.query_id for one in drawn.queries if one.strata} == {"q20", "q21"}


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [
        ((1, -1, 1), "thumbs"),
        ((1, 1, 5), "stars"),
        ((1, 1, 1), None),
        ((True, True), "thumbs"),
        (({"stars": 1},), "stars"),
    ],
)
def test_numbers_are_thumbs_or_stars_by_all_numbers_of_the_log(tmp_path, ratings, scale):
    log = rated(tmp_path, *ratings)
    assert set(log.frame.filter(pl.col("feedback").is_not_null()).collect()["rating_scale"]) == {scale}
    assert any("single stars" in note for note in log.notes) == (scale is None)
    place = tmp_path / "again.parquet"
    assay.write_events(log, place)
    assert assay.read_events(place).frame.collect().equals(log.frame.collect())
