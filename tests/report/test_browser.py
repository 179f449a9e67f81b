"""The report in a real browser: every page, both languages, light, dark, print, phone; nothing leaves the page."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest

import assay
import reports
from assay.analysis.report_data import ReportEvidence, report_data
from assay.data.run import Run
from assay.formats.conversion import as_judgments
from assay.messages import say
from assay.report.renderers import html
from assay.report.views.result import pages as report
from assay.results.result import make_result
from server.layout import cut_words

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PAGES = ["summary", "systems", "experiment", "queries", "slices", "answers", "speed", "input", "origin"]


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
def test_every_page_has_an_address_and_is_shown_alone(browser, files, lang):
    with browser.open(files / f"{lang}.html") as page:
        assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == [*PAGES, "query"]
        for name in PAGES:
            page.click(f".pages a[href='#{name}']")
            until(page, f"document.querySelector('.now').id === {name!r}")
            visible = page.eval_on_selector_all(
                "main > section", "all => all.filter(one => one.getClientRects().length).map(one => one.id)"
            )
            assert visible == [name]
            assert page.get_attribute(f".pages a[href='#{name}']", "aria-current") == "page"
        page.go_back()
        until(page, f"document.querySelector('.now').id === {PAGES[-2]!r}")
        assert page.evaluate("document.documentElement.lang") == ("en" if lang == "en" else "zh-CN")
        assert page.locator("h1").inner_text() == ("all: evaluation report" if lang == "en" else "all：评测报告")


def test_the_first_screen_has_a_decision_a_figure_a_chart_and_what_to_do(browser, files):
    with browser.open(files / "en.html", viewport={"width": 1440, "height": 900}) as page:
        parts = [".said", ".figure.large .value", ".figure.large .interval", ".decision figure.chart svg", ".steps li"]
        boxes = [page.locator(f"#summary {part}").first.bounding_box() for part in parts]
        assert all(box["y"] + box["height"] <= 900 and box["x"] + box["width"] <= 1440 for box in boxes)
        found = assay.compare(reports.scores())
        change = found.leading_contrast("ndcg@10").difference
        assert page.inner_text("#summary .figure.large .value") == f"{change.estimate:+.4f}"
        assert f"[{change.low:+.4f}, {change.high:+.4f}]" in page.inner_text("#summary .figure.large .interval")


DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def until(page, condition: str) -> None:
    """Wait for a condition; the page's policy does not let the driver do so by itself."""
    for _ in range(100):
        if page.evaluate(condition):
            page.evaluate(DRAWN)  # the address changes before the page follows it
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {condition}")


def column(page, table: str, place: int) -> list[str]:
    return page.eval_on_selector_all(f"{table} tbody tr", f"rows => rows.map(row => row.cells[{place}].textContent)")


def ids(page) -> list[str]:
    return column(page, "#queries .grid:has(.facets)", 0)


def test_a_table_is_sorted_by_numbers_and_by_texts(browser, files):
    with browser.open(files / "en.html#queries") as page:
        table = "#queries .grid:has(.facets)"
        before = [float(text) for text in column(page, table, 2)]
        page.click(f"{table} thead th:nth-child(3) button")
        until(page, "location.hash === '#queries&sort=-3'")
        assert [float(text) for text in column(page, table, 2)] == sorted(before, reverse=True)
        assert page.get_attribute(f"{table} thead th:nth-child(3)", "aria-sort") == "descending"
        page.click(f"{table} thead th:nth-child(3) button")
        until(page, "location.hash === '#queries&sort=3'")
        assert [float(text) for text in column(page, table, 2)] == sorted(before)
        page.click(f"{table} thead th:nth-child(1) button")
        until(page, "location.hash === '#queries&sort=1'")
        assert ids(page) == sorted(reports.QUERIES)
        assert page.get_attribute(f"{table} thead th:nth-child(3)", "aria-sort") is None


def test_filters_stand_in_the_address_and_go_back(browser, files):
    values = {one.name: one.per_query()["ndcg@10"].to_list() for one in reports.scores()}
    system = assay.compare(reports.scores()).leading_contrast("ndcg@10").system
    pairs = list(zip(reports.QUERIES, values["first"], values[system], strict=True))
    lost = {query for query, before, after in pairs if after < before}
    changed = {query for query, before, after in pairs if after != before}
    long = {query for i, query in enumerate(reports.QUERIES) if not i % 3}
    with browser.open(files / "en.html#queries&change=lost") as page:
        assert set(ids(page)) == lost and lost
        page.select_option("#queries .filters select >> nth=0", "changed")
        until(page, "location.hash === '#queries&change=changed'")
        assert set(ids(page)) == changed
        page.select_option("#queries .filters select >> nth=-1", "long")
        until(page, "location.hash.includes('is.kind=long')")
        assert set(ids(page)) == changed & long
        assert page.inner_text("#queries .state") == f"{len(changed & long)} of {len(reports.QUERIES)}"
        page.go_back()
        until(page, "location.hash === '#queries&change=changed'")
        assert set(ids(page)) == changed
        page.click("#queries .filters button.quiet")
        until(page, "location.hash === '#queries'")
        assert set(ids(page)) == set(reports.QUERIES)


def test_what_is_shown_is_exported(browser, files):
    with browser.open(files / "en.html#queries&find=question+1") as page:
        page.evaluate("location.hash = 'queries&find=question%201%2C'")
        until(page, "document.querySelectorAll('#queries .grid:has(.facets) tbody tr').length === 1")
        with page.expect_download() as waiting:
            page.click("#queries button.export")
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text)))
        assert waiting.value.suggested_filename == "assay-queries.csv"
        assert rows[0][:3] == ["query", "text", "first"] and len(rows) == 2
        expected = next(one for one in reports.scores() if one.name == "first")
        assert rows[1][:3] == ["q01", reports.QUERIES["q01"], f"{expected.per_query()['ndcg@10'].to_list()[0]:.4f}"]


def test_a_table_is_searched(browser, files):
    with browser.open(files / "en.html#queries") as page:
        rows = "document.querySelectorAll('#queries .grid:has(.facets) tbody tr')"
        page.fill("#queries .filter", "QUESTION 12,")
        until(page, f"{rows}.length === 1")
        assert ids(page) == ["q12"]
        page.fill("#queries .filter", "nothing has this")
        until(page, f"{rows}[0].textContent === 'No row matches.'")
        page.fill("#queries .filter", "")
        until(page, f"{rows}.length === {len(reports.QUERIES)}")


def test_long_tables_come_page_by_page_and_are_sorted_whole(browser, files):
    with browser.open(files / "long.html#queries") as page:
        table = "#queries .grid:has(.rows)"
        assert len(column(page, table, 0)) == 50
        assert page.inner_text(f"{table} .pager [role=status]") == "1 to 50 of 730"
        assert page.is_disabled(f"{table} .pager button:first-child")
        page.click(f"{table} thead th:first-child button")
        until(page, f"document.querySelector('{table} tbody th').textContent === 'q0000'")
        assert column(page, table, 0) == [f"q{i:04d}" for i in range(50)]
        page.click(f"{table} .pager button:last-child")
        until(page, f"document.querySelector('{table} tbody th').textContent === 'q0050'")
        page.fill("#queries .filter", "q0729")
        until(page, f"document.querySelectorAll('{table} tbody tr').length === 1")
        page.click(f"{table} tbody a")
        until(page, "document.querySelector('#query h2')?.textContent === 'q0729'")
        assert "lists" not in page.inner_text("#query").lower(), (
            "lists of so many queries are given for those at the ends"
        )


def test_a_query_shows_lists_grades_and_moves_side_by_side(browser, files):
    first = sorted(reports.run(2)["q05"].items(), key=lambda pair: (-pair[1], pair[0]))
    second = sorted(reports.run(3)["q05"].items(), key=lambda pair: (-pair[1], pair[0]))
    ranks = {doc: rank for rank, (doc, _) in enumerate(first)}
    with browser.open(files / "en.html#queries&sort=1") as page:
        page.click("#queries .grid:has(.facets) tbody tr:nth-child(5) a")
        until(page, "location.hash === '#query=q05&sort=1'")
        assert page.inner_text("#query h2") == "q05"
        assert page.inner_text("#query .asked") == reports.QUERIES["q05"]
        values = [scores.per_query().row(by_predicate=pl.col("query_id") == "q05")[1:] for scores in reports.scores()]
        shown = page.eval_on_selector_all("#query tbody td", "all => all.map(e => e.textContent)")
        assert shown == [f"{value:.4f}" for row in values for value in row]
        assert page.eval_on_selector_all("#query .pane h3", "all => all.map(e => e.textContent)") == [
            "first",
            "second",
            "third",
        ]
        lists = page.eval_on_selector_all(
            "#query .results", "all => all.map(one => Array.from(one.querySelectorAll('.id'), e => e.textContent))"
        )
        assert lists[:2] == [[doc for doc, _ in first], [doc for doc, _ in second]]
        grades = reports.judgments()["q05"]
        shown = page.eval_on_selector_all("#query .pane:first-child .grade", "all => all.map(e => e.textContent)")
        assert shown == [str(grades.get(doc, "?")) for doc, _ in first]
        moves = page.eval_on_selector_all("#query .pane:nth-child(2) .move", "all => all.map(e => e.textContent)")
        expected = [ranks[doc] - i for i, (doc, _) in enumerate(second)]
        assert moves == ["=" if m == 0 else f"▲{m}" if m > 0 else f"▼{-m}" for m in expected]
        page.click("#query .results details summary >> nth=0")
        assert page.text_content("#query .results details p >> nth=0") == reports.DOCUMENTS[first[0][0]]


def test_one_goes_from_query_to_query_within_the_filter_by_keyboard(browser, files):
    with browser.open(files / "en.html#queries&change=lost&sort=1") as page:
        listed = ids(page)
        page.focus("#queries .grid:has(.facets) tbody a")
        page.keyboard.press("Enter")
        until(page, f"document.querySelector('#query h2')?.textContent === {listed[0]!r}")
        page.keyboard.press("ArrowRight")
        until(page, f"document.querySelector('#query h2').textContent === {listed[1]!r}")
        page.keyboard.press("Escape")
        until(page, "location.hash === '#queries&change=lost&sort=1'")
        assert ids(page) == listed
        page.evaluate("location.hash = 'query=nobody'")
        until(page, "document.querySelector('#query .empty')?.textContent === 'This query is not in this report.'")


def test_charts_tell_what_is_under_the_pointer_and_lead_to_it(browser, files):
    with browser.open(files / "en.html#queries") as page:
        mark = page.locator("#queries figure.narrow svg [data-p]").nth(3)
        number = int(mark.get_attribute("data-p"))
        told = page.evaluate("JSON.parse(document.querySelector('#queries figure.narrow .tips').textContent)")
        box = mark.bounding_box()
        where = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*where)
        until(page, "!document.getElementById('tip').hidden")
        assert any(page.inner_text("#tip").startswith(one[0]) for one in told)
        assert told[number][2].startswith("query=q")
        page.mouse.click(*where)
        until(page, "location.hash.startsWith('#query=q')")


def test_an_answer_shows_its_statements_coloured_with_their_evidence(browser, files):
    with browser.open(files / "en.html#answers") as page:
        page.click("#answers tbody a >> nth=0")
        until(page, "location.hash.startsWith('#query=')")
        marks = page.eval_on_selector_all("#query .answer mark", "all => all.map(e => [e.textContent, e.className])")
        given = reports.ANSWERS["samples"][0]["statements"]
        tones = ["good", "warn", "bad"]
        assert marks == [[reports.ANSWER[s["start"] : s["end"]], tone] for s, tone in zip(given, tones, strict=True)]
        told = page.inner_text("#query .statements")
        assert "Steep oolong for three minutes." in told and "nothing says so" in told
        page.click("#query .contexts summary")
        assert page.inner_text("#query .contexts .text >> nth=1") == "Use hot water."


def colour(page, selector: str, name: str) -> tuple[float, ...]:
    found = page.evaluate("([s, n]) => getComputedStyle(document.querySelector(s))[n]", [selector, name])
    return tuple(float(part) for part in re.findall(r"[\d.]+", found))[:3]


def test_dark_mode_follows_the_system_and_the_switch(browser, files):
    for scheme, dark in (("light", False), ("dark", True)):
        with browser.open(files / "en.html", color_scheme=scheme) as page:
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is dark
            assert (sum(colour(page, "#systems figure svg", "color")) > 500) is dark
            page.click("#theme")
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is not dark
            page.click("#theme")
            assert (sum(colour(page, "body", "backgroundColor")) < 200) is dark


def test_print_leaves_out_what_only_a_screen_can_do(browser, files, tmp_path):
    with browser.open(files / "en.html", color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert not page.is_visible(".pages")
        assert all(page.is_visible(f"#{name} h2") for name in PAGES[1:]), "paper has all pages"
        assert not page.is_visible("#theme")
        assert colour(page, "body", "backgroundColor") == (255, 255, 255)
        assert page.is_visible("#systems table")
        made = page.pdf(format="A4")
        assert made.startswith(b"%PDF") and made.count(b"/Type /Page") > 3


@pytest.mark.parametrize(("lang", "wide"), [("en", 390), ("zh", 390), ("en", 768), ("zh", 1920)])
def test_no_page_scrolls_sideways(browser, files, lang, wide):
    more = PHONE if wide == PHONE["viewport"]["width"] else {"viewport": {"width": wide, "height": 900}}
    with browser.open(files / f"{lang}.html", **more) as page:
        for name in (*PAGES, "query=q01"):
            page.evaluate(f"location.hash = {name!r}")
            until(page, f"document.querySelector('.now').id === {name.partition('=')[0]!r}")
            assert page.evaluate("document.documentElement.scrollWidth") <= wide, name
            assert cut_words(page) == [], name
            assert page.evaluate("getComputedStyle(document.querySelector('main')).outlineStyle") == "none", name


def test_charts_hold_chinese_texts_as_texts(browser, files):
    with browser.open(files / "zh.html") as page:
        texts = page.eval_on_selector_all("#speed svg text", "all => all.map(e => e.textContent)")
        assert "调用数" in texts
        assert page.locator("#speed svg").first.get_attribute("aria-label").startswith("吞吐量")


@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_no_serious_violation(browser, files, lang, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with browser.open(files / f"{lang}.html", color_scheme=scheme) as page:
        for name in (*PAGES, "query=q01"):
            page.evaluate(f"location.hash = {name!r}")
            until(page, f"document.querySelector('.now').id === {name.partition('=')[0]!r}")
            found = axe.Axe().run(page).response["violations"]
            serious = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in {"serious", "critical"}]
            assert serious == [], name


def test_without_scripts_the_report_is_still_complete(browser, files):
    context = browser.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((files / "en.html").as_uri())
    assert "need JavaScript" in page.inner_text("noscript")
    assert all(page.is_visible(f"#{name} h2") for name in PAGES[1:])
    assert len(page.query_selector_all("#queries .grid:has(.facets) tbody tr")) == len(reports.QUERIES)
    context.close()
