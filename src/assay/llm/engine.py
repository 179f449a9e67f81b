"""From a request to its reply: places, money and time before a call, the policy after it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from assay.errors import clean
from assay.llm import claims
from assay.llm.flights import Flight, RequestGroup, Waiter
from assay.llm.pacing import Pacer
from assay.llm.policy import POLICY, Complaint, Kind, adapt, complaint_of, kind_of, retry_after
from assay.llm.records import Cost, Reply, Usage, failure, from_json, mend_surrogates
from assay.llm.structured import NO_OBJECT, NO_SEAL, RUNGS
from assay.llm.transport import Exchange, Transport
from assay.llm.wire import Traits, encode
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.llm.budget import Ledger
    from assay.llm.cache import Cache
    from assay.llm.hosts import Address
    from assay.llm.jobs import Job
    from assay.llm.keys import Key
    from assay.llm.pacing import Limits
    from assay.llm.prices import Price, PriceTable
    from assay.llm.records import Rung

_log = logging.getLogger("assay.llm")
_RECENT = 4096  # replies remembered after they are committed, until all callers have looked into the cache


@dataclass(frozen=True)
class Patience:
    """Seconds for one HTTP call, for an item from its first call on, before a second attempt, at most between two."""

    timeout: float = 60.0
    deadline: float = 300.0
    backoff: float = 0.5
    longest_wait: float = 60.0


@dataclass(frozen=True)
class Configuration:
    """All settings of a client."""

    address: Address
    model: str
    key: Key | None
    headers: Mapping[str, str] = field(repr=False)
    cache: Cache | None
    prices: PriceTable
    limits: Limits
    patience: Patience


@dataclass(frozen=True)
class _Outcome:
    """What one call came to: the kind of failure (None: an answer), and what is known of the reply."""

    kind: Kind | None
    reply: Reply
    wait: float | None = None
    complaint: Complaint | None = None


class Engine:
    """Serves requests on an event loop; every method runs there."""

    def __init__(self, settings: Configuration, ledger: Ledger) -> None:
        self.settings, self.ledger = settings, ledger
        self.calls = 0
        self._closed = False
        patience = settings.patience
        self._pacer = Pacer(settings.limits, longest_wait=patience.longest_wait, backoff=patience.backoff)
        self._transport = Transport(settings.address, settings.key, settings.headers)
        self._flights: dict[str, Flight] = {}
        self._tasks: dict[asyncio.Task[None], Flight] = {}
        self._recent: OrderedDict[str, Reply] = OrderedDict()
        self._traits: dict[str, Traits] = {}
        self._prices: dict[tuple[str, int], Price | None] = {}

    def submit(
        self, batch: RequestGroup, key: str, job: Job, deliver: Callable[[Reply], None], *, keep: bool = True
    ) -> None:
        """Queue a request for a caller; callers who ask the same at the same time share one call."""
        if self._closed or key in self._recent:
            deliver(_CLOSED if self._closed else self._recent[key])
            return
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            flight = Flight(key, job, keep)
        waiter = Waiter(batch, flight, deliver, shared=joined)
        flight.waiters.append(waiter)
        if batch.over is not None:
            waiter.tell(batch.over)
        elif not joined:
            self._flights[key] = flight
            task = asyncio.get_running_loop().create_task(self._run_flight(flight))
            self._tasks[task] = flight
            task.add_done_callback(self._end_flight)

    def _end_flight(self, task: asyncio.Task[None]) -> None:
        flight = self._tasks.pop(task)
        if self._flights.get(flight.key) is flight:
            del self._flights[flight.key]

    async def close(self) -> None:
        """Cancel requests that were not sent, wait for those under way, and close the connections."""
        self._closed = True
        for flight in list(self._tasks.values()):
            if not flight.sending:
                flight.tell(_CLOSED)
        while under_way := [task for task, flight in self._tasks.items() if flight.sending]:
            await asyncio.wait(under_way)
        for task, flight in list(self._tasks.items()):
            flight.tell(_CLOSED)
            task.cancel()
        await self._transport.close()

    # One request ------------------------------------------------------------------------------------------------------

    async def _run_flight(self, flight: Flight) -> None:
        try:
            outcome = await self._claim(flight)
            reply = None if outcome is None else outcome.reply
            if outcome is None or reply is None:
                outcome = await self._answer(flight)
                reply = replace(
                    outcome.reply, calls=flight.calls, cost=None if flight.unpriced else flight.cost,
                    usage=flight.usage, key=flight.key, seconds=flight.seconds,
                    span=(flight.first_sent, time.monotonic()) if flight.first_sent else None,
                    dropped=tuple(sorted(self._traits_of(flight.job.model).dropped)),
                    repaired=outcome.reply.ok and "unfit" in flight.tries,
                )  # fmt: skip
                await self._keep(flight, outcome.kind, reply)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not leave callers waiting
            # As text: a handler that shows local variables must not find the key in them.
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a bug in assay: %s\n%s", type(error).__name__, where)
            outcome = _Outcome(None, failure("error", say("reply.bug", kind=type(error).__name__)))
            reply = outcome.reply
        finally:
            self._flights.pop(flight.key, None)
            self._leave(flight)
            if flight.claim is not None and self.settings.cache is not None:
                self.settings.cache.release(flight.claim)
        stops = outcome.kind is not None and POLICY[outcome.kind].action == "stop"
        batches = {waiter.batch for waiter in flight.waiters}
        flight.tell(reply)
        for batch in batches:
            batch.note(reply, final=stops)

    async def _claim(self, flight: Flight) -> _Outcome | None:
        """Claim the question, so that no other user of the cache pays for it too.

        While another asks it, wait; the outcome is then the other's reply. None: it is ours to ask. A place comes
        first: what is claimed is asked at once, and what waits for a place is free for others.
        """
        cache, doubted = self.settings.cache, ""
        waits, end = claims.poll_intervals(), time.monotonic() + self.settings.patience.deadline
        while cache is not None and flight.keep:
            await self._place(flight)
            flight.claim, claimed = cache.claim(flight.key, doubted=doubted)
            state = await claimed
            if state is True:
                break
            if isinstance(state, str):
                stored = from_json(state, flight.key)
                reply = None if stored is None else flight.job.recall(stored)
                if reply is not None:
                    return _Outcome(None, reply)
                doubted = state
                continue
            self._leave(flight)
            if not flight.is_wanted:
                return _GONE
            if time.monotonic() > end:
                return _STILL_ASKED
            await asyncio.sleep(next(waits))
        return None

    async def _keep(self, flight: Flight, kind: Kind | None, reply: Reply) -> None:
        cache = self.settings.cache
        if cache is None or not flight.keep or not (reply.ok or (kind is not None and POLICY[kind].keep)):
            return
        if await cache.keep(flight.key, reply, host=self.settings.address.label, model=flight.job.model):
            self._recent[flight.key] = replace(reply, cached=True, calls=0, cost=Cost())
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)

    async def _answer(self, flight: Flight) -> _Outcome:
        job = flight.job
        rung: Rung = ""
        while True:
            known = self._traits_of(job.model)
            traits = replace(known, rung=rung) if rung else known
            outcome = await self._call(flight, job, traits)
            if outcome.kind is None:
                if rung and outcome.reply.ok:
                    self._lower(job.model, rung)
                return outcome
            rule = POLICY[outcome.kind]
            tries = flight.tries[outcome.kind] = flight.tries.get(outcome.kind, 0) + 1
            if rule.action in {"stop", "record"} or tries >= rule.attempts:
                return _fail(outcome)
            if rule.action == "adapt":
                # Unless another request has learnt it meanwhile.
                if self._traits_of(job.model) == known and not self._adapt(job, traits, outcome):
                    return _fail(outcome)
                rung = ""
            elif rule.action == "repair":
                rung = _next_rung(traits, outcome)
                job = job.repair(outcome.reply)
            elif not await self._rest(flight, outcome, tries):
                return _miss_deadline(outcome)

    def _lower(self, model: str, rung: Rung) -> None:
        """Remember that the server ignores stricter formats than this one."""
        known = self._traits_of(model)
        if RUNGS.index(rung) > RUNGS.index(known.rung):
            self._traits[model] = replace(known, rung=rung)

    def _adapt(self, job: Job, traits: Traits, outcome: _Outcome) -> bool:
        new = adapt(traits, outcome.complaint or Complaint(), job.body(traits) or {})
        if new is not None:
            self._traits[job.model] = new
        return new is not None

    async def _rest(self, flight: Flight, outcome: _Outcome, tries: int) -> bool:
        """Wait before the next attempt; False when there is no time for it."""
        patience = self.settings.patience
        wait = 0.0  # a throttled request pauses together with all others
        if outcome.kind != "throttled":
            wait = min(outcome.wait or 0.0, patience.longest_wait) or self._pacer.backoff(tries)
        if time.monotonic() + wait > flight.started + patience.deadline:
            return False
        self._leave(flight)
        await asyncio.sleep(wait)
        return True

    # One call ---------------------------------------------------------------------------------------------------------

    async def _call(self, flight: Flight, job: Job, traits: Traits) -> _Outcome:
        await self._place(flight)
        if not flight.is_wanted:
            return _GONE
        held = await self._hold(job)
        if isinstance(held, Reply):
            return _Outcome(None, held)
        try:
            outcome = await self._send(flight, job, traits, held)
        except BaseException:
            self.ledger.settle(held, possible=held)
            raise
        if outcome.kind == "throttled":
            self._pacer.note_throttling(flight.last_sent, outcome.wait)
        elif outcome.reply.ok or outcome.kind in _ALIVE:
            self._pacer.note_answer()
        return outcome

    async def _place(self, flight: Flight) -> None:
        """Get a place in the window, unless the flight has one."""
        if not flight.placed:
            await self._pacer.window.enter()
            flight.placed = True

    def _leave(self, flight: Flight) -> None:
        """Give the place back: before a rest, or when the answer is stored and nothing more is at stake."""
        if flight.placed:
            flight.placed = flight.sending = False
            self._pacer.window.leave()

    async def _send(self, flight: Flight, job: Job, traits: Traits, held: float) -> _Outcome:
        spot = await self._pacer.leave_with(job.weight if self._pacer.counts_tokens else 0.0)
        patience = self.settings.patience
        left = flight.started + patience.deadline - time.monotonic() if flight.started else float("inf")
        if not flight.is_wanted or left < min(1.0, patience.timeout / 10):  # too short for an answer, not for its price
            self.ledger.settle(held)
            return _TOO_LATE if flight.is_wanted else _GONE
        flight.sending = True
        flight.started = flight.started or time.monotonic()
        flight.calls += 1
        self.calls += 1
        body = job.body(traits)
        content = None if body is None else encode(body)  # without a body, the address says it all
        exchange = await self._transport.send(job.path, content, timeout=min(patience.timeout, left))
        flight.last_sent, flight.seconds = exchange.sent, exchange.seconds
        flight.first_sent = flight.first_sent or exchange.sent
        outcome = self._understand(job, traits, exchange)
        self._settle(flight, job, outcome, held)
        if spot is not None:
            self._pacer.used(spot, _tokens_used(outcome, job))
        return outcome

    def _understand(self, job: Job, traits: Traits, exchange: Exchange) -> _Outcome:
        if exchange.failure is not None:
            return _Outcome(exchange.failure, failure("network", exchange.message))
        understand = getattr(job, "understand", None)  # a job whose answer is not of OpenAI's protocol
        if understand is not None and HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES:
            return _Outcome(*understand(exchange))
        answer = self._json(exchange.body)
        complaint = complaint_of(answer)
        if exchange.status == HTTPStatus.OK and complaint is None:
            if isinstance(answer, list) and getattr(job, "listed", False):
                answer = {"results": answer}
            if not isinstance(answer, dict):
                return _Outcome("garbage", failure("garbage", say("reply.no_json")))
            return _Outcome(*job.read(answer, traits))
        complaint = complaint or Complaint()
        kind = kind_of(exchange.status, complaint, self.settings.address.vendor)
        explanation = clean(complaint.message[:300]) or say("reply.no_explanation")
        message = say("reply.http", status=exchange.status, message=explanation)
        wait = retry_after(exchange.headers, time.time())
        return _Outcome(kind, failure(POLICY[kind].reason, message), wait, complaint)

    def _json(self, body: bytes) -> Any:
        text = body.decode("utf-8", errors="replace")
        try:
            found = json.loads(self.settings.key.hide(text) if self.settings.key is not None else text)
            return mend_surrogates(found) if "\\u" in text else found  # half a surrogate pair can only come escaped
        except (ValueError, RecursionError):
            return None

    # Money ------------------------------------------------------------------------------------------------------------

    def _price(self, model: str) -> Price | None:
        day = datetime.now(tz=UTC).date()
        if (model, day.toordinal()) not in self._prices:
            self._prices[model, day.toordinal()] = self.settings.prices.price(self.settings.address, model, day=day)
        return self._prices[model, day.toordinal()]

    async def _hold(self, job: Job) -> float | Reply:
        """Set aside the most the call can cost; without a budget, nothing."""
        if self.ledger.limit is None:
            await self.ledger.hold(0.0)
            return 0.0
        price, bounds = self._price(job.model), job.bounds
        most = None if price is None or bounds is None else price.most(*bounds)
        if price is None or most is None:
            lacking = say("reply.no_price", model=clean(job.model))
            return failure("budget", say("reply.no_limit") if bounds is None else lacking)
        if price.currency != self.ledger.currency:
            names = {"currency": self.ledger.currency, "model": clean(job.model), "other": price.currency}
            return failure("budget", say("reply.currencies", **names))
        if not await self.ledger.hold(most):
            return failure("budget", say("reply.over_budget", most=most))
        return most

    def _settle(self, flight: Flight, job: Job, outcome: _Outcome, held: float) -> None:
        price, usage = self._price(job.model), outcome.reply.usage
        spent = possible = 0.0
        if usage.prompt_tokens or usage.completion_tokens:
            flight.usage += usage
            amount = None if price is None else price.cost(usage)
            if amount is None:
                flight.unpriced = True
                self.ledger.unpriced_calls += 1
            spent = amount or 0.0
        elif outcome.kind is not None and POLICY[outcome.kind].charged:
            bounds = job.bounds or (int(job.weight), int(job.weight))
            most = None if price is None else price.most(*bounds)
            flight.unpriced = flight.unpriced or most is None
            possible = most or 0.0
        self.ledger.settle(held, spent=spent, possible=possible)
        if price is not None:
            flight.cost += Cost(spent, possible, price.currency, estimated=usage.estimated or possible > 0)

    def _traits_of(self, model: str) -> Traits:
        return self._traits.setdefault(model, Traits())


_CLOSED = failure("cancelled", say("reply.closed"), cost=Cost())
_GONE = _Outcome(None, failure("cancelled", say("reply.unwanted")))
_TOO_LATE = _Outcome(None, failure("deadline", say("reply.too_late")))
_STILL_ASKED = _Outcome(None, failure("deadline", say("reply.still_asked")))
# The server works, even if it rejects the request.
_ALIVE = {"filtered", "refused", "truncated", "empty", "unfit", "too_long", "unsupported", "request"}


def _tokens_used(outcome: _Outcome, job: Job) -> float:
    usage: Usage = outcome.reply.usage
    if usage.prompt_tokens:
        return usage.prompt_tokens + usage.completion_tokens
    return job.weight if outcome.kind is not None and POLICY[outcome.kind].charged else 0.0


def _fail(outcome: _Outcome) -> _Outcome:
    assert outcome.kind is not None
    reason = POLICY[outcome.kind].reason
    return replace(outcome, reply=replace(outcome.reply, status="failed", reason=reason))


def _miss_deadline(outcome: _Outcome) -> _Outcome:
    message = say("reply.last_attempt", message=outcome.reply.message or outcome.kind)
    return replace(outcome, reply=replace(outcome.reply, status="failed", reason="deadline", message=message))


def _next_rung(traits: Traits, outcome: _Outcome) -> Rung:
    """The next less strict format if the server ignored the one that was asked for; else empty.

    One that binds the model to JSON cannot give none, and one that binds it to a schema writes the seal by itself.
    """
    wrong = outcome.reply.message
    ignored = wrong == NO_OBJECT or (wrong == NO_SEAL and traits.rung == RUNGS[0])
    return RUNGS[RUNGS.index(traits.rung) + 1] if ignored and traits.rung != RUNGS[-1] else ""
