"""`assay check`: what is wrong or doubtful in the input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from assay.cli.options import emit, format_for, named, with_progress, written

if TYPE_CHECKING:
    from assay.results.check import InputCheck

_HELP = """Look for trouble in JUDGMENTS and RUNs before it becomes a number. Exits with 1 if anything is found.

\b
assay check qrels.txt bm25.run dense.run
assay check qrels.txt bm25.run --format json
"""


@click.command(name="check", help=_HELP)
@click.argument("judgments")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option("--input-format", metavar="FORMAT", help="trec, json, jsonl, csv, tsv, parquet or beir.")
@click.option("--split", default="test", show_default=True, help="Split of a BEIR folder.")
@click.option("--format", "kind", type=click.Choice(["table", "json", "markdown", "csv"]), help="Output format.")
@written("--output", "-o", help="Write to a file instead.")
def command(
    *, judgments: str, runs: tuple[str, ...], input_format: str | None, split: str, kind: str | None, output: str | None
) -> None:
    """Check and print the findings."""
    from assay.analysis.check import check

    paths = [named(text)[1] for text in runs]
    found = check(judgments, with_progress(paths, "checking"), kind=input_format, split=split)
    known = {".json": "json", ".md": "markdown", ".csv": "csv", ".txt": "table"}
    emit(_shown(found, kind or format_for(output, known)), output)
    if not found.clean:
        sys.exit(1)


def _shown(found: InputCheck, kind: str) -> str:
    from assay.report.show import show
    from assay.report.views.check import lines

    if kind == "json":
        from assay.results.codec import encode, write_json

        return write_json({"schema": 1, "findings": encode(found.findings)}) + "\n"
    return lines(found) if kind == "table" else show(found, kind)
