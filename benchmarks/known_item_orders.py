"""The order of retrievers and of chunk sizes by known items, beside the order by questions that people wrote.

python benchmarks/known_item_orders.py [FOLDER]     # with xquad/ and noveleval/ in it; ../shared/data unless given

Retrievers search whole passages (nDCG@10); chunks are cut from whole articles and searched by words (the share of gold
spans in the first chunk). Each table ends with Kendall's tau of the two orders, and with the pairs of systems that
people's questions tell apart (randomised Tukey HSD, 5 %): how many of them known items order alike.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import assay
from assay.stats import kendall_tau

if TYPE_CHECKING:
    from collections.abc import Iterator

RETRIEVERS = """
[retrieve]
method = "bm25"
[[retrieve]]
name = "wordllama"
method = "vectors"
embedder = "wordllama"
[[retrieve]]
name = "minilm"
method = "vectors"
embedder = "minilm"
[[retrieve]]
name = "hybrid"
method = "hybrid"
embedder = "wordllama"
[evaluate]
measures = ["ndcg@10"]
""".replace("[retrieve]\n", "[[retrieve]]\n", 1)
CHUNKS = """
[chunk]
method = "sentence"
size = {sizes}
[retrieve]
method = "bm25"
depth = 20
[evaluate]
measures = ["span_recall@1"]
"""
KNOWN = 200


class Collection(NamedTuple):
    """Documents, people's questions, and the spans that answer them."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    gold: list[dict[str, Any]]


def read_xquad(folder: Path, lang: str, *, whole: bool) -> Collection:
    documents: dict[str, str] = {}
    queries, gold = {}, []
    for number, article in enumerate(json.loads((folder / f"xquad.{lang}.json").read_text())["data"]):
        at = 0
        for place, passage in enumerate(article["paragraphs"]):
            name = f"{number}" if whole else f"{number}-{place}"
            before = documents.get(name, "")
            at = len(before) + 2 if before else 0
            documents[name] = f"{before}\n\n{passage['context']}" if before else passage["context"]
            for one in passage["qas"]:
                answer = one["answers"][0]
                start = at + answer["answer_start"]
                queries[one["id"]] = one["question"]
                gold.append({"query_id": one["id"], "doc_id": name, "start": start, "text": answer["text"]})
    return Collection(f"xquad {lang}", documents, queries, gold)


def read_noveleval(folder: Path, *, whole: bool) -> Collection:
    rows = [line.split("\t", 1) for line in (folder / "corpus.tsv").read_text().splitlines()]
    queries = dict(line.split("\t", 1) for line in (folder / "queries.tsv").read_text().splitlines())
    documents: dict[str, str] = {}
    places = {}
    for passage, text in rows:
        name = passage.split("-")[0] if whole else passage
        before = documents.get(name, "")
        start = len(before) + 2 if before else 0
        documents[name] = f"{before}\n\n{text}" if before else text
        places[passage] = name, start, text
    gold = []
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, passage, grade = line.split()
        if int(grade):
            name, start, text = places[passage]
            gold.append({"query_id": query, "doc_id": name, "start": start, "text": text, "grade": int(grade)})
    return Collection("noveleval", documents, queries, gold)


def means(collection: Collection, body: str) -> tuple[dict[str, float], Any]:
    """Mean of every system, and the comparison."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = [{"doc_id": name, "text": text} for name, text in collection.documents.items()]
        asked = [{"query_id": name, "text": text} for name, text in collection.queries.items()]
        for name, lines in (("documents", rows), ("queries", asked), ("gold", collection.gold)):
            text = "".join(json.dumps(row) + "\n" for row in lines)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        data = '[data]\ndocuments = "documents.jsonl"\nqueries = "queries.jsonl"\ngold = "gold.jsonl"\n'
        (folder / "e.toml").write_text(data + body, encoding="utf-8")
        found = assay.run_experiment(folder / "e.toml").findings
    compared = assay.compare(list(found.scores), all_pairs=True)
    label = found.scores[0].labels[0]
    return {one.name: one[label] for one in found.scores}, compared


def told_apart(compared: Any, people: dict[str, float]) -> Iterator[tuple[str, str]]:
    """Pairs of systems that differ significantly, which share no letter, the better one first."""
    letters = dict(zip(compared.systems, compared.pairs[0].letters, strict=True))
    for one, other in itertools.permutations(people, 2):
        if people[one] > people[other] and not set(letters[one]) & set(letters[other]):
            yield one, other


def show(collection: Collection, title: str, body: str) -> None:
    made = assay.make_questions(collection.documents, KNOWN)
    known = collection._replace(queries={one.query_id: one.text for one in made.questions}, gold=list(made.to_gold()))
    people, compared = means(collection, body)
    simulated, _ = means(known, body)
    print(
        f"\n{collection.name}, {title}: {len(collection.queries)} questions of people, {len(known.queries)} known items"
    )
    for name in sorted(people, key=lambda one: -people[one]):
        print(f"  {name:40} people {people[name]:.3f}   known items {simulated[name]:.3f}")
    tau = kendall_tau([people[one] for one in people], [simulated[one] for one in people])
    pairs = list(told_apart(compared, people))
    alike = sum(simulated[better] > simulated[worse] for better, worse in pairs)
    count = len(list(itertools.combinations(people, 2)))
    told = "undefined" if tau.value is None else f"{tau.value:.2f}"
    print(
        f"  tau {told}; people tell {len(pairs)} of {count} pairs apart, known items order {alike} of them alike",
        flush=True,
    )


if __name__ == "__main__":
    data = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[2] / "shared" / "data"
    sizes = {"en": [250, 500, 1000], "zh": [80, 160, 320]}
    for lang in ("en", "zh"):
        show(read_xquad(data / "xquad", lang, whole=False), "retrievers", RETRIEVERS)
        show(read_xquad(data / "xquad", lang, whole=True), "chunk sizes", CHUNKS.format(sizes=sizes[lang]))
    show(read_noveleval(data / "noveleval", whole=False), "retrievers", RETRIEVERS)
    show(read_noveleval(data / "noveleval", whole=True), "chunk sizes", CHUNKS.format(sizes=sizes["en"]))
