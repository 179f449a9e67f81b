"""`assay bench`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
import sys

import pytest

from assay.messages import say, tell
from assay.testing import Answer, FakeLLM

TARGETS = """
import time

def nothing(): pass
def search(query): return [query]
def rerank(query, documents): return sorted(documents)
def bad(): raise ValueError("no luck")
def collected():
    import gc
    assert gc.isenabled()
calls = []
def late():
    calls.append(1)
    if len(calls) > 5: raise OSError("gone")
def flaky():
    calls.append(1)
    if len(calls) % 10 == 0: raise ValueError("no")
def words():
    yield "a"
    yield "b"
"""


@pytest.fixture(autouse=True)
def targets(tmp_path, monkeypatch):
    """Functions to be measured."""
    (tmp_path / "bench_targets.py").write_text(TARGETS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "bench_targets", raising=False)


def test_a_reranker_gets_a_row_for_each_candidate_size_with_references_beside(call):
    code, out, _ = call("bench", "bench_targets:rerank", "--runs", "10", "--reference")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if row[-1:] and row[-1].count("/") == 2 and row[0].isdigit()] == [
        "20",
        "50",
        "100",
        "200",
    ]
    for text in ("80/120/150", "200/300/400", "400/600/800", "800/1200/1500"):
        assert text in out
    for name, one, four, gpu in (("BGE-base", 50, 180, 10), ("BGE-v2-m3", 40, 150, 8), ("BGE-large", 20, 70, 6)):
        assert [name, str(one), str(four), f"{gpu}x"] in rows
    assert "bundled collection" in out
    assert "P99 (an interval needs 368)" in out


def test_the_result_file_has_the_agreed_shape(call, tmp_path):
    words = ("bench", "bench_targets:search", "--runs", "400", "--threads", "1,2", "-o", "b.json")
    assert call(*words)[0] == 0
    data = json.loads((tmp_path / "b.json").read_text())
    assert (data["schema"], data["command"]) == (2, "assay bench bench_targets:search")
    found = data["bench"]
    assert found["target"] == "bench_targets:search"
    assert [(load["kind"], load["threads"], load["candidates"], load["count"]) for load in found["loads"]] == [
        ("closed", 1, None, 400), ("closed", 2, None, 400),
    ]  # fmt: skip
    load = found["loads"][0]
    assert set(load) >= {"seconds", "errors", "throughput_qps", "latency_ms", "histogram"}
    for name in ("p50", "p95", "p99"):
        ends = load["latency_ms"][name]
        assert ends["low"] <= ends["estimate"] <= ends["high"]
    assert load["latency_ms"]["mean"] > 0
    assert sum(load["histogram"]["counts"]) == 400
    assert load["throughput_qps"] == pytest.approx(400 / load["seconds"])


@pytest.mark.parametrize("kind", ["table", "markdown", "latex", "csv"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_format_and_language(call, kind, lang):
    code, out, _ = call(
        "bench", "bench_targets:nothing", "--rate", "5000", "--runs", "20", "--format", kind, "--lang", lang
    )
    assert code == 0
    if kind == "csv":
        head, row = out.splitlines()
        assert dict(zip(head.split(","), row.split(","), strict=True))["rate"] == "5000.0"
    else:
        assert ("开环" if lang == "zh" else "open") in out
        assert ("自发出起" if lang == "zh" else "from sending on") in out


def test_a_target_is_measured_with_the_garbage_collector_on(call):
    assert call("bench", "bench_targets:collected", "--runs", "3")[0] == 0


def test_threads_may_be_a_range(call):
    code, out, _ = call("bench", "bench_targets:nothing", "--threads", "1-3,5", "--runs", "6", "--format", "csv")
    assert code == 0
    assert [line.split(",")[2] for line in out.splitlines()] == ["threads", "1", "2", "3", "5"]


def test_a_command_comes_after_two_dashes(call):
    code, out, _ = call("bench", "--runs", "3", "--", sys.executable, "-c", "pass", "--runs")
    assert code == 0
    assert "-c pass --runs" in out
    assert call("bench", "--runs", "3", "cmd:true")[0] == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "give one target"), (("bench_targets:nothing", "--", "ls"), "give one target"), (("bench_targets:bad",), "all 5 warm-up calls failed (ValueError: no luck)"),
        (("bench_targets:late", "--runs", "7"), "no call succeeded: OSError 7 (gone)"), (("bench_targets:nope",), "has no 'nope'"),
        (("--", "no-such-program-here"), "command not found"), (("--", "false"), "exit 1"), (("bench_targets:nothing", "--threads", "two"), "expected numbers"), (("bench_targets:nothing", "--threads", "3-1"), "expected numbers"),
        (("bench_targets:nothing", "--threads", "0"), "threads must be a whole number of 1 or more"), (("bench_targets:nothing", "--rate", "0"), "rate must be above 0"),
        (("bench_targets:nothing", "--candidates", "20"), "takes no documents"), (("bench_targets:nothing", "--body", "no.json"), "no such file"),
        (("bench_targets:nothing", "--header", "A=b"), "can only be sent to an address"), (("http://127.0.0.1:9/", "--key-env", "NO_SUCH_VARIABLE_HERE"), "NO_SUCH_VARIABLE_HERE is not set"),
        (("http://127.0.0.1:9/", "--header-env", "X"), "expected NAME=VARIABLE"), (("http://127.0.0.1:9/",), "no connection"), (("http://[::1",), "cannot be read"),
        (("bench_targets:nothing", "-o", "x.docx"), "cannot tell the format"), (("bench_targets:late", "-o", "no/where.json"), "there is no such folder"),
        (("bench_targets:late", "--alpha", "2"), "confidence_level must lie between 0 and 1"), (("bench_targets:late", "--seconds", "nan"), "'nan' is not a number"), (("bench_targets:search", "--queries", "none.jsonl"), "no such file"),
        (("--timeout", "0.2", "--warmup", "0", "--runs", "2", "--", "sleep", "20"), "no call succeeded: timeout 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_ends_in_one_line(call, words, expected):
    code, out, err = call("bench", *words)
    assert (code, out) == (2, "")
    assert expected in err and err.count("\n") == 1


def test_a_key_from_the_environment_is_sent_and_never_printed(call, tmp_path, monkeypatch):
    text = "s" * 5 + "ecret" * 3
    monkeypatch.setenv("BENCH_KEY_HERE", text)
    monkeypatch.setenv("BENCH_OTHER_HERE", f"Token {text}")
    (tmp_path / "bodies.jsonl").write_text('{"q": 1}\n{"q": 2}\n')
    with FakeLLM(Answer(body={"results": []})) as server:
        words = ("--runs", "4", "--warmup", "0", "--body", "bodies.jsonl", "--key-env", "BENCH_KEY_HERE",
                 "--header-env", "X-Other=BENCH_OTHER_HERE", "--header", "X-Plain=yes")  # fmt: skip
        code, out, err = call("bench", f"{server.url}/rerank?key={text}", *words, "--format", "json")
    assert code == 0
    assert text not in out + err
    assert [request.body for request in server.requests] == [{"q": 1}, {"q": 2}] * 2
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {text}"
    assert (headers["x-other"], headers["x-plain"]) == (f"Token {text}", "yes")
    with FakeLLM(Answer.error(401, f"bad key {text}")) as server:
        code, out, err = call("bench", server.url, "--key-env", "BENCH_KEY_HERE")
    assert code == 2 and text not in out + err and "status 401" in err


def test_what_an_address_says_cannot_steer_the_terminal(call):
    with FakeLLM([Answer(body={}), *[Answer.error(500, "\x1b]0;pwn\x07 \x9b2J \u202e down")] * 9]) as server:
        _, out, err = call("bench", server.url, "--runs", "4", "--warmup", "0")
    with FakeLLM(Answer.error(500, "\x1b]0;pwn\x07 \x9b2J \u202e down")) as server:
        _, more, fault = call("bench", server.url, "--runs", "4", "--warmup", "0")
    text = out + err + more + fault
    assert "pwn" in text
    assert not set(text) & set("\x1b\x07\x9b\u202e")


def test_own_queries_and_documents_are_read(call, tmp_path):
    (tmp_path / "q.jsonl").write_text('{"query_id": "1", "text": "tea"}\n')
    (tmp_path / "d.jsonl").write_text('{"doc_id": "a", "text": "x"}\n{"doc_id": "b", "text": "y"}\n')
    words = ("--queries", "q.jsonl", "--documents", "d.jsonl", "--candidates", "2", "--runs", "2", "--warmup", "0")
    with FakeLLM(Answer(body={})) as server:
        assert call("bench", server.url, *words)[0] == 0
    assert server.requests[0].body == {"query": "tea", "documents": ["x", "y"]}


def test_a_bench_file_is_refused_where_systems_are_expected(call):
    assert call("bench", "bench_targets:nothing", "--runs", "5", "-o", "b.json")[0] == 0
    code, _, err = call("compare", "b.json", "b.json")
    assert code == 2
    assert "holds no system" in err and err.count("\n") == 1


def test_messages_inside_lists_are_translated():
    told = tell(say("doubt.of_one", system=[say("load.threads", n=2)], text=say("bench.hopeless")), "zh")
    assert told == "2 线程：提前停止：所有线程合计连续 100 次调用失败。"


PAGE = """\
Latency of steady, ms
candidates  load             threads  calls  P50 [95% interval]  P95 [95% interval]  P99 [95% interval]  mean  std  status  reference P50/P95/P99
----------  ---------------  -------  -----  ------------------  ------------------  ------------------  ----  ---  ------  ---------------------
20          open loop, 2/s         1    400      312 [312, 312]      312 [312, 312]      312 [312, 312]   312    0  OK                 80/120/150
            from sending on                      312 [312, 312]      312 [312, 312]      312 [312, 312]   312    0

Throughput
candidates  threads  offered/s  calls/s  errors  drain s  keeps up
----------  -------  ---------  -------  ------  -------  --------
20                1          2      2.0       0     0.00  yes

Published reference: rerankers, queries per second
"""


def test_the_page_shows_what_was_measured():
    from assay.analysis.bench import bench
    from assay.report.document import write
    from assay.report.views.bench import table
    from assay.serving.records import Clock

    moment = 0.0

    def sleep(seconds: float) -> None:
        nonlocal moment
        moment += seconds

    def steady(query, documents):
        sleep(0.3125)  # a sum of halves, so that no rounding shows

    found = bench(steady, candidates=20, runs=400, rate=2.0, warmup=0, clock=Clock(lambda: moment, sleep))
    text = write(table(found, reference=True), "table")
    assert text.replace("test_the_page_shows_what_was_measured.<locals>.", "").startswith(PAGE)
    assert found.warnings == ()


def test_a_reranker_of_the_pipeline_works_out_of_the_box(call, monkeypatch):
    pytest.importorskip("wordllama")
    embedded = []
    from assay.pipeline import rerankers

    whole = rerankers.embed_all
    monkeypatch.setattr(
        rerankers, "embed_all", lambda model, texts: (embedded.append(len(texts)), whole(model, texts))[1]
    )
    words = ("--candidates", "5", "--runs", "4", "--warmup", "1", "--format", "json")
    code, out, _ = call("bench", "rerank:embedding,embedder=wordllama", *words)
    assert code == 0
    found = json.loads(out)["bench"]
    assert (found["target"], found["loads"][0]["count"]) == ("rerank:embedding,embedder=wordllama", 4)
    assert embedded == [6] * 5  # nothing is kept from one call to the next


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("rerank:nope", "unknown method of rerank"), ("rerank:none", "nothing to measure"), ("rerank:embedding,size=3", "unknown parameter"),
        ("rerank:embedding,embedder", "expected KEY=VALUE"), ("rerank:cross-encoder", "needs folder"), ("rerank:cross-encoder,folder=nowhere", "nowhere"),
        ("rerank:cross-encoder,folder=x,batch=two", "expected a whole number"),
    ],
)  # fmt: skip
def test_a_wrong_stage_ends_in_one_line(call, target, expected):
    code, out, err = call("bench", target)
    assert (code, out) == (2, "")
    assert expected in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nothing", 0),
        ("flaky", 1),
        ("flaky --max-errors 0.2", 0),
        ("flaky --max-errors 0.05", 1),
        ("nothing --fail-over p50=60000", 0),
        ("nothing --fail-over p50=0.00000001", 1),
        ("nothing --fail-over p99=60000", 0),
        ("nothing --fail-over p99=60000 --strict", 1),
        ("words --stream --fail-over first_token_p50=60000 --fail-over per_token_p50=60000", 0),
    ],
)
def test_the_exit_code_says_whether_calls_failed_or_a_limit_is_passed(call, words, expected):
    name, *more = words.split()
    code, out, _ = call("bench", f"bench_targets:{name}", "--runs", "20", "--warmup", "0", *more)
    assert code == expected
    assert ("Limits" in out) == ("--" in words or expected == 1)


@pytest.mark.parametrize(
    "words", ["--ramp 5:80x5 --rate 5", "--ramp 5-80", "--ramp 80:5x3", "--fail-over p42=1", "--fail-over p95"]
)
def test_limits_and_ramps_that_make_no_sense_end_in_one_line(call, words):
    code, _, err = call("bench", "bench_targets:nothing", *words.split())
    assert code == 2 and err.count("\n") <= 2


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_ramp_says_how_much_the_target_bears(call, lang):
    code, out, _ = call("bench", "bench_targets:nothing", "--ramp", "200:800x3", "--runs", "40", "--lang", lang)
    assert code == 0
    assert ("keeps up" if lang == "en" else "跟得上") in out
