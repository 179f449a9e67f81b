"""`assay sweep`: what it prints and what it refuses."""

from __future__ import annotations

import json

from commands import run_assay


def test_protocols_with_required_settings_can_be_swept(two_systems):
    done = run_assay(
        "sweep",
        "qrels.txt",
        "one.run",
        "--protocol",
        "llm-graded",
        "--min-relevance",
        "2",
        "--k",
        "1,3",
        cwd=two_systems,
    )
    assert done.returncode == 0, done.stderr
    backwards = run_assay("sweep", "qrels.txt", "one.run", "--k", "5-3", cwd=two_systems)
    assert (backwards.returncode, "ends before it begins" in backwards.stderr) == (2, True)


def test_sweep_prints_tables_and_advice(demo):
    done = run_assay("sweep", demo.judgments, *demo.runs, "--k", "1-3,10")
    assert done.returncode == 0, done.stderr
    assert "k = 1" in done.stdout and "k = 2" in done.stdout and "k = 10" in done.stdout
    assert "bm25: F1 is highest at k = 1; " in done.stdout
    csv = run_assay("sweep", demo.judgments, *demo.runs, "--k", "1,3", "--format", "csv").stdout.splitlines()
    assert csv[0] == "system,measure,k,mean,low,high,reason"
    assert len(csv) == 1 + 3 * 4 * 2
    data = json.loads(run_assay("sweep", demo.judgments, demo.runs[0], "--k", "1,3", "--format", "json").stdout)
    assert data["sweep"]["choices"][0]["system"] == "keywords"
    wrong = run_assay("sweep", demo.judgments, demo.runs[0], "--k", "1,x")
    assert (wrong.returncode, "expected whole numbers" in wrong.stderr) == (2, True)
