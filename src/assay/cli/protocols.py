"""`assay protocols`: the list, and the page of each."""

from __future__ import annotations

import click

_HELP = """List the built-in protocols, or show one (by name or TOML file).

\b
assay protocols
assay protocols graded-012
"""


@click.command(name="protocols", help=_HELP)
@click.argument("name", required=False)
def command(*, name: str | None) -> None:
    """Print the list or a page."""
    from assay.analysis.protocols import builtin_names, load_protocol
    from assay.report.pages import protocol_page
    from assay.report.tables import Table, render

    if name is not None:
        click.echo(protocol_page(load_protocol(name)), nl=False)
        return
    rows = [(p.name, p.primary or "", p.title) for p in map(load_protocol, builtin_names())]
    click.echo(render(Table(("protocol", "primary", "what it is"), tuple(rows), names=3), "table"), nl=False)
    click.echo("\nassay protocols NAME shows one; --protocol NAME or --protocol my.toml uses it")
