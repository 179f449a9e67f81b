"""Writing the report of what a command found out just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import language, options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.evidence import LoadedResult
    from assay.analysis.report_data import ReportEvidence
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.results.result import Result


def load_named(files: Sequence[str]) -> list[LoadedResult]:
    """Read result files; NAME=FILE renames the system of a file that has one."""
    from assay.analysis.evidence import load

    return [load(path, name=name) for name, path in map(options.split_name, files)]


def runs_of(places: Sequence[str]) -> dict[str, str]:
    """Files of runs by the systems they are of: NAME=FILE, or what the file is called."""
    from assay.formats.files import run_name

    return {name or run_name(path): path for name, path in map(options.split_name, places)}


def hand_over(text: str, place: str) -> None:
    """Print a report that goes nowhere else, or say where it went."""
    if place == "-":
        click.echo(text, nl=False)
    else:
        options.tell_written(place)


def write(
    results: Sequence[tuple[str, Result]], evidence: ReportEvidence, place: str, *, title: str = "", quiet: bool = False
) -> None:
    """Write the report of results by their names, with the data behind them; with `quiet`, without a message."""
    from pathlib import Path

    from assay.analysis.evidence import LoadedResult
    from assay.formats.files import write_atomically
    from assay.report.writing import format_of, render_report

    loaded = [LoadedResult(result, name, Path(name).stem) for name, result in results]
    kind = format_of(None if place == "-" else place)
    text = render_report(loaded, evidence, kind=kind, title=title, lang=language.current())
    if place != "-":
        write_atomically(place, text)
    if not quiet:
        hand_over(text, place)


def write_fresh(
    result: Result, place: str | None, *, judgments: Judgments | None = None, runs: Mapping[str, Run] | None = None
) -> None:
    """Write the report of a result that was computed just now; nothing, if no place is given.

    One line for every command with `options.Output`; the data behind the result makes the lists of the queries.
    """
    if place is None:
        return
    from assay.report.writing import write_report

    where = None if place == "-" else place
    text = write_report(result, where, judgments=judgments, runs=runs or {}, lang=language.current())
    hand_over(text, place)
