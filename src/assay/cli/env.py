"""`assay env`: what is installed and reachable on this machine, its models and its cache."""

from __future__ import annotations

import click

from assay.cli import language
from assay.cli.cache import command as cache
from assay.cli.commands import group
from assay.cli.engines import command as engines
from assay.cli.models import command as models

_EXAMPLES = ("assay env", "assay env models get minilm", "assay env cache stats", "assay env engines")


@group("env", _EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Print what is here when nothing else is asked."""
    if ctx.invoked_subcommand is not None:
        return
    from assay.analysis.environment import describe_environment
    from assay.report.document import write
    from assay.report.views.environment import view

    click.echo(write(view(describe_environment()), "table", language.current()), nl=False)


command.add_command(models)
command.add_command(cache)
command.add_command(engines)
