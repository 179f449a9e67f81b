"""Judgments from clicks: what is counted, what stays unjudged, which grades follow, and that results say where from."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events
from assay.errors import InputError, UnknownName, UsageError
from assay.messages import tell
from assay.online.click_judgments import read_cuts
from assay.online.impressions import count_pairs, plain_text, text_id
from commands import run_assay as run

COLUMNS = ["query_id", "action", "doc_id", "position", "text", "user"]


def log(rows, **more) -> Events:
    frame = pl.DataFrame([(*row, *([None] * (6 - len(row)))) for row in rows], schema=COLUMNS, orient="row")
    return Events.of(frame.with_columns(**more))


def requests(texts, shown, clicked, users=None):
    """Rows of a log: for each request its text, what was shown in order, and what was clicked."""
    rows = []
    for i, (text, docs, clicks) in enumerate(zip(texts, shown, clicked, strict=True)):
        user = None if users is None else users[i]
        rows.append((f"r{i}", "query", None, None, text, user))
        rows += [(f"r{i}", "impression", doc, place, None, user) for place, doc in enumerate(docs, 1)]
        rows += [(f"r{i}", "click", doc, None, None, user) for doc in clicks]
    return rows


def simulate(rng, requests_each: int, queries: int = 12, docs: int = 8):
    """A log of shuffled lists whose clicks follow known grades 0 to 3 and an examination of 1/rank; and the grades."""
    grades = {f"query {q}": dict(zip([f"d{q}.{i}" for i in range(docs)], rng.integers(0, 4, docs).tolist(), strict=True))
              for q in range(queries)}  # fmt: skip
    texts, shown, clicked = [], [], []
    for text, judged in grades.items():
        for _ in range(requests_each):
            order = rng.permutation(list(judged)).tolist()
            texts.append(text)
            shown.append(order)
            chance = [(0.05 + 0.3 * judged[doc]) / (place + 1) for place, doc in enumerate(order)]
            clicked.append([doc for doc, p in zip(order, chance, strict=True) if rng.random() < p])
    return log(requests(texts, shown, clicked)), {text_id(plain_text(text)): docs for text, docs in grades.items()}


# What is counted ------------------------------------------------------------------------------------------------------


def test_coec_of_a_log_by_hand():
    """Two positions: 4 requests, `a` first in three of them; clicks on a, a, b, so the rates are 2/4 and 1/4."""
    events = log(requests(["tea"] * 4, [["a", "b"], ["a", "b"], ["b", "a"], ["a", "b"]], [["a"], ["a"], [], ["b"]]))
    found = assay.click_judgments(events, least=1)
    rows = {row["doc_id"]: row for row in found.to_rows()}
    assert rows["a"]["expected"] == 3 * 0.5 + 1 * 0.25
    assert rows["a"]["value"] == 2 / 1.75
    assert rows["b"]["value"] == 1 / (1 * 0.5 + 3 * 0.25)
    assert found.to_judgments().to_dict() == {text_id("tea"): {"a": 2.0, "b": 1.0}}
    other = assay.click_judgments(events, "coec(variant='opensearch')", least=1)
    assert {row["doc_id"]: row["value"] for row in other.to_rows()} == {"a": 1.0, "b": 0.5}


def test_a_document_counts_once_in_a_request_at_its_highest_position():
    rows = requests(["tea"], [["a", "b"]], [["a", "a"]])
    rows += [("r0", "impression", "a", 7), ("r0", "click", "x", 1), ("none", "click", "a", 1)]
    pairs = count_pairs(log(rows))
    counted = pairs.cells()
    assert (counted.by_pair(counted.shown).tolist(), counted.by_pair(counted.clicks).tolist()) == (
        [1.0, 1.0],
        [1.0, 0.0],
    )
    assert pairs.position.tolist() == [1, 2]
    assert pairs.left_out == {"no_request": 1, "no_text": 0, "not_shown": 1, "no_position": 0}


def test_what_a_request_returned_counts_as_shown_where_impressions_are_not_recorded():
    frame = pl.DataFrame(
        {
            "query_id": ["r", "r", "s", "s"], "action": ["query", "click", "query", "impression"],
            "doc_id": [None, "b", None, "c"], "position": [None, None, None, 1], "text": ["tea", None, "tea", None],
            "results": [["a", "b"], None, ["a", "b"], None],
        },
        schema_overrides={"results": pl.List(pl.String)},
    )  # fmt: skip
    found = assay.click_judgments(Events.of(frame), "ctr", least=1)
    counts = {row["doc_id"]: (row["impressions"], row["clicks"]) for row in found.to_rows()}
    assert counts == {"a": (1, 0), "b": (1, 1), "c": (1, 0)}
    assert assay.click_judgments(Events.of(frame), least=1).silent == 2  # nobody clicked at the first position
    assert [one for one in found.warnings if "1 of 2 requests" in one]


def test_texts_that_differ_by_case_width_and_blanks_are_one_query():
    events = log(requests(["Green  Tea", "green tea", "ＧＲＥＥＮ tea", "milk"], [["a", "b"]] * 4, [["a"]] * 4))
    found = assay.click_judgments(events, "ctr", least=1, queries={"q7": "GREEN TEA"})
    assert {one.query_id: one.requests for one in found.queries} == {"q7": 3, text_id("milk"): 1}


def test_a_log_without_texts_or_impressions_is_refused():
    with pytest.raises(InputError, match="has a text"):
        assay.click_judgments(log([("r", "query")]))
    with pytest.raises(InputError, match="no impressions") as error:
        assay.click_judgments(log([("r", "query", None, None, "tea"), ("r", "click", "a", 1)]))
    assert "展示" in tell(error.value.message, "zh")


def test_the_click_through_rate_needs_no_positions():
    events = log([("r", "query", None, None, "tea"), ("r", "impression", "a", None), ("r", "click", "a", None)])
    assert assay.click_judgments(events, "ctr", least=1).to_rows()[0]["value"] == 1.0
    with pytest.raises(InputError, match="no impressions"):
        assay.click_judgments(events, least=1)


def test_users_who_come_back_widen_the_intervals():
    shown, clicked = [["a", "b"]] * 60, [["a"] if i % 20 < 5 else [] for i in range(60)]
    alone = assay.click_judgments(log(requests(["t"] * 60, shown, clicked, [f"u{i}" for i in range(60)])), "ctr")
    again = assay.click_judgments(log(requests(["t"] * 60, shown, clicked, [f"u{i % 20}" for i in range(60)])), "ctr")
    assert (alone.design_effect, again.design_effect) == (1.0, pytest.approx(3.0))
    assert again.comes_back
    first, second = alone.to_rows()[0], again.to_rows()[0]
    assert first["value"] == second["value"]
    assert second["high"] - second["low"] > 1.4 * (first["high"] - first["low"])


# Grades ---------------------------------------------------------------------------------------------------------------


def test_rare_pairs_stay_unjudged_and_are_counted():
    events = log(requests(["tea"] * 12, [["a", "b"]] * 11 + [["a", "c"]], [["a"], ["b"]] + [[]] * 10))
    found = assay.click_judgments(events, least=11)
    assert (found.rare, [row["doc_id"] for row in found.to_rows()]) == (1, ["a", "b"])
    empty = assay.click_judgments(events, least=100)
    assert (empty.rare, len(empty.pairs)) == (3, 0)
    with pytest.raises(UsageError, match="nothing has a grade"):
        empty.to_judgments()


@pytest.mark.parametrize(("cuts", "wanted"), [
    (None, (0.5, 1, 2)), ("0.5,1", (0.5, 1.0)), ("50%, 90%", ("50%", "90%")), ([1, 2], (1.0, 2.0)), ("value", None),
])  # fmt: skip
def test_cuts_are_values_shares_or_none(cuts, wanted):
    assert read_cuts(cuts) == wanted


@pytest.mark.parametrize("cuts", ["", "a", "2,1", "0,1", "50%,2", "100%", "-1", "nan", []])
def test_odd_cuts_are_refused(cuts):
    with pytest.raises(UsageError, match="rising values"):
        read_cuts(cuts)


def test_grades_begin_at_the_cuts_and_what_was_never_clicked_has_none():
    events, _ = simulate(np.random.default_rng(1), 40)
    found = assay.click_judgments(events, "ctr", cuts="50%,90%")
    values = np.array(found.pairs.value)
    limits = np.quantile(values[values > 0], [0.5, 0.9])
    assert found.cuts == tuple(limits)
    assert list(found.pairs.grade) == [float((value >= limits).sum()) if value else 0.0 for value in values]
    whole = assay.click_judgments(events, "ctr", cuts="value")
    assert whole.pairs.grade == whole.pairs.value


def test_an_unknown_model_is_named_with_the_known_ones():
    with pytest.raises(UnknownName, match="pbm"):
        assay.click_judgments(log([]), "dbn")


# What becomes of them -------------------------------------------------------------------------------------------------


def test_judgments_from_clicks_say_so_wherever_they_are_used(tmp_path):
    events, grades = simulate(np.random.default_rng(2), 40)
    place = tmp_path / "clicks.qrels"
    assay.click_judgments(events).save(place)
    assert place.read_text().startswith("# judge: clicks:coec\n")
    runs = {name: {query: {doc: float(i * sign) for i, doc in enumerate(docs)} for query, docs in grades.items()}
            for name, sign in (("up", 1), ("down", -1))}  # fmt: skip
    scores = [assay.evaluate(str(place), run_, ["ndcg@5"], name=name) for name, run_ in runs.items()]
    assert any("judgments from clicks" in one for one in scores[0].warnings)
    assert any("由点击得出的标注" in tell(one, "zh") for one in scores[0].warnings)
    assert any("judgments from clicks" in one for one in assay.compare(scores).warnings)
    assert "judgments from clicks" in scores[0].to_markdown()
    people = {query: {doc: float(grade) for doc, grade in docs.items()} for query, docs in grades.items()}
    agreement = assay.calibrate(str(place), people)
    assert agreement.judge == "clicks:coec"
    with pytest.raises(InputError, match="not people's"):
        assay.calibrate(people, str(place))
    trusted = assay.evaluate(str(place), runs["up"], ["ndcg@5"], calibration=agreement.stamp)
    assert any("judgments from clicks (coec); agreement with people" in one for one in trusted.warnings)


@pytest.mark.parametrize("model", ["coec", "pbm"])
def test_agreement_with_people_rises_with_impressions(model):
    found = []
    for each in (15, 60, 600):
        events, grades = simulate(np.random.default_rng(3), each)
        judged = assay.click_judgments(events, model, cuts="value").to_judgments()
        cut = assay.click_judgments(events, model, cuts="50%,75%,90%").to_judgments()
        people = {query: {doc: float(grade) for doc, grade in docs.items()} for query, docs in grades.items()}
        ours = [judged.by_query[query][doc] for query, docs in people.items() for doc in docs]
        theirs = [grade for docs in people.values() for grade in docs.values()]
        found.append(assay.calibrate(cut, people).spearman.value)
        assert np.corrcoef(ours, theirs)[0, 1] > 0.4
    assert found == sorted(found)
    assert found[-1] > 0.85
    assert found[0] < 0.75


def test_the_command_writes_judgments_and_queries_that_others_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    events, grades = simulate(np.random.default_rng(4), 20)
    assay.write_events(events, "events.parquet")
    out = run(
        "log", "judgments", "events.parquet", "-o", "clicks.qrels", "--queries-out", "queries.jsonl", "--format", "json"
    )
    assert out.returncode == 0, out.stderr
    stored = json.loads(out.stdout)["click_judgments"]
    assert len(stored["pairs"]["grade"]) == 96
    texts = {
        row["query_id"]: row["text"] for row in map(json.loads, (tmp_path / "queries.jsonl").read_text().splitlines())
    }
    assert set(texts) == set(grades) == set(assay.read_judgments("clicks.qrels").query_ids)
    known = run("log", "judgments", "events.parquet", "--queries", "queries.jsonl", "--format", "csv")
    assert known.stdout.splitlines()[0] == "query_id,query,doc_id,impressions,clicks,expected,value,low,high,grade"
    assert run("log", "judgments", "events.parquet", "--cuts", "2,1").returncode == 2
    assert run("log", "judgments", "events.parquet", "-o", "clicks.json").returncode == 0


def test_the_record_is_frozen_and_replaceable():
    events, _ = simulate(np.random.default_rng(5), 15)
    found = assay.click_judgments(events, "pbm")
    assert replace(found, least=3).least == 3
    assert found.positions[0].examination == 1.0
    assert found.positions[1].standard_error > 0


def test_pairs_are_in_the_order_of_their_names():
    events = log(requests(["tea", "milk"] * 3, [["c", "a", "b"], ["b", "c", "a"]] * 3, [["c"], ["b"]] * 3))
    found = assay.click_judgments(events, "ctr", least=1).to_rows()
    assert [(row["query"], row["doc_id"]) for row in found] == [(q, d) for q in ("milk", "tea") for d in "abc"]
