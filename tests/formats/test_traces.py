"""Traces become requests: what each convention says is found, what is missing is said."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime

import pytest

import assay
import otlp
from assay.data.samples import Turn
from assay.errors import InputError
from assay.formats.traces import names
from assay.formats.traces.assembling import assemble
from assay.formats.traces.otlp_json import Unreadable, decode_json
from assay.formats.traces.reading import is_traces, read_traces


def served(*spans, attributes=()):
    batch = decode_json(otlp.lines(otlp.request(*spans)).encode(), attributes)
    assert not batch.rejected
    return assemble(batch.spans, batch.events, attributes)


def contexts(found):
    return [(one.id, one.text) for one in found.contexts]


def test_a_trace_of_openinference_is_a_request():
    found = served(*otlp.rag())
    assert (found.question, found.answer) == ("When was the tower built?", "In 1889.")
    assert [(one.id, one.text, one.score) for one in found.contexts] == [("d1", "The tower opened in 1889.", 0.97)]
    assert found.history == (Turn("user", "Hello"), Turn("assistant", "Hi!"))
    assert (found.session, found.user, found.model, found.system) == ("s1", "u1", "small-1", "shop")
    assert (found.input_tokens, found.output_tokens, found.cost) == (120, 8, 0.002)
    assert (found.latency_ms, found.retrieval_ms, found.first_token_ms) == (2000, 400, 750)
    assert found.time == datetime(2026, 1, 1, tzinfo=UTC)
    assert (found.spans, found.span_id, found.error, dict(found.lacks)) == (4, f"{4:016x}", None, {})


def chat(number=2, begin=0.4, end=0.9, parent=1, **attributes):
    return otlp.span(number, {"gen_ai.operation.name": "chat", **attributes}, parent=parent, begin=begin, end=end)


def test_a_trace_of_the_genai_conventions_is_a_request():
    asked = [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "How tall"}, {"type": "text", "content": "is it?"}]},
    ]
    said = [{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "330 m."}], "finish_reason": "stop"}]  # fmt: skip
    found = served(
        otlp.span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c7", "enduser.id": "u9"}),
        otlp.span(3, {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "height",
                      "gen_ai.retrieval.documents": json.dumps([{"id": "d2", "score": 0.8, "content": "330 m tall"}])},
                  parent=1, begin=0.1, end=0.3),
        chat(**{"gen_ai.request.model": "big", "gen_ai.response.model": "big-2", "gen_ai.usage.input_tokens": 50,
                "gen_ai.usage.output_tokens": 4, "gen_ai.response.time_to_first_chunk": 0.2,
                "gen_ai.response.finish_reasons": ["stop"], "gen_ai.input.messages": json.dumps(asked),
                "gen_ai.output.messages": json.dumps(said)}),
        attributes=["gen_ai.response.finish_reasons"],
    )  # fmt: skip
    assert (found.question, found.answer) == ("height", "330 m.")
    assert contexts(found) == [("d2", "330 m tall")]
    assert (found.session, found.user, found.model) == ("c7", "u9", "big-2")
    assert (found.input_tokens, found.output_tokens, found.first_token_ms) == (50, 4, 600)
    assert found.attributes == {"gen_ai.response.finish_reasons": "stop"}
    assert dict(found.lacks) == {"cost": "no_cost"}


OLD_FORMS = {
    "numbered": {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Q?", "gen_ai.completion.0.role": "assistant",
                 "gen_ai.completion.0.content": "A."},
    "one JSON": {"gen_ai.prompt": '[{"role": "user", "content": "Q?"}]',
                 "gen_ai.completion": '[{"role": "assistant", "content": [{"type": "text", "text": "A."}]}]'},
    "plain": {"gen_ai.prompt": "Q?", "gen_ai.completion": "A."},
    "structured": {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Q?"}]}],
                   "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "A."}]}]},
    "contents": {"llm.input_messages.0.message.role": "user",
                 "llm.input_messages.0.message.contents.0.message_content.type": "text",
                 "llm.input_messages.0.message.contents.0.message_content.text": "Q?",
                 "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "A."},
}  # fmt: skip


@pytest.mark.parametrize("form", OLD_FORMS)
def test_messages_are_read_in_every_form(form):
    found = served(otlp.span(1), chat(**OLD_FORMS[form]))
    assert (found.question, found.answer) == ("Q?", "A.")


@pytest.mark.parametrize(
    "events",
    [
        [("gen_ai.system.message", {"content": "Be brief."}), ("gen_ai.user.message", {"content": "Q?"}),
         ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": '{"role": "assistant", "content": "A."}'})],
        [("gen_ai.content.prompt", {"gen_ai.prompt": '[{"role": "user", "content": "Q?"}]'}),
         ("gen_ai.content.completion", {"gen_ai.completion": '[{"role": "assistant", "content": "A."}]'})],
        [("gen_ai.client.inference.operation.details",
          {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Q?"}]}],
           "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "A."}]}]})],
    ],
)  # fmt: skip
def test_messages_are_read_from_events_of_spans_and_from_log_records(events):
    call = otlp.span(2, {"gen_ai.operation.name": "chat"}, parent=1, events=[(0.5, *one) for one in events])
    found = served(otlp.span(1), call)
    assert (found.question, found.answer) == ("Q?", "A.")
    records = [
        {"traceId": f"{1:032x}", "spanId": f"{2:016x}", "eventName": name, "timeUnixNano": str(otlp.START + i),
         "attributes": otlp.pairs({k: v for k, v in said.items() if k.startswith("gen_ai.")}),
         "body": otlp.any_value({k: v for k, v in said.items() if not k.startswith("gen_ai.")})}
        for i, (name, said) in enumerate(events)
    ]  # fmt: skip
    logs = decode_json(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode())
    spans = decode_json(otlp.lines(otlp.request(otlp.span(1), chat())).encode()).spans
    assert assemble(spans).question is None
    assert (assemble(spans, logs.events).question, assemble(spans, logs.events).answer) == ("Q?", "A.")


def test_results_of_a_vector_database_are_documents():
    hits = [(0.2, "db.query.result", {"db.query.result.id": f"d{i}", "db.query.result.distance": i / 10,
             "db.query.result.document": f"text {i}"}) for i in (1, 2)]  # fmt: skip
    found = served(otlp.span(1), otlp.span(2, {"db.system": "chroma"}, parent=1, end=0.3, events=hits), chat(3))
    assert contexts(found) == [("d1", "text 1"), ("d2", "text 2")]
    assert found.top_score == -0.1  # of distances the smallest is the best
    plain = served(otlp.span(1), otlp.span(2, {"db.system": "postgresql"}, parent=1), chat(3))
    assert plain.lacks["contexts"] == "no_retrieval"
    assert served(otlp.span(1), otlp.span(2, {"db.system.name": "qdrant"}, parent=1), chat(3)).lacks["contexts"] == "no_documents"  # fmt: skip


def search(number, *ids, kind="RETRIEVER", begin=0.0, end=0.1, parent=1):
    prefix = "reranker.output_documents" if kind == "RERANKER" else "retrieval.documents"
    docs = otlp.documents(prefix, *({"id": name, "content": f"text of {name}"} for name in ids))
    return otlp.span(number, {"openinference.span.kind": kind, **docs}, begin=begin, end=end, parent=parent)


@pytest.mark.parametrize(
    ("searches", "expected"),
    [
        ([search(2, "a", "b"), search(3, "b", "c", begin=0.1, end=0.2)], "abc"),
        ([search(2, "a"), search(3, "b", begin=0.0, end=0.2), search(4, "b", kind="RERANKER", begin=0.2, end=0.3)], "b"),
        ([search(2, "a", "b"), search(3, "b", kind="RERANKER", begin=0.1, end=0.2),
          search(4, "c", "d", begin=0.2, end=0.25), search(5, "d", kind="RERANKER", begin=0.25, end=0.3)], "bd"),
        ([search(2, "a", "b", "c"), search(3, "b", "a", kind="RERANKER", begin=0.1, end=0.2),
          search(4, "a", kind="RERANKER", begin=0.2, end=0.3)], "a"),
        ([search(2, "a", "b"), search(3, "a", kind="RERANKER", begin=0.1, end=0.2), search(4, "z", begin=0.2, end=0.3)], "az"),
        ([search(2, "b", end=0.3), search(3, "a", "b", parent=2), search(4, "b", kind="RERANKER", begin=0.1, end=0.2, parent=2)], "b"),
        ([search(2, "a"), search(3, "late", begin=1.5, end=1.6)], "a"),
    ],
)  # fmt: skip
def test_contexts_of_several_searches_follow_one_rule(searches, expected):
    found = served(otlp.span(1, end=2.0), *searches, chat(9, begin=0.5))
    assert "".join(one.id for one in found.contexts) == expected


def test_calls_within_calls_count_their_tokens_once():
    outer = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 10, "llm.token_count.completion": 2}
    inner = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    found = served(
        otlp.span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99}),
        otlp.span(2, outer, parent=1, begin=0.1, end=0.5), chat(3, parent=2, begin=0.2, end=0.4, **inner),
        chat(4, begin=0.6, end=0.9, **{**inner, "gen_ai.output.messages": "Last."}),
    )  # fmt: skip
    assert (found.input_tokens, found.output_tokens, found.answer) == (20, 4, "Last.")
    sums = served(otlp.span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99}))
    assert sums.input_tokens == 99


def test_a_judge_in_the_trace_is_not_the_answer():
    found = served(
        otlp.span(1, {"openinference.span.kind": "CHAIN"}, end=3.0),
        chat(2, **{"gen_ai.output.messages": "The answer."}),
        otlp.span(3, {"openinference.span.kind": "EVALUATOR"}, parent=1, begin=1.0, end=2.0),
        chat(4, parent=3, begin=1.1, end=1.9, **{"gen_ai.output.messages": "Score: 5"}),
    )
    assert found.answer == "The answer."


def test_what_is_missing_is_said():
    bare = served(otlp.span(1), chat())
    assert dict(bare.lacks) == {"question": "no_input", "answer": "no_output", "contexts": "no_retrieval", "input_tokens": "no_usage", "cost": "no_cost"}  # fmt: skip
    ids = otlp.span(2, {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": [{"id": "d1", "score": 1.0}]}, parent=1)  # fmt: skip
    assert served(otlp.span(1), ids).lacks["contexts"] == "no_texts"
    assert served(otlp.span(1), ids).sample.context_ids == ("d1",)
    nothing = otlp.span(2, {"openinference.span.kind": "RETRIEVER", "input.value": "q"}, parent=1)
    assert served(otlp.span(1), nothing).lacks["contexts"] == "no_documents"
    assert served(otlp.span(1), nothing).question == "q"
    backwards = served(otlp.span(1, begin=5, end=1), chat())
    assert (backwards.latency_ms, backwards.lacks["latency_ms"]) == (None, "no_clock")
    orphan = served(chat(**{"gen_ai.output.messages": "A."}))
    assert (orphan.lacks["root"], orphan.latency_ms, orphan.answer) == ("no_root", None, "A.")


def test_a_parent_in_another_process_makes_an_entry():
    found = served(otlp.span(5, parent=77, flags=0x300, begin=1, end=3), chat(6, parent=5))
    assert (found.latency_ms, "root" in found.lacks) == (2000, False)


def test_failures_are_told_by_their_message_or_exception():
    thrown = [(0.5, "exception", {"exception.type": "TimeoutError", "exception.message": "too slow"})]
    status = {"status": {"code": 2}}
    failed = served(otlp.span(1, {"openinference.span.kind": "CHAIN", "input.value": "Q?"}, events=thrown, **status))
    assert (failed.error, failed.lacks["answer"], failed.answer) == ("too slow", "failed", None)
    assert served(otlp.span(1, **status), chat()).error == "error"
    assert served(otlp.span(1, status={"code": 2, "message": "no"}), chat()).error == "no"
    inner = served(otlp.span(1), otlp.span(2, {"gen_ai.operation.name": "chat"}, parent=1, **status))
    assert inner.error == "error"


def test_requests_are_samples_with_their_contexts():
    one = served(*otlp.rag()).sample
    assert (one.query_id, one.question, one.contexts[0].text, one.system) == (f"{1:032x}", "When was the tower built?", "The tower opened in 1889.", "shop")  # fmt: skip


def test_ids_in_base64_are_read_and_told(tmp_path):
    spans = otlp.rag()
    for one in spans:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in one:
                one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
    batch = decode_json(otlp.lines(otlp.request(*spans)).encode())
    assert batch.base64 == 4
    assert assemble(batch.spans) == served(*otlp.rag())


@pytest.mark.parametrize(
    "change",
    [
        {"traceId": "0" * 32}, {"traceId": "xyz"}, {"spanId": 5}, {"startTimeUnixNano": "soon"}, {"endTimeUnixNano": -1},
        {"attributes": [{"value": {}}]}, {"attributes": [{"key": "user.id", "value": {"intValue": "x"}}]},
        {"attributes": "none"}, {"events": [{}]}, {"startTimeUnixNano": str(2**64)},
    ],
)  # fmt: skip
def test_a_span_that_is_wrong_is_rejected_alone(change):
    wrong = {**otlp.span(9), **change}
    batch = decode_json(json.dumps(otlp.request(*otlp.rag(), wrong)).encode())
    assert (len(batch.spans), batch.rejected, len(batch.reasons)) == (4, 1, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"resourceSpans": {}}', '{"resourceSpans": [[]]}', '{"resourceSpans": [{}]}', "\x00", '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "\\ud800"}]}]}]}'])  # fmt: skip
def test_what_is_no_request_is_unreadable(text):
    with pytest.raises(Unreadable):
        decode_json(text.encode())


def test_unknown_fields_and_wrong_numbers_change_nothing():
    odd = chat(**{"gen_ai.usage.input_tokens": "many", "gen_ai.usage.output_tokens": -4, "gen_ai.response.time_to_first_chunk": -1.0})  # fmt: skip
    odd["surprise"] = [1, {"a": None}]
    odd["attributes"].append({"key": "llm.cost.total", "value": {"doubleValue": "NaN"}})
    found = served(otlp.span(1), odd)
    assert (found.input_tokens, found.output_tokens, found.cost, found.first_token_ms) == (None, None, None, None)


def test_files_folders_and_packed_files_are_read(tmp_path):
    otlp.write(tmp_path / "a.jsonl", *otlp.rag(2, begin=10), *otlp.rag(1))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(otlp.lines(otlp.request(*otlp.rag(3, begin=5))).encode()))
    (tmp_path / "c.json").write_text(json.dumps(otlp.request(*otlp.rag(4, begin=20)), indent=1))
    found = read_traces(tmp_path)
    assert [int(one.id, 16) for one in found] == [1, 3, 2, 4]
    assert [is_traces(tmp_path / name) for name in ("a.jsonl", "b.jsonl.gz", "c.json")] == [True] * 3
    assert is_traces(tmp_path)


def test_lines_that_are_cut_or_something_else_are_counted(tmp_path):
    path = otlp.write(tmp_path / "a.jsonl", *otlp.rag())
    path.write_text('{"resourceMetrics": []}\n' + path.read_text() + lines_cut())
    found = read_traces(path)
    assert (len(found), len(found.notes)) == (1, 1)
    assert found.notes[0].startswith("1 span or line could not be read")


def lines_cut():
    return otlp.lines(otlp.request(*otlp.rag(2)))[:400]


def test_traces_that_are_no_requests_are_left_out_and_counted(tmp_path):
    health = otlp.span(1, {"http.route": "/health"}, trace=8)
    path = otlp.write(tmp_path / "a.jsonl", *otlp.rag(), health)
    assert (len(read_traces(path)), read_traces(path).notes) == (1, ("1 trace asks no model and searches nothing: left out",))  # fmt: skip
    with pytest.raises(InputError, match="none of 1 trace asks a model or searches"):
        read_traces(otlp.write(tmp_path / "b.jsonl", health))
    (tmp_path / "c.jsonl").write_text('{"question": "Q?"}\n')
    with pytest.raises(InputError, match="no line of this file holds spans"):
        read_traces(tmp_path / "c.jsonl")


def test_names_of_the_genai_conventions_are_those_of_opentelemetry():
    from opentelemetry.semconv._incubating.attributes import (
        db_attributes,
        gen_ai_attributes,
        session_attributes,
        user_attributes,
    )

    known = {
        value
        for module in (gen_ai_attributes, db_attributes, session_attributes, user_attributes)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    ours = {name for name in names.ALL if name.startswith(("gen_ai.", "db.system", "session.", "user."))}
    assert ours - known == {"gen_ai.usage.cost"}  # which libraries write all the same


def test_traces_are_samples_logs_and_checked(tmp_path):
    spans = [span for i in range(3) for span in otlp.rag(i + 1, begin=i, user=f"u{i}")]
    lacking = otlp.span(1, {"openinference.span.kind": "CHAIN", "input.value": "No answer?"}, trace=9)
    path = otlp.write(tmp_path / "traces.jsonl", *spans, lacking)
    samples = assay.read_samples(path)
    assert [one.question or "" for one in samples].count("When was the tower built?") == 3
    assert (samples[1].answer, samples[1].notes[0]) == (None, "no answer: no span holds an answer")
    log = assay.read_events(tmp_path, attributes=["session.id"], salt="grain of salt")
    frame = log.frame.collect()
    assert frame["action"].to_list() == ["query"] * 4
    assert frame["latency_ms"].to_list() == [2000, 1000, 2000, 2000]
    assert frame["top_score"].drop_nulls().to_list() == [0.97] * 3
    assert frame["session.id"].drop_nulls().n_unique() == 1
    assert frame["user"].drop_nulls().str.len_chars().to_list() == [32] * 3
    found = assay.check_files([str(path)])
    assert [(one.kind, one.holds) for one in found.files] == [("traces", "4 requests of 13 spans")]
    assert [(one.kind, one.count, one.examples) for one in found.findings] == [("no answer", 1, (f"{9:032x}",))]


def test_samples_of_several_services_are_those_of_one_application(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text(otlp.lines(otlp.request(*otlp.rag(1)), otlp.request(*otlp.rag(2), service="other")))
    samples = assay.read_samples(path)
    assert (samples.systems, [one.others["service"] for one in samples]) == ((), ["shop", "other"])
