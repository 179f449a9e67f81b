"""What a cache, a key and a table must never mix up: answers, hosts, embedders, prices, times, coverage."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.analysis.experiment import _with_front
from assay.errors import InputError, UsageError
from assay.formats.files import file_name
from assay.pipeline.chunkers import plugin_chunker
from assay.pipeline.documents import read_collection
from assay.pipeline.external import Outside, as_search, plugin_retriever
from assay.pipeline.gold import GoldSpan, inside, read_gold
from assay.pipeline.records import Chunk, Document, Query
from assay.pipeline.rerankers import embedding, endpoint, plugin_reranker
from assay.pipeline.stages import Setup
from assay.pipeline.vectors import vectors
from assay.testing import Answer, FakeLLM

DOCUMENTS = {"a": "Green tea is steamed.", "b": "Green tea of the old station.", "c": "Black tea wants milk."}
QUERIES = {"q1": "green tea", "q2": "black tea"}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def experiment(folder, body, *, judged='judgments = "j.qrels"'):
    """Write a small experiment and give the path of its file."""
    (folder / "docs.jsonl").write_text(lines({"doc_id": k, "text": v} for k, v in DOCUMENTS.items()), encoding="utf-8")
    (folder / "q.jsonl").write_text(lines({"query_id": k, "text": v} for k, v in QUERIES.items()), encoding="utf-8")
    (folder / "j.qrels").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n", encoding="utf-8")
    path = folder / "e.toml"
    path.write_text(f'[data]\ndocuments = "docs.jsonl"\nqueries = "q.jsonl"\n{judged}\n{body}', encoding="utf-8")
    return path


def test_answers_made_from_the_order_of_a_failed_reranking_are_not_kept_for_the_right_order(tmp_path):
    broken = True

    def served(received):
        text = received.text
        if '"grade"' not in text:
            return f"station first: {text.find('station') < text.find('steamed')}"
        if broken and "station" in text:
            return Answer(body={"choices": []})
        return json.dumps({"grade": 9 if "station" in text else 1})

    body = '[rerank]\nmethod = "llm-pointwise"\n[generate]\nmethod = "llm"\n[llm]\nurl = "URL"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
    with FakeLLM(served) as server:
        path = experiment(tmp_path, body.replace("URL", server.url))
        assay.run_experiment(path)
        broken = False
        again = assay.run_experiment(path)
        assert assay.run_experiment(path).done == {}
    sample = next(iter(again.outcomes[0].samples))
    assert sample.contexts[0].text == DOCUMENTS["b"]
    assert sample.answer == "station first: True"


# Keys -------------------------------------------------------------------------------------------------------------


def keys_of(server):
    return {received.headers.get("authorization") for received in server.requests}


def test_the_key_of_the_language_model_goes_to_no_other_server(tmp_path, monkeypatch):
    secret, own = (f"{whose}-secret" for whose in ("vendor", "own"))
    monkeypatch.setenv("VENDOR_KEY", secret)
    monkeypatch.setenv("OWN_KEY", own)

    def served(received):
        if "text" in received.body:
            return Answer(body={"chunks": [received.body["text"]]})
        if "texts" in received.body:
            return Answer(body={"scores": [1.0 for _ in received.body["texts"]]})
        if "k" in received.body:
            return Answer(body={"results": []})
        rows = [{"index": i, "relevance_score": 1.0} for i in range(len(received.body["documents"]))]
        return Answer(body={"results": rows})

    with FakeLLM(served) as vendor, FakeLLM(served) as other:
        setup = Setup(tmp_path, llm={"url": vendor.url, "model": "m", "key_env": "VENDOR_KEY"})
        try:
            plugin_chunker(other.url, setup, {}).split(["text"])
            plugin_reranker(other.url, setup, {}).score("q", ["text"])
            plugin_retriever(other.url, setup, {}).search_in([], Query("q", "text"), 3)
            endpoint(setup, url=f"{other.url}/rerank", model="r").score("q", ["text"])
            assert keys_of(other) == {None}
            endpoint(setup, url=f"{other.url}/rerank", model="r", key_env="OWN_KEY").score("q", ["text"])
            assert keys_of(other) == {None, f"Bearer {own}"}
            plugin_reranker(vendor.url, setup, {}).score("q", ["text"])
            assert keys_of(vendor) == {f"Bearer {secret}"}
        finally:
            setup.close()
        with pytest.raises(UsageError, match="names a key but no url"):
            Setup(tmp_path, llm={"key_env": "VENDOR_KEY"}).client(other.url, "m")


# Who is who -------------------------------------------------------------------------------------------------------


def identities(setup, asked):
    semantic = setup.embedder(asked)
    (part,) = vectors(setup, embedder=asked).parts
    return json.dumps([dict(semantic.identity), part.identity, embedding(setup, embedder=asked).identity])


def test_embedders_of_one_name_are_told_apart_by_source_weights_and_host(tmp_path):
    text = "def embed(texts):\n    return [[1.0, 2.0] for _ in texts]\n"
    (tmp_path / "first_embedder.py").write_text(text, encoding="utf-8")
    (tmp_path / "second_embedder.py").write_text(text.replace("2.0", "3.0"), encoding="utf-8")
    setup = Setup(tmp_path)
    first = identities(setup, "first_embedder:embed")
    assert first != identities(setup, "second_embedder:embed")
    assert first == identities(setup, "first_embedder:embed")
    (tmp_path / "first_embedder.py").write_text(text + "# edited\n", encoding="utf-8")
    assert first != identities(setup, "first_embedder:embed")
    with FakeLLM() as one, FakeLLM() as two:
        assert identities(setup, f"m@{one.url}") != identities(setup, f"m@{two.url}")
        setup.close()


def test_weights_in_two_folders_are_told_apart_by_what_they_hold(tmp_path):
    from assay.text.weights import find_minilm

    source = find_minilm()
    if source is None:
        pytest.skip("needs the weights of minilm (assay models get minilm)")
    for name in ("one", "two", "three"):
        shutil.copytree(source, tmp_path / name)
    with (tmp_path / "three" / "config.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    setup = Setup(tmp_path)
    assert identities(setup, "one") == identities(setup, "two")
    assert identities(setup, "one") != identities(setup, "three")


def test_an_edit_of_the_module_that_configures_a_retriever_of_another_package_is_noticed(tmp_path):
    (tmp_path / "some_framework.py").write_text(
        "class Retriever:\n    def __init__(self, k):\n        self.k = k\n    def invoke(self, query):\n        return []\n",
        encoding="utf-8",
    )
    mine = tmp_path / "my_retriever.py"
    mine.write_text("from some_framework import Retriever\nmade = Retriever(3)\n", encoding="utf-8")
    setup = Setup(tmp_path)
    sys.path.insert(0, str(tmp_path))
    try:
        before = plugin_retriever("my_retriever:made", setup, {}).identity
        mine.write_text("from some_framework import Retriever\nmade = Retriever(5)\n", encoding="utf-8")
        edited = plugin_retriever("my_retriever:made", setup, {}).identity
        assert edited != before
        (tmp_path / "some_framework.py").write_text("# another release\n", encoding="utf-8")
        assert plugin_retriever("my_retriever:made", setup, {}).identity not in (before, edited)
    finally:
        sys.path.remove(str(tmp_path))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_retriever_with_scores_that_are_no_numbers_is_refused(score):
    chunks = [Chunk("d0", "d0", "tea", 0, 3), Chunk("d1", "d1", "milk", 0, 4)]
    for found in ([("d0", 1.0), ("d1", score)], [SimpleNamespace(id="d0", score=score)]):
        search = Outside(as_search(lambda query, k, found=found: found, "x:y", {}), {})
        with pytest.raises(InputError, match="expected a finite number"):
            search.search_in(chunks, Query("q", "t"), 5)
    exact = Outside(as_search(lambda query, k: [("d0", np.float32(0.5)), ("d1", np.float32(0.75))], "x:y", {}), {})
    assert exact.search_in(chunks, Query("q", "t"), 5) == ([1, 0], [0.75, 0.5])


# Time and money ---------------------------------------------------------------------------------------------------


def test_an_embedding_reranker_embeds_every_text_of_every_timed_query(tmp_path):
    (tmp_path / "counting_embedder.py").write_text(
        "seen = []\ndef embed(texts):\n    seen.append(list(texts))\n    return [[float(len(t)), 1.0] for t in texts]\n",
        encoding="utf-8",
    )
    body = '[[rerank]]\nmethod = "embedding"\nembedder = "counting_embedder:embed"\ndepth = [2, 3]\n'
    found = assay.run_experiment(experiment(tmp_path, body))
    seen = sys.modules["counting_embedder"].seen
    for depth, outcome in zip((2, 3), found.outcomes, strict=True):
        for place, query in enumerate(QUERIES.values()):
            texts = {outcome.chunks[number].text for number in outcome.hits[place].chunks[:depth]}
            assert {query, *texts} in [set(row) for row in seen]
    assert len(seen) == 1 + 2 * len(QUERIES), "one call for warming up, then one for each query and depth"
    seen.clear()
    candidates = {name: dict(DOCUMENTS) for name in QUERIES}
    reranker = {"method": "embedding", "embedder": "counting_embedder:embed"}
    sys.path.insert(0, str(tmp_path))
    try:
        assay.evaluate_reranker(reranker, QUERIES, candidates, {"q1": {"a": 1}, "q2": {"c": 1}})
    finally:
        sys.path.remove(str(tmp_path))
    assert [set(row) for row in seen] == [{QUERIES[q], *DOCUMENTS.values()} for q in ("q1", "q1", "q2")]


GRADING = '[rerank]\nmethod = "llm-pointwise"\ndepth = DEPTH\n[llm]\nurl = "URL"\nmodel = "m"\n'


def graded(received):
    return json.dumps({"grade": 5 if "steamed" in received.text else 1})


def test_times_of_replies_from_a_cache_are_marked_and_told(tmp_path):
    with FakeLLM(graded) as server:
        body = GRADING.replace("URL", server.url)
        first = assay.run_experiment(experiment(tmp_path, body.replace("DEPTH", "3")))
        asked = len(server.requests)
        again = assay.run_experiment(experiment(tmp_path, body.replace("DEPTH", "2")))
        assert len(server.requests) == asked, "warming up would ask twice, and every text is known"
    assert not any(work.cached for work in first.outcomes[0].work["rerank"])
    assert asked == sum(len(hits.chunks[:3]) for hits in first.outcomes[0].hits)
    assert all(work.cached for work in again.outcomes[0].work["rerank"])
    assert not again.findings.rows[0].timed
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
            path = experiment(tmp_path, body)
            priced(tmp_path, amount)
            costs.append(assay.run_experiment(path).findings.rows[0].cost_per_query)
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
            costs.append(assay.run_experiment(experiment(tmp_path, body)).findings.rows[0].cost_per_query)
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
        unknown = assay.run_experiment(experiment(tmp_path, body)).findings.rows
        assert [row.cost_per_query for row in unknown] == [None, None]
        priced(tmp_path, 2.0)
        path = experiment(tmp_path, body + '[llm]\nprices = "prices.toml"\n')
        rows = assay.run_experiment(path).findings.rows
        assert [row.stages[0].tokens for row in rows] == [100, 100]
        assert [row.cost_per_query for row in rows] == pytest.approx([50 * 2.0 / 1e6] * 2)
        plain = assay.run_experiment(experiment(tmp_path, f'[retrieve]\nmethod = "{server.url}"\n')).findings.rows
        assert plain[0].cost_per_query is None
    assert assay.run_experiment(experiment(tmp_path, "")).findings.rows[0].cost_per_query == 0.0


# Tables and files -------------------------------------------------------------------------------------------------


def test_names_that_had_to_be_changed_for_a_file_are_still_told_apart():
    names = ["a/b", "a-b", "a b", "x" * 300, "x" * 301, "茶" * 200, "", "..", "plain=1.5"]
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(len(f"{name}.jsonl".encode()) <= 255 and "/" not in name for name in files)
    assert (file_name("a-b"), file_name("plain=1.5")) == ("a-b", "plain=1.5")


def test_of_a_measure_that_should_be_small_the_smallest_wins_and_is_on_the_front(tmp_path):
    (tmp_path / "two_orders.py").write_text(
        "def bad(query, texts):\n    return [float(('green' in query) == ('milk' in t)) for t in texts]\n"
        "def good(query, texts):\n    return [-one for one in bad(query, texts)]\n",
        encoding="utf-8",
    )
    body = '[rerank]\nmethod = ["two_orders:bad", "two_orders:good"]\n[evaluate]\nmeasures = ["unjudged@1"]\n'
    found = assay.run_experiment(experiment(tmp_path, body)).findings
    assert {row.name: row.quality["unjudged@1"].mean.estimate for row in found.rows} == {"bad": 1.0, "good": 0.0}
    assert found.winner == "good"
    assert found.row("good").pareto
    level = [replace(row, latency_ms={"p95": 1.0}) for row in found.rows]
    assert [row.pareto for row in _with_front(level, "unjudged@1", -1.0)] == [False, True]


def test_a_gold_span_of_grade_nought_is_not_relevant(tmp_path):
    rows = [{"query_id": "q1", "doc_id": "a", "start": 0, "end": 5, "grade": 0}, {"query_id": "q1", "doc_id": "b", "start": 0, "end": 5},
            {"query_id": "q1", "doc_id": "c", "start": 0, "end": 5, "grade": 2}, {"query_id": "q1", "doc_id": "c", "start": 6, "end": 9, "grade": -1}]  # fmt: skip
    (tmp_path / "gold.jsonl").write_text(lines(rows), encoding="utf-8")
    found = read_gold(tmp_path / "gold.jsonl", DOCUMENTS)
    assert found == [GoldSpan("q1", "b", 0, 5, 1.0), GoldSpan("q1", "c", 0, 5, 2.0)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 15)), max_size=6), st.integers(0, 30), st.integers(1, 20))
def test_characters_of_overlapping_spans_count_once(pairs, start, size):
    chunk = Chunk("d", "d", "x" * size, start, start + size)
    spans = [GoldSpan("q", "d", a, a + n) for a, n in pairs]
    signs = {i for a, n in pairs for i in range(a, a + n)}
    assert inside(chunk, [*spans, GoldSpan("q", "e", 0, 99)]) == len(signs & set(range(start, start + size)))


def test_precision_of_overlapping_spans_is_a_share_of_distinct_characters(tmp_path):
    rows = [
        {"query_id": "q1", "doc_id": "b", "start": 0, "end": 5},
        {"query_id": "q1", "doc_id": "b", "start": 0, "end": 9},
    ]
    (tmp_path / "gold.jsonl").write_text(lines(rows), encoding="utf-8")
    body = '[retrieve]\nmethod = "run"\nfile = "old.run"\n[evaluate]\nmeasures = ["span_precision@1"]\n'
    (tmp_path / "old.run").write_text("q1 Q0 b 1 1 x\n", encoding="utf-8")
    found = assay.run_experiment(experiment(tmp_path, body, judged='gold = "gold.jsonl"'))
    assert found.findings.systems[0]["span_precision@1"] == pytest.approx(9 / len(DOCUMENTS["b"]))


def test_answers_without_a_value_are_counted_by_what_they_are_and_told(tmp_path):
    (tmp_path / "few_answers.py").write_text(
        "def answer(question, contexts):\n"
        "    return 'Green tea is steamed.' if 'green' in question else 'I do not know.'\n",
        encoding="utf-8",
    )
    found = assay.run_experiment(experiment(tmp_path, '[generate]\nmethod = "few_answers:answer"\n')).findings
    counts = found.systems[0].counts["faithfulness"]
    assert (counts.queries, counts.abstained, counts.undefined, counts.failed) == (1, 1, 0, 0)
    assert "faithfulness: over 1 of 2 samples (1 refused)" in found.warnings


@pytest.mark.parametrize(("page", "text"), [
    ("<html><head><title>no</title><body><p>One</p>two", "One\ntwo"),
    ("<title>no</title><style>p{}</style><p>One</p><script>x()</script>", "One"),
    ("<head><noscript><body><p>One</p></body>", "One"),
])  # fmt: skip
def test_a_page_whose_head_is_never_closed_has_its_text(tmp_path, page, text):
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert read_collection(tmp_path / "a.html") == [Document("a.html", text)]
