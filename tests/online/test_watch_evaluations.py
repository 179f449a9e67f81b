"""Values of single answers as log records: what OpenTelemetry's own classes read, each sent once, or again and known."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

import assay
from assay.errors import UsageError
from assay.formats.traces.otlp_json import decode_json
from assay.llm import Client
from assay.online.watching import outbox, state
from assay.online.watching.outbox import FileTarget, Outbox, read_headers
from assay.report import document
from assay.report.views import watch as view
from assay.server.otlp import Busy, trace_routes
from assay.server.running import WebServer
from assay.testing import FakeLLM
from online.growing_logs import Killed, die
from online.judged_traces import judge, make_traces
from otlp import rag, write

SETTINGS = {"drift": 0, "measures": "query_cost", "judged": 12}
UID = "log.record.uid"


def records(place):
    """Records of a file, read by OpenTelemetry's own classes: their attributes, and the records themselves."""
    found = []
    for line in place.read_text().splitlines():
        told = json.loads(line)
        for one in told["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            for name in ("traceId", "spanId"):  # protobuf's own JSON has ids in base64
                one[name] = b64encode(bytes.fromhex(one[name])).decode()
        for one in ParseDict(told, ExportLogsServiceRequest()).resource_logs[0].scope_logs[0].log_records:
            values = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in one.attributes}
            found.append((values, one))
    return found


def test_every_value_names_the_span_of_its_answer_as_the_conventions_say(tmp_path):
    place, sent = make_traces(tmp_path / "t.jsonl"), tmp_path / "sent.jsonl"
    with FakeLLM(judge) as server, Client(server.url, "m") as client:
        found = assay.watch_log(place, judge=client, evaluations=sent, **SETTINGS)
    told = records(sent)
    judged = [pair for pair in told if pair[0]["gen_ai.evaluation.name"] == "faithfulness"]
    assert (len(judged), len(told)) == (12, 12 + 2 * 60)
    assert found.evaluations.sent == len(told)
    assert all(one.event_name == "gen_ai.evaluation.result" for _, one in told)
    assert {one.span_id.hex() for _, one in told} == {f"{4:016x}"}  # the call of the model, not the chain around it
    assert {int(one.trace_id.hex(), 16) for _, one in told} == set(range(1, 61))
    for values, one in judged:
        invented = int(one.trace_id.hex(), 16) % 6 == 0
        assert values["gen_ai.evaluation.score.value"] == (0.0 if invented else 1.0)
        assert values["gen_ai.evaluation.score.label"] == ("none" if invented else "full")
        assert ("Berlin" in values["gen_ai.evaluation.explanation"]) == invented
        assert values["assay.evaluation.method"] == "llm"
        assert 0 < values["assay.evaluation.sampling_probability"] <= 1
    weighted = sum(1 / values["assay.evaluation.sampling_probability"] for values, _ in judged)
    assert weighted == pytest.approx(60, rel=0.5)
    assert len({values[UID] for values, _ in told}) == len(told)


def test_an_answer_on_which_the_judge_fails_says_so_and_has_no_value(tmp_path):
    place, sent = make_traces(tmp_path / "t.jsonl", 20), tmp_path / "sent.jsonl"
    with FakeLLM(lambda _: "what?") as server, Client(server.url, "m") as client:
        assay.watch_log(place, judge=client, evaluations=sent, **{**SETTINGS, "judged": 3})
    failed = [values for values, _ in records(sent) if values["gen_ai.evaluation.name"] == "faithfulness"]
    assert [one["error.type"] for one in failed] == ["evaluation_failed"] * 3
    assert all("gen_ai.evaluation.score.value" not in one for one in failed)


def test_the_id_of_a_reply_is_told_where_its_span_has_one(tmp_path):
    spans = rag(1)
    spans[3]["attributes"].append({"key": "gen_ai.response.id", "value": {"stringValue": "chatcmpl-1"}})
    sent = tmp_path / "sent.jsonl"
    assay.watch_log(write(tmp_path / "t.jsonl", *spans), evaluations=sent, **SETTINGS)
    assert {values["gen_ai.response.id"] for values, _ in records(sent)} == {"chatcmpl-1"}


def test_killed_at_any_write_every_value_is_in_the_file_once(tmp_path, monkeypatch):
    place = write(tmp_path / "t.jsonl", *(one for i in range(6) for one in rag(i + 1, begin=i * 1500.0)))
    whole = tmp_path / "whole.jsonl"
    assay.watch_log(place, state=tmp_path / "whole", evaluations=whole, **SETTINGS)
    expected = sorted(values[UID] for values, _ in records(whole))
    write_some, cuts = outbox._missing, []

    def cut(lines, tail):
        """What is to be written; or a share of it is, and the process dies."""
        found = write_some(lines, tail)
        if cuts:
            place, share = cuts.pop()
            with place.open("ab") as file:
                file.write(found[: int(len(found) * share)])
            raise Killed
        return found

    monkeypatch.setattr(outbox, "_missing", cut)
    death = die(monkeypatch, (state, "add_entry"))
    kills = [*((moment, None) for moment in range(1, 5)), *((0, share) for share in (0.0, 0.3, 0.999, 1.0))]
    for number, (moment, share) in enumerate(kills):
        folder, sent = tmp_path / f"state{number}", tmp_path / f"sent{number}.jsonl"
        sent.write_text('{"resourceLogs": []}\n' if number % 2 else "")
        death.left = moment
        cuts += [] if share is None else [(sent, share)]
        with pytest.raises(Killed):
            assay.watch_log(place, state=folder, evaluations=sent, **SETTINGS)
        death.left = 0
        for _ in range(2):
            assay.watch_log(place, state=folder, evaluations=sent, **SETTINGS)
        if number % 2:
            sent.write_text(sent.read_text().removeprefix('{"resourceLogs": []}\n'))
        assert sorted(values[UID] for values, _ in records(sent)) == expected, number


def test_what_a_file_holds_of_others_stays_and_half_a_line_of_theirs_is_ended(tmp_path):
    place = tmp_path / "sent.jsonl"
    place.write_bytes(b'{"a": 1}\n{"b": 2')
    assert FileTarget(place).send([b"one\n", b"two\n"]) == (2, 0)
    assert place.read_bytes() == b'{"a": 1}\n{"b": 2\none\ntwo\n'
    FileTarget(place).send([b"two\n", b"three\n"])
    assert place.read_bytes().endswith(b"one\ntwo\nthree\n")


class Receiving(list):
    """A sink that is busy at first, and keeps what it takes."""

    busy = 0

    def __call__(self, batch):
        if self.busy:
            self.busy -= 1
            raise Busy(1.0)
        self.append(batch)


def test_a_server_that_was_away_gets_everything_later(tmp_path, monkeypatch):
    """Our own receiver takes the records: what it keeps of a log record is a conversation, and these are none."""
    place, bodies = make_traces(tmp_path / "t.jsonl", 20), []
    monkeypatch.setattr(
        "assay.server.otlp.decode_json", lambda data, known: (bodies.append(data), decode_json(data, known))[1]
    )
    away = assay.watch_log(place, state=tmp_path / "state", evaluations="http://127.0.0.1:9", **SETTINGS)
    assert (away.evaluations.sent, away.evaluations.waiting) == (0, 40)
    told = document.write(view.table(away), "table", "en").replace("\n  ", " ")
    assert "40 evaluations wait to be sent, which is tried again: no connection" in told
    with WebServer(machines=trace_routes(Receiving())) as server:
        for _ in range(2):
            found = assay.watch_log(place, state=tmp_path / "state", evaluations=server.origin, **SETTINGS)
    assert (found.evaluations.sent, found.evaluations.waiting) == (0, 0)
    (tmp_path / "bodies.jsonl").write_bytes(b"".join(bodies))
    assert len({values[UID] for values, _ in records(tmp_path / "bodies.jsonl")}) == 40
    assert found.windows == away.windows


@pytest.mark.parametrize(("status", "left", "refused"), [(400, 0, 40), (401, 40, 0), (503, 40, 0), (200, 0, 7)])
def test_what_a_server_refuses_is_counted_and_what_it_may_take_later_waits(
    tmp_path, monkeypatch, status, left, refused
):
    class Reply:
        failure, message, body = None, "", b'{"partialSuccess": {"rejectedLogRecords": "7"}}'

    async def answer(*_, **__):
        return type("R", (Reply,), {"status": status})()

    monkeypatch.setattr(outbox.Transport, "send", answer)
    place = make_traces(tmp_path / "t.jsonl", 20)
    found = assay.watch_log(place, evaluations="http://127.0.0.1:9", **SETTINGS).evaluations
    assert (found.waiting, found.refused, found.sent) == (left, refused, 40 - left - refused)


def test_attempts_are_made_at_longer_and_longer_intervals(tmp_path):
    (tmp_path / "00000000000000000001.jsonl").write_bytes(b"{}\n")
    now, tries = [0.0], []

    def fail(_):
        tries.append(now[0])
        raise outbox.Unsent("away")

    box = Outbox("http://127.0.0.1:9", clock=lambda: now[0])
    box._target = type("Away", (), {"send": staticmethod(fail)})()
    for second in range(100):
        now[0] = float(second)
        box.send(tmp_path, 1)
    assert tries == [0, 5, 15, 35, 75]


def test_headers_are_those_of_opentelemetrys_variables_and_no_others():
    assert read_headers("a=b%3D1, c=d") == {"a": "b=1", "c": "d"}
    for wrong in ("a", "a=b%0d%0ax: y", "=b"):
        with pytest.raises(UsageError, match="name=value"):
            read_headers(wrong)
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_HEADERS") as refused:
        Outbox("http://user:secret@127.0.0.1:9")
    assert "secret" not in str(refused.value)
