"""Experiments in the workbench: what runs, ran, failed or was killed; answers of systems side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest

import assay
from assay.formats.files import Input, file_name
from assay.formats.results import load_result
from assay.formats.run_progress import PROGRESS, this_process, write_run_progress
from assay.results.run_progress import CombinationProgress, RunProgress, StageProgress
from assay.stats.intervals import Interval
from experiments import short_experiment
from server.layout import faults_of_layout
from workbench_desk import Person, key_of, run_workbench

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\u202e' \" &amp;"
LIVE, DONE = key_of(f"live/{PROGRESS}"), key_of(f"done/{PROGRESS}")
PAGES = ["/experiments", f"/experiments/{LIVE}", f"/experiments/{DONE}"]


def write_live(folder, *, done=7, state="running", number=0):
    """A run of hostile names: one combination is done, one runs, one failed, one waits."""
    now = datetime.now(UTC).isoformat()
    stages = (StageProgress("retrieve", 20, 20, 1, 2), StageProgress("rerank", done, 20))
    rows = (
        CombinationProgress("first", "done", stages=stages[:1], mean=Interval(0.625, 0.5, 0.75, 0.95, "t", 20), ms_p95=12.5, cost_per_query=0.002, spent=0.04),
        CombinationProgress(HOSTILE, "running", stages=stages, stage="rerank", unpriced=3),
        CombinationProgress("third", "failed", reason=HOSTILE),
        CombinationProgress("fourth"),
    )  # fmt: skip
    mark = this_process() if not number else replace(this_process(), number=number)
    (folder / "live").mkdir(exist_ok=True)
    write_run_progress(folder / "live" / PROGRESS, RunProgress(HOSTILE, state, now, now, mark, rows, 20, measure="ndcg@10"))  # fmt: skip


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board") / "work"
    folder.mkdir()
    body = '#data\n[retrieve]\nmethod = "bm25"\n[chunk]\nmethod = ["none", "sentence"]\n[generate]\nmethod = "extractive"\n'
    found = assay.run_experiment(short_experiment(folder, body), progress=folder / "done")
    found.save(folder / "done")
    write_live(folder)
    with run_workbench(folder) as server, Person(server.origin, server.address, None) as person:
        person.folder = folder
        yield server, person


def test_the_board_has_the_numbers_of_the_result_and_leads_to_it(board):
    _, person = board
    text = person.get(f"/experiments/{DONE}").text
    found = load_result(Input.at(person.folder / "done" / "result.json")).parts["experiment"]
    rows = re.findall(
        r'<tr class="done"><th scope="row"><span class="said-by-user">(.*?)</span>(.*?)</tr>', text, re.DOTALL
    )
    assert [name for name, _ in rows] == [row.name for row in found.combinations]
    for (_, cells), row in zip(rows, found.combinations, strict=True):
        mean = row.quality[found.measure].mean
        assert f"<strong>{mean.estimate:.4f}</strong>" in cells
        assert f"[{mean.low:.4f}, {mean.high:.4f}]" in cells
        assert ("on the front" in cells) == row.pareto
    result = key_of("done/result.json")
    assert f'href="/result/{result}?page=experiment"' in text
    assert "Result of an earlier run" not in text
    assert person.get(f"/result/{result}?page=experiment").status_code == 200
    assert PROGRESS not in re.findall(r"broken.*", person.get("/").text)


def test_a_running_a_killed_and_a_new_run_are_told_apart(board):
    _, person = board
    text = person.get(f"/experiments/{LIVE}").text
    assert "2 of 4 combinations done" in text
    assert "7/20" in text
    assert "at least 0.04" in text
    assert "cache 2/3" in text
    write_live(person.folder, number=2**22 + 1)  # beyond what a process may have
    text = person.get(f"/experiments/{LIVE}").text
    assert "ended early" in text
    assert ">running<" not in text
    write_live(person.folder)
    (person.folder / "live" / "result.json").write_bytes((person.folder / "done" / "result.json").read_bytes())
    assert "Result of an earlier run" in person.get(f"/experiments/{LIVE}").text
    (person.folder / "live" / "result.json").unlink()


def test_a_file_of_progress_that_is_damaged_or_of_somebody_else_is_no_page(board):
    server, person = board
    (person.folder / "other").mkdir(exist_ok=True)
    for text in ("", "my own notes", '{"assay_run": {"name": 7}}', '{"assay_run": '):
        (person.folder / "other" / PROGRESS).write_text(text)
        assert person.get("/experiments").text.count('class="sheet watch"') == 2
        assert person.get(f"/experiments/{key_of(f'other/{PROGRESS}')}").status_code in {400, 404}
    (person.folder / "other" / PROGRESS).unlink()
    assert person.get(f"/experiments/{key_of('done/result.json')}").status_code == 404
    for path in PAGES:
        with httpx2.Client(base_url=server.origin) as stranger:
            assert stranger.get(path).status_code == 401
        text = person.get(path).text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert not re.search(r"<style|<script(?! src)|\sstyle=|\son[a-z]+=\"", text)


@pytest.mark.parametrize(("width", "scheme", "lang"), [(390, "dark", "en"), (1440, "light", "zh")])
def test_a_board_fits_can_be_used_by_everybody_and_goes_on_by_itself(browser, board, width, scheme, lang):
    server, person = board
    write_live(person.folder)
    context = browser.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, faults = context.new_page(), []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.goto(server.address)
    if lang == "zh":
        with page.expect_navigation():
            page.locator("button[name=lang]").click()
    for path in PAGES:
        page.goto(server.origin + path)
        assert faults_of_layout(page) == []
    page.goto(f"{server.origin}/experiments/{LIVE}")
    region = page.locator(".scroll").first
    region.focus()
    region.evaluate("one => { one.scrollLeft = 40; }")
    moved = region.evaluate("one => one.scrollLeft")
    write_live(person.folder, done=13)
    page.locator("text=13/20").wait_for()
    assert page.evaluate("document.activeElement.className") == "scroll"
    assert page.locator(".scroll").first.evaluate("one => one.scrollLeft") == moved
    assert faults == []
    context.close()


# Answers side by side ---------------------------------------------------------------------------------------------------


def test_answers_of_an_experiment_are_beside_each_other_with_their_evidence(board):
    """Nobody judged them: their support is found by words, as `assay answers` finds it."""
    _, person = board
    result = key_of("done/result.json")
    names = [one.name for one in load_result(Input.at(person.folder / "done" / "result.json")).systems]
    page = person.get("/compare/query", r=result, base=names[0], other=names[1], query="q1").text
    panes = re.findall(r'<section class="pane sample s\d"><h3><span class="system">(.*?)</span></h3>(.*?)</section>', page, re.DOTALL)  # fmt: skip
    assert [name for name, _ in panes] == names
    for name, text in panes:
        place = person.folder / "done" / "samples" / f"{file_name(name)}.jsonl"
        (judged,) = [one for one in assay.answers(place, ["faithfulness"], method="words").outcomes if one.sample.query_id == "q1"]  # fmt: skip
        shown = re.findall(r'<span class="words">(.*?)</span> <span class="tone \w+" title="[^"]*">(.*?)</span>', text)
        claims = [one for one in judged.support.statements if one.support is not None]
        assert shown == [(judged.words_of(one), f"{one.support:.2f}") for one in claims]
        assert [one.evidence.text for one in claims] == re.findall(r"<q>(.*?)</q>", text)
    assert "it was found now, by words" in page


def test_answers_that_were_judged_are_shown_as_judged_with_the_reference_once(board):
    _, person = board
    rows = [{"query_id": "q1", "question": f"how hot {HOSTILE}", "answer": f"{name} says 80 degrees. {HOSTILE}", "contexts": [{"id": HOSTILE, "text": f"Rinse it. Water of 80 degrees. {HOSTILE}"}], "reference": HOSTILE} for name in ("one", "two")]  # fmt: skip
    systems = {name: assay.answers([row], ["faithfulness"], method="words", name=name) for name, row in zip(("one", "two"), rows, strict=True)}  # fmt: skip
    for name, scores in systems.items():
        scores.save(person.folder / f"{name}.json")
    keys = [key_of(f"{name}.json") for name in systems]
    page = person.get("/compare/query", r=keys, query="q1").text
    assert page.count('<section class="pane sample') == 2
    assert page.count('<p class="reference">') == 1
    assert page.count("<q>") == sum(one.evidence is not None for s in systems.values() for one in s.outcomes[0].support.statements if one.support is not None)  # fmt: skip
    assert "it was found now, by words" not in page
    assert "<script>alert" not in page
    assert "<img" not in page
    for name in systems:
        (person.folder / f"{name}.json").unlink()
