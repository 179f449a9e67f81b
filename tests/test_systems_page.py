"""The examples of docs/systems.md run as they stand there, against stand-ins and a real PostgreSQL."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from databases import postgres, skip
from rag_app import rag_app, write_questions
from search_engine import search_engine

PAGE = (Path(__file__).parents[1] / "docs" / "systems.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^    (assay .*)$", PAGE, re.MULTILINE)


def block(words):
    """The example that holds some words."""
    (found,) = [one for one in BLOCKS if words in one]
    return found


@pytest.fixture
def folder(tmp_path):
    write_questions(tmp_path / "questions.jsonl", ["sencha water", "black tea"])
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "docs-results").mkdir()
    rows = [{"query_id": "q1", "text": "sencha water", "made_by": "known_items"}]
    judged = assay.read_judgments(tmp_path / "qrels.txt")
    assay.write_set(tmp_path / "docs-results" / "questions", queries=rows, judgments=judged)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works(folder, command):
    words = shlex.split(command)[1:]
    with rag_app() as server:
        words = [server.url if word == "http://127.0.0.1:8000/ask" else word for word in words]
        words = ["1" if before == "--seconds" else word for before, word in zip(["", *words], words, strict=False)]
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words], cwd=folder, capture_output=True, text=True, check=False
        )
    # The gate's limit is above what the stand-in reaches on one of two questions: .6 of (1 + .63) / 2.
    assert done.returncode == 0, done.stderr


def test_the_file_of_an_application_says_how_it_is_asked(folder, monkeypatch):
    monkeypatch.setenv("APP_KEY", "sk-1")

    def reply(question):
        return {"data": {"text": "Hot.", "passages": ["Tea is hot."], "passage_ids": ["a"]}}

    with rag_app(shape=reply) as server:
        text = block('app = "http://127.0.0.1:8000/v2/chat"').replace("http://127.0.0.1:8000/v2/chat", server.url)
        (folder / "app.toml").write_text(text)
        samples = assay.ask_application(str(folder / "app.toml"), folder / "questions.jsonl", cache=folder / "cache")
    assert {"query": "sencha water", "top_k": 5} in server.bodies
    assert server.headers[0]["authorization"] == "Bearer sk-1"
    assert [(one.answer, one.context_ids) for one in samples] == [("Hot.", ("a",))] * 2


def test_two_applications_are_compared(folder):
    def nested(question):
        return {"data": {"text": "Hot."}, "sources": ["b"]}

    with rag_app() as one, rag_app(shape=nested) as other:
        text = block('name = "candidate"').replace("http://127.0.0.1:8000/ask", one.url)
        (folder / "e.toml").write_text(text.replace("http://127.0.0.1:8001/ask", other.url))
        found = assay.run_experiment(folder / "e.toml")
    assert [row.name for row in found.findings.combinations] == ["production", "candidate"]
    assert all(row.done for row in found.findings.combinations)


def test_searches_of_an_engine_are_compared(folder, monkeypatch):
    monkeypatch.setenv("ELASTIC_API_KEY", "abc==")
    with search_engine(index="articles", key="abc==") as server:
        text = block('name = "boosted"').replace("http://127.0.0.1:9200", server.url)
        # The second table of the page has no key of its own, as its index is open.
        text = text.replace('id = "doc_id"\nbody', 'id = "doc_id"\nkey_env = "ELASTIC_API_KEY"\nbody')
        (folder / "e.toml").write_text(text)
        found = assay.run_experiment(folder / "e.toml")
    assert [row.status for row in found.findings.combinations] == ["done", "done"]
    assert {path for path, _, _ in server.requests} == {"/articles/_search"}


def test_full_text_and_vectors_of_a_database_are_compared(folder, monkeypatch):
    (folder / "three.py").write_text(
        "def vectors(texts): return [[1.0, float(len(t)), float(t.count('a'))] for t in texts]\n"
    )
    with postgres() as server:
        if not server.vector:
            skip("pgvector is not installed beside PostgreSQL")
        server.run(
            "CREATE EXTENSION vector",
            "CREATE TABLE articles (id text, body text, words tsvector, embedding vector(3))",
            "INSERT INTO articles SELECT id, body, to_tsvector('english', body), '[1,2,3]' FROM (VALUES "
            "('a', 'Sencha wants water'), ('b', 'Black tea with milk')) AS known(id, body)",
            "GRANT SELECT ON articles TO reader",
        )
        monkeypatch.setenv("DATABASE_URL", server.url)
        text = block('method = "postgres"').replace('embedder = "minilm"', 'embedder = "three:vectors"')
        (folder / "e.toml").write_text(text + '[evaluate]\nmeasures = ["reciprocal_rank"]\n')
        found = assay.run_experiment(folder / "e.toml")
    assert [row.status for row in found.findings.combinations] == ["done", "done"]
    assert found.findings.systems[0]["reciprocal_rank"] == 1.0


def test_any_other_search_is_asked_by_its_template(folder):
    def results(question):
        return {"hits": [{"doc_id": "a", "text": question}]}

    with rag_app(shape=results) as server:
        text = block('results = "hits"').replace("http://127.0.0.1:7700/indexes/articles/search", server.url)
        text = text.replace("[[retrieve]]", "[retrieve]").replace('q = "{query}"', 'q = "{query}"\nquery = "{query}"')
        (folder / "e.toml").write_text(f'[data]\nqueries = "questions.jsonl"\njudgments = "qrels.txt"\n{text}')
        found = assay.run_experiment(folder / "e.toml")
    assert found.findings.combinations[0].done
    assert {"q": "sencha water", "query": "sencha water", "limit": 100} in server.bodies
