"""Files that scenes work on: the bundled collection, and what is derived from it without any program under test."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import assay

if TYPE_CHECKING:
    from assay.testing import Received

DEMO = Path(assay.__file__).parent / "demo" / "data"
KEPT = Path(__file__).parents[1] / "archive" / "stage-cache"
JUDGED = Path(__file__).parents[1] / "archive" / "judged-cache"
RESULTS = Path(__file__).parents[1] / "archive" / "schema-1"
DEMO_CACHE = Path(__file__).parents[1] / "archive" / "demo-cache"
ASKED = 20  # samples made of the first queries


_BLOCK = re.compile(r"^\[([a-z]+(?: \d+)?) \w{16}\]\n(.*?)\n\[end of \1 ", re.MULTILINE | re.DOTALL)


def toss(text: str, sides: int) -> int:
    """A number below `sides` that is the same for the same text everywhere."""
    return zlib.crc32(text.encode()) % sides


def judge_by_texts(received: Received) -> str:
    """A judge who decides by the texts alone: the same words for the same question, whenever it is asked."""
    blocks = dict(_BLOCK.findall(received.text))
    statements = {name.split()[1]: text for name, text in blocks.items() if name.startswith("statement ")}
    if statements:
        contexts = [int(name.split()[1]) for name in blocks if name.startswith("context ")]
        return json.dumps({number: _verdict(text, contexts) for number, text in statements.items()})
    if "preferred" in received.schema.get("properties", {}):
        return json.dumps({"reason": "by its letters", "preferred": ("first", "second", "tie")[toss(received.text, 3)]})
    told = "".join(blocks.values())
    asked = re.sub(_BLOCK, "", received.text)  # a document may speak of "from 60 to 70 degrees"
    low_and_high = re.search(r"rom (-?\d+) to (-?\d+)|从 ?(-?\d+) ?到 ?(-?\d+)", asked)
    high = int(next(filter(None, low_and_high.groups()[1::2]))) if low_and_high else 2
    return json.dumps({"reason": "by its letters", "grade": toss(told, high + 1)})


def _verdict(statement: str, contexts: list[int]) -> dict:
    word = ("yes", "yes", "partly", "no")[toss(statement, 4)]
    return {"reason": f"because {word}", "verdict": word, "contexts": contexts[:1] if word != "no" else []}


# Files ---------------------------------------------------------------------------------------------------------------


def lines(path: Path, rows: list[dict]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read(name: str) -> list[dict]:
    """Rows of a JSONL file of the collection."""
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


def ranked(name: str) -> dict[str, list[str]]:
    """Documents of each query in the order of a run."""
    found = defaultdict(list)
    for line in (DEMO / name).read_text(encoding="utf-8").splitlines():
        query, _, document, *_ = line.split()
        found[query].append(document)
    return found


def tea(folder: Path) -> None:
    """The collection itself."""
    for path in DEMO.iterdir():
        if path.is_file():
            shutil.copy(path, folder)


def odd_runs(folder: Path) -> None:
    """The collection with runs that lack queries, repeat documents, retrieve chunks; weights, labels, other formats."""
    tea(folder)
    bm25 = (folder / "bm25.run").read_text(encoding="utf-8").splitlines()
    (folder / "partial.run").write_text("\n".join(line for line in bm25 if line < "q40") + "\n", encoding="utf-8")
    (folder / "twice.run").write_text("\n".join([*bm25, "q01 Q0 tea-121 99 0.5 bm25"]) + "\n", encoding="utf-8")
    chunked = []
    for line in bm25:
        query, zero, document, rank, score, tag = line.split()
        chunked.append(f"{query} {zero} {document}#{1 + toss(line, 2)} {rank} {score} {tag}")
        if int(rank) % 3 == 1:
            chunked.append(f"{query} {zero} {document}#3 {rank} {float(score) - 0.01:.6f} {tag}")
    (folder / "chunks.run").write_text("\n".join(chunked) + "\n", encoding="utf-8")
    queries = sorted(ranked("bm25.run"))
    weights = [f"{query},{1 + number % 4}" for number, query in enumerate(queries)]
    (folder / "weights.csv").write_text("query_id,weight\n" + "\n".join(weights) + "\n", encoding="utf-8")
    (folder / "labels.csv").write_text(
        "system,description\nkeywords,plain words\nbm25,weighted words\nngrams,pieces of words\n", encoding="utf-8"
    )
    (folder / "train.txt").write_text("\n".join(queries[::2]) + "\n", encoding="utf-8")
    graded = (folder / "judgments.qrels").read_text(encoding="utf-8").splitlines()
    gold = defaultdict(list)
    for query, _, document, grade in map(str.split, graded):
        if int(grade) > 0:
            gold[query].append(document)
    lists = ranked("bm25.run")
    lines(
        folder / "records.jsonl",
        [{"query_id": q, "gold": gold[q], "retrieved": lists[q][:10]} for q in sorted(gold)],
    )
    (folder / "gate.toml").write_text(
        '[[rule]]\nmeasure = "ndcg@10"\nat_least = 0.6\n\n[[rule]]\nmeasure = "ndcg@10"\nnot_worse_than = "old.json"\nmargin = 0.02\n',
        encoding="utf-8",
    )
    (folder / "costs.toml").write_text(
        "queries_per_day = 20000\ndocuments_per_query = 20\n\n[method.cross-encoder]\nprice = 0.025\ntokens = 800\n\n"
        "[method.own]\nmachine = 1.2\nthroughput = 25\n",
        encoding="utf-8",
    )
    (folder / "broken.qrels").write_text("q01 0 tea-030 0\nq01 0 tea-030 1\nq02 0\n", encoding="utf-8")


def sample_rows() -> list[dict]:
    """Answers of every kind: from the contexts, invented, refused, empty, with marks of citations, in two languages."""
    texts = {row["doc_id"]: row["text"] for row in read("documents.jsonl")}
    bm25 = ranked("bm25.run")
    queries = read("queries.jsonl")
    chosen = [*queries[: ASKED - 6], *(row for row in queries if row["lang"] == "zh")][:ASKED]
    rows = []
    for number, query in enumerate(chosen):
        documents = bm25[query["query_id"]][:3]
        first, second = ([part for part in re.split(r"(?<=[.。])\s*", texts[d]) if part] for d in documents[:2])
        refusal, invention = (
            ("我不知道。", "它于1950年在秘鲁发明。")
            if query["lang"] == "zh"
            else ("I do not know.", "It was invented in 1950 in Peru.")
        )
        answer = (
            first[0],
            f"{first[0]} {invention}",
            f"{first[0]} [1] {second[0]} [2]",
            refusal,
            query["reference"],
            "" if number == 5 else second[-1],
        )[number % 6]
        rows.append({
            "id": query["query_id"], "question": query["text"], "answer": answer, "reference": query["reference"],
            "contexts": [{"id": d, "text": texts[d]} for d in documents],
        })  # fmt: skip
    return rows


def samples(folder: Path) -> None:
    """Samples of one system, of two in one file, of two in two files, with people's labels, and without what is needed."""
    rows = sample_rows()
    shorter = [{**row, "answer": row["reference"] if i % 3 else row["answer"]} for i, row in enumerate(rows)]
    lines(folder / "alpha.jsonl", rows)
    lines(folder / "beta.jsonl", shorter)
    both = [{**row, "system": name} for name, some in (("alpha", rows), ("beta", shorter)) for row in some]
    lines(folder / "both.jsonl", both)
    lines(
        folder / "bare.jsonl", [{"id": row["id"], "question": row["question"], "answer": row["answer"]} for row in rows]
    )
    lines(folder / "refusals.jsonl", [{**row, "answer": "I do not know."} for row in rows[:4]])
    labelled = [
        {**row, "human": {"faithfulness": [1 + toss(row["answer"], 4), 1 + toss(row["question"], 4)]},
         "published": {"judge": toss(row["answer"] + row["id"], 100) / 100}}
        for row in [*rows, *shorter] if row["answer"]
    ]  # fmt: skip
    for number, row in enumerate(labelled):
        row["id"] = f"s{number:02}"
    lines(folder / "labelled.jsonl", labelled)
    (folder / "prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ninput = 100.0\noutput = 400.0\ncurrency = "USD"\ndate = 2026-11-01\n',
        encoding="utf-8",
    )


def pairs(folder: Path) -> None:
    """The collection, with prices for a judge."""
    tea(folder)
    samples(folder)
    first = ranked("bm25.run")
    texts = {row["doc_id"]: row["text"] for row in read("documents.jsonl")}
    asked = {row["query_id"]: row["text"] for row in read("queries.jsonl")}
    lines(
        folder / "pairs.jsonl",
        [
            {"query_id": q, "doc_id": d, "query": asked[q], "document": texts[d]}
            for q in sorted(first)[:12]
            for d in first[q][:5]
        ],
    )
    known = [line for line in (folder / "judgments.qrels").read_text(encoding="utf-8").splitlines() if line < "q03"]
    (folder / "known.qrels").write_text("\n".join(known) + "\n", encoding="utf-8")


def experiment(folder: Path) -> None:
    """The collection with a small experiment of its own."""
    tea(folder)
    (folder / "small.toml").write_text(
        'name = "small"\nbaseline = "bm25"\n\n[data]\ndocuments = "documents.jsonl"\nqueries = "queries.jsonl"\n'
        'judgments = "judgments.qrels"\n\n[retrieve]\nmethod = ["bm25", "vectors"]\nembedder = "wordllama"\n\n'
        '[generate]\nmethod = "extractive"\ncontexts = 3\n\n[evaluate]\nprotocol = "graded-012"\n',
        encoding="utf-8",
    )
    (folder / "variants.toml").write_text(
        'name = "variants"\nbaseline = "full"\nretrieve = "bm25"\nevaluate.protocol = "graded-012"\n'
        'query = [{ name = "full", method = "template", text = "$text $type" }, { name = "plain", method = "none" }]\n\n'
        '[data]\ndocuments = "documents.jsonl"\nqueries = "queries.jsonl"\njudgments = "judgments.qrels"\n\n'
        '[labels]\nfull = "with the kind of query"\nplain = "the query alone"\n\n'
        '[reference]\nsource = "made up"\nfigures.full = { "ndcg@10" = 0.9, "p@1" = 0.95 }\n',
        encoding="utf-8",
    )
    texts = {row["doc_id"]: row["text"] for row in read("documents.jsonl")}
    first = {}
    for line in (DEMO / "judgments.qrels").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if grade == "2":
            first.setdefault(query, document)
    spans = [{"query_id": q, "doc_id": d, "text": re.split(r"(?<=[.。])", texts[d])[0]} for q, d in first.items()]
    lines(folder / "spans.jsonl", spans)
    (folder / "spans.toml").write_text(
        'name = "spans"\n\n[data]\ndocuments = "documents.jsonl"\nqueries = "queries.jsonl"\ngold = "spans.jsonl"\n\n'
        '[chunk]\nmethod = ["none", "fixed", "sentence"]\nsize = 160\n\n[retrieve]\nmethod = "bm25"\n\n'
        '[evaluate]\nprotocol = "chunking"\n',
        encoding="utf-8",
    )


def kept_experiment(folder: Path) -> None:
    """An experiment whose work, times included, an earlier version kept: nothing is done again."""
    shutil.copytree(KEPT, folder, dirs_exist_ok=True)


def kept_judging(folder: Path) -> None:
    """An experiment, samples and pairs that were judged by a server that is not there any more."""
    shutil.copytree(JUDGED, folder, dirs_exist_ok=True)
    (folder / ".home" / "assay").mkdir(parents=True)
    shutil.move(folder / "embeddings.sqlite", folder / ".home" / "assay" / "llm.sqlite")


def kept_results(folder: Path) -> None:
    """Result files and judgments that an earlier version wrote, beside the collection."""
    shutil.copytree(RESULTS, folder, dirs_exist_ok=True)
    tea(folder)


def kept_demo(folder: Path) -> None:
    """What the demo's slow second model gave, as an earlier version kept it."""
    shutil.copytree(DEMO_CACHE, folder / "assay-demo" / "tea" / ".assay-cache")


def functions(folder: Path) -> None:
    """Functions to call."""
    tea(folder)
    (folder / "net_functions.py").write_text(
        "def rerank(query, documents):\n    return [-len(document) for document in documents]\n\n\n"
        "def search(query):\n    return [query]\n\n\ndef fail(query):\n    raise RuntimeError('no')\n\n\n"
        "import json\nfrom pathlib import Path\n\n"
        "LINES = Path('documents.jsonl').read_text(encoding='utf-8').splitlines()\n"
        "TEXTS = [json.loads(line) for line in LINES]\n\n\n"
        "def ask(question):\n    words = question.lower().split()\n"
        "    best = sorted(TEXTS, key=lambda row: -sum(word in row['text'].lower() for word in words))[:5]\n"
        "    found = [{'id': row['doc_id'], 'text': row['text']} for row in best]\n"
        "    return {'answer': found[0]['text'], 'contexts': found}\n",
        encoding="utf-8",
    )


def trial(folder: Path) -> None:
    """Users and arms of an A/B test."""
    names = "user_id,variant,day,clicks,impressions,bought,latency_ms,clicks_before"
    rows = [
        f"u{i},{('old', 'new')[i % 2]},2026-10-{1 + i // 2 % 14:02d},{i % 5 + i % 2},{10 + i % 7},{i % 3 % 2},{100 + i % 11},{i % 5}"
        for i in range(280)
    ]
    (folder / "users.csv").write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
    (folder / "arms.csv").write_text(
        "variant,measure,n,sum,sum_squares\nA,clicks,1000,2000,6000\nB,clicks,1010,2300,7000\n", encoding="utf-8"
    )


def interleaved(folder: Path) -> None:
    """Two runs, a log of their interleaved lists, and a table of what was shown with which probability."""
    for name, docs in (("old", "abcdef"), ("new", "bcadfe")):
        rows = [f"q{q} Q0 {docs[(i + q) % 6]} {i + 1} {9 - i} {name}" for q in range(4) for i in range(6)]
        (folder / f"{name}.run").write_text("\n".join(rows) + "\n", encoding="utf-8")
    log = []
    for i in range(240):
        shown = assay.interleave(list("abc"), list("bca"), k=3, query="tea", user=i % 80, names=["old", "new"])
        of = {
            "query_id": f"r{i}",
            "client_id": f"u{i % 80}",
            "timestamp": f"2026-10-{1 + i % 20:02d}T10:{i % 60:02d}:00Z",
        }
        log.append(of | {"user_query": "tea", "query_attributes": {"interleaving": shown.to_attributes()}})
        doc = next(
            doc for doc, team in zip(shown.documents, shown.teams, strict=True) if team == ("new" if i % 3 else "old")
        )
        log += [of | {"action_name": "click", "event_attributes": {"object": {"object_id": doc}}}] if i % 5 else []
    lines(folder / "log.ndjson", log)
    cells = [f"q{i % 4},{'abcd'[i // 4 % 4]},{1 + i // 16 % 2},{int(i % 7 == 0)},0.25" for i in range(960)]
    (folder / "shown.csv").write_text(
        "\n".join(["query_id,item_id,position,click,propensity_score", *cells]) + "\n", encoding="utf-8"
    )


QUERY_3 = "qd3c74c7ec52fb95a"  # the id of the text "query 3"


def event_log(folder: Path) -> None:
    """An event log of six texts whose lists of five changed from request to request, and a run of one of them."""
    lines = ["query_id,action,doc_id,position,text,user,time,result_count"]
    for i in range(120):
        text, time = f"query {i % 6}", f"2026-10-{1 + i % 20:02d}T10:{i % 60:02d}:00Z"
        lines.append(f"r{i},query,,,{text},u{i % 40},{time},{0 if i % 17 == 3 else 5}")
        for place in range(1, 6):
            doc = (i // 6 + place) % 5
            lines.append(f"r{i},impression,d{i % 6}{doc},{place},,u{i % 40},{time},")
            if (i * 7 + doc * 5 + place * 3) % (3 + doc + place) == 0:
                lines.append(f"r{i},click,d{i % 6}{doc},{place},,u{i % 40},{time},")
    (folder / "events.csv").write_text("\n".join(lines) + "\n")
    (folder / "found.run").write_text(f"{QUERY_3} Q0 d30 1 2 r\n{QUERY_3} Q0 d34 2 1 r\n")
