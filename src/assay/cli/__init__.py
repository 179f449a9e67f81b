"""The command line. Commands are imported when they are used, so that `assay --help` is instant."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from assay.cli import language
from assay.cli.parameters import Option
from assay.cli.tree import COMMANDS, FORMER, Tree
from assay.errors import AssayError, NoSuchFile, NothingJudged, cause, clean
from assay.messages import say, tell

__all__ = ["COMMANDS", "FORMER", "app", "fail", "main", "program"]


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    del param
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"assay, version {version('assay-eval')}")
        ctx.exit()


@click.group(
    name="assay",
    cls=Tree,
    invoke_without_command=True,
    params=[Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version)],
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Show the help when no command is given."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def program() -> NoReturn:
    """Run the command line as a process of its own, and leave at once when it is done.

    Freeing every object at exit takes longer than many evaluations, and the system frees the memory anyway. Functions
    registered with atexit are run; running threads are not waited for.
    """
    code: str | int | None = 0
    _attach_streams()
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    try:
        atexit._run_exitfuncs()  # noqa: SLF001
        for stream in filter(None, (sys.stdout, sys.stderr)):  # a stream that was closed beforehand is None
            stream.flush()
    except BrokenPipeError:
        pass
    os._exit(code if isinstance(code, int) else int(code is not None))


class _TolerantStream(io.TextIOWrapper):
    """Standard error that may be closed at the other end: a failed write must not stop the work."""

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def _attach_streams() -> None:
    """Put the null device where a standard stream is closed: the next file opened would take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    raw = open(2, "wb", closefd=False)  # noqa: SIM115 - stays open as long as the process lives
    sys.stderr = _TolerantStream(raw, encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True)


def main() -> None:
    """Run the command line; a user's mistake prints one line and exits with 2."""
    gc.disable()  # the process is short-lived, and importing a few hundred modules makes no cycles worth finding
    try:
        app(prog_name="assay", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo(_tell(say("cli.aborted")), err=True)
        sys.exit(130)
    except click.ClickException as error:
        from assay.cli.mistakes import describe_mistake

        fail(_tell(describe_mistake(error)))
    except NoSuchFile as error:
        from assay.cli.hints import advise_path

        fail(_tell(NoSuchFile(error.given, advise_path(error.given)).message))
    except AssayError as error:
        fail(_tell(error.message), code=1 if isinstance(error, NothingJudged) else 2)
    except OSError as error:
        fail(_tell(say("cli.cannot_write", why=cause(error))))


def _tell(message: str) -> str:
    return tell(message, language.current())


def fail(message: str, *, code: int = 2) -> None:
    """Print one line and exit; control characters in it cannot rewrite the terminal."""
    click.echo("assay: " + clean(" ".join(message.split("\n"))), err=True)
    sys.exit(code)
