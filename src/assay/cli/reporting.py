"""Writing the report of what a command found out just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.evidence import Loaded
    from assay.analysis.report_data import Evidence
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.messages import Lang
    from assay.results.result import Result


def named(files: Sequence[str]) -> list[Loaded]:
    """Read result files; NAME=FILE renames the system of a file that has one."""
    from assay.analysis.evidence import load
    from assay.cli.options import named as split

    return [load(path, name=name) for name, path in map(split, files)]


def runs_of(places: Sequence[str]) -> dict[str, str]:
    """Files of runs by the systems they are of: NAME=FILE, or what the file is called."""
    from assay.cli.options import named as split
    from assay.formats.files import run_name

    return {name or run_name(path): path for name, path in map(split, places)}


def tell_written(text: str, place: str, lang: Lang) -> None:
    """Print a report that goes nowhere else, or say where it went."""
    from assay.messages import say, tell

    if place == "-":
        click.echo(text, nl=False)
    else:
        click.echo(tell(say("report.wrote", place=place), lang), err=True)


def write(results: Sequence[tuple[str, Result]], evidence: Evidence, place: str, *, lang: Lang = "en") -> None:
    """Write the report of results by their names, with what lies behind them."""
    from pathlib import Path

    from assay.analysis.evidence import Loaded
    from assay.formats.files import write_atomically
    from assay.report.writing import format_of, render_report

    loaded = [Loaded(result, name, Path(name).stem) for name, result in results]
    text = render_report(loaded, evidence, kind=format_of(None if place == "-" else place), lang=lang)
    if place != "-":
        write_atomically(place, text)
    tell_written(text, place, lang)


def write_fresh(
    result: Result, place: str | None, lang: Lang, *, judgments: Judgments | None = None,
    runs: Mapping[str, Run] | None = None,
) -> None:  # fmt: skip
    """Write the report of a result that was computed just now; nothing, if no place is given.

    One line for every command with `options.report`; the data behind the result makes the lists of the queries.
    """
    if place is None:
        return
    from assay.report.writing import write_report

    where = None if place == "-" else place
    tell_written(write_report(result, where, judgments=judgments, runs=runs or {}, lang=lang), place, lang)
