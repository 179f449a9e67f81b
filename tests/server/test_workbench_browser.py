"""The workbench in a real browser: by keyboard alone, by two people at once, on every size, in both languages, on paper."""

from __future__ import annotations

import contextlib
import json
import random

import pytest

from server.layout import faults_of_layout
from workbench_desk import enter, key_of, make_folder, run_workbench

POOL, ALPHA, BETA = key_of("pool.jsonl"), key_of("alpha.jsonl"), key_of("beta.jsonl")
OLD, NEW = key_of("old-0.json"), key_of("new-1.json")
LABEL = f"/label/{POOL}"
PAGES = [
    "/", "/label", LABEL, f"{LABEL}/results", "/rate", f"/rate/{ALPHA}", f"/rate/{ALPHA}/results", "/pairs", f"/pairs/{ALPHA}/{BETA}",
    f"/pairs/{ALPHA}/{BETA}/results?reveal=1", f"/result/{OLD}", f"/compare?r={OLD}&r={NEW}", f"/compare/query?r={OLD}&r={NEW}&query=q2", "/label/0000000000000000",
]  # fmt: skip


@pytest.fixture
def work(tmp_path, stress):
    folder = make_folder(tmp_path / "work", pairs=200 if stress else 25)
    with run_workbench(folder) as server:
        yield server, folder


@contextlib.contextmanager
def person(browser, server, name, **options):
    """A browser of somebody; leaving checks that no error was logged and nothing else was asked."""
    context = browser.browser.new_context(**options)
    page, faults = enter(context, server, LABEL, name)
    try:
        yield page
        assert [one for one in faults if "404" not in one] == []
    finally:
        context.close()


def press(page, key):
    """Press a key, and wait for the page that follows."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_what_is_pressed_is_what_is_exported_with_undo_and_reload(browser, work):
    """Against a list of what was pressed, kept beside it: undo takes back the last, wherever it was."""
    server, folder = work
    order = [
        (row["query_id"], row["doc_id"]) for row in map(json.loads, (folder / "pool.jsonl").read_text().splitlines())
    ]
    rng = random.Random(5)
    pressed: list[tuple[tuple[str, str], str]] = []
    with person(browser, server, "Ann") as page:
        while len(pressed) < len(order):
            pair = order[len(pressed)]
            assert pair[1] in page.locator(".document").inner_text()
            key = rng.choice(["0", "1", "2", "3", "c"])
            press(page, key)
            pressed.append((pair, key))
            if rng.random() < 0.15:
                press(page, "u")
                pressed.pop()
            if rng.random() < 0.1:
                page.reload()
        page.goto(f"{server.origin}{LABEL}/results")
        with page.expect_download() as got:
            page.get_by_role("link", name="Download judgments").click()
        lines = got.value.path().read_text().splitlines()
    grades = {pair: key for pair, key in pressed if key != "c"}
    assert sorted(lines) == sorted(f"{query} 0 {doc} {grade}" for (query, doc), grade in grades.items())


def test_keys_write_in_a_note_and_work_with_a_chinese_input_method(browser, work):
    server, folder = work
    with person(browser, server, "安") as page:
        page.keyboard.press("n")
        page.keyboard.type("3 2 u 备注")
        page.keyboard.press("Escape")
        with page.expect_navigation():
            page.evaluate(
                "() => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Process', code: 'Digit2', bubbles: true}))"
            )
    line = json.loads((folder / "workbench" / "labels.jsonl").read_text().splitlines()[0])
    assert (line["by"], line["value"], line["note"]) == ("安", 2, "3 2 u 备注")


def test_two_browsers_at_once_lose_and_double_nothing(browser, work, stress):
    server, folder = work
    n = 60 if stress else 5
    with person(browser, server, "Ann") as ann, person(browser, server, "Bo") as bo:
        for i in range(n):
            for page in (ann, bo):
                press(page, str(i % 4))
        press(bo, "u")
        bo.wait_for_load_state("networkidle")
        ann.goto(f"{server.origin}{LABEL}/results")
        assert "100%" in ann.locator("table").first.inner_text()
    lines = [json.loads(line) for line in (folder / "workbench" / "labels.jsonl").read_text().splitlines()]
    given = [(one["by"], *one["item"]) for one in lines if one["undoes"] is None]
    assert len(given) == len(set(given)) == 2 * n
    assert [one["by"] for one in lines if one["undoes"]] == ["Bo"]


def test_rating_and_blind_pairs_need_no_mouse(browser, work):
    server, _ = work
    with person(browser, server, "Ann") as page:
        page.goto(f"{server.origin}/rate/{ALPHA}")
        for key in "yx4" * 3:
            press(page, key) if page.locator("[data-key=y]").count() or key == "4" else None
        page.wait_for_selector(".verdict.good")
        page.goto(f"{server.origin}/pairs/{ALPHA}/{BETA}")
        for key in ("ArrowLeft", "2", "b"):
            press(page, key)
        assert "alpha" in page.locator(".decision").inner_text()


@pytest.mark.parametrize(
    ("width", "scheme", "lang"), [(390, "light", "zh"), (390, "dark", "en"), (1440, "dark", "zh"), (1920, "light", "en")]
)  # fmt: skip
def test_every_page_fits_and_can_be_used_by_everybody(browser, work, width, scheme, lang, stress):
    if not stress and (width, scheme) not in {(390, "light"), (1440, "dark")}:
        pytest.skip("two of the four in the short run")
    server, _ = work
    with person(browser, server, "Ann", viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        if lang == "zh":
            with page.expect_navigation():
                page.get_by_role("button", name="中文").click()
        press(page, "2")
        found = {}
        for path in PAGES:
            page.goto(f"{server.origin}{path}")
            found[path] = faults_of_layout(page)
        assert found == {path: [] for path in PAGES}


def test_pages_print_without_what_can_only_be_pressed(browser, work):
    server, _ = work
    with person(browser, server, "Ann") as page:
        page.emulate_media(media="print")
        page.goto(f"{server.origin}/compare?r={OLD}&r={NEW}")
        assert page.locator(".decision").is_visible()
        assert not page.get_by_role("button").filter(visible=True).count()
        assert not page.locator(".rooms").is_visible()
