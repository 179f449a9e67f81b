"""Rules that a review found broken, so that they stay mended."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import assay
from assay.analysis.compare import compare
from assay.analysis.settings import Settings
from assay.analysis.sweep import sweep
from assay.data.judgments import Judgments
from assay.data.run import Run


def run_assay(*words, cwd, **options):
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        **options,
    )


def test_rounding_is_no_difference():
    """Relevant at ranks 1 and 12, or at 2 and 3: both have an average precision of 7/12, in different bits."""
    judged = {f"q{i:02}": {"a": 1, "b": 1} for i in range(40)}
    one = {q: {"a": 20.0, **{f"x{i}": 19.0 - i for i in range(10)}, "b": 1.0} for q in judged}
    two = {q: {"x": 3.0, "a": 2.0, "b": 1.0} for q in judged}
    pair = [assay.evaluate(judged, run, ["map"], name=name) for name, run in (("one", one), ("two", two))]
    assert pair[0]["map"] == pytest.approx(7 / 12)
    contrast = compare(pair).contrast("two", "map")
    assert (contrast.wins, contrast.ties, contrast.losses, contrast.pvalue) == (0, 40, 0, 1.0)
    assert contrast.unchanged
    assert contrast.difference.estimate == 0


def test_a_constant_difference_that_is_too_small_is_equivalent():
    import numpy as np

    from assay.analysis.decision import decide
    from assay.results.comparison import Rules

    for value, verdict in ((0.005, "equivalent"), (0.02, "better")):
        change = np.full(600, value)
        assert decide(change, Rules(), adjusted=0.0001, sign=1.0, weights=None) == verdict


def test_two_blanks_before_the_rank_do_not_shift_the_fields(tmp_path):
    judged = {"q": {"a": 1, "b": 0}}
    for gap in (" ", "  "):
        (tmp_path / "some.run").write_text(
            "".join(f"q Q0 {doc}{gap}{rank} {score}\n" for doc, rank, score in (("b", 1, 5), ("a", 2, 9)))
        )
        assert assay.evaluate(judged, tmp_path / "some.run", ["recip_rank"])["recip_rank"] == 1.0
        assert assay.read_run(tmp_path / "some.run").to_dict() == {"q": {"b": 5.0, "a": 9.0}}


def test_measures_are_matched_by_definition(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(6)}
    run = {q: {"a": 1.0} for q in judged}
    named = assay.evaluate(judged, run, protocol="trec", name="all")
    asked = assay.evaluate(judged, run, ["map", "P@10"], name="few")
    assert set(compare([named, asked]).measures) == {"map", "P_10"}
    assert set(compare([asked, named]).measures) == {"average_precision", "precision@10"}


def test_aliases_work_with_result_files(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(6)}
    scores = assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, ["map", "nDCG@10"], name="a")
    assay.write_result(scores, tmp_path / "a.json")
    back = assay.read_result(tmp_path / "a.json")[0]
    assert back["map"] == 1.0
    assert (
        run_assay(
            "gate", "a.json", "--fail-under", "MAP=0.2", "--fail-under", "ndcg_cut_10=0.2", cwd=tmp_path
        ).returncode
        == 0
    )
    done = run_assay("compare", "old=a.json", "new=a.json", "-m", "map", "-m", "nDCG@10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def files(tmp_path):
    judged = {f"q{i:02}": {"a": 1, "b": 2} for i in range(12)}
    assay.write_judgments(Judgments.from_dict(judged), tmp_path / "qrels.txt")
    for name, docs in (("one", "xab"), ("two", "axb")):
        assay.write_run(
            Run.from_dict({q: {d: -float(i) for i, d in enumerate(docs)} for q in judged}, name),
            tmp_path / f"{name}.run",
        )
    return tmp_path


def test_a_gate_computes_what_its_rules_name(files):
    (files / "gate.toml").write_text('[[rule]]\nmeasure = "ndcg@3"\nat_least = 0.5\n')
    for words in (
        ["--rules", "gate.toml"],
        ["--fail-under", "ndcg(gain='exp')@10=0.1"],
        ["--protocol", "rag", "--targets", "--fail-under", "hit_rate@3=0.1"],
    ):
        assert run_assay("gate", "qrels.txt", "one.run", *words, cwd=files).returncode in {0, 1}, words


def test_a_gate_says_what_is_missing(files):
    (files / "part.run").write_text(
        "".join(
            line for line in (files / "two.run").read_text().splitlines(keepends=True) if not line.startswith("q03")
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
        cwd=files,
    )
    assert "part: 1 judged query is missing and counts as 0: q03" in done.stdout
    assert "1 judged query is missing" in (files / "g.xml").read_text()


def test_two_thresholds_for_one_measure_both_count(files):
    words = ["--fail-under", "recip_rank=0.9", "--fail-under", "recip_rank=0.1"]
    assert run_assay("gate", "qrels.txt", "one.run", *words, cwd=files).returncode == 1


def test_all_systems_are_in_the_csv_of_gate_and_diagnose(files):
    for words in (
        ["gate", "qrels.txt", "one.run", "two.run", "--fail-under", "P@1=0.1"],
        ["diagnose", "qrels.txt", "one.run", "two.run"],
    ):
        text = run_assay(*words, "--format", "csv", cwd=files).stdout
        assert {line.split(",")[0] for line in text.splitlines()[1:]} == {"one", "two"}


def test_all_pairs_are_in_the_csv_of_compare(files):
    text = run_assay(
        "compare", "qrels.txt", "one.run", "two.run", "-m", "P@1", "--all-pairs", "--format", "csv", cwd=files
    ).stdout
    assert text.splitlines()[0] == "measure,system,letters,mean,other,other_mean,difference,pvalue"
    assert text.splitlines()[1].startswith("precision@1,two,a,1.0,one,0.0,1.0,")


def test_one_result_file_of_two_systems_can_be_compared(files):
    run_assay("evaluate", "qrels.txt", "one.run", "two.run", "-m", "P@1", "-o", "both.json", cwd=files)
    assert run_assay("compare", "both.json", "--baseline", "two", cwd=files).returncode == 0
    alone = run_assay("compare", "qrels.txt", "one.run", cwd=files)
    assert (alone.returncode, "two systems or more" in alone.stderr) == (2, True)


def test_result_files_and_runs_do_not_mix(files):
    run_assay("evaluate", "qrels.txt", "one.run", "-m", "P@1", "-o", "one.json", cwd=files)
    for words in (
        ["compare", "one.json", "two.run"],
        ["compare", "qrels.txt", "one.json", "two.run"],
        ["evaluate", "one.json"],
        ["sweep", "one.json"],
    ):
        done = run_assay(*words, cwd=files)
        assert (done.returncode, "result file" in done.stderr) == (2, True), done.stderr


def test_a_brief_latex_table_is_a_table_alone(files):
    done = run_assay(
        "compare", "qrels.txt", "one.run", "two.run", "-m", "P@1", "--brief", "--format", "latex", cwd=files
    )
    assert done.stdout.startswith("\\begin{tabular}")
    assert done.stdout.rstrip().endswith("\\end{tabular}")
    assert "only 12 queries" in done.stderr


def test_runs_may_come_through_pipes(files):
    command = f"{sys.executable} -m assay compare qrels.txt a=<(cat one.run) b=<(cat two.run) -m P@1"
    done = subprocess.run(["bash", "-c", command], cwd=files, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "overlap@10" in done.stdout


def test_lists_are_those_that_were_evaluated(files):
    text = (files / "one.run").read_text()
    (files / "twice.run").write_text(text.replace("q00 Q0 a", "q00 Q0 x", 1) + "")
    (files / "twice.run").write_text(text + "q00 Q0 x 4 -3.0 t\n")
    done = run_assay("compare", "qrels.txt", "one.run", "twice.run", "-m", "P@1", "--dedupe", cwd=files)
    assert "100.0%        1.0000" in done.stdout, done.stdout + done.stderr


def test_a_sweep_keeps_the_definitions_of_the_protocol():
    judged = Judgments.from_dict({f"q{i}": {"a": 2, "b": 1} for i in range(5)})
    run = Run.from_dict({f"q{i}": {"b": 2.0, "a": 1.0} for i in range(5)}, "r")
    from assay.analysis.protocols import read_protocol

    own = read_protocol('name = "own"\n[measures]\n"ndcg@10" = "ndcg(gain=\'exp\')@10"\n', "own.toml")
    point = sweep(judged, [run], [3], protocol=own).curve("r", "ndcg").points[0]
    assert point.estimate == pytest.approx(
        assay.evaluate(judged, run, ["ndcg(gain='exp')@3"]).mean()["ndcg(gain='exp')@3"]
    )


def test_protocols_with_required_settings_can_be_swept(files):
    done = run_assay(
        "sweep", "qrels.txt", "one.run", "--protocol", "llm-graded", "--min-relevance", "2", "--k", "1,3", cwd=files
    )
    assert done.returncode == 0, done.stderr
    backwards = run_assay("sweep", "qrels.txt", "one.run", "--k", "5-3", cwd=files)
    assert (backwards.returncode, "ends before it begins" in backwards.stderr) == (2, True)


def test_recall_that_cannot_be_reached_is_explained(tmp_path):
    judged = {"q": {f"d{i}": 1 for i in range(50)}, "r": {f"d{i}": 1 for i in range(50)}}
    assay.write_judgments(Judgments.from_dict(judged), tmp_path / "qrels.txt")
    assay.write_run(
        Run.from_dict({q: {f"d{i}": float(-i) for i in range(10)} for q in judged}, "r"), tmp_path / "r.run"
    )
    text = run_assay("diagnose", "qrels.txt", "r.run", cwd=tmp_path).stdout
    assert "No system can have more than 0.1000 in recall@5 here" in text


def test_queries_of_other_ids_are_a_mistake(files):
    (files / "queries.csv").write_text("query_id,type\nz1,a\nz2,b\n")
    done = run_assay("diagnose", "qrels.txt", "one.run", "--queries", "queries.csv", cwd=files)
    assert (done.returncode, "no query id of this file is judged" in done.stderr) == (2, True)
    (files / "queries.csv").write_text("query_id,type\nq00,a\nq01,b\n")
    done = run_assay("diagnose", "qrels.txt", "one.run", "--queries", "queries.csv", cwd=files)
    assert "10 of 12 judged queries have no attributes" in done.stdout
    wrong = run_assay("diagnose", "qrels.txt", "one.run", "--measured", "latency=3", cwd=files)
    assert wrong.returncode == 2


def test_tables_without_a_header_are_id_and_text(tmp_path):
    from assay.formats.documents import read_documents
    from assay.formats.queries import read_queries

    (tmp_path / "q.tsv").write_text("0\tHow many?\n1\tWhat is it?\n")
    assert read_queries(tmp_path / "q.tsv").texts() == {"0": "How many?", "1": "What is it?"}
    assert read_documents(tmp_path / "q.tsv") == {"0": "How many?", "1": "What is it?"}


def test_coverage_of_runs_with_other_queries_does_not_stop_a_comparison(tmp_path):
    judged = {f"q{i}": {"a": 5} for i in range(6)}
    one = assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, protocol="llm-graded", min_relevance=1, name="one")
    two = assay.evaluate(
        judged, {q: {"a": 1.0} for q in list(judged)[1:]}, protocol="llm-graded", min_relevance=1, name="two"
    )
    assert not any("coverage" in label for label in compare([one, two]).measures)


def test_weights_of_queries_that_only_one_run_has_are_kept(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(3)}
    weights = {"q0": 1.0, "q1": 2.0, "q2": 3.0, "extra": 4.0}
    pair = [
        assay.evaluate(judged, {q: {"a": 1.0} for q in queries}, ["coverage@5"], weights=weights, name=name)
        for name, queries in (("few", ["q0", "q1", "q2"]), ("more", ["q0", "q1", "q2", "extra"]))
    ]
    assay.write_result(pair, tmp_path / "both.json")
    assert [s["coverage@5"] for s in assay.read_result(tmp_path / "both.json")] == [s["coverage@5"] for s in pair]


def test_a_judge_and_people_are_compared_on_the_same_queries():
    from dataclasses import replace

    from assay.analysis.calibrate import calibrate

    queries = [f"q{i:02}" for i in range(40)]
    everything = {q: {"a": 1, "b": 0, "c": 0} for q in queries}
    flipped = {q: {"a": 0, "b": 1, "c": 2} if i >= 20 else docs for i, (q, docs) in enumerate(everything.items())}
    judge = replace(Judgments.from_dict(flipped), judge="m")
    human = Judgments.from_dict({q: everything[q] for q in queries[:20]})
    runs = [
        Run.from_dict({q: {d: -float(i) for i, d in enumerate(order)} for q in queries}, order)
        for order in ("abc", "bac", "bca")
    ]
    found = calibrate(judge, human, runs=runs, measures=["recip_rank", "num_rel_ret"])
    assert found.ranking.value == pytest.approx(1.0)
    assert {row.measure for row in found.systems} == {"reciprocal_rank"}
    with pytest.raises(assay.InputError, match="no people's grades"):
        calibrate(human, judge)


def test_what_cannot_be_written_is_refused_before_anything_is_paid(tmp_path):
    from assay.testing import FakeLLM

    (tmp_path / "pairs.jsonl").write_text(
        json.dumps({"query_id": "q 1", "doc_id": "d", "query": "x", "document": "y"}) + "\n"
    )
    with FakeLLM("{}") as server:
        for place in ("j.json", "j.foo", "nowhere/j.qrels", "j.qrels"):
            done = run_assay(
                "judge",
                "--pairs",
                "pairs.jsonl",
                "--url",
                server.url,
                "--model",
                "m",
                "--no-cache",
                "-o",
                place,
                cwd=tmp_path,
            )
            assert done.returncode == 2, done.stderr
        assert not server.requests


def test_one_model_on_two_servers_is_two_judges(tmp_path):
    from assay.testing import FakeLLM

    (tmp_path / "pairs.jsonl").write_text(
        json.dumps({"query_id": "q", "doc_id": "d", "query": "x", "document": "y"}) + "\n"
    )
    answer = json.dumps({"reason": "", "grade": 1})
    with FakeLLM(answer) as one, FakeLLM(answer) as two:
        words = ["--model", f"m@{one.url}", "--model", f"m@{two.url}", "--no-cache", "-o", "j.qrels"]
        assert run_assay("judge", "--pairs", "pairs.jsonl", *words, cwd=tmp_path).returncode == 0
        assert (len(one.requests), len(two.requests)) == (1, 1)


def test_strange_names_in_a_prompt_are_refused(tmp_path):
    from assay.judge.prompting import load_prompt, read_prompt

    with pytest.raises(assay.InputError, match=r"\$price means nothing here"):
        read_prompt("version: x\n# system\n$rubric $mark\n# user\n$query $document $price\n", "p.md")
    with pytest.raises(assay.UsageError, match="unknown prompt 'relevanze'; did you mean relevance"):
        load_prompt("relevanze")


def test_comments_in_the_middle_name_the_judge_too(tmp_path):
    (tmp_path / "both.qrels").write_text("q 0 a 1\n# judge: model (p-1)\nq 0 b 2\n")
    assert assay.read_judgments(tmp_path / "both.qrels").judge == "model (p-1)"


def test_settings_of_a_comparison_may_be_given_one_by_one():
    judged = {f"q{i}": {"a": 1} for i in range(4)}
    pair = [assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, ["map"], name=name) for name in "ab"]
    assert compare(pair, alpha=0.01).rules.alpha == 0.01
    assert compare(pair).contrast("b", "map").measure == "average_precision"
    for wrong in (
        lambda: compare(pair, alfa=0.1),
        lambda: compare(pair[0]),
        lambda: compare(["a.json"]),
        lambda: compare(pair, "map"),
    ):
        with pytest.raises(assay.UsageError):
            wrong()


def test_a_cutoff_beyond_any_list_is_refused():
    with pytest.raises(assay.UsageError, match="beyond any list"):
        Settings.of(Judgments.from_dict({"q": {"a": 1}}), ["ndcg@1000000000000000000000"], "trec")
