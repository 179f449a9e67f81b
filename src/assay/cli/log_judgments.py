"""`assay log judgments`: judgments from the clicks of an event log."""

from __future__ import annotations

from dataclasses import dataclass

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.engines import EngineChoice
from assay.cli.event_logs import LogReading, Printing
from assay.cli.parameters import POSITIVE, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT

_EXAMPLES = (
    "assay log judgments events.jsonl -o clicks.qrels --queries-out queries.jsonl",
    "assay log judgments events.jsonl --model pbm --least 50 --cuts 50%,75%,90% -o clicks.qrels",
    "assay log judgments events.jsonl --queries queries.jsonl -o clicks.qrels",
    "assay log judgments events.jsonl --model \"coec(variant='opensearch')\" --cuts value -o clicks.qrels",
)


@dataclass(frozen=True)
class Grading:
    """How clicks become grades."""

    model: str = option("--model", default="coec", show_default=True, metavar="MODEL")
    least: int = option("--least", default=10, show_default=True, type=POSITIVE)
    cuts: str | None = option("--cuts", metavar="VALUES|SHARES|value")
    queries: str | None = option("--queries", metavar="FILE")


@make_command("judgments", _EXAMPLES, wording="log.judgments")
@add_argument("events", nargs=-1, required=True, metavar="EVENTS...")
@takes(grading=Grading, reading=LogReading, where=EngineChoice)
@options.encoding
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@add_option("--queries-out", type=OUTPUT, metavar="FILE", section="output")
@takes(printing=Printing)
def command(
    *, events: tuple[str, ...], grading: Grading, reading: LogReading, where: EngineChoice,
    output: str | None, queries_out: str | None, printing: Printing,
) -> None:  # fmt: skip
    """Judge by clicks, write, print."""
    from assay.formats.queries import read_queries
    from assay.formats.writing import check_place
    from assay.online.click_judgments import click_judgments
    from assay.report.views import click_judgments as view

    if output is not None and not output.endswith(".json"):
        check_place(output, ())
    options.check_folder(queries_out)
    log = reading.read_where(where, events)
    known = read_queries(grading.queries).texts() if grading.queries else None
    found = click_judgments(log, grading.model, least=grading.least, cuts=grading.cuts, queries=known)
    if output is not None:
        found.save(output)
    if queries_out is not None:
        found.save_queries(queries_out)
    warnings = (*log.notes, *found.warnings)
    printing.emit(found, view.table(found), log, warnings)
    for place in (output, queries_out):
        if place is not None:
            options.tell_written(place)
