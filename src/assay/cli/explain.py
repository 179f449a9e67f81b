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
    from assay.analysis.explain import explain, rank_list
    from assay.analysis.settings import Settings
    from assay.errors import InputError, excerpt
    from assay.formats.reading import read_judgments, read_run
    from assay.measures import usual
    from assay.report.tables import Table, terminal

    kind, split, protocol = rules.pop("input_format"), rules.pop("split"), rules.pop("protocol")
    judged = read_judgments(judgments, kind=None if kind == "trec" else kind, split=split)
    settings = Settings.of(judged, [measure or usual.SINGLE], protocol, **rules)
    frame = read_run(run, kind=kind).frame
    mine = [(doc, score) for q, doc, score in frame.select("query_id", "doc_id", "score").iter_rows() if q == query]
    rule = settings.protocol
    if not mine and query in judged.by_query:
        raise InputError(f"query {excerpt(query)} is not in the run", path=run, hint="it counts as 0")
    mine = [(doc, score) for doc, score in mine if not (rule.ignore_same_id and doc == query)]
    listed = rank_list(judged, query, mine, given=rule.ties == "given", single=rule.scores == "float32")
    found = explain(judged, query, listed, next(iter(settings.measures.values())))
    names = 2
    click.echo(f"query {found.query_id}, {found.measure}, protocol {rule.name}\n")
    click.echo(terminal(Table(found.columns, found.rows, names=names)))
    click.echo("\n".join(found.steps))
