"""A simulated event log of the bundled collection: one A/B test of two of its runs, whose true lift is known.

Users ask its queries. What they are shown is the list of their variant; they look at a place the less, the lower it is,
and click on what they look at the more, the better its grade is (a position-based model).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assay.demo import Bundle

CONTROL, TREATMENT = "ngrams", "bm25"
MEASURE, GUARDRAIL = "any_click", "query_latency<=+10%"  # what decides, and what may not get worse
LOOKED_AT = (1.0, 0.6, 0.4, 0.3, 0.25)  # how often each place is looked at
ATTRACTION = {0: 0.04, 1: 0.35, 2: 0.7}  # how often what is looked at is clicked, by its grade
_HABITS = (0.8, 1.2)  # of users, who click more or less than others
_USERS, _DAYS = 1_000, 14
_START = datetime(2026, 3, 2, 6, tzinfo=UTC)
_LATENCY = {CONTROL: 40.0, TREATMENT: 41.0}


@dataclass(frozen=True)
class _Request:
    """A query that a user asked; `of` is what all of its lines have."""

    of: dict[str, str]
    query: str
    variant: str
    time: datetime
    habit: float

    def event(self, action: str, doc: str, place: int, *, after: int) -> str:
        """A line of what was done with a document, so many seconds later."""
        about = {"object": {"object_id": doc}, "position": {"ordinal": place + 1}}
        return _line(self.time + timedelta(seconds=after), **self.of, action_name=action, event_attributes=about)


@dataclass(frozen=True)
class Simulation:
    """Lists by variant and query, and the chance of a click at each of their places."""

    texts: dict[str, str]
    lists: dict[str, dict[str, list[str]]]
    chances: dict[str, dict[str, list[float]]]

    def share(self, variant: str) -> float:
        """How many of the requests get a click, on average over all that could happen."""
        missed = [
            np.prod([1 - habit * one for one in chances])
            for chances in self.chances[variant].values()
            for habit in _HABITS
        ]
        return float(1 - np.mean(missed))

    @property
    def lift(self) -> float:
        """The true relative lift of the share of requests with a click."""
        return self.share(TREATMENT) / self.share(CONTROL) - 1

    def lines(self, seed: int = 0) -> Iterator[str]:
        """The log in JSON lines of UBI."""
        rng = np.random.default_rng(seed)
        queries = sorted(self.texts)
        for user in range(_USERS):
            variant, habit = (CONTROL, TREATMENT)[user % 2], _HABITS[rng.integers(2)]
            start = _START + timedelta(days=int(rng.integers(_DAYS)), seconds=int(rng.integers(40_000)))
            for i in range(1 + rng.poisson(1.0)):
                query = queries[rng.integers(len(queries))]
                of = {"application": "simulated", "query_id": f"{user}-{i}", "client_id": f"user{user}"}
                asked = _Request(of, query, variant, start + timedelta(minutes=7 * i), habit)
                yield from self._follow(asked, rng)

    def _follow(self, asked: _Request, rng: np.random.Generator) -> Iterator[str]:
        """A request, what was shown, and the clicks on it."""
        query, variant = asked.query, asked.variant
        shown = self.lists[variant][query]
        about = {"experiment": {"id": "demo", "variant": variant},
                 "latency_ms": round(float(rng.gamma(20, _LATENCY[variant] / 20)), 1)}  # fmt: skip
        listed = {"user_query": self.texts[query], "query_response_hit_ids": shown}
        yield _line(asked.time, **asked.of, **listed, query_attributes=about)
        for place, doc in enumerate(shown):
            yield asked.event("impression", doc, place, after=1)
        for place, (doc, chance) in enumerate(zip(shown, self.chances[variant][query], strict=True)):
            if rng.random() < asked.habit * chance:
                yield asked.event("click", doc, place, after=5 + 20 * place)


def simulate_log(place: Bundle) -> Simulation:
    """Make the lists and chances of the simulation from runs and judgments of the collection."""
    grades = {(row[0], row[2]): int(row[3]) for row in _rows(place.judgments)}
    rows = [json.loads(line) for line in place.queries_file.read_text(encoding="utf-8").splitlines() if line]
    files = {path.stem: path for path in place.runs}
    lists = {name: _lists(files[name]) for name in (CONTROL, TREATMENT)}
    chances = {
        name: {
            query: [seen * ATTRACTION[grades.get((query, doc), 0)] for seen, doc in zip(LOOKED_AT, docs, strict=False)]
            for query, docs in found.items()
        }
        for name, found in lists.items()
    }
    return Simulation({row["query_id"]: row["text"] for row in rows}, lists, chances)


def _rows(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line]


def _lists(path: Path) -> dict[str, list[str]]:
    """The best documents of each query of a run."""
    found: dict[str, list[str]] = {}
    for query, _, doc, *_ in sorted(_rows(path), key=lambda row: -float(row[4])):
        docs = found.setdefault(query, [])
        if len(docs) < len(LOOKED_AT):
            docs.append(doc)
    return found


def _line(time: datetime, **values: Any) -> str:
    return json.dumps({"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), **values}, ensure_ascii=False)
