"""Asking a language model from the command line: options of the client, the client, and what was spent."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.cli.parameters import NUMBER, POSITIVE, option
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.llm.hosts import is_same_server
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.llm import Ledger
    from assay.llm.client import Client

_NO_KEY = "none-for-a-dry-run"


@dataclass(frozen=True)
class Asking:
    """Where the server is, what it may cost, how fast it may be asked, and where answers are kept."""

    url: str | None = option("--url", envvar="ASSAY_BASE_URL", metavar="URL", section="asking")
    max_cost: float | None = option("--max-cost", type=NUMBER, section="asking")
    dry_run: bool = option("--dry-run", default=False, is_flag=True, section="asking")
    key_env: str = option("--key-env", default="", metavar="NAME", section="asking")
    key_file: str | None = option("--key-file", metavar="FILE", section="asking")
    currency: str = option("--currency", default="USD", show_default=True, metavar="CODE", section="asking")
    prices: str | None = option("--prices", metavar="FILE", section="asking")
    rpm: float | None = option("--rpm", type=NUMBER, section="asking")
    tpm: float | None = option("--tpm", type=NUMBER, section="asking")
    jobs: int = option(
        "--jobs", default=32, show_default=True, type=POSITIVE, former=["--concurrency"], section="asking"
    )
    timeout: float = option("--timeout", default=60.0, show_default=True, type=NUMBER, section="asking")
    deadline: float | None = option("--deadline", type=NUMBER, section="asking")
    cache: str | None = option("--cache", type=OUTPUT, metavar="DIR", section="asking")
    no_cache: bool = option("--no-cache", default=False, is_flag=True, section="asking")

    def unpaid(self) -> Asking:
        """The same without a limit of money."""
        return replace(self, max_cost=None)


def clients(models: Sequence[str], asking: Asking, *, beside: Sequence[str] = ()) -> dict[str, Client]:
    """Make a client for every model, NAME or NAME@URL; the money is that of all of them together.

    A key goes to one server: that of --url, or the only one that these models and those `beside` them are on.
    """
    from assay.cli.logs import tell_logs
    from assay.llm import Cache, Ledger
    from assay.llm.store import cache_file

    if asking.no_cache and asking.cache:
        raise UsageError(say("cli.cache_or_none"))
    if not models:
        raise UsageError(say("cli.name_a_model"))
    if len(set(models)) < len(models):
        raise UsageError(say("cli.model_twice"))
    tell_logs()
    cache = None if asking.no_cache else Cache(cache_file(asking.cache) if asking.cache else None)
    budget = Ledger(asking.max_cost, asking.currency)
    places = [_place(text, asking.url or "") for text in models]
    home = _home([url for _, url in (*places, *(_place(text, asking.url or "") for text in beside))], asking)
    found = {}
    for text, (model, url) in zip(models, places, strict=True):
        at_home = is_same_server(url, home)
        asked = asking if at_home else replace(asking, key_env="", key_file=None)
        found[text] = _client(url, model, budget, cache, asked, general_key=at_home)
    return found


@contextmanager
def only_client(model: str | None, asking: Asking) -> Iterator[Client | None]:
    """A client of one model, closed at the end; none where no model is named."""
    if model is None:
        yield None
        return
    with next(iter(clients([model], asking).values())) as client:
        yield client


def _place(text: str, url: str) -> tuple[str, str]:
    """The name and the address of a model that is NAME, at the address of all, or NAME@URL."""
    model, at, own = text.rpartition("@")
    model, url = (model, own) if at and "://" in own else (text, url)
    if not url:
        raise UsageError(say("cli.where_is_the_model", model=model))
    return model, url


def _home(urls: Sequence[str], asking: Asking) -> str:
    """The server that the key is for: that of --url, or the only one."""
    home = only_server(urls) if asking.url is None else asking.url
    named = "--key-env" if asking.key_env else "--key-file"
    if (asking.key_env or asking.key_file) and not any(is_same_server(url, home) for url in urls):
        raise UsageError(say("cli.whose_key", option=named))
    return home


def only_server(urls: Sequence[str]) -> str:
    """The first of some addresses if all are of one server, else none."""
    return urls[0] if all(is_same_server(urls[0], url) for url in urls) else ""


def _client(url: str, model: str, budget: Ledger, cache: Any, asking: Asking, *, general_key: bool) -> Client:
    from assay.llm import Client, Limits, Patience

    dry = asking.dry_run
    limits = Limits(concurrency=asking.jobs, requests_per_minute=asking.rpm, tokens_per_minute=asking.tpm)
    return Client(
        url, model, key=_NO_KEY if dry else None, key_file=None if dry else asking.key_file,
        key_env="" if dry else asking.key_env, cache=cache, prices=asking.prices, general_key=general_key,
        budget=budget, currency=asking.currency, limits=limits, patience=Patience(timeout=asking.timeout),
    )  # fmt: skip
