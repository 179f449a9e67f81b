"""`assay check`: what is wrong or doubtful in the input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from assay.cli.options import emit, format_for, named, with_progress, written

if TYPE_CHECKING:
    from assay.analysis.check import Finding

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
    from assay.analysis.check import check_judgments, check_pair, check_run
    from assay.formats.raw import raw_judgments, raw_run

    judged = raw_judgments(judgments, kind=input_format, split=split)
    found: list[Finding] = check_judgments(judged, judgments)
    for text in with_progress(runs, "checking"):
        path = named(text)[1]
        run = raw_run(path, kind=None if input_format == "beir" else input_format)
        found += [*check_run(run, path), *check_pair(judged, run, path)]
    known = {".json": "json", ".md": "markdown", ".csv": "csv", ".txt": "table"}
    emit(_shown(found, kind or format_for(output, known)), output)
    if found:
        sys.exit(1)


def _shown(found: list[Finding], kind: str) -> str:
    if kind == "json":
        import json
        from dataclasses import asdict

        return (
            json.dumps({"schema": 1, "findings": [asdict(item) for item in found]}, ensure_ascii=False, indent=1) + "\n"
        )
    from assay.errors import clean
    from assay.report.tables import Table, render

    if kind == "table":
        lines = [
            f"{clean(item.where)}: {'error' if item.error else 'warning'}: {item.kind}: {item.count:,} {item.message}"
            + (f"\n    for example: {clean('; '.join(item.examples))}" if item.examples else "")
            for item in found
        ]
        lines.append(f"{len(found)} finding{'s' * (len(found) != 1)}" if found else "nothing found")
        return "\n".join(lines) + "\n"
    rows = tuple(
        (f.where, "error" if f.error else "warning", f.kind, str(f.count), f.message, "; ".join(f.examples))
        for f in found
    )
    return render(Table(("file", "level", "kind", "count", "message", "examples"), rows, names=6), kind)  # type: ignore[arg-type]
