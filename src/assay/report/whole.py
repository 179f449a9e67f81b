"""A whole report: the pages of a report_data in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import InputError
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
    try:
        return _pages(found)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if not any(found.extras.values()):
            raise  # scores were checked when they were read: this is a fault of ours
        raise InputError(f"a result file is damaged: {type(error).__name__} {error}") from error


def _pages(found: ReportData) -> list[Section]:
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
