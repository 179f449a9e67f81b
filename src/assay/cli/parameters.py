"""Parameters of commands: options whose help is in the user's language, and groups of them as typed records.

A group is a frozen dataclass whose fields are made by `option`; `takes` adds all of its options to a command and hands
the record to it. The help of an option is in the wordings, under `option.COMMAND.NAME` or `option.NAME`.
"""

from __future__ import annotations

import math
from dataclasses import field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from assay.cli.places import OUTPUT, guard
from assay.errors import excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Function = Callable[..., Any]
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType


class Option(click.Option):
    """An option, with the section of the help page where it is listed.

    `former` are earlier spellings that still work; `only` names the option without which this one has no effect,
    or several of which one will do.
    """

    def __init__(
        self, decls: Sequence[str], *, section: str = "", former: Sequence[str] = (),
        only: str | tuple[str, ...] = "", **more: Any,
    ) -> None:  # fmt: skip
        super().__init__([*decls, *former], **more)
        self.section, self.former, self.only = section, tuple(former), only

    @property
    def spellings(self) -> list[str]:
        """The current spellings, the long one last."""
        return sorted((name for name in self.opts if name not in self.former), key=len)


class WordChoice(ParamType):
    """One of a few words; capitals do not matter."""

    name = "choice"

    def __init__(self, choices: Iterable[str]) -> None:
        self.choices = tuple(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find the word."""
        found = next((one for one in self.choices if one == str(value).lower()), None)
        if found is None:
            raise click.BadParameter(
                say("usage.not_one_of", value=excerpt(value), names=list(self.choices)), ctx=ctx, param=param
            )
        return found


class Number(ParamType):
    """A number within bounds.

    `whole` is for one without a fraction, `word` for a word that is taken as well, `share` for one that may be written
    in per cent (10% for 0.1), as all from 0 to 1 may.
    """

    name = "number"

    def __init__(
        self, *, least: float | None = None, most: float | None = None, whole: bool = False, word: str = "",
        share: bool = False,
    ) -> None:  # fmt: skip
        self.least, self.most, self.whole, self.word = least, most, whole, word
        self.share = share or (least, most, whole) == (0, 1, False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        if self.word and value == self.word:
            return value
        try:
            found = int(value) if self.whole else self._read(value)
        except ValueError:
            kind = "usage.not_whole" if self.whole else "usage.not_a_number"
            raise click.BadParameter(say(kind, value=excerpt(value)), ctx=ctx, param=param) from None
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        if math.isnan(found):
            raise click.BadParameter(say("usage.not_a_number", value=excerpt(value)), ctx=ctx, param=param)
        if not low <= found <= high:
            bounds = say("usage.bounds_least" if self.most is None else "usage.bounds", least=low, most=high)
            raise click.BadParameter(say("usage.out_of_bounds", value=value, bounds=bounds), ctx=ctx, param=param)
        return found

    def _read(self, value: Any) -> float:
        if self.share and isinstance(value, str) and value.strip().endswith("%"):
            return float(value.strip()[:-1]) / 100
        return float(value)


WHOLE = Number(whole=True)
POSITIVE = Number(least=1, whole=True)
NUMBER = Number()
SHARE = Number(share=True)


def option(*names: str, default: Any = None, **more: Any) -> Any:
    """A field of a group of options."""
    return field(default=default, metadata={"option": (names, {"default": default, **more})})


def add_option(*names: str, **more: Any) -> Callable[[Function], Function]:
    """Add one option to a command."""
    made = click.option(*names, cls=Option, **more)
    return (lambda function: made(guard(function))) if more.get("type") is OUTPUT else made


def add_argument(*names: str, **more: Any) -> Callable[[Function], Function]:
    """Add an argument to a command."""
    made = click.argument(*names, **more)
    return (lambda function: made(guard(function))) if more.get("type") is OUTPUT else made


def takes(**groups: type) -> Callable[[Function], Function]:
    """Add the options of groups to a command, and hand it a record of each under its name here."""

    def add(function: Function) -> Function:
        @wraps(function)
        def gather(*args: Any, **given: Any) -> Any:
            made = {
                name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()
            }
            return function(*args, **given, **made)

        found: Function = gather
        for kind in reversed(groups.values()):
            for one in reversed(fields(kind)):
                names, more = one.metadata["option"]
                found = add_option(*names, one.name, **more)(found)
        return found

    return add


def list_typed(*names: str) -> list[str]:
    """Which of these parameters were typed, as they are typed."""
    ctx = click.get_current_context()
    written = [
        one
        for one in ctx.command.params
        if one.name in names and ctx.get_parameter_source(one.name) is click.core.ParameterSource.COMMANDLINE
    ]
    return [spelling(one) for one in sorted(written, key=lambda one: names.index(one.name or ""))]


def owners_of(param: click.Parameter) -> tuple[str, ...]:
    """The options of which one must be given for this one to have an effect; none where it always has."""
    only = param.only if isinstance(param, Option) else ()
    return tuple(filter(None, (only,))) if isinstance(only, str) else only


def spelling(param: click.Parameter) -> str:
    """A parameter as it is typed."""
    if isinstance(param, Option):
        return param.spellings[-1]
    return (param.metavar or (param.name or "").upper()) if isinstance(param, click.Argument) else param.opts[-1]
