"""`assay log metrics`: what people clicked, rated and waited for, by day, variant and attribute."""

from __future__ import annotations

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import Number, add_argument, add_option, takes

_EXAMPLES = (
    "assay log metrics events.jsonl",
    "assay log metrics events.jsonl --by day,variant -m ctr@5,any_click --report clicks.html",
    "assay log metrics events.jsonl --by variant -m 'satisfied_click(dwell_s=20)' --format csv",
)
_OWN = ("day", "variant", "experiment", "session", "text")


@make_command("metrics", _EXAMPLES, wording="log.metrics")
@add_argument("events", nargs=-1, required=True, metavar="EVENTS...")
@options.measures
@add_option("--by", default="", metavar="day,variant,ATTRIBUTE")
@add_option("--timezone", default="UTC", show_default=True, metavar="NAME")
@add_option("--confidence", type=Number(least=0, most=1), default=0.95, show_default=True)
@takes(out=Output)
def command(
    *, events: tuple[str, ...], measures: tuple[str, ...], by: str, timezone: str, confidence: float, out: Output
) -> None:
    """Compute and print."""
    from assay.cli.reporting import write_fresh
    from assay.formats.events.reading import read_events
    from assay.formats.results import to_json
    from assay.online.log_metrics import log_metrics
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.report.views import log_metrics as view
    from assay.results.result import InputFile, make_result

    groups = [name.strip() for name in by.split(",") if name.strip()]
    log = read_events(list(events), attributes=[name for name in groups if name not in _OWN])
    found = log_metrics(log, measures, by=groups, timezone=timezone, confidence_level=confidence)
    read = [InputFile("events", source.portable, source.sha256) for source in log.sources]
    result = make_result(found, command=inputs.command_line(), warnings=found.warnings, inputs=read)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        blocks = [exact_table(found.to_rows(), len(found.by) + 1)] if kind == "csv" else view.table(found)
        return write(blocks, kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)
