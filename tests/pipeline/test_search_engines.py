"""Elasticsearch, OpenSearch and any search over HTTP: what is sent is what they document, errors are said as they are."""

from __future__ import annotations

import base64
import json

import pytest

import assay
from assay.errors import AssayError
from assay.pipeline.elastic import elasticsearch, opensearch
from assay.pipeline.records import Query
from assay.pipeline.search_engines import Item, in_order
from assay.pipeline.stages import Setup
from assay.pipeline.web_search import http, read_results
from rag_app import rag_app
from search_engine import search_engine


@pytest.fixture
def setup(tmp_path):
    made = Setup(tmp_path)
    yield made
    made.close()


def ids(listing):
    return [item.doc_id for item in listing.items]


def test_a_match_on_the_text_is_asked_for_unless_a_template_says_more(setup):
    with search_engine() as server:
        found = elasticsearch(setup, url=server.url, index="tea", text="content").find(Query("q", "black tea water"), 2)
    path, headers, body = server.requests[0]
    assert (path, headers["content-type"]) == ("/tea/_search", "application/json")
    assert body == {"size": 2, "_source": ["content"], "query": {"match": {"content": {"query": "black tea water"}}}}
    assert [(item.doc_id, item.score) for item in found.items] == [("2", 3.0), ("1", 1.0)]
    assert found.items[0].text == "Black tea wants boiling water."
    assert "authorization" not in {name.lower() for name in headers}


def test_a_template_takes_the_query_the_number_and_its_vector(setup, tmp_path):
    (tmp_path / "two.py").write_text("def vectors(texts): return [[3.0, 4.0] for _ in texts]\n")
    body = {
        "query": {"multi_match": {"query": "{query}", "fields": ["content^2", "doc"]}},
        "knn": {"field": "vector", "query_vector": "{embedding}", "k": "{k}", "num_candidates": 50},
    }
    with search_engine() as server:
        search = elasticsearch(
            setup, url=server.url, index="tea", text="content", id="doc", body=body, embedder="two:vectors"
        )
        found = search.find(Query("q", 'sencha "water" {k}'), 7)
    sent = server.requests[0][2]
    assert sent["query"]["multi_match"]["query"] == 'sencha "water" {k}'
    assert sent["knn"]["k"] == sent["size"] == 7
    assert sent["knn"]["query_vector"] == pytest.approx([0.6, 0.8])  # embeddings have length one
    assert sent["_source"] == ["content", "doc"]
    assert ids(found)[0] == "a"


@pytest.mark.parametrize(
    ("make", "options", "server", "scheme"),
    [
        (elasticsearch, {"key_env": "TEST_KEY"}, {"key": "abc123=="}, "ApiKey"),
        (opensearch, {"login_env": "TEST_LOGIN"}, {"login": "admin:a-secret"}, "Basic"),
    ],
)
def test_the_key_comes_from_the_environment_and_is_in_no_identity(setup, monkeypatch, make, options, server, scheme):
    monkeypatch.setenv("TEST_KEY", "abc123==")
    monkeypatch.setenv("TEST_LOGIN", "admin:a-secret")
    with search_engine(**server) as running:
        search = make(setup, url=running.url, index="tea", text="content", **options)
        assert ids(search.find(Query("q", "trains"), 3)) == ["3"]
        assert running.requests[0][1]["authorization"].startswith(scheme)
    assert "abc123" not in json.dumps(search.identity)
    assert base64.b64encode(b"admin:a-secret").decode() not in json.dumps(search.identity)


@pytest.mark.parametrize(
    ("options", "server", "expected"),
    [
        ({"index": "coffee"}, {}, r"no such index \[coffee\]"),
        ({"body": {"querry": {"match": {"content": "{query}"}}}}, {}, r"unknown key for a START_OBJECT in \[querry\]"),
        ({}, {"key": "other"}, "missing authentication credentials"),
        ({"id": "nothing"}, {}, "a hit has no field nothing; it has 'content', 'doc', 'doc_id'"),
        ({"body": {"query": {"match_all": {}}}}, {}, r"body needs {query} or {embedding}"),
        ({"body": {"knn": {"query_vector": "{embedding}"}}}, {}, "{embedding} needs an embedder"),
        ({"key_env": "A", "login_env": "B"}, {}, "give the key one way"),
    ],
)
def test_what_no_query_can_get_past_is_an_error_in_the_words_of_the_engine(setup, options, server, expected):
    settings = {"index": "tea", "text": "content", **options}
    with search_engine(**server) as running, pytest.raises(AssayError, match=expected):
        elasticsearch(setup, url=running.url, **settings).find(Query("q", "tea"), 3)


@pytest.mark.parametrize(
    ("fault", "reason", "requests"), [("down", "server", 5), ("partial", "server", 5), ("timed_out", "timeout", 3)]
)
def test_an_incomplete_list_is_no_list(setup, monkeypatch, fault, reason, requests):
    """Results of some shards only would be another list, and another score, without a word."""
    monkeypatch.setattr("assay.llm.pacing.Pacer.backoff", lambda self, tries: 0.001)
    with search_engine(fault=fault) as server:
        found = elasticsearch(setup, url=server.url, index="tea", text="content").find(Query("q", "tea"), 3)
    assert (found.items, found.reason, len(server.requests)) == ((), reason, requests)


def test_a_busy_engine_is_asked_again(setup, monkeypatch):
    monkeypatch.setattr("assay.llm.pacing.Pacer.backoff", lambda self, tries: 0.001)
    with search_engine(fault="busy") as server:
        found = elasticsearch(setup, url=server.url, index="tea", text="content").find(Query("q", "trains"), 3)
    assert (ids(found), len(server.requests)) == (["3"], 2)


def test_an_address_that_is_no_engine_is_said_so(setup, monkeypatch):
    monkeypatch.setattr("assay.llm.pacing.Pacer.backoff", lambda self, tries: 0.001)
    with rag_app() as server:
        found = elasticsearch(setup, url=server.url, index="tea").find(Query("q", "tea"), 3)
    assert found.reason == "garbage"


def test_an_experiment_reranks_and_answers_from_what_an_engine_finds(tmp_path):
    (tmp_path / "q.jsonl").write_text(
        '{"query_id": "q1", "text": "black tea water"}\n{"query_id": "q2", "text": "trains leave"}\n'
    )
    (tmp_path / "j.qrels").write_text("q1 0 b 1\nq2 0 c 1\n")
    (tmp_path / "own_rerank.py").write_text("def longest(query, texts): return [len(text) for text in texts]\n")
    with search_engine() as server:
        (tmp_path / "e.toml").write_text(
            '[data]\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
            f'[retrieve]\nmethod = "elasticsearch"\nurl = "{server.url}"\nindex = "tea"\ntext = "content"\nid = "doc"\n'
            '[rerank]\nmethod = ["none", "own_rerank:longest"]\n[generate]\nmethod = "extractive"\n'
            '[evaluate]\nmeasures = ["reciprocal_rank"]\n'
        )
        found = assay.run_experiment(tmp_path / "e.toml")
        assert len(server.requests) == 2  # both combinations share what was found
        again = assay.run_experiment(tmp_path / "e.toml")
        assert len(server.requests) == 2
        assay.run_experiment(tmp_path / "e.toml", fresh=True)
        assert len(server.requests) == 4
    plain, reranked = found.findings.systems
    assert plain["reciprocal_rank"] == 1.0
    assert reranked["reciprocal_rank"] == 0.75  # the text of a is longer than that of b
    assert [one["reciprocal_rank"] for one in again.findings.systems] == [1.0, 0.75]
    assert next(iter(found.outcomes[0].samples)).contexts[0].text == "Black tea wants boiling water."


def test_a_query_that_failed_is_missing_and_not_a_list_of_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.llm.pacing.Pacer.backoff", lambda self, tries: 0.001)
    (tmp_path / "q.jsonl").write_text('{"query_id": "q1", "text": "black tea"}\n')
    with search_engine(fault="partial") as server:
        (tmp_path / "e.toml").write_text(
            '[data]\nqueries = "q.jsonl"\n'
            f'[retrieve]\nmethod = "opensearch"\nurl = "{server.url}"\nindex = "tea"\ntext = "content"\n'
        )
        found = assay.run_experiment(tmp_path / "e.toml")
    (outcome,) = found.outcomes
    assert (outcome.run.empty, outcome.hits[0].reason, dict(outcome.faults)) == ((), "server", {"server": 1})


# Any search over HTTP -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "paths", "expected"),
    [
        ({"results": [{"id": "a", "text": "t", "score": 2}, "b"]}, {}, [("a", "t", 2.0), ("b", "", -1.0)]),
        (["a", "b"], {}, [("a", "", 0.0), ("b", "", -1.0)]),
        ({"data": {"found": [{"doc": {"key": 7}, "body": "t", "sim": 0.5}]}}, {"results": "data.found", "id": "doc.key", "text": "body", "score": "sim"}, [("7", "t", 0.5)]),
        ({"items": []}, {}, []),
    ],
)  # fmt: skip
def test_results_are_read_by_paths_or_by_the_names_that_people_use(answer, paths, expected):
    kind, found = read_results(answer, {**dict.fromkeys(("results", "id", "text", "score"), ""), **paths})
    assert kind is None
    assert [(item.doc_id, item.text, item.score) for item in found] == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [({"rows": []}, "no list of results"), ({"results": [{"name": "x"}]}, "no id"), ({"results": [3.5]}, "neither")],
)
def test_an_answer_without_results_or_ids_says_what_it_has(answer, expected):
    kind, message = read_results(answer, dict.fromkeys(("results", "id", "text", "score"), ""))
    assert kind == "request"
    assert expected in message


def test_a_search_is_posted_or_its_query_stands_in_the_address(setup):
    def results(question):
        return {"sources": [{"id": "a", "text": question}]}

    with rag_app(shape=results) as server:
        got = http(setup, url=f"{server.url}?q={{query}}&n={{k}}", results="sources").find(Query("q", "hot & cold"), 3)
        posted = http(setup, url=server.url, body={"question": "{query}", "top": "{k}"}, results="sources").find(
            Query("q", "hot"), 3
        )
    assert [item.text for item in (*got.items, *posted.items)] == ["hot & cold", "hot"]
    assert server.bodies == [{}, {"question": "hot", "top": 3}]


def test_an_id_that_comes_twice_counts_once_and_scores_that_rise_count_down():
    items = [Item("a", "a", "", 0.1), Item("b", "b", "", 0.3), Item("a", "a", "", 0.5), Item("c", "c", "", 0.4)]
    assert [(item.id, item.score) for item in in_order(items, 2)] == [("a", 2.0), ("b", 1.0)]
    falling = [Item("a", "a", "", 0.9), Item("b", "b", "", 0.9)]
    assert [item.score for item in in_order(falling, 5)] == [0.9, 0.9]
