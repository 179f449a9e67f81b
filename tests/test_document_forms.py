"""Every command reads every form of documents and queries, and what an experiment wrote, without further options."""

from __future__ import annotations

import json

import polars as pl
import pytest

import assay
from assay.formats.documents import read_documents
from commands import call_assay, working_in

pytest.importorskip("bm25s")

TEXTS = {
    "a.md": "Green tea is steamed right after picking, which keeps the leaves green.",
    "b.md": "Black tea oxidises for hours, which darkens the leaves considerably.",
    "c.md": "Oolong is rolled and partly oxidised in mountain villages.",
}
QUERIES = [
    {"query_id": "q1", "text": "steamed green leaves", "kind": "x"},
    {"query_id": "q2", "text": "oxidises for hours", "kind": "x"},
]
JUDGED = {"q1": {"a.md": 1}, "q2": {"b.md": 1}}
DOCUMENTS = ("texts", "docs.jsonl", "docs.csv", "docs.tsv", "docs.parquet", "beir", "set", "loose")
ASKED = ("queries.jsonl", "queries.csv", "queries.tsv", "queries.parquet", "beir", "set", "loose")
_JUDGE = "--judge m --url http://127.0.0.1:9/v1 --dry-run"
COMMANDS = {
    "judge": f"judge one.run --queries QUERIES --documents DOCUMENTS {_JUDGE}",
    "rerank": "run q.qrels --candidates one.run --queries QUERIES --documents DOCUMENTS --reranker mine:score",
    "report": "report result.json --queries QUERIES --documents DOCUMENTS -o page.html",
    "diagnose": "diagnose q.qrels one.run --queries QUERIES",
    "compare": "compare q.qrels one.run two=one.run --by kind --queries QUERIES",
    "bench": "bench mine:score --queries QUERIES --documents DOCUMENTS --runs 2 --warmup 0",
    "experiment": "run try.toml -o tried",
    "questions": "set questions DOCUMENTS -n 1 -o made",
    "check": "check DOCUMENTS",
    "propose": "run DOCUMENTS -n 2 -o proposed",
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """The same three documents and two queries in every form, judged, with a run."""
    here = tmp_path_factory.mktemp("forms")
    rows = [{"doc_id": doc, "text": text} for doc, text in TEXTS.items()]
    for name, table in (("docs", rows), ("queries", QUERIES)):
        frame = pl.DataFrame(table)
        (here / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
        frame.write_csv(here / f"{name}.csv")
        frame.write_csv(here / f"{name}.tsv", separator="\t")
        frame.write_parquet(here / f"{name}.parquet")
    for folder in ("texts", "beir/qrels", "loose"):
        (here / folder).mkdir(parents=True)
    for doc, text in TEXTS.items():
        (here / "texts" / doc).write_text(text)
    corpus = [{"_id": doc, "title": "", "text": text} for doc, text in TEXTS.items()]
    asked = [{"_id": one["query_id"], "text": one["text"], "kind": one["kind"]} for one in QUERIES]
    (here / "beir/corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (here / "beir/queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    (here / "beir/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta.md\t1\nq2\tb.md\t1\n")
    (here / "loose/documents.csv").write_bytes((here / "docs.csv").read_bytes())
    (here / "loose/queries.csv").write_bytes((here / "queries.csv").read_bytes())
    judged = assay.Judgments.from_dict(JUDGED)
    assay.write_set(
        here / "set", queries=[{**one, "made_by": "person"} for one in QUERIES], documents=TEXTS, judgments=judged
    )
    (here / "q.qrels").write_text("q1 0 a.md 1\nq2 0 b.md 1\n")
    (here / "one.run").write_text(
        "".join(f"q{q} Q0 {doc} 1 {9 - i} t\n" for q in (1, 2) for i, doc in enumerate(TEXTS))
    )
    (here / "mine.py").write_text("def score(query, texts):\n    return [-len(text) for text in texts]\n")
    with working_in(here):
        assert call_assay(["evaluate", "q.qrels", "one.run", "-o", "result.json"])[0] == 0
    return here


def call(forms, command, documents, queries):
    words = [{"DOCUMENTS": documents, "QUERIES": queries}.get(word, word) for word in command.split()]
    data = f'[data]\ndocuments = "{documents}"\nqueries = "{queries}"\njudgments = "q.qrels"\n'
    (forms / "try.toml").write_text(f'{data}[retrieve]\nmethod = "bm25"\n')
    for folder in ("made", "proposed"):
        if (forms / folder).exists():
            (forms / folder).rename(forms / f"{folder}-{len(list(forms.iterdir()))}")
    with working_in(forms):
        return call_assay(words)


@pytest.mark.parametrize("documents", DOCUMENTS)
@pytest.mark.parametrize(
    "name", [name for name, words in COMMANDS.items() if "DOCUMENTS" in words or name == "experiment"]
)
def test_a_command_reads_documents_in_every_form(forms, name, documents):
    code, _, err = call(forms, COMMANDS[name], documents, "queries.jsonl")
    assert code == 0, err


@pytest.mark.parametrize("queries", ASKED)
@pytest.mark.parametrize(
    "name", [name for name, words in COMMANDS.items() if "QUERIES" in words or name == "experiment"]
)
def test_a_command_reads_queries_in_every_form(forms, name, queries):
    code, _, err = call(forms, COMMANDS[name], "docs.jsonl", queries)
    assert code == 0, err


@pytest.mark.parametrize("form", DOCUMENTS)
def test_every_form_holds_the_same_documents(forms, form):
    assert read_documents(forms / form) == TEXTS


def test_judgments_runs_results_and_hidden_files_in_a_folder_are_no_documents(tmp_path):
    (tmp_path / "a.txt").write_text("Tea is hot, and four words\nalone make no judgment 1\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a.txt 1\nq1 0 b.txt 0\n")
    (tmp_path / "bm25.txt").write_text("q1 Q0 a.txt 1 2.5 bm25\n")
    for name in (".venv/notes.txt", "old/report.html"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("no document")
    assay.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "mrr").save(tmp_path / "old" / "result.json")
    assert list(read_documents(tmp_path)) == ["a.txt"]


CHUNKS = [("q1", "a", "a#0", 5.0), ("q1", "a", "a#1", 4.0), ("q1", "b", "b#0", 3.0), ("q2", "b", "b#1", 9.0)]


@pytest.fixture
def chunked(tmp_path):
    """A run of chunks, as experiments write them, and the same folded by hand."""
    names = ("query_id", "doc_id", "chunk_id", "score")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in CHUNKS]
    (tmp_path / "chunks.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "folded.run").write_text("q1 Q0 a 1 5 t\nq1 Q0 b 2 3 t\nq2 Q0 b 1 9 t\n")
    (tmp_path / "q.qrels").write_text("q1 0 b 1\nq2 0 b 1\n")
    return tmp_path


def test_chunks_are_folded_where_nothing_says_how(chunked):
    found = assay.evaluate(chunked / "q.qrels", chunked / "chunks.jsonl", "mrr")
    assert found["mrr"] == pytest.approx((1 / 2 + 1) / 2)  # at its chunks' places, b would come third
    assert any("folded to documents" in note for note in found.notes)
    assert assay.evaluate(chunked / "q.qrels", chunked / "folded.run", "mrr")["mrr"] == found["mrr"]
    assert assay.explain(chunked / "q.qrels", chunked / "chunks.jsonl", "q1", "mrr").steps[-1].endswith("0.500000")


@pytest.mark.parametrize(
    "words",
    [
        "evaluate q.qrels chunks.jsonl", "compare q.qrels chunks.jsonl again=chunks.jsonl", "diagnose q.qrels chunks.jsonl",
        "evaluate q.qrels chunks.jsonl --sweep 1,3", "gate q.qrels chunks.jsonl --fail-under mrr=0.1 -m mrr",
        "fuse chunks.jsonl again=chunks.jsonl -o fused.run", "evaluate q.qrels chunks.jsonl --explain q1 -m mrr",
    ],
)  # fmt: skip
def test_a_run_of_chunks_needs_no_further_options(chunked, words):
    with working_in(chunked):
        code, _, err = call_assay(words.split())
    assert code == 0, err


def test_a_run_of_chunks_has_no_duplicates_for_check(chunked):
    with working_in(chunked):
        code, out, _ = call_assay(["check", "q.qrels", "chunks.jsonl"])
    assert (code, "duplicate" in out) == (1, False), out  # of two judged queries, half of the lists is unjudged


def test_fusion_takes_the_best_chunk_of_each_document(chunked):
    fused = assay.fuse({"a": chunked / "chunks.jsonl", "b": chunked / "folded.run"}, "combsum", norm="none")
    assert fused.to_dict()["q1"] == {"a": 10.0, "b": 6.0}


def test_a_pool_counts_documents_not_chunks(chunked):
    assert assay.pool([chunked / "chunks.jsonl"], depth=2) == [("q1", "a"), ("q1", "b"), ("q2", "b")]
