"""Watching traces: the requests of spans in any order, in pieces, each once, with measures of what was answered."""

from __future__ import annotations

import gzip
import random
from datetime import UTC, datetime

import pytest

import assay
from assay.online.watch import open_watch
from assay.online.watching import feeds, state
from assay.online.watching.settings import plan_watch
from conftest import STRESS
from online.growing_logs import Killed, die
from otlp import lines, rag, request, span, write

HOUR = 3600.0
SETTINGS = {"at_most": {"error_rate": 0.2, "query_latency(p=50)": 3000}, "measures": "query_cost", "drift": 0}


def ask(number, begin, *, failed=False, answer="In 1889."):
    """The spans of a request; one that failed has no answer."""
    if not failed:
        return rag(number, begin=begin, answer=answer, user=f"u{number % 40}", session=f"s{number}")
    return [
        span(1, {"openinference.span.kind": "CHAIN", "input.value": "When?", "user.id": f"u{number % 40}"},
             trace=number, begin=begin, end=begin + 1, status={"code": 2, "message": "down"}),
    ]  # fmt: skip


def hours(count, each=30, failing=()):
    """Requests of some hours, of which three in four fail in `failing` ones."""
    found = []
    for hour in range(count):
        for i in range(each):
            number, begin = hour * each + i + 1, hour * HOUR + (i + 0.5) * HOUR / each
            answer = "I don't know." if i % 5 == 0 else "In 1889."
            found.append(ask(number, begin, failed=hour in failing and i % 4 > 0, answer=answer))
    return found


def numbers(found):
    return [(one.start, one.requests, one.users, one.values) for one in found.windows]


def test_the_measures_of_a_window_are_those_of_its_requests(tmp_path):
    requests = hours(2, failing={1})
    found = assay.watch_log(write(tmp_path / "traces.jsonl", *(one for spans in requests for one in spans)), **SETTINGS)
    assert found.kind == "traces"
    first, second = found.windows
    values = {one.measure: one.interval.estimate for one in first.values}
    assert values["error_rate"] == 0
    assert values["no_answer"] == pytest.approx(6 / 30)
    assert values["answer_length"] == pytest.approx((6 * len("I don't know.") + 24 * len("In 1889.")) / 30)
    assert values["cost_per_million_tokens"] == pytest.approx(0.002 / 128 * 1e6)
    assert values["query_latency(p=50)"] == pytest.approx(2000)
    assert values["retrieval_ms"] > 0
    assert values["faithfulness(method='words')"] == pytest.approx(1.0)
    assert second.value("error_rate").interval.estimate == pytest.approx(sum(i % 4 > 0 for i in range(30)) / 30)
    assert (first.requests, first.users) == (30, 30)


def test_spans_in_any_order_in_pieces_and_twice_are_counted_as_if_they_came_in_order(tmp_path):
    requests = hours(3)
    expected = assay.watch_log(write(tmp_path / "a.jsonl", *(one for spans in requests for one in spans)), **SETTINGS)
    rng, mixed = random.Random(3), []
    for first in range(0, len(requests), 10):
        part = [one for spans in requests[first : first + 10] for one in spans]
        mixed += rng.sample(part, len(part))
    place = tmp_path / "b.jsonl"
    place.write_text("")
    watcher = open_watch(tmp_path / "a.jsonl", plan_watch(**SETTINGS), tmp_path / "state")
    watcher.places = (str(place),)
    for first in range(0, len(mixed), 40):
        with place.open("a") as file:
            file.write(lines(request(*mixed[first : first + 40]), request(*mixed[first : first + 5])))
        while watcher.step():
            pass
    found = watcher.catch_up()
    watcher.close()
    assert sum(one.requests for one in found.windows) == 90
    assert numbers(found) == numbers(expected)


def test_files_that_are_read_at_different_speeds_lose_no_request(tmp_path, monkeypatch):
    """One service says little of a request and another one much, so that a piece of its file is a shorter time."""
    read = feeds.read_new_traces.__globals__["read_new_lines"]
    monkeypatch.setattr(
        "assay.formats.traces.reading.read_new_lines", lambda path, at, **more: read(path, at, 300_000, **more)
    )
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, first, answer in (("a", 0, "Yes."), ("b", 1, "In 1889. " * 1000)):
        spans = [one for i in range(first, 120, 2) for one in rag(i + 1, begin=i * 200.0, answer=answer, user=f"u{i}")]
        write(folder / f"{name}.jsonl", *spans)
    found = assay.watch_log(folder, **SETTINGS)
    assert found.left_out == {}
    assert [one.requests for one in found.windows] == [18, 18, 18, 18, 18, 18, 12]


def test_a_packed_file_is_read_as_a_whole_and_one_that_was_replaced_is_counted(tmp_path):
    spans = [one for asked in hours(2) for one in asked]
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "t.jsonl", *spans).read_bytes()))
    assert numbers(assay.watch_log(packed, **SETTINGS)) == numbers(assay.watch_log(tmp_path / "t.jsonl", **SETTINGS))
    assert [one.requests for one in assay.watch_log(packed, **SETTINGS).windows] == [30, 30]
    write(tmp_path / "t.jsonl", *(one for asked in hours(3)[60:] for one in asked))
    again = assay.watch_log(tmp_path / "t.jsonl", **SETTINGS)
    assert again.left_out == {"restarted": 1}
    assert [one.requests for one in again.windows] == [30, 30, 30]


def test_an_alert_of_failures_begins_with_the_second_hour(tmp_path):
    requests = hours(5, each=60, failing={3, 4})
    found = assay.watch_log(write(tmp_path / "t.jsonl", *(one for spans in requests for one in spans)), **SETTINGS)
    assert [(one.measure, one.since[11:13]) for one in found.standing] == [("error_rate", "04")]


def test_killed_at_any_write_no_request_is_lost_and_none_counted_twice(tmp_path, monkeypatch):
    place = write(tmp_path / "t.jsonl", *(one for spans in hours(1, each=5) for one in spans), each=5)
    read = feeds.read_new_lines
    monkeypatch.setattr(
        "assay.formats.traces.reading.read_new_lines", lambda path, at, **more: read(path, at, 8000, **more)
    )
    expected = numbers(assay.watch_log(place, state=tmp_path / "whole", **SETTINGS))
    death = die(monkeypatch, (state, "add_entry"), (state, "write_atomically"), (feeds, "write_atomically"))
    deaths = 0
    for moment in range(1, 80, 1 if STRESS else 2):
        death.left = moment
        folder = tmp_path / f"state-{moment}"
        try:
            assay.watch_log(place, state=folder, **SETTINGS)
            break
        except Killed:
            deaths += 1
        death.left = 0
        found = assay.watch_log(place, state=folder, **SETTINGS)
        assert numbers(found) == expected, moment
    assert deaths > 1


def test_a_request_that_is_still_open_is_counted_when_it_ends(tmp_path):
    """Read while the root has not come; the time of the clock is not yet far beyond."""
    spans = ask(1, 0.0)
    place = write(tmp_path / "t.jsonl", *spans[1:])
    watcher = open_watch(place, plan_watch(**SETTINGS), tmp_path / "state")
    watcher.clock = lambda: int(datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC).timestamp() * 1e6)
    assert watcher.catch_up().rows == 0
    with place.open("a") as file:
        file.write(lines(request(spans[0])))
    watcher.close()
    found = assay.watch_log(place, state=tmp_path / "state", **SETTINGS)
    assert [one.requests for one in found.windows] == [1]
    assert found.windows[0].value("query_latency(p=50)").interval.estimate == pytest.approx(2000)


def test_requests_that_went_wrong_become_samples_each_once_and_not_for_ever(tmp_path):
    requests = hours(2, each=20, failing={1})
    place = write(tmp_path / "t.jsonl", *(one for spans in requests for one in spans))
    bad = tmp_path / "bad.jsonl"
    for _ in range(2):
        assay.watch_log(place, bad=bad, state=tmp_path / "state", **SETTINGS)
        found = assay.read_samples(bad)
        why = [one.others["why"] for one in found.rows]
        assert (why.count("error_rate"), why.count("no_answer")) == (15, 4 + 1)
        assert len({one.query_id for one in found.rows}) == 20
    refused = next(one for one in found.rows if one.others["why"] == "no_answer")
    assert (refused.answer, refused.contexts[0].text) == ("I don't know.", "The tower opened in 1889.")
    assay.watch_log(place, bad=bad, keep="1d", state=tmp_path / "state", **SETTINGS)
    assert bad.read_text() == ""
    assert not any(path.is_file() for path in (tmp_path / "state" / "bad").iterdir())
