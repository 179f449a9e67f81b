"""The command line. Commands are imported when they are used, so that `assay --help` is instant."""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from assay.errors import AssayError, NothingJudged, Repeated, clean

# name: (module, what --help says in the list of commands)
_COMMANDS = {
    "evaluate": ("assay.cli.evaluate", "Score runs against judgments, or a file of records."),
    "compare": ("assay.cli.compare", "Which system is better, by how much, and is it real."),
    "sweep": ("assay.cli.sweep", "Measures against k, and which k to choose."),
    "diagnose": ("assay.cli.diagnose", "Where a search fails, and what to do about it."),
    "gate": ("assay.cli.gate", "An exit code for continuous integration."),
    "answers": ("assay.cli.answers", "What answers are worth, and which sentence is the problem."),
    "report": ("assay.cli.report", "One HTML file that shows a result, down to each query."),
    "plot": ("assay.cli.plot", "One chart of a result as SVG or PNG."),
    "judge": ("assay.cli.judge", "Judgments by a language model, within a budget."),
    "cache": ("assay.cli.cache", "Look after the cache of paid answers."),
    "calibrate": ("assay.cli.calibrate", "How far a judge agrees with people."),
    "run": ("assay.cli.run", "Run an experiment: chunk, retrieve, rerank, answer, measure."),
    "rerank-eval": ("assay.cli.rerank_eval", "What a reranker makes of the lists of a run."),
    "fuse": ("assay.cli.fuse", "Fuse several runs into one."),
    "validate": ("assay.cli.validate", "How far methods of judging answers agree with people."),
    "bench": ("assay.cli.bench", "Latency and throughput of a function, a command or an address."),
    "cost": ("assay.cli.cost", "What each method costs per query and per day."),
    "roi": ("assay.cli.roi", "Whether a gain in quality pays, and from where on."),
    "models": ("assay.cli.models", "Models for embeddings that run on this machine."),
    "check": ("assay.cli.check", "What is wrong or doubtful in judgments and runs."),
    "explain": ("assay.cli.explain", "One query's calculation, step by step."),
    "measures": ("assay.cli.measures", "List the measures, or show one's page."),
    "protocols": ("assay.cli.protocols", "List the protocols, or show one."),
    "trec_eval": ("assay.cli.trec_eval", "Drop-in for trec_eval 10 (or 9)."),
    "convert": ("assay.cli.convert", "Rewrite judgments or runs in another format."),
    "demo": ("assay.cli.demo", "Evaluate the bundled collection."),
}


class _Lazy(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output left, as `| head` does: nothing is wrong, and nothing is left to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except Repeated as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            if command is None or all(option.name != "dedupe" for option in command.params):
                raise error.with_hint("remove one of them") from None
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            from assay.errors import UnknownName

            raise UnknownName("command", args[0], _COMMANDS, hint="see: assay --help")
        return super().resolve_command(ctx, args)


_HELP = """Tell what your search is worth: exact measures, named definitions, checked input.

\b
assay evaluate qrels.txt bm25.run dense.run -m ndcg@10 -m recall@100
assay check qrels.txt bm25.run
assay measures ndcg
"""


@click.group(
    cls=_Lazy,
    help=_HELP,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="assay-eval", prog_name="assay")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Show the help when no command is given."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def program() -> NoReturn:
    """Run the command line as a process of its own, and leave at once when it is done.

    Taking the interpreter apart, object by object, takes longer than many an evaluation; the system frees it all. What
    is registered with atexit is done; threads that still run are not waited for.
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


class _Aside(io.TextIOWrapper):
    """Standard error that nobody may be reading any more: what cannot be told must not stop the work."""

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
    sys.stderr = _Aside(raw, encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True)


def main() -> None:
    """Run the command line; a user's mistake prints one line and exits with 2."""
    gc.disable()  # the process is short-lived, and importing a few hundred modules makes no cycles worth finding
    try:
        app(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("aborted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "assay"
        fail(f"{error.format_message()} (see: {where} --help)")
    except AssayError as error:
        fail(str(error), code=1 if isinstance(error, NothingJudged) else 2)
    except OSError as error:
        fail(f"cannot write the output: {error.strerror}")


def fail(message: str, *, code: int = 2) -> None:
    """Print one line and exit; whatever it quotes, it cannot rewrite the terminal."""
    click.echo("assay: " + clean(" ".join(message.split("\n"))), err=True)
    sys.exit(code)
