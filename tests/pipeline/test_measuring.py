"""Time and money of stages: what is timed, what came from a cache, and what it cost."""

from __future__ import annotations

import json
import sys

import pytest

import assay
from assay.testing import Answer, FakeLLM
from experiments import SHORT_DOCUMENTS, SHORT_QUERIES, short_experiment


def test_an_embedding_reranker_embeds_every_text_of_every_timed_query(tmp_path):
    (tmp_path / "counting_embedder.py").write_text(
        "seen = []\ndef embed(texts):\n    seen.append(list(texts))\n    return [[float(len(t)), 1.0] for t in texts]\n",
        encoding="utf-8",
    )
    body = '[[rerank]]\nmethod = "embedding"\nembedder = "counting_embedder:embed"\ndepth = [2, 3]\n'
    found = assay.run_experiment(short_experiment(tmp_path, body))
    seen = sys.modules["counting_embedder"].seen
    for depth, outcome in zip((2, 3), found.outcomes, strict=True):
        for place, query in enumerate(SHORT_QUERIES.values()):
            texts = {outcome.chunks[number].text for number in outcome.hits[place].chunks[:depth]}
            assert {query, *texts} in [set(row) for row in seen]
    assert len(seen) == 1 + 2 * len(SHORT_QUERIES), "one call for warming up, then one for each query and depth"
    seen.clear()
    candidates = {name: dict(SHORT_DOCUMENTS) for name in SHORT_QUERIES}
    reranker = {"method": "embedding", "embedder": "counting_embedder:embed"}
    sys.path.insert(0, str(tmp_path))
    try:
        assay.evaluate_reranker(reranker, SHORT_QUERIES, candidates, {"q1": {"a": 1}, "q2": {"c": 1}})
    finally:
        sys.path.remove(str(tmp_path))
    assert [set(row) for row in seen] == [{SHORT_QUERIES[q], *SHORT_DOCUMENTS.values()} for q in ("q1", "q1", "q2")]


GRADING = '[rerank]\nmethod = "llm-pointwise"\ndepth = DEPTH\n[llm]\nurl = "URL"\nmodel = "m"\n'


def graded(received):
    return json.dumps({"grade": 5 if "steamed" in received.text else 1})


def test_times_of_replies_from_a_cache_are_marked_and_told(tmp_path):
    with FakeLLM(graded) as server:
        body = GRADING.replace("URL", server.url)
        first = assay.run_experiment(short_experiment(tmp_path, body.replace("DEPTH", "3")))
        asked = len(server.requests)
        again = assay.run_experiment(short_experiment(tmp_path, body.replace("DEPTH", "2")))
        assert len(server.requests) == asked, "warming up would ask twice, and every text is known"
    assert not any(work.cached for work in first.outcomes[0].work["rerank"])
    assert asked == sum(len(hits.chunks[:3]) for hits in first.outcomes[0].hits)
    assert all(work.cached for work in again.outcomes[0].work["rerank"])
    assert not again.findings.combinations[0].timed
    assert any("the time of rerank is not known" in text for text in again.findings.warnings)
    assert not any("time" in text for text in first.findings.warnings)


def priced(folder, amount):
    (folder / "prices.toml").write_text(
        f'currency = "USD"\nprice = [{{ host = "*", model = "*", date = 2020-01-01, input = {amount}, output = {amount} }}]\n',
        encoding="utf-8",
    )


def test_another_price_is_another_cost(tmp_path):
    with FakeLLM(graded) as server:
        body = GRADING.replace("URL", server.url).replace("DEPTH", "2") + 'prices = "prices.toml"\n'
        costs = []
        for amount in (1.0, 3.0):
            path = short_experiment(tmp_path, body)
            priced(tmp_path, amount)
            costs.append(assay.run_experiment(path).findings.combinations[0].cost_per_query)
    assert costs[0] > 0
    assert costs[1] == pytest.approx(3 * costs[0])


def test_another_price_of_an_endpoint_is_another_cost(tmp_path):
    def served(received):
        rows = [{"index": i, "relevance_score": 1.0} for i in range(len(received.body["documents"]))]
        return Answer(body={"results": rows, "usage": {"total_tokens": 1000}})

    costs = []
    with FakeLLM(served) as server:
        for price in (2.0, 6.0):
            body = f'[rerank]\nmethod = "endpoint"\nurl = "{server.url}/rerank"\nmodel = "r"\nprice = {price}\n'
            costs.append(assay.run_experiment(short_experiment(tmp_path, body)).findings.combinations[0].cost_per_query)
    assert costs == pytest.approx([1000 * 2.0 / 1e6, 1000 * 6.0 / 1e6])


def test_what_a_server_asks_for_a_search_is_counted_or_unknown_and_never_nothing(tmp_path):
    def served(received):
        if "k" in received.body:
            return Answer(body={"results": [{"id": "a"}]})
        rows = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(received.body["input"])]
        return Answer(body={"data": rows, "usage": {"prompt_tokens": 50, "total_tokens": 50}})

    ways = 'search = "exact"\nmethod = ["vectors", "hybrid"]\nembedder = "m@URL"\n'
    with FakeLLM(served) as server:
        body = "[retrieve]\n" + ways.replace("URL", server.url)
        unknown = assay.run_experiment(short_experiment(tmp_path, body)).findings.combinations
        assert [row.cost_per_query for row in unknown] == [None, None]
        priced(tmp_path, 2.0)
        path = short_experiment(tmp_path, body + '[llm]\nprices = "prices.toml"\n')
        rows = assay.run_experiment(path).findings.combinations
        assert [row.stages[0].tokens for row in rows] == [100, 100]
        assert [row.cost_per_query for row in rows] == pytest.approx([50 * 2.0 / 1e6] * 2)
        plain = assay.run_experiment(
            short_experiment(tmp_path, f'[retrieve]\nmethod = "{server.url}"\n')
        ).findings.combinations
        assert plain[0].cost_per_query is None
    assert assay.run_experiment(short_experiment(tmp_path, "")).findings.combinations[0].cost_per_query == 0.0
