"""Send traces over HTTP at a steady rate: whether any is lost, whether memory stays flat, what a span costs.

    python benchmarks/traces.py [--seconds 10] [--rate 2000] [--encoding protobuf|json]

A receiver of its own process takes requests of 400 spans, as the SDK sends them: it decodes them, appends them to a
file with fsync, and puts them together to requests. The processor time is that of the receiver alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from base64 import b64encode
from dataclasses import dataclass
from struct import pack
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from assay.formats.traces.spans import Batch

EACH = 400  # spans of a request
SPANS = 5  # of a trace
MARK = "a5a5a5a5a5a5a5a5"  # half of the id of every trace
BEGIN, END = 1_111_111_111_111_111_111, 1_222_222_222_222_222_222
TEXT = "The tower was built for the world fair of 1889 and is 330 metres tall. " * 12


@dataclass
class Report:
    """What the receiver says of itself: spans and requests so far, seconds of its processor, megabytes of memory."""

    spans: int
    requests: int
    seconds: float
    megabytes: float
    counts: dict[str, int]


def receive(line: Connection, folder: str) -> None:
    """Run the receiver until the other end says so; it reports when it is asked to."""
    from assay.formats.traces.keeping import TraceFolder
    from assay.formats.traces.open_traces import OpenTraces
    from assay.server.otlp import trace_routes
    from assay.server.running import WebServer

    kept, waiting = TraceFolder(folder), OpenTraces(settle=2)
    served = 0

    def sink(batch: Batch) -> None:
        nonlocal served
        kept.append(batch)
        waiting.add(batch)
        served += len(waiting.take())

    with WebServer(machines=trace_routes(sink)) as server:
        line.send(server.origin)
        while line.recv() == "report":
            line.send(Report(waiting.counts["spans"], served, time.process_time(), memory(), dict(waiting.counts)))
    served += len(waiting.take_all())
    line.send(Report(waiting.counts["spans"], served, time.process_time(), memory(), dict(waiting.counts)))


def memory() -> float:
    """Megabytes that are held now, where the system says so, else the most there ever were."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def make_spans(trace: int) -> list[dict[str, Any]]:
    """The spans of one request of a RAG application: about 4 KB of text."""
    documents = {
        f"retrieval.documents.{i}.document.{name}": value
        for i in range(3)
        for name, value in (("id", f"d{i}"), ("content", TEXT), ("score", 0.5))
    }
    said = [{"role": "assistant", "content": TEXT}]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 60,
        "gen_ai.output.messages": json.dumps(said),
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": "When was it built?"}]),
    }
    kinds: list[dict[str, Any]] = [
        {"openinference.span.kind": "CHAIN", "input.value": "When was it built?", "session.id": str(trace % 97)},
        {"openinference.span.kind": "EMBEDDING", "embedding.model_name": "e"},
        {"openinference.span.kind": "RETRIEVER", **documents},
        {"http.request.method": "POST", "server.address": "127.0.0.1", "http.response.status_code": 200},
        chat,
    ]
    return [
        {
            "traceId": MARK + f"{trace:016x}",
            "spanId": f"{i + 1:016x}",
            "name": f"step {i}",
            **({"parentSpanId": f"{1:016x}"} if i else {}),
            "startTimeUnixNano": str(BEGIN),
            "endTimeUnixNano": str(END),
            "attributes": [{"key": name, "value": _value(value)} for name, value in found.items()],
        }
        for i, found in enumerate(kinds)
    ]


def _value(value: str | float) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def encode(encoding: str) -> bytes:
    """A request in the encoding, with marks where each sending has other ids and times."""
    spans = [span for i in range(EACH // SPANS) for span in make_spans(i + 1)]
    body = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}
    if encoding == "json":
        return json.dumps(body).encode()
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for span in spans:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:  # protobuf's own JSON has ids in base64
                span[name] = b64encode(bytes.fromhex(span[name])).decode()
    found: bytes = ParseDict(body, ExportTraceServiceRequest()).SerializeToString()
    return found


def renew(body: bytes, encoding: str, number: int) -> bytes:
    """The request with ids and times of its own, packed as exporters pack it."""
    now, trace = time.time_ns(), f"{number:016x}"
    times = {BEGIN: now - 10**9, END: now}
    if encoding == "json":
        new = {MARK.encode(): trace.encode(), **{str(mark).encode(): str(at).encode() for mark, at in times.items()}}
    else:
        packed = {pack("<Q", mark): pack("<Q", at) for mark, at in times.items()}
        new = {bytes.fromhex(MARK): bytes.fromhex(trace), **packed}
    for mark, value in new.items():
        body = body.replace(mark, value)
    return gzip.compress(body, 1)


def main() -> None:
    """Send, look on, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=2000, help="spans a second")
    parser.add_argument("--encoding", choices=["protobuf", "json"], default="protobuf")
    asked = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    with tempfile.TemporaryDirectory() as folder:
        receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(theirs, folder))
        receiver.start()
        last = send(ours, asked.seconds, asked.rate, asked.encoding)
        receiver.join()
        written = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))  # noqa: PTH118, PTH202, PTH208
    print(f"written {written / 1e6:,.0f} MB; counts {last.counts}")


def send(line: Connection, seconds: float, rate: float, encoding: str) -> Report:
    """Send at the rate, print a line every tenth of the time, and see that everything arrived."""
    origin = line.recv()
    kind = "application/json" if encoding == "json" else "application/x-protobuf"
    heads = {"content-type": kind, "content-encoding": "gzip"}
    body = encode(encoding)
    sent = refused = 0
    first: Report | None = None
    print(f"{'s':>6} {'spans':>10} {'us/span':>8} {'MB':>7}")
    with httpx2.Client(base_url=origin) as client:
        began = due = time.monotonic()
        shown = began
        while time.monotonic() - began < seconds:
            answer = client.post("/v1/traces", content=renew(body, encoding, sent // EACH + 1), headers=heads)
            refused += answer.status_code != 200
            sent += EACH
            if time.monotonic() - shown >= seconds / 10:
                shown = time.monotonic()
                line.send("report")
                now = line.recv()
                first = first or now
                print(f"{shown - began:6.0f} {now.spans:10,} {cost(first, now):8.1f} {now.megabytes:7.1f}", flush=True)
            due += EACH / rate
            time.sleep(max(0.0, due - time.monotonic()))
        took = time.monotonic() - began
    line.send("stop")
    last: Report = line.recv()
    lost = sent - last.spans
    print(f"sent {sent:,} spans in {took:.0f} s ({sent / took:,.0f}/s), refused requests {refused}, lost {lost}")
    print(f"requests put together: {last.requests:,} of {sent // SPANS:,}")
    print(f"processor time per span: {cost(first, last):.1f} us")
    if lost or last.requests != sent // SPANS:
        sys.exit(1)
    return last


def cost(first: Report | None, now: Report) -> float:
    """Microseconds of the processor per span since the first report, before which everything was loaded."""
    if first is None or now.spans == first.spans:
        return 1e6 * now.seconds / max(1, now.spans)
    return 1e6 * (now.seconds - first.seconds) / (now.spans - first.spans)


if __name__ == "__main__":
    main()
