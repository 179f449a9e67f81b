"""Texts in English: what traces of served requests lack."""

from __future__ import annotations

TEXTS = {
    "served.lacks": "no {field}: {why}",
    "served.of_root": "root",
    "served.of_question": "question",
    "served.of_answer": "answer",
    "served.of_contexts": "contexts",
    "served.of_latency_ms": "latency",
    "served.of_input_tokens": "tokens",
    "served.of_cost": "cost",
    "served.no_root": "the span that the others belong to has not arrived",
    "served.no_input": "no span holds a question",
    "served.no_output": "no span holds an answer",
    "served.failed": "the request ended in an error",
    "served.no_retrieval": "no span is a retrieval",
    "served.no_documents": "the retrieval recorded no documents",
    "served.no_texts": "the documents were recorded without their texts",
    "served.no_usage": "no span counts tokens",
    "served.no_cost": "no span says what it cost",
    "served.no_clock": "a span ends before it begins, or has no times",
    "events.rootless": "{n:trace without its root span: how long it took is not known|traces without their root spans: how long they took is not known}",
    "events.repeated_spans": "{n:span|spans} came again: each counts once",
    "events.surplus_spans": "{n:span|spans} beyond the most that one trace may have: left out",
    "events.unreadable_spans": "{n:span or line|spans or lines} could not be read: {reasons}",
    "events.other_ids": "{n:span has its ids|spans have their ids} in base64, not in hexadecimal digits: read all the same",
    "events.no_requests": "{n:trace asks no model and searches|traces ask no model and search} nothing: left out",
}
