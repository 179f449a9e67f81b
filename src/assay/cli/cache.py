"""`assay env cache`: what the cache of paid answers holds, whether it is sound, and making it smaller."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from assay.cli import language, options
from assay.cli.commands import group
from assay.cli.parameters import NUMBER, WordChoice, add_argument, add_option
from assay.errors import UsageError, clean
from assay.messages import say, tell

if TYPE_CHECKING:
    from pathlib import Path

    from assay.llm.upkeep import Stats

_EXAMPLES = (
    "assay env cache stats",
    "assay env cache prune --failed",
    "assay env cache prune --max-size 500MB",
    "assay env cache verify judging.sqlite --repair",
)
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@group("cache", _EXAMPLES, wording="env.cache")
def command() -> None:
    """Group the commands."""


@command.command(wording="env.cache.stats", examples=["assay env cache stats"])
@add_argument("file", required=False, metavar="[FILE]")
@add_option(
    "--format", "kind", type=WordChoice(["table", "json", "markdown", "csv"]), default="table", show_default=True
)
def stats(*, file: str | None, kind: str) -> None:
    """Print the counts."""
    from assay.llm.upkeep import stats as counted

    found = counted(_path(file))
    if kind == "json":
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"schema": 1, **asdict(found)}, ensure_ascii=False, indent=1))
    else:
        click.echo(_table(found, kind), nl=False)


@command.command(wording="env.cache.prune", examples=["assay env cache prune --failed"])
@add_argument("file", required=False, metavar="[FILE]")
@add_option("--failed", is_flag=True)
@add_option("--model", metavar="NAME")
@add_option("--days", type=NUMBER)
@add_option("--max-size", metavar="SIZE")
def prune(*, file: str | None, failed: bool, model: str | None, days: float | None, max_size: str | None) -> None:
    """Remove and say how many."""
    from assay.llm.upkeep import prune as pruned

    if not failed and model is None and days is None and max_size is None:
        raise UsageError(say("cli.prune_what"))
    size = None if max_size is None else _bytes(max_size)
    gone = pruned(_path(file), failed=failed, model=model, days=days, max_bytes=size)
    options.tell_lines([say("cli.removed_replies", n=gone)])


@command.command(wording="env.cache.verify", examples=["assay env cache verify"])
@add_argument("file", required=False, metavar="[FILE]")
@add_option("--repair", is_flag=True)
def verify(*, file: str | None, repair: bool) -> None:
    """Print what is wrong."""
    from assay.llm.upkeep import verify as verified

    found = verified(_path(file))
    for line in found:
        click.echo(clean(tell(line, language.current())))
    options.tell_lines([say("cli.findings", n=len(found)) if found else say("cli.nothing_found")])
    if found and repair:
        from assay.llm.upkeep import repair as repaired

        kept, gone = repaired(_path(file))
        options.tell_lines([say("cli.repaired", n=gone, kept=kept)])
    elif found:
        sys.exit(1)


def _path(file: str | None) -> Path:
    from pathlib import Path

    from assay.llm.store import default_path

    return default_path() if file is None else Path(file)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", text.strip().upper())
    unit = match[2] if match is not None else ""
    if match is None or unit not in {*_UNITS, "K", "M", "G"}:
        raise UsageError(say("cli.size", text=text))
    return int(float(match[1]) * _UNITS[unit if unit in _UNITS else unit + "B"])


def _table(found: Stats, kind: str) -> str:
    from datetime import UTC, datetime

    from assay.report.document import write
    from assay.report.tables import Table

    rows = tuple((s.host, s.model, f"{s.replies:,}", f"{s.failed:,}", f"{s.bytes / 1e6:,.1f}") for s in found.shares)
    days = [
        datetime.fromtimestamp(at, tz=UTC).date().isoformat() for at in (found.oldest, found.newest) if at is not None
    ]
    caption = say(
        "cli.cache_dates" if days else "cli.cache", place=found.path, replies=found.replies, size=found.bytes / 1e6,
        days=days,
    )  # fmt: skip
    headers = tuple(say(f"cli.column_{name}") for name in ("host", "model", "replies", "failed", "size"))
    return write([Table(headers, rows, caption=caption, names=2)], kind, language.current())
