"""Printing what the commands of `assay ab` found, and writing it and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.cli import inputs, language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cli.options import Output
    from assay.data.record import Record
    from assay.results.result import InputFile


def emit(
    found: Record, blocks: list[Any], out: Output, files: Sequence[str], *, kind: str = "users", names: int = 3
) -> None:
    """Print and write a finding; `names` are the columns of its rows that are no numbers."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.tables import exact_table
    from assay.results.result import make_result

    read = [_input(file, kind) for file in files]
    result = make_result(found, command=inputs.command_line(), warnings=getattr(found, "warnings", ()), inputs=read)

    def as_text(form: str) -> str:
        if form == "json":
            return to_json(result)
        return write([exact_table(found.to_rows(), names)] if form == "csv" else blocks, form, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)


def _input(place: str, kind: str) -> InputFile:
    from assay.formats.files import Input
    from assay.results.result import InputFile

    if "://" in place or place.startswith("table:"):
        return InputFile(kind, place, None)  # where only an engine reads it
    source = Input.at(place).source
    return InputFile(kind, source.portable, source.sha256)
