"""Spans as libraries write them, made by hand: OTLP in JSON, with attributes of OpenInference or of GenAI."""

from __future__ import annotations

import json
from base64 import b64encode

SECOND = 10**9
START = 1_767_225_600 * SECOND  # 2026-01-01


def any_value(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    return {"stringValue": value}


def pairs(values):
    return [{"key": name, "value": any_value(value)} for name, value in values.items()]


def span(number, attributes=None, *, trace=1, parent=None, begin=0.0, end=1.0, events=(), **more):
    """A span with ids made of numbers, seconds after the start of 2026."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": f"span {number}",
        "kind": 1,
        "startTimeUnixNano": str(START + round(begin * SECOND)),
        "endTimeUnixNano": str(START + round(end * SECOND)),
        "attributes": pairs(attributes or {}),
        "events": [
            {"timeUnixNano": str(START + round(at * SECOND)), "name": name, "attributes": pairs(found)}
            for at, name, found in events
        ],
        **more,
    }


def request(*spans, service="shop"):
    """One request, or one line of a file."""
    resource = {"attributes": pairs({"service.name": service})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "hand"}, "spans": list(spans)}]}]
    }


def lines(*requests):
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in requests)


def documents(prefix, *found):
    """Documents as numbered attributes, as OpenInference flattens them."""
    return {f"{prefix}.{i}.document.{name}": value for i, one in enumerate(found) for name, value in one.items()}


def rag(trace=1, *, begin=0.0, question="When was the tower built?", answer="In 1889.", session="s1", user="u1"):
    """The spans of a request of a RAG application with a reranker, as OpenInference's instrumentations write them."""
    at = {"trace": trace}
    first = {"id": "d1", "content": "The tower opened in 1889.", "score": 0.4, "metadata": '{"page": 3}'}
    second = {"id": "d2", "content": "It is 330 m tall.", "score": 0.6}
    return [
        span(1, {
            "openinference.span.kind": "CHAIN", "input.value": json.dumps({"question": question}),
            "input.mime_type": "application/json", "output.value": answer, "session.id": session, "user.id": user,
        }, begin=begin, end=begin + 2, **at),
        span(2, {"openinference.span.kind": "RETRIEVER", "input.value": "tower built",
                 **documents("retrieval.documents", second, first)}, parent=1, begin=begin + 0.1, end=begin + 0.3, **at),
        span(3, {"openinference.span.kind": "RERANKER", "reranker.query": "tower built", "reranker.top_k": 1,
                 **documents("reranker.input_documents", second, first),
                 **documents("reranker.output_documents", {**first, "score": 0.97})},
             parent=1, begin=begin + 0.3, end=begin + 0.5, **at),
        span(4, {
            "openinference.span.kind": "LLM", "llm.model_name": "small-1", "llm.token_count.prompt": 120,
            "llm.token_count.completion": 8, "llm.cost.total": 0.002,
            "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
            "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "Hello",
            "llm.input_messages.2.message.role": "assistant", "llm.input_messages.2.message.content": "Hi!",
            "llm.input_messages.3.message.role": "user", "llm.input_messages.3.message.content": question,
            "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": answer,
        }, parent=1, begin=begin + 0.5, end=begin + 1.9, events=[(begin + 0.75, "First Token Stream Event", {})], **at),
    ]  # fmt: skip


def write(path, *spans, each=1):
    """Write spans to a file, so many a line."""
    path.write_text(lines(*(request(*spans[i : i + each]) for i in range(0, len(spans), each))), encoding="utf-8")
    return path


def as_protobuf(*spans):
    """The same spans in protobuf, by OpenTelemetry's own classes."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = json.loads(json.dumps(request(*spans)))
    for one in found["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in one:  # protobuf's own JSON has ids in base64
                one[name] = b64encode(bytes.fromhex(one[name])).decode()
    return ParseDict(found, ExportTraceServiceRequest()).SerializeToString()
