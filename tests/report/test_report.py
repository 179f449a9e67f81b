"""Reports: the same numbers in every format, the same bytes every time, and what lies behind a result."""

from __future__ import annotations

import copy
import hashlib
import html as entities
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

import assay
import reports
from assay.analysis.report_data import report_data
from assay.cli import app
from assay.demo import collection
from assay.errors import InputError, NotComparable, UsageError
from assay.formats.results import to_json
from assay.report import charts
from assay.report.blocks import Chart, Fold, Point, Section
from assay.report.design.colours import GAIN, LOSS
from assay.report.document import write
from assay.report.renderers import html
from assay.report.tables import Table
from assay.report.views.answers import spans
from assay.report.views.result import pages as report
from assay.results.result import make_result
from assay.results.support import Statement


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The bundled collection compared, as a result file, with copies of its inputs beside it."""
    folder, place = tmp_path_factory.mktemp("demo"), collection()
    for path in (place.judgments, *place.runs):
        shutil.copy(path, folder)
    runs = [folder / path.name for path in place.runs]
    done = run("compare", folder / "judgments.qrels", *runs, "--protocol", "graded-012", "-o", folder / "result.json")
    assert done.exit_code == 0
    return folder


def all_charts(blocks):
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from all_charts(block.blocks)


def test_the_same_result_gives_the_same_bytes(demo, tmp_path):
    made = []
    for name in ("one.html", "two.html"):
        done = run("report", demo / "result.json", "-o", tmp_path / name, "--lang", "zh")
        assert done.exit_code == 0
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


def test_html_terminal_markdown_latex_and_json_show_the_same_numbers(demo, tmp_path):
    result = json.loads((demo / "result.json").read_text())
    shown = {}
    for suffix in ("html", "txt", "md", "tex"):
        assert run("report", demo / "result.json", "-o", tmp_path / f"r.{suffix}").exit_code == 0
        shown[suffix] = (tmp_path / f"r.{suffix}").read_text()
    text = entities.unescape(
        re.sub(r"<[^>]*>", " ", re.sub(r"<(script|style|svg)\b.*?</\1>", "", shown["html"], flags=re.DOTALL))
    )
    shown["html"] = text
    wanted = [f"{value:.4f}" for system in result["systems"] for value in system["metrics"].values()]
    found = result["comparison"]
    for contrast in found["contrasts"]:
        difference = contrast["difference"]
        wanted += [f"{difference['estimate']:+.4f}", f"[{difference['low']:+.4f}, {difference['high']:+.4f}]"]
    values = result["per_query"]["values"]
    wanted += [f"{value:.4f}" for system in values.values() for value in system["ndcg@10"]]
    for kind, page in shown.items():
        assert [number for number in wanted if number not in page] == [], kind


def test_every_number_of_a_table_is_the_same_text_in_all_formats():
    pages = [
        page for page in report(report_data([reports.evaluation()])) if page.key != "queries"
    ]  # data for the script
    plain = write(pages, "table")
    told = set(re.findall(r"[-+]?\d\.\d{4}", plain))
    for other in (write(pages, "markdown"), write(pages, "latex"), entities.unescape(html.page(pages, title="x"))):
        assert told <= set(re.findall(r"[-+]?\d\.\d{4}", other))


def test_the_page_allows_nothing_but_its_own_script_and_style():
    import base64
    from hashlib import sha256

    text = html.page(report(report_data([reports.evaluation()])), title="x")
    policy = entities.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(sha256(body.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)


def test_every_chart_is_drawn_twice_alike_with_ids_of_its_own():
    drawn = [
        (charts.svg(chart, "zh"), charts.svg(chart, "zh"))
        for chart in all_charts(report(report_data(reports.everything())))
    ]
    assert {"intervals", "bars", "scatter", "histogram", "frontier", "curves"} <= {
        chart.kind for chart in all_charts(report(report_data(reports.everything())))
    }
    assert all(first == second for first, second in drawn)
    ids = [found for first, _ in drawn for found in set(re.findall(r'id="([^"]+)"', first))]
    assert len(set(ids)) == len(ids)


def test_a_chart_of_many_queries_is_small():
    many = {f"q{i:04d}": "" for i in range(3000)}
    pages = report(report_data([make_result(systems=reports.scores(("one", "two"), ("ndcg@10",), many), command="x")]))
    kinds = {chart.kind: charts.svg(chart) for chart in all_charts(pages)}
    assert "density" in kinds and "scatter" not in kinds
    assert all(len(picture) < 120_000 for picture in kinds.values())


def test_lists_are_found_by_the_hash_of_their_files(demo, tmp_path):
    run("report", demo / "result.json", "-o", tmp_path / "with.html")
    assert '"l":[[' in (tmp_path / "with.html").read_text()
    moved = tmp_path / "moved"
    shutil.copytree(demo, moved)
    text = (moved / "result.json").read_text().replace(str(demo), str(moved))
    (moved / "result.json").write_text(text)
    (moved / "bm25.run").write_text((moved / "bm25.run").read_text() + "q01 Q0 tea-999 99 -5 x\n")
    run("report", moved / "result.json", "-o", tmp_path / "changed.html")
    changed = (tmp_path / "changed.html").read_text()
    assert "The run of bm25 is no longer at" in changed
    assert '"l":[[' in changed  # the others are still there


def test_runs_and_judgments_that_do_not_belong_to_the_result_are_refused_or_named(demo, tmp_path):
    (tmp_path / "other.qrels").write_text("q01 0 tea-001 1\n")
    with pytest.raises(NotComparable, match="content differs"):
        run("report", demo / "result.json", "-o", tmp_path / "x.html", "--judgments", tmp_path / "other.qrels")
    with pytest.raises(UsageError, match="unknown system 'nobody'"):
        run("report", demo / "result.json", "-o", tmp_path / "x.html", "--run", f"nobody={demo / 'bm25.run'}")
    text = (demo / "bm25.run").read_text()
    (tmp_path / "bm25.run").write_text(text + "\n")
    run("report", demo / "result.json", "-o", tmp_path / "x.html", "--run", tmp_path / "bm25.run")
    assert "The run given for bm25 is not the file that was evaluated." in (tmp_path / "x.html").read_text()


def test_evaluate_and_compare_write_a_report_on_the_way(demo, tmp_path):
    done = run(
        "evaluate", demo / "judgments.qrels", demo / "bm25.run", "--protocol", "rag", "--report", tmp_path / "e.html"
    )
    assert done.exit_code == 0
    assert done.stdout.startswith("system")
    page = (tmp_path / "e.html").read_text()
    assert "检" not in page
    assert "raise k, or a better embedding model" in page  # the advice of a target that was missed
    done = run(
        "compare",
        demo / "judgments.qrels",
        demo / "bm25.run",
        demo / "ngrams.run",
        "--report",
        tmp_path / "c.html",
        "--lang",
        "zh",
    )
    assert done.exit_code == 0
    assert '<html lang="zh-CN">' in (tmp_path / "c.html").read_text()


def test_a_report_on_the_way_says_what_the_report_of_the_file_says(demo, tmp_path):
    runs = [demo / f"{name}.run" for name in ("keywords", "bm25", "ngrams")]
    rules = ("--protocol", "graded-012", "--report", tmp_path / "fresh.txt", "-o", tmp_path / "again.json")
    assert run("compare", demo / "judgments.qrels", *runs, *rules).exit_code == 0
    behind = ["--judgments", demo / "judgments.qrels", *(word for path in runs for word in ("--run", path))]
    run("report", tmp_path / "again.json", "-o", tmp_path / "file.txt", *behind)
    fresh, again = (re.sub(r":\d\dZ", "", (tmp_path / name).read_text()) for name in ("fresh.txt", "file.txt"))
    assert fresh == again  # but for the second in which each was written


def test_plot_lists_charts_and_draws_one(demo, tmp_path):
    names = re.findall(r"^(\S+)  ", run("plot", demo / "result.json").stdout, re.MULTILINE)
    assert "means-0-ndcg@10" in names and "curve-0-recall" in names
    done = run("plot", demo / "result.json", "--chart", "differences-0-0", "-o", tmp_path / "d.svg", "--lang", "zh")
    assert done.exit_code == 0
    picture = (tmp_path / "d.svg").read_text(encoding="utf-8")
    assert ">差值</text>" in picture  # Chinese is text, not outlines
    assert "个查询按差值排序" in picture
    run("plot", demo / "result.json", "--chart", "means-0-ndcg@10", "-o", tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="did you mean means-0-ndcg@10"):
        run("plot", demo / "result.json", "--chart", "means-ndcg@10", "-o", tmp_path / "m.png")
    with pytest.raises(UsageError, match="say where"):
        run("plot", demo / "result.json", "--chart", "means-0-ndcg@10")


def test_a_png_without_a_chinese_font_says_so(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "draws_chinese", lambda: False)
    arguments = ("plot", demo / "result.json", "--chart", "differences-0-0", "-o", tmp_path / "d.png")
    with pytest.raises(UsageError, match="本机没有可绘制图中汉字的字体"):
        run(*arguments, "--lang", "zh")
    assert not (tmp_path / "d.png").exists()
    assert run(*arguments).exit_code == 0


def test_whether_chinese_can_be_drawn_is_seen_by_drawing_it(monkeypatch):
    class Blind:
        @staticmethod
        def svg_to_png(text: str) -> bytes:
            return re.sub(r"[^\x00-\x7f]", "\N{WHITE SQUARE}", text).encode()

    class Seeing:
        @staticmethod
        def svg_to_png(text: str) -> bytes:
            return text.encode()

    monkeypatch.setattr(charts, "_converter", lambda: Blind)
    assert not charts.draws_chinese()
    monkeypatch.setattr(charts, "_converter", lambda: Seeing)
    assert charts.draws_chinese()


def test_systems_of_different_judgments_stand_side_by_side_without_being_compared():
    other = assay.evaluate({"x": {"d": 1}}, {"x": {"d": 1.0}}, ["ndcg@10"], name="elsewhere")
    found = report_data([reports.evaluation(), make_result(systems=[other], command="x")])
    assert [[scores.name for scores in group.systems] for group in found.groups] == [
        ["first", "second", "third"],
        ["elsewhere"],
    ]
    text = write(report(found), "table")
    assert "elsewhere has ndcg@10 1.0000" in text


def test_two_systems_of_one_name_are_refused():
    with pytest.raises(UsageError, match="two systems are called 'first'"):
        report_data([reports.evaluation(), reports.evaluation()])


def test_a_name_before_the_file_renames_its_system(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(to_json(make_result(systems=reports.scores(("same",)), command="x")))
    done = run("report", f"old={tmp_path / 'a.json'}", f"new={tmp_path / 'b.json'}", "-o", tmp_path / "r.txt")
    assert done.exit_code == 0
    assert "new and old" in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize(
    ("key", "broken"),
    [("answers", {"samples": [{"question": "no id"}]}), ("bench", {"loads": [{"histogram": {"edges": [1], "counts": [1]}}]}),
     ("economics", {"costs": [{}]}), ("experiment", {"combinations": [{"status": "done"}]})],
)  # fmt: skip
def test_a_damaged_part_is_an_input_error(key, broken):
    with pytest.raises(InputError, match="damaged"):
        report(report_data([reports.bare(**{key: broken})]))


def test_no_part_of_an_answer_is_lost_however_its_statements_lie():
    answer = "One. Two. Three."
    wild = [
        Statement(start, end, answer[start:end], "claim", 1.0, support)
        for start, end, support in ((5, 9, 0.5), (0, 7, 1.0), (12, 99, 0.0))
    ]
    parts = spans(answer, wild, ())
    assert "".join(part.text for part in parts) == answer
    assert [part.tone for part in parts] == ["good", "warn", "", "bad"]


def section(pages, key):
    return next(page for page in pages if page.key == key)


def test_a_missing_answer_is_shown_as_nothing_with_its_reason():
    rows = [{"id": "q1", "answer": None, "contexts": ["Tea."]}, {"id": "q2", "answer": "Tea.", "contexts": ["Tea."]}]
    found = make_result(assay.answers(rows, ["faithfulness"], method="words"))
    pages = report(report_data([replace(found, systems=())]))
    table = [block for block in section(pages, "answers").blocks if isinstance(block, Table)][-1]
    shown = [str(getattr(cell, "text", cell)) for cell in table.rows[0][:5]]
    assert shown == ["samples", "q1", "", "", "there is no answer"]
    assert "None" not in write(pages, "table")


def test_an_experiment_is_reported_by_the_measure_that_decided_it():
    part = copy.deepcopy(reports.EXPERIMENT)
    part["measure"] = "recall@5"
    for one in part["combinations"]:
        if one["quality"]:
            low = one["quality"]["ndcg@10"]["mean"] - 0.2
            one["quality"]["recall@5"] = {"mean": low, "low": low - 0.03, "high": low + 0.03, "pvalue": None}
    result = reports.evaluation(experiment=part)
    found = report_data([result])
    assert found.main.primary == "recall@5"
    assert {one.measure for one in found.main.diagnoses} == {"recall@5"}
    page = section(report(found), "experiment")
    fronts = list(all_charts(page.blocks))
    assert len(fronts) == 2
    assert {chart.y for chart in fronts} == {"recall@5"}
    assert sorted(point.y for point in fronts[0].points) == pytest.approx([0.45, 0.56, 0.58, 0.67])
    told = write([page], "table")
    assert "Highest recall@5 of 4: hybrid + rerank (0.6700)" in told.replace("\n", " ")


def test_a_report_says_how_far_to_trust_the_winner_of_an_experiment():
    held = write(report(report_data([reports.bare(experiment=reports.EXPERIMENT)])), "table")
    assert (
        "Chosen on 28 queries. On the 12 held out: hybrid + rerank 0.8612 [0.8300, 0.8900], bm25 0.6600,"
        " difference +0.2012 [+0.1100, +0.2900], p 0.0123."
    ) in " ".join(held.split())
    alone = {**reports.EXPERIMENT, "winner": {"name": "hybrid + rerank", "holdout": None}}
    text = entities.unescape(html.page(report(report_data([reports.bare(experiment=alone)])), title="x"))
    assert "It is the best of 4 on the same queries that it was chosen on" in text
    assert "--holdout 0.3" in text


def test_where_lower_is_better_what_fell_has_gained():
    tea, cat = "Green tea is made in Japan.", "Cats sleep for sixteen hours."
    fell, rose = [cat, tea], [tea, cat]
    same = [tea, tea]
    results = [
        assay.answers(
            [{"id": f"q{i}", "answer": tea, "contexts": [text[place]]} for i, text in enumerate([fell, fell, rose, same])],
            ["hallucination_rate"], method="words", name=name,
        )
        for place, name in enumerate(("old", "new"))
    ]  # fmt: skip
    # without the contexts of each system the samples would not be the same ones
    results = [replace(one, judgments=results[0].judgments) for one in results]
    pages = report(report_data([make_result(systems=results, command="assay compare")]))
    table = next(block for block in section(pages, "queries").blocks if isinstance(block, Table))
    assert [(row[0].text, row[-1].text, row[-1].tone) for row in table.rows] == [
        ("q2", "+1.0000", "bad"), ("q3", "+0.0000", ""), ("q0", "-1.0000", "good"), ("q1", "-1.0000", "good"),
    ]  # fmt: skip
    bars, scatter = (next(c for c in all_charts(pages) if c.kind == kind) for kind in ("bars", "scatter"))
    assert [point.y for point in bars.points] == [-1.0, -1.0, 0.0, 1.0]
    for chart in (bars, scatter):
        drawn = charts.svg(chart).lower()
        upper = charts.svg(replace(chart, lower=False)).lower()
        for colour, other in ((GAIN, LOSS), (LOSS, GAIN)):
            assert drawn.count(colour) != upper.count(colour)
            assert upper.count(colour) - drawn.count(colour) == drawn.count(other) - upper.count(other)
        assert drawn.count(GAIN) > drawn.count(LOSS)


def test_the_report_needs_a_place_and_a_known_suffix(demo):
    with pytest.raises(UsageError, match="say where"):
        run("report", demo / "result.json")
    with pytest.raises(UsageError, match="cannot tell the format"):
        run("report", demo / "result.json", "-o", "report.docx")


def test_missing_packages_are_named_with_the_command_that_installs_them(monkeypatch):
    import sys

    for name in ("jinja2", "altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install .*\[report\]'"):
        html.page([], title="x")
    chart = Chart("x", "bars", "x", "x", "y", (), Table((), ()))
    with pytest.raises(UsageError, match=r"pip install .*\[report\]'"):
        charts.svg(chart)


def test_curves_come_from_cutoffs_when_the_lists_are_not_at_hand():
    measures = [f"{name}@{k}" for name in ("precision", "recall") for k in (1, 3, 5)]
    found = report_data([make_result(systems=reports.scores(("one",), measures), command="x")])
    curves = {curve.measure: curve for curve in found.main.curves}
    assert set(curves) == {"precision", "recall"} and curves["recall"].k == (1, 3, 5)
    scores = found.main.systems[0]
    assert [p.estimate for p in curves["recall"].points] == pytest.approx([scores[f"recall@{k}"] for k in (1, 3, 5)])


def test_a_sweep_keeps_its_advice_in_the_report(demo, tmp_path):
    run("sweep", demo / "judgments.qrels", demo / "bm25.run", "--k", "1,3,5", "-o", tmp_path / "s.json")
    text = json.loads((tmp_path / "s.json").read_text())
    for entry in text["inputs"]:
        entry["path"] = "gone"
    (tmp_path / "s.json").write_text(json.dumps(text))
    run("report", tmp_path / "s.json", "-o", tmp_path / "s.txt")
    assert "for question answering (k = 3 to 5, precision first), k = 3." in (tmp_path / "s.txt").read_text()


def test_chunks_without_their_map_are_not_shown_as_documents(tmp_path):
    (tmp_path / "q.qrels").write_text("q1 0 A 1\nq1 0 C 1\nq2 0 A 1\n")
    lines = [f"{q} Q0 {doc}#{i} {i} {9 - i} r" for q in ("q1", "q2") for i, doc in enumerate("AABC", 1)]
    (tmp_path / "c.run").write_text("\n".join(lines) + "\n")
    common = (tmp_path / "q.qrels", tmp_path / "c.run", "--protocol", "chunking", "--chunk-map", "{doc}#{chunk}")
    assert run("evaluate", *common, "-o", tmp_path / "r.json", "--report", tmp_path / "fresh.html").exit_code == 0
    run("report", tmp_path / "r.json", "-o", tmp_path / "later.html")
    for name in ("fresh", "later"):
        page = (tmp_path / f"{name}.html").read_text()
        assert "A#1" not in page and "The ranked lists are not shown" in page


def test_inputs_are_found_beside_a_result_that_is_read_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    Path("qrels.txt").write_text("q1 0 doc-one 1\nq2 0 doc-two 1\n")
    Path("a.run").write_text("q1 Q0 doc-one 1 2 r\nq2 Q0 doc-nine 1 2 r\n")
    run("evaluate", "qrels.txt", "a.run", "-m", "ndcg@10", "-o", "result.json")
    monkeypatch.chdir(tmp_path)
    run("report", "there/result.json", "-o", "one.html")
    assert "doc-nine" in Path("one.html").read_text(encoding="utf-8")
    Path("there/a.run").write_text("q1 Q0 doc-two 1 2 r\n")  # no longer what was evaluated
    run("report", "there/result.json", "-o", "two.html")
    page = Path("two.html").read_text(encoding="utf-8")
    assert "no longer at a.run" in page and "doc-nine" not in page


SECRET = "secret=hunter2 and more words here\n"


def rewritten(folder: Path, path: str, place: Path) -> None:
    """Let the result in a folder name another file, with the hash that this file has."""
    found = json.loads((folder / "res.json").read_text())
    found["systems"][0]["file"] = path
    for entry in found["inputs"]:
        entry.update(path=path, sha256=hashlib.sha256(place.read_bytes()).hexdigest())
    (folder / "res.json").write_text(json.dumps(found))


@pytest.fixture
def result(tmp_path, monkeypatch) -> Path:
    """A folder with a result and its inputs, beside a file that is nobody's business."""
    folder = tmp_path / "w"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "secret.txt").write_text(SECRET)
    (folder / "q").write_text("q1 0 doc-one 1\n")
    (folder / "r.run").write_text("q1 Q0 doc-nine 1 1 t\n")
    run("evaluate", "q", "r.run", "-m", "map", "-o", "res.json")
    return folder


@pytest.mark.parametrize("kind", ["above", "absolute", "link", "linked folder", "device"])
@pytest.mark.parametrize("command", ["report", "plot"])
def test_a_path_in_a_result_is_not_followed_out_of_its_folder(kind, command, result, monkeypatch):
    secret = result.parent / "secret.txt"
    (result / "link.txt").symlink_to(secret)
    (result / "sub").symlink_to(result.parent, target_is_directory=True)
    path = {"above": "../secret.txt", "absolute": str(secret), "link": "link.txt", "linked folder": "sub/secret.txt",
            "device": "/dev/zero"}[kind]  # fmt: skip
    rewritten(result, path, secret)
    opened = []
    real = Path.open

    def watched(self, *args, **more):
        opened.append(self.resolve())
        return real(self, *args, **more)

    monkeypatch.setattr(Path, "open", watched)
    done = run(command, "res.json", *(["-o", "r.html"] if command == "report" else []))
    assert done.exit_code == 0, done.output
    assert secret.resolve() not in opened and Path("/dev/zero") not in opened
    shown = done.output + (result / "r.html").read_text() if command == "report" else done.output
    assert "hunter2" not in shown and "words" not in done.output
    if command == "report":
        assert "assay report ... --run" in shown


def test_a_file_beside_a_result_that_cannot_be_read_is_not_quoted(result):
    (result / "notes.txt").write_text(SECRET)
    rewritten(result, "notes.txt", result / "notes.txt")
    done = run("report", "res.json", "-o", "r.html")
    assert done.exit_code == 0 and "hunter2" not in done.output + (result / "r.html").read_text()
    assert "assay report ... --run" in (result / "r.html").read_text()


def test_a_run_written_by_an_experiment_is_not_followed_out_of_its_folder(result):
    found = json.loads((result / "res.json").read_text())
    found["experiment"] = {"combinations": [], "measure": "", "measures": [], "baseline": "", "winner": ""}
    found["systems"][0]["file"] = None
    (result / "res.json").write_text(json.dumps(found))
    (result / "runs").mkdir()
    (result / "runs" / "r.jsonl").symlink_to(result.parent / "secret.txt")
    from assay.analysis.evidence import find_evidence, load

    assert find_evidence([load("res.json")]).runs == {}


def test_files_that_are_named_are_read_wherever_they_lie(result):
    (result / "r.run").rename(result.parent / "r.run")
    (result / "q").rename(result.parent / "q")
    assert run("report", "res.json", "--judgments", "../q", "--run", "../r.run", "-o", "r.html").exit_code == 0
    assert "doc-nine" in (result / "r.html").read_text()


def test_a_report_is_not_written_over_the_files_behind_its_result(result):
    (result / "q").rename(result / "q.txt")
    run("evaluate", "q.txt", "r.run", "-m", "map", "-o", "res.json")
    with pytest.raises(UsageError, match=r"q\.txt is also an input"):
        run("report", "res.json", "-o", "q.txt")


def test_documents_of_a_report_may_be_a_folder_of_files(demo, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "tea-001.txt").write_text("a text in a file of its own")
    from assay.analysis.evidence import find_evidence

    found = find_evidence([], documents=str(tmp_path / "texts"))
    assert found.documents == {"tea-001.txt": "a text in a file of its own"}


def test_a_result_without_anything_to_show_is_refused(tmp_path):
    (tmp_path / "v.json").write_text('{"schema": 1, "warnings": []}')
    with pytest.raises(UsageError, match="holds nothing that a report shows"):
        run("report", tmp_path / "v.json", "-o", tmp_path / "v.html")


@pytest.mark.parametrize(
    ("part", "value", "place"),
    [
        ("inputs", [{"role": "run", "sha256": "0"}], "inputs[0]"),
        ("inputs", ["judgments.qrels", "bm25.run"], "inputs[0]"),
        ("inputs", [{"role": "run", "path": "a", "sha256": None}, {"role": "judgments", "path": 5}], "inputs[1]"),
        ("inputs", [{"role": ["run"], "path": "a"}], "inputs[0]"),
        ("inputs", [{"role": "run", "path": "a", "sha256": ["0"]}], "inputs[0]"),
        ("inputs", "judgments.qrels", "inputs"),
        ("systems", ["bm25"], "systems[0]"),
        ("systems", [{"file": "bm25.run"}], "systems[0]"),
    ],
)
def test_a_result_whose_lists_hold_something_else_is_refused_in_one_line(demo, tmp_path, part, value, place, call):
    result = json.loads((demo / "result.json").read_text()) | {part: value}
    (tmp_path / "other.json").write_text(json.dumps(result))
    code, _, err = call("report", str(tmp_path / "other.json"), "-o", str(tmp_path / "page.html"))
    assert code == 2
    assert f"other.json: the result file is damaged: {place}" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


def test_a_report_of_two_files_of_answers_says_whose_each_answer_is(tmp_path):
    for name in ("one", "two"):
        row = {"id": "1", "question": "When?", "answer": f"In {name} 1889.", "contexts": ["It opened in 1889."]}
        found = assay.answers([{**row, "reference": "THE REFERENCE"}], ["faithfulness"], method="words", name=name)
        found.save(tmp_path / f"{name}.json")
    text = assay.write_report([tmp_path / "one.json", tmp_path / "two.json"])
    (drill,) = re.findall(r'<script type="application/json" id="drill">(.*?)</script>', text)
    samples = json.loads(drill)["queries"][0]["s"]
    assert [(one["n"], one["r"]) for one in samples] == [("one", ["THE REFERENCE"]), ("two", ["THE REFERENCE"])]
    shown = assay.write_report([tmp_path / "one.json", tmp_path / "two.json"], kind="table")
    assert "one: When?" in shown and "reference: THE REFERENCE" in shown


def test_a_page_says_when_its_results_were_made(demo, monkeypatch):
    day = json.loads((demo / "result.json").read_text())["date"][:10]
    text = assay.write_report(demo / "result.json")
    assert f'<dt>measured on</dt><dd class="value">{day}</dd>' in text
    assert f"measured on {day}." in text.partition('<footer class="foot">')[2]


def test_the_best_of_several_systems_is_told_with_the_one_next_to_it():
    found = assay.compare(reports.scores(), baseline="third")
    said = assay.show(found, level="line").replace("\n", " ")
    second = found.mean("second", "ndcg@10").estimate
    assert said.startswith(
        f"Highest ndcg@10 of 3: first (0.9304), not shown to be better than second ({second:.4f}; p "
    )
    assert "third, the baseline: +0.0369" in said
    by_default = assay.show(assay.compare(reports.scores()[::-1]), level="line").replace("\n", " ")
    assert "third, the baseline by default: +0.0369" in by_default


def test_no_system_is_best_where_all_have_the_same_value():
    systems = [assay.evaluate({"q": {"a": 1}}, {"q": {"x": 1.0}}, ["map"], name=name) for name in ("a", "b")]
    found = assay.compare(systems)
    assert found.conclusion("map").best == ()
    assert "All 2 have the same map (0.0000): none is best." in assay.show(found)
    systems.append(assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map"], name="c"))
    systems.append(assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map"], name="d"))
    found = assay.compare(systems)
    assert found.conclusion("map").best == ("c", "d")
    assert "Best map of 4: c and d tie (1.0000)." in assay.show(found)


def several_systems(names=("base", "one", "two", "three", "four")):
    """A baseline that does not find the one relevant document, others ever earlier, and two that are best in turn."""
    judged = {f"q{i}": {"a": 1} for i in range(40)}
    ranks = {name: [12 if not place else 6 - place] * 40 for place, name in enumerate(names)}
    ranks |= {"five": [1] * 21 + [2] * 19, "twin": [2] * 21 + [1] * 19}
    runs = {
        name: {q: {**{f"x{j}": -float(j) for j in range(1, 12)}, "a": 0.5 - rank} for q, rank in zip(judged, own, strict=True)}
        for name, own in ranks.items()
    }  # fmt: skip
    return [assay.evaluate(judged, run, ["mrr@10"], name=name) for name, run in runs.items()]


def test_the_decision_hides_no_better_system_and_names_the_best_first():
    """Six are better than the first: a sentence that names four of them must not leave out the best."""
    systems = several_systems()
    assert decision_of(systems) == "All 6 others are better than base on mrr@10; which of them is best is not shown."
    also = [*systems, replace(systems[0], name="as bad")]
    assert decision_of(also).startswith("five, twin, four, three ... are better than base on mrr@10")


def decision_of(systems) -> str:
    text = assay.write_report(systems)
    return entities.unescape(re.search(r'<p class="said">(.*?)</p>', text)[1])


def test_the_first_screen_of_a_gate_says_whether_it_passed():
    scores = several_systems()
    for change, outcome in ((scores[-1], "passed"), (scores[0], "failed")):
        gate = assay.gate(change, not_worse_than=scores[2], measures=["mrr@10"])
        assert (
            decision_of(make_result([gate], systems=[change], command="assay gate"))
            == f"Gate for {change.name}: {outcome}"
        )


def test_a_result_json_is_called_by_its_folder(tmp_path):
    (tmp_path / "ladder").mkdir()
    assay.write_result(several_systems()[:2], tmp_path / "ladder" / "result.json")
    text = assay.write_report(tmp_path / "ladder" / "result.json")
    assert "<h1>ladder: evaluation report</h1>" in text
    assert str(tmp_path) not in text


def test_no_name_of_a_line_is_cut_and_no_mark_is_black_on_black():
    """Names at the ends of lines have the room of a bold wide font; marks of legends have a colour of the page."""
    names = ("closed loop, 20 candidates", "closed loop, 50 candidates")
    points = tuple(Point(float(x), 1.0 + x, series=name) for name in names for x in (1, 4))
    chart = Chart("own", "curves", "Own", "threads", "calls", points, Table(("a",), (("1",),)))
    picture = ET.fromstring(charts.svg(chart))
    wide = float(picture.get("viewBox").split()[2])
    place = float(re.search(r"translate\(([\d.]+)", next(one for one in picture.iter() if (one.text or "") == names[0]).get("transform"))[1])  # fmt: skip
    assert wide - place >= 8 * len(names[0])
    front = replace(chart, kind="frontier", points=tuple(replace(p, label=p.series, series=f"s{i % 2}") for i, p in enumerate(points)))  # fmt: skip
    assert not re.search(r'(fill|stroke)="(black|#000)', charts.svg(front))
