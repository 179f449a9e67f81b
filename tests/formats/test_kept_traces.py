"""What is received is on the disk as it was, less what must not be kept, for as long as it may be."""

from __future__ import annotations

import hmac
import json
import os
import random
from datetime import UTC, datetime, timedelta

import pytest

import otlp
from assay.errors import InputError, UsageError
from assay.formats.traces import keeping
from assay.formats.traces.keeping import TraceFolder, encode_lines
from assay.formats.traces.otlp_json import decode_json
from assay.formats.traces.reading import read_traces
from assay.formats.traces.spans import Batch, TraceSpan, join

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SALT = "grain of salt"


def batch(*spans):
    return decode_json(otlp.lines(otlp.request(*spans)).encode())


def test_what_is_written_is_read_as_it_was():
    spans = [*otlp.rag(), otlp.span(7, {"gen_ai.input.messages": [{"role": "user", "n": [1, 2.5, True, {}]}]}, parent=1,
             flags=0x300, status={"code": 2, "message": "no"}, events=[(0.5, "exception", {"exception.type": "E"})])]  # fmt: skip
    before = batch(*spans)
    logs = decode_json(otlp.lines({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"traceId": f"{1:032x}", "spanId": f"{4:016x}", "eventName": "gen_ai.choice", "timeUnixNano": "5",
         "body": otlp.any_value({"message": {"content": "A."}}), "attributes": otlp.pairs({"index": 0})}]}]}]}).encode())  # fmt: skip
    both = join([before, logs])
    assert join([decode_json(line) for line in encode_lines(both).splitlines()]) == both
    assert encode_lines(Batch()) == b""


def test_a_salt_that_is_too_short_is_refused_before_anything_is_received(tmp_path):
    with pytest.raises(UsageError, match="the salt has 6 characters"):
        TraceFolder(tmp_path / "kept", salt="pepper")


def test_there_is_one_private_file_a_day(tmp_path):
    moment = [NOON]
    folder = TraceFolder(tmp_path / "kept", clock=lambda: moment[0])
    folder.append(batch(*otlp.rag(1)))
    folder.append(batch(*otlp.rag(2)))
    moment[0] += timedelta(days=1)
    folder.append(batch(*otlp.rag(3)))
    assert [path.name for path in folder.files] == ["traces-2026-03-01.jsonl", "traces-2026-03-02.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in folder.files} == {0o600}
    assert len(read_traces(tmp_path / "kept")) == 3


def test_days_that_are_over_for_longer_than_they_may_be_kept_are_deleted(tmp_path):
    moment = [NOON]
    folder = TraceFolder(tmp_path, keep_days=30, clock=lambda: moment[0])
    (tmp_path / "traces-notes.jsonl").write_text("mine")
    for _ in range(40):
        folder.append(batch(*otlp.rag()))
        moment[0] += timedelta(days=1)
    names = [path.name for path in folder.files]
    assert (names[0], names[-1], len(names)) == ("traces-2026-03-10.jsonl", "traces-2026-04-09.jsonl", 31)
    assert folder.expire(NOON + timedelta(days=365)) != []
    assert [path.name for path in tmp_path.iterdir()] == ["traces-notes.jsonl"]
    with pytest.raises(UsageError, match="at least 1"):
        TraceFolder(tmp_path, keep_days=0)


def test_half_a_line_of_a_crash_spoils_no_other(tmp_path):
    folder = TraceFolder(tmp_path, clock=lambda: NOON)
    folder.append(batch(*otlp.rag(1)))
    with folder.files[0].open("ab") as file:
        file.write(b'{"resourceSpans": [{"sco')
    folder.append(batch(*otlp.rag(2)))
    assert len(read_traces(tmp_path)) == 2


def test_what_fails_half_way_is_taken_back(tmp_path, monkeypatch):
    folder = TraceFolder(tmp_path, clock=lambda: NOON)
    folder.append(batch(*otlp.rag(1)))
    before, write = folder.files[0].read_bytes(), os.write

    def run_full(handle, data):
        if len(data) > 100:
            return write(handle, data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.os, "write", run_full)
    with pytest.raises(InputError, match="cannot be written"):
        folder.append(batch(*otlp.rag(2)))
    assert folder.files[0].read_bytes() == before


def personal(**told):
    text = json.dumps([{"role": "user", "content": "I am ann@example.com", "id": "x" * 40}])
    spans = otlp.rag(user="ann", session="s-1", question="Call +49 30 1234567 or ann@example.com", answer="See https://a.example/x?key=1")  # fmt: skip
    more = otlp.span(8, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": text, "gen_ai.request.model": "m" * 40,
                         "gen_ai.conversation.id": "c1"}, parent=1, end=1.95, status={"code": 2, "message": "no bob@example.com"})  # fmt: skip
    return [*spans, more]


def test_people_become_pseudonyms_and_their_data_leaves_texts(tmp_path):
    folder = TraceFolder(tmp_path, salt=SALT, redact=True, clock=lambda: NOON)
    folder.append(batch(*personal()))
    text = folder.files[0].read_text()
    assert not [word for word in ("ann", "bob", "1234567", "key=1", "s-1", '"c1"') if word in text]
    (kept,) = read_traces(tmp_path)
    (same,) = read_traces(otlp.write(tmp_path / "plain.jsonl", *personal()), salt=SALT, redact=True)
    assert kept == same
    assert kept.user == hmac.digest(SALT.encode(), b"ann", "sha256").hex()[:32]
    assert kept.question == "Call [number] or [email]"
    assert kept.answer == "See [url]"
    assert (kept.id, kept.contexts[0].id, kept.model) == (f"{1:032x}", "d1", "m" * 40)


def test_a_message_in_json_stays_json_when_it_is_redacted(tmp_path):
    told = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "see https://x.example/?a=b"}]}])
    spans = [otlp.span(1), otlp.span(2, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": told}, parent=1)]
    (found,) = read_traces(otlp.write(tmp_path / "a.jsonl", *spans), redact=True)
    assert found.question == "see [url]"


@pytest.mark.parametrize("value", [["ann@example.org"], {"mail": "ann@example.org"}])
def test_ids_of_people_in_lists_and_objects_are_hashed_too(tmp_path, value):
    span = TraceSpan("1" * 32, "2" * 16, attributes={"user.id": value})
    TraceFolder(tmp_path, salt=SALT, clock=lambda: NOON).append(Batch((span,)))
    assert b"ann" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_short_salt_is_refused(tmp_path):
    with pytest.raises(UsageError, match="at least 8"):
        read_traces(otlp.write(tmp_path / "a.jsonl", *otlp.rag()), salt="short")


def test_any_spans_come_back_from_the_disk(tmp_path):
    rng, folder = random.Random(3), TraceFolder(tmp_path, clock=lambda: NOON)
    values = ["", "a\nb", "\u2028\x00", "ä漢", 0, -(2**63), 2**63 - 1, 1.5, 1e300, True, [], {}, ["a", [1]], {"k": {"": None}}]  # fmt: skip
    for i in range(30):
        found = {name: rng.choice(values) for name in rng.sample(["input.value", "output.value", "session.id", "llm.cost.total", "gen_ai.prompt"], 3)}  # fmt: skip
        before = batch(otlp.span(i + 1, found, trace=i + 1))
        assert (len(before.spans), before.rejected) == (1, 0)
        assert decode_json(encode_lines(before).strip()) == before
        folder.append(before)
