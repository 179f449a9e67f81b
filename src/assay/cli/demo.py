"""`assay demo`: the main job on the bundled collection, from documents to a choice, on one screen."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING

import click

from assay.cli import language, options, progress
from assay.cli.commands import command as make_command
from assay.cli.inputs import command_line
from assay.cli.parameters import add_option
from assay.cli.places import OUTPUT
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assay.analysis.demonstration import Demonstration
    from assay.demo import Bundle
    from assay.report.blocks import Block

_EXAMPLES = ("assay demo", "assay demo --open", "assay demo --verbose", "assay demo -o somewhere --lang zh")
_FOLDER, _WIDEST = "assay-demo", 100


@make_command("demo", _EXAMPLES)
@add_option("-o", "--output", type=OUTPUT, metavar="DIR", default=_FOLDER, show_default=True, section="output")
@add_option("-v", "--verbose", is_flag=True, section="output")
@add_option("--open", "show", is_flag=True, section="output")
def command(*, output: str, verbose: bool, show: bool) -> None:
    """Run the ladder and the chunkers, diagnose the best, look at its answers."""
    from pathlib import Path

    from assay.cli.run import one_thread

    one_thread()
    from assay.analysis.demonstration import compare_runs, copy_collection, find_steps, list_to_label, run_demo
    from assay.online.demonstration import LOG, TEST, decide_demo
    from assay.report.views import comparison, demo

    folder, steps = Path(output), find_steps()
    place = copy_collection(folder / "tea")
    _print(demo.about(place))
    if steps.left_out:
        options.tell_lines([steps.left_out, ""])  # not wrapped: it ends with a command
    if not steps.ladder:
        _print(comparison.table(compare_runs(place), brief=True))
        _tell_runs(place)
        return
    with progress.stages() as told:
        found = run_demo(place, steps, tell=told)
    found.save(folder, command_line())
    _print(demo.table(found) if verbose else demo.screen(found))
    _print(demo.live(*decide_demo(place, folder, command_line())))
    _tell_log(folder)
    _report(found, folder / "report.html")
    files = ("ladder/result.json", "chunking/result.json", "answers.json", LOG, TEST)
    options.tell_lines([say("demo.results", folder=folder, names=files)])
    _tell_next(place)
    if show:
        from assay.cli.serve import serve_folder

        list_to_label(place, folder)
        serve_folder(output, show=True)


def _print(blocks: Sequence[Block]) -> None:
    """Print blocks and an empty line, with sentences as wide as the terminal is."""
    from assay.report.renderers import terminal

    columns = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 0)).columns)
    click.echo(terminal.write(blocks, language.current(), columns=columns))


def _report(found: Demonstration, place: Path) -> None:
    """Write all of it as a page; without the packages for that, say how to get them."""
    from assay.cli.reporting import write
    from assay.errors import AssayError

    results = list(found.results(command_line()).items())
    try:
        write(results, found.ladder.evidence(), str(place), title=say("demo.title"), quiet=True)
    except AssayError as error:
        options.note([say("demo.no_report", why=error.message)])
        return
    options.tell_lines([say("demo.page", place=place)])


def _tell_log(folder: Path) -> None:
    """Print the commands that look at the log and decide from it."""
    from assay.demo.log import CONTROL, GUARDRAIL, MEASURE
    from assay.installation import program_name
    from assay.online.demonstration import LOG

    program, log = program_name(), shlex.quote(str(folder / LOG))
    deciding = shlex.join(["-m", MEASURE, "--control", CONTROL, "--guardrail", GUARDRAIL])
    options.tell_lines([
        f"  {program} check {log}",
        f"  {program} log metrics {log} --by variant",
        f"  {program} ab analyse {log} {deciding}",
    ])  # fmt: skip


def _tell_next(place: Bundle) -> None:
    """Print what to run next, ready to be copied."""
    from assay.installation import program_name

    ladder = shlex.quote(str(place.ladder))
    options.tell_lines([say("demo.holdout"), f"  {program_name()} run {ladder} --holdout 0.3"])


def _tell_runs(place: Bundle) -> None:
    """Print a command that needs only files of judgments and lists."""
    from assay.installation import program_name

    files = shlex.join([str(place.judgments), str(place.runs[1])])
    options.tell_lines([say("demo.runs"), f"  {program_name()} diagnose {files}"])
