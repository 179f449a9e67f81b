"""Texts of others stay texts: in pages, in pictures, in terminals and in spreadsheets."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest

import assay
import reports
from assay.analysis.report_data import ReportEvidence, report_data
from assay.data.run import Run
from assay.formats.conversion import as_judgments
from assay.formats.queries import Queries
from assay.report import charts
from assay.report.document import write
from assay.report.intervals import picture
from assay.report.renderers import html
from assay.report.tables import Table
from assay.report.views.result import pages as report
from assay.results.result import InputFile, make_result
from assay.stats.intervals import Interval
from payloads import payloads

HOSTILE = payloads()
# Opens query after query and returns all that its view shows.
OPEN_ALL = """async (ids) => {
  const all = (selector) => Array.from(document.querySelectorAll("#query " + selector), (one) => one.textContent);
  const found = [];
  for (const id of ids) {
    const turned = new Promise((done) => window.addEventListener("hashchange", () => setTimeout(done, 0), { once: true }));
    location.hash = "query=" + encodeURIComponent(id);
    await turned;
    found.push({
      title: all("h2"), asked: all(".asked"), documents: all(".results .id"), texts: all(".results details p"),
      statements: all("mark"), evidence: all(".evidence q"), reasons: all(".statement .reason"), contexts: all(".contexts .text"),
      systems: all(".pane:not(.sample) h3"), elements: all(":is(script, img, iframe, a:not(.button))"),
    });
  }
  location.hash = "summary";
  return found;
}"""


def test_there_are_two_hundred_different_payloads():
    assert len(set(HOSTILE)) == 200


def question(text: str) -> str:
    return f"about {text}"


def document(text: str) -> str:
    return f"{text} and much more of it, so that the text is long enough to be opened by a click of the reader {text}"


@pytest.fixture(scope="module")
def hostile():
    """Report data with a payload in every text: query and document ids, texts, answers, labels, file names."""
    found = {query: {f"d{query}": 2, f"e{query}": 0} for query in HOSTILE}
    run = {query: {f"e{query}": 2.0, f"d{query}": 1.0} for query in HOSTILE}
    names = (HOSTILE[0], HOSTILE[5])
    scores = [
        assay.evaluate(found, run, ["ndcg@10"], name=names[0]),
        assay.evaluate(found, {q: {f"d{q}": 2.0, f"e{q}": 1.0} for q in HOSTILE}, ["ndcg@10"], name=names[1]),
    ]
    inputs = [InputFile("run", text, "0") for text in HOSTILE]
    result = make_result(systems=scores, command=HOSTILE[1], warnings=HOSTILE, inputs=inputs)
    samples = [
        {
            "query_id": text, "question": question(text), "answer": text, "method": "words", "stage_reason": text,
            "contexts": [{"id": text, "text": text}],
            "statements": [{"start": 0, "end": len(text), "support": 0.2, "context": 0, "evidence": text, "reason": text}],
        }
        for text in HOSTILE
    ]  # fmt: skip
    combinations = [
        {"name": text, "axes": {HOSTILE[4]: text}, "status": "done", "pareto": True, "latency_ms": {"p95": 1.0 + i},
         "quality": {HOSTILE[7]: {"mean": i / 200, "low": None, "high": None, "pvalue": None}}, "cost_per_query": None,
         "stages": [{"stage": text}]}
        for i, text in enumerate(HOSTILE)
    ]  # fmt: skip
    more = [
        reports.bare(answers={"samples": samples, "methods": dict.fromkeys(HOSTILE, 1), "agreement": {t: t for t in HOSTILE}}),
        reports.bare(experiment={"axes": {HOSTILE[4]: HOSTILE}, "baseline": HOSTILE[2], "winner": {"name": HOSTILE[4], "holdout": None},
                                 "combinations": combinations}),
        reports.bare(bench={"target": HOSTILE[4], "loads": [], "warnings": HOSTILE}),
        reports.bare(economics={"currency": HOSTILE[6], "costs": [{"method": t, "per_query": 1, "per_day": 1} for t in HOSTILE], "roi": None}),
    ]  # fmt: skip
    frame = pl.DataFrame(
        {"query_id": HOSTILE, "text": [question(t) for t in HOSTILE], HOSTILE[8]: [HOSTILE[i % 4] for i in range(200)]}
    )
    texts = {f"{letter}{query}": document(query) for query in HOSTILE for letter in "de"}
    runs = {name: Run.from_dict(run, name) for name in names}
    return report_data([result, *more], ReportEvidence(as_judgments(found), runs, texts, Queries(frame)))


@pytest.fixture(scope="module")
def page(browser, hostile, tmp_path_factory):
    file = tmp_path_factory.mktemp("hostile") / "report.html"
    file.write_text(html.page(report(hostile), title=HOSTILE[0], made=HOSTILE[1]), encoding="utf-8")
    with browser.open(file) as opened:
        yield opened


def texts(page, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "all => all.map(one => one.textContent)")


def whole(page, section: str, column: int, place: int = 0) -> set[str]:
    """All texts of a column of one of the section's tables, the first unless told, page by page."""
    go = """(to) => location.hash === "#" + to || new Promise((done) => {
        addEventListener("hashchange", () => setTimeout(done, 0), { once: true }); location.hash = to; })"""
    page.evaluate(go, section)
    grid = page.locator(f"#{section} .grid").nth(place)
    found = set()
    while True:
        found |= set(grid.locator(f":scope > .scroll tbody tr > :nth-child({column})").all_text_contents())
        more = grid.locator(":scope > .pager button").last
        if not more.is_visible() or more.is_disabled():
            return found
        shown = grid.locator(":scope > .pager [role=status]").text_content()
        more.click()
        while grid.locator(":scope > .pager [role=status]").text_content() == shown:
            page.wait_for_timeout(20)


def test_every_query_opens_and_shows_its_texts_as_given(page):
    assert page.title() == HOSTILE[0]
    place = page.evaluate(
        "Array.from(document.querySelectorAll('#queries .grid')).findIndex((one) => one.querySelector('.facets'))"
    )
    assert whole(page, "queries", 1, place) == set(HOSTILE)
    assert whole(page, "queries", 2, place) == set(map(question, HOSTILE))
    for text, shown in zip(HOSTILE, page.evaluate(OPEN_ALL, HOSTILE), strict=True):
        assert shown["title"] == [text]
        assert shown["asked"] == [question(text)]
        assert set(shown["documents"]) == {f"d{text}", f"e{text}"}
        assert set(shown["texts"]) == {document(text)}
        assert [shown[part] for part in ("statements", "evidence", "reasons", "contexts")] == [[text]] * 4
        assert shown["systems"] == [HOSTILE[0], HOSTILE[5]]
        assert shown["elements"] == []


@pytest.mark.parametrize(
    ("section", "column"), [("answers", 1), ("answers", 3), ("answers", 4), ("experiment", 1), ("speed", 1)]
)
def test_tables_show_texts_as_given(page, section, column):
    grids = page.locator(f"#{section} .grid").count()
    assert set(HOSTILE) <= set().union(*(whole(page, section, column, place) for place in range(grids)))


def test_lists_and_file_names_show_texts_as_given(page):
    assert set(HOSTILE) <= set(texts(page, "#input li"))
    assert set(HOSTILE) <= set(texts(page, "#speed li"))
    named = page.evaluate(
        "JSON.parse(document.querySelectorAll('#origin .grid')[1].querySelector('script').textContent)"
    )
    assert [row[1] for row in named] == HOSTILE


def test_nothing_of_it_became_an_element(page):
    assert (
        page.evaluate(
            "document.querySelectorAll('img, iframe, object, embed, base, form:not(.filters), video, math').length"
        )
        == 0
    )
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert page.evaluate("document.querySelectorAll('[onerror], [onload], [onclick], [onfocus], [style]').length") == 0


def test_two_hundred_system_names_are_shown_as_given(browser, tmp_path):
    found = {f"q{i}": {"d1": 1} for i in range(3)}
    scores = [
        assay.evaluate(found, {q: {"d1": 1.0, f"x{i}": float((i + j) % 2) * 2} for j, q in enumerate(found)}, ["ndcg@10"], name=text)
        for i, text in enumerate(HOSTILE)
    ]  # fmt: skip
    made = report_data([make_result(systems=scores, command="x")])
    file = tmp_path / "systems.html"
    pages = [page for page in report(made) if page.key in {"summary", "systems", "queries", "input", "origin"}]
    file.write_text(html.page(pages, title="systems"), encoding="utf-8")
    with browser.open(file) as page:
        assert whole(page, "systems", 1) == set(HOSTILE)
        heads = texts(page, "#queries .grid:has(.rows, .facets, a) thead th")
        assert heads[1:201] == HOSTILE
        drawn = set(texts(page, "#systems svg text"))
        assert sum(text[:42] in drawn for text in HOSTILE if text.isprintable()) > 150


def test_pictures_hold_nothing_but_drawing():
    chart = picture("x", HOSTILE[0], HOSTILE[6], {t: Interval(0.5, 0.4, 0.6, 0.95, "t", 9) for t in HOSTILE})
    drawn = charts.svg(chart)
    from xml.etree import ElementTree as ET

    elements = {element.tag.rpartition("}")[2] for element in ET.fromstring(drawn).iter()}
    assert elements <= {"svg", "g", "path", "rect", "line", "text", "tspan", "defs", "clipPath"}
    names = {name for element in ET.fromstring(drawn).iter() for name in element.attrib}
    assert not {name for name in names if name.startswith("on") or "href" in name or name == "style"}


def test_a_terminal_shows_no_control_and_no_bidi_character(hostile):
    for kind in ("table", "markdown", "latex"):
        shown = write(report(hostile), kind)
        assert not {char for char in shown if ord(char) < 32 and char != "\n"}
        assert not {
            char for char in shown if char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
        }
        assert not any(0x7F <= ord(char) <= 0x9F for char in shown)


def test_a_spreadsheet_runs_none_of_it():
    formulas = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", *HOSTILE]
    shown = write([Table(("=name", "value"), tuple((text, "-0.5") for text in formulas))], "csv")
    rows = list(csv.reader(io.StringIO(shown, newline="")))
    assert all(not cell.startswith(("=", "+", "@", "\t", "\r")) for row in rows for cell in row)
    assert [row[1] for row in rows[1:]] == ["-0.5"] * len(formulas)  # a number stays one
    assert [row[0].removeprefix("'") for row in rows[1:]] == [text.removeprefix("'") for text in formulas]


def test_all_pages_were_tried(hostile):
    assert [page.key for page in report(hostile)] == [
        "summary", "systems", "experiment", "queries", "slices", "answers", "speed", "input", "origin",
    ]  # fmt: skip
