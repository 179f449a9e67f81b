"""Rank the demonstration collection with three simple systems and write their TREC run files.

Usage: python tools/make_demo_runs.py [data folder]
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "src" / "assay" / "demo" / "data"
DEPTH = 30
HAN = "\u4e00-\u9fff"
STOP_LIST = (
    "a an and are as at be by can do does for from how i in is it its my of on or that the this to "
    "was what when which who why with you your"
)
LONGEST_KEPT = 3  # words up to this length keep their final s
STOP_WORDS = frozenset(STOP_LIST.split())

Record = dict[str, str]
Scores = dict[str, float]
Searcher = Callable[[str], Scores]
Tokenizer = Callable[[str], list[str]]


def read_jsonl(path: Path) -> list[Record]:
    """Read one JSON object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def han_grams(text: str, size: int) -> list[str]:
    """Return the overlapping character n-grams of every stretch of Chinese characters."""
    stretches = re.findall(f"[{HAN}]+", text)
    return [s[i : i + size] for s in stretches for i in range(len(s) - size + 1)]


def plain_words(text: str) -> list[str]:
    """Return lower-cased Latin words and single Chinese characters."""
    return re.findall(f"[^\\W_{HAN}]+", text.lower()) + han_grams(text, 1)


def index_terms(text: str) -> list[str]:
    """Return words without stop words and plural endings, and Chinese character bigrams."""
    words = [w for w in re.findall(f"[^\\W_{HAN}]+", text.lower()) if w not in STOP_WORDS]
    stems = [w[:-1] if len(w) > LONGEST_KEPT and w.endswith("s") and not w.endswith("ss") else w for w in words]
    return stems + han_grams(text, 2)


def char_grams(text: str) -> list[str]:
    """Return character 4-grams of the Latin text and 2-grams of the Chinese text."""
    latin = " ".join(re.findall(f"[^\\W_{HAN}]+", text.lower()))
    padded = f" {latin} " if latin else ""
    return [padded[i : i + 4] for i in range(len(padded) - 3)] + han_grams(text, 2)


def full_text(doc: Record) -> str:
    """Return the title and the text of a document as one string."""
    return doc["title"] + "\n" + doc["text"]


def keywords(docs: list[Record]) -> Searcher:
    """Count distinct query words in the title, plus a tenth of those in the text."""
    fields = {d["doc_id"]: (set(plain_words(d["title"])), set(plain_words(d["text"]))) for d in docs}

    def search(query: str) -> Scores:
        words = set(plain_words(query))
        return {doc: len(words & title) + 0.1 * len(words & text) for doc, (title, text) in fields.items()}

    return search


def bm25(docs: list[Record], k1: float = 1.2, b: float = 0.75) -> Searcher:
    """Okapi BM25 over title and text."""
    counts = {d["doc_id"]: Counter(index_terms(full_text(d))) for d in docs}
    lengths = {doc: sum(terms.values()) for doc, terms in counts.items()}
    mean = sum(lengths.values()) / len(docs)
    df = Counter(term for terms in counts.values() for term in terms)
    idf = {term: math.log(1 + (len(docs) - n + 0.5) / (n + 0.5)) for term, n in df.items()}

    def search(query: str) -> Scores:
        terms = [t for t in index_terms(query) if t in idf]
        scores: Scores = {}
        for doc, tf in counts.items():
            norm = k1 * (1 - b + b * lengths[doc] / mean)
            scores[doc] = sum(idf[t] * tf[t] * (k1 + 1) / (tf[t] + norm) for t in terms)
        return scores

    return search


def ngrams(docs: list[Record]) -> Searcher:
    """Cosine similarity of TF-IDF weighted character n-grams over title and text."""
    counts = {d["doc_id"]: Counter(char_grams(full_text(d))) for d in docs}
    df = Counter(gram for grams in counts.values() for gram in grams)

    def weigh(grams: Counter[str]) -> dict[str, float]:
        weights = {g: n * math.log(len(docs) / df[g]) for g, n in grams.items() if g in df}
        norm = math.sqrt(sum(w * w for w in weights.values())) or 1.0
        return {g: w / norm for g, w in weights.items()}

    vectors = {doc: weigh(grams) for doc, grams in counts.items()}

    def search(query: str) -> Scores:
        wanted = weigh(Counter(char_grams(query)))
        return {doc: sum(w * vec.get(g, 0.0) for g, w in wanted.items()) for doc, vec in vectors.items()}

    return search


def main(folder: Path) -> None:
    """Write the run file of every system into the data folder."""
    docs, queries = read_jsonl(folder / "documents.jsonl"), read_jsonl(folder / "queries.jsonl")
    for name, build in (("keywords", keywords), ("bm25", bm25), ("ngrams", ngrams)):
        search = build(docs)
        lines: list[str] = []
        for query in queries:
            scores = [(round(score, 6), doc) for doc, score in search(query["text"]).items()]
            ranked = sorted((pair for pair in scores if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
            for rank, (score, doc) in enumerate(ranked[:DEPTH], start=1):
                lines.append(f"{query['query_id']} Q0 {doc} {rank} {score:.6f} {name}\n")
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
