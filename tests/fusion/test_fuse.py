"""Fusing runs: ties, depth, missing queries, odd scores, bad usage, and the command."""

from __future__ import annotations

import math

import polars as pl
import pytest
from click.testing import CliRunner

import assay
from assay.cli import app, main
from assay.errors import InputError, UnknownName, UsageError
from assay.fusion.methods import METHODS
from assay.fusion.normalisation import NORMS

# Ties, depth, gaps ---------------------------------------------------------------------------------------------


def test_input_ties_are_broken_as_evaluation_breaks_them():
    tied = {"q": {"a": 1.0, "b": 1.0, "中": 1.0, "Z": 1.0}}
    assert list(assay.fuse([tied]).to_dict()["q"]) == ["中", "b", "a", "Z"]
    assert list(assay.fuse([tied], ties="given").to_dict()["q"]) == ["a", "b", "中", "Z"]


def test_negative_zero_ties_with_zero():
    assert list(assay.fuse([{"q": {"a": 0.0, "b": -0.0}}]).to_dict()["q"]) == ["b", "a"]


@pytest.mark.parametrize("suffix", [".run", ".jsonl", ".parquet", ".csv"])
def test_a_written_run_evaluates_in_the_order_of_its_rows(tmp_path, suffix):
    fused = assay.fuse([{"q": ["a", "b", "c"]}, {"q": ["d", "e", "f"]}])
    order = fused.frame["doc_id"].to_list()
    assert order == ["d", "a", "e", "b", "f", "c"]  # pairs of equal scores, by falling id
    assay.write_run(fused, tmp_path / f"f{suffix}")
    grades = {"q": {doc: i for i, doc in enumerate(order)}}
    for ties in ("docid", "given"):
        value = assay.evaluate(grades, tmp_path / f"f{suffix}", ["dcg"], ties=ties)["dcg"]
        assert value == pytest.approx(sum(i / math.log2(i + 2) for i in range(6)))


def test_depth_cuts_the_input_and_top_the_output():
    runs = [{"q": ["a", "b", "c", "d"]}, {"q": ["c", "b", "a", "e"]}]
    assert set(assay.fuse(runs, depth=2).to_dict()["q"]) == {"a", "b", "c"}
    assert list(assay.fuse(runs, top=2).to_dict()["q"]) == list(assay.fuse(runs).to_dict()["q"])[:2]
    many = [{"q": [f"d{i}" for i in range(1500)]}]
    assert len(assay.fuse(many)) == 1000
    assert len(assay.fuse(many, top=None)) == 1500


def test_depth_is_applied_before_normalisation():
    got = assay.fuse([{"q": {"a": 3.0, "b": 2.0, "c": -9.0}}], "combsum", depth=2).to_dict()
    assert got == {"q": {"a": 1.0, "b": 0.0}}


def test_missing_queries_are_fused_from_the_other_runs_and_said():
    fused = assay.fuse({"one": {"q1": ["a"], "q2": ["b"], "q3": ["c"]}, "two": {"q1": ["x"]}})
    assert set(fused.to_dict()) == {"q1", "q2", "q3"}
    assert fused.notes[0] == "2 queries are missing from two and fused from the other runs: q2, q3"
    assert fused.to_dict()["q2"] == {"b": 1 / 61}


def test_a_query_that_returned_nothing_is_not_missing():
    fused = assay.fuse([{"q1": {"a": 1.0}, "q2": {}, "q3": {}}, {"q1": {"b": 1.0}, "q2": {"x": 1.0}, "q3": {}}])
    assert "missing" not in " ".join(fused.notes)
    assert fused.empty == ("q3",)


def test_repeated_documents_are_refused_or_the_higher_one_kept():
    rows = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    with pytest.raises(InputError, match=r"run1: document 'a' is listed twice for query 'q'.*--dedupe"):
        assay.fuse([pl.DataFrame(rows)])
    got = assay.fuse([pl.DataFrame(rows)], "combsum", norm="none", dedupe=True).to_dict()
    assert got == {"q": {"a": 3.0, "b": 2.0}}


def test_a_repeated_document_in_a_file_is_named_with_its_lines(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 3 r\nq Q0 e 2 2 r\nq Q0 d 3 1 r\n")
    with pytest.raises(InputError, match=r"a\.run: document 'd' is listed twice for query 'q' \(lines 1 and 3\)"):
        assay.fuse([tmp_path / "a.run"])


# Odd scores ----------------------------------------------------------------------------------------------------


def test_equal_scores_have_a_documented_value_in_every_normalisation():
    runs = [{"q": {"a": 5.0, "b": 5.0}}, {"q": {"a": 1.0}}]
    want = {"min-max": 1.0, "max": 1.0, "sum": 0.5, "z": 0.0, "none": 5.0}
    for norm, value in want.items():
        assert assay.fuse(runs[:1], "combmax", norm=norm).to_dict()["q"] == {"b": value, "a": value}
    assert assay.fuse(runs, "combsum").to_dict()["q"] == {"a": 2.0, "b": 1.0}
    assert assay.fuse([{"q": {"a": 0.0, "b": 0.0}}], "combsum", norm="max").to_dict()["q"] == {"b": 0.0, "a": 0.0}


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-320, 1e308, -7.7])
def test_equal_scores_stay_equal_whatever_their_rounding(value):
    docs = {f"d{i}": value for i in range(11)}
    assert set(assay.fuse([{"q": docs}], "combmax", norm="z").to_dict()["q"].values()) == {0.0}


@pytest.mark.parametrize("method", ["combsum", "combmnz", "weighted"])
@pytest.mark.parametrize("norm", ["none", "max", "z"])
def test_logits_do_not_let_an_unlisted_document_win(method, norm):
    runs = [{"q": {"both": -1.0, "last": -5.0}}, {"q": {"both": -2.0, "other": -3.0}}]
    weights = [0.5, 0.5] if method == "weighted" else None
    fused = assay.fuse(runs, method, norm=norm, weights=weights).to_dict()["q"]
    assert next(iter(fused)) == "both"
    assert min(fused.values()) == 0.0


def test_unlisted_documents_may_count_as_zero_as_in_the_formula():
    runs = [{"q": {"both": -1.0, "last": -5.0}}, {"q": {"both": -2.0, "other": -3.0}}]
    got = assay.fuse(runs, "combsum", norm="none", unlisted="zero").to_dict()["q"]
    assert got == {"both": -3.0, "last": -5.0, "other": -3.0}


@pytest.mark.parametrize("low", [1.5e308, -1.5e308])
def test_scores_too_large_to_add_are_refused(low):
    with pytest.raises(UsageError, match="too large for combsum"):
        assay.fuse([{"q": {"a": 1.5e308}}, {"q": {"a": 1.5e308, "b": low}}], "combsum", norm="none")


def test_a_weight_that_leaves_no_document_leaves_an_empty_run():
    runs = {"a": {"q": {}}, "b": {"q": {"x": 1.0}}}
    fused = assay.fuse(runs, "weighted", weights={"a": 1, "b": 0})
    assert len(fused) == 0
    assert fused.empty == ("q",)


# Usage ---------------------------------------------------------------------------------------------------------

A, B = {"q": {"a": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}
BAD = {
    "unknown method": ({"method": "rff"}, UnknownName, "did you mean rrf"),
    "unknown norm": ({"method": "combsum", "norm": "minmax"}, UnknownName, "did you mean min-max"),
    "norm on ranks": ({"norm": "z"}, UsageError, "rrf uses only ranks"),
    "parameter of another method": ({"method": "combsum", "k": 3}, UsageError, "combsum takes no k: it is a parameter of rrf"),
    "unknown parameter": ({"method": "rbc", "phy": 0.5}, UnknownName, "did you mean phi"),
    "k below 0": ({"k": -1}, UsageError, "k = -1: expected a finite number of 0 or more"),
    "k infinite": ({"k": math.inf}, UsageError, "k = inf"),
    "k in words": ({"k": "sixty"}, UsageError, "k = 'sixty': expected a number"),
    "weight in words": ({"method": "weighted", "weights": ["a", 1]}, UsageError, "weights must be numbers"),
    "k not a number": ({"k": math.nan}, UsageError, "k = nan"),
    "phi of 1": ({"method": "rbc", "phi": 1}, UsageError, "phi = 1: expected a number between 0 and 1"),
    "no weights": ({"method": "weighted"}, UsageError, "weighted needs weights"),
    "needless weights": ({"method": "combsum", "weights": [1, 1]}, UsageError, "combsum takes no weights"),
    "too few weights": ({"method": "weighted", "weights": [1]}, UsageError, "1 weight for 2 runs"),
    "negative weight": ({"method": "weighted", "weights": [1, -1]}, UsageError, "not negative"),
    "no weight above 0": ({"method": "weighted", "weights": [0, 0]}, UsageError, "at least one"),
    "weight not a number": ({"method": "weighted", "weights": [1, math.nan]}, UsageError, "finite"),
    "weight of a stranger": ({"method": "weighted", "weights": {"rum1": 1, "run2": 1}}, UnknownName, "did you mean run1"),
    "weight missing": ({"method": "weighted", "weights": {"run1": 1}}, UsageError, "run run2 has no weight"),
    "depth 0": ({"depth": 0}, UsageError, "depth = 0"),
    "top of a half": ({"top": 1.5}, UsageError, "top = 1.5"),
    "unknown ties": ({"ties": "expected"}, UsageError, "ties = 'expected'"),
    "unknown rule": ({"unlisted": "mean"}, UsageError, "unlisted = 'mean'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_usage_is_refused_in_one_line(kind):
    options, error, text = BAD[kind]
    with pytest.raises(error) as caught:
        assay.fuse([A, B], **options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([], "no runs to fuse"),
        ("a.run", "must be a list"),
        (assay.Run.from_dict(A), "must be a list"),
        ([assay.Run.from_dict(A, "x"), assay.Run.from_dict(B, "x")], "two runs are called 'x'"),
        ([A, {"r": {"a": 1.0}}], "no two runs have a query in common"),
        ([{"q": {}}], "list no documents"),
        ([{"q": {"a": math.nan}}], "score nan of query 'q', document 'a' is not finite"),
        ([{"q": {"a": 1.0, "b": "high"}}], "score 'high' of query 'q', document 'b' is not a number"),
        ([{"q": {"a": None}}], "is not a number"),
        ([3], "a run must be a path"),
    ],
)
def test_bad_runs_are_refused_in_one_line(runs, text):
    with pytest.raises(assay.AssayError) as caught:
        assay.fuse(runs)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


# The command ---------------------------------------------------------------------------------------------------

ONE = "q1 Q0 a 1 3.0 r\nq1 Q0 b 2 2.0 r\nq2 Q0 a 1 1.0 r\n"
TWO = "q1 Q0 b 1 0.9 r\nq1 Q0 c 2 0.8 r\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.run").write_text(ONE)
    (tmp_path / "two.run").write_text(TWO)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    return tmp_path


def run(*words: str):
    result = CliRunner().invoke(app, ["fuse", *words], standalone_mode=False)
    assert result.exception is None, result.exception
    return result


def test_the_command_writes_the_fused_run_and_says_what_is_missing(folder):
    got = run("one.run", "two.run", "-o", "fused.run")
    assert got.stdout == ""
    assert got.stderr == (
        "1 query is missing from two and fused from the other runs: q2\nwrote fused.run: 4 documents for 2 queries\n"
    )
    assert [line.split()[:4] for line in (folder / "fused.run").read_text().splitlines()] == [
        ["q1", "Q0", "b", "1"],
        ["q1", "Q0", "a", "2"],
        ["q1", "Q0", "c", "3"],
        ["q2", "Q0", "a", "1"],
    ]
    scores = assay.read_run("fused.run").to_dict()
    assert scores == {"q1": {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62}, "q2": {"a": 1 / 61}}


@pytest.mark.parametrize(
    "weights", [["--weights", "0.25,0.75"], ["--weight", "0.25,0.75"], ["--weight", "x=0.75", "--weight", "one=0.25"]]
)
def test_weights_go_by_place_or_by_name(folder, weights):
    run("one.run", "x=two.run", "--by", "weighted", "--norm", "max", *weights, "--name", "my tag", "-o", "f.run")
    fused = assay.read_run("f.run").to_dict()["q1"]
    assert fused == pytest.approx({"b": 0.25 * 2 / 3 + 0.75, "a": 0.25, "c": 0.75 * 8 / 9})
    assert (folder / "f.run").read_text().split()[5] == "my_tag"


def test_parameters_depth_and_top_reach_the_method(folder):
    run("one.run", "two.run", "--k", "1", "--depth", "1", "--top", "1", "-o", "f.run")
    assert assay.read_run("f.run").to_dict() == {"q1": {"b": 0.5}, "q2": {"a": 0.5}}
    run("one.run", "--by", "rbc", "--phi", "0.5", "-o", "f.run")
    assert assay.read_run("f.run").to_dict()["q1"] == {"a": 0.5, "b": 0.25}


def test_the_list_and_the_help_name_every_method(folder):
    listing, page = run("--list").stdout, run("--help").stdout
    for name in [*METHODS, *NORMS]:
        assert f"\n  {name}" in listing
        assert name in page
    assert "assay fuse bm25.run dense.run -o hybrid.run" in page
    assert "Cormack" in listing


@pytest.fixture
def call(folder, monkeypatch, capsys):
    def go(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["assay", "fuse", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return go


WRONG = {
    "no run": (["-o", "f.run"], "[NAME=]RUN... is missing"),
    "no output": (["one.run"], "-o fused.run"),
    "output of unknown kind": (["one.run", "-o", "f.xyz"], "cannot tell the format"),
    "output is an input": (["one.run", "two.run", "-o", "two.run"], "two.run is also an input"),
    "output nowhere": (["one.run", "-o", "no/such/f.run"], "cannot be written"),
    "missing file": (["one.run", "three.run", "-o", "f.run"], "three.run: no such file"),
    "judgments among the runs": (["qrels.txt", "one.run", "-o", "f.run"], "looks like judgments"),
    "the same run twice": (["one.run", "one.run", "-o", "f.run"], "two runs are called 'one'"),
    "standard input twice": (["-", "x=-", "-o", "f.run"], "only one file"),
    "unknown method": (["one.run", "--by", "comb_sum", "-o", "f.run"], "did you mean combsum"),
    "unknown norm": (["one.run", "--by", "combsum", "--norm", "zz", "-o", "f.run"], "unknown normalisation 'zz'"),
    "phi for rrf": (["one.run", "--phi", "0.5", "-o", "f.run"], "rrf takes no phi"),
    "weight without a name": (["one.run", "--weight", "0.5", "--weight", "one=1", "-o", "f.run"], "expected NAME=W"),
    "weight twice": (["one.run", "--weight", "one=1", "--weight", "one=2", "-o", "f.run"], "once for each run"),
    "weight in words": (["one.run", "--weights", "half", "-o", "f.run"], "weight 'half' is not a number"),
    "weights both ways": (["one.run", "--weight", "one=1", "--weights", "1", "-o", "f.run"], "not both"),
    "top 0": (["one.run", "--top", "0", "-o", "f.run"], "top = 0"),
    "training without tuning": (["one.run", "--train", "0.5", "-o", "f.run"], "--train only works with --tune"),
    "duplicate": (["twice.run", "-o", "f.run"], "twice.run: document 'a' is listed twice for query 'q1' (lines 1 and 2)"),
    "nothing to tune": (["one.run", "two.run", "--by", "combsum", "--tune", "qrels.txt"], "has nothing left to tune"),
    "one run to tune": (["one.run", "--by", "weighted", "--tune", "qrels.txt"], "has nothing left to tune"),
    "no held-out query": (["one.run", "two.run", "--tune", "qrels.txt", "--train", "0.9"], "none of 2 judged queries to report on"),
    "share of training": (["one.run", "two.run", "--tune", "qrels.txt", "--train", "50"], "between 0 and 1"),
    "both splits": (["one.run", "two.run", "--tune", "qrels.txt", "--train", "0.5", "--train-queries", "ids"], "leave out"),
    "unjudged training": (["one.run", "two.run", "--tune", "qrels.txt", "--train-queries", "ids"], "none of 2 judged queries for training"),
    "torn split": (["one.run", "two.run", "--tune", "qrels.txt", "--train-queries", "torn.tsv"], "torn.tsv:2: cannot read"),
    "unknown measure": (["one.run", "two.run", "--tune", "qrels.txt", "-m", "ndgc@10"], "did you mean ndcg"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_bad_commands_end_in_one_line(kind, call, folder):
    words, text = WRONG[kind]
    (folder / "twice.run").write_text("q1 Q0 a 1 3.0 r\nq1 Q0 a 2 2.0 r\n")
    (folder / "ids").write_text("q77\n")
    (folder / "torn.tsv").write_text("query_id\tsplit\nq1\tmaybe\n")
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = call(*words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("assay: ")
    assert text in err
    assert sorted(path.name for path in folder.iterdir()) == before
