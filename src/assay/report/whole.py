"""A whole report: the pages of a report_data in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.report.sections import (
    answers,
    curves,
    differences,
    experiment,
    latency,
    money,
    origin,
    queries,
    slices,
    summary,
    systems,
)

if TYPE_CHECKING:
    from assay.analysis.report_data import ReportData
    from assay.report.blocks import Section


def report(found: ReportData) -> list[Section]:
    """Make all pages that the results have something for."""
    samples = answers.samples(found)
    verdicts = [experiment.verdict(found), answers.verdict(samples), latency.verdict(found), money.verdict(found)]
    pages = [
        summary.section(found, [verdict for verdict in verdicts if verdict is not None]),
        systems.section(found),
        experiment.section(found),
        curves.section(found),
        differences.section(found),
        queries.section(found, samples),
        slices.section(found),
        answers.section(found, samples),
        latency.section(found),
        money.section(found),
        origin.checks(found),
        origin.provenance(found),
    ]
    return [page for page in pages if page is not None]
