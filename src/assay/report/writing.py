"""Reports of results: one page with everything that they hold, as a file or as text."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.evidence import find_evidence, load_all
from assay.analysis.redaction import redact as redact_result
from assay.analysis.redaction import redact_evidence
from assay.analysis.report_data import report_data
from assay.errors import UsageError
from assay.formats.files import check_outputs, write_atomically
from assay.messages import say
from assay.report.document import REPORTS, write
from assay.report.views.result import pages, title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.analysis.evidence import LoadedResult
    from assay.analysis.report_data import ReportEvidence
    from assay.data.record import Record
    from assay.formats.queries import Queries
    from assay.messages import Lang

Place = str | os.PathLike[str]


def write_report(
    results: LoadedResult | Record | Place | Iterable[LoadedResult | Record | Place],
    place: Place | None = None,
    *,
    judgments: Any = None,
    runs: Mapping[str, Any] | Iterable[Any] = (),
    documents: Mapping[str, str] | Place | None = None,
    queries: Queries | Place | None = None,
    title: str | None = None,
    kind: str | None = None,
    lang: Lang = "en",
    redact: bool = False,
) -> str:
    """Write a report of results, and return its text; without a place, only that.

    `results` are records or result files, one or several; the suffix of `place` (.html, .md, .tex, .txt) says what is
    written, or `kind` (html, markdown, latex, table). The lists of each query are shown where the `judgments` and the
    `runs` (by system, or called as it) are given, or lie unchanged beside a result file that names them; `documents`
    and `queries` are their texts, by id or files of them. With `redact`, texts of questions, documents and answers are
    left out; ids and numbers are kept.

    >>> import assay
    >>> judged, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    >>> scores = assay.evaluate(judged, run, ["map"], name="bm25")
    >>> "bm25" in assay.write_report(scores, judgments=judged, runs={"bm25": run}, kind="markdown")
    True
    """
    kind = kind or format_of(place)
    loaded = load_all(results)
    evidence = find_evidence(loaded, judgments=judgments, runs=runs, documents=documents, queries=queries)
    if place is not None:
        check_outputs([place], [*(one.file for one in loaded), *evidence.files])
    if redact:
        loaded = [replace(one, result=redact_result(one.result)) for one in loaded]
        evidence = redact_evidence(evidence)
    text = render_report(loaded, evidence, kind=kind, title=title, lang=lang)
    if place is not None:
        write_atomically(place, text)
    return text


def format_of(place: Place | None) -> str:
    """The format that a report will have by the suffix of its file; HTML where there is none."""
    if place is None:
        return "html"
    found = REPORTS.get(Path(place).suffix.lower())
    if found is None:
        raise UsageError(
            say("cannot tell the format of {place!r}: use {suffixes}", place=os.fspath(place), suffixes=list(REPORTS))
        )
    return found


def render_report(
    results: Sequence[LoadedResult],
    evidence: ReportEvidence,
    *,
    kind: str = "html",
    title: str | None = None,
    lang: Lang = "en",
) -> str:
    """Make a report from results and the data behind them."""
    heading = title or title_of([one.result for one in results], [one.title for one in results if one.title])
    days = list(dict.fromkeys(one.result.origin.day for one in results if one.result.origin.day))
    files = [one.name for one in results if one.name]
    of_files, alone = ("made_of", "made_on") if days else ("made", "made_here")
    key = f"page.{of_files if files else alone}"
    made = say(key, version=version("assay-eval"), files=files, days=days)
    return write(pages(report_data([one.result for one in results], evidence)), kind, lang, title=heading, made=made)
