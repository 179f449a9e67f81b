"""`assay compare`: its inputs and its tables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from commands import run_assay


def test_all_pairs_are_in_the_csv_of_compare(two_systems):
    text = run_assay(
        "compare", "qrels.txt", "one.run", "two.run", "-m", "P@1", "--all-pairs", "--format", "csv", cwd=two_systems
    ).stdout
    assert text.splitlines()[0] == "measure,system,letters,mean,other,other_mean,difference,pvalue"
    assert text.splitlines()[1].startswith("P@1,two,a,1.0,one,0.0,1.0,")


def test_one_result_file_of_two_systems_can_be_compared(two_systems):
    run_assay("evaluate", "qrels.txt", "one.run", "two.run", "-m", "P@1", "-o", "both.json", cwd=two_systems)
    assert run_assay("compare", "both.json", "--baseline", "two", cwd=two_systems).returncode == 0
    alone = run_assay("compare", "qrels.txt", "one.run", cwd=two_systems)
    assert (alone.returncode, "two systems or more" in alone.stderr) == (2, True)


def test_a_brief_latex_table_is_one_table_and_its_note(two_systems):
    done = run_assay(
        "compare", "qrels.txt", "one.run", "two.run", "-m", "P@1", "--brief", "--format", "latex", cwd=two_systems
    )
    assert [line[:10] for line in done.stdout.splitlines() if line.startswith(("%", "\\begin", "{"))] == [
        "% Means ov", "\\begin{tab", "{\\footnote",
    ]  # fmt: skip
    assert "only 12 queries" in done.stderr


def test_runs_may_come_through_pipes(two_systems):
    command = f"{sys.executable} -m assay compare qrels.txt a=<(cat one.run) b=<(cat two.run) -m P@1"
    done = subprocess.run(["bash", "-c", command], cwd=two_systems, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "overlap@10" in done.stdout


def test_lists_are_those_that_were_evaluated(two_systems):
    text = (two_systems / "one.run").read_text()
    (two_systems / "twice.run").write_text(text.replace("q00 Q0 a", "q00 Q0 x", 1) + "")
    (two_systems / "twice.run").write_text(text + "q00 Q0 x 4 -3.0 t\n")
    done = run_assay("compare", "qrels.txt", "one.run", "twice.run", "-m", "P@1", "--dedupe", cwd=two_systems)
    assert "100.0%        1.0000" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("more", "meaning"),
    [([], "† better and ‡ worse than one"), (["--all-pairs"], "systems that share a letter are not shown to differ")],
)
def test_the_table_for_a_paper_says_itself_what_its_marks_mean(more, meaning, call, two_systems):
    line = ["compare", "qrels.txt", "one.run", "two.run", "-m", "map", "--brief", *more, "--format"]
    latex, markdown = call(*line, "latex")[1].splitlines(), call(*line, "markdown")[1].splitlines()
    assert latex[0].startswith("% ")
    assert meaning in latex[0]
    note = latex[-1].replace(r"\textdagger{}", "†").replace(r"\textdaggerdbl{}", "‡")
    assert note.startswith(r"{\footnotesize Means over 12 queries")
    assert meaning in note
    assert meaning in markdown[-1]
