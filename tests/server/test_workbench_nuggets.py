"""Nuggets in the workbench: what forms do, by forms and by keyboard alone in a real browser."""

from __future__ import annotations

import contextlib
import json
import re

import pytest

import assay
from assay.analysis.label_tasks import key_of as key_of_item
from assay.formats.label_log import read_label_log
from payloads import payloads
from server.layout import faults_of_layout
from workbench_desk import Person, enter, key_of, make_folder, run_workbench, write_lines

KEY = key_of("nuggets.jsonl")
DESK = f"/nuggets/{KEY}"
Q1, Q2 = (f"{DESK}?q={key_of_item((query,))}" for query in ("q1", "q2"))
START = [("80 degrees", "okay"), ("not boiling", "okay"), ("hot", "okay")]


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "work", pairs=6)


@pytest.fixture
def server(folder):
    with run_workbench(folder) as running:
        yield running


@pytest.fixture
def ann(server):
    with Person(server.origin, server.address) as person:
        yield person


def rows_of(page):
    """The forms of the nuggets of a page: their fields, with the words."""
    found = []
    for text in re.findall(r'<li class="nugget.*?</li>', page.text, re.DOTALL):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))
        fields["tick"] = re.search(r'name="(tick\d+)" value="([^"]*)"', text).groups()
        found.append(fields | {"text": re.search(r"<textarea[^>]*>(.*?)</textarea>", text, re.DOTALL)[1]})
    return found


def saved(person):
    lines = map(json.loads, person.get(f"{DESK}/nuggets.jsonl").text.splitlines())
    return {one["qid"]: [(each["text"], each.get("importance", "")) for each in one["nuggets"]] for one in lines}


def change(person, page, place, **changes):
    fields = {name: value for name, value in rows_of(page)[place].items() if name != "tick"}
    return person.post(DESK, **fields | changes)


def adding(page):
    text = re.search(r'<form method="post" action="[^"]*" class="adding.*?</form>', page.text, re.DOTALL)[0]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))


def test_questions_are_those_of_people_and_not_the_trace_of_an_experiment(ann, folder):
    rows = [{"query_id": "q1", "query": "green tea", "combination": "bm25", "retrieved": ["d1"]}]
    for name in ("trace.jsonl", "asked.jsonl"):
        write_lines(folder / name, rows)
    shown = ann.get("/nuggets").text
    assert "asked.jsonl" in shown and "trace.jsonl" not in shown


def test_nuggets_are_added_reworded_weighed_merged_and_removed_and_all_of_it_undone(ann, folder):
    states = [saved(ann)]
    page = change(ann, ann.get(Q1), 0, text="about  80 degrees", importance="same")
    states.append(saved(ann))
    page = change(ann, page, 1, importance="vital")
    states.append(saved(ann))
    rows = rows_of(page)
    ticks = dict(row["tick"] for row in rows[:2])
    page = ann.post(DESK, by=rows[0]["by"], once="a" * 32, q=rows[0]["q"], do="merge", **ticks)
    states.append(saved(ann))
    page = change(ann, page, 1, importance="removed")
    states.append(saved(ann))
    page = ann.post(DESK, **adding(page), text="freshly drawn", importance="vital")
    states.append(saved(ann))
    assert states == [
        {"q1": START},
        {"q1": [("about 80 degrees", "okay"), *START[1:]]},
        {"q1": [("about 80 degrees", "okay"), ("not boiling", "vital"), START[2]]},
        {"q1": [("about 80 degrees", "vital"), START[2]]},
        {"q1": [("about 80 degrees", "vital")]},
        {"q1": [("about 80 degrees", "vital"), ("freshly drawn", "vital")]},
    ]
    assert ann.post(f"{DESK}/save").status_code == 200
    (place,) = (folder / "workbench").glob("nuggets-*.jsonl")
    assert [(one.text, one.importance) for one in assay.read_nuggets(place)[0].nuggets] == states[-1]["q1"]
    for before in states[-2::-1]:
        page = ann.press(page, f"{DESK}/undo")
        assert saved(ann) == before
    assert f'action="{DESK}/undo"' not in page.text


def test_two_people_who_change_one_nugget_are_told_and_neither_is_overwritten(server, ann):
    with Person(server.origin, server.address, "Bo") as bo:
        mine, theirs = ann.get(Q1), bo.get(Q1)
        change(bo, theirs, 0, text="75 degrees", importance="vital")
        answer = change(ann, mine, 0, text="85 <degrees>", importance="vital")
        assert answer.status_code == 409
        assert "Bo has changed this meanwhile" in answer.text
        assert "85 &lt;degrees&gt;" in answer.text, "what was typed is not lost"
        assert saved(ann)["q1"][0] == ("75 degrees", "vital")
        change(ann, answer, 1, importance="vital")  # another one is nobody's
        change(ann, ann.get(Q1), 0, text="85 degrees", importance="vital")
        assert bo.press(bo.get(Q1), f"{DESK}/undo").status_code == 409
        assert saved(ann)["q1"][:2] == [("85 degrees", "vital"), ("not boiling", "vital")]


def test_what_is_gone_can_be_put_back_and_a_form_sent_again_counts_once(ann, folder):
    page = ann.get(Q1)
    for _ in range(3):
        gone = change(ann, page, 2, importance="removed")
    assert saved(ann) == {"q1": START[:2]}
    form = re.search(r'<ul class="inside gone">.*?</form>', gone.text, re.DOTALL)[0]
    ann.post(DESK, importance="same", **dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)))
    assert saved(ann) == {"q1": START}
    assert len(read_label_log(folder / "workbench" / "labels.jsonl").labels) == 2


def test_a_file_of_queries_is_a_start_too_and_its_sources_are_beside_it(ann, folder):
    write_lines(folder / "judged.jsonl", [{"query_id": "q1", "doc_id": "d3", "grade": 3}])
    path = f"/nuggets/{key_of('queries.jsonl')}"
    page = ann.get(f"{path}?q={key_of_item(('q1',))}")
    assert "how hot should tea be" in page.text
    assert "Tea number d3" in page.text
    assert re.search(r'<p class="text">80 degrees</p>', page.text), "the reference of the answers in the folder"
    assert "alpha says" not in page.text, "answers of systems are not shown"
    ann.post(path, **adding(page), text="80 degrees", importance="vital")
    line = json.loads(ann.get(f"{path}/nuggets.jsonl").text)
    assert line == {"qid": "q1", "query": "how hot should tea be", "nuggets": [{"text": "80 degrees", "importance": "vital"}]}  # fmt: skip


def test_a_form_is_of_the_person_whom_it_was_shown_to(ann, folder):
    page = change(ann, ann.get(Q1), 0, importance="vital")
    ann.post("/name", name="Bo", next="/")  # in another tab
    assert change(ann, page, 1, importance="vital").status_code == 400
    assert ann.press(page, f"{DESK}/undo").status_code == 400
    assert len(read_label_log(folder / "workbench" / "labels.jsonl").labels) == 1


def test_forms_that_nobody_made_are_refused(ann, folder):
    page = ann.get(Q1)
    for wrong in ({"q": "0" * 16}, {"nugget": "no"}, {"importance": "great"}, {"importance": ""}, {"once": ""}, {"text": ""}, {"text": "x" * 1001}, {"do": "merge"}, {"do": "merge", "tick1": "no.no", "tick2": "x"}):  # fmt: skip
        assert change(ann, page, 0, **{"importance": "vital", **wrong}).status_code in {400, 404}, wrong
    assert ann.post(DESK, **adding(page), text="words", importance="same").status_code == 400
    assert not (folder / "workbench" / "labels.jsonl").exists()


def test_no_text_of_anybody_becomes_markup(tmp_path, stress):
    hostile = payloads() if stress else payloads()[::29]
    folder = make_folder(tmp_path / "work", pairs=3)
    write_lines(folder / "nuggets.jsonl", [{"qid": text, "query": text, "nuggets": [text]} for text in hostile])
    write_lines(folder / "alpha.jsonl", [{"query_id": text, "question": text, "answer": "a", "contexts": [], "reference": text} for text in hostile])  # fmt: skip
    with run_workbench(folder) as server:
        for text in hostile:
            with Person(server.origin, server.address, text[:100]) as person:
                page = person.get(f"{DESK}?q={key_of_item((text.encode('utf-8', 'replace').decode(),))}")
                page = change(person, page, 0, text=text[:900] + " more", importance="vital")
                seen = [page, change(person, page, 0, known="", importance="okay"), person.get(f"{DESK}/results")]
                assert [one.status_code for one in seen] == [200, 409, 200]
                for one in seen:
                    assert not re.search(r"<(img|svg|iframe|script(?! src=\"/static/workbench.js)|b|style|body on)\b[^>]*", one.text.partition("<main")[2], re.IGNORECASE)  # fmt: skip


# In a browser -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def person(browser, server, name, **options):
    """A browser of somebody on the first question; leaving checks that nothing was logged and nothing else asked."""
    context = browser.browser.new_context(**options)
    page, faults = enter(context, server, Q1, name, ".nugget-card")
    page.goto(f"{server.origin}{Q1}")
    try:
        yield page
        assert [one for one in faults if "409" not in one] == []
    finally:
        context.close()


def press(page, key):
    """Press a key, and wait for the page that follows."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_nuggets_are_edited_by_keyboard_alone(browser, server, ann):
    with person(browser, server, "Ann") as page:
        for keys in ("1", "ArrowDown"):
            page.keyboard.press(keys)
        press(page, "v")  # the second: vital
        page.keyboard.press("e")
        page.keyboard.press("End")
        page.keyboard.type(" water v o d m 1")  # keys are letters in a field
        press(page, "Enter")
        assert saved(ann)["q1"][1] == ("not boiling water v o d m 1", "vital")
        press(page, "u")
        page.keyboard.press("a")
        page.keyboard.type("fresh water")
        press(page, "Shift+Enter")
        page.wait_for_selector(".adding textarea:focus")
        page.keyboard.type("soft water")  # the field is ready for the next
        press(page, "Enter")
        page.wait_for_selector(".adding textarea:focus")
        page.keyboard.press("Escape")
        for key in ("1", "m", "3", "m"):
            page.keyboard.press(key)
        press(page, "g")
        page.wait_for_selector(".nugget:focus")
        page.keyboard.press("ArrowDown")
        press(page, "d")
        assert saved(ann) == {"q1": [("80 degrees", "okay"), ("fresh water", "okay"), ("soft water", "vital")]}
        press(page, "u")
        press(page, "u")
        page.reload()
        assert saved(ann) == {"q1": [START[0], ("not boiling", "vital"), START[2], ("fresh water", "okay"), ("soft water", "vital")]}  # fmt: skip
        page.keyboard.press("Escape")
        press(page, "ArrowRight")
        assert "绿茶怎么泡" in page.locator("h2").first.inner_text()


@pytest.mark.parametrize(("width", "scheme", "lang"), [(390, "dark", "zh"), (1440, "light", "en")])
def test_every_page_fits_prints_and_can_be_used_by_everybody(browser, server, ann, width, scheme, lang):
    change(ann, ann.get(Q1), 0, importance="vital")
    change(ann, ann.get(Q1), 2, importance="removed")
    with person(browser, server, "Ann", viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        if lang == "zh":
            with page.expect_navigation():
                page.get_by_role("button", name="中文").click()
        found = {}
        for path in ("/nuggets", Q1, Q2, f"{DESK}/results"):
            page.goto(f"{server.origin}{path}")
            found[path] = faults_of_layout(page)
        assert found == {path: [] for path in found}
        page.goto(f"{server.origin}{Q1}")
        page.emulate_media(media="print")
        assert page.locator(".nugget .paper").first.inner_text() == {"zh": "关键", "en": "vital"}[lang]
        assert not page.get_by_role("button").filter(visible=True).count()
