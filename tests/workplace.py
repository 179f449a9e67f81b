"""A folder with every file that command lines of the README and of the help name."""

from __future__ import annotations

import gzip
import json
import shutil
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import polars as pl

import assay
import otlp
from net import making

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[1] / "examples"
ARCHIVE = Path(__file__).parent / "archive" / "schema-1"
_MODULE = """
def rerank(query, documents):
    return list(range(len(documents)))

def score(query, documents):
    return [float(len(document)) for document in documents]

def search(query):
    return [query]
"""


def _write_events(folder: Path) -> None:
    """An event log of three texts, whose two documents change places, and in which some requests have clicks."""
    rows = []
    for i in range(240):
        common = {"client_id": f"u{i % 40}", "timestamp": f"2026-03-0{1 + i % 2}T0{i // 60}:{i % 60:02d}:00Z"}
        common |= {"query_id": f"e{i}", "session_id": f"s{i % 40}"}
        more = {"experiment": {"id": "x", "variant": "ab"[i % 2]}, "top_score": i % 10}
        docs = ["d1", "d2"] if i % 4 else ["d2", "d1"]
        rows.append(common | {"user_query": f"tea {i % 3}", "query_response_hit_ids": docs, "query_attributes": more})
        for place, doc in enumerate(docs, 1):
            seen = {"object": {"object_id": doc}, "position": {"ordinal": place}, "dwell_ms": 40000}
            actions = ("impression", "click") if (i + place) % 3 == 0 else ("impression",)
            rows += [common | {"action_name": action, "event_attributes": seen} for action in actions]
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "traces.jsonl").write_text(otlp.lines(otlp.request(*otlp.rag())), encoding="utf-8")
    (folder / "logs").mkdir()
    shutil.copy(folder / "events.jsonl", folder / "logs")


def _write_shown(folder: Path) -> None:
    """Logs with propensities: a table of four items, texts whose two best documents changed places, interleaved lists."""
    rows = [(f"i{i % 4}", 1 + i // 4 % 2, int(i % 7 == 0), 0.25) for i in range(400)]
    for name, first in (("csv", "item_id"), ("parquet", "article")):
        frame = pl.DataFrame(rows, schema=[first, "position", "click", "propensity_score"], orient="row")
        getattr(frame, f"write_{name}")(folder / f"impressions.{name}")
    (folder / "ranking.py").write_text("def policy(rows, items):\n    return [0.4, 0.2, 0.2, 0.2]\n", encoding="utf-8")
    best = {}
    for query, doc, _ in assay.read_run(folder / "new.run").frame.select("query_id", "doc_id", "score").iter_rows():
        best.setdefault(query, []).append(doc)
    texts = {row["query_id"]: row["text"] for row in making.read("queries.jsonl")}
    asked = [
        (query, docs[:2][:: 1 if i % 2 else -1], i) for query, docs in best.items() if len(docs) > 1 for i in range(30)
    ]
    lines, lists = [], []
    for number, (query, docs, i) in enumerate(asked):
        of = {"query_id": f"s{number}", "client_id": f"u{i}", "timestamp": f"2026-03-{1 + i % 9:02d}T08:00:00Z"}
        seen = [
            {"object": {"object_id": doc}, "position": {"ordinal": place}, "propensity": 0.5}
            for place, doc in enumerate(docs, 1)
        ]
        lines.append(of | {"user_query": texts[query], "query_response_hit_ids": docs})
        lines += [of | {"action_name": "impression", "event_attributes": one} for one in seen]
        click = of | {"action_name": "click", "event_attributes": seen[number % 2]}
        lines += [click] if number % 3 else []
        shown = assay.interleave(docs, docs[::-1], k=2, query=query, user=i, names=["old", "new"])
        lists += [of | {"user_query": texts[query], "query_attributes": {"interleaving": shown.to_attributes()}}, click]
    making.lines(folder / "shown.ndjson", lines)
    making.lines(folder / "interleaved.ndjson", lists)


def fill(folder: Path) -> None:
    """Put all of it there."""
    _write_events(folder)
    making.odd_runs(folder)
    making.pairs(folder)
    for name in ("twice", "chunks", "partial"):
        (folder / f"{name}.run").unlink()
    priced = '[[price]]\nhost = "127.0.0.1"\nmodel = "qwen-plus"\ninput = 1.0\noutput = 4.0\ncurrency = "USD"\n'
    (folder / "prices.toml").write_text(f"{priced}date = 2026-11-01\n", encoding="utf-8")
    _runs(folder)
    _texts(folder)
    _write_shown(folder)
    _answers(folder)
    making.trial(folder)
    _results(folder)
    (folder / "bodies.jsonl").write_text('{"query": "tea"}\n{"query": "rain"}\n', encoding="utf-8")
    (folder / "chat.json").write_text('{"messages": [{"role": "user", "content": "tea?"}]}\n', encoding="utf-8")
    _events(folder)
    _sets(folder)
    asked = [
        json.loads(line)["query_id"] for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    making.lines(folder / "sampled.jsonl", [{"query_id": one, "weight": 1 + i % 3} for i, one in enumerate(asked)])
    (folder / "mymodule.py").write_text(_MODULE, encoding="utf-8")
    shutil.copytree(EXAMPLES, folder / "examples")
    shutil.copy(EXAMPLES / "tone.md", folder)
    (folder / "experiment.toml").write_text(
        '[data]\ndocuments = "docs.jsonl"\nqueries = "queries.jsonl"\njudgments = "qrels.txt"\n'
        '[[retrieve]]\nname = "bm25"\nmethod = "bm25"\n[[retrieve]]\nname = "hybrid-less"\nmethod = "bm25"\nk1 = 0.9\n'
        '[evaluate]\nmeasures = ["ndcg@10"]\n',
        encoding="utf-8",
    )


def _runs(folder: Path) -> None:
    shutil.copy(folder / "judgments.qrels", folder / "qrels.txt")
    pairs = {"one": "keywords", "two": "bm25", "dense": "ngrams", "hybrid": "bm25", "new": "bm25", "old": "keywords", "full": "bm25",
             "no_memory": "keywords", "retrieved": "keywords", "a": "bm25", "b": "keywords", "c": "ngrams",
             "aplrob03a": "bm25", "pircRBa1": "ngrams"}  # fmt: skip
    for name, source in pairs.items():
        shutil.copy(folder / f"{source}.run", folder / f"{name}.run")
    lists = assay.read_run(folder / "retrieved.run").to_dict()
    turned = {query: {doc: float(place) for place, doc in enumerate(docs)} for query, docs in lists.items()}
    assay.write_run(assay.Run.from_dict(turned, "reranked"), folder / "reranked.run")
    (folder / "out").mkdir()
    (folder / "out" / "v2.run.gz").write_bytes(gzip.compress((folder / "bm25.run").read_bytes()))
    (folder / "beir-folder" / "qrels").mkdir(parents=True)
    rows = [line.split() for line in (folder / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    beir = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, _, d, g in rows)
    (folder / "beir-folder" / "qrels" / "test.tsv").write_text(beir, encoding="utf-8")
    (folder / "variants.csv").write_text("system,description\nfull,all parts\nno_memory,no memory\n", encoding="utf-8")
    shutil.copy(folder / "judgments.qrels", folder / "human.qrels")
    turned_rows = [f"{q} 0 {d} {min(2, int(g) + making.toss(q + d, 2))}" for q, _, d, g in rows]
    (folder / "judged.qrels").write_text("\n".join(turned_rows) + "\n", encoding="utf-8")
    votes = [
        {"query_id": q, "doc_id": d, "votes": [{"judge": "m", "grade": int(g)}, {"judge": "m", "grade": 1}]}
        for q, _, d, g in rows[:80]
    ]
    making.lines(folder / "details.jsonl", votes)


def _texts(folder: Path) -> None:
    queries, documents = making.read("queries.jsonl"), making.read("documents.jsonl")
    shutil.copy(folder / "documents.jsonl", folder / "docs.jsonl")
    for name in ("q.tsv", "queries.tsv"):
        text = "query_id\ttext\n" + "".join(f"{row['query_id']}\t{row['text']}\n" for row in queries)
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("d.tsv", "docs.tsv", "corpus.tsv"):
        text = "doc_id\ttext\n" + "".join(f"{row['doc_id']}\t{' '.join(row['text'].split())}\n" for row in documents)
        (folder / name).write_text(text, encoding="utf-8")
    rows = [f"{row['query_id']},{row['lang']}" for row in queries]
    (folder / "queries.csv").write_text("query_id,lang\n" + "\n".join(rows) + "\n", encoding="utf-8")
    making.lines(folder / "bodies.jsonl", [{"query": "{query}"}, {"query": "tea"}])
    shutil.copy(folder / "records.jsonl", folder / "answers.jsonl")
    for name in ("q", "questions"):
        making.lines(folder / f"{name}.jsonl", queries)
    _pool(folder)
    (folder / "docs").mkdir()
    for row in documents[:12]:
        (folder / "docs" / f"{row['doc_id']}.txt").write_text(f"{row['title']}\n\n{row['text']}", encoding="utf-8")


def _pool(folder: Path) -> None:
    """A list to judge with the texts, whose rows have grades."""
    place = folder / "pool.jsonl"
    runs = {name: str(folder / f"{name}.run") for name in ("bm25", "dense")}
    texts = {"queries": str(folder / "queries.jsonl"), "documents": str(folder / "documents.jsonl")}
    assay.pool_judgments(runs, 500, method="sample", **texts).save(place)
    grades = assay.read_judgments(folder / "qrels.txt").to_dict()
    rows = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    making.lines(place, [{**row, "grade": grades.get(row["query_id"], {}).get(row["doc_id"], 0)} for row in rows])


def _sets(folder: Path) -> None:
    """Sets of questions, one of people and one of known items, and the BEIR folder whole."""
    queries = [{**row, "made_by": "person", "category": row["lang"]} for row in making.read("queries.jsonl")]
    documents = {row["doc_id"]: row["text"] for row in making.read("documents.jsonl")}
    judged = assay.read_judgments(folder / "qrels.txt")
    for name in ("tea", "people"):
        assay.write_set(folder / name, queries=queries, documents=documents, judgments=judged)
    made = [{"query_id": f"k{i}", "text": f"tea {i}", "made_by": "known_items"} for i in range(3)]
    assay.write_set(folder / "simulated", queries=made, documents=documents, judgments=None)
    making.lines(
        folder / "beir-folder" / "corpus.jsonl", [{"_id": doc, "text": text} for doc, text in documents.items()]
    )
    making.lines(
        folder / "beir-folder" / "queries.jsonl", [{"_id": row["query_id"], "text": row["text"]} for row in queries]
    )


def _events(folder: Path) -> None:
    start = {"query_id": "q1", "client_id": "u1", "timestamp": "2026-11-01T12:00:00Z"}
    place = {"object": {"object_id": "d1"}, "position": {"ordinal": 1}}
    asked = {**start, "user_query": "tea", "query_response_hit_ids": ["d1", "d2"]}
    seen = [{**start, "action_name": name, "event_attributes": place} for name in ("impression", "click")]
    making.lines(folder / "queries.ndjson", [asked])
    making.lines(folder / "events.ndjson", seen)
    making.lines(folder / "ubi.ndjson", [asked, *seen])
    rows = "query_id,client,ts,action,doc_id\nq1,u1,2026-11-01T12:00:00Z,query,\nq1,u1,2026-11-01T12:00:01Z,impression,d1\n"
    making.lines(folder / "log.ndjson", list(_trial_log()))
    (folder / "salt.txt").write_text("long enough\n", encoding="utf-8")
    (folder / "clicks.csv").write_text(rows, encoding="utf-8")


def _trial_log() -> Iterator[dict[str, object]]:
    """A log of an A/B test: 200 users, one request each."""
    for i in range(200):
        start = {"query_id": f"q{i}", "client_id": f"u{i}", "timestamp": f"2026-11-{1 + i % 14:02d}T12:00:00Z"}
        variant = {"experiment": {"id": "e", "variant": ("old", "new")[i % 2]}, "latency_ms": 100 + i % 9}
        yield {**start, "user_query": "tea", "query_attributes": variant}
        if i % 3 == 0:
            yield {
                **start,
                "action_name": "click",
                "event_attributes": {"object": {"object_id": "d"}, "position": {"ordinal": 1}},
            }


def _answers(folder: Path) -> None:
    rows = making.sample_rows()
    making.lines(folder / "samples.jsonl", rows)
    making.lines(folder / "before.jsonl", rows)
    facts = [{"text": "Water should be 70 degrees hot", "importance": "vital"}, "Steep it for a minute"]
    making.lines(folder / "nuggets.jsonl", [{"qid": row["id"], "nuggets": facts} for row in rows])
    shutil.copy(folder / "beta.jsonl", folder / "new.jsonl")
    cells = [(row["question"], row["answer"], row["contexts"][0]["text"]) for row in rows]
    lines = ["my_column,answer,contexts", *(",".join(json.dumps(c, ensure_ascii=False).replace('\\"', '""') for c in one)
                                            for one in cells)]  # fmt: skip
    (folder / "samples.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    labels = ("Fully attributable", "Not fully attributable")
    begin = ["question\tanswer\tknowledge\tbegin_label"]
    begin += ["\t".join((q, a or "-", " ".join(c.split()), labels[i % 2])) for i, (q, a, c) in enumerate(cells * 3)]
    (folder / "begin.tsv").write_text("\n".join(begin) + "\n", encoding="utf-8")


def _results(folder: Path) -> None:
    judged = str(folder / "qrels.txt")
    scores = {name: assay.evaluate(judged, str(folder / f"{name}.run"), ["ndcg@10", "map"], name=name)
              for name in ("one", "two", "old")}  # fmt: skip
    for name in ("result", "evaluation"):
        assay.write_result([scores["one"], scores["two"]], folder / f"{name}.json")
    scores["old"].save(folder / "baseline.json")
    (folder / "history").mkdir()
    for name in ("old.json", "release.json", "history/first.json"):  # gate.toml names the first
        scores["old"].save(folder / name)
    scores["one"].save(folder / "new.json")
    assay.compare([scores["one"], scores["two"]]).save(folder / "comparison.json")
    for name in ("before", "after", "answers"):
        source = folder / ("before.jsonl" if name != "after" else "new.jsonl")
        assay.answers(str(source), ["faithfulness"], method="words", name=name).save(folder / f"{name}.json")
    assay.bench(lambda query, documents: documents, candidates=[50], runs=20, warmup=0, passing="candidates").save(
        folder / "bench.json"
    )
    (folder / "ladder-results").mkdir()
    shutil.copy(ARCHIVE / "experiment.json", folder / "ladder-results" / "result.json")
    assay.ab_test(folder / "users.csv", "clicks", control="old").save(folder / "ab.json")
    assay.cost({"cross-encoder": {"price": 0.025, "tokens": 800}}).save(folder / "cost.json")


_EVENTS = (
    b"".join(
        f'data: {{"choices": [{{"index": 0, "delta": {{"content": "{word}"}}}}]}}\n\n'.encode()
        for word in ("tea ", "is ", "hot")
    )
    + b"data: [DONE]\n\n"
)


@cache
def _texts_and_lists() -> tuple[dict[str, str], dict[str, list[str]]]:
    """The texts of the collection, and the documents that BM25 finds for the text of each query."""
    texts, lists = {row["doc_id"]: row["text"] for row in making.read("documents.jsonl")}, making.ranked("bm25.run")
    return texts, {row["text"]: lists.get(row["query_id"], []) for row in making.read("queries.jsonl")}


def _answer(question: str) -> bytes:
    """The reply of an application for questions."""
    texts, lists = _texts_and_lists()
    ids = lists.get(question, [])[:10] or list(texts)[:3]
    reply = {"answer": texts[ids[0]], "contexts": [texts[one] for one in ids], "ids": ids}
    return json.dumps(reply, ensure_ascii=False).encode()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/ask"):
            self._say(_answer(json.loads(body)["question"]))
        else:
            self._say(_EVENTS if self.path.endswith("/chat/completions") else b"{}")

    def do_GET(self) -> None:
        self._say(b"{}")

    def _say(self, text: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if text == _EVENTS else "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def web_server() -> Iterator[str]:
    """A server that answers the questions of /ask, says tokens to a chat and {} to all else; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
