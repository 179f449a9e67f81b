"""Asking a language model from the command line: options of the client, the client, progress, and what was spent."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from assay.cli import options
from assay.report.views.judging import money, prices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.llm.client import Client
    from assay.llm.progress import Progress

__all__ = ["bar", "client_options", "clients", "money", "prices", "wiped"]

_NO_KEY = "none-for-a-dry-run"
_OPTIONS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--url", envvar="ASSAY_BASE_URL", metavar="URL", help="Base URL of the server (or ASSAY_BASE_URL)."),
    click.option("--key-env", default="", metavar="NAME", help="Environment variable that holds the key."),
    click.option("--key-file", metavar="FILE", help="File that holds the key."),
    click.option("--max-cost", type=float, help="Stop before more than this is spent."),
    click.option("--currency", default="USD", show_default=True, help="Of --max-cost."),
    click.option("--prices", metavar="FILE", help="Prices of your own (TOML)."),
    click.option("--rpm", type=float, help="Most requests per minute."),
    click.option("--tpm", type=float, help="Most tokens per minute."),
    click.option(
        "--concurrency", type=click.IntRange(min=1), default=32, show_default=True, help="Most calls at once."
    ),
    click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds for one call."),
    click.option("--deadline", type=float, help="Seconds for everything."),
    options.written("--cache", help="Where answers are kept; the user's cache unless named."),
    click.option("--no-cache", is_flag=True, help="Keep no answers: a stopped run starts over."),
    click.option("--dry-run", is_flag=True, help="Only say what it would cost."),
]


def client_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add where the server is, what it may cost, how fast it may be asked, and where answers are kept."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def clients(models: Sequence[str], rest: dict[str, Any]) -> dict[str, Client]:
    """Make a client for every model, NAME or NAME@URL; the money is shared out among them evenly."""
    from assay.errors import UsageError
    from assay.llm import Cache

    if rest["no_cache"] and rest["cache"]:
        raise UsageError("--cache and --no-cache exclude each other")
    if not models:
        raise UsageError("name a model: --model qwen-plus (or ASSAY_MODEL)")
    if len(set(models)) < len(models):
        raise UsageError("a model is named twice: use --repeats to ask it more than once")
    cache = None if rest["no_cache"] else Cache(rest["cache"])
    budget = None if rest["max_cost"] is None else rest["max_cost"] / len(models)
    found = {}
    for text in models:
        model, at, url = text.rpartition("@")
        model, url = (model, url) if at and "://" in url else (text, rest["url"])
        if not url:
            raise UsageError(f"where is {model}? Give --url (or ASSAY_BASE_URL)")
        found[text if at and "://" in text else model] = _client(url, model, budget, cache, rest)
    return found


def _client(url: str, model: str, budget: float | None, cache: Any, rest: dict[str, Any]) -> Client:
    from assay.llm import Client, Limits, Patience

    dry = rest["dry_run"]
    limits = Limits(concurrency=rest["concurrency"], requests_per_minute=rest["rpm"], tokens_per_minute=rest["tpm"])
    return Client(
        url, model, key=_NO_KEY if dry else None, key_file=None if dry else rest["key_file"],
        key_env="" if dry else rest["key_env"], cache=cache, prices=rest["prices"],
        budget=budget, currency=rest["currency"], limits=limits, patience=Patience(timeout=rest["timeout"]),
    )  # fmt: skip


@contextmanager
def wiped() -> Iterator[None]:
    """Remove the line of progress at the end."""
    try:
        yield
    finally:
        if sys.stderr.isatty():
            click.echo("\r" + " " * 100 + "\r", err=True, nl=False)


def bar() -> Callable[[str, Progress], None]:
    """Show how far we are, at most ten times a second and only on a terminal."""
    import time

    shown = 0.0

    def show(name: str, now: Progress) -> None:
        nonlocal shown
        if not sys.stderr.isatty() or time.monotonic() - shown < 0.1:  # noqa: PLR2004
            return
        shown = time.monotonic()
        total = now.total or now.done
        filled = 24 * now.done // max(total, 1)
        left = (
            "" if now.seconds_left is None else f"  {int(now.seconds_left) // 60}:{int(now.seconds_left) % 60:02} left"
        )
        price = "" if now.unpriced else f"  {now.cost:.4f} {now.currency}"
        line = f"{name} [{'#' * filled}{'.' * (24 - filled)}] {now.done}/{total}  {now.rate:.1f}/s{price}{left}"
        click.echo(f"\r{line[:100]:<100}", err=True, nl=False)

    return show
