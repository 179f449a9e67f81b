"""`assay report`: one HTML file that shows a result, opens offline and leads to every query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Show RESULTs (files that --output FILE.json wrote) as one page that opens offline in any browser.

The lists of each query are shown where the judgments and runs that a result names are still there and unchanged, in the
folder of the result or below it, or are given here. No other file that a result names is opened.

\b
assay report result.json -o report.html --open
assay report evaluation.json answers.json bench.json -o report.html --lang zh
assay report result.json --queries queries.jsonl --documents documents.jsonl -o report.html
assay report result.json -o report.md
"""


@click.command(name="report", help=_HELP)
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RESULT...")
@options.written("--output", "-o", help="Where to write: .html, .md, .tex or .txt.  [required]")
@click.option("--open", "show", is_flag=True, help="Open the report in the browser.")
@click.option("--title", help="Title of the report; the names of the files unless given.")
@click.option("--judgments", metavar="FILE", help="The judgments behind the results.")
@click.option("--run", "runs", multiple=True, metavar="[NAME=]RUN", help="A run behind the results; may be repeated.")
@click.option("--documents", metavar="FILE|DIR", help="Texts of the documents (doc_id, text), or a folder of files.")
@click.option("--queries", metavar="FILE", help="Texts and attributes of the queries (query_id, text, ...).")
@options.lang
def command(
    *, results: tuple[str, ...], output: str | None, show: bool, title: str | None, judgments: str | None,
    runs: tuple[str, ...], documents: str | None, queries: str | None, lang: Lang,
) -> None:  # fmt: skip
    """Read, put together and write."""
    from assay.cli import reporting
    from assay.errors import UsageError
    from assay.report.writing import format_of, write_report

    if output is None:
        raise UsageError("say where to write the report: -o report.html")
    place = None if output == "-" else output
    text = write_report(
        reporting.named(results), place, kind=format_of(place), judgments=judgments, runs=reporting.runs_of(runs),
        documents=documents, queries=queries, title=title, lang=lang,
    )  # fmt: skip
    reporting.tell_written(text, output, lang)
    if show:
        import webbrowser
        from pathlib import Path

        webbrowser.open(Path(output).resolve().as_uri())
