"""Which files a command reads and which it writes, so that no output ever replaces an input."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_FILES = re.compile(r"\b(FILE|DIR|FOLDER|RUN|RESULT|JUDGMENTS|SAMPLES)\b")
_MEASURES, _RUBRIC = {"measure", "measures"}, ".md"
OUTPUT = click.types.StringParamType()  # the type of a parameter that names a file or folder to write


def is_read(param: click.Parameter) -> bool:
    """Return whether a parameter names files that are read: an argument, or an option that the help calls a file."""
    if param.type is OUTPUT or not isinstance(param.type, click.types.StringParamType):
        return False
    return isinstance(param, click.Argument) or bool(_FILES.search(param.metavar or ""))


def guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command refuse, before it does anything, to overwrite an input or to write one file twice."""

    @wraps(function)
    def check_first(*args: Any, **more: Any) -> Any:
        check()
        return function(*args, **more)

    return check_first


def check(*inputs: Any, outputs: Iterable[Any] = ()) -> None:
    """Check the files of the command that runs; `inputs` and `outputs` are those that other files name."""
    from assay.formats.files import check_outputs

    ctx = click.get_current_context(silent=True)
    if ctx is None:  # called from Python, where no output was asked for
        return
    written = [ctx.params.get(param.name or "") for param in ctx.command.params if param.type is OUTPUT]
    check_outputs([*written, *outputs], [*_input_places(ctx), *inputs])


def _input_places(ctx: click.Context) -> Iterator[str]:
    """Values of the parameters that name files to read; of NAME=FILE the file too. A measure may be a rubric's file."""
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        for text in value if isinstance(value, tuple) else (value,):
            if text and (is_read(param) or (param.name in _MEASURES and text.endswith(_RUBRIC))):
                yield text
                yield text.partition("=")[2]
    yield from ctx.meta.get("words") or ()  # of a command that is measured
