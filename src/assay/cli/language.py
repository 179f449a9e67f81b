"""The language of this command line: `--lang`, else ASSAY_LANG, else the locale."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.messages import Lang

_KEPT = "assay.language"


def choose_language(arguments: Sequence[str], environment: Mapping[str, str]) -> Lang:
    """Choose the language before anything is parsed: help and errors need it too."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--":  # what follows belongs to another program
            break
        if name != "--lang" or not (equals or place + 1 < len(arguments)):
            continue
        asked = (value or arguments[place + 1]).lower()
        if asked in {"en", "zh"}:
            return "zh" if asked == "zh" else "en"
    wanted = environment.get("ASSAY_LANG")
    if wanted:
        return "zh" if wanted.lower().startswith("zh") else "en"
    locale = next(filter(None, map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def keep(ctx: click.Context, arguments: Sequence[str]) -> None:
    """Remember the language of the arguments that are about to be parsed."""
    ctx.meta[_KEPT] = choose_language(arguments, os.environ)


def current() -> Lang:
    """The language of messages: that of the running command, else of the command line."""
    ctx = click.get_current_context(silent=True)
    kept: Lang | None = None if ctx is None else ctx.meta.get(_KEPT)
    return kept or choose_language(sys.argv[1:], os.environ)
