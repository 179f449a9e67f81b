"""Traces over HTTP: what real exporters send arrives; what is too much, wrong or somebody else's is refused."""

from __future__ import annotations

import gzip
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Status, StatusCode

import otlp
from assay.errors import InputError
from assay.formats.traces.open_traces import OpenTraces
from assay.formats.traces.otlp_json import decode_json
from assay.formats.traces.spans import join
from assay.server.limits import Limits
from assay.server.otlp import Busy, metrics_route, trace_routes
from assay.server.running import WebServer

JSON = {"content-type": "application/json"}
PROTOBUF = {"content-type": "application/x-protobuf"}


class Taken(list):
    """A sink that keeps batches."""

    error = None

    def __call__(self, batch):
        if self.error is not None:
            raise self.error
        self.append(batch)

    def requests(self):
        waiting = OpenTraces()
        for one in self:
            waiting.add(one)
        return waiting.take_all()


@pytest.fixture(scope="module")
def receiver():
    taken = Taken()
    routes = [*trace_routes(taken, limits=Limits(unpacked=2_000_000)), metrics_route(lambda: "assay_up 1\n")]
    with WebServer(machines=routes, limits=Limits(machine_body=1_000_000, stop_seconds=2)) as server:
        yield server, taken


@pytest.fixture
def taken(receiver):
    receiver[1].clear()
    receiver[1].error = None
    return receiver[1]


@pytest.fixture
def send(receiver, taken):
    with httpx2.Client(base_url=receiver[0].origin) as client:
        yield lambda data, heads=JSON, path="/v1/traces", **more: client.post(path, content=data, headers={**heads, **more})  # fmt: skip


def packed(*spans):
    return json.dumps(otlp.request(*spans)).encode()


@pytest.mark.parametrize("compression", [Compression.Gzip, Compression.NoCompression])
def test_spans_of_the_real_sdk_arrive_and_become_a_request(receiver, taken, compression):
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    exporter = OTLPSpanExporter(f"{receiver[0].origin}/v1/traces", compression=compression)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("ask", attributes={"openinference.span.kind": "CHAIN", "input.value": "When?"}):
        documents = otlp.documents("retrieval.documents", {"id": "d1", "content": "Opened in 1889.", "score": 0.5})
        with tracer.start_as_current_span("search", attributes={"openinference.span.kind": "RETRIEVER", **documents}):
            pass
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as call:
            call.set_attributes({"gen_ai.usage.input_tokens": 20, "gen_ai.output.messages": "In 1889.", "gen_ai.response.finish_reasons": ["stop"]})  # fmt: skip
            call.set_status(Status(StatusCode.ERROR, "slow"))
    provider.shutdown()
    (found,) = taken.requests()
    assert (found.question, found.answer, found.system, found.input_tokens) == ("When?", "In 1889.", "shop", 20)
    assert [(one.id, one.text, one.score) for one in found.contexts] == [("d1", "Opened in 1889.", 0.5)]
    assert found.latency_ms > 0
    assert [span.error for one in taken for span in one.spans].count("slow") == 1


def test_the_real_exporter_comes_again_when_it_is_asked_to(receiver, taken):
    taken.error = Busy(1)
    provider = TracerProvider()
    span = provider.get_tracer("app").start_span("ask", attributes={"openinference.span.kind": "CHAIN"})
    span.end()
    threading.Timer(0.3, lambda: setattr(taken, "error", None)).start()
    exporter = OTLPSpanExporter(f"{receiver[0].origin}/v1/traces")
    assert exporter.export([span]) == SpanExportResult.SUCCESS
    assert len(taken.requests()) == 1


def test_json_and_protobuf_packed_or_not_say_the_same(send, taken):
    data, bytes_ = packed(*otlp.rag()), otlp.as_protobuf(*otlp.rag())
    heads = {"content-encoding": "gzip"}
    for body, kind in ((data, JSON), (bytes_, PROTOBUF)):
        for found in (send(body, kind), send(gzip.compress(body), {**kind, **heads}), send(gzip.compress(body[:9]) + gzip.compress(body[9:]), {**kind, **heads})):  # fmt: skip
            assert (found.status_code, found.headers["content-type"]) == (200, kind["content-type"])
    assert [one.spans for one in taken] == [decode_json(data).spans] * 6
    assert send(data, {"content-type": "application/json; charset=utf-8"}).json() == {}


def test_log_records_arrive(send, taken):
    record = {"traceId": "AQ" + "A" * 20 + "==", "spanId": "AgAAAAAAAAA=", "eventName": "gen_ai.user.message",
              "timeUnixNano": "7", "body": otlp.any_value({"content": "Q?"})}  # fmt: skip
    hexed = {**record, "traceId": "01" + "0" * 30, "spanId": "02" + "0" * 14}
    from google.protobuf.json_format import ParseDict

    others = [{"body": {"stringValue": "no span"}}, {**record, "eventName": "", "body": {"stringValue": "a line"}}]
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, *others]}]}]}
    message = ParseDict(body, ExportLogsServiceRequest()).SerializeToString()
    assert send(message, PROTOBUF, "/v1/logs").status_code == 200
    body["resourceLogs"][0]["scopeLogs"][0]["logRecords"] = [
        hexed,
        others[0],
        {**others[1], "traceId": hexed["traceId"]},
    ]
    assert send(json.dumps(body).encode(), JSON, "/v1/logs").status_code == 200
    assert taken[0] == taken[1]
    assert [(one.name, one.attributes["body"], one.time_ns) for one in taken[0].events] == [("gen_ai.user.message", {"content": "Q?"}, 7)]  # fmt: skip


def test_what_is_rejected_is_told_in_the_encoding_of_the_request(send, taken):
    wrong = {**otlp.span(9), "traceId": "00" * 16}
    found = send(packed(*otlp.rag(), wrong))
    assert (found.status_code, found.json()["partialSuccess"]["rejectedSpans"]) == (200, "1")
    answer = ExportTraceServiceResponse.FromString(send(otlp.as_protobuf(*otlp.rag(), wrong), PROTOBUF).content)
    assert answer.partial_success.rejected_spans == 1
    assert answer.partial_success.error_message == "an id of a span has 32 hexadecimal digits that are not all 0"
    assert [len(one.spans) for one in taken] == [4, 4]
    whole = ExportTraceServiceResponse.FromString(send(otlp.as_protobuf(*otlp.rag()), PROTOBUF).content)
    assert not whole.HasField("partial_success")


@pytest.mark.parametrize(
    ("body", "heads", "status"),
    [
        (b"", {}, 415), (b"{}", {"content-type": "text/plain"}, 415), (b"{}", {**JSON, "content-encoding": "br"}, 415),
        (b"{", JSON, 400), (b"[1]", JSON, 400), (b"\xff\xff", PROTOBUF, 400), (b"\x0a\x05\x12", PROTOBUF, 400), (b"\x0b", PROTOBUF, 400),
        (b"no gzip", {**JSON, "content-encoding": "gzip"}, 400), (gzip.compress(b"{}")[:-3], {**JSON, "content-encoding": "gzip"}, 400),
        (b"[" * 100_000, JSON, 400), (b'{"resourceSpans":' * 5000, JSON, 400), (b" " * 1_000_001, JSON, 413),
        (gzip.compress(b" " * 2_000_001), {**JSON, "content-encoding": "gzip"}, 413),
        (gzip.compress(b"") * 2000, {**JSON, "content-encoding": "gzip"}, 413),
    ],
    ids=map(str, range(15)),
)  # fmt: skip
def test_what_cannot_be_taken_is_refused(send, taken, body, heads, status):
    assert (send(body, heads).status_code, list(taken)) == (status, [])


def nested(depth):
    """A value in so many lists, as a text: Python's own JSON would not write it."""
    return '{"arrayValue": {"values": [' * depth + '{"stringValue": "x"}' + "]}}" * depth


def length(n):
    """A number as protobuf writes it."""
    found = b""
    while n > 127:
        found, n = found + bytes([n & 127 | 128]), n >> 7
    return found + bytes([n])


def deep_protobuf(depth):
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue

    value = AnyValue(string_value="x").SerializeToString()
    for _ in range(depth):
        inner = b"\x0a" + length(len(value)) + value
        value = b"\x2a" + length(len(inner)) + inner
    return value


def test_a_value_within_values_without_end_costs_its_span_only(send, taken):
    for depth in (50, 150):
        wrong = otlp.span(9)
        wrong["attributes"] = [{"key": "input.value", "value": "HERE"}]
        found = send(packed(*otlp.rag(), wrong).replace(b'"HERE"', nested(depth).encode()))
        assert (found.status_code, found.json()["partialSuccess"]["rejectedSpans"]) == (200, "1"), depth
    assert send(packed(wrong).replace(b'"HERE"', nested(5000).encode())).status_code == 400
    inner = b"\x0a\x0binput.value\x12"
    value = deep_protobuf(400)
    raw = otlp.as_protobuf(*otlp.rag())
    bad = b"\x4a" + length(len(inner) + len(length(len(value))) + len(value)) + inner + length(len(value)) + value
    span = b"\x12" + length(len(bad)) + bad
    scope = b"\x12" + length(len(span)) + span
    answer = send(raw + b"\x0a" + length(len(scope)) + scope, PROTOBUF)
    assert ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans == 1


BOMBS = {
    "spans": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[', b"{},", b"{}]}]}]}"),
    "scopes": (b'{"resourceSpans":[{"scopeSpans":[', b'{"spans":[]},', b'{"spans":[]}]}]}'),
    "resources": (b'{"resourceSpans":[', b"{},", b"{}]}"),
    "numbers": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[', b"0,", b"0]}]}]}"),
    "brackets": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[', b"[],", b"[]]}]}]}"),
    "keys": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","attributes":[', b'{"key":""},', b'{"key":""}]}]}]}]}'),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_body_that_means_millions_of_things_is_refused(send, taken, name):
    start, middle, end = BOMBS[name]
    body = start + middle * ((2_000_000 - 500) // len(middle)) + end
    found = send(gzip.compress(body), {**JSON, "content-encoding": "gzip"})
    assert (found.status_code in {400, 413} or found.json()["partialSuccess"], list(taken)) == (True, []) or name == "keys"  # fmt: skip


def test_a_body_of_very_many_empty_spans_is_refused_before_they_are_made(send, taken):
    spans = b"\x12\x00" * 450_000
    scope = b"\x12" + length(len(spans)) + spans
    assert send(b"\x0a" + length(len(scope)) + scope, PROTOBUF).status_code == 413
    things = b"\x0a\x10" + b"\x01" * 16 + b"\x12\x08" + b"\x01" * 8 + b"\x5a\x00" * 300_000  # of one span
    span = b"\x12" + length(len(things)) + things
    scope = b"\x12" + length(len(span)) + span
    answer = ExportTraceServiceResponse.FromString(send(b"\x0a" + length(len(scope)) + scope, PROTOBUF).content)
    assert "more than 10,000 attributes or events" in answer.partial_success.error_message
    scopes = b"\x12\x00" * 450_000
    assert send(b"\x0a" + length(len(scopes)) + scopes, PROTOBUF).status_code == 413


def test_the_sink_decides_what_is_acknowledged(send, taken):
    taken.error = Busy(7)
    found = send(packed(*otlp.rag()))
    assert (found.status_code, found.headers["retry-after"]) == (503, "7")
    assert found.json() == {"code": 14, "message": "too many requests: wait a second"}
    taken.error = InputError("the disk is full")
    assert send(packed(*otlp.rag())).json() == {"code": 14, "message": "the disk is full"}
    assert send(otlp.as_protobuf(*otlp.rag()), PROTOBUF).content == b"\x08\x0e\x12\x10the disk is full"


def test_a_sink_is_never_called_twice_at_once_and_none_is_lost():
    inside, found = [], []

    def slow(batch):
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.002)
        found.append(batch)
        inside.pop()

    bodies = [packed(*otlp.rag(i + 1)) for i in range(60)]
    with (
        WebServer(machines=trace_routes(slow)) as server,
        httpx2.Client(base_url=server.origin) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        codes = list(pool.map(lambda one: client.post("/v1/traces", content=one, headers=JSON).status_code, bodies))
    assert codes == [200] * 60
    assert len({span.trace_id for span in join(found).spans}) == 60


def test_prometheus_reads_what_a_function_says(receiver):
    found = httpx2.get(f"{receiver[0].origin}/metrics")
    assert (found.text, found.headers["content-type"]) == ("assay_up 1\n", "text/plain; version=0.0.4; charset=utf-8")


def test_pages_of_others_may_not_send(send, taken):
    assert send(packed(*otlp.rag()), origin="http://evil.example").status_code == 403
    assert send(packed(*otlp.rag()), host="evil.example").status_code == 421
    assert list(taken) == []
