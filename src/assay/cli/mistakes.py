"""Turn click's errors about a command line into our own messages."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from assay.cli.hints import advise_option
from assay.cli.parameters import Option, spelling
from assay.errors import excerpt
from assay.messages import Said, say

if TYPE_CHECKING:
    from collections.abc import Sequence


def describe_mistake(error: click.ClickException) -> Said:
    """Say what is wrong, and where to read more."""
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "assay"
    return say("usage.with_help", message=_message(error), where=where)


def _message(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        return _no_option(error.option_name, error.ctx)
    if isinstance(error, click.MissingParameter):
        kind = "argument" if isinstance(error.param, click.Argument) else "option"
        return say(f"usage.missing_{kind}", name=spelling(error.param) if error.param else "")
    if isinstance(error, click.BadParameter):
        return say("usage.bad_value", name=spelling(error.param) if error.param else "", message=error.message)
    if isinstance(error, click.BadOptionUsage):
        bare = "does not take" in error.message
        return say("usage.takes_no_value" if bare else "usage.needs_value", option=error.option_name)
    return error.message


def _no_option(name: str, ctx: click.Context | None) -> Said:
    """Return a message that there is no such option, with a suggestion."""
    advice = advise_option(name, ctx.command if ctx else None)
    if advice:
        return say("usage.no_option_so", option=excerpt(name), advice=advice)
    params: Sequence[click.Parameter] = ctx.command.get_params(ctx) if ctx else ()
    options = [one for one in params if isinstance(one, Option) and not one.hidden]
    known = [text for one in options for text in one.spellings if text.startswith("--")]
    near = get_close_matches(name, known, n=3, cutoff=0.6)
    if not near:
        return say("usage.no_option", option=excerpt(name))
    return say("usage.no_option_but", option=excerpt(name), names=near)
