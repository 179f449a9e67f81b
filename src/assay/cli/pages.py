"""The help page of a command: usage, what it does, its parameters by section, examples."""

from __future__ import annotations

import re
import shutil
import unicodedata
from typing import TYPE_CHECKING

import click

from assay.cli.parameters import Number, Option, WordChoice, spelling
from assay.messages import say, tell
from assay.wordings import texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from assay.messages import Lang

    class Described(Protocol):
        """A command with a page."""

        examples: tuple[str, ...]
        wording: str
        params: list[click.Parameter]

        def get_params(self, ctx: click.Context) -> list[click.Parameter]:
            """Its parameters, --help among them."""


_WIDEST, _NARROWEST = 110, 60
_TERM = 30  # columns of the left side of a list, at most
_WIDE = "\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u2018-\u201d"
_CLOSING = "，。；：、！？）」』》”’"
_PIECES = re.compile(rf"\s+|（?[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]+[{_CLOSING}]*")


def page(command: Described, ctx: click.Context, lang: Lang) -> str:
    """The page of a command in a language."""
    width = _width(ctx)
    parts = [_usage(command, ctx, lang, width), *_about(command, lang, width)]
    if isinstance(command, click.Group):
        parts += list(_commands(command, ctx, lang, width))
    parts += list(_parameters(command, ctx, lang, width))
    if command.examples:
        lines = [f"  {line}" for example in command.examples for line in example.split("\n")]
        parts.append("\n".join([tell(say("help.examples"), lang), *lines]))
    return "\n\n".join(parts)


def brief_page(command: Described, ctx: click.Context, lang: Lang, groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The page of all commands, group by group, on one screen."""
    width = _width(ctx)
    lines = [_usage(command, ctx, lang, width), "", *fold(tell(say("help.assay"), lang), width, "  "), ""]
    for title, names in groups:
        lines.append(tell(say(f"help.group.{title}"), lang))
        lines += _list_terms([(name, tell(say(f"help.{name}.line"), lang)) for name in names], width, term=11)
    shown = [one for one in command.get_params(ctx) if isinstance(one, Option)]
    lines += ["", tell(say("help.options"), lang)]
    lines += _list_terms([(_term(one), _meaning(one, command, ctx, lang)) for one in shown], width, term=16)
    lines += ["", tell(say("help.more"), lang)]
    return "\n".join(lines)


def texts_of(command: Described) -> Iterator[str]:
    """Keys of the texts that the page of a command needs."""
    yield f"help.{command.wording}"
    for param in command.params:
        if not getattr(param, "hidden", False):
            yield _key(param, command.wording)


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text into lines of a width, Chinese ones too; a Chinese line never begins with a mark that closes."""
    lines, line, size = [], "", 0
    room = width - len(indent)
    for piece in _PIECES.findall(text):
        wide = _columns(piece)
        if line and size + wide > room and not piece.isspace():
            lines.append(line.rstrip())
            line, size = "", 0
        if line or not piece.isspace():
            line, size = line + (" " if piece.isspace() else piece), size + (1 if piece.isspace() else wide)
    return [indent + one for one in [*lines, line.rstrip()] if one]


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _width(ctx: click.Context) -> int:
    if ctx.terminal_width is not None:
        return ctx.terminal_width
    return max(min(shutil.get_terminal_size().columns - 2, _WIDEST), _NARROWEST)


def _usage(command: Described, ctx: click.Context, lang: Lang, width: int) -> str:
    pieces = [tell(say("help.some_options"), lang)]
    pieces += [piece for one in command.get_params(ctx) for piece in one.get_usage_pieces(ctx)]
    if isinstance(command, click.Group):
        pieces.append(tell(say("help.some_command"), lang))
    head = tell(say("help.usage", path=ctx.command_path), lang)
    lines = fold(" ".join(pieces), width - _columns(head) - 1)
    return "\n".join([f"{head} {lines[0]}", *(" " * (_columns(head) + 1) + line for line in lines[1:])])


def _about(command: Described, lang: Lang, width: int) -> Iterator[str]:
    """Paragraphs of what the command does; those that are laid out already stay as they are."""
    told = getattr(command, "told_by", None)
    if told is not None:
        yield "\n".join(fold(tell(told(), lang), width, "  "))
    for paragraph in tell(say(f"help.{command.wording}"), lang).split("\n\n"):
        yield "\n".join(fold(paragraph, width, "  "))


def _commands(command: click.Group, ctx: click.Context, lang: Lang, width: int) -> Iterator[str]:
    rows = []
    for name in command.list_commands(ctx):
        inner = command.get_command(ctx, name)
        rows.append((name, tell(say(f"help.{getattr(inner, 'wording', name)}.line"), lang)))
    yield "\n".join([tell(say("help.commands"), lang), *_list_terms(rows, width)])


def _parameters(command: Described, ctx: click.Context, lang: Lang, width: int) -> Iterator[str]:
    """Arguments, then options by section."""
    params = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    arguments = [one for one in params if isinstance(one, click.Argument)]
    named = [(spelling(one), _meaning(one, command, ctx, lang)) for one in arguments]
    if named:
        yield "\n".join([tell(say("help.arguments"), lang), *_list_terms(named, width)])
    sections: dict[str, list[Option]] = {"": []}
    for one in params:
        if isinstance(one, Option):
            owner = next((other.name for other in params if other.name == one.only), None)
            sections.setdefault(one.section or owner or "", []).append(one)
    sections["output"] = sections.pop("output", [])  # last
    for section, found in sections.items():
        title = say("help.options") if not section else _title(command, section)
        if found:
            rows = [(_term(one), _meaning(one, command, ctx, lang)) for one in found]
            yield "\n".join([tell(title, lang), *_list_terms(rows, width)])


def _title(command: Described, section: str) -> str:
    if f"help.section.{section}" in texts("en"):
        return say(f"help.section.{section}")
    owner = next(one for one in command.params if one.name == section)
    return say("help.with", option=spelling(owner))


def _term(one: Option) -> str:
    """An option with what it takes."""
    names = ", ".join(one.spellings)
    if one.is_flag or one.count:
        return names
    if isinstance(one.type, WordChoice):
        return f"{names} {one.metavar or '|'.join(one.type.choices)}"
    if isinstance(one.type, Number):
        return f"{names} {one.metavar or ('N' if one.type.whole else 'X')}"
    return f"{names} {one.metavar or 'TEXT'}"


def _key(param: click.Parameter, wording: str) -> str:
    own = f"option.{wording}.{param.name}"
    return own if own in texts("en") else f"option.{param.name}"


def _meaning(param: click.Parameter, command: Described, ctx: click.Context, lang: Lang) -> str:
    text = tell(say(_key(param, command.wording)), lang)
    if not isinstance(param, Option):
        return text
    more = []
    if param.required:
        more.append(say("help.required"))
    default = param.get_default(ctx, call=False)
    if param.show_default and default not in (None, (), ""):
        shown = ", ".join(map(str, default)) if isinstance(default, (tuple, list)) else str(default)
        more.append(say("help.default", value=shown))
    if param.envvar:
        names = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar)
        more.append(say("help.variable", names=names))
    return text + "".join(tell(one, lang) for one in more)


def _list_terms(rows: Sequence[tuple[str, str]], width: int, *, term: int = _TERM) -> list[str]:
    """Terms with what they mean beside them, or below where a term is long."""
    left = min(max((_columns(name) for name, _ in rows), default=0), term)
    found = []
    for name, text in rows:
        lines = fold(text, width - left - 4)
        if _columns(name) > left:
            found.append(f"  {name}")
        else:
            found.append(f"  {name}{' ' * (left - _columns(name) + 2)}{lines.pop(0) if lines else ''}".rstrip())
        found += [" " * (left + 4) + line for line in lines]
    return found
