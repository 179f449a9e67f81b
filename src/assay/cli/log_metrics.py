"""`assay log metrics`: what people clicked, rated and waited for, by day, variant and attribute."""

from __future__ import annotations

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.engines import EngineChoice
from assay.cli.event_logs import LogReading, emit
from assay.cli.options import Output
from assay.cli.parameters import Number, add_argument, add_option, takes
from assay.errors import UsageError

_EXAMPLES = (
    "assay log metrics events.jsonl",
    "assay log metrics events.jsonl --by day,variant -m ctr@5,any_click --report clicks.html",
    "assay log metrics events.jsonl --by variant -m 'satisfied_click(dwell_s=20)' --format csv",
    "assay log metrics s3a://lake/events/ --engine spark --master spark://head:7077 --by day",
)


@make_command("metrics", _EXAMPLES, wording="log.metrics")
@add_argument("events", nargs=-1, required=True, metavar="EVENTS...")
@options.measures
@add_option("--by", default="", metavar="day,variant,ATTRIBUTE")
@add_option("--timezone", default="UTC", show_default=True, metavar="NAME")
@add_option("--confidence", type=Number(least=0, most=1), default=0.95, show_default=True)
@takes(reading=LogReading, where=EngineChoice)
@options.encoding
@takes(out=Output)
def command(
    *, events: tuple[str, ...], measures: tuple[str, ...], by: str, timezone: str, confidence: float,
    reading: LogReading, where: EngineChoice, out: Output,
) -> None:  # fmt: skip
    """Compute and print."""
    from assay.online.log_metrics import log_metrics
    from assay.online.user_table import OWN_GROUPS
    from assay.report.views import log_metrics as view

    groups = [name.strip() for name in by.split(",") if name.strip()]
    log = reading.read_where(where, events, [name for name in groups if name not in OWN_GROUPS])
    found = log_metrics(log, measures, by=groups, timezone=timezone, confidence_level=confidence)
    if measures and all(one.lacking for one in found.measures):
        raise UsageError(found.measures[0].lacking)
    emit(found, view.table(found), log, found.warnings, out, names=len(found.by) + 1)
