"""`assay convert`: judgments or runs in another format."""

from __future__ import annotations

import click

from assay.cli.places import OUTPUT, guard

_HELP = """Rewrite a judgments or run file in another format; the suffix of OUTPUT decides which.

\b
assay convert run bm25.run bm25.parquet
assay convert judgments beir-folder qrels.txt
"""


@click.command(name="convert", help=_HELP)
@click.argument("what", type=click.Choice(["judgments", "run"]))
@click.argument("source")
@click.argument("output", type=OUTPUT)
@click.option("--input-format", metavar="FORMAT", help="trec, json, jsonl, csv, tsv, parquet or beir.")
@click.option("--split", default="test", show_default=True, help="Split of a BEIR folder.")
@guard
def command(*, what: str, source: str, output: str, input_format: str | None, split: str) -> None:
    """Read and write."""
    from assay.formats.reading import read_judgments, read_run
    from assay.formats.writing import write_judgments, write_run

    if what == "judgments":
        write_judgments(read_judgments(source, kind=input_format, split=split), output)
    else:
        write_run(read_run(source, kind=input_format), output)
    click.echo(f"wrote {output}", err=True)
