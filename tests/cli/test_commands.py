"""What the commands print: tables, formats, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import assay
from assay.cli import COMMANDS, app
from assay.demo import collection
from commands import run_assay

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq3 0 d9 1\n"
RUN = "q1 Q0 d2 1 2.0 r\nq1 Q0 d1 2 1.0 r\nq2 Q0 d1 1 3.0 r\nextra Q0 d1 1 3.0 r\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(RUN.replace("2.0", "0.5"))
    return tmp_path


def run(*words: str, code: int = 0):
    result = CliRunner().invoke(app, list(words), standalone_mode=False)
    if code:
        assert isinstance(result.exception, SystemExit), result.exception
        assert result.exception.code == code
    else:
        assert result.exception is None, result.exception
    return result


def test_evaluate_prints_a_table_and_what_stands_behind_it(folder):
    got = run("evaluate", "qrels.txt", "a.run", "better=b.run", "-m", "mrr", "-m", "ndcg@10").stdout
    assert got == (
        "system     mrr  ndcg@10\n"
        "------  ------  -------\n"
        "a       0.5000   0.5436\n"
        "better  0.6667   0.6667\n"
        "\n"
        "3 judged queries, protocol trec\n"
        "all systems: 1 judged query is missing and counts as 0: q3\n"
        "all systems: 1 query has no judgments and counts in no mean: extra\n"
    )


def test_definitions_behind_labels_are_spelled_out(folder):
    got = run("evaluate", "qrels.txt", "a.run", "--protocol", "rag", "--min-relevance", "2", "--all").stdout
    assert "protocol rag (min_relevance = 2)\n" in got
    assert (
        "definitions: precision@1,3,5,10 = precision(min_relevance=2); recall@1,3,5,10 = recall(min_relevance=2);"
        in got
    )
    assert "reciprocal_rank = reciprocal_rank(min_relevance=2)\n" in got


def test_many_measures_become_rows(folder):
    lines = run("evaluate", "qrels.txt", "a.run", "--all").stdout.splitlines()
    assert lines[0].split() == ["measure", "a"]
    assert lines[2].split() == ["num_q", "3"]


def test_csv_holds_all_digits_and_nothing_else(folder):
    got = run("evaluate", "qrels.txt", "a.run", "-m", "ndcg@10", "--format", "csv")
    header, row = got.stdout.splitlines()
    assert header == "system,ndcg@10"
    exact = assay.evaluate("qrels.txt", "a.run", ["ndcg@10"])["ndcg@10"]
    assert float(row.split(",")[1]) == exact


def test_markdown_and_latex(folder):
    got = run("evaluate", "qrels.txt", "a_b=a.run", "-m", "mrr", "--format", "markdown").stdout
    assert got == "| system | mrr |\n|---|---:|\n| a_b | 0.5000 |\n"
    got = run("evaluate", "qrels.txt", "a_b=a.run", "-m", "mrr", "--format", "latex").stdout
    assert got == (
        "\\begin{tabular}{lr}\n\\toprule\nsystem & mrr \\\\\n\\midrule\na\\_b & 0.5000 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_json_has_the_documented_shape(folder):
    data = json.loads(run("evaluate", "qrels.txt", "a.run", "-m", "ndcg@10", "--format", "json").stdout)
    assert data["systems"][0]["name"] == "a"
    assert data["systems"][0]["file"] == "a.run"
    assert [entry["role"] for entry in data["inputs"]] == ["judgments", "run"]
    assert all(len(entry["sha256"]) == 64 for entry in data["inputs"])
    assert data["per_query"]["query_id"] == ["extra", "q1", "q2", "q3"]
    assert data["per_query"]["status"]["a"]["ndcg@10"] == {"extra": "unjudged", "q3": "missing"}
    assert data["per_query"]["values"]["a"]["ndcg@10"][0] is None


def test_output_takes_its_format_from_the_suffix(folder):
    for name, start in (
        ("o.json", "{"),
        ("o.csv", "system,"),
        ("o.md", "| system"),
        ("o.tex", "\\begin"),
        ("o.txt", "system "),
    ):
        run("evaluate", "qrels.txt", "a.run", "-m", "mrr", "--output", name)
        assert (folder / name).read_text().startswith(start)


def test_per_query_shows_statuses(folder):
    got = run("evaluate", "qrels.txt", "a.run", "-m", "mrr", "--per-query", "--format", "csv").stdout
    assert got.splitlines() == [
        "system,query,mrr,status",
        "a,extra,,unjudged",
        "a,q1,0.5,",
        "a,q2,1.0,",
        "a,q3,0.0,missing",
    ]


def test_wide_characters_stay_aligned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("问题一 0 文档 1\n")
    Path("r").write_text("问题一 Q0 文档 1 1 r\n")
    lines = run("evaluate", "q", "检索系统=r", "b=r", "-m", "mrr").stdout.splitlines()
    from assay.report.tables import width

    assert width(lines[2]) == width(lines[3]) == width(lines[0])


def test_terminal_output_cannot_be_rewritten_by_names(folder):
    got = run("evaluate", "qrels.txt", "evil\x1b[2J\u202e=a.run", "-m", "mrr").stdout
    assert "\x1b" not in got
    assert "\u202e" not in got


def test_csv_cells_are_not_formulas():
    from assay.report.document import write
    from assay.report.tables import Table

    assert write([Table(("system",), (("=1+1",), ("-3.5",), ("@x",)))], "csv") == "system\n'=1+1\n-3.5\n'@x\n"


def test_records_without_a_second_file(folder):
    (folder / "r.jsonl").write_text('{"query": "a", "retrieved": ["d1", "d5"], "relevant": ["d1", "d2"]}\n')
    got = run("evaluate", "r.jsonl", "-m", "recall@5", "-m", "mrr").stdout
    assert got.splitlines()[2].split() == ["r", "0.5000", "1.0000"]


def test_weights_from_a_file(folder):
    (folder / "w.csv").write_text("query_id,weight\nq1,1\nq2,3\nq3,0\n")
    got = run("evaluate", "qrels.txt", "a.run", "-m", "mrr", "--weights", "w.csv", "--format", "csv").stdout
    assert float(got.splitlines()[1].split(",")[1]) == pytest.approx((0.5 + 3) / 4)


def test_fold_and_chunk_map(folder):
    (folder / "c.run").write_text("q1 Q0 d2#1 1 3 r\nq1 Q0 d2#2 2 2 r\nq1 Q0 d1#1 3 1 r\n")
    for fold, value in (("after", 0.0), ("before", 1 / 3)):
        got = run(
            "evaluate",
            "qrels.txt",
            "c.run",
            "-m",
            "recall@2",
            "--fold",
            fold,
            "--chunk-map",
            "{doc}#{chunk}",
            "--format",
            "csv",
        )
        assert float(got.stdout.splitlines()[1].split(",")[1]) == pytest.approx(value)


CHECKS = {
    "duplicate document": RUN + "q1 Q0 d2 9 0.1 r\n",
    "score not finite": RUN.replace("3.0", "nan", 1),
    "all scores tied": "q1 Q0 d1 1 1 r\nq1 Q0 d2 2 1 r\n",
    "unsorted run": "q1 Q0 d1 1 1 r\nq1 Q0 d2 2 2 r\n",
    "rank contradicts score": "q1 Q0 d1 1 1 r\nq1 Q0 d2 2 2 r\n",
    "missing query": RUN,
    "query without judgments": RUN,
    "unjudged documents": "q1 Q0 x 1 2 r\nq1 Q0 y 2 1 r\n",
    "no common query": "z Q0 d1 1 2 r\n",
    "ids look like chunks": "q1 Q0 d1#1 1 9 r\nq1 Q0 d1#2 2 8 r\nq1 Q0 d2#1 3 7 r\n",
}


@pytest.mark.parametrize("kind", CHECKS)
def test_check_finds_trouble_in_runs(kind, folder):
    (folder / "x.run").write_text(CHECKS[kind])
    data = json.loads(run("check", "qrels.txt", "x.run", "--format", "json", code=1).stdout)
    assert kind in [finding["kind"] for finding in data["findings"]]


JUDGMENT_CHECKS = {
    "duplicate judgment": "q1 0 d1 1\nq1 0 d1 0\n",
    "negative grade": "q1 0 d1 1\nq1 0 d2 -1\n",
    "fractional grade": "q1 0 d1 0.5\n",
    "no relevant document": "q1 0 d1 0\n",
    "grade not finite": "q1 0 d1 inf\n",
}


@pytest.mark.parametrize("kind", JUDGMENT_CHECKS)
def test_check_finds_trouble_in_judgments(kind, folder):
    (folder / "x.qrels").write_text(JUDGMENT_CHECKS[kind])
    data = json.loads(run("check", "x.qrels", "--format", "json", code=1).stdout)
    assert kind in [finding["kind"] for finding in data["findings"]]


def test_check_of_clean_input_is_0(folder):
    (folder / "x.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (folder / "x.run").write_text("q1 Q0 d1 1 2 r\nq1 Q0 d2 2 1 r\n")
    assert run("check", "x.qrels", "x.run").stdout == "x.qrels: judgments\nx.run: a run\nnothing found\n"


@pytest.mark.parametrize(
    "measure",
    ["ndcg@10", "ndcg(gain='exp', ideal='full')@5", "dcg@3", "P@5", "precision(over='retrieved')@50", "recall@5",
     "recall(capped=true)@3", "f1(beta=2)@5", "hit_rate@3", "mrr", "map", "average_precision(over='min_k')@5",
     "average_precision(over='found')", "average_precision(gain='graded', max_grade=2)@10", "rbp(p=0.9)",
     "rbp(gain='topic')", "err(max_grade=2)@10", "ndcg(judged_only=true)@10"],
)  # fmt: skip
def test_explanations_arrive_at_the_measures_value(measure):
    from assay.analysis.explain import rank_list, work_out

    place = collection()
    judgments = assay.read_judgments(place.judgments)
    for path in place.runs:
        scores = assay.evaluate(judgments, path, [measure])
        lists = assay.read_run(path).to_dict()
        for query, value in zip(scores.query_ids, scores.values[:, 0], strict=True):
            listed = rank_list(judgments, query, list(lists.get(query, {}).items()), given=False, single=False)
            found = work_out(judgments, query, listed, assay.parse(scores.definitions[scores.labels[0]]))
            assert found.value == pytest.approx(value, abs=1e-12)


def test_explain_prints_the_steps(folder):
    got = run("explain", "qrels.txt", "a.run", "q1", "-m", "ndcg@10").stdout
    assert "DCG = 1.261860" in got
    assert "ideal DCG = 2.000000" in got
    assert "nDCG = 1.261860 / 2.000000 = 0.630930" in got


def test_measure_pages_and_lists():
    assert "DCG@k / ideal DCG" in run("measures", "nDCG@10").stdout
    listing = run("measures").stdout
    assert all(name in listing for name in ("ndcg[@k]", "alpha_ndcg[@k]", "num_rel_ret"))


def test_protocol_pages_and_lists():
    assert "max_grade = (1.0, 2.0)" in run("protocols", "graded-012").stdout
    assert "> 0.85" in run("protocols", "rerank").stdout
    assert "must be given" in run("protocols", "llm-graded").stdout
    assert len(run("protocols").stdout.splitlines()) == 12


def test_convert(folder):
    run("convert", "run", "a.run", "a.jsonl")
    run("convert", "judgments", "qrels.txt", "q.csv")
    first = assay.evaluate("qrels.txt", "a.run", ["ndcg@10"]).mean()
    assert assay.evaluate("q.csv", "a.jsonl", ["ndcg@10"]).mean() == first


def test_the_demo_climbs_the_ladder_says_where_the_results_are_and_ends_with_a_page(demo_run):
    got, out = demo_run
    assert "Left out: the step hybrid + minilm" in got or "hybrid + minilm  0." in got
    for part in ("bm25 ", "recursive ", "faithfulness"):
        assert part in got
    result = json.loads((out / "ladder" / "result.json").read_text(encoding="utf-8"))
    assert [row["status"] for row in result["experiment"]["combinations"]][:1] == ["done"]
    assert (out / "chunking" / "result.json").is_file()
    page = out / "report.html"
    assert f"The report, with every query: {out.name}/report.html" in got.splitlines()
    text = page.read_text(encoding="utf-8")
    assert "coffee or tea, which gives a bigger kick" in text  # a query
    assert "context_utilisation" in text  # a measure of its answers
    assert "ndcg@10 by lang" in text and "faithfulness by lang" in text  # each measure in a chart of its own


def test_the_bundled_collection_is_consistent():
    place = collection()
    documents = [json.loads(line) for line in place.documents_file.read_text(encoding="utf-8").splitlines()]
    queries = [json.loads(line) for line in place.queries_file.read_text(encoding="utf-8").splitlines()]
    ids, asked = {doc["doc_id"] for doc in documents}, {query["query_id"] for query in queries}
    judged = assay.read_judgments(place.judgments).to_dict()
    assert len(documents) == len(ids) >= 150
    assert len(queries) == len(asked) == 50
    assert {doc["lang"] for doc in documents} == {query["lang"] for query in queries} == {"en", "zh"}
    assert set(judged) == asked
    assert {grade for docs in judged.values() for grade in docs.values()} == {0.0, 1.0, 2.0}
    assert all(set(docs) <= ids and max(docs.values()) == 2 for docs in judged.values())
    for path in place.runs:
        lists = assay.read_run(path).to_dict()
        assert set(lists) <= asked
        assert all(set(docs) <= ids for docs in lists.values())


def test_the_bundled_runs_are_what_their_script_makes(tmp_path):
    import shutil

    place = collection()
    for path in (place.documents_file, place.queries_file):
        shutil.copy(path, tmp_path)
    script = Path(__file__).parents[2] / "tools" / "make_demo_runs.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True)
    for path in place.runs:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_reader_that_leaves_is_no_error(folder):
    words = [sys.executable, "-m", "assay", "help", "measures"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_output_that_cannot_be_written_is_one_line_and_no_success():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "assay", "help", "measures"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"assay: cannot write the output: No space left") and done.stderr.count(b"\n") == 1


def test_streams_that_are_closed_change_no_exit_code(folder):
    for closed in (">&-", "2>&-"):
        done = subprocess.run(f"{sys.executable} -m assay measures ndcg {closed}", shell=True, check=False)
        assert done.returncode == 0


def test_what_is_left_to_do_at_exit_is_done_and_a_bug_shows_its_traceback():
    left = "import atexit, sys; import assay.cli as cli; sys.argv = ['assay', 'measures', 'ndcg']; "
    code = left + "atexit.register(print, 'the end'); cli.program()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ndcg") and done.stdout.endswith("the end\n")
    code = left + "cli.main = lambda: 1 / 0; cli.program()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    got = run(command, "--help").stdout
    assert f"assay {command} " in got or f"assay {command}\n" in got


def test_all_systems_are_in_the_csv_of_gate_and_diagnose(two_systems):
    for words in (
        ["gate", "qrels.txt", "one.run", "two.run", "--fail-under", "P@1=0.1"],
        ["diagnose", "qrels.txt", "one.run", "two.run"],
    ):
        text = run_assay(*words, "--format", "csv", cwd=two_systems).stdout
        assert {line.split(",")[0] for line in text.splitlines()[1:]} == {"one", "two"}


def test_evaluate_speaks_chinese(demo):
    done = run_assay("evaluate", demo.judgments, demo.runs[1], "-m", "ndcg@10", "--lang", "zh")
    assert "50 个已标注查询，协议 trec" in done.stdout
    assert done.stdout.startswith("系统")
