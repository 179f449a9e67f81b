"""Experiments: the grid, the cache, failures, results, interruptions, and a reranker by itself."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import assay
from assay.errors import AssayError, InputError, UsageError
from assay.pipeline.experiment import load_experiment
from assay.report.numbers import three_digits
from assay.testing import Answer, FakeLLM
from commands import run_assay
from experiments import DATA, DOCUMENTS, GRADES, PLUGIN, QUERIES, names, short_experiment, write

if TYPE_CHECKING:
    from pathlib import Path

GRID = """
[chunk]
method = ["none", "sentence", "fixed"]
size = 30

[retrieve]
method = ["bm25", "hybrid"]
embedder = "own_stages:vectors"

[[rerank]]
method = "none"

[[rerank]]
method = "own_stages:length"

[generate]
method = "extractive"

[evaluate]
measures = ["ndcg@5", "recall@1"]
"""


# The grid ---------------------------------------------------------------------------------------------------------


def test_every_list_is_an_axis_and_parameters_belong_to_their_methods(place):
    path = write(
        place,
        '#data\n[chunk]\nmethod = ["none", "fixed", "sentence"]\nsize = [20, 40]\n[retrieve]\nmethod = ["bm25", "hybrid"]\nembedder = "own_stages:vectors"\n',
    )
    cuts = ["whole", "fixed size=20", "fixed size=40", "sentence size=20", "sentence size=40"]
    assert names(path) == [f"{chunk} + {way}" for chunk in cuts for way in ("bm25", "hybrid")]
    assert names(path, only=["whole*", "*size=40 + bm25"]) == [
        "whole + bm25",
        "whole + hybrid",
        "fixed size=40 + bm25",
        "sentence size=40 + bm25",
    ]


def test_tables_may_have_names_and_none_is_not_named(place):
    path = write(
        place,
        '#data\n[[rerank]]\nmethod = "none"\n[[rerank]]\nname = "mine"\nmethod = "own_stages:length"\ndepth = 2\n',
    )
    assert names(path) == ["none", "mine"]
    path = write(
        place,
        'only = ["bm25", "vectors + mine"]\n#data\n[retrieve]\nmethod = ["bm25", "vectors"]\nembedder = "own_stages:vectors"\n[[rerank]]\nmethod = "none"\n[[rerank]]\nname = "mine"\nmethod = "own_stages:length"\n',
    )
    assert names(path) == ["bm25", "vectors + mine"]


# Running ----------------------------------------------------------------------------------------------------------


def test_a_grid_is_run_evaluated_and_kept(place):
    path = write(place, "#data" + GRID)
    found = assay.run_experiment(path)
    assert len(found.findings.combinations) == 12
    assert all(row.done for row in found.findings.combinations)
    for outcome, scores in zip(found.outcomes, found.findings.systems, strict=True):
        lists = {}
        for query, doc in outcome.run.frame.select("query_id", "doc_id").iter_rows():
            if doc not in lists.setdefault(query, []):  # a document stands where its best chunk does
                lists[query].append(doc)
        again = assay.evaluate(GRADES, lists, ["ndcg@5", "recall@1"])
        assert scores.mean()["ndcg@5"] == pytest.approx(again["ndcg@5"])
        assert scores.mean()["recall@1"] == pytest.approx(again["recall@1"])
        texts = [context.text for sample in outcome.samples for context in sample.contexts]
        firsts = [sample.answer.partition(".")[0] for sample in outcome.samples if sample.answer]
        assert outcome.combination.axes["chunk"] == "fixed" or all(any(one in text for text in texts) for one in firsts)
    whole = found.findings.row("whole + bm25")
    assert whole.index.chunks == 4
    assert whole.index.bytes > 0
    assert {stage.stage for stage in whole.stages} == {"retrieve", "generate"}
    assert found.done == {"chunk": 3, "index": 6, "search": 6, "fuse": 3, "rerank": 6, "generate": 12}
    again = assay.run_experiment(path)
    assert again.done == {}
    assert [row.quality["ndcg@5"].mean for row in again.findings.combinations] == [
        row.quality["ndcg@5"].mean for row in found.findings.combinations
    ]
    assert [row.latency_ms for row in again.findings.combinations] == [
        row.latency_ms for row in found.findings.combinations
    ]


def test_a_change_redoes_only_what_follows_it(place):
    path = write(place, "#data" + GRID)
    assay.run_experiment(path)
    write(place, "#data" + GRID.replace("own_stages:length", "own_stages:other"))
    assert assay.run_experiment(path).done == {"rerank": 6, "generate": 6}
    write(place, "#data" + GRID.replace("size = 30", "size = 31"))
    assert set(assay.run_experiment(path).done) == {"chunk", "index", "search", "fuse", "rerank", "generate"}
    (place / "own_stages.py").write_text(PLUGIN + "\n# changed\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "assay", "run", "e.toml"], cwd=place, capture_output=True, text=True, check=True
    )
    assert "chunk" not in done.stderr.partition("; found")[0]
    assert "rerank 6" in done.stderr


def test_a_combination_that_fails_is_a_row_with_its_reason_and_the_rest_goes_on(place):
    write(
        place,
        '#data\n[retrieve]\nmethod = "bm25"\n[[rerank]]\nmethod = "none"\n[[rerank]]\nmethod = "own_stages:breaks"\n[[rerank]]\nmethod = "own_stages:length"\n',
    )
    done = run_assay("run", "e.toml", cwd=place)
    assert done.returncode == 1
    assert "breaks failed: query q1: " in done.stdout
    assert "raised RuntimeError: no more" in done.stdout
    result = json.loads((place / "e-results" / "result.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in result["experiment"]["combinations"]}
    assert [rows[name]["status"] for name in ("none", "breaks", "length")] == ["done", "failed", "done"]
    assert rows["breaks"]["quality"] == {}
    assert [system["name"] for system in result["systems"]] == ["none", "length"]
    write(place, '#data\n[rerank]\nmethod = "own_stages:breaks"\n')
    done = run_assay("run", "e.toml", cwd=place)
    assert done.returncode == 2
    assert "every combination failed" in done.stderr


def test_results_hold_runs_samples_and_times_that_other_commands_read(place):
    write(place, "#data" + GRID)
    done = run_assay("run", "e.toml", "-o", "out", "--only", "whole*", "--holdout", "0.5", "--lang", "zh", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("系统")
    result = json.loads((place / "out" / "result.json").read_text(encoding="utf-8"))
    told = result["experiment"]
    assert set(told) >= {"axes", "baseline", "winner", "combinations"}
    assert told["holdout"]["queries"] == 2
    assert len(result["per_query"]["query_id"]) == 2
    trace = [json.loads(line) for line in (place / "out" / "trace.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["stage"] for row in trace} == {"retrieve", "rerank", "generate"}
    assert len(trace) == 4 * (2 * 2 + 2 * 3)
    assert run_assay("compare", "out/result.json", cwd=place).returncode == 0
    (run,) = (place / "out" / "runs").glob("whole---bm25-????????.jsonl")
    read = run_assay("evaluate", "j.qrels", run, "-m", "ndcg@5", "--fold", "before", cwd=place)
    assert read.returncode == 0, read.stderr
    assert len((place / "out" / "samples" / run.name).read_text(encoding="utf-8").splitlines()) == 4


def test_a_limit_asks_the_first_queries_only(place):
    path = write(place, "#data\n[retrieve]\nmethod = 'bm25'\n")
    found = assay.run_experiment(path, limit=2)
    assert found.findings.systems[0].query_ids == ["q1", "q2"]
    assert found.collection.notes == ("only the first 2 of 4 queries are asked (--limit)",)


def test_the_front_holds_what_nothing_beats(place):
    path = write(place, "#data" + GRID)
    findings = assay.run_experiment(path, only=["whole*", "sentence*"]).findings

    assert all(row.pareto for row in findings.combinations), "four queries show no difference"


def test_gold_spans_make_chunkers_comparable(place):
    rows = [{"query_id": "q1", "doc_id": "a", "text": "water of 70 degrees"}, {"query_id": "q1", "doc_id": "b", "start": 0, "end": 9},
            {"query_id": "q3", "doc_id": "d", "text": "Trains leave at noon."}]  # fmt: skip
    (place / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = DATA.replace('judgments = "j.qrels"', 'gold = "gold.jsonl"')
    body = '#data\n[chunk]\nmethod = ["none", "sentence", "fixed"]\nsize = 15\n[retrieve]\nmethod = "bm25"\n[evaluate]\nmeasures = ["span_recall@1", "span_precision@1", "recall@1"]\n'
    found = assay.run_experiment(write(place, body, data))
    assert found.findings.measure == "span_recall@1"
    for outcome, scores in zip(found.outcomes, found.findings.systems, strict=True):
        assert scores.query_ids == ["q1", "q3"]
        for place_, query in enumerate(("q1", "q3")):
            chunk = outcome.chunks[outcome.hits[place_].chunks[0]]
            inside = set(range(chunk.start, chunk.end))
            spans = [(s.doc_id, set(range(s.start, s.end))) for s in found.collection.spans if s.query_id == query]
            hit = [doc == chunk.doc_id and len(signs & inside) >= len(signs) / 2 for doc, signs in spans]
            common = set().union(*(signs & inside for doc, signs in spans if doc == chunk.doc_id))
            assert scores.column("span_recall@1")[place_] == sum(hit) / len(hit)
            assert scores.column("span_precision@1")[place_] == pytest.approx(len(common) / len(inside))
    assert found.findings.row("whole").quality["span_recall@1"].mean.estimate == 0.75


def test_every_stage_may_be_an_endpoint(place):
    def served(received):
        body = received.body
        if "text" in body:
            return Answer(body={"chunks": body["text"].split(". ")})
        if "k" in body:
            return Answer(body={"results": [{"id": "a#0", "score": 2}, {"id": "d#0", "score": 1.5}, {"id": "b#1"}]})
        if "texts" in body:
            return Answer(body={"scores": [float("station" in text or "Trains" in text) for text in body["texts"]]})
        return Answer(body={"answer": f"{len(body['contexts'])} contexts"})

    with FakeLLM(served) as server:
        at = f'method = "{server.url}"\n'
        path = write(place, f"#data\n[chunk]\n{at}[retrieve]\n{at}[rerank]\n{at}[generate]\n{at}contexts = 2\n")
        found = assay.run_experiment(path)
        asked = len(server.requests)
        assert assay.run_experiment(path).done == {}
        assert len(server.requests) == asked
    (outcome,) = found.outcomes
    assert outcome.run.frame["chunk_id"].to_list() == ["d#0", "a#0", "b#1"] * 4
    assert {sample.answer for sample in outcome.samples} == {"2 contexts"}


def test_calls_that_fail_are_told_and_only_they_are_made_again(place):
    broken = True

    def graded(received):
        text = received.text
        if '"grade"' not in text:
            return "70 degrees"
        if broken and "station" in text:
            return Answer(body={"choices": []})
        return json.dumps({"grade": 9 if "Trains" in text else 1})

    body = '#data\n[[rerank]]\nmethod = "none"\n[[rerank]]\nmethod = "llm-pointwise"\n[generate]\nmethod = "llm"\n[llm]\nurl = "URL"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
    with FakeLLM(graded) as server:
        path = write(place, body.replace("URL", server.url))
        found = assay.run_experiment(path)
        told = [str(warning) for warning in found.findings.warnings]
        assert any(text.startswith("llm-pointwise: failed calls: empty") for text in told)
        row = found.findings.row("llm-pointwise")
        assert row.stages[1].tokens > 0
        assert row.cost_per_query == 0.0
        asked, broken = len(server.requests), False
        again = assay.run_experiment(path)
        assert again.done == {"rerank": 1}, "every question has the same contexts as before, so answers stay"
        shown = [[c.text for c in sample.contexts] for sample in again.outcomes[1].samples]
        assert shown == [[c.text for c in sample.contexts] for sample in found.outcomes[1].samples]
        assert 0 < len(server.requests) - asked <= 4, "only the calls that had failed"
        assert not [w for w in again.findings.warnings if "failed" in w]
        assert assay.run_experiment(path).done == {}


def test_answers_that_all_failed_end_in_exit_code_1(place):
    body = '#data\n[generate]\nmethod = "llm"\n[llm]\nurl = "URL"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
    with FakeLLM(lambda _: Answer.error(400, "no")) as server:
        write(place, body.replace("URL", server.url))
        done = run_assay("run", "e.toml", "--brief", cwd=place)
    assert done.returncode == 1, done.stdout + done.stderr
    (system,) = json.loads((place / "e-results" / "result.json").read_text(encoding="utf-8"))["systems"]
    counts = system["counts"]["faithfulness"]
    assert counts["queries"] == 0 and counts["failed"] > 0
    with FakeLLM("70 degrees") as server:
        write(place, body.replace("URL", server.url))
        assert run_assay("run", "e.toml", "--brief", cwd=place).returncode == 0


# Bad input --------------------------------------------------------------------------------------------------------

BAD = [
    ('#data\n[retrieve]\nmethod = "bm52"\n', r"e\.toml: retrieve\.method: unknown method of retrieve 'bm52'; did you mean bm25"),
    ('#data\n[retrieve]\nmethod = "bm25"\nk2 = 3\n', r"e\.toml: retrieve\.k2: unknown parameter 'k2'; did you mean k1"),
    ('#data\n[retrieve]\nmethod = "bm25"\nk1 = "x"\n', r"e\.toml: retrieve: k1 = 'x': expected a number"),
    ('#data\n[retrieve]\nmethod = "bm25"\nb = 2.0\n', r"e\.toml: retrieve: b = 2: expected a number from 0 to 1"),
    ('#data\n[retrieve]\nmethod = "bm25"\ndepth = 0\n', r"e\.toml: retrieve\.depth: '0': expected a whole number of 1 or more"),
    ('#data\n[retrieve]\nmethod = "run"\nfile = "none.run"\n', r"e\.toml: retrieve: none\.run: no such file|no such file"),
    ('#data\n[retrieve]\nmethod = "run"\n', r"e\.toml: retrieve: run needs file"),
    ('#data\n[retrieve]\nmethod = "vectors"\nembedder = "wordlama"\n', r"e\.toml: retrieve: unknown embedder 'wordlama'"),
    ('#data\n[rerank]\nmethod = "llm-pointwise"\n', r"e\.toml: rerank: a language model needs url and model"),
    ('#data\n[rerank]\nmethod = "nowhere:f"\n', r"e\.toml: rerank: nowhere:f cannot be imported"),
    ('#data\n[rerank]\nmethod = "cross-encoder"\nfolder = "none"\n', r"e\.toml: rerank: .*no model\.onnx"),
    ('#data\n[retriever]\nmethod = "bm25"\n', r"e\.toml: unknown key 'retriever'; did you mean retrieve"),
    ('baseline = "x"\n#data\n', r"e\.toml: baseline: unknown combination 'x'"),
    ('#data\n[evaluate]\nmeasures = ["ndgc@10"]\n', r"e\.toml: evaluate: unknown measure 'ndgc'"),
    ('#data\n[evaluate]\nmeasures = ["span_recall@5"]\n', r"e\.toml: evaluate\.measures: span_recall@5 needs gold spans"),
    ('#data\n[evaluate]\nprotocol = "llm-graded"\n', r"e\.toml: evaluate: protocol llm-graded needs"),
    ("#data\n[retrieve\n", r"e\.toml: not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_line_that_names_the_place(place, body, message):
    before = sorted(place.iterdir())
    path = write(place, body)
    with pytest.raises(AssayError, match=message) as caught:
        assay.run_experiment(path)
    assert "\n" not in str(caught.value)
    assert sorted(found for found in place.iterdir() if found.name not in {"e.toml", "__pycache__"}) == before


@pytest.mark.parametrize(("data", "message"), [
    (DATA.replace("docs.jsonl", "none.jsonl"), r"e\.toml: data\.documents: .*none\.jsonl: no such file"),
    (DATA.replace("queries.jsonl", "empty.jsonl"), r"e\.toml: data\.queries: .*empty\.jsonl: the file is empty"),
    (DATA.replace("queries.jsonl", "wordless.jsonl"), r"e\.toml: data\.queries: query 'q1' has no words: '\?!'"),
    (DATA.replace("docs.jsonl", "blank.jsonl"), r"e\.toml: data\.documents: .*no document has text"),
    (DATA.replace("docs.jsonl", "others.jsonl"), r"e\.toml: data\.judgments: no judged document is in the collection"),
    (DATA.replace("docs.jsonl", "scans"), r"e\.toml: data\.documents: .*scan\.pdf: the PDF cannot be read"),
    (DATA.replace('documents = "docs.jsonl"', ""), r"e\.toml: data: documents is not given"),
])  # fmt: skip
def test_bad_data_is_one_line_that_names_the_place(place, data, message):
    (place / "empty.jsonl").write_text("", encoding="utf-8")
    (place / "wordless.jsonl").write_text('{"query_id": "q1", "text": "?!"}\n', encoding="utf-8")
    (place / "blank.jsonl").write_text('{"doc_id": "a", "text": "  "}\n', encoding="utf-8")
    (place / "others.jsonl").write_text('{"doc_id": "zz", "text": "x"}\n', encoding="utf-8")
    (place / "scans").mkdir()
    (place / "scans" / "scan.pdf").write_bytes(b"%PDF-1.4\nnothing")
    with pytest.raises(InputError, match=message):
        assay.run_experiment(write(place, "#data\n", data))
    assert not (place / "e-results").exists()


# Interruptions ----------------------------------------------------------------------------------------------------


def timeless(path: Path) -> str:
    """A result file without times and what follows from them: the front."""
    result = json.loads(path.read_text(encoding="utf-8"))
    del result["date"]
    for row in result["experiment"]["combinations"]:
        del row["latency_ms"], row["pareto"]
        row["stages"] = [
            {key: value for key, value in stage.items() if not key.startswith("ms_")} for stage in row["stages"]
        ]
        row["index"] = {key: row["index"][key] for key in ("chunks", "bytes")}
    return json.dumps(result)


def test_killing_an_experiment_at_any_moment_and_running_it_again_changes_nothing(place, stress):
    write(place, "#data" + GRID)
    command = [sys.executable, "-m", "assay", "run", "e.toml", "-o", "out"]
    env = {**os.environ, "SLOWNESS": "0.02"}
    start = time.monotonic()
    subprocess.run(command, cwd=place, env=env, check=True, capture_output=True)
    whole = time.monotonic() - start
    wanted = {p.name: p.read_bytes() for p in sorted((place / "out").rglob("*.jsonl")) if p.name != "trace.jsonl"}
    result = timeless(place / "out" / "result.json")
    draw = random.Random(7)
    kills = 60 if stress else 2
    killed = 0
    for number in range(kills):
        folder = ["--cache", f"cache{number // 5}", "-o", f"out{number}"]
        with subprocess.Popen(
            [*command[:-2], *folder], cwd=place, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:
            time.sleep(draw.uniform(0.3, 1.0) * whole)
            if running.poll() is None:
                running.send_signal(signal.SIGKILL)
                killed += 1
        done = subprocess.run([*command[:-2], *folder], cwd=place, env=env, check=True, capture_output=True, text=True)
        got = place / f"out{number}"
        told = timeless(got / "result.json").replace(" ".join(folder), "-o out")
        assert told == result, done.stderr
        assert {p.name: p.read_bytes() for p in sorted(got.rglob("*.jsonl")) if p.name != "trace.jsonl"} == wanted
    assert killed


# Real data --------------------------------------------------------------------------------------------------------


def real(tmp_path: Path, data: str, body: str):
    (tmp_path / "real.toml").write_text(data + body, encoding="utf-8")
    return assay.run_experiment(tmp_path / "real.toml").findings


def noveleval(shared):
    folder = shared / "noveleval"
    return f'[data]\ndocuments = "{folder}/corpus.tsv"\nqueries = "{folder}/queries.tsv"\njudgments = "{folder}/qrels.txt"\n'


def test_bm25_on_noveleval_is_as_good_as_it_should_be(shared, tmp_path):
    found = real(tmp_path, noveleval(shared), '[evaluate]\nmeasures = ["ndcg@10"]\n')
    assert found.systems[0]["ndcg@10"] >= 0.66


def test_minilm_and_hybrid_on_noveleval_are_as_good_as_they_should_be(shared, tmp_path, stress):
    from assay.text.weights import find_minilm

    if find_minilm() is None or not stress:
        pytest.skip("needs the weights of minilm (assay env models get minilm) and ASSAY_STRESS=1: it takes a minute")
    body = (
        '[retrieve]\nmethod = ["bm25", "vectors", "hybrid"]\nembedder = "minilm"\n[evaluate]\nmeasures = ["ndcg@10"]\n'
    )
    found = real(tmp_path, noveleval(shared), body)
    values = {scores.name: scores["ndcg@10"] for scores in found.systems}
    assert values["vectors"] >= 0.72
    assert values["hybrid"] > max(values["bm25"], values["vectors"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bm25_on_xquad_finds_the_passage(shared, tmp_path, lang):
    data = json.loads((shared / "xquad" / f"xquad.{lang}.json").read_text(encoding="utf-8"))["data"]
    passages = [part for article in data for part in article["paragraphs"]]
    with (
        (tmp_path / "d.jsonl").open("w", encoding="utf-8") as docs,
        (tmp_path / "q.jsonl").open("w", encoding="utf-8") as asked,
        (tmp_path / "gold.jsonl").open("w", encoding="utf-8") as gold,
    ):
        for number, part in enumerate(passages):
            docs.write(json.dumps({"doc_id": f"p{number}", "text": part["context"]}) + "\n")
            for question in part["qas"]:
                asked.write(json.dumps({"query_id": question["id"], "text": question["question"]}) + "\n")
                answer = question["answers"][0]
                span = {"start": answer["answer_start"], "end": answer["answer_start"] + len(answer["text"])}
                gold.write(json.dumps({"query_id": question["id"], "doc_id": f"p{number}", **span}) + "\n")
    body = '[retrieve]\ndepth = 10\n[evaluate]\nmeasures = ["ndcg@10", "span_recall@10"]\n'
    found = real(tmp_path, '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\ngold = "gold.jsonl"\n', body)
    assert found.systems[0]["ndcg@10"] >= 0.95
    assert found.systems[0]["span_recall@10"] >= 0.95


# A reranker by itself ---------------------------------------------------------------------------------------------


def test_a_reranker_is_evaluated_without_an_index():
    candidates = {"q1": {"b": "bbb", "a": "a"}, "q2": {"b": "b", "c": "ccc"}}
    calls = []

    def shortest(query, texts):
        calls.append((query, list(texts)))
        return [-len(text) for text in texts]

    found = assay.evaluate_reranker(shortest, {"q1": "one", "q2": "two"}, candidates, {"q1": {"a": 1}, "q2": {"b": 1}})
    assert found.before["reciprocal_rank"] == 0.75
    assert found.after["reciprocal_rank"] == 1.0
    assert calls[1:] == [("one", ["bbb", "a"]), ("two", ["b", "ccc"])], "the first call is for warming up"
    lift = next(lift for lift in found.lifts if lift.measure == "reciprocal_rank")
    assert (lift.ceiling, lift.reached) == (1.0, 1.0)
    ms = list(found.ms.values())
    assert found.latency_ms["p95"] == pytest.approx(np.percentile(ms, 95))
    assert found.latency_ms["std"] == pytest.approx(np.std(ms))


def test_candidates_need_texts():
    with pytest.raises(UsageError, match="is not a text"):
        assay.evaluate_reranker(lambda q, t: t, {"q": "x"}, {"q": {"a": 1.0}}, {"q": {"a": 1}})
    with pytest.raises(InputError, match="document 'a' of query 'q' has no text"):
        assay.evaluate_reranker(
            lambda q, t: [0.0], {"q": "x"}, {"q": {"a": 1.0}}, {"q": {"a": 1}}, documents={"b": "x"}
        )


def test_the_command_reranks_a_run_and_writes_it(place):
    (place / "old.run").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq3 Q0 d 1 1 x\n", encoding="utf-8")
    base = [
        "run",
        "j.qrels",
        "--candidates",
        "old.run",
        "--queries",
        "queries.jsonl",
        "--documents",
        "docs.jsonl",
        "--reranker",
        "own_stages:length",
    ]
    done = run_assay(*base, "-m", "ndcg@10", "--run-output", "new.run", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "What reranked makes of the candidates of retrieved" in done.stdout
    assert "P95" in done.stdout
    assert (place / "new.run").read_text(encoding="utf-8").startswith("q1 Q0 a 1 ")
    done = run_assay(*base, "--format", "json", cwd=place)
    assert set(json.loads(done.stdout)["reranker"]["latency_ms"]) == {"p50", "p95", "p99", "mean", "std"}
    done = run_assay(*base[:-1], "embeding", cwd=place)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "assay: reranker: rerank.method: unknown method of rerank 'embeding'; did you mean embedding"
    )
    assert done.stderr.count("\n") == 1


# The embedder that is taken when none is named ------------------------------------------------------------------------


@pytest.fixture
def wordllama():
    from assay.text.static import wordllama_folder

    if wordllama_folder() is None:
        pytest.skip("wordllama is not installed")


BARE = '#data\n[retrieve]\nmethod = ["bm25", "vectors", "hybrid"]\n[[rerank]]\nmethod = "none"\n[[rerank]]\nmethod = "embedding"\n[evaluate]\nmeasures = ["ndcg@5"]\n'


def test_without_an_embedder_a_fast_one_is_taken_and_named_everywhere(place, wordllama):
    write(place, BARE)
    done = run_assay("run", "e.toml", "--brief", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "Embedder: wordllama." in done.stdout
    text = (place / "e-results" / "result.json").read_text(encoding="utf-8")
    assert '"embedder": "auto"' not in text
    rows = json.loads(text)["experiment"]["combinations"]
    chosen = [stage["embedder"] for row in rows for stage in row["stages_chosen"].values() if "embedder" in stage]
    assert chosen == ["wordllama"] * 7  # four retrievers, three rerankers
    found = assay.run_experiment(place / "e.toml")
    assert found.findings.row("vectors").stages_chosen["retrieve"]["embedder"] == "wordllama"
    assert "向量模型：wordllama。" in run_assay("run", "e.toml", "--lang", "zh", cwd=place).stdout


def test_naming_the_embedder_that_was_taken_changes_nothing_and_does_nothing_again(place, wordllama):
    first = assay.run_experiment(write(place, BARE))
    named = BARE.replace('"hybrid"]\n', '"hybrid"]\nembedder = "wordllama"\n')
    named = named.replace('method = "embedding"\n', 'method = "embedding"\nembedder = "wordllama"\n')
    again = assay.run_experiment(write(place, named))
    assert again.done == {}
    assert [row.name for row in again.findings.combinations] == [row.name for row in first.findings.combinations]


def test_without_the_fast_embedder_the_other_one_is_named(place, monkeypatch):
    monkeypatch.setattr("assay.text.static.wordllama_folder", lambda: None)
    monkeypatch.setattr("assay.text.weights.find_minilm", lambda: place)
    (vectors,) = load_experiment(write(place, BARE), only=["vectors"]).combinations
    assert vectors.choices["retrieve"].params["embedder"] == "minilm"
    monkeypatch.setattr("assay.text.weights.find_minilm", lambda: None)
    assert assay.run_experiment(place / "e.toml", only=["bm25"]).findings.row("bm25").done  # which needs none
    with pytest.raises(InputError, match="no embedding model is installed"):
        assay.run_experiment(place / "e.toml", only=["vectors"])


def test_the_evaluation_of_a_reranker_names_its_embedder(place, wordllama):
    found = assay.evaluate_reranker("embedding", QUERIES, dict.fromkeys(QUERIES, DOCUMENTS), GRADES)
    assert found.chosen == {"method": "embedding", "embedder": "wordllama"}
    (place / "r.run").write_text("".join(f"{q} Q0 {d} 1 1 r\n" for q in QUERIES for d in DOCUMENTS), encoding="utf-8")
    words = ["run", "j.qrels", "--candidates", "r.run", "--queries", "queries.jsonl", "--documents", "docs.jsonl"]
    done = run_assay(*words, "--reranker", "embedding", cwd=place)
    assert "Embedder: wordllama." in done.stdout
    told = json.loads(run_assay(*words, "--reranker", "embedding", "--format", "json", cwd=place).stdout)
    assert told["reranker"]["chosen"] == {"method": "embedding", "embedder": "wordllama"}


# Estimates ------------------------------------------------------------------------------------------------------------


def unpriced(received):
    count = len(received.body["documents"])
    return Answer(body={"results": [{"index": i, "relevance_score": 1 / (1 + i)} for i in range(count)]})


def test_tokens_that_no_server_named_are_marked_in_table_trace_and_result(place):
    with FakeLLM(unpriced) as server:
        body = f'[[rerank]]\nname = "far"\nmethod = "endpoint"\nshape = "cohere"\nurl = "{server.url}"\nmodel = "m"\nprice = 2000\n'
        write(place, "#data\n[retrieve]\nmethod = 'bm25'\n" + body)
        done = run_assay("run", "e.toml", cwd=place)
        page = run_assay("report", "e-results/result.json", "-o", "r.html", cwd=place)
    assert done.returncode == 0, done.stderr
    (line,) = [line.split() for line in done.stdout.splitlines() if line.split()[1:2] == ["rerank"]]
    assert line[-2].startswith("~")
    assert line[-1].startswith("~")
    assert "~ marks estimates" in done.stdout
    trace = [json.loads(row) for row in (place / "e-results" / "trace.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["stage"], row["estimated"], row["money_estimated"]) for row in trace} == {
        ("retrieve", False, False),
        ("rerank", True, True),
    }
    (row,) = json.loads((place / "e-results" / "result.json").read_text(encoding="utf-8"))["experiment"]["combinations"]
    assert [stage["estimated"] for stage in row["stages"]] == [False, True]
    assert row["cost_estimated"]
    if page.returncode == 0:
        assert f"~{1000 * row['cost_per_query']:.4g}" in (place / "r.html").read_text(encoding="utf-8")


def test_tokens_that_a_server_named_are_not_marked(place):
    def counts(received):
        return Answer(body={**unpriced(received).body, "usage": {"total_tokens": 40}})

    with FakeLLM(counts) as server:
        body = f'[[rerank]]\nmethod = "endpoint"\nshape = "jina"\nurl = "{server.url}"\nmodel = "m"\nprice = 2000\n'
        write(place, "#data\n[retrieve]\nmethod = 'bm25'\n" + body)
        done = run_assay("run", "e.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "~" not in done.stdout


def test_an_answer_whose_server_counts_nothing_is_an_estimate_too(place):
    with FakeLLM(Answer("70 degrees", usage=None)) as server:
        path = write(place, f'#data\n[generate]\nmethod = "llm"\n[llm]\nurl = "{server.url}"\nmodel = "m"\n')
        found = assay.run_experiment(path)
    assert all(work.estimated for work in found.outcomes[0].work["generate"])
    assert not any(work.money_estimated for work in found.outcomes[0].work["generate"])  # a model of one's own costs 0


def test_the_evaluation_of_a_reranker_marks_estimates(place):
    (place / "r.run").write_text("".join(f"{q} Q0 {d} 1 1 r\n" for q in QUERIES for d in DOCUMENTS), encoding="utf-8")
    words = ["run", "j.qrels", "--candidates", "r.run", "--queries", "queries.jsonl", "--documents", "docs.jsonl"]
    with FakeLLM(unpriced) as server:
        words += ["--reranker", "endpoint", "--set", f"url={server.url}", "--set", "model=m", "--set", "price=2000"]
        done = run_assay(*words, "--set", "shape=cohere", cwd=place)
    assert "About " in done.stdout
    assert "the server does not say what it counted" in done.stdout


# The page ------------------------------------------------------------------------------------------------------------


def test_the_page_of_an_experiment_compares_with_the_baseline_of_its_file(place):
    write(
        place,
        'baseline = "deep"\n#data\n[[retrieve]]\nname = "flat"\nmethod = "bm25"\ndepth = 1\n[[retrieve]]\nname = "deep"\nmethod = "bm25"\n[evaluate]\nmeasures = ["ndcg@5"]\n',
    )
    done = run_assay("run", "e.toml", "--brief", "--report", "r.md", cwd=place)
    assert done.returncode == 0, done.stderr
    page = (place / "r.md").read_text(encoding="utf-8")
    assert "against deep" in page and "against flat" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.00"), (0.004123, "0.00412"), (0.21, "0.210"), (1.25, "1.25"), (12.34, "12.3"), (1250.4, "1,250")],
)
def test_sizes_are_shown_with_three_digits_that_say_something(value, shown):
    assert three_digits(value) == shown


def test_what_is_loaded_for_the_first_index_is_not_in_its_time(tmp_path):
    (tmp_path / "late.py").write_text(
        "import time\n\nloaded = []\n\n\ndef embed(texts):\n    if not loaded:\n        time.sleep(0.5)\n"
        "        loaded.append(1)\n    return [[1.0, len(text)] for text in texts]\n",
        encoding="utf-8",
    )
    (tmp_path / "d.jsonl").write_text('{"doc_id": "d", "text": "One. Two."}\n', encoding="utf-8")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "text": "one"}\n', encoding="utf-8")
    (tmp_path / "j.qrels").write_text("q 0 d 1\n", encoding="utf-8")
    path = tmp_path / "e.toml"
    path.write_text(
        '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
        '[retrieve]\nmethod = "vectors"\nembedder = "late:embed"\n[evaluate]\nmeasures = ["ndcg@10"]\n',
        encoding="utf-8",
    )
    found = assay.run_experiment(path, cache=tmp_path / "cache")
    assert found.outcomes[0].index.build_seconds < 0.5


def test_of_a_measure_that_should_be_small_the_smallest_wins_and_is_on_the_front(tmp_path):
    (tmp_path / "two_orders.py").write_text(
        "def bad(query, texts):\n    return [float(('green' in query) == ('milk' in t)) for t in texts]\n"
        "def good(query, texts):\n    return [-one for one in bad(query, texts)]\n",
        encoding="utf-8",
    )
    body = '[rerank]\nmethod = ["two_orders:bad", "two_orders:good"]\n[evaluate]\nmeasures = ["unjudged@1"]\n'
    found = assay.run_experiment(short_experiment(tmp_path, body)).findings
    assert {row.name: row.quality["unjudged@1"].mean.estimate for row in found.combinations} == {
        "bad": 1.0,
        "good": 0.0,
    }
    assert found.winner == "good"
    assert found.row("good").pareto


def test_a_result_of_an_earlier_run_is_kept_unless_it_is_the_same(tmp_path, caplog):
    from assay.demo import collection

    place, runs = tmp_path / "out", {"cache": tmp_path / "cache", "only": ["bm25"]}
    first = assay.run_experiment(collection().ladder, **runs)
    first.save(place)
    before = (place / "result.json").read_text(encoding="utf-8")
    assay.run_experiment(collection().ladder, **runs).save(place)
    assert not (place / "earlier-1").exists()
    assay.run_experiment(collection().ladder, **runs, limit=20).save(place)
    kept = place / "earlier-1"
    assert (
        json.loads((kept / "result.json").read_text(encoding="utf-8"))["experiment"] == json.loads(before)["experiment"]
    )
    assert sorted(one.name for one in kept.iterdir()) == ["result.json", "runs", "samples", "trace.jsonl"]
    assert [one.getMessage() for one in caplog.records if "earlier-1" in one.getMessage()]
