"""Random judgments and runs for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

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
