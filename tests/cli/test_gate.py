"""`assay gate`: what its rules compute and what it prints."""

from __future__ import annotations

from commands import run_assay


def test_a_gate_computes_what_its_rules_name(two_systems):
    (two_systems / "gate.toml").write_text('[[rule]]\nmeasure = "ndcg@3"\nat_least = 0.5\n')
    for words in (
        ["--rules", "gate.toml"],
        ["--fail-under", "ndcg(gain='exp')@10=0.1"],
        ["--protocol", "rag", "--targets", "--fail-under", "hit_rate@3=0.1"],
    ):
        assert run_assay("gate", "qrels.txt", "one.run", *words, cwd=two_systems).returncode in {0, 1}, words


def test_a_gate_says_what_is_missing(two_systems):
    (two_systems / "part.run").write_text(
        "".join(
            line
            for line in (two_systems / "two.run").read_text().splitlines(keepends=True)
            if not line.startswith("q03")
        )
    )
    done = run_assay(
        "gate",
        "qrels.txt",
        "one.run",
        "--not-worse-than",
        "part.run",
        "-m",
        "recip_rank",
        "--junit",
        "g.xml",
        cwd=two_systems,
    )
    assert "part: 1 judged query is missing and counts as 0: q03" in done.stdout
    assert "1 judged query is missing" in (two_systems / "g.xml").read_text()


def test_two_thresholds_for_one_measure_both_count(two_systems):
    words = ["--fail-under", "recip_rank=0.9", "--fail-under", "recip_rank=0.1"]
    assert run_assay("gate", "qrels.txt", "one.run", *words, cwd=two_systems).returncode == 1


def test_without_a_measure_a_run_is_compared_on_what_the_baseline_has(two_systems):
    run_assay("evaluate", "qrels.txt", "one.run", "-m", "ndcg@10", "-o", "base.json", cwd=two_systems)
    done = run_assay("gate", "qrels.txt", "two.run", "--not-worse-than", "base.json", cwd=two_systems)
    assert done.returncode in {0, 1}, done.stderr
    assert "ndcg@10 not worse than one" in done.stdout
    run_assay("evaluate", "qrels.txt", "one.run", "-m", "ndcg@10", "-m", "rr", "-o", "more.json", cwd=two_systems)
    done = run_assay("gate", "qrels.txt", "two.run", "--not-worse-than", "more.json", cwd=two_systems)
    assert done.returncode == 2
    assert "name a measure with -m: one has ndcg@10, rr" in done.stderr


def test_what_others_call_a_threshold_or_a_baseline_is_cured(two_systems):
    run_assay("evaluate", "qrels.txt", "one.run", "-m", "ndcg@10", "-o", "base.json", cwd=two_systems)
    for words, cure in (
        (["base.json", "--threshold", "ndcg@10=0.4"], "use --fail-under MEASURE=NUMBER"),
        (["qrels.txt", "two.run", "--baseline", "base.json"], "use --not-worse-than base.json"),
        (["base.json", "--baseline", "base.json"], "use --not-worse-than base.json"),
    ):
        done = run_assay("gate", *words, cwd=two_systems)
        assert (done.returncode, cure in done.stderr) == (2, True), done.stderr
