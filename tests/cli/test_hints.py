"""What people type by mistake ends in a line that cures it."""

from __future__ import annotations

import json
from typing import get_args

import pytest

import workplace
from assay.analysis.check_files import FileKind
from assay.cli.hints import advise_command, advise_option, advise_path
from assay.messages import say
from commands import run_assay
from conftest import STRESS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A few files of every kind."""
    place = tmp_path_factory.mktemp("hints")
    sample = {"id": "1", "question": "When?", "answer": "In 1889.", "contexts": ["It opened in 1889."]}
    for name, text in {
        "q": "q1 0 a 1\nq2 0 b 1\n",
        "a.run": "q1 Q0 a 1 2 t\nq2 Q0 b 1 1 t\n",
        "b.run": "q1 Q0 b 1 2 u\nq2 Q0 a 1 1 u\n",
        "s.jsonl": json.dumps(sample) + "\n",
        "twice.jsonl": 2 * (json.dumps({**sample, "id": "1"}) + "\n"),
        "s.csv": "query_id,question,answer\n1,When?,In 1889.\n",
        "e.toml": '[data]\ndocuments = "d"\n[retrieve]\nmethod = bm25\n',
        "data.json": '{"a": 1}',
        "semicolon.csv": "query_id;doc_id;grade\nq1;a;1\n",
        "empty": "",
    }.items():
        (place / name).write_text(text)
    return place


RUN = ("evaluate", "q", "a.run")
MISTAKES = {
    # Options of other tools
    (*RUN, "--metrics", "map"): "measures are given with -m",
    (*RUN, "--metric", "map"): "measures are given with -m",
    (*RUN, "-k", "10"): "-m ndcg@10",
    (*RUN, "--k", "10"): "-m ndcg@10",
    (*RUN, "--cutoff", "10"): "-m ndcg@10",
    (*RUN, "--top-k", "10"): "-m ndcg@10",
    ("evaluate", "--qrels", "q", "a.run"): "the judgments come first, without an option",
    ("evaluate", "q", "--run", "a.run"): "the runs come after the judgments",
    (*RUN, "--json"): "--format json",
    (*RUN, "--csv"): "--format csv",
    (*RUN, "--latex"): "--format latex",
    (*RUN, "--output-format", "json"): "--format json",
    (*RUN, "--out", "x.json"): "-o FILE",
    (*RUN, "--html", "x.html"): "--report FILE.html",
    (*RUN, "--threshold", "1"): "--min-relevance",
    (*RUN, "-v"): "--per-query",
    (*RUN, "--verbose"): "--per-query",
    (*RUN, "--language", "zh"): "--lang zh",
    ("compare", "q", "a.run", "b.run", "--test", "ttest"): "a paired permutation test",
    ("compare", "q", "a.run", "b.run", "--confidence", "95"): "--alpha 0.05",
    ("compare", "q", "a.run", "b.run", "--control", "a"): "--baseline NAME",
    ("gate", "q", "a.run", "--min", "ndcg@10=0.5"): "--fail-under MEASURE=NUMBER",
    ("gate", "q", "a.run", "--max", "ndcg@10=0.5"): "--fail-over MEASURE=NUMBER",
    ("answers", "s.jsonl", "--model", "gpt-4o"): "--judge MODEL --url URL",
    ("answers", "s.jsonl", "--api-key", "sk-123"): "--key-env NAME",
    ("answers", "s.jsonl", "--base-url", "http://x"): "--url URL",
    ("answers", "s.jsonl", "--budget", "1"): "--max-cost",
    ("answers", "s.jsonl", "--column", "a=b"): "--map question=MY_COLUMN",
    ("run", "--config", "e.toml"): "assay run experiment.toml",
    ("--versoin",): "--version",
    # Names of commands
    ("eval", "q", "a.run"): "assay evaluate qrels.txt my.run",
    ("score", "q", "a.run"): "assay evaluate qrels.txt my.run",
    ("metrics",): "assay evaluate",
    ("measure", "ndcg"): "assay help ndcg",
    ("significance", "q", "a.run", "b.run"): "assay compare",
    ("ragas", "s.jsonl"): "assay answers",
    ("rerank", "a.run"): "assay run qrels.txt --candidates",
    ("search", "tea"): "assay run experiment.toml",
    ("annotate", "a.run"): "assay judge",
    ("rrf", "a.run", "b.run"): "assay fuse",
    ("latency", "m:f"): "assay bench",
    ("pricing",): "assay cost",
    ("dashboard",): "assay report",
    ("figure",): "--chart",
    ("lint", "q"): "assay check",
    ("export", "a.run"): "assay convert",
    ("doctor",): "assay env",
    ("tutorial",): "assay demo",
    # Files
    (*RUN, "-m", "ndcg@10", "map"): "map is a measure: repeat -m",
    (*RUN, "recall"): "recall is a measure: repeat -m",
    ("evaluate", "q", "runs/*.run"): "no file matches this pattern",
    ("evaluate", "https://example.org/q", "a.run"): "download it first",
    ("evaluate", "C:\\data\\q", "a.run"): "Windows path",
    ("evaluate", "q", "a.run "): "blanks around it",
    ("evaluate", "q", "a.rnu"): "did you mean a.run?",
    ("evaluate", "q", "b"): "did you mean b.run?",
    ("evaluate", "q", "elsewhere/a.run"): "there is no folder elsewhere",
    ("evaluate", "a.run", "q"): "the judgments come first, then the runs",
    ("evaluate", "q"): "give the run files after it",
    ("evaluate", "q", "q"): "this looks like judgments, not a run",
    ("evaluate", "q", "empty"): "the file is empty",
    ("report", "q", "-o", "r.html"): "not a result file but judgments",
    ("report", "a.run", "-o", "r.html"): "not a result file but a run",
    ("report", "s.jsonl", "-o", "r.html"): "make one: assay answers s.jsonl -o result.json",
    ("report", "data.json", "-o", "r.html"): "not a result file",
    ("log", "metrics", "s.jsonl"): "this looks like samples (read by: assay answers s.jsonl)",
    ("log", "judgments", "s.jsonl"): "this looks like samples (read by: assay answers s.jsonl)",
    ("log", "sample", "s.jsonl"): "this looks like samples (read by: assay answers s.jsonl)",
    ("log", "sample", "s.csv"): "this looks like samples (read by: assay answers s.csv)",
    ("ab", "analyse", "s.jsonl", "-m", "any_click"): "this looks like samples (read by: assay answers s.jsonl)",
    ("ab", "plan", "s.jsonl", "-m", "any_click", "--lift", "0.1"): "this looks like samples",
    ("run", "e.toml"): "strings need quotes",
    (*RUN, "-o", "out.xlsx"): "use .json, .csv",
    # Measures
    (*RUN, "-m", "ndcg10"): "write ndcg@10",
    (*RUN, "-m", "recall-at-5"): "write recall@5",
    (*RUN, "-m", "recall"): "recall needs a cutoff: write recall@10",
    (*RUN, "-m", "ndgc@10"): "did you mean ndcg",
    (*RUN, "-m", "ndcg@0"): "1 or more",
    (*RUN, "-m", "faithfulness"): "use assay answers",
    ("answers", "s.jsonl", "-m", "ndcg@10"): "use assay evaluate",
    ("answers", "s.jsonl", "-m", "faithfullness"): "did you mean faithfulness",
    (*RUN, "--protocol", "RAG"): "did you mean rag?",
    # Combinations
    ("compare", "q", "a.run"): "two systems or more",
    ("gate", "q", "a.run"): "give a threshold (--fail-under)",
    ("gate", "q", "a.run", "--fail-under", "0.5"): "expected NAME=NUMBER",
    ("evaluate", "q", "a.run", "a.run"): "give them names, as in NAME=FILE",
    (
        "judge",
        "--prefer",
        "s.jsonl",
        "twice.jsonl",
        "--judge",
        "m",
        "--url",
        "http://127.0.0.1:9/v1",
        "-o",
        "p.jsonl",
    ): "give each sample its own id",
    ("answers", "s.jsonl", "--judge", "gpt-4o"): "Give its address with --url",
}


@pytest.mark.parametrize("words", list(MISTAKES), ids=" ".join)
def test_a_mistake_ends_in_a_line_that_cures_it(folder, words):
    done = run_assay(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert MISTAKES[words] in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    place = tmp_path_factory.mktemp("wrong")
    workplace.fill(place)
    return place


# Every command with a place for a file (F), and kinds that are right there.
PLACES = {
    "evaluate F": {"records", "judgments", "result"},
    "evaluate F one.run": {"judgments", "records", "run", "result"},
    "evaluate qrels.txt F": {"run", "judgments", "result"},
    "compare qrels.txt one.run F": {"run", "judgments", "result"},
    "diagnose F one.run": {"judgments", "records", "run", "result"},
    "gate F --fail-under map=0.1": {"judgments", "records", "result"},
    "gate qrels.txt one.run -m map --not-worse-than F": {"run", "judgments", "result"},
    "gate result.json --rules F": {"gate rules"},
    "run F": {"experiment", "documents", "rubric"},  # a file of text is a document
    "fuse one.run F -o f.run": {"run", "judgments"},
    "answers F": {"samples", "result", "traces"},
    "answers samples.jsonl --nuggets F": {"nuggets"},
    "report F -o r.html": {"result"},
    "judge F --queries queries.jsonl --documents docs.jsonl --judge m --url http://127.0.0.1:9/v1 -o j --dry-run": {
        "run", "judgments"},
    "calibrate F human.qrels": {"judgments", "records", "run", "samples"},
    "cost F": {"costs", "result"},
    "ab analyse F --control old": {"users", "arms", "events"},
    "ab history F": {"result"},
    "log judgments F -o j.qrels": {"events"},
    "trec_eval F one.run": {"judgments", "run", "records"},
}  # fmt: skip
SORTS = {
    "users": "users.csv", "arms": "arms.csv", "events": "log.ndjson", "judgments": "qrels.txt", "run": "two.run",
    "records": "records.jsonl", "samples": "samples.jsonl", "queries": "queries.tsv", "documents": "docs.tsv",
    "weights": "weights.csv", "labels": "variants.csv", "pairs": "pairs.jsonl", "verdicts": "details.jsonl",
    "result": "result.json", "experiment": "experiment.toml", "gate rules": "gate.toml", "costs": "costs.toml",
    "prices": "prices.toml", "rubric": "tone.md", "traces": "traces.jsonl",
    "nuggets": "nuggets.jsonl",
}  # fmt: skip
READ_AS_LOG = {"samples", "pairs", "traces"}  # any object with an id and a text may be a search of a log
WRONG = [
    (line, kind)
    for line, right in PLACES.items()
    for kind in SORTS
    if kind not in right and not (line.startswith("log") and kind in READ_AS_LOG)
]


@pytest.mark.parametrize(("line", "kind"), WRONG if STRESS else WRONG[::3])  # every place and every kind all the same
def test_a_file_of_another_kind_is_told_with_the_command_that_reads_it(line, kind, filled, call, monkeypatch):
    monkeypatch.chdir(filled)
    name = SORTS[kind]
    code, out, err = call(*(name if word == "F" else word for word in line.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(say(f"check.kind_{kind}")) in err
    told = err.rpartition("assay ")[2].rstrip(")\n").split()
    assert name in told
    assert told != line.replace("F", name).split()[: len(told)]


def test_every_kind_of_file_has_a_command_that_reads_it():
    # Any other TOML is called a protocol; a set is a folder, of which every command reads its part.
    # Gold spans are named in an experiment: no command takes them as a file.
    assert set(SORTS) == set(get_args(FileKind)) - {"protocol", "set", "gold"}


def test_hints_are_given_only_where_the_option_exists():
    from assay.cli.evaluate import command as evaluate

    assert advise_option("--api-key", evaluate) == ""
    assert advise_option("--metrics", evaluate)
    assert advise_option("--metrics", None) == ""


def test_what_nobody_can_guess_has_no_hint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (advise_command("xyzzy"), advise_path("xyzzy")) == ("", "")
