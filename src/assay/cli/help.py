"""`assay help`: the page of a command, a measure, a protocol, or of the file formats."""

from __future__ import annotations

import click

from assay.cli import language
from assay.cli.commands import command as make_command
from assay.cli.parameters import WordChoice, add_argument, add_option
from assay.errors import UnknownName
from assay.messages import say

_EXAMPLES = ("assay help", "assay help ndcg", "assay help rag", "assay help formats", "assay help measures",
             "assay help compare")  # fmt: skip
_LISTS = ("measures", "protocols", "formats")


@make_command("help", _EXAMPLES)
@add_argument("topic", required=False, metavar="[TOPIC]")
@add_argument("name", required=False, metavar="[NAME]")
@add_option("--format", "kind", type=WordChoice(["table", "markdown"]), default="table", show_default=True)
@click.pass_context
def command(ctx: click.Context, *, topic: str | None, name: str | None, kind: str) -> None:
    """Print the page of a topic."""
    if topic is None:
        click.echo(ctx.find_root().get_help())
    elif topic == "measures":
        print_measures(name, kind)
    elif topic == "protocols":
        print_protocols(name)
    elif topic == "formats":
        from assay.report.formats_page import formats_page

        click.echo(formats_page(language.current()), nl=False)
    elif not _print_command(ctx, topic, name):
        _print_named(topic, kind)


def _print_command(ctx: click.Context, topic: str, name: str | None) -> bool:
    """Print the page of a command, if it is one."""
    top = ctx.find_root()
    assert isinstance(top.command, click.Group)
    found = top.command.get_command(top, topic)
    if found is None:
        return False
    inner = click.Context(found, top, info_name=topic)
    if name is not None and isinstance(found, click.Group):
        deeper = found.get_command(inner, name)
        if deeper is not None:
            inner = click.Context(deeper, inner, info_name=name)
    click.echo(inner.get_help())
    return True


def _print_named(topic: str, kind: str) -> None:
    """Print the page of a protocol or a measure."""
    from assay.analysis.protocols import builtin_names
    from assay.errors import UsageError
    from assay.measures import REGISTRY

    if topic in builtin_names():
        print_protocols(topic)
        return
    try:
        print_measures(topic, kind)
    except UsageError:
        from assay.cli.tree import COMMANDS

        known = [*COMMANDS, *_LISTS, *builtin_names(), *REGISTRY]
        raise UnknownName(say("usage.topic"), topic, known, hint=say("usage.topics")) from None


def print_measures(name: str | None, kind: str) -> None:
    """Print the list of the measures, or the page of one."""
    from assay.report import pages

    lang = language.current()
    click.echo(pages.listing(kind, lang) if name is None else pages.page(name, kind, lang), nl=False)


def print_protocols(name: str | None) -> None:
    """Print the list of the protocols, or the page of one by its name or its file."""
    from assay.analysis.protocols import builtin_names, load_protocol
    from assay.report.pages import protocol_listing, protocol_page

    lang = language.current()
    if name is None:
        text = protocol_listing(map(load_protocol, builtin_names()), lang)
    else:
        text = protocol_page(load_protocol(name), lang)
    click.echo(text, nl=False)
