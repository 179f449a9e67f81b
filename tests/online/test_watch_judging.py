"""A judge on a sample of traces: weighted means that cover the truth, no call paid twice, and no money beyond a day's."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import assay
from assay.data.served import Served, ServedContext
from assay.llm import Client
from assay.online.log_sample import draw
from assay.online.watching import state
from assay.online.watching.judging import draw_answers
from assay.report import document
from assay.report.views import watch as view
from assay.stats.intervals import mean_interval
from assay.testing import Answer, FakeLLM
from conftest import STRESS
from online.growing_logs import Killed, die
from online.judged_traces import judge, make_traces

SETTINGS = {"drift": 0, "measures": "query_cost", "at_least": {"faithfulness": 0.9}, "judged": 12}
PRICES = '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ndate = 2026-01-01\ninput = 1.0\noutput = 1.0\n'


def test_the_sample_of_a_window_is_judged_and_weighted(tmp_path):
    place = make_traces(tmp_path / "t.jsonl")
    with FakeLLM(judge) as server, Client(server.url, "m") as client:
        found = assay.watch_log(place, judge=client, **SETTINGS)
        assert len(server.requests) == 12
    value = found.windows[0].value("faithfulness")
    assert value.interval.n == 12
    assert value.interval.low < 50 / 60 < value.interval.high
    assert found.measure("faithfulness").target.target == 0.9


def test_a_judge_that_is_interrupted_is_not_paid_twice(tmp_path, monkeypatch):
    """Killed when the window is to be written down: the replies are in the cache by then."""
    place = make_traces(tmp_path / "t.jsonl")
    death = die(monkeypatch, (state, "add_entry"))
    with FakeLLM(judge) as server:
        for moment in (0, 3, 0):
            death.left = moment
            with Client(server.url, "m", cache=tmp_path / "replies.sqlite") as client:
                folder = tmp_path / ("whole" if not death.left and not server.requests else "state")
                try:
                    found = assay.watch_log(place, judge=client, state=folder, **SETTINGS)
                except Killed:
                    found = None
            assert len(server.requests) == 12
    assert found.windows[0].value("faithfulness").interval.n == 12


@pytest.mark.skipif(
    not STRESS or os.name != "posix", reason="forty processes: in full with ASSAY_STRESS=1; signals of POSIX"
)
def test_killed_by_the_system_at_random_moments_no_reply_of_the_judge_is_paid_twice(tmp_path):
    """SIGKILL at 40 moments between the first call and the end: at most the calls in flight are asked again."""
    place, draw, jobs = make_traces(tmp_path / "t.jsonl"), random.Random(11), 2
    script = (
        "import sys, assay; from assay.llm import Client, Limits\n"
        "url, cache, place, state = sys.argv[1:]\n"
        f"with Client(url, 'm', cache=cache, limits=Limits(concurrency={jobs})) as client:\n"
        f"    assay.watch_log(place, judge=client, state=state, **{SETTINGS!r})\n"
    )

    def reply(request):
        return replace(judge(request), delay=0.05)

    again = 0
    for number in range(40):
        with FakeLLM(reply) as server:
            words = [
                sys.executable,
                "-c",
                script,
                server.url,
                f"{tmp_path}/{number}.sqlite",
                str(place),
                f"{tmp_path}/{number}",
            ]
            with subprocess.Popen(words) as process:
                after, end = draw.randrange(1, 13), time.monotonic() + 60
                while len(server.requests) < after and process.poll() is None and time.monotonic() < end:
                    time.sleep(0.002)
                time.sleep(draw.random() * 0.1)
                process.send_signal(signal.SIGKILL)
            subprocess.run(words, check=True)
            with Client(server.url, "m", cache=tmp_path / f"{number}.sqlite") as client:
                found = assay.watch_log(place, judge=client, state=tmp_path / f"{number}", **SETTINGS)
            assert [(one.requests, one.value("faithfulness").interval.n) for one in found.windows] == [(60, 12)]
            assert 12 <= len(server.requests) <= 12 + jobs, number
            again += len(server.requests) - 12
    sys.stdout.write(f"40 kills: {again} calls that were in flight were asked again\n")


def test_a_day_costs_no_more_than_it_may(tmp_path):
    """Twelve calls of 550 tokens at a dollar a million; what they may cost at most is set aside before."""
    place = make_traces(tmp_path / "t.jsonl")
    (tmp_path / "prices.toml").write_text(PRICES)
    with FakeLLM(judge) as server, Client(server.url, "m", prices=tmp_path / "prices.toml") as client:
        poor = assay.watch_log(place, judge=client, max_cost=0.001, state=tmp_path / "poor", **SETTINGS)
        assert not server.requests
        rich = assay.watch_log(place, judge=client, max_cost=5, state=tmp_path / "rich", **SETTINGS)
        assert client.spending.spent == pytest.approx(12 * 550e-6)
    assert poor.windows[0].value("faithfulness") is None
    assert [one.unjudged for one in (poor.windows[0], rich.windows[0])] == [True, False]
    assert "1 window was not judged: what that might have cost" in document.write(
        view.table(poor), "table", "en"
    ).replace("\n  ", " ")
    assert rich.windows[0].value("faithfulness") is not None


def test_answers_on_which_the_judge_fails_are_said(tmp_path):
    place = make_traces(tmp_path / "t.jsonl")
    with FakeLLM(lambda _: Answer("what?")) as server, Client(server.url, "m") as client:
        found = assay.watch_log(place, judge=client, **SETTINGS)
    assert found.windows[0].value("faithfulness") is None
    assert [one.judge_failed for one in found.windows] == [12]
    assert "the judge failed on 12 answers" in document.write(view.table(found), "table", "en")


def test_means_of_samples_cover_the_mean_of_all_answers():
    """Windows of 300 answers of which those that follow least by words are bad more often: 95 % intervals."""
    rng, covered, repeats = np.random.default_rng(5), 0, 4000 if STRESS else 120
    for seed in range(repeats):
        low = rng.random(300) < 0.1
        truth = np.where(low, rng.random(300) < 0.5, rng.random(300) < 0.9).astype(float)
        rates = np.full(300, 0.5 / 300) + low * 0.5 / max(low.sum(), 1)
        places, probability = draw(rates, [f"{seed}-{i}" for i in range(300)], 40, seed)
        found = mean_interval(truth[places], weights=1 / probability, bounds=(0.0, 1.0))
        covered += found.low <= truth.mean() <= found.high
    sys.stdout.write(f"95 % intervals cover {covered / repeats:.1%}\n")
    assert covered / repeats >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / repeats) * (not STRESS)


def test_answers_that_follow_least_by_words_are_drawn_more_often():
    one = Served("0", datetime(2026, 1, 1, tzinfo=UTC), "When?", contexts=(ServedContext("It opened in 1889."),))
    served = [
        replace(one, id=str(i), answer="Bananas are yellow." if i % 10 == 0 else "It opened in 1889.")
        for i in range(100)
    ]
    places, probability = draw_answers(served, 20, 1)
    odd = [p for place, p in zip(places.tolist(), probability.tolist(), strict=True) if place % 10 == 0]
    usual = [p for place, p in zip(places.tolist(), probability.tolist(), strict=True) if place % 10]
    assert len(odd) >= 5
    assert min(odd) > 2 * max(usual)
    assert sum(1 / probability) == pytest.approx(100, rel=0.35)
