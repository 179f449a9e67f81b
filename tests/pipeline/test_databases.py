"""PostgreSQL as people run it: full text and vectors, by a statement of theirs that can only read."""

from __future__ import annotations

import math

import numpy as np
import pytest

import assay
from assay.errors import AssayError
from assay.pipeline.postgres import postgres as make
from assay.pipeline.records import Query
from assay.pipeline.stages import Setup
from databases import postgres, skip

DOCUMENTS = {
    "a": "Sencha is a green tea and wants water of seventy degrees",
    "b": "Black tea wants boiling water; milk goes well with black tea",
    "c": "Trains leave at noon from the old station",
}
FULL_TEXT = """
SELECT doc_id AS id, body AS text, ts_rank(words, plainto_tsquery('english', :query)) AS score
FROM docs WHERE words @@ plainto_tsquery('english', :query) ORDER BY score DESC, doc_id LIMIT :k
"""
VECTORS = "SELECT doc_id, body, embedding <=> CAST(:embedding AS vector) AS distance FROM docs ORDER BY 3, 1 LIMIT :k"


def vectors(texts):
    """Counts of letters: vectors whose order anybody can compute."""
    return [[text.lower().count(sign) + 0.01 for sign in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


@pytest.fixture(scope="module")
def server():
    with postgres() as running:
        extension = ["CREATE EXTENSION vector"] if running.vector else []
        kind = "vector(26)" if running.vector else "text"
        running.run(
            *extension,
            f"CREATE TABLE docs (doc_id text PRIMARY KEY, body text, words tsvector, embedding {kind})",
            *(
                f"INSERT INTO docs VALUES ('{name}', '{text}', to_tsvector('english', '{text}'), '{vectors([text])[0]}')"
                for name, text in DOCUMENTS.items()
            ),
            "CREATE SEQUENCE counter",
            "GRANT SELECT ON docs TO reader",
            "GRANT ALL ON SEQUENCE counter TO reader",
            "GRANT ALL ON docs TO reader",
        )
        yield running


@pytest.fixture
def engine(server, monkeypatch, tmp_path):
    monkeypatch.setenv("DATABASE_URL", server.url)
    (tmp_path / "letters.py").write_text(
        "def vectors(texts):\n"
        "    return [[t.lower().count(s) + 0.01 for s in 'abcdefghijklmnopqrstuvwxyz'] for t in texts]\n"
    )
    setup = Setup(tmp_path)
    yield lambda sql, **more: make(setup, sql=sql, **more)
    setup.close()


def ids(listing):
    return [item.doc_id for item in listing.items]


def test_full_text_search_gives_ids_texts_and_scores_of_the_database(engine, server):
    found = engine(FULL_TEXT).find(Query("q", "black tea"), 10)
    expected = server.run(FULL_TEXT.replace(":query", "'black tea'").replace(":k", "10"))
    assert [(item.doc_id, item.text, pytest.approx(item.score)) for item in found.items] == [
        tuple(row) for row in expected
    ]
    assert ids(found) == ["b"]
    assert found.ms > 0


def test_pgvector_ranks_by_the_embedding_of_the_query(engine, server):
    if not server.vector:
        skip("pgvector is not installed beside PostgreSQL")
    found = engine(VECTORS, embedder="letters:vectors").find(Query("q", "boiling milk and black water"), 3)
    rows, query = np.array(vectors(DOCUMENTS.values())), np.array(vectors(["boiling milk and black water"])[0])
    cosine = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    assert ids(found) == [list(DOCUMENTS)[i] for i in np.argsort(-cosine)]


def test_a_distance_is_no_score_so_that_the_order_of_the_rows_holds(engine, server):
    if not server.vector:
        skip("pgvector is not installed beside PostgreSQL")
    found = engine(VECTORS, embedder="letters:vectors", score="distance").find(Query("q", "milk"), 3)
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)


def test_the_number_of_results_is_a_parameter(engine):
    found = engine("SELECT doc_id FROM docs WHERE :query <> '' ORDER BY doc_id LIMIT :k").find(Query("q", "x"), 2)
    assert ids(found) == ["a", "b"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO docs SELECT :query, 'x' RETURNING doc_id",
        "DELETE FROM docs WHERE doc_id <> :query RETURNING doc_id",
        "SELECT nextval('counter') AS id WHERE :query <> ''",
        "SELECT :query; COMMIT; DELETE FROM docs",
        "WITH gone AS (DELETE FROM docs RETURNING doc_id) SELECT doc_id FROM gone WHERE :query <> ''",
    ],
)
def test_a_statement_cannot_write(engine, server, statement):
    with pytest.raises(AssayError, match="the statement failed"):
        engine(statement).find(Query("q", "x"), 2)
    assert server.run("SELECT count(*) FROM docs") == [[3]]


def test_hostile_text_is_a_value_and_never_a_part_of_the_statement(engine, server):
    text = "x'); DROP TABLE docs; -- :k $1 \\ \N{PILE OF POO}"
    assert engine(FULL_TEXT).find(Query("q", text), 5).reason == ""
    assert server.run("SELECT count(*) FROM docs") == [[3]]


def test_a_statement_that_takes_too_long_is_an_outcome_of_its_query(engine):
    search = engine("SELECT doc_id FROM docs, pg_sleep(30) WHERE :query <> ''", timeout=0.2)
    assert (search.find(Query("q", "x"), 2).reason, search.find(Query("q", "y"), 2).reason) == ("timeout", "timeout")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT doc_id FROM nothing WHERE :query <> ''", 'relation "nothing" does not exist'),
        ("SELECT doc_id FROM docs LIMIT :k", "needs the parameter :query or :embedding"),
        ("SELECT doc_id FROM docs WHERE body = :text", "needs the parameter"),
        ("SELECT doc_id FROM docs WHERE body = :query AND x = :limit", "has the parameter :limit"),
        ("SELECT NULL AS id, 1 AS n WHERE :query <> ''", "has no id"),
        ("SELECT doc_id FROM docs ORDER BY body <-> :embedding", "needs an embedder"),
    ],
)
def test_a_statement_that_cannot_work_says_why(engine, statement, expected):
    with pytest.raises(AssayError, match=expected):
        engine(statement).find(Query("q", "x"), 2)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://reader:wrong-secret@127.0.0.1:{port}/tea", "refused the connection"),
        ("postgresql://reader:a%20secret@127.0.0.1:{port}/nowhere", 'database "nowhere" does not exist'),
        ("mysql://x@127.0.0.1/tea", "expected postgresql://"),
        ("postgresql://127.0.0.1:{port}", "expected postgresql://"),
    ],
)
def test_an_address_that_is_wrong_says_so_without_its_password(monkeypatch, server, url, expected):
    monkeypatch.setenv("TEST_DSN", url.format(port=server.port))
    with pytest.raises(AssayError, match=expected) as told:
        make(Setup(), sql=FULL_TEXT, dsn_env="TEST_DSN").find(Query("q", "x"), 2)
    assert "secret" not in str(told.value)


def test_a_lost_connection_is_made_again(engine, server):
    search = engine(FULL_TEXT)
    assert ids(search.find(Query("q", "trains"), 5)) == ["c"]
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay'")
    reasons = [search.find(Query("q", "trains"), 5).reason for _ in range(2)]
    assert reasons == ["network", ""]


def test_an_experiment_compares_full_text_with_vectors_without_documents_of_its_own(engine, server, tmp_path):
    if not server.vector:
        skip("pgvector is not installed beside PostgreSQL")
    (tmp_path / "q.jsonl").write_text(
        '{"query_id": "q1", "text": "black tea"}\n{"query_id": "q2", "text": "noon trains"}\n'
    )
    (tmp_path / "j.qrels").write_text("q1 0 b 1\nq2 0 c 1\n")
    (tmp_path / "e.toml").write_text(
        '[data]\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
        f'[[retrieve]]\nname = "full text"\nmethod = "postgres"\nsql = """{FULL_TEXT}"""\n'
        f'[[retrieve]]\nname = "pgvector"\nmethod = "postgres"\nembedder = "letters:vectors"\nsql = """{VECTORS}"""\n'
        '[generate]\nmethod = "extractive"\n[evaluate]\nmeasures = ["reciprocal_rank"]\n'
    )
    found = assay.run_experiment(tmp_path / "e.toml")
    text, vector = found.findings.systems
    assert text["reciprocal_rank"] == 1.0
    assert not math.isnan(vector["reciprocal_rank"])
    assert "Black tea" in next(iter(found.outcomes[0].samples)).answer
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".py")
    assert b"secret" not in kept
