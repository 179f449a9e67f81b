"""Limits per minute, pauses for everybody, and a number in flight that adapts."""

from __future__ import annotations

import asyncio
import bisect
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.llm import Client, Limits, Patience, Request
from assay.llm.pacing import Minute, Pacer, Window
from assay.testing import Answer, FakeLLM


def most_in_a_minute(times: list[float], amounts: list[float] | None = None) -> float:
    """The largest sum over any window of 60 seconds, by plain counting."""
    order = sorted(range(len(times)), key=times.__getitem__)
    at = [times[i] for i in order]
    sums = [0.0]
    for i in order:
        sums.append(sums[-1] + (1 if amounts is None else amounts[i]))
    return max(sums[bisect.bisect_left(at, start + 60)] - sums[i] for i, start in enumerate(at))


def sent(minute: Minute, amounts: list[float], *, until: float = float("inf")) -> list[float]:
    """Send as fast as the limit allows, on a clock of our own."""
    now, times = 1000.0, []
    for amount in amounts:
        while (delay := minute.delay(now, amount)) > 0:
            now += delay
        if now > 1000.0 + until:
            break
        minute.take(now, amount)
        times.append(now)
    return times


@pytest.mark.parametrize("limit", [1, 7, 60, 600, 1201.5])
def test_no_minute_at_the_server_sees_more_than_the_limit(limit):
    rng = random.Random(int(limit))
    times = sent(Minute(limit), [1.0] * 9000, until=400)
    arrivals = [at + rng.uniform(0, 0.99) for at in times]
    assert most_in_a_minute(arrivals) <= limit
    assert len(times) >= 0.99 * limit * 400 / 61 - 1


def test_requests_are_spread_over_the_minute():
    times = sent(Minute(600), [1.0] * 1000)
    assert sum(at < 1001 for at in times) <= 11
    assert sum(at < 1010 for at in times) <= 101


@given(st.lists(st.floats(1, 2000), min_size=1, max_size=80), st.floats(2000, 10_000))
def test_tokens_of_a_minute_stay_below_their_limit(amounts, limit):
    times = sent(Minute(limit), amounts)
    assert len(times) == len(amounts)
    assert most_in_a_minute(times, amounts) <= limit * (1 + 1e-9)


def test_a_request_larger_than_the_limit_goes_alone():
    times = sent(Minute(100), [50.0, 500.0, 50.0])
    assert times[1] - times[0] >= 30
    assert times[2] - times[1] >= 60


def test_real_usage_replaces_the_estimate():
    minute = Minute(1000)
    spot = minute.take(0.0, 900)
    blocked = minute.delay(30.0, 500)
    minute.correct(spot, 100)
    assert blocked > 20
    assert minute.delay(30.0, 500) == 0.0
    minute.correct(spot, 1000)
    assert minute.delay(30.0, 500) > 20


def test_what_is_corrected_after_its_minute_changes_nothing():
    minute = Minute(100)
    spot = minute.take(0.0, 50)
    assert minute.delay(100.0, 100) == 0.0
    minute.correct(spot, 5000)
    assert minute.delay(100.0, 100) == 0.0


def test_the_number_in_flight_grows_with_every_answer_until_the_first_throttling():
    async def story() -> list[float]:
        window = Window(Limits(concurrency=64, start=4))
        seen = []
        for _ in range(5):
            for _ in range(int(window.limit)):
                await window.enter()
            for _ in range(window.flying):
                window.note_answer()
            seen.append(window.limit)
            while window.flying:
                window.leave()
        return seen

    assert asyncio.run(story()) == [8, 16, 32, 64, 64]


def test_one_round_trip_halves_the_number_once_and_growth_is_slow_afterwards():
    async def story() -> list[float]:
        window = Window(Limits(concurrency=64, start=32))
        for _ in range(32):
            await window.enter()
        news = [window.note_throttling(sent=1.0, now=2.0 + i) for i in range(10)]
        halved = window.limit
        again = window.note_throttling(sent=2.5, now=3.5), window.limit
        for _ in range(8):
            window.note_answer()
        return [sum(news), halved, *again, round(window.limit)]

    assert asyncio.run(story()) == [1, 16.0, True, 8.0, 9]


def test_an_idle_gate_does_not_grow():
    async def story() -> float:
        window = Window(Limits(concurrency=64, start=8))
        for _ in range(100):
            await window.enter()
            window.note_answer()
            window.leave()
        return window.limit

    assert asyncio.run(story()) == 8


def test_the_number_never_falls_below_one():
    window = Window(Limits(concurrency=4, start=1))
    for i in range(5):
        window.note_throttling(sent=float(i), now=i + 0.5)
    assert window.limit == 1.0


def test_a_pause_is_everybodys_and_has_its_limit():
    async def story() -> tuple[float, float]:
        pacer = Pacer(Limits(), longest_wait=0.2, backoff=0.01)
        start = time.monotonic()
        pacer.note_throttling(sent=start, wanted=86_400.0)
        await asyncio.gather(*(pacer.leave_with(0) for _ in range(20)))
        return time.monotonic() - start, pacer.window.limit

    waited, limit = asyncio.run(story())
    assert waited >= 0.2
    assert limit == 4.0


def test_pauses_double_with_jitter_and_have_a_limit():
    pacer = Pacer(Limits(), longest_wait=60, backoff=0.5)
    for attempt, whole in enumerate([0.5, 1, 2, 4, 8, 16, 32, 60, 60], start=1):
        waits = [pacer.backoff(attempt) for _ in range(200)]
        assert whole / 2 <= min(waits) < max(waits) <= whole
        assert max(waits) - min(waits) > whole / 4


def test_limits_that_make_no_sense_are_refused():
    for wrong in ({"concurrency": 0}, {"requests_per_minute": -1}, {"tokens_per_minute": 0}, {"start": 0}):
        with pytest.raises(UsageError, match="expected"):
            Limits(**wrong)


def test_a_client_that_is_throttled_sends_less_at_once():
    """The server answers four at a time and throttles the rest; in the end everybody is served."""
    server = FakeLLM(lambda _: Answer(delay=0.03) if server._flying < 4 else Answer.error(429))
    patience = Patience(backoff=0.02, longest_wait=0.1)
    with server, Client(server.url, "m", limits=Limits(concurrency=64), patience=patience) as client:
        replies = [reply for _, reply in client.complete_many(Request.asking(str(i)) for i in range(150))]
    assert all(reply.ok for reply in replies)
    assert len(server.requests) < 150 * 1.5


def test_requests_per_minute_hold_at_the_server(stress):
    """In full: two and a half minutes at 600 a minute, and no window of 60 seconds at the server sees more."""
    count = 1500 if stress else 40
    with FakeLLM(Answer(delay=0.02)) as server:
        with Client(server.url, "m", limits=Limits(concurrency=64, requests_per_minute=600)) as client:
            assert all(reply.ok for _, reply in client.complete_many(Request.asking(str(i)) for i in range(count)))
        arrivals = [received.at for received in server.requests]
    assert most_in_a_minute(arrivals) <= 600
    assert arrivals[-1] - arrivals[0] >= (count - 1) * 0.1 * 0.98
    if stress:
        assert sum(at < arrivals[0] + 1 for at in arrivals) <= 20


def test_who_waits_for_tokens_goes_on_when_less_was_used_than_thought():
    async def story() -> bool:
        pacer = Pacer(Limits(tokens_per_minute=1000), longest_wait=60, backoff=1)
        first = await pacer.leave_with(900)
        second = asyncio.ensure_future(pacer.leave_with(900))
        await asyncio.sleep(0.05)
        blocked = not second.done()
        pacer.used(first, 1)
        await asyncio.wait_for(second, 20)  # a minute if it were not woken
        return blocked

    assert asyncio.run(story())


def test_tokens_per_minute_are_corrected_by_usage():
    said = Answer("x", usage={"prompt_tokens": 5, "completion_tokens": 5})
    limits = Limits(concurrency=4, start=4, tokens_per_minute=60_000)
    with FakeLLM(said) as server, Client(server.url, "m", limits=limits) as client:
        assert all(reply.ok for _, reply in client.complete_many(Request.asking(str(i)) for i in range(30)))
        tokens = client._service._link[1]._pacer._tokens
    assert len(server.requests) == 30
    assert tokens._total == pytest.approx(30 * 10)
