"""Production, experiments, judges and nuggets in the workbench: what forms do, and what a real browser shows."""

from __future__ import annotations

import re

import pytest

import assay
from server.layout import faults_of_layout
from workbench_desk import Person, enter, key_of, run_workbench
from workbench_rooms import make_rooms, watch

WATCH, BAD, TEA = key_of("watch/result.json"), key_of("bad.jsonl"), key_of("tea/set.json")
REQUESTS = f"/production/{WATCH}/requests"


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    folder = make_rooms(tmp_path_factory.mktemp("rooms") / "work")
    with run_workbench(folder) as running:
        yield running, folder


@pytest.fixture(scope="module")
def ann(rooms):
    server, folder = rooms
    with Person(server.origin, server.address) as person:
        person.folder = folder
        yield person


@pytest.fixture(scope="module")
def window(browser, rooms):
    """Opens pages of the workbench as Ann; at the end, nothing was logged and nothing else was asked for."""
    server, _ = rooms
    context = browser.browser.new_context(viewport={"width": 1440, "height": 900})
    page, faults = enter(context, server, f"/label/{key_of('pool.jsonl')}", "Ann")

    def open_page(path: str):
        page.goto(f"{server.origin}{path}")
        return page

    yield open_page
    assert faults == []
    context.close()


def press(page):
    """Have a page look for news now, as it does when somebody comes back to it."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


PAGES = ["/production", f"/production/{WATCH}", REQUESTS]


@pytest.mark.parametrize(("width", "scheme", "lang"), [(390, "dark", "en"), (1440, "light", "zh")])
def test_every_page_fits_and_can_be_used_by_everybody(window, ann, width, scheme, lang):
    page = window("/")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    if page.locator("html").get_attribute("lang")[:2] != lang:
        with page.expect_navigation():
            page.locator("button[name=lang]").click()
    found = {path: faults_of_layout(window(path)) for path in PAGES}
    assert found == {path: [] for path in PAGES}


# Production -------------------------------------------------------------------------------------------------------------


def test_windows_are_shown_against_their_targets_with_the_numbers_of_the_result(ann):
    """The state of a watch is a result: its numbers on the page, in the file and in Python are the same."""
    text = ann.get(f"/production/{WATCH}").text
    found = assay.formats.results.load_result(assay.formats.files.Input.at(ann.folder / "watch" / "result.json")).parts["watch"]  # fmt: skip
    rows = re.findall(r'<tr><th scope="row" class="when">(.*?)</th>(.*?)</tr>', text, re.DOTALL)
    assert len(rows) == len(found.windows) == 3
    for (when, cells), window in zip(rows, found.windows[::-1], strict=True):
        assert when.replace(" ", "T") == window.start[:16]
        of = window.value("error_rate").interval
        assert f"<strong>{of.estimate:.4f}</strong>" in cells
        assert f"[{of.low:.4f}, {of.high:.4f}]" in cells
    assert [one.start[:16].replace("T", " ") for one in found.windows if found.standing_of(one, found.measure("error_rate")) == "alert"] == [when for when, cells in rows[::-1] if 'standing alert"' in cells]  # fmt: skip
    assert "1 alert stands" in text
    assert "1 alert stands" in ann.get("/production").text


def test_only_the_result_of_a_watch_is_listed_and_not_what_it_works_with(ann):
    names = set(re.findall(r'<a class="said-by-user" href="/(?:rate|result|production)/[^"]*">([^<]*)<', "".join(ann.get(path).text for path in ("/", "/rate", "/production"))))  # fmt: skip
    assert {name for name in names if "watch" in name} == {"watch/result.json"}
    assert "bad.jsonl" in names
    assert "set.json" not in ann.get("/").text


def test_a_request_that_went_wrong_is_added_to_a_set_once_with_its_origin(ann):
    other = f"/production/{BAD}/requests"
    key = re.findall(r'<input type="hidden" name="request" value="(\w+)">', ann.get(REQUESTS).text)[0]
    for path in (REQUESTS, REQUESTS, other):
        page = ann.post(path, request=key, set=TEA, reference="In 1889.")
        assert re.search(
            rf'<li class="sheet stack" id="{key}">(?:(?!</li>).)*<span class="chip good">', page.text, re.DOTALL
        )
        assert f'name="request" value="{key}"' not in page.text, "it is not offered again"
    rows = assay.read_set(ann.folder / "tea").rows("queries")
    assert len(rows) == 2
    assert (rows[1]["made_by"], rows[1]["added_by"], rows[1]["reference"]) == ("log", "Ann", "In 1889.")
    assert assay.read_set(ann.folder / "tea").manifest.files["queries.jsonl"].sources == ("log watch watch/result.json",)  # fmt: skip


@pytest.mark.parametrize("wrong", [{"set": WATCH}, {"set": ""}, {"set": "../tea"}, {"request": "0" * 16}, {"reference": "x" * 5000}])  # fmt: skip
def test_what_nobody_was_shown_is_added_to_no_set(ann, wrong):
    before = assay.read_set(ann.folder / "tea").version
    keys = re.findall(r'id="(\w{16})"', ann.get(REQUESTS).text)
    assert ann.post(REQUESTS, **{"request": keys[-1], "set": TEA, **wrong}).status_code in {400, 404}
    assert assay.read_set(ann.folder / "tea").version == before


def test_a_question_is_added_in_a_browser_and_new_windows_appear_by_themselves(window, rooms):
    _, folder = rooms
    page = window(REQUESTS)
    before = len(assay.read_set(folder / "tea").rows("queries"))
    if page.locator("html").get_attribute("lang") != "en":
        with page.expect_navigation():
            page.locator("button[name=lang]").click()
    page.locator("textarea").first.fill("<b>1889</b>")
    with page.expect_navigation():
        page.locator("button.primary").first.click()
    rows = assay.read_set(folder / "tea").rows("queries")
    assert len(rows) == before + 1
    assert rows[-1]["reference"] == "<b>1889</b>"
    page = window(f"/production/{WATCH}")
    assert page.locator("table.windows tbody tr").count() == 3
    watch(folder, folder.parent / f"{folder.name}-logs", 5)
    press(page)
    page.locator("table.windows tbody tr").nth(4).wait_for()
    assert page.locator("table.windows tbody tr").count() == 5
