"""What can be called, with what, and how it fails: functions, commands, endpoints."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import assay
from assay.analysis.bench import bench
from assay.errors import UsageError
from assay.llm.keys import Key
from assay.messages import say, tell
from assay.serving.endpoints import Endpoint, Secret
from assay.serving.functions import Function
from assay.serving.loops import run
from assay.serving.records import CallFailed, LoadPlan, Log, kind_word
from assay.serving.targets import target_of

# What a function is called with ---------------------------------------------------------------------------------------


def test_a_reranker_gets_a_query_and_as_many_documents_as_asked_for():
    seen = []

    def rerank(query, documents, top=5):
        seen.append((query, len(documents[: 40 * top])))

    found = bench(rerank, runs=3, warmup=0)
    assert [load.candidates for load in found.loads] == [20, 50, 100, 200]
    assert [size for _, size in seen] == [20] * 3 + [50] * 3 + [100] * 3 + [200] * 3
    assert len({query for query, _ in seen}) == 3
    assert found.texts == "bundled"


def test_own_texts_are_used():
    seen = []

    class Model:
        def rerank(self, query, documents):
            seen.append((query, tuple(documents)))

    found = assay.bench(Model(), candidates=2, runs=2, warmup=0, queries=["a", "b"], documents=["x", "y", "z"])
    assert seen == [("a", ("x", "y")), ("b", ("z", "x"))]
    assert found.texts == ""


def test_a_function_may_not_change_what_the_next_call_gets():
    sizes = []

    def target(query, documents):
        sizes.append(len(documents))
        documents.clear()

    bench(target, candidates=3, runs=4, warmup=0, queries=["a"])
    assert sizes == [3] * 4


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (max, "--pass"), (lambda a, b, c: (a, b, c), "takes 3 arguments"), (lambda *, model: model, "needs model="), (int, "is a class"), (5, "int cannot be called"),
        ("nothing", "expected MODULE:FUNCTION"), ("no_such_module:f", "there is no such module"), ("json:nope", "has no 'nope'"),
        ("cmd:", "the command is empty"), ("cmd:no-such-program-here -x", "command not found: 'no-such-program-here'"),
        ("cmd:sh -c 'open", "cannot be read"), (["no-such-program-here"], "command not found"), ("http://user:x@127.0.0.1/", "must not contain a user"),
        ("a b:c", "expected MODULE:FUNCTION"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_target_is_refused_in_one_line(thing, expected):
    with pytest.raises(UsageError) as caught:
        bench(thing)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_module_that_breaks_on_import_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_target.py").write_text("import no_such_thing\n")
    with pytest.raises(
        UsageError, match="cannot import 'broken_target': ModuleNotFoundError: No module named 'no_such_thing'"
    ):
        target_of("broken_target:f")


def test_a_function_is_imported_from_the_folder_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_target_here.py").write_text("class A:\n    def f(self, query): return query\na = A()\n")
    found = target_of("my_target_here:a.f")
    assert (found.takes, found.label) == ("query", "my_target_here:a.f")


@pytest.mark.parametrize(
    "changes",
    [
        {"runs": 0},
        {"threads": 0},
        {"rate": -1.0},
        {"seconds": 0.0},
        {"timeout": float("inf")},
        {"warmup": -1},
        {"runs": 2.5},
    ],
)
def test_loads_that_make_no_sense_are_refused(changes):
    with pytest.raises(UsageError):
        bench(lambda: None, **changes)


def test_candidates_are_refused_where_no_documents_are_taken():
    with pytest.raises(UsageError, match="takes no documents"):
        bench(lambda: None, candidates=20)
    with pytest.raises(UsageError, match="whole numbers, 1 or more"):
        bench(lambda q, d: (q, d), candidates=[20, 0])


# Commands -------------------------------------------------------------------------------------------------------------


def called(target, texts=(("", ()),)):
    prepared = target.prepare(texts)
    with target.open() as call:
        return [call(one) for one in prepared]


def test_a_command_gets_the_query_without_a_shell(tmp_path):
    place = tmp_path / "seen.txt"
    code = f"import sys; open({str(place)!r}, 'a').write(sys.argv[1] + '|')"
    called(target_of([sys.executable, "-c", code, "q={query}"]), [("$(echo x); `id`", ()), ("b c", ())])
    assert place.read_text() == "q=$(echo x); `id`|q=b c|"


def test_a_command_gets_candidates_on_standard_input(tmp_path):
    place = tmp_path / "seen.json"
    code = f"import sys; open({str(place)!r}, 'w').write(sys.stdin.read())"
    called(target_of([sys.executable, "-c", code], with_candidates=True), [("茶", ("a", "b"))])
    assert json.loads(place.read_text()) == {"query": "茶", "documents": ["a", "b"]}


@pytest.mark.parametrize(
    ("words", "timeout", "kind", "said"),
    [
        (["sh", "-c", "echo one >&2; echo two >&2; exit 3"], 60, "exit 3", "two"),
        (["sh", "-c", "kill -9 $$"], 60, "signal SIGKILL", ""),
        (["sh", "-c", "sleep 30 & wait"], 0.2, "timeout", "no end within 0.2 s"),
    ],
)  # fmt: skip
def test_a_command_that_fails_says_how(words, timeout, kind, said):
    with pytest.raises(CallFailed) as caught:
        called(target_of(words, timeout=timeout))
    assert caught.value.kind == kind
    assert said in str(caught.value)


def test_a_command_that_reads_nothing_is_no_failure():
    many = [("q", ("x" * 1000,) * 500)]
    assert called(target_of(["true"], with_candidates=True), many) == [None]


# Endpoints ------------------------------------------------------------------------------------------------------------


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        server.seen.append((self.command, self.path, dict(self.headers), body))
        how = server.how
        if how == "close":
            self.close_connection = True
            return
        if how == "stall":
            time.sleep(1)
        self.send_response(how if isinstance(how, int) else 200)
        said = f"you sent {self.headers.get('authorization')}".encode()
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if how == "drip":
            for byte in said:
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
            return
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - names that the library asks for

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    found.daemon_threads = True
    found.seen, found.how = [], 200
    found.url = f"http://127.0.0.1:{found.server_address[1]}"
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def test_an_endpoint_gets_the_rerank_shape_with_candidates(server):
    found = bench(f"{server.url}/rerank", candidates=[2, 3], runs=4, warmup=0, queries=["a", "b"])
    assert [load.count for load in found.loads] == [4, 4]
    bodies = [json.loads(body) for _, _, _, body in server.seen]
    assert [len(body["documents"]) for body in bodies] == [2] * 4 + [3] * 4
    assert [body["query"] for body in bodies[:4]] == ["a", "b", "a", "b"]
    assert server.seen[0][0] == "POST"


def test_a_body_of_ones_own_is_filled_in(server):
    body = {"input": {"q": "find {query}", "docs": "{documents}", "n": "{count}"}, "model": "m", "top": 3}
    called(target_of(server.url, bodies=[body], method="put"), [("tea", ("x", "y"))])
    assert server.seen[0][0] == "PUT"
    assert json.loads(server.seen[0][3]) == {
        "input": {"q": "find tea", "docs": ["x", "y"], "n": 2},
        "model": "m",
        "top": 3,
    }


def test_a_query_in_an_address_is_quoted(server):
    called(target_of(f"{server.url}/s?q={{query}}"), [("a b&c=茶", ())])
    assert server.seen[0][:2] == ("GET", "/s?q=a%20b%26c%3D%E8%8C%B6")


@pytest.mark.parametrize(
    ("how", "kind"),
    [(500, "status 500"), (302, "status 302"), ("stall", "timeout"), ("drip", "timeout"), ("close", "broken")],
)
def test_an_endpoint_that_fails_says_how(server, how, kind):
    server.how = how
    with pytest.raises(CallFailed) as caught:
        called(target_of(server.url, timeout=0.3 if kind == "timeout" else 60))
    assert caught.value.kind == kind


def test_a_refused_connection_is_a_kind_of_its_own(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(UsageError, match=r"all 5 warm-up calls failed \(no connection"):
        bench(server.url)


def test_keys_are_sent_and_never_shown(server):
    text = "k" * 4 + "ey" * 5
    target = Endpoint(f"{server.url}/x?token={text}", "GET", headers={"Authorization": Secret(Key(text), "Bearer")})
    called(target)
    assert server.seen[0][2]["authorization"] == f"Bearer {text}"
    server.how = 400
    with pytest.raises(CallFailed) as caught:
        called(target)
    assert text not in str(caught.value) and "[key]" in str(caught.value)
    assert text not in target.label
    assert text not in repr(target.headers)


def test_a_key_does_not_travel_unencrypted_to_a_public_host():
    with pytest.raises(UsageError, match="unencrypted"):
        Endpoint("http://example.com/rerank", "GET", headers={"X": Secret(Key("k" * 9))})


def test_each_worker_keeps_its_connection(server):
    found = bench(server.url, runs=30, threads=3, warmup=3)
    assert found.loads[0].count == 30
    assert len(server.seen) == 33


def test_what_is_measured_is_never_less_than_what_the_target_itself_recorded():
    own = []

    def target() -> None:
        start = time.perf_counter()
        time.sleep(0.002)
        own.append(time.perf_counter() - start)

    function = Function.of(target)
    timing = run(LoadPlan(runs=50, warmup=0), function, function.prepare([]))
    measured = np.array(timing.ended) - np.array(timing.begun)
    assert len(measured) == 50
    assert (measured >= np.array(own)).all()


@pytest.mark.parametrize(
    ("kind", "chinese"),
    [
        ("timeout", "超时"),
        ("no connection", "无法连接"),
        ("status 503", "状态码 503"),
        ("exit 3", "退出码 3"),
        ("signal SIGKILL", "信号 SIGKILL"),
        ("ValueError", "ValueError"),
    ],
)
def test_a_kind_of_failure_keeps_its_english_and_is_told_in_chinese(kind, chinese):
    assert kind_word(kind) == kind
    assert tell(kind_word(kind), "zh") == chinese


def test_what_a_failed_call_said_can_be_told_in_chinese():
    log = Log()
    log.fail(CallFailed("timeout", say("load.no_end", seconds=2)), 0.5, 1.0)
    log.fail(CallFailed("exit 1", "no\nluck"), 0.5, 1.0)
    assert {kind: tell(text, "zh") for kind, text in log.examples.items()} == {
        "timeout": "未在 2 秒内结束",
        "exit 1": "no luck",
    }
