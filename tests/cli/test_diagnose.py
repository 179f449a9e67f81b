"""`assay diagnose`: what it prints and what it refuses."""

from __future__ import annotations

import re

import assay
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.report.tables import width
from commands import run_assay


def test_recall_that_cannot_be_reached_is_explained(tmp_path):
    judged = {"q": {f"d{i}": 1 for i in range(50)}, "r": {f"d{i}": 1 for i in range(50)}}
    assay.write_judgments(Judgments.from_dict(judged), tmp_path / "qrels.txt")
    assay.write_run(
        Run.from_dict({q: {f"d{i}": float(-i) for i in range(10)} for q in judged}, "r"), tmp_path / "r.run"
    )
    text = run_assay("diagnose", "qrels.txt", "r.run", cwd=tmp_path).stdout
    assert "With these judgments no system can get more than 0.1000 in recall@5" in text
    assert "not attainable" in text and "raise k" not in text


def test_queries_of_other_ids_are_a_mistake(two_systems):
    (two_systems / "queries.csv").write_text("query_id,type\nz1,a\nz2,b\n")
    done = run_assay("diagnose", "qrels.txt", "one.run", "--queries", "queries.csv", cwd=two_systems)
    assert (done.returncode, "none of the query ids in this file is judged" in done.stderr) == (2, True)
    (two_systems / "queries.csv").write_text("query_id,type\nq00,a\nq01,b\n")
    done = run_assay("diagnose", "qrels.txt", "one.run", "--queries", "queries.csv", cwd=two_systems)
    assert "10 of 12 judged queries have no attributes" in done.stdout
    wrong = run_assay("diagnose", "qrels.txt", "one.run", "--measured", "latency=3", cwd=two_systems)
    assert wrong.returncode == 2


def test_columns_of_a_chinese_diagnosis_are_aligned(demo):
    done = run_assay("diagnose", demo.judgments, demo.runs[1], "--queries", demo.queries_file, "--lang", "zh")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "bm25：50 个查询，协议 rag"
    for number, line in enumerate(lines):
        if re.fullmatch(r"-+(  -+)*", line):  # the rule under a header: every cell ends or begins at its column
            starts = [match.start() for match in re.finditer(r"-+", line)]
            ends = [match.end() for match in re.finditer(r"-+", line)]
            for row in (lines[number - 1], *lines[number + 1 : number + 4]):
                if row:
                    edges = {width(row[:i]) for i in range(len(row) + 1)}
                    assert all(edge in edges or edge > width(row) for edge in (*starts, *ends)), row


def test_diagnose_reads_result_files_and_measured_values(demo, tmp_path):
    run_assay("evaluate", demo.judgments, demo.runs[1], "--protocol", "rerank", "-o", tmp_path / "r.json")
    done = run_assay("diagnose", tmp_path / "r.json", "--measured", "latency_p95=420")
    assert re.search(r"latency_p95 +420 +< 500 ms +< 300 ms +OK", done.stdout)
    assert re.search(r"cost_per_million_tokens +< \$0.05 +< \$0.03 +not measured", done.stdout)
    for words in (["--k", "3"], ["--ties", "given"], ["--measured", "latency"]):
        assert run_assay("diagnose", tmp_path / "r.json", *words).returncode == 2
