"""Measures written from their definitions in a few lines of plain Python: the independent side of every comparison."""

from __future__ import annotations

import math
from itertools import permutations

Grades = dict[str, float]


def relevant(grades: Grades, level: float = 1) -> set[str]:
    return {doc for doc, grade in grades.items() if grade >= max(level, 0)}


def precision(ranking: list[str], grades: Grades, k: int, level: float = 1) -> float:
    return len(set(ranking[:k]) & relevant(grades, level)) / k


def recall(ranking: list[str], grades: Grades, k: int, level: float = 1) -> float:
    return len(set(ranking[:k]) & relevant(grades, level)) / len(relevant(grades, level))


def hit_rate(ranking: list[str], grades: Grades, k: int) -> float:
    return float(bool(set(ranking[:k]) & relevant(grades)))


def reciprocal_rank(ranking: list[str], grades: Grades, k: int | None = None) -> float:
    return next((1 / i for i, doc in enumerate(ranking[:k], 1) if doc in relevant(grades)), 0.0)


def average_precision(ranking: list[str], grades: Grades, k: int | None = None) -> float:
    good = relevant(grades)
    hits = [i for i, doc in enumerate(ranking[:k], 1) if doc in good]
    return sum(n / i for n, i in enumerate(hits, 1)) / len(good)


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def gain_of(grade: float | None, kind: str) -> float:
    grade = max(grade or 0, 0)
    return {"linear": grade, "exp": 2**grade - 1, "binary": float(grade >= 1)}[kind]


def ndcg(
    ranking: list[str], grades: Grades, k: int | None = None, kind: str = "linear", *, full: bool = False
) -> float:
    best = sorted((gain_of(g, kind) for g in grades.values()), reverse=True)
    return dcg([gain_of(grades.get(doc), kind) for doc in ranking[:k]]) / dcg(best if full else best[:k])


def err(ranking: list[str], grades: Grades, k: int | None, top: float) -> float:
    total, reach = 0.0, 1.0
    for rank, doc in enumerate(ranking[:k], 1):
        stop = (2 ** max(grades.get(doc, 0), 0) - 1) / 2**top
        total, reach = total + reach * stop / rank, reach * (1 - stop)
    return total


def all_orders(scores: dict[str, float]) -> list[list[str]]:
    """Every order of the documents that the scores allow."""
    orders: list[list[str]] = [[]]
    for level in sorted(set(scores.values()), reverse=True):
        tied = [doc for doc, score in scores.items() if score == level]
        orders = [[*order, *part] for order in orders for part in permutations(tied)]
    return orders


def alpha_ndcg(ranking: list[str], subtopics: dict[str, set[str]], k: int, alpha: float) -> float:
    def gain(docs: list[str]) -> float:
        seen: dict[str, int] = {}
        total = 0.0
        for rank, doc in enumerate(docs, 1):
            for topic in subtopics.get(doc, ()):
                total += (1 - alpha) ** seen.get(topic, 0) / math.log2(rank + 1)
                seen[topic] = seen.get(topic, 0) + 1
        return total

    ideal: list[str] = []
    while len(ideal) < min(k, len(subtopics)):
        left = sorted(set(subtopics) - set(ideal), reverse=True)  # of equal gains the last id, as ndeval does
        ideal.append(max(left, key=lambda doc: gain([*ideal, doc])))
    return gain(ranking[:k]) / gain(ideal)


Piece = tuple[str, int, int]  # document, first character, the one behind the last


def span_recall(spans: list[list[Piece]], chunks: list[Piece], k: int, share: float = 0.5) -> float:
    """Each span is a list of the places it stands at, any of which will do."""
    held = {(doc, sign) for doc, start, end in chunks[:k] for sign in range(start, end)}
    found = [
        any(sum((doc, sign) in held for sign in range(a, b)) >= share * (b - a) for doc, a, b in places)
        for places in spans
    ]
    return sum(found) / len(found)


def span_precision(spans: list[list[Piece]], chunks: list[Piece], k: int) -> float:
    gold = {(doc, sign) for places in spans for doc, start, end in places for sign in range(start, end)}
    read = [(doc, sign) for doc, start, end in chunks[:k] for sign in range(start, end)]
    return sum(sign in gold for sign in read) / len(read) if read else 0.0
