"""`assay set questions`: questions with gold spans, made from documents."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from assay.cli import asking, inputs, language, options
from assay.cli.asking import Asking
from assay.cli.commands import command as make_command
from assay.cli.options import KINDS, Output
from assay.cli.parameters import (
    POSITIVE,
    Number,
    WordChoice,
    add_argument,
    add_option,
    list_typed,
    option,
    takes,
)
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.llm.client import Client
    from assay.results.questions import QuestionSet

_URL = "--url https://dashscope.aliyuncs.com/compatible-mode/v1"
_EXAMPLES = (
    "assay set questions docs.jsonl -n 200 -o questions",
    "assay set questions docs.jsonl -n 50 --seed 7 --report questions.html -o questions",
    f"assay set questions docs.jsonl -n 200 --judge qwen-plus {_URL} --dry-run",
    f"assay set questions docs.jsonl -n 200 --judge qwen-plus {_URL} --max-cost 1 -o questions",
    "assay set questions docs.jsonl --judge qwen3:8b --url http://127.0.0.1:11434/v1 --categories fact=.5,how-to=.5",
)


@dataclass(frozen=True)
class Writing:
    """How a language model writes questions."""

    categories: str | None = option("--categories", metavar="NAME=SHARE,...", only="judge")
    style: str = option(
        "--style", default="both", show_default=True, type=WordChoice(["short", "conversational", "both"]), only="judge"
    )
    user: tuple[str, ...] = option("--user", default=(), multiple=True, metavar="TEXT", only="judge")
    style_seeds: str | None = option("--style-seeds", metavar="FILE", only="judge")
    text_lang: str | None = option("--text-lang", type=WordChoice(["en", "zh"]), only="judge")
    allow_known: bool = option("--allow-known", default=False, is_flag=True, only="judge")

    def settings(self) -> dict[str, Any]:
        """What making questions takes."""
        shares = options.numbers(self.categories.split(","), "--categories") if self.categories else None
        return {
            "categories": shares, "style": self.style, "users": self.user, "style_seeds": self.style_seeds or (),
            "text_lang": self.text_lang, "allow_known": self.allow_known,
        }  # fmt: skip


@dataclass(frozen=True)
class Printing:
    """What is printed, and a page; the output is a folder."""

    kind: str | None = option("--format", type=WordChoice(KINDS), section="output")
    report: str | None = option("--report", type=OUTPUT, metavar="FILE", section="output")
    quiet: bool = option("-q", "--quiet", default=False, is_flag=True, callback=options.keep_quiet, section="output")


@make_command("questions", _EXAMPLES, wording="set.questions")
@add_argument("documents", metavar="DOCUMENTS")
@add_option("-n", "--number", "n", default=200, show_default=True, type=POSITIVE)
@add_option("--seed", default=0, show_default=True, type=Number(whole=True))
@add_option("--judge", metavar="NAME[@URL]")
@takes(how=Writing)
@options.encoding
@takes(ask=Asking)
@add_option("-o", "--output", type=OUTPUT, metavar="FOLDER", section="output")
@takes(printing=Printing)
def command(
    *, documents: str, n: int, seed: int, judge: str | None, how: Writing, ask: Asking, output: str | None,
    printing: Printing,
) -> None:  # fmt: skip
    """Make, write, print."""
    from assay.cli import progress
    from assay.curation.questions import make_questions
    from assay.curation.sets import refuse_existing

    options.check_folder(output)
    if output is not None and not output.endswith(".json") and not ask.dry_run:
        refuse_existing(output)
    client = _client(judge, ask)
    settings = {} if client is None else {"judge": client, **how.settings()}
    try:
        with progress.stages() as show:
            if ask.dry_run:
                _plan(documents, n, seed, ask, {**settings, "progress": show})
                return
            found = make_questions(documents, n, seed=seed, deadline=ask.deadline, progress=show, **settings)
    finally:
        if client is not None:
            client.close()
    if output is not None and found.questions:
        found.save(output)
    _print(found, printing)
    if output is not None and found.questions:
        options.tell_written(output)
    if not found.questions or found.stopped:
        sys.exit(1)


def _client(judge: str | None, ask: Asking) -> Client | None:
    """The client of the model, if one is named; without one, nothing is asked."""
    if judge is None:
        paid = list_typed(*(one.name for one in fields(Asking)))
        if paid:
            raise UsageError(say("cli.no_judge", option=paid[0]))
        return None
    import gc

    gc.enable()  # a long run makes cycles
    return next(iter(asking.clients([judge], ask).values()))


def _plan(documents: str, n: int, seed: int, ask: Asking, settings: dict[str, Any]) -> None:
    """Say what it would cost."""
    from assay.curation.questions import estimate_questions
    from assay.report.document import write
    from assay.report.views import questions_plan as view

    plan = estimate_questions(documents, n, seed=seed, **settings)
    if not options.is_quiet():
        import click

        click.echo(write(view.table(plan, ask.max_cost), "table", language.current()), nl=False)


def _print(found: QuestionSet, printing: Printing) -> None:
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import questions as view
    from assay.results.result import make_result

    result = make_result(found, command=inputs.command_line(), warnings=found.warnings)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write(
            [exact_table(found.to_rows(), 8)] if kind == "csv" else view.table(found), kind, language.current()
        )

    Output(kind=printing.kind, report=printing.report, quiet=printing.quiet).emit(as_text)
    write_fresh(result, printing.report)
