"""Applications that people run already: one status a question, times without queueing, nothing asked twice."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest

import assay
from assay.errors import AssayError
from assay.formats.app_settings import AppSettings
from assay.formats.replies import Shape, read_reply
from assay.formats.reply_streams import ReplyStream
from assay.llm.records import Reply, Usage
from assay.llm.transport import Exchange
from assay.pipeline.app_runner import Placement, ask_all, lay_out
from assay.pipeline.applications import WebApplication, make_application
from assay.pipeline.asked import Asked
from assay.pipeline.records import Query
from assay.pipeline.store import Store
from rag_app import answer_to, rag_app, write_questions

QUICK = {"backoff": 0.001, "timeout": 0.4, "concurrency": 8}
# What a question comes to, and how often it is sent: as often as the policy of `llm` says.
OUTCOMES = {
    "how hot is sencha": ("scored", "", 1),
    "flaky network": ("scored", "", 2),
    "bare answer": ("scored", "no_contexts", 1),
    "refuse me": ("abstained", "refused", 1),
    "empty answer": ("failed", "empty", 1),
    "500 error": ("failed", "server", 5),
    "slow answer": ("failed", "timeout", 3),
    "cut connection": ("failed", "network", 4),
    "half an answer": ("failed", "garbage", 4),
    "html page": ("failed", "garbage", 4),
    "error in the body": ("failed", "server", 5),
}


def ask(place, texts, folder, **settings):
    queries = [Query(f"q{n}", text) for n, text in enumerate(texts)]
    return ask_all(make_application(place, {**QUICK, **settings}, folder), queries, Store(folder / "cache"))


def test_every_question_ends_in_one_status_and_is_tried_as_often_as_the_policy_says(tmp_path):
    with rag_app() as server:
        found = ask(server.url, list(OUTCOMES), tmp_path)
    assert {text: (one.status, one.reason) for text, one in zip(OUTCOMES, found, strict=True)} == {
        text: told[:2] for text, told in OUTCOMES.items()
    }
    assert server.asked == {text: told[2] for text, told in OUTCOMES.items()}


def test_a_second_run_asks_only_what_another_attempt_may_change(tmp_path):
    with rag_app() as server:
        ask(server.url, list(OUTCOMES), tmp_path)
        before = dict(server.asked)
        again = ask(server.url, list(OUTCOMES), tmp_path)
    asked = {text for text, n in server.asked.items() if n > before[text]}
    assert asked == {
        text for text, (_, reason, _) in OUTCOMES.items() if reason in {"server", "timeout", "network", "garbage"}
    }
    assert [one.status for one in again] == [told[0] for told in OUTCOMES.values()]


def test_an_answer_comes_with_its_contexts_tokens_money_and_times(tmp_path):
    with rag_app() as server:
        (one,) = ask(server.url, ["how hot is sencha"], tmp_path)
    assert (one.contexts[0].id, one.contexts[0].text) == ("a", "Sencha wants water of 70 degrees.")
    assert (one.tokens, one.output_tokens, one.money, one.own_ms) == (48, 8, 0.002, 12.5)
    assert one.answer == "Sencha wants water of 70 degrees (how hot is sencha)."


def test_the_time_of_a_question_is_that_of_its_own_request_and_not_of_the_queue(tmp_path):
    """One request is out at a time, so that times that overlap nothing cannot add up to more than the whole run."""
    texts = [f"question {n}" for n in range(8)]
    with rag_app(delay=0.02) as server:
        begun = time.perf_counter()
        found = ask(server.url, texts, tmp_path, concurrency=1, timeout=30.0)
        whole = 1000 * (time.perf_counter() - begun)
    assert server.most_out == 1
    assert math.fsum(one.ms for one in found) <= whole
    assert min(one.ms for one in found) >= 20


def test_no_more_questions_are_out_at_once_than_was_allowed(tmp_path):
    with rag_app(delay=0.02) as server:
        ask(server.url, [f"question {n}" for n in range(20)], tmp_path, concurrency=3, timeout=30.0)
    assert server.most_out <= 3


@pytest.mark.parametrize("kind", ["events", "lines"])
def test_a_stream_gives_the_whole_answer_and_the_moment_of_its_first_text(tmp_path, kind):
    with rag_app(stream=kind) as server:
        (one,) = ask(server.url, ["how hot is sencha"], tmp_path, stream=True)
    assert server.bodies[0]["stream"] is True
    assert one.answer.split() == answer_to("how hot is sencha")["answer"].split()
    assert [context.id for context in one.contexts] == ["a", "b"]
    assert 0 < one.first_ms <= one.ms


def test_the_first_text_is_timed_when_its_part_arrived():
    lines = [
        b'data: {"contexts": [{"id": "a", "text": "t"}]}\n\n',
        b'data: {"answer": "Hot"}\n\n',
        b'data: {"answer": "!"}\n\n',
    ]
    ends = [sum(map(len, lines[: n + 1])) for n in range(3)]
    exchange = Exchange(
        0.0,
        0.9,
        200,
        {"content-type": "text/event-stream"},
        b"".join(lines),
        arrivals=tuple(zip(ends, (0.1, 0.4, 0.7), strict=True)),
    )
    kind, reply = WebApplication("http://127.0.0.1/ask", AppSettings()).understand(exchange)
    assert (kind, reply.text, reply.data["first"], reply.data["contexts"]) == (None, "Hot!", 0.4, [["a", "t"]])


def test_a_chat_that_ends_without_its_end_was_cut_off():
    body = b'data: {"choices": [{"delta": {"content": "Hot"}}]}\n\n'
    exchange = Exchange(0.0, 0.5, 200, {"content-type": "text/event-stream"}, body, arrivals=((len(body), 0.2),))
    assert WebApplication("http://127.0.0.1/chat/completions", AppSettings()).understand(exchange)[0] == "broken"


def test_a_chat_completion_that_was_cut_at_its_limit_is_no_answer(tmp_path):
    def cut(question):
        choice = {"message": {"content": f"Sencha wants ({question})"}, "finish_reason": "length"}
        return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}

    with rag_app(shape=cut) as server:
        url = server.url.replace("/ask", "/v1/chat/completions")
        (one,) = ask(url, ["how hot"], tmp_path, model="m")
    assert (one.status, one.reason, one.tokens) == ("failed", "truncated", 5)
    assert server.bodies[0] == {"model": "m", "messages": [{"role": "user", "content": "how hot"}]}


def test_body_and_paths_are_those_of_the_settings(tmp_path):
    def nested(question):
        rows = [{"ref": {"key": "a"}, "passage": "Hot."}]
        return {"code": 0, "message": "ok", "payload": {"text": "Hot.", "found": rows, "keys": ["a"], "spent": 0.5}}

    paths = {"answer": "payload.text", "contexts": "payload.found", "ids": "payload.keys", "money": "payload.spent"}
    body = {"query": "{question}", "user": "{query_id}", "top_k": 5, "note": "asked: {question}"}
    with rag_app(shape=nested) as server:
        (one,) = ask(server.url, ["a {query_id} b"], tmp_path, body=body, **paths)
    assert server.bodies == [{"query": "a {query_id} b", "user": "q0", "top_k": 5, "note": "asked: a {query_id} b"}]
    assert (one.answer, [(c.id, c.text) for c in one.contexts], one.money) == ("Hot.", [("a", "Hot.")], 0.5)


def test_a_question_can_be_in_the_address(tmp_path):
    with rag_app() as server:
        (one,) = ask(f"{server.url}?q={{question}}&k=3", ["how hot & why?"], tmp_path, verb="GET")
    assert (one.status, dict(server.asked)) == ("scored", {"how hot & why?": 1})


def test_equal_questions_are_asked_once_unless_their_ids_are_sent(tmp_path):
    with rag_app() as server:
        ask(server.url, ["same", "same"], tmp_path)
        assert server.asked["same"] == 1
        ask(server.url, ["same", "same"], tmp_path, body={"question": "{question}", "id": "{query_id}"})
    assert server.asked["same"] == 3


def test_a_key_is_sent_and_kept_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_APP_KEY", "sk-very-secret-1")
    monkeypatch.setenv("TEST_TENANT", "tenant-secret-2")
    monkeypatch.setenv("ASSAY_API_KEY", "sk-of-a-language-model")

    def leaky(question):
        return {"answer": f"Your key is {server.headers[-1]['authorization']}.", "contexts": [str(server.headers[-1])]}

    with rag_app(shape=leaky) as server:
        (one,) = ask(
            server.url, ["what is my key"], tmp_path, key_env="TEST_APP_KEY", header_env={"x-tenant": "TEST_TENANT"}
        )
    sent = server.headers[0]
    assert (sent["authorization"], sent["x-tenant"]) == ("Bearer sk-very-secret-1", "tenant-secret-2")
    assert "sk-of-a-language-model" not in str(sent)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert one.answer == "Your key is Bearer [key]."
    assert b"very-secret" not in kept
    assert b"tenant-secret" not in kept


def test_a_fresh_round_asks_again_and_a_stopped_one_goes_on(tmp_path):
    store, queries = Store(tmp_path), [Query("q1", "one"), Query("q2", "two")]
    with rag_app() as server:
        app = make_application(server.url, QUICK, tmp_path)
        ask_all(app, queries, store)
        ask_all(app, queries[:1], store, fresh=True)
        ask_all(app, queries, store)
        assert server.asked == {"one": 2, "two": 2}
        ask_all(app, queries, store)
    assert server.asked == {"one": 2, "two": 2}


def test_a_damaged_answer_is_asked_again(tmp_path):
    with rag_app() as server:
        ask(server.url, ["one"], tmp_path)
        (kept,) = (tmp_path / "cache" / "app").rglob("*.json")
        kept.write_bytes(kept.read_bytes().replace(b"70 degrees", b"80 degrees"))
        (one,) = ask(server.url, ["one"], tmp_path)
    assert "70 degrees" in one.answer
    assert server.asked["one"] == 2


# Functions ------------------------------------------------------------------------------------------------------------

OWN = """
import time
def plain(question): return "Hot."
def whole(question): return {"response": "Hot.", "source_nodes": [{"node": {"id_": "a", "text": "Tea is hot."}}]}
def pieces(question):
    yield "Ho"
    yield "t."
    yield {"documents": [{"id": "a", "text": "Tea is hot."}]}
async def later(question): return {"output": "Hot.", "contexts": ["Tea is hot."]}
async def stream(question):
    yield {"delta": "Ho"}
    yield {"delta": "t."}
def raises(question): raise RuntimeError("no index")
def hangs(question): time.sleep(0 if "quick" in question else 60); return "Hot."
class Chain:
    def invoke(self, question): return {"result": "Hot."}
chain = Chain()
"""


@pytest.mark.parametrize(
    ("name", "contexts"),
    [("plain", None), ("whole", ["a"]), ("pieces", ["a"]), ("later", [None]), ("stream", None), ("chain", None)],
)
def test_functions_of_all_kinds_are_applications(tmp_path, name, contexts):
    (tmp_path / "own_app.py").write_text(OWN)
    (one,) = ask(f"own_app:{name}", ["how hot"], tmp_path, timeout=20.0)
    assert one.answer == "Hot."
    assert (None if one.contexts is None else [context.id for context in one.contexts]) == contexts
    assert (one.first_ms is None) == (name not in {"pieces", "stream"})


def test_a_function_that_raises_or_hangs_fails_its_own_question_only(tmp_path):
    (tmp_path / "own_app_2.py").write_text(OWN)
    (one,) = ask("own_app_2:raises", ["how"], tmp_path)
    assert (one.status, one.reason, one.message) == ("failed", "error", "RuntimeError: no index")
    found = ask("own_app_2:hangs", ["hangs", "quick one", "quick two"], tmp_path, concurrency=1, timeout=0.5)
    assert [one.reason for one in found] == ["timeout", "no_contexts", "no_contexts"]


# Lists and experiments ------------------------------------------------------------------------------------------------


def contexts(*pairs):
    return Asked("x", tuple(assay.data.samples.Context(text, name) for name, text in pairs))


def test_contexts_are_found_among_documents_by_id_else_by_text():
    place = Placement({"d1": "Tea is hot. Milk is cold.", "d2": "Milk is cold.", "d3": "Trains leave."})
    asked = contexts(("d3", "leave"), ("chunk-7", "Tea is hot."), (None, "Milk is cold."), ("other", "unknown"))
    chunks, hits = lay_out([asked], place)
    assert [(c.doc_id, c.start) for c in chunks] == [("d3", 7), ("d1", 0), ("d2", 0), ("other", 0)]
    assert hits[0].chunks == (0, 1, 2, 3)
    assert list(hits[0].scores) == sorted(hits[0].scores, reverse=True)


def experiment(folder, server, table="", *, judged=True):
    write_questions(folder / "q.jsonl", ["how hot is sencha", "black tea", "500 error"])
    (folder / "j.qrels").write_text("q1 0 a 1\nq2 0 b 1\nq3 0 a 1\n")
    path = folder / "e.toml"
    judgments = 'judgments = "j.qrels"\n' if judged else ""
    path.write_text(
        f'[data]\nqueries = "q.jsonl"\n{judgments}[[app]]\nname = "live"\nmethod = "{server.url}"\nbackoff = 0.001\n{table}'
    )
    return path


def test_an_application_is_a_system_of_an_experiment(tmp_path):
    with rag_app() as server:
        found = assay.run_experiment(experiment(tmp_path, server, '[evaluate]\nmeasures = ["reciprocal_rank"]\n'))
    (row,) = found.findings.combinations
    assert [(one.status, one.reason, one.questions) for one in row.outcomes] == [
        ("scored", "", 2),
        ("failed", "server", 1),
    ]
    # q1: a is first; q2: b is second; q3 failed: the list is missing, which counts as nothing found.
    assert found.findings.systems[0]["reciprocal_rank"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert row.share_answered == pytest.approx(2 / 3)
    samples = [
        json.loads(line)
        for line in (found.save(tmp_path / "out").parent / "samples" / "live.jsonl").read_text().splitlines()
    ]
    assert [one["status"] for one in samples] == ["scored", "scored", "failed"]
    assert "HTTP 500" in samples[2]["reason"]


def test_failed_questions_have_no_part_in_the_latency(tmp_path):
    with rag_app() as server:
        found = assay.run_experiment(experiment(tmp_path, server, judged=False))
    (outcome,), (row,) = found.outcomes, found.findings.combinations
    known = [one.ms for one in outcome.asked if one.status != "failed"]
    assert row.latency_ms["mean"] == pytest.approx(sum(known) / 2)
    assert row.cost_per_query is None  # a failed question may have cost something: nobody knows


def test_an_application_stands_beside_pipelines(tmp_path):
    with rag_app() as server:
        path = experiment(tmp_path, server)
        (tmp_path / "d.jsonl").write_text(
            '{"doc_id": "a", "text": "sencha is hot"}\n{"doc_id": "b", "text": "black tea"}\n'
        )
        text = path.read_text().replace("[data]\n", '[data]\ndocuments = "d.jsonl"\n')
        path.write_text(text + '[retrieve]\nmethod = "bm25"\n')
        found = assay.run_experiment(path)
    assert [row.name for row in found.findings.combinations] == ["bm25", "live"]
    assert found.findings.baseline == "bm25"


def test_ids_that_nothing_here_knows_are_named(tmp_path):
    with rag_app() as server:
        path = experiment(tmp_path, server)
        (tmp_path / "j.qrels").write_text("q1 0 doc-a 1\nq2 0 doc-b 1\n")
        found = assay.run_experiment(path)
    assert any(
        "none of the 2 returned documents is judged" in text and "doc-a" in text for text in found.findings.warnings
    )


def test_an_application_on_which_everything_fails_is_an_error_with_its_reason(tmp_path):
    with rag_app() as server:
        write_questions(tmp_path / "q.jsonl", ["500 error", "500 again"])
        with pytest.raises(AssayError, match=r"every question failed \(server 2\): HTTP 500: no more memory"):
            assay.run_application(server.url, tmp_path / "q.jsonl", settings={"backoff": 0.001}, cache=tmp_path / "c")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"body": {"q": "no mark"}}, r"needs the text {question}"),
        ({"body": "{"}, "is not JSON"),
        ({"answr": "x"}, "unknown setting of an application 'answr'"),
        ({"timeout": "long"}, "expected a number"),
        ({"key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
        ({"verb": "GET"}, "needs {question} in its address"),
        ({"concurrency": 0}, "must be 1 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_asked(tmp_path, settings, expected):
    with pytest.raises(AssayError, match=expected):
        make_application("http://127.0.0.1:1/ask", settings, tmp_path)


def test_the_outcome_of_a_reply_is_read_again_as_it_was_kept():
    one = Asked("Hot.", None, "no_contexts", "", 12.0, 3.0, None, 5, 2, 0.1, 1, "2026-11-18")
    assert Asked.from_json(json.loads(json.dumps(one.to_json()))) == one
    with pytest.raises(ValueError, match="not the outcome"):
        Asked.from_json({**one.to_json(), "reason": "whatever"})


def test_replies_without_usage_count_no_tokens():
    app = WebApplication("http://127.0.0.1/ask", AppSettings())
    kind, reply = app.understand(Exchange(0.0, 0.1, 200, {"content-type": "application/json"}, b'{"answer": "Hot."}'))
    assert (kind, reply) == (None, Reply("ok", text="Hot.", data=reply.data, usage=Usage()))


# Resuming -------------------------------------------------------------------------------------------------------------

MOMENTS = range(1, 31) if os.environ.get("ASSAY_STRESS") else (9,)


def start(folder, url):
    command = [sys.executable, "-m", "assay", "run", "--app", url, "--queries", str(folder / "q.jsonl"), "-q"]
    command += ["--cache", str(folder / "cache"), "-o", str(folder / "out"), "--set", "concurrency=2"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_was_killed_asks_nothing_twice_that_was_answered(tmp_path, moment):
    texts = [f"question {n}" for n in range(20)]
    write_questions(tmp_path / "q.jsonl", texts)
    with rag_app(delay=0.02) as server:
        process = start(tmp_path, server.url)
        while len(server.answered) < moment and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        first = dict(server.asked)
        process = start(tmp_path, server.url)
        told = process.communicate()[1]
    assert process.returncode == 0, told
    twice = [text for text, n in server.asked.items() if n > 1]
    assert set(server.asked) == set(texts)
    assert len(twice) <= 2 * 2  # two are under way, and two wait for the place of one that is not written yet
    assert len(first) + sum(n for n in server.asked.values()) - sum(first.values()) - len(twice) == len(texts)
    rows = [
        json.loads(line) for path in (tmp_path / "out" / "samples").iterdir() for line in path.read_text().splitlines()
    ]
    assert [row["answer"] for row in rows] == [answer_to(text)["answer"] for text in texts]


def test_no_more_is_asked_than_twice_as_many_as_at_once_before_answers_are_kept():
    with rag_app() as server:
        app = WebApplication(server.url, AppSettings(concurrency=2))
        found = app.ask([Query(f"q{n}", f"question {n}") for n in range(20)])
        for done in range(1, 21):
            next(found)
            time.sleep(0.02)  # the caller is slow, as a disk may be
            assert sum(server.asked.values()) <= done + 2 * 2


def test_a_coroutine_runs_inside_a_running_loop(tmp_path):
    """Notebooks have one."""
    (tmp_path / "own_app_3.py").write_text(OWN)

    async def outer():
        return ask("own_app_3:later", ["how hot"], tmp_path, timeout=20.0)

    assert asyncio.run(outer())[0].answer == "Hot."


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_a_byte_that_is_no_letter_costs_a_stream_of_plain_text_none_of_its_words(size):
    body = "茶 is".encode() + b"\xff" + " hot 热".encode()
    stream = ReplyStream(Shape(), "text/plain")
    for at in range(0, len(body), size):
        stream.feed(body[at : at + size], 0.1)
    assert stream.finish(0.2).said.answer == "茶 is\N{REPLACEMENT CHARACTER} hot 热"


PASSAGE = "Sencha wants water of 70 degrees, " * 8


@pytest.mark.parametrize(
    ("listed", "texts", "ids"),
    [
        (["tea.md", "The Book of Tea, page 3"], ["", ""], ["tea.md", "The Book of Tea, page 3"]),
        (["https://example.org/" + "a" * 300], [""], ["https://example.org/" + "a" * 300]),
        ([PASSAGE, "Hot."], [PASSAGE, "Hot."], [None, None]),
        (["Tea is hot.\nBlack tea is hotter."], ["Tea is hot.\nBlack tea is hotter."], [None]),
        (["煎茶宜用七十度的水冲泡。"], ["煎茶宜用七十度的水冲泡。"], [None]),
    ],
)
def test_bare_texts_under_sources_are_names_unless_they_read_as_passages(listed, texts, ids):
    said = read_reply({"answer": "Hot.", "sources": listed}, Shape())
    assert [one.text for one in said.contexts] == texts
    assert [one.id for one in said.contexts] == ids
