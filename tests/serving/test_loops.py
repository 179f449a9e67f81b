"""Loads on targets: what is timed, what is counted, how it ends."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time

import numpy as np
import pytest

from assay.analysis.bench import bench
from assay.analysis.latency import summarise
from assay.errors import UsageError
from assay.serving.records import Clock, LoadPlan, Timing


class FakeTime:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.pass_by)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def worker(services, own, now):
    """A target that takes these seconds, one after the other, and writes down what it took."""
    left = iter(services)

    def target() -> None:
        took = next(left)
        now.pass_by(took)
        own.append(took)

    return target


@pytest.fixture
def now() -> FakeTime:
    return FakeTime()


# Loops ----------------------------------------------------------------------------------------------------------------


def test_percentiles_are_those_of_the_durations_that_the_target_recorded(now):
    services = np.random.default_rng(3).lognormal(-4, 0.7, 500).tolist()
    own: list[float] = []
    found = bench(worker(services, own, now), runs=500, warmup=0, clock=now.clock).loads[0]
    milliseconds = np.array(own) * 1000
    for name, share in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert getattr(found.latency_ms, name).estimate == pytest.approx(np.percentile(milliseconds, share), rel=1e-9)
    assert found.latency_ms.mean == pytest.approx(milliseconds.mean(), rel=1e-9)
    assert found.latency_ms.std == pytest.approx(milliseconds.std(ddof=0), rel=1e-9)
    assert found.throughput_qps == pytest.approx(500 / sum(own), rel=1e-9)


def lindley(services, gap):
    """Waiting times of one server with a queue: what is left of the last call's time when the next one comes."""
    waits = [0.0]
    for service in services[:-1]:
        waits.append(max(0.0, waits[-1] + service - gap))
    return waits


def test_an_open_loop_counts_the_queue_that_a_closed_loop_hides(now):
    services = np.random.default_rng(5).exponential(0.01, 300).tolist()
    services[100] = 1.0  # one slow call holds up those behind it
    expected = (np.array(lindley(services, 1 / 50)) + services) * 1000
    opened = bench(worker(services, [], now), runs=300, warmup=0, rate=50.0, clock=now.clock).loads[0]
    closed = bench(worker(services, [], now), runs=300, warmup=0, clock=now.clock).loads[0]
    for name, share in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert getattr(opened.latency_ms, name).estimate == pytest.approx(np.percentile(expected, share), rel=1e-6)
        service = np.percentile(np.array(services) * 1000, share)
        assert getattr(closed.latency_ms, name).estimate == pytest.approx(service, rel=1e-6)
        assert getattr(opened.service_ms, name).estimate == pytest.approx(service, rel=1e-6)
    assert opened.latency_ms.p95.estimate > 10 * closed.latency_ms.p95.estimate


def test_a_target_that_cannot_keep_up_is_named(now):
    found = bench(worker([0.02] * 100, [], now), warmup=0, rate=100.0, clock=now.clock)
    assert any("cannot keep up: 100/s offered, 50.0/s served" in text for text in found.warnings)
    calm = bench(worker([0.02] * 100, [], FakeTime()), warmup=0, rate=10.0, clock=now.clock)
    assert not any("keep up" in text for text in calm.warnings)


def test_calls_that_are_never_begun_are_counted(now):
    found = bench(worker([5.0] * 100, [], now), warmup=0, rate=100.0, clock=now.clock)
    load = found.loads[0]
    assert load.count + load.errors["not started"] == 100
    assert any("never begun" in text for text in found.warnings)


def test_arrivals_at_random_have_the_rate_that_was_asked_for():
    from assay.serving.schedule import arrivals

    found = arrivals(LoadPlan(runs=20_000, rate=200.0, arrivals="poisson", seed=4))
    gaps = np.diff(found)
    assert gaps.mean() == pytest.approx(1 / 200, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 200, rel=0.05)  # of an exponential distribution it equals the mean
    assert found == arrivals(LoadPlan(runs=20_000, rate=200.0, arrivals="poisson", seed=4))
    assert arrivals(LoadPlan(runs=4, rate=2.0)) == [0.0, 0.5, 1.0, 1.5]


def test_a_load_ends_after_its_seconds(now):
    found = bench(worker([0.25] * 100, [], now), seconds=3.1, warmup=0, clock=now.clock).loads[0]
    assert found.count == 13  # the last one begins before the end
    assert bench(worker([0.25] * 100, [], now), seconds=3.0, runs=4, warmup=0, clock=now.clock).loads[0].count == 4


def test_warm_up_calls_are_not_counted(now):
    own: list[float] = []
    found = bench(worker([9.0] * 3 + [0.1] * 10, own, now), runs=10, warmup=3, clock=now.clock).loads[0]
    assert (len(own), found.count) == (13, 10)
    assert found.latency_ms.p99.estimate == pytest.approx(100)


def test_threads_share_the_calls_and_run_at_once():
    together = threading.Barrier(4, timeout=300)  # is passed only if four calls are under way
    found = bench(together.wait, runs=40, threads=4, warmup=4, passing="nothing").loads[0]
    assert (found.count, found.threads, found.errors) == (40, 4, {})


def test_a_coroutine_function_is_awaited_at_once():
    flying, most = 0, 0

    async def target() -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1

    found = bench(target, runs=64, threads=8, warmup=0).loads[0]
    assert (found.count, most) == (64, 8)


def test_an_open_loop_of_coroutines_starts_calls_when_they_are_due():
    waiting: list[asyncio.Future] = []

    async def target() -> None:  # no call ends before the last one has begun
        future = asyncio.get_running_loop().create_future()
        waiting.append(future)
        if len(waiting) == 20:
            for one in waiting:
                one.set_result(None)
        await future

    found = bench(target, runs=20, rate=400.0, warmup=0).loads[0]
    assert (found.count, found.kind, found.errors) == (20, "open", {})


def test_a_coroutine_that_takes_too_long_is_broken_off():
    async def target() -> None:
        await asyncio.sleep(60)

    found = bench(target, runs=3, timeout=0.05, warmup=0).loads[0]
    assert (found.count, found.errors) == (0, {"timeout": 3})


def test_a_bench_works_inside_a_running_event_loop():
    async def notebook() -> int:
        async def target() -> None:
            await asyncio.sleep(0)

        return bench(target, runs=5).loads[0].count

    assert asyncio.run(notebook()) == 5


def test_a_stream_is_read_to_its_end(now):
    def target():
        for _ in range(4):
            now.pass_by(0.01)
            yield "part"

    async def stream():
        for _ in range(3):
            yield "part"

    found = bench(target, runs=5, warmup=0, clock=now.clock).loads[0]
    assert found.latency_ms.p50.estimate == pytest.approx(40)
    assert bench(stream, runs=5).loads[0].count == 5


# Failures -------------------------------------------------------------------------------------------------------------


def test_failures_are_counted_by_kind_and_left_out_of_the_percentiles(now):
    number = 0

    def target() -> None:
        nonlocal number
        number += 1
        now.pass_by(9.0 if number % 5 == 0 else 0.01)
        if number % 5 == 0:
            raise ValueError("no luck") if number % 10 else KeyError("gone")

    found = bench(target, runs=100, warmup=0, clock=now.clock)
    load = found.loads[0]
    assert (load.count, load.errors) == (80, {"KeyError": 10, "ValueError": 10})
    assert load.latency_ms.p99.estimate == pytest.approx(10)
    assert any("20 calls failed" in text and "no luck" in text for text in found.warnings)


def test_a_target_that_always_fails_stops_the_measurement():
    def target() -> None:
        raise ValueError("no\nluck")

    with pytest.raises(UsageError, match=r"all 5 warm-up calls failed \(ValueError: no luck\)"):
        bench(target)
    found = bench(target, warmup=0, seconds=60)
    assert found.loads[0].errors == {"ValueError": 100}
    assert found.loads[0].latency_ms is None and found.loads[0].histogram is None
    assert any("100 calls in a row" in text for text in found.warnings)
    with pytest.raises(UsageError, match="all 8 warm-up calls failed"):
        bench(target, threads=4)


@pytest.mark.parametrize("more", [{"threads": 8}, {"threads": 8, "rate": 2000.0}])
def test_a_hundred_failures_in_a_row_of_all_workers_end_a_load(more):
    left = iter(range(10_000))

    def target() -> None:
        if next(left) >= 50:
            raise ValueError("gone")

    found = bench(target, runs=5_000, warmup=0, **more)
    assert 50 <= found.loads[0].count + found.loads[0].errors["ValueError"] <= 50 + 100 + 2 * 8
    assert found.loads[0].errors["ValueError"] >= 100
    assert any("100 calls in a row" in text for text in found.warnings)
    assert found.verdict == "over"


def test_a_hundred_failures_in_a_row_of_coroutines_end_a_load():
    async def target() -> None:
        await asyncio.sleep(0)
        raise ValueError("gone")

    found = bench(target, runs=5_000, threads=16, warmup=0)
    assert 100 <= found.loads[0].errors["ValueError"] <= 116


def test_a_call_that_works_breaks_the_row_of_failures():
    left = iter(range(1_000))

    def target() -> None:
        if next(left) % 100:
            raise ValueError("mostly")

    assert bench(target, runs=1_000, warmup=0).loads[0].count == 10


def test_a_target_that_exits_is_a_failed_call():
    assert bench(lambda: sys.exit(3), runs=2, warmup=0).loads[0].errors == {"SystemExit": 2}


@pytest.fixture
def interruptible():
    """A test runner may ignore Ctrl-C; here it does what it does in a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_keeps_what_was_measured(threads, interruptible):
    import _thread

    number = 0

    def target() -> None:
        nonlocal number
        number += 1
        if number == 20:
            _thread.interrupt_main()
        time.sleep(0.005)

    found = bench(target, runs=5_000, threads=threads, warmup=0)
    assert found.interrupted and found.loads[0].interrupted
    assert 15 <= found.loads[0].count < 5_000
    assert found.loads[0].latency_ms is not None


def test_an_interrupt_stops_coroutines_too(interruptible):
    import _thread

    number = 0

    async def target() -> None:
        nonlocal number
        number += 1
        if number == 10:
            _thread.interrupt_main()
        await asyncio.sleep(0.005)

    found = bench(target, runs=5_000, threads=2, warmup=0)
    assert found.interrupted and 5 <= found.loads[0].count < 5_000


# Doubts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (71, ["P95 (an interval needs 72)", "P99 (an interval needs 368)"]),
        (100, ["P99 (an interval needs 368)"]),
        (368, []),
    ],
)
def test_too_few_calls_for_a_percentile_are_named_with_the_number_needed(runs, expected, now):
    found = bench(worker([0.01] * runs, [], now), runs=runs, warmup=0, clock=now.clock)
    told = [text for text in found.warnings if "too few" in text]
    assert len(told) == bool(expected)
    assert all(part in told[0] for part in expected)


def test_calls_that_resemble_their_neighbours_are_named(now):
    services = (np.repeat([0.01, 0.05], 100) + np.random.default_rng(0).uniform(0, 0.01, 200)).tolist()
    assert any(
        "not independent" in t for t in bench(worker(services, [], now), runs=200, warmup=0, clock=now.clock).warnings
    )
    shuffled = np.random.default_rng(1).permutation(services).tolist()
    assert not any(
        "not independent" in t for t in bench(worker(shuffled, [], now), runs=200, warmup=0, clock=now.clock).warnings
    )


def test_a_load_generator_that_lags_is_named():
    due = tuple(i / 10 for i in range(100))
    timing = Timing(LoadPlan(rate=10.0), due, tuple(t + 0.005 for t in due), tuple(t + 0.02 for t in due), 10.0)
    from assay.analysis.load_warnings import find_load_warnings

    told = find_load_warnings(summarise(timing), timing)
    assert any("5.00 ms late" in text for text in told)


def test_the_histogram_counts_every_call(now):
    services = np.random.default_rng(2).lognormal(-4, 1, 300).tolist()
    found = bench(worker(services, [], now), runs=300, warmup=0, clock=now.clock).loads[0].histogram
    assert sum(found.counts) == 300
    assert len(found.edges) == len(found.counts) + 1
    third = sum(found.edges[2] <= 1000 * s < found.edges[3] for s in services)
    assert found.counts[2] == pytest.approx(third, abs=1)  # a value on an edge may fall either way by rounding
