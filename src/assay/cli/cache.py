"""`assay cache`: what the cache of paid answers holds, whether it is sound, and making it smaller."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from assay.llm.upkeep import Stats

_HELP = """Look after the cache of paid answers. FILE is the default cache unless it is given.

\b
assay cache stats
assay cache prune --failed
assay cache prune --max-size 500MB
assay cache verify judging.sqlite --repair
"""
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@click.group(name="cache", help=_HELP)
def command() -> None:
    """Group the commands."""


@command.command(help="Count what is in the cache, by model.")
@click.argument("file", required=False)
@click.option("--format", "kind", type=click.Choice(["table", "json", "markdown", "csv"]), default="table")
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


@command.command(help="Remove replies: failed ones, of a model, older ones, or the oldest beyond a size.")
@click.argument("file", required=False)
@click.option("--failed", is_flag=True, help="Those that failed (filtered, truncated ...): they are asked again.")
@click.option("--model", metavar="NAME", help="Those of a model.")
@click.option("--days", type=float, help="Those older than so many days.")
@click.option("--max-size", metavar="SIZE", help="The oldest, until the file is no larger: 500MB, 2GB.")
def prune(*, file: str | None, failed: bool, model: str | None, days: float | None, max_size: str | None) -> None:
    """Remove and say how many."""
    from assay.errors import UsageError
    from assay.llm.upkeep import prune as pruned

    if not failed and model is None and days is None and max_size is None:
        raise UsageError("say what to remove: --failed, --model, --days or --max-size")
    size = None if max_size is None else _bytes(max_size)
    gone = pruned(_path(file), failed=failed, model=model, days=days, max_bytes=size)
    click.echo(f"removed {gone:,} repl{'y' if gone == 1 else 'ies'}")


@command.command(help="Look for damage in the cache. Exits with 1 if there is any that is not repaired.")
@click.argument("file", required=False)
@click.option("--repair", is_flag=True, help="Remove damaged replies: they are asked for again when they are needed.")
def verify(*, file: str | None, repair: bool) -> None:
    """Print what is wrong."""
    from assay.errors import clean
    from assay.llm.upkeep import verify as verified

    found = verified(_path(file))
    for line in found:
        click.echo(clean(line))
    click.echo(f"{len(found)} finding{'s' * (len(found) != 1)}" if found else "nothing found")
    if found and repair:
        from assay.llm.upkeep import repair as repaired

        kept, gone = repaired(_path(file))
        replies = f"{gone:,} repl{'y' if gone == 1 else 'ies'}"
        click.echo(f"repaired: removed {replies}, {kept:,} left; a file with damaged pages stays beside it as .damaged")
    elif found:
        sys.exit(1)


def _path(file: str | None) -> Path:
    from pathlib import Path

    from assay.llm.store import default_path

    return default_path() if file is None else Path(file)


def _bytes(text: str) -> int:
    from assay.errors import UsageError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", text.strip().upper())
    unit = match[2] if match is not None else ""
    if match is None or unit not in {*_UNITS, "K", "M", "G"}:
        raise UsageError(f"size {text!r}: expected something like 500MB or 2GB")
    return int(float(match[1]) * _UNITS[unit if unit in _UNITS else unit + "B"])


def _table(found: Stats, kind: str) -> str:
    from datetime import UTC, datetime

    from assay.report.tables import Table, render

    rows = tuple((s.host, s.model, f"{s.replies:,}", f"{s.failed:,}", f"{s.bytes / 1e6:,.1f}") for s in found.shares)
    days = [
        datetime.fromtimestamp(at, tz=UTC).date().isoformat() for at in (found.oldest, found.newest) if at is not None
    ]
    since = f", {days[0]} to {days[1]}" if days else ""
    caption = f"{found.path}: {found.replies:,} replies, {found.bytes / 1e6:,.1f} MB{since}"
    headers = ("host", "model", "replies", "failed", "MB")
    return render(Table(headers, rows, caption=caption, names=2), kind)  # type: ignore[arg-type]
