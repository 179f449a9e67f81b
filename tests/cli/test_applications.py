"""`--app` on the command line: run, answers, bench and gate ask an application that people run already."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import assay
from rag_app import DOCUMENTS, answer_to, rag_app, write_questions


def call(folder, *words):
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    write_questions(tmp_path / "q.jsonl", ["how hot is sencha", "black tea"])
    (tmp_path / "j.qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    return tmp_path


def test_a_dry_run_counts_requests_and_sends_none(folder):
    with rag_app() as server:
        words = ("run", "--app", server.url, "--queries", "q.jsonl")
        first = call(folder, *words, "--dry-run")
        assert not server.asked
        assert "2 questions, 2 requests to send" in first.stdout
        call(folder, *words, "--limit", 1, "-o", "out")
        second = call(folder, *words, "--dry-run")
        assert "2 questions, 1 request to send" in second.stdout
        assert "answered in an earlier run: 1" in second.stdout
        assert "2 requests to send" in call(folder, *words, "--dry-run", "--fresh").stdout
    assert sum(server.asked.values()) == 1


def test_a_run_prints_how_every_question_ended_and_says_what_was_kept(folder):
    write_questions(folder / "q.jsonl", ["how hot is sencha", "500 error"])
    with rag_app() as server:
        words = ("run", "j.qrels", "--app", server.url, "--queries", "q.jsonl", "-m", "reciprocal_rank", "-o", "out")
        words = (*words, "--set", "backoff=0.001")
        done = call(folder, *words)
        assert done.returncode == 0, done.stderr
        again = call(folder, *words)
    assert "HTTP 500: no more memory" in done.stdout
    assert "1 of 2 answers were kept from an earlier run" in again.stderr
    result = json.loads((folder / "out" / "result.json").read_text())
    assert "reciprocal_rank" in json.dumps(result["systems"])


def test_settings_can_stand_in_a_file_beside_the_application(folder):
    def nested(question):
        return {"out": {"said": "Hot.", "from": [{"id": "a", "text": "Tea is hot."}]}}

    (folder / "app.toml").write_text(
        'app = "URL"\nanswer = "out.said"\ncontexts = "out.from"\n[body]\nquery = "{question}"\n'
    )
    with rag_app(shape=nested) as server:
        (folder / "app.toml").write_text((folder / "app.toml").read_text().replace("URL", server.url))
        done = call(
            folder, "answers", "--app", "app.toml", "--queries", "q.jsonl", "-m", "faithfulness", "--format", "json"
        )
    assert done.returncode == 0, done.stderr
    assert {"query": "how hot is sencha"} in server.bodies  # questions are sent together, in any order
    assert all(set(body) == {"query"} for body in server.bodies)
    assert "faithfulness" in json.dumps(json.loads(done.stdout)["systems"])


def test_answers_of_an_application_are_judged_beside_the_references_of_its_questions(folder):
    rows = [{"query_id": "q1", "question": "how hot is sencha", "reference": answer_to("how hot is sencha")["answer"]}]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with rag_app() as server:
        words = ("answers", "--app", server.url, "--queries", "s.jsonl", "-m", "exact_match", "--format", "json")
        dry = call(folder, *words[:5], "--dry-run")
        done = call(folder, *words)
    assert "1 question, 1 request to send" in dry.stdout
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["systems"][0]["metrics"]["exact_match"] == 1.0


def test_a_load_counts_a_reply_without_an_answer_as_a_failed_call(folder):
    with rag_app() as server:
        words = ("bench", "--app", server.url, "--queries", "q.jsonl", "--runs", 6, "--warmup", 0, "--format", "json")
        fine = call(folder, *words)
        write_questions(folder / "q.jsonl", ["how hot is sencha", "empty answer"])
        bad = call(folder, *words)
    assert (fine.returncode, bad.returncode) == (0, 1), fine.stderr
    (load,) = json.loads(bad.stdout)["bench"]["loads"]
    assert (load["count"], load["errors"]) == (3, {"no answer": 3})


def test_a_load_on_a_stream_has_the_time_to_its_first_text(folder):
    with rag_app(stream="events") as server:
        words = ("bench", "--app", server.url, "--queries", "q.jsonl", "--runs", 5, "--stream", "--format", "json")
        done = call(folder, *words)
    assert done.returncode == 0, done.stderr
    assert "first_token" in done.stdout


@pytest.mark.parametrize(("least", "code"), [("0.7", 0), ("0.8", 1)])
def test_a_gate_asks_the_application_and_decides(folder, least, code):
    with rag_app() as server:
        words = ("gate", "j.qrels", "--app", server.url, "--queries", "q.jsonl", "--rules", "p95_ms<=60000")
        for _ in range(2):  # what was answered before never counts
            done = call(folder, *words, "--fail-under", f"reciprocal_rank={least}")
            assert done.returncode == code, done.stderr + done.stdout
    assert set(server.asked.values()) == {2}


def test_a_gate_does_not_trust_the_times_of_an_application_that_failed_in_part(folder):
    write_questions(folder / "q.jsonl", ["how hot is sencha", "500 error"])
    with rag_app() as server:
        words = ("gate", "j.qrels", "--app", server.url, "--queries", "q.jsonl", "--set", "backoff=0.001")
        done = call(folder, *words, "--rules", "p95_ms<=60000")
        assert done.returncode == 1, done.stdout
        done = call(folder, *words, "--rules", "coverage>=0.5")
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "--app", "http://127.0.0.1:1/ask"), "--app needs the questions: --queries FILE"),
        (("run",), "EXPERIMENT.toml is missing"),
        (("answers",), "SAMPLES is missing"),
        (("answers", "s.jsonl", "--app", "x:y", "--queries", "q.jsonl"), "give samples or --app, not both"),
        (("run", "--app", "nowhere", "--queries", "q.jsonl"), "'nowhere' is no application"),
        (("run", "--app", "http://u:p@h/x", "--queries", "q.jsonl"), "without a user or a password"),
        (("bench", "--app", "http://127.0.0.1:1/a", "mod:f"), "give one target"),
    ],
)
def test_what_cannot_be_asked_is_one_line_with_its_cure(folder, words, expected):
    done = call(folder, *words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_mistakes_beside_an_application_name_the_files_that_were_given(folder):
    (folder / "words.jsonl").write_text('{"query_id": "q1", "text": "??"}\n')
    (folder / "my.toml").write_text('app = "http://127.0.0.1:1/ask"\nshape = 1\n')
    asks = ("run", "j.qrels", "--app", "http://127.0.0.1:1/ask", "--queries")
    for words, told in {
        (*asks, "missing.jsonl"): "assay: missing.jsonl: no such file",
        (*asks, "words.jsonl"): "assay: words.jsonl: query 'q1' has no words",
        (*asks, "q.jsonl", "-m", "foo"): "assay: unknown measure 'foo'",
        (*asks, "q.jsonl", "-m", "span_recall@5"): "assay: span_recall@5 needs gold spans",
        (*asks, "q.jsonl", "--set", "shape=1"): "assay: unknown setting of an application 'shape'",
        ("run", "--app", "my.toml", "--queries", "q.jsonl"): "assay: my.toml: app: unknown setting of an application",
        ("run", "--app", "my.toml", "--queries", "none.jsonl"): "assay: none.jsonl: no such file",
    }.items():
        done = call(folder, *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith(told)


@pytest.fixture
def questions(tmp_path):
    """A set of two questions with gold, as `assay run FOLDER --yes` makes one."""
    rows = [
        {"query_id": name, "text": text, "made_by": "known_items"}
        for name, text in (("q1", "how hot is sencha"), ("q2", "black tea"))
    ]
    gold = [
        {"query_id": query, "doc_id": doc, "start": 0, "end": len(text), "text": text, "grade": 1.0}
        for (doc, text), query in zip(DOCUMENTS.items(), ("q1", "q2"), strict=True)
    ]
    assay.write_set(tmp_path / "questions", queries=rows, gold=gold)
    return tmp_path


@pytest.mark.parametrize("words", [("questions",), ("--queries", "questions")])
def test_an_application_asked_the_questions_of_a_set_is_scored_by_what_the_set_judges(questions, words):
    with rag_app() as server:
        done = call(questions, "run", *words, "--app", server.url, "-m", "reciprocal_rank", "-o", "out")
    assert done.returncode == 0, done.stderr
    result = json.loads((questions / "out" / "result.json").read_text())
    (system,) = result["systems"]
    assert system["metrics"]["reciprocal_rank"] == 0.75  # a is first for q1, b is second for q2


def test_a_folder_without_questions_is_refused_with_the_way_to_get_some(folder):
    done = call(folder, "run", ".", "--app", "http://127.0.0.1:9/ask")
    assert done.returncode == 2
    assert "--queries FILE" in done.stderr and "assay run SET --app" in done.stderr


def test_an_application_is_measured_as_the_folder_is_whose_questions_it_gets(tmp_path):
    """Contexts that it did not name are not contexts that hold nothing."""
    (tmp_path / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / f"{name}.md").write_text(f"{text} The Granite harbour stores {name}{name}ron barrels.")
    assert call(tmp_path, "run", "docs", "--yes", "--only", "bm25").returncode == 0

    def bare(question):
        return {"answer": "Sencha wants water of 70 degrees."}

    with rag_app(shape=bare) as server:
        done = call(tmp_path, "run", "docs-results/questions", "--app", server.url, "-o", "app")
    assert done.returncode == 0, done.stderr
    command = done.stderr.rpartition("assay compare ")[2].split()
    assert command == ["docs-results", "app"]
    compared = call(tmp_path, "compare", *command, "--format", "json")
    assert compared.returncode == 0, compared.stderr
    assert set(json.loads(compared.stdout)["comparison"]["measures"]) == {"ndcg@10", "recall@10", "reciprocal_rank@10"}
    samples = assay.read_samples(*(tmp_path / "app" / "samples").iterdir())
    assert [one.contexts for one in samples] == [None] * len(samples)
