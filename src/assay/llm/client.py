"""A client of servers that speak OpenAI's protocol: one question, or many at once with the answers as they come."""

from __future__ import annotations

import math
import time
from collections.abc import Sized
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Self

from assay.errors import UsageError
from assay.llm import tokens
from assay.llm.budget import Ledger, Spending
from assay.llm.cache import Cache
from assay.llm.claims import poll_intervals
from assay.llm.engine import Configuration, Patience
from assay.llm.hosts import Address
from assay.llm.jobs import Chat, Embed
from assay.llm.keys import find_key, wrap_key
from assay.llm.pacing import Limits
from assay.llm.prices import PriceTable
from assay.llm.progress import Tally
from assay.llm.records import Cost, Reply, Request, Usage, digest, failure
from assay.llm.service import Service, chunks
from assay.llm.wire import EmbeddingRequest
from assay.messages import say
from assay.results.judging import Estimate

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assay.llm.calls import Call
    from assay.llm.jobs import Job
    from assay.llm.keys import Key
    from assay.llm.progress import Progress

_SPOILT = {"too_long", "request", "filtered", "empty"}  # reasons that may be one text's alone


class Client:
    """A language model on a server.

    >>> with Client("http://127.0.0.1:11434/v1", "qwen3:8b") as client:  # doctest: +SKIP
    ...     client.complete(Request.asking("What is 2 + 2?")).text
    '4'

    The key comes from the environment (ASSAY_API_KEY, or the vendor's variable), or as `key`, `key_file`, `key_env`;
    with `keyless`, none is looked for; without `general_key`, ASSAY_API_KEY is for another server. `budget` is money
    that is never overshot: the most a call can cost is set aside before it is sent; it holds for this process. Several
    clients share a budget that each of them is given as the same `Ledger`. Failures are not exceptions: each reply has
    a status and, if it failed, a reason. Safe to use from several threads, in notebooks and after a fork.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | Key | None = None,
        key_file: str | os.PathLike[str] | None = None,
        key_env: str = "",
        headers: Mapping[str, str] | None = None,
        cache: Cache | str | os.PathLike[str] | None = None,
        prices: PriceTable | str | os.PathLike[str] | None = None,
        budget: float | Ledger | None = None,
        currency: str = "USD",
        limits: Limits | None = None,
        patience: Patience | None = None,
        keyless: bool = False,
        general_key: bool = True,
    ) -> None:
        secret, key = wrap_key(key), None
        if isinstance(secret, UsageError):
            raise secret
        if not model:
            raise UsageError(say("no model is named"))
        ledger = budget if isinstance(budget, Ledger) else Ledger(budget, currency)
        if ledger.limit is not None and not ledger.limit > 0:
            raise UsageError(say("budget = {budget}: expected an amount of money above 0", budget=ledger.limit))
        address = Address.of(base_url)
        self._own_cache = cache is not None and not isinstance(cache, Cache)
        self._settings = Configuration(
            address=address,
            model=model,
            key=None if keyless else find_key(address, key=secret, file=key_file, env=key_env, general=general_key),
            headers=_check_headers(headers or {}),
            cache=cache if isinstance(cache, Cache) or cache is None else Cache(cache),
            prices=prices if isinstance(prices, PriceTable) else PriceTable.load(*([] if prices is None else [prices])),
            limits=limits or Limits(),
            patience=patience or Patience(),
        )
        self._ledger = ledger
        if ledger.limit is not None:
            self._check_budget()
        self._service = Service(self._settings, self._ledger)

    def _check_budget(self) -> None:
        settings = self._settings
        price = settings.prices.price(settings.address, settings.model)
        if price is None:
            raise UsageError(
                say(
                    "a budget needs a price, and that of {model} on {host} is not known: give a file of prices",
                    model=settings.model,
                    host=settings.address.host,
                )
            )
        if price.currency != self._ledger.currency:
            raise UsageError(
                say(
                    "the budget is in {currency}, the price of {model} in {other}",
                    currency=self._ledger.currency,
                    model=settings.model,
                    other=price.currency,
                )
            )

    def __repr__(self) -> str:
        settings = vars(self).get("_settings")  # not there yet when a traceback shows a failed start
        return "Client()" if settings is None else f"Client({settings.address.url!r}, {settings.model!r})"

    @property
    def host(self) -> str:
        """Host, port and path of the server, as used in the cache's keys."""
        return self._settings.address.label

    @property
    def model(self) -> str:
        """The model that is asked unless a request names another."""
        return self._settings.model

    @property
    def spending(self) -> Spending:
        """Money so far."""
        return self._ledger.spending

    @property
    def calls(self) -> int:
        """HTTP calls so far."""
        return self._service.calls

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know: why the cache is off if it is, and how many of its replies were damaged."""
        cache = self._settings.cache
        if cache is None:
            return ()
        damage = say(
            "{n:,} damaged {n:reply|replies} in {path} {n:was|were} ignored", n=cache.damaged, path=str(cache.path)
        )
        return tuple(filter(None, (cache.trouble, damage if cache.damaged else "")))

    # Asking -----------------------------------------------------------------------------------------------------------

    def complete(self, request: Request, *, deadline: float | None = None) -> Reply:
        """Ask one question and wait for its reply, at most `deadline` seconds."""
        return next(reply for _, reply in self.complete_many([request], deadline=deadline))

    def complete_many(
        self,
        requests: Iterable[Request],
        *,
        total: int | None = None,
        progress: Callable[[Progress], object] | None = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """Ask many questions at once; gives (number, reply) as they come, exactly one for each request.

        Requests are taken as they are needed. `progress` is called after each reply; `deadline` bounds the whole run,
        in seconds. A caller that goes away early stops what is not yet sent; what is under way is paid for and goes
        into the cache.
        """
        size = len(requests) if total is None and isinstance(requests, Sized) else total
        jobs = ((self._key(request), self._job(request)) for request in requests)
        tally = Tally(size, self._ledger.currency)
        for number, reply in self._service.serve(jobs, deadline):
            tally.count(reply)
            if progress is not None:
                progress(tally.progress)
            yield number, reply

    def embed(
        self,
        texts: Sequence[str],
        *,
        model: str = "",
        dimensions: int | None = None,
        batch: int = 10,
        deadline: float | None = None,
    ) -> list[Reply]:
        """Turn texts into vectors: a reply for each, the vector in `data`. Each text is cached by itself.

        `batch` texts go into one call; DashScope allows 10, OpenAI 2,048.
        """
        name = model or self.model
        keys = [digest({"host": self.host, "model": name, "text": text, "dimensions": dimensions}) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        found = self._service.look_up(list(text_of))
        end = float("inf") if deadline is None else time.monotonic() + deadline
        waits = poll_intervals()
        while missing := [key for key in text_of if key not in found]:
            with self._claiming(missing, found) as ours:
                left = None if deadline is None else max(end - time.monotonic(), 0.001)
                found |= self._ask_vectors({key: text_of[key] for key in ours}, name, dimensions, batch, left)
            left_over = [key for key in missing if key not in found]
            if left_over and time.monotonic() > end:
                late = failure("deadline", say("reply.run_over"), cost=Cost())
                found |= {key: replace(late, key=key) for key in left_over}
            elif left_over and not ours:
                time.sleep(min(next(waits), max(end - time.monotonic(), 0.0)))
        return [found[key] for key in keys]

    @contextmanager
    def _claiming(self, missing: list[str], found: dict[str, Reply]) -> Iterator[list[str]]:
        """Those of the missing vectors that are ours to ask for; what others have stored meanwhile is found."""
        cache = self._settings.cache
        if cache is None:
            yield missing
            return
        with cache.claiming() as claimed:
            states = claimed.take(missing, lambda reply: reply)
            found |= {key: state for key, state in states.items() if isinstance(state, Reply)}
            yield [key for key, state in states.items() if state is True]

    def _ask_vectors(
        self, texts: dict[str, str], model: str, dimensions: int | None, batch: int, deadline: float | None
    ) -> dict[str, Reply]:
        """Request vectors; a text that makes its batch fail must not fail the others."""
        found: dict[str, Reply] = {}
        missing = list(texts)
        for size in dict.fromkeys((batch, 1)):
            groups = [missing[start : start + size] for start in range(0, len(missing), size)]
            jobs = (
                (
                    digest({"batch": group}),
                    Embed(EmbeddingRequest(tuple(texts[key] for key in group), model, dimensions)),
                )
                for group in groups
            )
            for number, reply in self._service.serve(jobs, deadline, keep=False):
                found |= self._share(reply, groups[number], model)
            missing = [key for group in groups if len(group) > 1 for key in group if found[key].reason in _SPOILT]
        return found

    def call_many(self, calls: Sequence[Call], *, deadline: float | None = None) -> list[Reply]:
        """Send calls of other kinds, such as reranking; a reply for each, in their order, what was read in `data`."""
        jobs = ((digest({"host": self.host, **call.identity}), call) for call in calls)
        return [reply for _, reply in sorted(self._service.serve(jobs, deadline), key=itemgetter(0))]

    def send(
        self, jobs: Iterable[tuple[str, Job]], *, deadline: float | None = None, ahead: int | None = None
    ) -> Iterator[tuple[int, Reply]]:
        """Send jobs with their keys; gives (number, reply) as the replies come, exactly one for each.

        With `ahead`, no more than so many are sent before the caller has done with their replies: what it keeps of them
        is what a kill leaves.
        """
        return self._service.serve(jobs, deadline, ahead=ahead)

    def price_of(self, reply: Reply) -> float | None:
        """Money that the tokens of a reply cost, also when it came from the cache; None when that is not known."""
        settings = self._settings
        price = settings.prices.price(settings.address, reply.model or settings.model)
        price = price or settings.prices.price(settings.address, settings.model)
        return None if price is None else price.cost(reply.usage)

    def estimate(self, requests: Iterable[Request]) -> Estimate:
        """Say what requests will cost, without sending any."""
        count = calls = prompt = completion = 0
        cost: float | None = 0.0
        enough: float | None = 0.0
        settings = self._settings
        for chunk in chunks(requests):
            jobs = {self._key(request): self._job(request) for request in chunk}
            cached = self._service.look_up(list(jobs))
            count += len(chunk)
            for key, job in jobs.items():
                if key in cached and job.recall(cached[key]) is not None:
                    continue
                price = settings.prices.price(settings.address, job.model)
                size, limit = tokens.estimate_prompt(job.request), job.request.max_tokens
                likely = None if price is None or limit is None else price.most(size, limit)
                cost = None if cost is None or likely is None else cost + likely
                bounds = job.all_bounds
                most = [None if price is None else price.most(*pair) for pair in bounds or ()]
                known = [amount for amount in most if amount is not None]
                enough = None if enough is None or not known or len(known) < len(most) else enough + math.fsum(known)
                calls, prompt, completion = calls + 1, prompt + size, completion + (limit or 0)
        return Estimate(count, count - calls, calls, prompt, completion, cost, enough, self._ledger.currency)

    # Inside -----------------------------------------------------------------------------------------------------------

    def _key(self, request: Request) -> str:
        return request.fingerprint(self.host, self.model)

    def _job(self, request: Request) -> Chat:
        return Chat(request, request.model or self.model, self._settings.address.vendor)

    def _share(self, reply: Reply, keys: list[str], model: str) -> dict[str, Reply]:
        """Split the reply of a batch among its texts; tokens and money are counted at the first."""
        parts = {
            key: replace(reply, data=reply.data[place] if reply.ok else None, key=key)
            if not place
            else replace(
                reply, data=reply.data[place] if reply.ok else None, key=key, usage=Usage(), calls=0, cost=Cost()
            )
            for place, key in enumerate(keys)
        }
        cache = self._settings.cache
        if cache is not None and reply.ok:
            for done in [cache.put(key, part, host=self.host, model=model) for key, part in parts.items()]:
                done.result()
        return parts

    def close(self) -> None:
        """Send nothing more, wait for the answers that are under way, and close the connections."""
        self._service.close()
        if self._own_cache and self._settings.cache is not None:
            self._settings.cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not (name + value).isascii() or not (name + value).isprintable():
            raise UsageError(say("header {name!r}: only printable ASCII characters can be sent", name=name))
    return dict(headers)
