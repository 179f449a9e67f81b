"""`assay measures`: the list, and the page of each."""

from __future__ import annotations

import click

_HELP = """List the measures, or show the page of one: definition, parameters, odd cases, who agrees, how to read it.

\b
assay measures
assay measures ndcg
assay measures P_10
"""


@click.command(name="measures", help=_HELP)
@click.argument("name", required=False)
@click.option("--format", "kind", type=click.Choice(["table", "markdown"]), default="table", help="Output format.")
def command(*, name: str | None, kind: str) -> None:
    """Print the list or a page."""
    from assay.report import pages

    click.echo(pages.listing(kind) if name is None else pages.page(name, kind), nl=False)
