"""What commands about sets print: a record as text, JSON or CSV, and a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.cli import inputs, language, options
from assay.cli.options import KINDS, Output
from assay.cli.parameters import WordChoice, option
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from assay.results.sets import SetDescription, SetSplit


@dataclass(frozen=True)
class Printing:
    """What is printed, and a page."""

    kind: str | None = option("--format", type=WordChoice(KINDS), section="output")
    report: str | None = option("--report", type=OUTPUT, metavar="FILE", section="output")
    quiet: bool = option("-q", "--quiet", default=False, is_flag=True, callback=options.keep_quiet, section="output")


def print_record(found: SetDescription | SetSplit, out: Output) -> None:
    """Print a record, and write its file and page."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views.result import table
    from assay.results.result import make_result

    result = make_result(found, command=inputs.command_line(), warnings=getattr(found, "warnings", ()))

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write([exact_table(found.to_rows(), 8)] if kind == "csv" else table(found), kind, language.current())

    out.emit(as_text)
    if out.report is not None:
        write_fresh(result, out.report)
