"""Tests by interleaving: wins, ties and losses by hand, the decision, and what of a log makes it doubtful."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events
from assay.errors import AssayError

LISTS = (["a", "b", "c", "d"], ["c", "a", "d", "b"])


def request(number, user, clicked, teams=None, *, day=1, **more):
    """A request with the documents that were clicked; teams are those of a list of its own unless given."""
    shown = assay.interleave(*LISTS, k=4, user=number, names=["old", "new"])
    log = shown.to_attributes() if teams is None else {"method": "team-draft", "teams": teams}
    of = {"query_id": f"r{number}", "user": user, "time": f"2026-03-{day:02d}T08:00:00Z"}
    rows = [{**of, "action": "query", "teams": json.dumps(log), **more}]
    wanted = [doc for doc, team in log["teams"].items() if team in clicked] if teams is None else clicked
    return rows + [{**of, "action": "click", "doc_id": doc} for doc in wanted]


def log_of(requests):
    frame = pl.DataFrame([row for one in requests for row in one], infer_schema_length=None)
    return Events.of(frame.with_columns(pl.col("time").str.to_datetime(time_zone="UTC")))


def draw_log(users=200, per_user=4, better=0.5, seed=0, **more):
    """Users with tastes of their own; `better` is the mean share of requests that the new system wins."""
    rng, requests = np.random.default_rng(seed), []
    for user in range(users):
        taste = rng.beta(4 * better, 4 * (1 - better))
        for i in range(per_user):
            clicked = [] if rng.random() < 0.3 else ["new" if rng.random() < taste else "old"]
            requests.append(request(len(requests), f"u{user}", clicked, day=1 + (user + i) % 10, **more))
    return log_of(requests)


def keys(found):
    return {one.key for one in found.warnings}


def test_a_request_is_won_by_more_clicked_documents():
    teams = {"a": "old", "b": "new", "c": None, "d": "new"}
    requests = [
        request(1, "u1", ["b"], teams), request(2, "u1", ["a", "a", "a"], teams), request(3, "u1", ["a", "b", "a"], teams),
        request(4, "u2", ["a", "b", "d"], teams), request(5, "u2", [], teams), request(6, "u2", ["c"], teams),
        request(7, "u3", ["d", "x"], teams),
    ]  # fmt: skip
    found = assay.interleaving_test(log_of(requests), control="old")
    one = found.test("new")
    assert (one.wins, one.ties, one.losses, one.users) == (3, 3, 1, 3)
    assert one.preference.estimate == 0.75
    assert (found.requests, found.users, found.contested) == (7, 3, 0.75)
    assert [dict(text.values)["n"] for text in found.warnings if text.key == "interleaving.outside"] == [1]


def test_p_flips_the_sign_of_each_user():
    """All 2^n assignments of signs to what users won less what they lost, by hand."""
    log = draw_log(users=11, better=0.8, seed=5)
    rows = log.frame.collect()
    team = {(q, doc): name for q, text in rows.filter(pl.col("action") == "query").select("query_id", "teams").iter_rows()
            for doc, name in json.loads(text)["teams"].items()}  # fmt: skip
    nets = dict.fromkeys(rows["user"].unique(), 0)
    for user, query, doc in rows.filter(pl.col("action") == "click").select("user", "query_id", "doc_id").iter_rows():
        nets[user] += {"new": 1, "old": -1}[team[query, doc]] / sum(
            key[0] == query and t == team[query, doc] for key, t in team.items()
        )
    nets = [round(net) for net in nets.values()]
    sums = [
        sum(sign * net for sign, net in zip(signs, nets, strict=True))
        for signs in itertools.product((1, -1), repeat=len(nets))
    ]
    expected = sum(abs(one) >= abs(sum(nets)) for one in sums) / len(sums)
    assert assay.interleaving_test(log, control="old").test("new").pvalue == pytest.approx(expected, abs=1e-12)


def test_the_interval_takes_users_as_independent_not_their_requests():
    """Against a bootstrap of users, in plain numpy."""
    log = draw_log(users=150, per_user=8, better=0.6, seed=2)
    found = assay.interleaving_test(log, control="old").test("new")
    rows = log.frame.collect()
    team = {(q, doc): name for q, text in rows.filter(pl.col("action") == "query").select("query_id", "teams").iter_rows()
            for doc, name in json.loads(text)["teams"].items()}  # fmt: skip
    clicks = rows.filter(pl.col("action") == "click").unique("query_id").select("user", "query_id", "doc_id")
    won = {user: [0, 0] for user in rows["user"].unique().sort()}
    for user, query, doc in clicks.iter_rows():
        won[user][team[query, doc] == "new"] += 1
    table = np.array(list(won.values()))
    drawn = table[np.random.default_rng(0).integers(0, len(table), (4000, len(table)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 1] / drawn.sum(axis=1), [0.025, 0.975])
    assert (found.preference.low, found.preference.high) == pytest.approx((low, high), abs=0.006)
    naive = 1.96 * np.sqrt(0.24 / table.sum())
    assert (found.preference.high - found.preference.low) / 2 > 1.3 * naive


@pytest.mark.parametrize(
    ("better", "more", "decision"),
    [
        (0.8, {}, "ship"),
        (0.2, {}, "do_not_ship"),
        (0.5, {}, "do_not_ship"),
        (0.8, {"planned": 5000}, "keep_running"),
        (0.8, {"days": 3}, "keep_running"),
        (0.8, {"least_users": 500}, "keep_running"),
        (0.8, {"sequential": True, "tuning": 1000}, "ship"),
        (0.5, {"sequential": True, "tuning": 1000}, "keep_running"),
    ],
)
def test_the_decision_follows_the_rules_of_the_house(better, more, decision):
    found = assay.interleaving_test(draw_log(better=better), control="old", **more)
    assert found.decision == decision
    assert (found.test("new").outcome == "waiting") == (decision == "keep_running" and "sequential" not in more)


def test_teams_that_never_come_first_make_a_test_invalid():
    """Twenty different lists, all of which begin with the old system."""
    requests = [request(i, f"u{i}", [f"n{i}"], {f"o{i}": "old", f"n{i}": "new"}, day=1 + i % 9) for i in range(60)]
    found = assay.interleaving_test(log_of(requests), control="old")
    assert (found.decision, found.verdicts[0].reasons[0].key) == ("invalid", "interleaving.mismatch")


def test_one_list_that_all_users_see_says_nothing_of_how_teams_are_drawn():
    """Draws by query alone: whatever all the users see of one query was drawn once."""
    teams = {"o": "old", "n": "new"}
    requests = [
        request(i, f"u{i}", ["n"], teams, day=1 + i % 9, text="tea", results=["o", "n", f"x{i}"]) for i in range(80)
    ]
    assert assay.interleaving_test(log_of(requests), control="old").decision == "ship"


def test_few_contested_places_are_warned_of():
    teams = {**dict.fromkeys("uvwxyz"), "a": "old", "b": "new"}
    found = assay.interleaving_test(log_of([request(i, f"u{i}", ["b"], teams) for i in range(60)]), control="old")
    assert found.contested == 0.25
    assert "interleaving.few_contested" in keys(found)
    assert "interleaving.few_contested" not in keys(assay.interleaving_test(draw_log(), control="old"))


def test_balanced_lists_are_warned_of():
    requests = [request(i, f"u{i}", ["b"], day=1 + i % 9) for i in range(60)]
    for rows in requests:
        rows[0]["teams"] = json.dumps({"method": "balanced", "teams": {"a": "old", "b": "new"}})
    assert "interleaving.was_balanced" in keys(assay.interleaving_test(log_of(requests), control="old"))


def test_several_systems_are_each_compared_with_the_control_and_corrected():
    rng, requests = np.random.default_rng(4), []
    for i in range(400):
        shown = assay.interleave(*(rng.permutation(list("abcdefgh")).tolist() for _ in range(3)), k=6, user=i, names=["old", "x", "y"],
                                 method="multileave")  # fmt: skip
        winner = str(rng.choice(["old", "x", "y"], p=[0.2, 0.6, 0.2]))
        clicked = [doc for doc, team in zip(shown.documents, shown.teams, strict=True) if team == winner][:1]
        requests.append(request(i, f"u{i}", clicked, shown.to_attributes()["teams"], day=1 + i % 9))
    found = assay.interleaving_test(log_of(requests), control="old")
    assert [(one.treatment, one.outcome) for one in found.tests] == [("x", "better"), ("y", "inconclusive")]
    first, second = found.tests
    assert first.adjusted == pytest.approx(min(1, 2 * first.pvalue))  # Holm
    assert second.adjusted == pytest.approx(max(second.pvalue, first.adjusted))
    wins = sum(1 for one in requests if len(one) > 1 and json.loads(one[0]["teams"])["teams"][one[1]["doc_id"]] == "x")
    assert first.wins == wins


def test_requests_without_a_user_are_left_out_and_counted():
    requests = [request(i, f"u{i}" if i else None, ["new"]) for i in range(60)]
    found = assay.interleaving_test(log_of(requests), control="old")
    assert (found.requests, found.users) == (59, 59)
    assert "ab.log_nobody" in keys(found)


def test_a_log_without_users_takes_requests_and_says_so():
    found = assay.interleaving_test(log_of([request(i, None, ["new"]) for i in range(60)]), control="old")
    assert (found.unit, found.users) == ("query_id", 60)
    assert "log.cluster_query_id" in keys(found)


# Files ----------------------------------------------------------------------------------------------------------------


def ubi(numbers, form):
    """UBI queries and clicks; teams by document, or in the order of the results."""
    for i in numbers:
        shown = assay.interleave(*LISTS, k=4, user=i, names=["old", "new"])
        teams = shown.to_attributes() if form == "object" else {"method": "team-draft", "teams": list(shown.teams)}
        of = {"query_id": f"r{i}", "client_id": f"u{i}", "timestamp": f"2026-03-{1 + i % 9:02d}T08:00:00Z"}
        yield {
            **of,
            "user_query": "tea",
            "query_response_hit_ids": list(shown.documents),
            "query_attributes": {"interleaving": teams},
        }
        liked = "new" if i % 4 else "old"
        doc = next((doc for doc, team in zip(shown.documents, shown.teams, strict=True) if team == liked), "a")
        yield {**of, "action_name": "click", "event_attributes": {"object": {"object_id": doc}}}


@pytest.mark.parametrize("form", ["object", "list"])
@pytest.mark.parametrize("suffix", ["ndjson", "csv", "parquet"])
def test_logs_of_every_format_are_recognised_and_say_the_same(call, tmp_path, form, suffix):
    lines = list(ubi(range(120), form))
    place = tmp_path / f"log.{suffix}"
    (tmp_path / "log.ndjson").write_text("\n".join(map(json.dumps, lines)))
    if suffix == "csv":
        rows = [
            {"query_id": one["query_id"], "user": one["client_id"], "time": one["timestamp"], "action": one.get("action_name", "query"),
             "doc_id": one.get("event_attributes", {}).get("object", {}).get("object_id"),
             "results": json.dumps(one["query_response_hit_ids"]) if "query_response_hit_ids" in one else None,
             "interleaving": json.dumps(one["query_attributes"]["interleaving"]) if "query_attributes" in one else None}
            for one in lines
        ]  # fmt: skip
        pl.DataFrame(rows, infer_schema_length=None).write_csv(place)
    if suffix == "parquet":
        assay.write_events(assay.read_events(tmp_path / "log.ndjson"), place)
    code, out, err = call("ab", "analyse", place.name, "--control", "old", "--format", "json")
    assert code == 0, err
    found = json.loads(out)["interleaving"]
    (one,) = found["tests"]
    assert (one["wins"], one["ties"], one["losses"]) == (90, 0, 30)
    assert (one["preference"]["estimate"], one["outcome"], found["contested"]) == (0.75, "better", 1.0)
    assert one["preference"]["low"] < 0.75 < one["preference"]["high"]
    assert one["pvalue"] < 0.001


def test_measures_have_no_meaning_for_interleaved_lists(call, tmp_path):
    (tmp_path / "log.ndjson").write_text("\n".join(map(json.dumps, ubi(range(9), "object"))))
    code, _, err = call("ab", "analyse", "log.ndjson", "-m", "any_click")
    assert code == 2
    assert "--measure" in err
    assert "interleaved" in err


def test_strict_stops_what_people_do_not_prefer(call, tmp_path):
    (tmp_path / "log.ndjson").write_text("\n".join(map(json.dumps, ubi(range(120), "object"))))
    assert call("ab", "analyse", "log.ndjson", "--control", "new", "--strict")[0] == 1
    assert call("ab", "analyse", "log.ndjson", "--control", "old", "--strict")[0] == 0


def test_a_log_of_variants_is_no_log_of_teams(call, tmp_path):
    rows = [
        {"query_id": f"r{i}", "user": f"u{i}", "action": "query", "variant": ("old", "new")[i % 2]} for i in range(9)
    ]
    rows += [{"query_id": "r1", "user": "u1", "action": "click", "variant": None}]
    pl.DataFrame(rows).write_csv(tmp_path / "log.csv")
    code, out, err = call("ab", "analyse", "log.csv", "-m", "any_click", "--control", "old", "--format", "json")
    assert code == 0, err
    assert "ab_test" in json.loads(out)


@pytest.mark.parametrize(
    ("teams", "said"),
    [
        ("[", "expected the team of each result"),
        ('{"method": "team-draft"}', "expected the team of each result"),
        ('{"teams": ["a", "b", "c"]}', "expected the team of each result"),
        ('{"teams": {"a": "A"}}', "fewer than two teams"),
    ],
)
def test_teams_that_cannot_be_are_refused(teams, said):
    rows = {"query_id": ["1"], "user": ["u"], "action": ["query"], "teams": [teams]}
    with pytest.raises(AssayError, match=said):
        assay.interleaving_test(Events.of(pl.DataFrame(rows)))


def test_an_unknown_control_is_refused_with_the_teams():
    with pytest.raises(AssayError, match="nev"):
        assay.interleaving_test(draw_log(users=5), control="nev")
