"""Random judgments and runs for property tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    import random

DOCS = [f"d{i}" for i in range(14)]


def grades(low: int = -1, high: int = 3) -> st.SearchStrategy[dict[str, int]]:
    """Grades of some documents of one query."""
    return st.dictionaries(st.sampled_from(DOCS), st.integers(low, high), min_size=1, max_size=10)


def tied_scores() -> st.SearchStrategy[dict[str, float]]:
    """Scores with many ties."""
    return st.dictionaries(st.sampled_from(DOCS), st.integers(-2, 2).map(float), min_size=1, max_size=10)


def distinct_scores() -> st.SearchStrategy[dict[str, float]]:
    """A random order of some documents, no ties."""
    return st.permutations(DOCS).flatmap(
        lambda order: st.integers(1, len(order)).map(lambda n: {doc: float(-i) for i, doc in enumerate(order[:n])})
    )


def judged_lists(scores: st.SearchStrategy[dict[str, float]], low: int = -1) -> st.SearchStrategy[tuple]:
    """Judgments and runs of one to four queries, not always the same ones."""
    queries = st.sampled_from(["q1", "q2", "q3", "q4"])
    return st.tuples(
        st.dictionaries(queries, grades(low), min_size=1, max_size=4),
        st.dictionaries(queries, scores, min_size=1, max_size=4),
    )


def random_pair(rng: random.Random) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run with ties, float32 collisions, missing and unjudged queries, negative grades and scores."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    docs = [f"d{i}" for i in range(rng.choice([3, 8, 30, 80]))]
    top = rng.choice([1, 1, 2, 3, 5])
    for number in range(rng.randint(1, 6)):
        query = f"q{number}"
        judged = rng.sample(docs, rng.randint(1, len(docs)))
        low = rng.choice([0, 0, 0, -1, -2])
        if rng.random() < 0.9:
            qrels[query] = {doc: rng.randint(low, top) for doc in judged}
        if query in qrels and (rng.random() < 0.1 or max(qrels[query].values()) < 0):
            qrels[query] = dict.fromkeys(judged, 0)  # pytrec_eval never returns when all grades are negative
        if rng.random() < 0.9:
            listed = rng.sample(docs, rng.randint(1, len(docs)))
            run[query] = {doc: random_score(rng) for doc in listed}
    return qrels, run


def random_score(rng: random.Random) -> float:
    kind = rng.random()
    if kind < 0.4:
        return float(rng.randint(-3, 3))
    if kind < 0.6:
        return 1.0 + rng.randint(0, 5) * 1e-9  # collides in float32 only
    return rng.gauss(0, 10)


def pieces(docs: str = "de", most: int = 20) -> st.SearchStrategy[tuple[str, int, int]]:
    """A piece of a document: its id, its first character and the one behind its last."""
    sizes = st.tuples(st.integers(0, most), st.integers(1, most))
    return st.builds(lambda doc, place: (doc, place[0], place[0] + place[1]), st.sampled_from(docs), sizes)


def gold_spans() -> st.SearchStrategy[list[list[tuple[str, int, int]]]]:
    """Spans of one query, each with the places of one document that its text stands at."""

    def moved(piece: tuple[str, int, int], shifts: set[int]) -> list[tuple[str, int, int]]:
        doc, start, end = piece
        return [piece, *((doc, start + shift, end + shift) for shift in sorted(shifts))]

    return st.lists(st.builds(moved, pieces(), st.sets(st.integers(1, 9), max_size=2)), min_size=1, max_size=4)
