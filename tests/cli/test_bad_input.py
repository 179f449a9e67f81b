"""Bad input ends in one line that names the place and the cure, exit code 2, and no half-written file."""

from __future__ import annotations

import gzip
import json

import pytest

from commands import run_assay

GOOD_QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"
GOOD_RUN = b"q1 Q0 d1 1 2.0 r\nq1 Q0 d2 2 1.0 r\nq2 Q0 d1 1 3.0 r\n"


RUNS = {
    "binary file": (bytes(range(256)) * 40, "binary"),
    "too few columns": (b"q1 d1 2.0\n", "a.run:1: 3 fields"),
    "text for a number": (b"q1 Q0 d1 1 2.0 r\nq1 Q0 d2 2 high r\n", "a.run:2: score 'high' is not a number"),
    "not a number": (b"q1 Q0 d1 1 nan r\n", "a.run:1: score 'nan' is not finite"),
    "infinite score": (b"# c\nq1 Q0 d1 1 2 r\nq1 Q0 d2 1 inf r\n", "a.run:3: score 'inf' is not finite"),
    "minus infinity": (b"q1  Q0 d1 1 -inf r\n", "a.run:1: score '-inf' is not finite"),
    "duplicate pair": (b"q1 Q0 d1 1 2 r\nq1 Q0 d2 2 1 r\nq1 Q0 d1 3 0 r\n", "'d1' is listed twice for query 'q1'"),
    "duplicate unjudged pair": (b"q1 Q0 x 1 2 r\nq1 Q0 d2 2 1 r\nq1 Q0 x 3 0 r\n", "'x' is listed twice"),
    "empty file": (b"", "the file is empty"),
    "only comments": (b"# nothing\n\n# here\n", "no rows"),
    "no common query": (b"x1 Q0 d1 1 2.0 r\n", "no query in common"),
    "very long line": (b"q1 " + b"x" * 10_000_000 + b"\n", "a.run:1: 2 fields"),
    "invalid UTF-8": (b"q1 Q0 d1 1 2.0 r\nq1 Q0 d\xff 2 1.0 r\n", "a.run:2: byte 0xff is not UTF-8"),
    "UTF-16 without a mark": ("q1 Q0 d1 1 2.0 r\n".encode("utf-16-le"), "a.run"),
    "qrels instead of a run": (GOOD_QRELS, "a.run:1: 4 fields: this looks like judgments, not a run"),
    "broken gzip": (gzip.compress(GOOD_RUN)[:-9], "cannot be read"),
    "empty gzip": (gzip.compress(b""), "the file is empty"),
    "HTML page": (b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "a.run:1: 2 fields"),
    "comma instead of blanks": (b"q1,Q0,d1,1,2.0,r\n", "a.run:1: 1 field "),
    "decimal comma": (b"q1 Q0 d1 1 2,5 r\n", "score '2,5' is not a number"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_bad_runs(kind, call, tmp_path):
    data, expected = RUNS[kind]
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / "a.run").write_bytes(data)
    code, out, err = call("evaluate", "qrels.txt", "a.run", "-m", "ndcg@10", "--output", "out.json")
    check_refusal(code, out, err, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.run", "qrels.txt"]


def check_refusal(code: int, out: str, err: str, expected: str) -> None:
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("assay: ")
    assert expected in err
    assert "Traceback" not in err
    assert len(err) < 600


TABLES = {
    "run.json": ('{"q1": {"d1": "x"}}', "score 'x' of query 'q1'"),
    "list.json": ("[1, 2", "not valid JSON"),
    "number.json": ("5", "the JSON is a number"),
    "twice.json": ('{"q1": {"d1": 1, "d1": 2}}', "'d1' appears twice"),
    "deep.json": ('{"q1": {"d1": {"x": 1}}}', "is not a finite number"),
    "nan.json": ('{"q1": {"d1": NaN}}', "is not a finite number"),
    "bad.jsonl": ('{"query_id": "q1", "doc_id": "d1", "score": 1}\n{"query_id": \n', "bad.jsonl:2: not valid JSON"),
    "array.jsonl": ("[1]\n", "array.jsonl:1: expected a JSON object"),
    "columns.csv": ("a,b\n1,2\n", "no column for query_id"),
    "both.csv": ("qid,topic,doc_id,score\n1,2,d,3\n", "could each be query_id"),
    "text.csv": ("query_id,doc_id,score\nq1,d1,high\n", "row 1: score 'high' is not a finite number"),
    "ragged.csv": ("query_id,doc_id,score\nq1,d1,1\nq1,d2,1,9\n", "ragged.csv:3: 4 fields where the header has 3"),
    "hole.csv": ("query_id,doc_id,score\nq1,,1\n", "row 1 has no doc_id"),
    "not.parquet": ("query_id,doc_id,score\n", "not a Parquet file"),
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables(name, call, tmp_path):
    text, expected = TABLES[name]
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / name).write_text(text)
    check_refusal(*call("evaluate", "qrels.txt", name, "-m", "ndcg@10"), expected)


QRELS = {
    "fractional nonsense": (b"q1 0 d1 one\n", "grade 'one' is not a number"),
    "judged twice": (b"q1 0 d1 1\nq1 0 d1 0\n", "'d1' is judged twice for query 'q1'"),
    "infinite grade": (b"q1 0 d1 inf\n", "grade 'inf' is not finite"),
    "three columns": (b"q1 d1 1\n", "3 fields where a line of judgments needs 4"),
    "empty": (b"", "the file is empty"),
}


@pytest.mark.parametrize("kind", QRELS)
def test_bad_judgments(kind, call, tmp_path):
    data, expected = QRELS[kind]
    (tmp_path / "qrels.txt").write_bytes(data)
    (tmp_path / "a.run").write_bytes(GOOD_RUN)
    check_refusal(*call("evaluate", "qrels.txt", "a.run"), expected)


RECORDS = {
    "retrieved is text": ({"query": "a", "retrieved": "d1", "relevant": ["d1"]}, "retrieved must be a list of ids"),
    "grade is text": ({"query": "a", "relevance": [1, "x"]}, "contains 'x', which is not a number"),
    "lengths differ": ({"query": "a", "grades": [1, 0], "scores": [0.5]}, "scores has 1 value, grades has 2"),
    "no gold": ({"query": "a", "retrieved": ["d1"]}, "no records of retrieved"),
    "null gold": ({"query": "a", "retrieved": ["d1"], "relevant": None}, "relevant must be a list"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_bad_records(kind, call, tmp_path):
    record, expected = RECORDS[kind]
    (tmp_path / "r.jsonl").write_text(json.dumps(record) + "\n")
    check_refusal(*call("evaluate", "r.jsonl", "-m", "ndcg@10"), expected)


def test_a_query_in_two_records_is_refused(call, tmp_path):
    (tmp_path / "r.jsonl").write_text('{"query": "a", "relevance": [1]}\n' * 2)
    check_refusal(*call("evaluate", "r.jsonl", "-m", "ndcg@10"), "query 'a' appears in records 1 and 2")


USAGE = {
    "standard input twice": (["evaluate", "-", "x=-"], "only one file can be read from standard input"),
    "missing file": (["evaluate", "qrels.txt", "none.run"], "none.run: no such file"),
    "directory as a run": (["evaluate", "qrels.txt", "."], ".: this folder has no qrels folder inside"),
    "unknown measure": (["evaluate", "qrels.txt", "a.run", "-m", "ndgc@10"], "did you mean ndcg"),
    "unknown parameter": (["evaluate", "qrels.txt", "a.run", "-m", "ndcg(gian='exp')@10"], "did you mean gain"),
    "wrong value": (["evaluate", "qrels.txt", "a.run", "-m", "ndcg(gain='cubic')@10"], "expected"),
    "missing cutoff": (["evaluate", "qrels.txt", "a.run", "-m", "precision"], "needs a cutoff"),
    "cutoff zero": (["evaluate", "qrels.txt", "a.run", "-m", "ndcg@0"], "whole number, 1 or more"),
    "needless cutoff": (["evaluate", "qrels.txt", "a.run", "-m", "bpref@10"], "takes no cutoff"),
    "measure twice": (["evaluate", "qrels.txt", "a.run", "-m", "ndcg@10", "-m", "nDCG@10"], "asked for twice"),
    "unknown protocol": (["evaluate", "qrels.txt", "a.run", "--protocol", "trek"], "did you mean trec"),
    "protocol needs threshold": (["evaluate", "qrels.txt", "a.run", "--protocol", "llm-graded"], "needs --min-relevance"),
    "grade beyond the scale": (["evaluate", "big.txt", "a.run", "--protocol", "graded-012"], "above the scale"),
    "scale missing": (["evaluate", "qrels.txt", "a.run", "-m", "err@10"], "needs the largest grade"),
    "unknown option": (["evaluate", "qrels.txt", "a.run", "--min-rel", "2"], "--min-relevance"),
    "bad choice": (["evaluate", "qrels.txt", "a.run", "--ties", "random"], "'random' is not one of"),
    "chunk map without fold": (["evaluate", "qrels.txt", "a.run", "--chunk-map", "{doc}#{chunk}"], "needs --fold after"),
    "pattern without document": (["evaluate", "qrels.txt", "a.run", "--fold", "after", "--chunk-map", "x{doc}{doc}"], "{doc} and {chunk} once each"),
    "id that fits no pattern": (["evaluate", "qrels.txt", "a.run", "--fold", "after", "--chunk-map", "{doc}#{chunk}"], "'d1' does not match"),
    "weights lack a query": (["evaluate", "qrels.txt", "a.run", "--weights", "w.tsv"], "query has no weight: 'q2'"),
    "same name twice": (["evaluate", "qrels.txt", "x=a.run", "x=a.run"], "two runs are called 'x'"),
    "subtopics missing": (["evaluate", "qrels.jsonl", "a.run", "-m", "alpha_ndcg@10"], "no column for subtopic"),
    "unwritable output": (["evaluate", "qrels.txt", "a.run", "--output", "no/such/folder/x.json"], "cannot be written"),
    "bad input format": (["evaluate", "qrels.txt", "a.run", "--input-format", "xml"], "expected one of trec"),
    "bad TOML": (["evaluate", "qrels.txt", "a.run", "--protocol", "bad.toml"], "bad.toml: not valid TOML"),
    "TOML with unknown key": (["evaluate", "qrels.txt", "a.run", "--protocol", "key.toml"], "unknown key 'tyes'; did you mean ties"),
    "expected ties refused": (["evaluate", "qrels.txt", "a.run", "-m", "bpref", "--ties", "expected"], "cannot be averaged"),
    "unknown query": (["evaluate", "qrels.txt", "a.run", "--explain", "q9"], "query 'q9' is not judged"),
}  # fmt: skip


@pytest.mark.parametrize("kind", USAGE)
def test_bad_usage(kind, call, tmp_path):
    words, expected = USAGE[kind]
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / "big.txt").write_bytes(b"q1 0 d1 7\n")
    (tmp_path / "a.run").write_bytes(GOOD_RUN)
    (tmp_path / "w.tsv").write_text("q1 2\n")
    (tmp_path / "qrels.jsonl").write_text('{"query_id": "q1", "doc_id": "d1", "grade": 1}\n')
    (tmp_path / "bad.toml").write_text("name = \n")
    (tmp_path / "key.toml").write_text('name = "x"\ntyes = "docid"\n[measures]\na = "ndcg"\n')
    check_refusal(*call(*words), expected)


def test_a_failed_write_leaves_the_old_file(call, tmp_path, monkeypatch):
    (tmp_path / "qrels.txt").write_bytes(GOOD_QRELS)
    (tmp_path / "a.run").write_bytes(GOOD_RUN)
    (tmp_path / "out.json").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    code, _, err = call("evaluate", "qrels.txt", "a.run", "--output", "out.json")
    assert code == 2
    assert "No space left" in err
    assert (tmp_path / "out.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.run", "out.json", "qrels.txt"]


def test_result_files_and_runs_do_not_mix(two_systems):
    run_assay("evaluate", "qrels.txt", "one.run", "-m", "P@1", "-o", "one.json", cwd=two_systems)
    for words in (
        ["compare", "one.json", "two.run"],
        ["compare", "qrels.txt", "one.json", "two.run"],
        ["evaluate", "one.json"],
        ["sweep", "one.json"],
    ):
        done = run_assay(*words, cwd=two_systems)
        assert (done.returncode, "result file" in done.stderr) == (2, True), done.stderr
