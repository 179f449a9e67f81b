"""The tree of commands: groups, names, and where former names went. Commands are imported when they are used."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli.commands import CommandGroup
from assay.errors import Repeated
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

# The groups of --help, and the commands in each; each has a module of its name.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("measure", ("evaluate", "answers", "diagnose", "gate", "check")),
    ("compare", ("compare", "fuse")),
    ("build", ("set", "judge", "calibrate")),
    ("run", ("run", "bench", "cost")),
    ("after", ("log", "ab")),
    ("share", ("report", "serve", "convert", "demo")),
    ("machine", ("env", "help", "trec_eval")),
)
COMMANDS = tuple(name for _, names in GROUPS for name in names)
# Names that commands had before; each still works and says where it went.
FORMER = ("sweep", "explain", "validate", "rerank-eval", "roi", "plot", "models", "cache", "measures", "protocols")
# Words that people type for an option.
_WORDS = ("version",)


class Tree(CommandGroup):
    """All commands of the program."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an output pipe that closes early, as with `| head`, is not an error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # This is no error, and nothing is left to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except Repeated as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            if command is None or all(option.name != "dedupe" for option in command.params):
                raise error.with_hint(say("usage.remove_one")) from None
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The current commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name, or by a former one."""
        del ctx
        if cmd_name in COMMANDS:
            found = importlib.import_module(f"assay.cli.{cmd_name}").command
        elif cmd_name in FORMER:
            found = importlib.import_module("assay.cli.former").find_former(cmd_name)
        else:
            return None
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; `version` is the option of that name."""
        if args and args[0] in _WORDS:
            self.parse_args(ctx, [f"--{args[0]}"])
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """All commands on one screen."""
        from assay.cli import language
        from assay.cli.pages import brief_page

        return brief_page(self, ctx, language.current(), GROUPS)


__all__: Sequence[str] = ["COMMANDS", "FORMER", "GROUPS", "Tree"]
