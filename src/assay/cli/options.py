"""Options that several commands share, meaning one thing everywhere."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.cli.places import OUTPUT, guard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Item = TypeVar("Item")
_PATIENCE = 1.0  # seconds before progress is shown


class _Threshold(click.types.FloatParamType):
    """A grade, or the word for any grade above 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        return value if value == "positive" else super().convert(value, param, ctx)


_PLAIN = [
    click.option("--protocol", default="trec", show_default=True, metavar="NAME|FILE", help="See: assay protocols."),
    click.option(
        "--min-relevance",
        type=_Threshold(),
        metavar="GRADE|positive",
        help="Smallest grade that is relevant; positive: any above 0.",
    ),
    click.option("--max-grade", type=float, help="Largest grade of the scale (graded AP, ERR)."),
    click.option("--input-format", metavar="FORMAT", help="trec, json, jsonl, csv, tsv, parquet or beir."),
    click.option("--split", default="test", show_default=True, help="Split of a BEIR folder."),
]
_SAME_ID = click.option(
    "--ignore-same-id", is_flag=True, default=None, help="Drop retrieved documents with the id of their query, as BEIR."
)
_RULES = [
    *_PLAIN[:3],
    click.option("--ties", type=click.Choice(["docid", "given", "expected"]), help="Order of equal scores."),
    click.option("--missing", type=click.Choice(["zero", "skip"]), help="Judged queries that the run lacks."),
    click.option("--undefined", type=click.Choice(["zero", "skip"]), help="Queries without relevant documents."),
    click.option("--fold", type=click.Choice(["after", "before"]), help="Fold chunks after or before the cut at k."),
    click.option("--chunk-map", metavar="FILE|PATTERN", help="Chunk to document: a file, or {doc}#{chunk}."),
    click.option("--calibration", metavar="FILE", help="What assay calibrate found about the judge of the grades."),
    click.option("--dedupe", is_flag=True, help="Keep the highest ranked of repeated documents."),
    _SAME_ID,
    *_PLAIN[3:],
]


lang = click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, envvar="ASSAY_LANG",
    help="Language of messages and tables.",
)  # fmt: skip


def written(*names: str, metavar: str = "FILE", **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for a file that the command writes; one that it reads is refused before anything is done."""
    option = click.option(*names, type=OUTPUT, metavar=metavar, **more)
    return lambda function: option(guard(function))


report = written("--report", help="Also write a report: .html (or .md, .tex, .txt); see: assay report.")
FORMATS = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}


def output(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add where to write, in which format and in which language."""
    for option in (
        lang,
        click.option(
            "--format", "kind", type=click.Choice(list(dict.fromkeys(FORMATS.values()))), help="Output format."
        ),
        written("--output", "-o", help="Write to a file instead; its suffix sets the format."),
    ):
        function = option(function)
    return function


def given(*names: str) -> list[str]:
    """Which of these options were typed, as they are typed."""
    ctx = click.get_current_context()
    typed = [name for name in names if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    return [f"--{name.replace('_', '-')}" for name in typed]


RULES = (
    "protocol", "min_relevance", "max_grade", "ties", "missing", "undefined", "fold", "chunk_map", "dedupe",
    "ignore_same_id", "calibration",
    "input_format", "split", "weights",
)  # fmt: skip


def rules(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that override a protocol."""
    for option in reversed(_RULES):
        function = option(function)
    return function


def rules_but_protocol(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that override a protocol, for a command with a protocol option of its own."""
    for option in reversed(_RULES[1:]):
        function = option(function)
    return function


def numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """Read NAME=VALUE texts."""
    from assay.errors import UsageError

    found = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        found[name] = number
        if not name or not math.isfinite(number):
            raise UsageError(f"{option} {text}: expected NAME=NUMBER")
    return found


def plain_rules(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that hold for a single list: no folding, no missing queries, ties by document id or as given."""
    ties = click.option("--ties", type=click.Choice(["docid", "given"]), help="Order of equal scores.")
    for option in reversed([*_PLAIN, ties, _SAME_ID]):
        function = option(function)
    return function


def named(text: str) -> tuple[str | None, str]:
    """Split NAME=FILE; a plain path has no name."""
    from pathlib import Path

    name, equals, path = text.partition("=")
    return (name, path) if equals and name and not Path(text).exists() else (None, text)


def with_progress(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Pass items on; after a second, show on a terminal how far we are."""
    start = time.monotonic()
    shown = False
    for done, item in enumerate(items):
        if sys.stderr.isatty() and time.monotonic() - start > _PATIENCE:
            filled = 24 * done // len(items)
            click.echo(f"\r{what} [{'#' * filled}{'.' * (24 - filled)}] {done}/{len(items)}", err=True, nl=False)
            shown = True
        yield item
    if shown:
        click.echo("\r" + " " * 60 + "\r", err=True, nl=False)


def format_for(output: str | None, known: dict[str, str]) -> str:
    """Choose the format by the suffix of the output file."""
    from pathlib import Path

    from assay.errors import UsageError

    if output is None or output == "-":
        return "table"
    suffix = Path(output).suffix.lower()
    if suffix not in known:
        raise UsageError(f"cannot tell the format of {output!r}: use {', '.join(known)}, or --format")
    return known[suffix]


def check_folder(output: str | None) -> None:
    """Refuse a file that cannot be written, before a long run begins."""
    from pathlib import Path

    from assay.errors import UsageError

    if output is not None and output != "-" and not Path(output).parent.is_dir():
        raise UsageError(f"{output}: there is no such folder")


def emit(text: str, output: str | None) -> None:
    """Print, or write the file completely or not at all."""
    if output is None or output == "-":
        click.echo(text, nl=False)
    else:
        from assay.formats.files import write_atomically

        write_atomically(output, text)
        click.echo(f"wrote {output}", err=True)
