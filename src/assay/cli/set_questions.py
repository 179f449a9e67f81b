"""`assay set questions`: questions with gold spans, made from documents."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import KINDS, Output
from assay.cli.parameters import POSITIVE, Number, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from assay.results.questions import QuestionSet

_EXAMPLES = (
    "assay set questions docs.jsonl -n 200 -o questions",
    "assay set questions docs.jsonl -n 50 --seed 7 --report questions.html -o questions",
)


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
@options.encoding
@add_option("-o", "--output", type=OUTPUT, metavar="FOLDER", section="output")
@takes(printing=Printing)
def command(*, documents: str, n: int, seed: int, output: str | None, printing: Printing) -> None:
    """Make, write, print."""
    from assay.cli import progress
    from assay.curation.questions import make_questions
    from assay.curation.sets import refuse_existing

    options.check_folder(output)
    if output is not None and not output.endswith(".json"):
        refuse_existing(output)
    with progress.stages() as show:
        found = make_questions(documents, n, seed=seed, progress=show)
    if output is not None and found.questions:
        found.save(output)
    _print(found, printing)
    if not found.questions:
        sys.exit(1)
    if output is not None:
        options.tell_written(output)


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
