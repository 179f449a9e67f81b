"""Loads on targets: what is timed, what is counted, how it ends."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import assay
from assay.analysis.bench import bench
from assay.analysis.latency import summarised
from assay.errors import UsageError
from assay.llm.keys import Key
from assay.serving.endpoints import Endpoint, Secret
from assay.serving.functions import Function
from assay.serving.loops import run
from assay.serving.records import CallFailed, Clock, Plan, Timing
from assay.serving.targets import target_of


class FakeTime:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.pass_by)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def worker(services, own, now):
    """A target that takes these seconds, one after the other, and writes down what it took."""
    left = iter(services)

    def target() -> None:
        took = next(left)
        now.pass_by(took)
        own.append(took)

    return target


@pytest.fixture
def now() -> FakeTime:
    return FakeTime()


# Loops ----------------------------------------------------------------------------------------------------------------


def test_percentiles_are_those_of_the_durations_that_the_target_recorded(now):
    services = np.random.default_rng(3).lognormal(-4, 0.7, 500).tolist()
    own: list[float] = []
    found = bench(worker(services, own, now), runs=500, warmup=0, clock=now.clock).loads[0]
    milliseconds = np.array(own) * 1000
    for name, share in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert getattr(found.latency_ms, name).estimate == pytest.approx(np.percentile(milliseconds, share), rel=1e-9)
    assert found.latency_ms.mean == pytest.approx(milliseconds.mean(), rel=1e-9)
    assert found.latency_ms.std == pytest.approx(milliseconds.std(ddof=0), rel=1e-9)
    assert found.throughput_qps == pytest.approx(500 / sum(own), rel=1e-9)


def lindley(services, gap):
    """Waiting times of one server with a queue: what is left of the last call's time when the next one comes."""
    waits = [0.0]
    for service in services[:-1]:
        waits.append(max(0.0, waits[-1] + service - gap))
    return waits


def test_an_open_loop_counts_the_queue_that_a_closed_loop_hides(now):
    services = np.random.default_rng(5).exponential(0.01, 300).tolist()
    services[100] = 1.0  # one slow call holds up those behind it
    expected = (np.array(lindley(services, 1 / 50)) + services) * 1000
    opened = bench(worker(services, [], now), runs=300, warmup=0, rate=50.0, clock=now.clock).loads[0]
    closed = bench(worker(services, [], now), runs=300, warmup=0, clock=now.clock).loads[0]
    for name, share in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert getattr(opened.latency_ms, name).estimate == pytest.approx(np.percentile(expected, share), rel=1e-6)
        service = np.percentile(np.array(services) * 1000, share)
        assert getattr(closed.latency_ms, name).estimate == pytest.approx(service, rel=1e-6)
        assert getattr(opened.service_ms, name).estimate == pytest.approx(service, rel=1e-6)
    assert opened.latency_ms.p95.estimate > 10 * closed.latency_ms.p95.estimate


def test_a_target_that_cannot_keep_up_is_named(now):
    found = bench(worker([0.02] * 100, [], now), warmup=0, rate=100.0, clock=now.clock)
    assert any("cannot keep up: 100/s offered, 50.0/s served" in text for text in found.warnings)
    calm = bench(worker([0.02] * 100, [], FakeTime()), warmup=0, rate=10.0, clock=now.clock)
    assert not any("keep up" in text for text in calm.warnings)


def test_calls_that_are_never_begun_are_counted(now):
    found = bench(worker([5.0] * 100, [], now), warmup=0, rate=100.0, clock=now.clock)
    load = found.loads[0]
    assert load.count + load.errors["not started"] == 100
    assert any("never begun" in text for text in found.warnings)


def test_arrivals_at_random_have_the_rate_that_was_asked_for():
    from assay.serving.schedule import arrivals

    found = arrivals(Plan(runs=20_000, rate=200.0, arrivals="poisson", seed=4))
    gaps = np.diff(found)
    assert gaps.mean() == pytest.approx(1 / 200, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 200, rel=0.05)  # of an exponential distribution it equals the mean
    assert found == arrivals(Plan(runs=20_000, rate=200.0, arrivals="poisson", seed=4))
    assert arrivals(Plan(runs=4, rate=2.0)) == [0.0, 0.5, 1.0, 1.5]


def test_a_load_ends_after_its_seconds(now):
    found = bench(worker([0.25] * 100, [], now), seconds=3.1, warmup=0, clock=now.clock).loads[0]
    assert found.count == 13  # the last one begins before the end
    assert bench(worker([0.25] * 100, [], now), seconds=3.0, runs=4, warmup=0, clock=now.clock).loads[0].count == 4


def test_warm_up_calls_are_not_counted(now):
    own: list[float] = []
    found = bench(worker([9.0] * 3 + [0.1] * 10, own, now), runs=10, warmup=3, clock=now.clock).loads[0]
    assert (len(own), found.count) == (13, 10)
    assert found.latency_ms.p99.estimate == pytest.approx(100)


def test_threads_share_the_calls_and_run_at_once():
    together = threading.Barrier(4, timeout=10)  # is passed only if four calls are under way
    found = bench(together.wait, runs=40, threads=4, warmup=4, passing="nothing").loads[0]
    assert (found.count, found.threads, found.errors) == (40, 4, {})


def test_a_coroutine_function_is_awaited_at_once():
    flying, most = 0, 0

    async def target() -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.001)
        flying -= 1

    found = bench(target, runs=64, threads=8, warmup=0).loads[0]
    assert (found.count, most) == (64, 8)


def test_an_open_loop_of_coroutines_starts_calls_when_they_are_due():
    waiting: list[asyncio.Future] = []

    async def target() -> None:  # no call ends before the last one has begun
        future = asyncio.get_running_loop().create_future()
        waiting.append(future)
        if len(waiting) == 20:
            for one in waiting:
                one.set_result(None)
        await future

    found = bench(target, runs=20, rate=400.0, warmup=0).loads[0]
    assert (found.count, found.kind, found.errors) == (20, "open", {})


def test_a_coroutine_that_takes_too_long_is_broken_off():
    async def target() -> None:
        await asyncio.sleep(60)

    found = bench(target, runs=3, timeout=0.05, warmup=0).loads[0]
    assert (found.count, found.errors) == (0, {"timeout": 3})


def test_a_bench_works_inside_a_running_event_loop():
    async def notebook() -> int:
        async def target() -> None:
            await asyncio.sleep(0)

        return bench(target, runs=5).loads[0].count

    assert asyncio.run(notebook()) == 5


def test_a_stream_is_read_to_its_end(now):
    def target():
        for _ in range(4):
            now.pass_by(0.01)
            yield "part"

    async def stream():
        for _ in range(3):
            yield "part"

    found = bench(target, runs=5, warmup=0, clock=now.clock).loads[0]
    assert found.latency_ms.p50.estimate == pytest.approx(40)
    assert bench(stream, runs=5).loads[0].count == 5


# Failures -------------------------------------------------------------------------------------------------------------


def test_failures_are_counted_by_kind_and_left_out_of_the_percentiles(now):
    number = 0

    def target() -> None:
        nonlocal number
        number += 1
        now.pass_by(9.0 if number % 5 == 0 else 0.01)
        if number % 5 == 0:
            raise ValueError("no luck") if number % 10 else KeyError("gone")

    found = bench(target, runs=100, warmup=0, clock=now.clock)
    load = found.loads[0]
    assert (load.count, load.errors) == (80, {"KeyError": 10, "ValueError": 10})
    assert load.latency_ms.p99.estimate == pytest.approx(10)
    assert any("20 calls failed" in text and "no luck" in text for text in found.warnings)


def test_a_target_that_always_fails_stops_the_measurement():
    def target() -> None:
        raise ValueError("no\nluck")

    with pytest.raises(UsageError, match=r"5 of 5 warm-up calls failed \(ValueError: no luck\)"):
        bench(target)
    found = bench(target, warmup=0, seconds=60)
    assert found.loads[0].errors == {"ValueError": 100}
    assert found.loads[0].latency_ms is None and found.loads[0].histogram is None
    assert any("100 calls in a row" in text for text in found.warnings)
    with pytest.raises(UsageError, match="8 of 8 warm-up calls failed"):
        bench(target, threads=4)


def test_a_target_that_exits_is_a_failed_call():
    assert bench(lambda: sys.exit(3), runs=2, warmup=0).loads[0].errors == {"SystemExit": 2}


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_keeps_what_was_measured(threads):
    import _thread

    number = 0

    def target() -> None:
        nonlocal number
        number += 1
        if number == 20:
            _thread.interrupt_main()
        time.sleep(0.005)

    found = bench(target, runs=100_000, threads=threads, warmup=0)
    assert found.interrupted and found.loads[0].interrupted
    assert 15 <= found.loads[0].count < 10_000
    assert found.loads[0].latency_ms is not None


def test_an_interrupt_stops_coroutines_too():
    import _thread

    number = 0

    async def target() -> None:
        nonlocal number
        number += 1
        if number == 10:
            _thread.interrupt_main()
        await asyncio.sleep(0.005)

    found = bench(target, runs=100_000, threads=2, warmup=0)
    assert found.interrupted and 5 <= found.loads[0].count < 10_000


# Doubts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (71, ["P95 (an interval needs 72)", "P99 (an interval needs 368)"]),
        (100, ["P99 (an interval needs 368)"]),
        (368, []),
    ],
)
def test_too_few_calls_for_a_percentile_are_named_with_the_number_needed(runs, expected, now):
    found = bench(worker([0.01] * runs, [], now), runs=runs, warmup=0, clock=now.clock)
    told = [text for text in found.warnings if "too few" in text]
    assert len(told) == bool(expected)
    assert all(part in told[0] for part in expected)


def test_calls_that_resemble_their_neighbours_are_named(now):
    services = (np.repeat([0.01, 0.05], 100) + np.random.default_rng(0).uniform(0, 0.01, 200)).tolist()
    assert any(
        "not independent" in t for t in bench(worker(services, [], now), runs=200, warmup=0, clock=now.clock).warnings
    )
    shuffled = np.random.default_rng(1).permutation(services).tolist()
    assert not any(
        "not independent" in t for t in bench(worker(shuffled, [], now), runs=200, warmup=0, clock=now.clock).warnings
    )


def test_a_load_generator_that_lags_is_named():
    due = tuple(i / 10 for i in range(100))
    timing = Timing(Plan(rate=10.0), due, tuple(t + 0.005 for t in due), tuple(t + 0.02 for t in due), 10.0)
    from assay.analysis.load_doubts import load_doubts

    told = load_doubts(summarised(timing), timing)
    assert any("5.00 ms late" in text for text in told)


def test_the_histogram_counts_every_call(now):
    services = np.random.default_rng(2).lognormal(-4, 1, 300).tolist()
    found = bench(worker(services, [], now), runs=300, warmup=0, clock=now.clock).loads[0].histogram
    assert sum(found.counts) == 300
    assert len(found.edges) == len(found.counts) + 1
    third = sum(found.edges[2] <= 1000 * s < found.edges[3] for s in services)
    assert found.counts[2] == pytest.approx(third, abs=1)  # a value on an edge may fall either way by rounding


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
        (max, "--pass"), (lambda a, b, c: (a, b, c), "takes 3 arguments"), (lambda *, model: model, "needs model="), (int, "is a class"), (5, "is a int"),
        ("nothing", "expected MODULE:FUNCTION"), ("no_such_module:f", "there is no such module"), ("json:nope", "has no 'nope'"),
        ("cmd:", "the command is empty"), ("cmd:no-such-program-here -x", "command not found: 'no-such-program-here'"),
        ("cmd:sh -c 'open", "cannot be read"), (["no-such-program-here"], "command not found"), ("http://user:x@127.0.0.1/", "must not carry a user"),
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
    with pytest.raises(UsageError, match="whole numbers from 1"):
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
    ("words", "kind", "said"),
    [
        (["sh", "-c", "echo one >&2; echo two >&2; exit 3"], "exit 3", "two"),
        (["sh", "-c", "kill -9 $$"], "signal SIGKILL", ""),
        (["sh", "-c", "sleep 30 & wait"], "timeout", "no end within 0.2 s"),
    ],
)  # fmt: skip
def test_a_command_that_fails_says_how(words, kind, said):
    with pytest.raises(CallFailed) as caught:
        called(target_of(words, timeout=0.2))
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
        called(target_of(server.url, timeout=0.3))
    assert caught.value.kind == kind


def test_a_refused_connection_is_a_kind_of_its_own(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(UsageError, match=r"5 of 5 warm-up calls failed \(no connection"):
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
    timing = run(Plan(runs=50, warmup=0), function, function.prepare([]))
    measured = np.array(timing.ended) - np.array(timing.begun)
    assert len(measured) == 50
    assert (measured >= np.array(own)).all()
