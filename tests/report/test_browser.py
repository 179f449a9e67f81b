"""The report in a real browser: every page, both languages, light, dark, print, phone; nothing leaves the page."""

from __future__ import annotations

import re

import polars as pl
import pytest

import reports
from assay.analysis.report_data import ReportEvidence, report_data
from assay.data.run import Run
from assay.formats.conversion import as_judgments
from assay.messages import say
from assay.report.renderers import html
from assay.report.views.result import pages as report
from assay.results.result import make_result

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PAGES = [
    "summary", "systems", "experiment", "curves", "differences", "queries", "slices", "answers", "latency", "money", "checks",
    "origin",
]  # fmt: skip


def evidence():
    from assay.formats.queries import Queries

    kinds = ["short" if i % 3 else "long" for i in range(len(reports.QUERIES))]
    frame = pl.DataFrame({"query_id": list(reports.QUERIES), "text": list(reports.QUERIES.values()), "kind": kinds})
    runs = {name: Run.from_dict(reports.run(i + 2), name) for i, name in enumerate(("first", "second", "third"))}
    return ReportEvidence(as_judgments(reports.judgments()), runs, reports.DOCUMENTS, Queries(frame))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The full report in both languages, and one with long tables."""
    folder = tmp_path_factory.mktemp("reports")
    pages = report(report_data(reports.everything(), evidence()))
    for lang in ("en", "zh"):
        text = html.page(pages, title=say("page.title", name="all"), made="made by hand", lang=lang)
        (folder / f"{lang}.html").write_text(text, encoding="utf-8")
    many = {f"q{i:04d}": f"question {i}" for i in range(730)}
    result = make_result(systems=reports.scores(("one", "two"), ("ndcg@10",), many), command="assay evaluate x")
    (folder / "long.html").write_text(html.page(report(report_data([result])), title="long"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_page_is_there_and_leads_to_itself(browser, files, lang):
    with browser.open(files / f"{lang}.html") as page:
        assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == PAGES
        for name in PAGES:
            page.click(f"nav a[href='#{name}']")
            assert page.locator(f"#{name} h2").is_visible()
            assert page.evaluate("location.hash") == f"#{name}"
        assert page.evaluate("document.documentElement.lang") == ("en" if lang == "en" else "zh-CN")
        assert page.locator("h1").inner_text() == ("all: evaluation report" if lang == "en" else "all：评测报告")


def until(page, condition: str) -> None:
    """Wait for a condition; the page's policy does not let the driver do so by itself."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {condition}")


def column(page, table: str, place: int) -> list[str]:
    return page.eval_on_selector_all(f"{table} tbody tr", f"rows => rows.map(row => row.cells[{place}].textContent)")


def test_a_table_is_sorted_by_numbers_and_by_texts(browser, files):
    with browser.open(files / "en.html") as page:
        table = "#queries .grid"
        before = [float(text) for text in column(page, table, 2)]
        page.click(f"{table} thead th:nth-child(3) button")
        assert [float(text) for text in column(page, table, 2)] == sorted(before, reverse=True)
        assert page.get_attribute(f"{table} thead th:nth-child(3)", "aria-sort") == "descending"
        page.click(f"{table} thead th:nth-child(3) button")
        assert [float(text) for text in column(page, table, 2)] == sorted(before)
        page.click(f"{table} thead th:nth-child(1) button")
        assert column(page, table, 0) == sorted(reports.QUERIES)
        assert page.get_attribute(f"{table} thead th:nth-child(3)", "aria-sort") is None


def test_a_table_is_searched(browser, files):
    with browser.open(files / "en.html") as page:
        page.fill("#queries .filter", "QUESTION 12,")
        until(page, "document.querySelectorAll('#queries tbody tr').length === 1")
        assert column(page, "#queries .grid", 0) == ["q12"]
        page.fill("#queries .filter", "nothing has this")
        until(page, "document.querySelector('#queries tbody').textContent === 'No row matches.'")
        page.fill("#queries .filter", "")
        until(page, f"document.querySelectorAll('#queries tbody tr').length === {len(reports.QUERIES)}")


def test_long_tables_come_page_by_page_and_are_sorted_whole(browser, files):
    with browser.open(files / "long.html") as page:
        assert len(column(page, "#queries .grid", 0)) == 50
        assert page.inner_text("#queries .pager [role=status]") == "1 to 50 of 730"
        assert page.is_disabled("#queries .pager button:first-child")
        page.click("#queries thead th:first-child button")
        assert column(page, "#queries .grid", 0) == [f"q{i:04d}" for i in range(50)]
        page.click("#queries .pager button:last-child")
        assert column(page, "#queries .grid", 0)[0] == "q0050"
        page.fill("#queries .filter", "q0729")
        until(page, "document.querySelectorAll('#queries tbody tr').length === 1")
        for _ in range(20):  # a row that is drawn again while it is clicked does not open
            page.click("#queries tbody a")
            if page.locator("dialog[open]").count():
                break
        assert page.inner_text("dialog h2") == "q0729"


def test_a_query_is_three_clicks_away_and_shows_lists_grades_and_moves(browser, files):
    first = sorted(reports.run(2)["q05"].items(), key=lambda pair: (-pair[1], pair[0]))
    second = sorted(reports.run(3)["q05"].items(), key=lambda pair: (-pair[1], pair[0]))
    ranks = {doc: rank for rank, (doc, _) in enumerate(first)}
    with browser.open(files / "en.html") as page:
        page.click("nav a[href='#queries']")
        page.click("#queries thead th:nth-child(1) button")
        page.click("#queries tbody tr:nth-child(5) a")
        assert page.inner_text("dialog h2") == "q05"
        assert page.inner_text("dialog .asked >> nth=0") == reports.QUERIES["q05"]
        values = [scores.per_query().row(by_predicate=pl.col("query_id") == "q05")[1:] for scores in reports.scores()]
        shown = page.eval_on_selector_all("dialog tbody td", "all => all.map(e => e.textContent)")
        assert shown == [f"{value:.4f}" for row in values for value in row]
        lists = page.eval_on_selector_all(
            "dialog .lists section",
            "all => all.map(one => Array.from(one.querySelectorAll('.doc .id'), e => e.textContent))",
        )
        assert lists[0] == [doc for doc, _ in first]
        assert lists[1] == [doc for doc, _ in second]
        grades = reports.judgments()["q05"]
        shown = page.eval_on_selector_all(
            "dialog .lists section:first-child .grade", "all => all.map(e => e.textContent)"
        )
        assert shown == [str(grades.get(doc, "?")) for doc, _ in first]
        moves = page.eval_on_selector_all(
            "dialog .lists section:nth-child(2) .move", "all => all.map(e => e.textContent)"
        )
        expected = [ranks[doc] - i for i, (doc, _) in enumerate(second)]
        assert moves == ["=" if m == 0 else f"▲{m}" if m > 0 else f"▼{-m}" for m in expected]
        page.click("dialog .lists details summary >> nth=0")
        assert page.text_content("dialog .lists details p >> nth=0") == reports.DOCUMENTS[first[0][0]]


def test_the_drill_down_works_by_keyboard_and_address(browser, files):
    with browser.open(files / "en.html") as page:
        page.focus("#queries tbody a")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open]")
        opened = page.inner_text("dialog h2")
        page.click("dialog button[aria-label='Next query']")
        until(page, f"document.querySelector('dialog h2').textContent !== {opened!r}")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog:not([open])", state="attached")
        assert page.evaluate("location.hash") == "#queries"
        page.evaluate("location.hash = 'q=q07'")
        page.wait_for_selector("dialog[open]")
        assert page.inner_text("dialog h2") == "q07"


def test_an_answer_shows_its_statements_coloured_with_their_evidence(browser, files):
    with browser.open(files / "en.html") as page:
        page.click("#answers tbody a >> nth=0")
        marks = page.eval_on_selector_all("dialog mark", "all => all.map(e => [e.textContent, e.className])")
        given = reports.ANSWERS["samples"][0]["statements"]
        tones = ["good", "warn", "bad"]
        assert marks == [[reports.ANSWER[s["start"] : s["end"]], tone] for s, tone in zip(given, tones, strict=True)]
        assert "Steep oolong for three minutes." in page.inner_text("dialog .sample table")
        assert "nothing says so" in page.inner_text("dialog .sample table")
        page.click("dialog .contexts summary")
        assert page.inner_text("dialog .contexts .text >> nth=1") == "Use hot water."


def colour(page, selector: str, name: str) -> tuple[float, ...]:
    found = page.evaluate("([s, n]) => getComputedStyle(document.querySelector(s))[n]", [selector, name])
    return tuple(float(part) for part in re.findall(r"[\d.]+", found))[:3]


def test_dark_mode_follows_the_system_and_the_switch(browser, files):
    for scheme, dark in (("light", False), ("dark", True)):
        with browser.open(files / "en.html", color_scheme=scheme) as page:
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is dark
            assert (sum(colour(page, "figure svg", "color")) > 500) is dark
            page.click("#theme")
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is not dark
            page.click("#theme")
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is dark


def test_print_leaves_out_what_only_a_screen_can_do(browser, files, tmp_path):
    with browser.open(files / "en.html", color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert not page.is_visible("nav")
        assert not page.is_visible("#theme")
        assert colour(page, "body", "backgroundColor") == (255, 255, 255)
        assert page.is_visible("#systems table")
        made = page.pdf(format="A4")
        assert made.startswith(b"%PDF") and made.count(b"/Type /Page") > 3


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_phone_shows_the_report_without_scrolling_sideways(browser, files, lang):
    with browser.open(files / f"{lang}.html", **PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.tap("#queries tbody a >> nth=0")
        box = page.locator("dialog").bounding_box()
        assert box["width"] <= 390 and page.inner_text("dialog h2")


def test_charts_hold_chinese_texts_as_texts(browser, files):
    with browser.open(files / "zh.html") as page:
        texts = page.eval_on_selector_all("#latency svg text", "all => all.map(e => e.textContent)")
        assert "调用数" in texts
        assert page.locator("#latency svg").first.get_attribute("aria-label").startswith("吞吐量")


@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_no_serious_violation(browser, files, lang, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with browser.open(files / f"{lang}.html", color_scheme=scheme) as page:
        for step in ("page", "query"):
            if step == "query":
                page.evaluate("location.hash = 'q=q01'")
                page.wait_for_selector("dialog[open]")
            found = axe.Axe().run(page).response["violations"]
            serious = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in {"serious", "critical"}]
            assert serious == [], step


def test_without_scripts_the_report_is_still_complete(browser, files):
    context = browser.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((files / "en.html").as_uri())
    assert "need JavaScript" in page.inner_text("noscript")
    assert len(page.query_selector_all("#queries tbody tr")) == len(reports.QUERIES)
    context.close()
