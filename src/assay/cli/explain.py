"""`assay explain`: one query's calculation."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options

_HELP = """Show how a measure comes about for one QUERY, rank by rank.

\b
assay explain qrels.txt bm25.run q17 -m ndcg@10
assay explain qrels.txt bm25.run q17 -m "average_precision(over='min_k')@5"
"""


@click.command(name="explain", help=_HELP)
@click.argument("judgments")
@click.argument("run")
@click.argument("query")
@click.option("-m", "--measure", help="The measure.  [default: ndcg@10]")
@options.plain_rules
def command(*, judgments: str, run: str, query: str, measure: str | None, **rules: Any) -> None:
    """Print the steps."""
    from assay.analysis.explain import explain
    from assay.formats.reading import read_judgments, read_run
    from assay.report.show import show

    kind, split = rules.pop("input_format"), rules.pop("split")
    judged = read_judgments(judgments, kind=None if kind == "trec" else kind, split=split)
    found = explain(judged, read_run(run, kind=kind), query, measure, **rules)
    click.echo(show(found), nl=False)
