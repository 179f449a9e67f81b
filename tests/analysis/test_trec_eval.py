"""`assay trec_eval` prints what trec_eval prints: NIST's own expected outputs, and smaller golden files of our own."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from click.testing import CliRunner

import assay
from assay.cli import app
from strategies import random_pair

GOLDEN = Path(__file__).parents[1] / "golden" / "trec_eval"
PARAMS = (
    "-m iprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-m utility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -m ndcg.1=3,2=9,4=4.5 -m ndcg_cut.10,20,23.4 -m success.2,5,20"
)
NIST = [
    ("out.test", "", "qrels.test", "results.test"),
    ("out.test.a", "-m all_trec", "qrels.test", "results.test"),
    ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test"),
    ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc"),
    ("out.test.aqcM", "-m all_trec -q -c -M100", "qrels.test", "results.trunc"),
    ("out.test.aql", "-m all_trec -m relstring.20 -q -l2", "qrels.rel_level", "results.test"),
    ("out.test.aqZ", "-q -m all_trec -Z {folder}/zscores_file", "qrels.test", "results.test"),
    ("out.test.meas_params", f"-q {PARAMS}", "qrels.test", "results.test"),
]


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, ["trec_eval", *words], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.output


@pytest.mark.parametrize("version", ["9", "10"])
@pytest.mark.parametrize(("name", "options", "qrels", "run"), NIST)
def test_prints_nists_expected_output_byte_for_byte(shared, version, name, options, qrels, run):
    data = shared / "trec_eval"
    folder = data / f"v{version}"
    words = options.format(folder=folder).split()
    got = printed("--compat", version, *words, str(data / qrels), str(data / run))
    assert got == (folder / name).read_text()


def test_reads_comments_and_gzip_as_version_10_does(shared):
    data = shared / "trec_eval"
    got = printed(str(data / "qrels.comment.test.gz"), str(data / "results.comment.test.gz"))
    assert got == (data / "v10" / "out.comment.test").read_text()


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.expected")))
def test_prints_our_own_golden_files(name):
    options = (GOLDEN / f"{name}.options").read_text().split()
    got = printed(*options, str(GOLDEN / "judgments.qrels"), str(GOLDEN / "system.run"))
    assert got == (GOLDEN / f"{name}.expected").read_text()


def fails(*words: str) -> str:
    result = CliRunner().invoke(app, ["trec_eval", *words], standalone_mode=False)
    assert result.exception is not None
    return str(result.exception)


def golden(*words: str) -> list[str]:
    return [*words, str(GOLDEN / "judgments.qrels"), str(GOLDEN / "system.run")]


def test_refuses_preference_judgments_in_one_line():
    assert "only -R qrels" in fails(*golden("-R", "prefs"))
    assert "preference" in fails(*golden("-m", "all_prefs"))


def test_offers_the_nearest_measure():
    assert "did you mean map" in fails(*golden("-m", "mapp"))


def test_stops_at_a_missing_topic_as_version_10_does():
    message = fails(*golden())
    assert "is judged but not in the run" in message
    assert "-c" in message


@pytest.mark.parametrize("wrong", ["P.", "P.x", "P.5,5", "utility.1,2", "ndcg.a=b", "map.5"])
def test_refuses_parameters_it_cannot_read(wrong):
    assert "trec_eval measure" in fails(*golden("-c", "-m", wrong))


def test_fractional_gains_of_a_perfect_ranking_give_1(tmp_path):
    """trec_eval itself prints 0.0000 here: it compares gains after cutting off their fractions."""
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 2\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    assert printed("-m", "ndcg.1=0.25,2=0.5", str(tmp_path / "q"), str(tmp_path / "r")).endswith("\t1.0000\n")


def test_judged_only_drops_unjudged_documents(tmp_path):
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "r").write_text("1 Q0 x 1 3 t\n1 Q0 a 2 2 t\n1 Q0 b 3 1 t\n")
    words = ["-m", "map", "-m", "num_ret", str(tmp_path / "q"), str(tmp_path / "r")]
    assert printed(*words) == "num_ret               \tall\t3\nmap                   \tall\t0.5000\n"
    assert printed("-J", *words) == "num_ret               \tall\t2\nmap                   \tall\t1.0000\n"


def files(folder: Path, qrels: str, run: str) -> list[str]:
    (folder / "q").write_text(qrels)
    (folder / "r").write_text(run)
    return [str(folder / "q"), str(folder / "r")]


def lines_of(text: str) -> dict[tuple[str, str], str]:
    """Values by measure and query."""
    rows = [line.split("\t") for line in text.splitlines()]
    return {(name.strip(), query): value for name, query, value in rows}


ONE = "q1 0 a 1\n", "q1 Q0 a 1 1 t\n"
MISSED = "q1 0 a 1\nq2 0 a 1\n", "q1 Q0 a 1 1 t\n"


@pytest.mark.parametrize("gain", ["topic", "raw"])
def test_rbp_by_grades_knows_no_threshold(gain):
    """The level of relevance is for binary gains alone; trec_eval 10 prints 0.1000 under -l2, too."""
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [f"rbp(p=0.9, gain='{gain}')"], min_relevance=2)
    assert next(iter(scores.mean().values())) == pytest.approx(0.1)
    low = assay.evaluate({"q": {"a": 0.5}}, {"q": {"a": 1.0}}, [f"rbp(p=0.9, gain='{gain}')"])
    assert next(iter(low.mean().values())) == pytest.approx(0.05)


@pytest.mark.parametrize("gain", ["topic", "raw", "graded"])
def test_rbp_of_a_query_without_positive_grades_is_undefined(gain):
    text = f"rbp(gain='{gain}', max_grade=2)" if gain == "graded" else f"rbp(gain='{gain}')"
    scores = assay.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, [text])
    assert scores.counts[scores.labels[0]].undefined == 1


def test_rbp_ignores_the_level_as_in_version_10(tmp_path):
    found = lines_of(printed("-q", "-l2", "-m", "rbp", *files(tmp_path, *ONE)))
    assert found == {("rbp", "q1"): "0.1000", ("rbp", "all"): "0.1000"}


@pytest.mark.parametrize("version", ["9", "10"])
def test_the_number_of_relevant_documents_of_all_queries_ignores_the_level_under_c(tmp_path, version):
    """trec_eval goes back to the judgments there and counts grades above 0."""
    pair = files(tmp_path, "q1 0 a 1\nq1 0 b 0\nq1 0 c 3\nq2 0 a -1\nq2 0 b 2\n", "q1 Q0 a 1 1 t\n")
    words = ["--compat", version, "-q", "-l2", "-m", "num_rel"]
    assert lines_of(printed("-c", *words, *pair))["num_rel", "all"] == "3"
    assert lines_of(printed("-c", *words, *pair))["num_rel", "q1"] == "1"
    nine = lines_of(printed("--compat", "9", "-q", "-l2", "-m", "num_rel", *pair))
    assert nine == {("num_rel", "q1"): "1", ("num_rel", "all"): "1"}


def test_means_are_running_sums_as_in_trec_eval(tmp_path):
    """Eight values whose exact mean is .18125: 29 of 160 rounds down, a running sum of twentieths does not."""
    numbers = [0, 7, 4, 3, 9, 1, 5, 0]
    qrels = [f"{i} 0 d{k} {int(k < n)}\n" for i, n in enumerate(numbers) for k in range(20)]
    qrels += [f"{i} 0 z 1\n" for i in range(8)]
    run = [f"{i} Q0 d{k} {k} {100 - k} t\n" for i in range(8) for k in range(20)]
    total = 0.0
    for number in numbers:
        total += number / 20
    pair = files(tmp_path, "".join(qrels), "".join(run))
    assert f"{total / 8:.4f}" == "0.1813"
    assert lines_of(printed("-m", "P.20", *pair))["P_20", "all"] == "0.1813"
    assert assay.evaluate(pair[0], pair[1], ["P@20"])["P@20"] == 0.18125


def test_no_query_in_common_counts_as_0_under_c_in_version_10(tmp_path):
    pair = files(tmp_path, "q1 0 a 1\n", "z Q0 a 1 1 t\n")
    found = lines_of(printed("-c", "-m", "map", "-m", "num_q", "-m", "num_ret", *pair))
    assert found == {("map", "all"): "0.0000", ("num_q", "all"): "1", ("num_ret", "all"): "0"}
    assert "no query in common" in fails("-c", "--compat", "9", "-m", "map", *pair)


@pytest.mark.parametrize(("depth", "version"), [(1, "9"), (1, "10"), (2, "10")])
def test_a_repeated_document_below_the_depth_is_not_looked_at(tmp_path, depth, version):
    pair = files(tmp_path, "q1 0 a 1\n", "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 a 3 1 t\n")
    words = ["--compat", version, f"-M{depth}", "-m", "map", "-m", "num_ret"]
    assert lines_of(printed(*words, *pair)) == {("num_ret", "all"): str(depth), ("map", "all"): "1.0000"}
    assert "twice" in fails("-M3", "-m", "map", *pair)


def test_scores_that_are_equal_in_float32_are_cut_by_document_id_in_version_9(tmp_path):
    pair = files(tmp_path, "q1 0 a 1\n", f"q1 Q0 a 1 {1 + 1e-9} t\nq1 Q0 b 2 1 t\n")
    assert lines_of(printed("--compat", "9", "-M1", "-m", "map", *pair))["map", "all"] == "0.0000"
    assert lines_of(printed("-M1", "-m", "map", *pair))["map", "all"] == "1.0000"


@pytest.mark.parametrize("kind", ["run", "judgments"])
def test_the_cure_for_a_repeated_document_is_one_that_this_command_has(call, kind):
    twice = {"run": ("q1 0 a 1\n", "q1 Q0 a 1 3 t\nq1 Q0 a 3 1 t\n"), "judgments": ("q1 0 a 1\nq1 0 a 0\n", ONE[1])}[
        kind
    ]
    Path("q").write_text(twice[0])
    Path("r").write_text(twice[1])
    code, _, error = call("trec_eval", "-m", "map", "q", "r")
    assert code == 2
    assert "'a' is" in error and "twice for query 'q1' (lines 1 and 2)" in error
    assert "--dedupe" not in error and "dedupe=True" not in error
    assert "remove one of them" in error


def test_commands_that_can_drop_repeats_say_how(call):
    Path("q").write_text("q1 0 a 1\n")
    Path("r").write_text("q1 Q0 a 1 3 t\nq1 Q0 a 3 1 t\n")
    assert "use --dedupe" in call("evaluate", "q", "r", "-m", "map")[2]
    assert "--dedupe" not in call("convert", "judgments", "r", "x.jsonl")[2]
    Path("q").write_text("q1 0 a 1\nq1 0 a 2\n")
    assert "--dedupe" not in call("convert", "judgments", "q", "x.jsonl")[2]


MEANS = ["map", "Rprec", "bpref", "recip_rank", "infAP", "binG", "ndcg", "set_P", "set_recall", "set_map", "11pt_avg"]
DEEP = ["P_5", "P_10", "recall_5", "recall_10", "ndcg_cut_5", "ndcg_cut_10", "map_cut_5", "success_5", "success_10"]
TOTALS = ["num_ret", "num_rel", "num_rel_ret"]


def as_pytrec_eval_has_it(qrels: dict, run: dict, *, level: int, judged_only: bool, complete: bool) -> str:
    """Lines of trec_eval 9 from the values of pytrec_eval, which is its code; means are running sums."""
    asked = {*MEANS, *TOTALS, "P.5,10", "recall.5,10", "ndcg_cut.5,10", "map_cut.5", "success.5,10"}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, asked, relevance_level=level, judged_docs_only_flag=int(judged_only)
    )
    values = evaluator.evaluate(run)
    lines = []
    for query in sorted(values):
        lines += [f"{name:<22}\t{query}\t{int(values[query][name])}" for name in TOTALS]
        lines += [f"{name:<22}\t{query}\t{values[query][name]:6.4f}" for name in (*MEANS, *DEEP)]
    relevant = sum(grade > 0 for docs in qrels.values() for grade in docs.values())
    for name in (*TOTALS, *MEANS, *DEEP):
        total = 0.0
        for query in sorted(values):
            total += values[query][name]
        if name in TOTALS:
            lines.append(f"{name:<22}\tall\t{relevant if name == 'num_rel' and complete else int(total)}")
        else:
            lines.append(f"{name:<22}\tall\t{total / (len(qrels) if complete else len(values)):6.4f}")
    return "\n".join(sorted(lines))


def test_prints_the_bytes_of_pytrec_eval_under_every_option(tmp_path, stress):
    rng = random.Random(13)
    compared = 0
    for _ in range(1000 if stress else 60):
        qrels, run = random_pair(rng)
        if not set(qrels) & set(run):
            continue
        judged = "".join(f"{q} 0 {doc} {grade}\n" for q, docs in qrels.items() for doc, grade in docs.items())
        listed = "".join(f"{q} Q0 {doc} 1 {score!r} t\n" for q, docs in run.items() for doc, score in docs.items())
        level, judged_only, complete = rng.choice([1, 2]), rng.random() < 0.3, rng.random() < 0.5
        words = ["--compat", "9", "-q", f"-l{level}", *["-J"] * judged_only, *["-c"] * complete]
        if rng.random() < 0.4:
            depth = rng.choice([1, 3, 10])
            words.append(f"-M{depth}")
            # Version 9 has 32-bit scores; among equal ones the last id comes first.
            order = {q: sorted(docs, key=lambda d: (np.float32(docs[d]), d), reverse=True) for q, docs in run.items()}
            run = {q: {doc: run[q][doc] for doc in docs[:depth]} for q, docs in order.items()}
        asked = [*MEANS, *TOTALS, "P.5,10", "recall.5,10", "ndcg_cut.5,10", "map_cut.5", "success.5,10"]
        got = printed(*words, *(word for name in asked for word in ("-m", name)), *files(tmp_path, judged, listed))
        want = as_pytrec_eval_has_it(qrels, run, level=level, judged_only=judged_only, complete=complete)
        if "nan" in want:
            continue
        assert "\n".join(sorted(got.splitlines())) == want, (words, qrels, run)
        compared += 1
    assert compared > 30


# What follows is listed in docs/differences.md; trec_eval 10 prints what stands in the comments.
@pytest.mark.parametrize(
    ("options", "pair", "value"),
    [
        (
            "-J -q -m 11pt_avg",
            ("q1 0 a 1\nq2 0 a 1\n", "q1 Q0 a 1 1 t\nq2 Q0 x 1 1 t\n"),
            {"q2": "0.0000", "all": "0.5000"},
        ),  # -nan
        ("-l0 -m Rndcg", ("q1 0 a 0\n", ONE[1]), {"all": "0.0000"}),  # -nan
        ("-c -q -m relstring.20", MISSED, {"q2": "''"}),  # '-'
        ("-c -q -m utility.2,-1,0,0", MISSED, {"q2": "0.0000"}),  # -1.0000
        ("-c -q -m rbp_resid.p=.5", MISSED, {"q2": "0.0000"}),  # 1.0000
        ("-m map", ("q1 0 a 1\n\n", ONE[1]), {"all": "1.0000"}),  # stops
        ("-c -q -m map", ("q1 0 a 1\nq2 0 a -1\n", ONE[1] + "q2 Q0 a 1 1 t\n"), {"q2": "0.0000"}),  # stops
    ],
)
def test_keeps_what_is_listed_as_a_difference(tmp_path, options, pair, value):
    found = lines_of(printed(*options.split(), *files(tmp_path, *pair)))
    assert {query: shown for (_, query), shown in found.items() if query in value} == value


def test_a_tag_cannot_change_what_a_terminal_shows_and_is_printed_as_it_is_elsewhere(tmp_path, monkeypatch):
    tag = "\x1b[2J\u061ctag"
    (tmp_path / "q").write_text("1 0 d 1\n", encoding="utf-8")
    (tmp_path / "r").write_text(f"1 Q0 d 1 1.0 {tag}\n", encoding="utf-8")
    line = ["trec_eval", "-m", "runid", str(tmp_path / "q"), str(tmp_path / "r")]
    assert CliRunner().invoke(app, line).output == f"{'runid':<22}\tall\t{tag}\n"
    monkeypatch.setattr("assay.cli.trec_eval._on_terminal", lambda: True)
    assert CliRunner().invoke(app, line).output == f"{'runid':<22}\tall\t\ufffd[2J\ufffdtag\n"
