"""Reading the event logs that commands are given, and printing what was found in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, language, options
from assay.cli.options import KINDS, Output
from assay.cli.parameters import Number, WordChoice, option
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cli.engines import EngineChoice
    from assay.data.events import Events
    from assay.data.record import Record
    from assay.report.blocks import Block


@dataclass(frozen=True)
class LogReading:
    """How an event log is read, by every command that reads one."""

    columns: tuple[str, ...] = option("--map", default=(), multiple=True, metavar="FIELD=COLUMN", section="events")
    first_position: int | None = option("--first-position", type=Number(least=0, most=1, whole=True), section="events")
    drop_bots: bool = option("--drop-bots", default=False, is_flag=True, section="events")
    fold_variants: bool = option("--fold-variants", default=False, is_flag=True, section="events")

    def read(self, places: Sequence[str], attributes: Sequence[str] = (), salt: str | None = None) -> Events:
        """Read the log."""
        from assay.formats.events.reading import read_events

        return read_events(list(places), attributes=attributes, salt=salt, **self._settings())

    def read_where(self, where: EngineChoice, places: Sequence[str], attributes: Sequence[str] = ()) -> Events:
        """Read the log with the engine that is asked for, until the command ends; on this machine as ever."""
        engine = where.start_for(places)
        if engine is None or engine.name == "local":
            return self.read(places, attributes)
        from assay.online.log_tables import read_event_tables

        options.refuse("encoding", because="cli.no_engine_for_logs")
        log = read_event_tables(list(places), engine=engine, attributes=attributes, **self._settings())
        return click.get_current_context().with_resource(log)

    def _settings(self) -> dict[str, Any]:
        return {
            "map": dict(options.pair(text, "--map", "FIELD=COLUMN") for text in self.columns),
            "first_position": self.first_position,
            "bots": "drop" if self.drop_bots else "keep",
            "fold_variants": self.fold_variants,
        }


@dataclass(frozen=True)
class Printing:
    """What is printed, and a page; the output of these commands is a file of its own kind."""

    kind: str | None = option("--format", type=WordChoice(KINDS), section="output")
    report: str | None = option("--report", type=OUTPUT, metavar="FILE", section="output")
    quiet: bool = option("-q", "--quiet", default=False, is_flag=True, callback=options.keep_quiet, section="output")

    def emit(self, found: Record, blocks: list[Block], events: Events, warnings: Sequence[str]) -> None:
        """Print a finding, and write its page."""
        emit(found, blocks, events, warnings, Output(kind=self.kind, report=self.report, quiet=self.quiet))


def emit(
    found: Record, blocks: list[Block], events: Events, warnings: Sequence[str], out: Output, *, names: int = 2
) -> None:
    """Print what was found in a log, write it and its page; `names` are the columns of its rows that are no numbers."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.results.result import InputFile, make_result

    read = [InputFile("events", source.portable, source.sha256) for source in events.sources]
    result = make_result(found, command=inputs.command_line(), warnings=warnings, inputs=read)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        rows: Any = found.to_rows() if kind == "csv" else ()
        return write([exact_table(rows, names)] if rows else blocks, kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)
