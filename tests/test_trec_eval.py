"""`assay trec_eval` prints what trec_eval prints: NIST's own expected outputs, and smaller golden files of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli import app

GOLDEN = Path(__file__).parent / "golden" / "trec_eval"
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
