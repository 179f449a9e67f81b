"""`assay.pool`, `assay.judge_pairs` and `assay.estimate_judging`: the same as `assay judge`, from Python."""

from __future__ import annotations

import json

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.llm import Client
from assay.results.judging import Judging
from assay.testing import FakeLLM, seal_of

QUERIES = {"q1": "what is tea", "q2": "what is coffee"}
DOCUMENTS = {"a": "Tea is a drink.", "b": "Coffee is a drink.", "c": "Stones are hard."}
RUNS = [{"q1": {"a": 2.0, "c": 1.0}, "q2": {"b": 1.0}}, {"q1": {"b": 1.0}}]


def say_grade(messages, number: int) -> str:
    return json.dumps({"seal": seal_of(messages), "reason": "so", "grade": number})


def by_topic(messages) -> str:
    """Grade 3 where query and document are about the same, else 0."""
    text = str(messages)
    same = any(f"what is {word.lower()}" in text and f"{word} is a drink" in text for word in ("Tea", "Coffee"))
    return say_grade(messages, 3 if same else 0)


def judged(**more) -> Judging:
    return assay.judge_pairs(assay.pool(RUNS), queries=QUERIES, documents=DOCUMENTS, **{"judge": by_topic, **more})


def test_pairs_are_pooled_judged_and_evaluated():
    assert assay.pool(RUNS) == [("q1", "a"), ("q1", "b"), ("q1", "c"), ("q2", "b")]
    found = judged()
    assert found.complete
    assert found.to_judgments().to_dict() == {"q1": {"a": 3.0, "b": 0.0, "c": 0.0}, "q2": {"b": 3.0}}
    assert found.judge.startswith("by_topic (relevance-en-") and found.judge.endswith(", scale 0-3)")
    scores = assay.evaluate(found.to_judgments(), RUNS[0], ["mrr"])
    assert scores["mrr"] == 1.0 and scores.judge == found.judge


def test_several_judges_are_combined_and_named():
    found = judged(
        judge={"low": lambda asked: say_grade(asked, 0), "high": lambda asked: say_grade(asked, 3)}, combine="mean"
    )
    assert {one.grade for one in found.verdicts} == {1.5}
    assert found.judge.startswith("low + high (") and found.judge.endswith(", 1 x mean)")
    with pytest.raises(assay.UsageError, match="two judges have the same name"):
        judged(judge=[by_topic, by_topic])


def test_pairs_that_failed_have_their_reason_and_no_grade(tmp_path):
    found = judged(judge=lambda messages: by_topic(messages) if "Stones" not in str(messages) else "no idea")
    assert not found.complete and found.failures == {"parse": 1}
    assert "c" not in found.to_judgments().to_dict()["q1"]
    none = judged(judge=lambda _: "no idea")
    with pytest.raises(assay.UsageError, match="no pair could be judged"):
        none.save(tmp_path / "j.qrels")
    assert not (tmp_path / "j.qrels").exists()


def test_judging_is_saved_as_judgments_as_verdicts_and_as_a_result(tmp_path):
    found = judged()
    found.save(tmp_path / "j.qrels")
    read = assay.read_judgments(tmp_path / "j.qrels")
    assert read.judge == found.judge and read.to_dict() == found.to_judgments().to_dict()
    assay.write_verdicts(found, tmp_path / "why.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "why.jsonl").read_text().splitlines()]
    first = lines[0]
    assert (first["query_id"], first["doc_id"], first["grade"]) == ("q1", "a", 3.0)
    found.save(tmp_path / "j.json")
    assert load_result(Input.at(tmp_path / "j.json")).part(Judging) == found
    assert found.to_polars().height == 4


def test_what_it_would_cost_is_told_and_nobody_is_asked(tmp_path):
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ndate = 2020-01-01\ninput = 1.0\noutput = 1.0\ncurrency = "USD"\n'
    )
    with FakeLLM("{}") as server, Client(server.url, "m", prices=tmp_path / "prices.toml") as client:
        plan = assay.estimate_judging(
            assay.pool(RUNS), queries=QUERIES, documents=DOCUMENTS, judge=client, repeats=2
        )  # fmt: skip
        assert not server.requests
    assert plan.pairs == 4 and plan.estimates["m"].calls == 8
    assert plan.estimates["m"].cost > 0
    assert "8" in plan.to_markdown()
    with pytest.raises(assay.UsageError, match="cannot say what it would cost"):
        assay.estimate_judging(assay.pool(RUNS), queries=QUERIES, documents=DOCUMENTS, judge=by_topic)


def test_ids_without_texts_are_refused():
    with pytest.raises(assay.UsageError, match="give queries and documents"):
        assay.judge_pairs(assay.pool(RUNS), judge=by_topic)
    with pytest.raises(assay.InputError, match="'c' has no text"):
        assay.judge_pairs(assay.pool(RUNS), queries=QUERIES, documents={"a": "x", "b": "y"}, judge=by_topic)
    with pytest.raises(assay.UsageError, match="nothing to judge"):
        judged(known={"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"b": 0}})
