"""Commands whose help and errors are in the user's language, and whose help ends with examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import language
from assay.cli.parameters import Option, WordChoice, spelling
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    del param
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


class Spoken:
    """What commands and groups of them share: examples, the key of their texts, --lang and --help."""

    name: str | None
    params: list[click.Parameter]
    examples: tuple[str, ...] = ()
    wording: str = ""

    def prepare(self, examples: Sequence[str], wording: str) -> None:
        """Add what every command has."""
        self.examples, self.wording = tuple(examples), wording or self.name or ""
        self.params.append(
            Option(["--lang"], type=WordChoice(["en", "zh"]), metavar="en|zh", expose_value=False, section="output")
        )
        self._helping = Option(
            ["-h", "--help"], is_flag=True, is_eager=True, expose_value=False, callback=_show_help, section="output"
        )

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option that shows the help."""
        del ctx
        return self._helping

    def get_help(self, ctx: click.Context) -> str:
        """The page of this command."""
        from assay.cli.pages import page

        assert isinstance(self, (SpokenCommand, CommandGroup))
        return page(self, ctx, language.current())


class SpokenCommand(Spoken, click.Command):
    """A command with examples; `wording` is the key of its texts, where it is not its name.

    `told_by` is called when the command is used, to print a notice first: that it has another name now.
    """

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), wording: str = "", told_by: Callable[[], str] | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **more)
        self.prepare(examples, wording)
        self.told_by = told_by

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; what is left over, or has no effect, is refused."""
        if ctx.parent is None:
            language.keep(ctx, args)
        ctx.allow_extra_args = True
        rest = click.Command.parse_args(self, ctx, list(args))
        if ctx.resilient_parsing:
            return rest
        if rest:
            raise click.UsageError(say("usage.left_over", n=len(rest), words=rest), ctx)
        _refuse_without_effect(self, ctx)
        self._tell_moved(args)
        return rest

    def _tell_moved(self, args: Sequence[str]) -> None:
        """Print at most one line that says where this command or an option of it has moved."""
        words = {word.partition("=")[0] for word in args if word.startswith("-")}
        moved = [
            (old, one)
            for one in self.params
            if isinstance(one, Option)
            for old in one.former
            if old in words and one.spellings
        ]
        said = self.told_by() if self.told_by else ""
        if not said and moved:
            said = say("usage.option_moved", old=moved[0][0], new=spelling(moved[0][1]))
        if said:
            from assay.cli.options import note

            note([said])


@click.pass_context
def _show_page(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class CommandGroup(Spoken, click.Group):
    """Commands under one name; without any of them it does what its function does, or shows its page."""

    command_class = SpokenCommand

    def __init__(self, *args: Any, examples: Sequence[str] = (), wording: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self.prepare(examples, wording)
        if not self.invoke_without_command:  # click takes a group without a command for an error
            self.invoke_without_command, self.no_args_is_help, self.callback = True, False, _show_page

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find out the language before anything is parsed."""
        if ctx.parent is None:
            language.keep(ctx, args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for an unknown one suggests similar names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from assay.cli.hints import advise_command
            from assay.errors import UnknownName

            hint = advise_command(args[0]) or say("usage.see", where=ctx.command_path)
            raise UnknownName(say("usage.command"), args[0], self.list_commands(ctx), hint=hint)
        return super().resolve_command(ctx, args)


def command(name: str, examples: Sequence[str], **more: Any) -> Callable[[Callable[..., Any]], SpokenCommand]:
    """Make a command of a function."""
    return click.command(name=name, cls=SpokenCommand, examples=examples, **more)


def group(name: str, examples: Sequence[str], **more: Any) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Make a group of commands."""
    return click.group(name=name, cls=CommandGroup, examples=examples, **more)


def _refuse_without_effect(asked: click.Command, ctx: click.Context) -> None:
    """Refuse an option that was typed without the one that it belongs to."""
    owners = {one.name: one for one in asked.params}
    for one in asked.params:
        owner = owners.get(one.only) if isinstance(one, Option) else None
        if owner is None or ctx.params.get(owner.name or "") not in (None, False, ()):
            continue
        if ctx.get_parameter_source(one.name or "") is click.core.ParameterSource.COMMANDLINE:
            needed = spelling(owner)
            raise click.UsageError(say("usage.only_with", option=spelling(one), needed=needed), ctx)
