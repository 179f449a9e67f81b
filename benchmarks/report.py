"""How large a report of many queries and systems is, how long it takes to write, and how long a browser to open it.

python benchmarks/report.py [QUERIES] [SYSTEMS]
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.analysis.evaluate import evaluate_run
from assay.analysis.report_data import ReportEvidence, report_data
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.report.document import write
from assay.report.views.result import pages
from assay.results.result import make_result

DEPTH = 20
WATCH = """() => {
  window.tasks = [];
  const keep = (list) => tasks.push(...list.getEntries().map((one) => one.duration));
  new PerformanceObserver(keep).observe({ type: "longtask" });
}"""
TABLE = "#queries .grid:has(.rows)"
ACTIONS = {
    "sort": f"document.querySelectorAll('{TABLE} thead button')[1].click()",
    "filter": "location.hash = 'queries&change=lost'",
    "search": f"{{ const field = document.querySelector('{TABLE} input[type=search]'); field.value = '77'; "
    "field.dispatchEvent(new Event('input', { bubbles: true })); }",
    "query": "document.querySelector('#queries tbody a').click()",
    "next query": "document.querySelectorAll('#query .query-head button')[1].click()",
}
RELEVANT = 5


def collection(queries: int, systems: int) -> tuple[Judgments, list[Run]]:
    """Five relevant documents a query, which better systems put higher."""
    rng = np.random.default_rng(0)
    ids = [f"q{i:05d}" for i in range(queries)]
    docs = rng.integers(0, 500_000, (queries, DEPTH))
    docs = np.array([np.unique(np.append(row, np.arange(DEPTH) + 500_000))[:DEPTH] for row in docs])
    names = np.char.add("document-", docs.astype(str))
    grades = (np.arange(DEPTH) < RELEVANT) * rng.integers(1, 3, (queries, DEPTH))
    column = np.repeat(ids, DEPTH)
    judged = pl.DataFrame({"query_id": column, "doc_id": names.ravel(), "grade": grades.ravel().astype(float)})
    runs = []
    for system in range(systems):
        scores = rng.normal(size=(queries, DEPTH)) + 0.1 * system * (grades > 0)
        frame = pl.DataFrame({"query_id": column, "doc_id": names.ravel(), "score": scores.ravel()})
        runs.append(Run(frame, f"system-{system}"))
    return Judgments.of(judged), runs


def opened(file: Path) -> dict[str, float]:
    """Milliseconds until the page is loaded and painted, and until a sort, a search and a query are done."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(f"{file.as_uri()}#queries", wait_until="load")
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        found = {"open": time.perf_counter() - start}
        tab.evaluate(WATCH)
        browser.start_tracing(page=tab, categories=["toplevel", "devtools.timeline"])
        for name, action in ACTIONS.items():
            start = time.perf_counter()
            tab.evaluate(
                f"() => {{ {action}; return new Promise(d => setTimeout(() => requestAnimationFrame(d), 0)); }}"
            )
            tab.wait_for_timeout(200)
            found[name] = time.perf_counter() - start - 0.2
        tab.wait_for_timeout(300)
        found["longest task"] = float(tab.evaluate("Math.max(0, ...tasks)")) / 1000
        found["longest task, processor"] = longest_task(json.loads(browser.stop_tracing()))
        found["shown"] = float(tab.evaluate("document.querySelectorAll('#query .results li').length"))
        browser.close()
    return found


def longest_task(trace: dict[str, Any]) -> float:
    """The most processor time, in seconds, of one task of the page's main thread: other work changes it little."""
    events = trace["traceEvents"]
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"].get("name") == "CrRendererMain"
    }
    own = [one for one in events if one.get("ph") == "X" and (one["pid"], one["tid"]) in mains]
    return max((one.get("tdur", 0) for one in own), default=0) / 1e6


def main() -> None:
    """Print the figures."""
    queries, systems = (int(text) for text in (*sys.argv[1:], "10000", "10")[:2])
    judgments, runs = collection(queries, systems)
    settings = Settings.of(judgments, ["ndcg@10", "recall@10", "reciprocal_rank"], "trec")
    scores = [evaluate_run(judgments, run, settings) for run in runs]
    result = make_result(systems=scores, command="assay evaluate qrels.txt *.run")
    start = time.perf_counter()
    found = report_data([result], ReportEvidence(judgments, {run.name: run for run in runs}))
    analysed = time.perf_counter()
    text = write(pages(found), "html", title="large")
    written = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(text, encoding="utf-8")
        print(f"{queries:,} queries x {systems} systems, 3 measures, lists of {DEPTH}")
        print(f"analysis {analysed - start:.1f} s, pages and charts {written - analysed:.1f} s")
        print(f"file {file.stat().st_size / 1e6:.2f} MB")
        shown = opened(file)
        print(
            f"opened in {shown['open']:.2f} s, sorted in {shown['sort']:.2f} s, filtered in {shown['filter']:.2f} s, "
            f"searched in {shown['search']:.2f} s, a query in {shown['query']:.2f} s, the next in "
            f"{shown['next query']:.2f} s; longest task after loading {shown['longest task']:.3f} s, of which "
            f"processor {shown['longest task, processor']:.3f} s (the longest by that)"
        )
        print(f"documents shown for the query: {shown['shown']:.0f}")


if __name__ == "__main__":
    main()
