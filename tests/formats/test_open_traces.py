"""Spans that come late, twice, in any order; bounds on what is kept; the state that is stored."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

import otlp
from assay.errors import InputError
from assay.formats.traces.open_traces import OpenTraces
from assay.formats.traces.otlp_json import decode_json
from assay.formats.traces.spans import Batch

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def spans_of(*spans):
    return decode_json(otlp.lines(otlp.request(*spans)).encode()).spans


def batch(*spans):
    return Batch(spans_of(*spans))


def ids(found):
    return [int(one.id, 16) for one in found]


def test_a_trace_is_given_out_once_when_it_has_been_quiet():
    waiting = OpenTraces(settle=10)
    waiting.add(batch(*otlp.rag(1)))
    assert waiting.take() == []
    waiting.add(batch(*otlp.rag(2, begin=9)))  # ends at 11: 9 s after the first
    assert waiting.take() == []
    waiting.add(batch(*otlp.rag(3, begin=10.5)))
    assert ids(waiting.take()) == [1]
    assert waiting.take() == []
    assert ids(waiting.take(NOW + timedelta(seconds=30))) == [2, 3]
    assert (len(waiting), waiting.size, waiting.counts["traces"]) == (0, 0, 3)


def test_any_order_of_spans_in_any_batches_gives_the_same_requests():
    spans = [span for i in range(20) for span in spans_of(*otlp.rag(i + 1, begin=i / 10))]
    whole = OpenTraces()
    whole.add(Batch(tuple(spans)))
    expected = sorted(whole.take_all(), key=lambda one: one.id)
    for seed in range(5):
        rng, parts = random.Random(seed), OpenTraces()
        mixed = [*spans, *rng.sample(spans, 15)]
        rng.shuffle(mixed)
        for i in range(0, len(mixed), 7):
            parts.add(Batch(tuple(mixed[i : i + 7])))
            assert parts.take() == []
        assert parts.counts["repeated"] == 15
        assert sorted(parts.take_all(), key=lambda one: one.id) == expected


def test_late_spans_change_nothing_and_are_counted():
    waiting = OpenTraces(settle=1)
    root, *others = spans_of(*otlp.rag(1))
    waiting.add(Batch((root, *others[:2])))
    assert ids(waiting.take(NOW + timedelta(seconds=5))) == [1]
    waiting.add(Batch((others[2],)))
    assert (waiting.take_all(), waiting.counts["late"]) == ([], 1)


def test_a_trace_whose_root_never_comes_is_given_out_after_a_while():
    waiting = OpenTraces(settle=1, patience=60)
    waiting.add(Batch(spans_of(*otlp.rag(1))[1:]))
    assert waiting.take(NOW + timedelta(seconds=50)) == []
    (found,) = waiting.take(NOW + timedelta(seconds=70))
    assert (found.lacks["root"], waiting.counts["rootless"]) == ("no_root", 1)


def test_a_clock_that_is_wrong_does_not_end_the_traces_of_others():
    waiting = OpenTraces(settle=1, clock=lambda: otlp.START)
    waiting.add(batch(*otlp.rag(1)))
    far = otlp.span(1, {"openinference.span.kind": "CHAIN"}, trace=2, begin=10**7, end=10**7 + 1)
    waiting.add(batch(far))
    assert (waiting.take(), waiting.counts["ahead"]) == ([], 1)
    assert sorted(ids(waiting.take(NOW + timedelta(minutes=10)))) == [1, 2]


def test_log_records_that_are_sent_again_are_taken_once():
    """A sender that saw no answer sends a batch again; what has no time may well have happened twice."""

    def told(name, text, time):
        about = {"traceId": "1" * 32, "spanId": "2" * 16, "eventName": name, "timeUnixNano": str(time)}
        body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": text}}]}}
        return decode_json(
            json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [{**about, "body": body}]}]}]}).encode()
        )

    waiting = OpenTraces()
    said = [("user", "Hot?", 1), ("assistant", "Yes.", 2), ("user", "Hot?", 3)]
    for _ in range(2):
        for role, text, time in said:
            waiting.add(told(f"gen_ai.{role}.message", text, time))
    trace = waiting.traces["1" * 32]
    assert [(one.name.split(".")[1], one.time_ns) for one in trace.events] == [(role, time) for role, _, time in said]
    assert waiting.counts["repeated_events"] == 3
    waiting.add(told("gen_ai.user.message", "Hot?", 0))
    waiting.add(told("gen_ai.user.message", "Hot?", 0))
    assert len(trace.events) == 5


def test_log_records_may_come_before_their_spans():
    waiting = OpenTraces(settle=1)
    said = {"traceId": f"{1:032x}", "spanId": f"{2:016x}", "eventName": "gen_ai.user.message", "timeUnixNano": str(otlp.START),
            "body": otlp.any_value({"content": "Q?"})}  # fmt: skip
    waiting.add(decode_json(otlp.lines({"resourceLogs": [{"scopeLogs": [{"logRecords": [said]}]}]}).encode()))
    assert waiting.take() == []
    waiting.add(batch(otlp.span(1), otlp.span(2, {"gen_ai.operation.name": "chat"}, parent=1)))
    assert [one.question for one in waiting.take_all()] == ["Q?"]


@pytest.mark.parametrize("settings", [{"most": 5}, {"most_bytes": 5 * sum(one.size for one in spans_of(*otlp.rag()))}])
def test_what_does_not_fit_is_given_out_early_and_counted(settings):
    waiting = OpenTraces(**settings)
    for i in range(20):
        waiting.add(batch(*otlp.rag(i + 1)))
        assert len(waiting) <= 5
    assert waiting.counts["crowded"] == 15
    assert ids(waiting.take()) == list(range(1, 16))
    assert ids(waiting.take_all()) == list(range(16, 21))


@pytest.mark.parametrize(("lists", "scopes", "rows"), [("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")])  # fmt: skip
def test_texts_inside_lists_and_objects_take_room_too(lists, scopes, rows):
    text = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "x" * 999}}]}}
    told = [{"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": [text] * 20}}}]
    row = {"traceId": "1" * 32, "spanId": "2" * 16, "eventName": "gen_ai.client.inference.operation.details", "attributes": told}  # fmt: skip
    waiting = OpenTraces(most_bytes=30_000)
    waiting.add(decode_json(json.dumps({lists: [{scopes: [{rows: [row]}]}]}).encode()))
    assert (len(waiting), waiting.counts["crowded"]) == (0, 1)


def test_one_trace_of_very_many_spans_is_bounded():
    waiting = OpenTraces(most_spans=10)
    waiting.add(batch(*(otlp.span(i + 1, {"openinference.span.kind": "CHAIN"}) for i in range(50))))
    (found,) = waiting.take_all()
    assert (found.spans, waiting.counts["surplus"]) == (10, 40)


def test_the_stored_state_goes_on_where_it_stopped():
    one, other = OpenTraces(settle=1, most=3), OpenTraces(settle=1, most=3)
    for i in range(12):
        for part in (slice(0, 2), slice(2, 4)):
            spans = Batch(spans_of(*otlp.rag(i + 1, begin=i))[part])
            one.add(spans)
            other = OpenTraces.from_bytes(other.to_bytes(), settle=1, most=3)
            other.add(spans)
        assert one.take() == other.take()
    assert (one.take_all(), one.counts, one.size) == (other.take_all(), other.counts, other.size)


@pytest.mark.parametrize("data", [b"", b"x", b"\x92\x01\x02"])
def test_a_damaged_state_is_refused(data):
    with pytest.raises(InputError, match="damaged"):
        OpenTraces.from_bytes(data)
