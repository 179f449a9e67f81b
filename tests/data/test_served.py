"""Served requests as samples and as rows of an event log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import assay
from assay.data.samples import Context, Turn
from assay.data.served import COLUMNS, Served, ServedContext, as_log, as_samples

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
ONE = Served(
    "0af7651916cd43dd8448eb211c80319c", START, "When?", "In 1889.",
    (ServedContext("It opened in 1889.", "c1", 0.5), ServedContext(None, "c2", 0.75)),
    history=(Turn("user", "Hello"),), session="s", user="u", model="m", system="shop", latency_ms=1200.0, first_token_ms=300.0, retrieval_ms=40.0,
    input_tokens=100, output_tokens=20, cost=0.002, attributes={"tier": "gold"},
)  # fmt: skip


def test_a_request_is_a_sample():
    sample = ONE.sample
    assert (sample.query_id, sample.question, sample.answer, sample.system) == (ONE.id, "When?", "In 1889.", "shop")
    assert sample.contexts == (Context("It opened in 1889.", "c1"),)
    assert sample.context_ids == ("c1", "c2")
    assert sample.conversation == "Hello\nWhen?"
    assert sample.others["tier"] == "gold"
    assert sample.others["time"] == "2026-11-01T12:00:00+00:00"


def test_what_a_request_lacks_is_missing_and_said():
    lacking = Served("1", lacks={"contexts": "no_retrieval", "answer": "failed"})
    assert lacking.sample.contexts is None
    assert lacking.sample.notes == ("no contexts: no span is a retrieval", "no answer: the request ended in an error")
    nothing = Served("2", contexts=())
    assert nothing.sample.contexts == ()  # it was searched, and nothing was found
    bare = Served("3", contexts=(ServedContext(id="a"),))
    assert (bare.sample.contexts, bare.sample.context_ids) == (None, ("a",))
    assert Served("4", contexts=(ServedContext("text"),)).sample.context_ids is None


def test_measures_of_answers_work_on_requests():
    found = assay.answers(as_samples([ONE]), ["faithfulness"])
    assert found.mean() == {"faithfulness": 1.0}


def test_measures_of_logs_work_on_requests():
    """Latencies of 1 to 100 ms: the median is between 50 and 51."""
    many = [
        Served(f"{i:032x}", START + timedelta(seconds=i), f"q{i}", "a", (), user=f"u{i}", latency_ms=float(i), input_tokens=10, output_tokens=5)
        for i in range(1, 101)
    ]  # fmt: skip
    found = assay.log_metrics(as_log(many), ["query_latency(p=50)", "query_tokens"])
    assert found.value("query_latency(p=50)").interval.estimate == 50.5
    assert found.value("query_tokens").interval.estimate == 15


def test_a_log_has_the_columns_of_requests_and_attributes_that_are_named():
    log = as_log([ONE, Served("2", error="timeout")], ["tier"])
    assert log.attributes == (*COLUMNS, "tier")
    rows = log.frame.collect().to_dicts()
    assert [row["top_score"] for row in rows] == [0.75, None]
    assert [row["tier"] for row in rows] == ["gold", None]
    assert [row["error"] for row in rows] == [None, "timeout"]
    assert [row["results"] for row in rows] == [["c1", "c2"], None]
    assert [row["result_count"] for row in rows] == [2, None]
    assert not len(as_log([]).frame.collect())


def test_documents_without_ids_are_counted_and_not_listed():
    row = as_log([Served("1", contexts=(ServedContext("a"), ServedContext("b", "2")))]).frame.collect().to_dicts()[0]
    assert (row["results"], row["result_count"]) == (None, 2)


def test_strata_of_low_scores_can_be_drawn():
    many = [Served(str(i), START, f"q{i}", contexts=(ServedContext("t", str(i), i / 100),)) for i in range(100)]
    found = assay.sample_log(as_log(many), 20, strata={"low:top_score": 0.5})
    low = next(one for one in found.strata if one.name == "low:top_score")
    assert low.requests == 10
