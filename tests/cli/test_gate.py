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
