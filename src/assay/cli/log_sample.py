"""`assay log sample`: queries of an event log for a new evaluation set, with their weights."""

from __future__ import annotations

from dataclasses import dataclass

from assay.cli import options
from assay.cli.commands import command as make_command
from assay.cli.event_logs import LogReading, Printing
from assay.cli.parameters import POSITIVE, Number, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say

_EXAMPLES = (
    "assay log sample events.jsonl -n 200 -o sampled.jsonl",
    "assay log sample events.jsonl -n 200 --stratum thumbs_down --stratum no_click --random 0.4 -o sampled.jsonl",
    "assay log sample events.jsonl -n 200 --stratum low:top_score=0.3 --redact -o queries.csv",
    "assay evaluate qrels.txt new.run --weights sampled.jsonl",
)


@dataclass(frozen=True)
class Drawing:
    """What is drawn."""

    n: int = option("-n", "--number", default=200, show_default=True, type=POSITIVE)
    strata: tuple[str, ...] = option("--stratum", default=(), multiple=True, metavar="NAME[=SHARE]")
    random: float | None = option("--random", type=Number(least=0, most=1), metavar="SHARE")
    unit: str = option("--unit", default="text", show_default=True, type=WordChoice(["text", "request"]))
    queries: str | None = option("--queries", metavar="FILE")
    redact: bool = option("--redact", default=False, is_flag=True)
    seed: int = option("--seed", default=0, show_default=True, type=Number(whole=True))

    def shares(self) -> list[str] | dict[str, float] | None:
        """Strata with their shares, or names alone."""
        parted = [one for one in self.strata if "=" in one]
        if parted and len(parted) < len(self.strata):
            raise UsageError(say("cli.stratum_shares"))
        return options.numbers(self.strata, "--stratum") if parted else list(self.strata) or None

    def attributes(self) -> list[str]:
        """The attributes of the log that strata need."""
        names = [one.rpartition("=")[0] or one for one in self.strata]
        return [name.removeprefix("low:") for name in names if name.startswith("low:")]


@make_command("sample", _EXAMPLES, wording="log.sample")
@add_argument("events", nargs=-1, required=True, metavar="EVENTS...")
@takes(drawing=Drawing, reading=LogReading)
@options.encoding
@add_option("-o", "--output", type=OUTPUT, metavar="FILE|FOLDER", section="output")
@takes(printing=Printing)
def command(
    *, events: tuple[str, ...], drawing: Drawing, reading: LogReading, output: str | None, printing: Printing
) -> None:
    """Draw, write, print."""
    from assay.formats.queries import read_queries
    from assay.online.log_sample import sample_log
    from assay.report.views import log_sample as view

    options.check_folder(output)
    shares = drawing.shares()
    log = reading.read(events, drawing.attributes())
    known = read_queries(drawing.queries).texts() if drawing.queries else None
    found = sample_log(
        log, drawing.n, strata=shares, random=drawing.random, unit=drawing.unit, queries=known,  # type: ignore[arg-type]
        redact=drawing.redact, seed=drawing.seed,
    )  # fmt: skip
    if output is not None:
        found.save(output)
    printing.emit(found, view.table(found), log, (*log.notes, *found.warnings))
    if output is not None:
        options.tell_written(output)
