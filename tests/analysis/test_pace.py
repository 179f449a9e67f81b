"""Whether a target keeps up, limits, and how much it bears: against queues that are simulated here."""

from __future__ import annotations

import heapq
import os

import numpy as np
import pytest

from assay.analysis.bench import bench, ramp_rates
from assay.analysis.latency import summarise
from assay.analysis.limits import check_loads
from assay.analysis.pace import find_capacity, judge_pace
from assay.errors import AssayError, UsageError
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.serving.records import Clock, LoadPlan, Timing

STRESS = os.environ.get("ASSAY_STRESS") == "1"


def queue(due, services, at_once: int, rate: float, workers: int = 1000) -> Timing:
    """Calls that are sent when they are due to a server with so many places, first come, first served."""
    free, ended = [0.0] * at_once, []
    for arrival, service in zip(due, services, strict=True):
        end = max(arrival, heapq.heappop(free)) + service
        heapq.heappush(free, end)
        ended.append(end)
    plan = LoadPlan(runs=len(due), rate=rate, threads=workers)
    return Timing(plan, tuple(due), tuple(due), tuple(ended), max(ended), sent=due[-1])


def even(n: int, rate: float) -> list[float]:
    return [number / rate for number in range(n)]


def test_answers_that_take_long_do_not_make_a_target_slow():
    """Ten calls in two seconds, each answered after three: 5/s offered, 5/s served, and 2.8 s for the last ones."""
    load = summarise(queue(even(10, 5.0), [3.0] * 10, 1000, 5.0))
    assert (load.throughput_qps, load.sending_seconds) == pytest.approx((5.0, 2.0))
    assert load.drain_seconds == pytest.approx(1.8 + 3.0 - 2.0)
    assert (load.pace.decision, load.keeps_up) == ("kept", True)


@pytest.mark.parametrize("workers", [1000, 64])
def test_a_queue_inside_the_target_shows_in_throughput_and_growth(workers):
    """One call at a time of 20 ms: 50/s are served, however many are offered."""
    load = summarise(queue(even(200, 100.0), [0.02] * 200, 1, 100.0, workers))
    assert load.throughput_qps == pytest.approx(50.0, rel=1e-6)
    assert load.pace.decision == "behind"
    assert load.pace.growth.estimate == pytest.approx(100 / 50 - 1)
    assert "100/s offered, 50.0/s served" in load.pace.reason


def test_one_late_answer_is_no_lower_throughput():
    services = [0.02] * 100
    services[-1] = 60.0
    load = summarise(queue(even(100, 10.0), services, 1000, 10.0))
    assert load.throughput_qps == pytest.approx(10.0)
    assert load.pace.decision == "kept" and load.drain_seconds == pytest.approx(9.9 + 60 - 10)


def test_a_pause_at_the_beginning_does_not_raise_throughput_above_what_was_offered():
    due = even(100, 10.0)
    ended = tuple(max(5.0, moment + 0.01) for moment in due)
    load = summarise(Timing(LoadPlan(rate=10.0), tuple(due), tuple(due), ended, ended[-1], sent=due[-1]))
    assert load.throughput_qps == pytest.approx(10.0)


def test_failed_calls_are_calls_that_are_not_served():
    timing = queue(even(200, 50.0), [0.01] * 200, 10, 50.0)

    def decision(failed: int) -> str:
        found = Timing(timing.plan, timing.due, timing.begun, timing.ended, 4.0, {"status 503": failed}, sent=4.0)
        return judge_pace(found).decision

    assert [decision(failed) for failed in (0, 2, 8, 60)] == ["kept", "kept", "unclear", "behind"]


@pytest.mark.parametrize(
    ("load", "wrong"), [(0.5, "behind"), (0.8, "behind"), (0.9, "behind"), (1.1, "kept"), (1.2, "kept"), (1.5, "kept")]
)
@pytest.mark.parametrize("at_once", [1, 4])
def test_decisions_about_simulated_queues_are_hardly_ever_wrong(load, wrong, at_once):
    """Arrivals and services at random, the hardest case: at most 3 of 100 decisions are wrong, short loads included."""
    rng, rounds, rate = np.random.default_rng(7), 400 if STRESS else 30, 100.0
    for n in (100, 500):
        decisions = []
        for _ in range(rounds):
            due = np.cumsum(rng.exponential(1 / rate, n)).tolist()
            services = rng.exponential(load * at_once / rate, n).tolist()
            decisions.append(judge_pace(queue(due, services, at_once, rate)).decision)
        assert decisions.count(wrong) <= max(0.03 * rounds, 2)


def test_long_loads_are_decided():
    rng, rate = np.random.default_rng(8), 100.0
    for load, expected in ((0.8, "kept"), (1.2, "behind")):
        due = np.cumsum(rng.exponential(1 / rate, 5000)).tolist()
        services = rng.exponential(load / rate, 5000).tolist()
        assert judge_pace(queue(due, services, 1, rate)).decision == expected


class FakeTime:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def pass_by(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.pass_by)


def test_a_ramp_ends_with_the_first_rate_that_is_too_high():
    time = FakeTime()
    rates = ramp_rates(5, 80, 5)
    found = bench(lambda: time.pass_by(0.04), rate=rates, ramp=True, warmup=0, clock=time.clock)
    assert [load.rate for load in found.loads] == [5, 10, 20, 40]  # 25/s are served
    assert [load.pace.decision for load in found.loads] == ["kept", "kept", "kept", "behind"]
    (borne,) = found.capacity
    assert (borne.kept, borne.behind) == (20, 40)
    assert "keeps up with 20/s, no longer with 40/s" in borne.reason
    plain = bench(lambda: time.pass_by(0.04), rate=rates, warmup=0, clock=time.clock)
    assert len(plain.loads) == 5


def test_rates_that_are_all_kept_or_all_too_high_say_so():
    time = FakeTime()
    low = bench(lambda: time.pass_by(0.04), rate=[5, 10], warmup=0, clock=time.clock).capacity[0]
    high = bench(lambda: time.pass_by(0.04), rate=[50, 100], warmup=0, clock=time.clock).capacity[0]
    assert (low.kept, low.behind, high.kept, high.behind) == (10, None, None, 50)
    assert find_capacity(bench(lambda: time.pass_by(0.04), rate=5, warmup=0, clock=time.clock).loads) == ()


@pytest.mark.parametrize("wrong", [(0, 5, 2), (5, 5, 2), (5, 80, 1)])
def test_ramps_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="5:80x5"):
        ramp_rates(*wrong)


def steady(values, **more):
    """A bench of calls that take these milliseconds."""
    time = FakeTime()
    left = iter(values)
    return bench(lambda: time.pass_by(next(left) / 1000), runs=len(values), warmup=0, clock=time.clock, **more)


@pytest.mark.parametrize(("limit", "verdict"), [(100, "over"), (191, "unclear"), (250, "ok")])
def test_a_limit_is_passed_where_the_whole_interval_is(limit, verdict):
    """Of 1 .. 200 ms, P95 is 190.05; its interval reaches from the 184th to the 197th of 200 values."""
    found = steady(list(range(1, 201)), limits={"p95": limit})
    (check,) = found.checks
    assert (check.value, check.low, check.high) == pytest.approx((190.05, 184, 197))
    assert (check.verdict, found.verdict) == (verdict, verdict)


def test_a_percentile_with_one_end_may_be_over_and_is_never_fine():
    assert steady([10.0] * 20, limits={"p95": 5}).verdict == "over"
    assert steady([10.0] * 20, limits={"p95": 50}).verdict == "unclear"


def test_failed_calls_count_against_the_share_that_may_fail():
    def found(max_errors: float) -> str:
        number = 0

        def target() -> None:
            nonlocal number
            number += 1
            if number % 10 == 0:
                raise ValueError("no")

        return bench(target, runs=100, warmup=0, max_errors=max_errors).verdict

    assert [found(share) for share in (0.0, 0.05, 0.1, 0.2)] == ["over", "over", "ok", "ok"]
    assert steady([10.0] * 20).checks == ()


@pytest.mark.parametrize("given", [{"limits": {"p42": 1}}, {"limits": {"first_token_p95": 1}}, {"limits": {"p95": 0}},
                                   {"max_errors": 1.0}, {"max_errors": -0.1}])  # fmt: skip
def test_limits_that_make_no_sense_are_refused_before_anything_is_called(given):
    def never() -> None:
        raise AssertionError

    with pytest.raises(AssayError):
        bench(never, runs=1, warmup=0, **given)


def test_a_load_without_a_successful_call_is_not_clear():
    timing = Timing(LoadPlan(runs=3), (), (), (), 1.0, {"timeout": 3})
    checks = list(check_loads([summarise(timing)], {"p95": 10}, 0.0))
    assert [(one.figure, one.verdict) for one in checks] == [("p95", "unclear"), ("error_rate", "over")]


def test_a_status_follows_the_interval_and_not_the_value():
    def status(values) -> str:
        time = FakeTime()
        left = iter(values)

        def rerank(query, documents):
            time.pass_by(next(left) / 1000)

        found = bench(rerank, runs=len(values), candidates=20, warmup=0, clock=time.clock)
        return found.status_of(found.loads[0])

    values = np.linspace(100, 200, 200)
    assert status(values) == "excellent"  # below 300 ms
    assert status(values + 250) == "ok"  # below 500 ms
    assert status(values + 305) == "unclear"  # P95 is 499.95, and its interval goes on
    assert status(values + 400) == "high"
    assert status(values[:20]) == "unclear"  # 20 calls have no upper end of P95


def test_the_record_is_read_back_as_it_was(tmp_path):
    time = FakeTime()
    found = bench(lambda: time.pass_by(0.04), rate=[5, 50], warmup=0, limits={"p95": 100}, clock=time.clock)
    found.save(tmp_path / "bench.json")
    read = load_result(Input.at(tmp_path / "bench.json")).part(type(found))
    assert read == found
