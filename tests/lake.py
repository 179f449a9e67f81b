"""Cases for engines: random judgments and runs of many shapes, and every measure of rankings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

import assay
from assay.errors import AssayError
from assay.measures import REGISTRY
from strategies import random_pair

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from assay.data.judgments import Judgments

_LEAST = {"err": "(max_grade=6)@10"}


def _spell(name: str) -> str:
    spec = REGISTRY[name]
    return name + _LEAST.get(name, "" if spec.cutoff == "none" else "@10")


_RANKED = sorted(
    name for name, spec in REGISTRY.items()
    if spec.of == "rankings" and not spec.needs_subtopics and spec.function.__module__.startswith("assay.")
)  # fmt: skip
MEASURES = {
    "docid": [
        *map(_spell, _RANKED),
        "ndcg(gain='exp')@5",
        "average_precision(gain='graded', max_grade=6)",
        "ndcg(judged_only=true)@3",
    ],
    "given": [*map(_spell, _RANKED)],
    "expected": [_spell(name) for name in _RANKED if REGISTRY[name].expected or REGISTRY[name].order_free],
}
SUBTOPICS = [
    _spell(name)
    for name, spec in REGISTRY.items()
    if spec.needs_subtopics and spec.function.__module__.startswith("assay.")
]
RULES = [
    {},
    {"ties": "given"},
    {"ties": "expected"},
    {"missing": "skip", "undefined": "skip", "min_relevance": 2},
    {"ignore_same_id": True},
]


def random_rows(rng: random.Random, cases: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Several random cases as one: queries are named after the case."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for case in range(cases):
        judged, listed = random_pair(rng)
        qrels |= {f"{case}/{query}": docs for query, docs in judged.items()}
        run |= {f"{case}/{query}": docs for query, docs in listed.items()}
    shared = set(qrels) & set(run)
    return (qrels, run) if shared else random_rows(rng, cases)


def rows_of_run(run: dict[str, dict[str, float]]) -> pl.DataFrame:
    """A run as rows."""
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row")


def scatter(rows: pl.DataFrame, folder: Path, parts: int, rng: random.Random) -> Path:
    """Rows in no order, in several files of several row groups."""
    rows = rows.sample(fraction=1.0, shuffle=True, seed=rng.randrange(1000))
    folder.mkdir()
    size = len(rows) // parts + 1
    for number in range(parts):
        rows[number * size : (number + 1) * size].write_parquet(folder / f"part-{number}.parquet", row_group_size=7)
    return folder


def faulty_rows(rng: random.Random, cases: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments and a run with everything that a check looks for, each fault in some of the cases."""
    qrels, run = random_rows(rng, cases)
    odd = ["{}", "{}", "{}", "{}#1", " {}", "{}\uff11", "{}1"]
    judged = [
        (query, odd[rng.randrange(7)].format(doc), grade + rng.choice([0, 0, 0, 0.5]))
        for query, docs in qrels.items() for doc, grade in docs.items() for _ in range(rng.choice([1, 1, 1, 2]))
    ]  # fmt: skip
    listed = []
    for query, docs in run.items():
        tied, name = rng.random() < 0.2, query if rng.random() < 0.9 else query.replace("q", "\uff51")
        for rank, (doc, score) in enumerate(docs.items(), 1):
            own = 1.0 if tied else score
            listed.append((name, odd[rng.randrange(7)].format(doc), own, rank))
    ids = {"query_id": pl.String, "doc_id": pl.String}
    return (
        pl.DataFrame(judged, schema={**ids, "grade": pl.Float64}, orient="row").sort("query_id", "doc_id", "grade"),
        pl.DataFrame(listed, schema={**ids, "score": pl.Float64, "rank": pl.Int64}, orient="row").sort(
            "query_id", "doc_id"),
    )  # fmt: skip


_WORDS = [
    "tea",
    "is",
    "grown",
    "in",
    "Assam",
    "and",
    "Darjeeling",
    "since",
    "1840",
    "the",
    "leaves",
    "are",
    "steamed",
    "not",
    "fermented",
    "until",
    "42",
    "days",
    "rain",
    "falls",
    "heavily",
    "茶叶",
    "在",
    "雨季",
    "之后",
    "采摘",
]


def random_samples(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Answers of two systems to the same questions: refusals, empty ones, some without contexts, some in a talk."""

    def text(n: int) -> str:
        return " ".join(rng.choice(_WORDS) for _ in range(n)).capitalize() + "."

    rows, history = [], []
    for number in range(count):
        question = text(5).replace(".", "?")
        reference = text(4)
        history = [*history, *([rows[-1]["question"]] if rows else [])] if number % 4 else []
        for system in ("old", "new"):
            answers = [f"{text(8)} {text(6)} [1]", "", "I do not know.", text(3), reference]
            rows.append({
                "id": f"s{number}", "system": system, "question": question, "answer": rng.choice(answers),
                "contexts": [text(20) for _ in range(rng.randint(0, 3))], "reference": reference,
                "history": [{"role": "user", "content": one} for one in history], "area": f"t{number % 7}",
            })  # fmt: skip
    rng.shuffle(rows)
    return rows


def judged_rows(judgments: Judgments) -> pl.DataFrame:
    """Judgments as rows with a grade."""
    return judgments.frame.with_columns(pl.lit(None, pl.Float64).alias("score"))


# Event logs, and what commands make of them ---------------------------------------------------------------------------


def say_all(log: Any, control: str | None = None) -> list[Any]:
    """All that the three commands make of a log, or why they refuse it."""
    found: list[Any] = [list(map(str, log.remarks))]
    for make in (
        lambda: assay.log_metrics(log, by=["variant", *log.attributes]),
        lambda: assay.log_metrics(log, "any_click,query_latency(p=95)", by="day", timezone="Asia/Tokyo"),
        lambda: assay.click_judgments(log, least=1),
        lambda: assay.click_judgments(log, "pbm", least=2, queries={"q7": "GREEN tea"}),
        lambda: assay.click_judgments(log, "ctr", least=1, cuts="value"),
        lambda: assay.ab_test(log, "any_click,query_latency,clicks", control=control, least_users=1, planned=2),
    ):
        try:
            found.append(make().to_dict())
        except AssayError as error:
            found.append(str(error.message))
    return found


_ACTIONS = ("query", "query", "impression", "impression", "click", "click", "rating", "view", None)
_VARIANTS = ("control", "Control", "new", "new ", None)


def random_log(rng: random.Random, requests: int = 60) -> pl.DataFrame:
    """A log with every fault that is looked for: in columns with names of their own, in no order."""
    start = datetime(2025, 3, 1, tzinfo=UTC)
    users = [None, "crawler-bot", *(f"u{i}" for i in range(requests // 4))]
    rows = [row for number in range(requests) for row in _request(rng, number, start, users)]
    minute = start + timedelta(days=3)
    hasty = {
        "client_id": "u1",
        "user_query": "tea",
        "action_name": "query",
    }  # more requests in a minute than people send
    rows += [
        {**hasty, "query_id": f"h{i}", "timestamp": minute + timedelta(seconds=i)} for i in range(rng.choice([0, 31]))
    ]
    rows += rng.choices(rows, k=6)  # the same once more
    rng.shuffle(rows)
    kinds = {"position": pl.Float64, "timestamp": pl.Datetime("us", "UTC"), "results": pl.List(pl.String),
             "latency_ms": pl.Float64, "rating": pl.Float64, "cost": pl.Float64}  # fmt: skip
    names = ("query_id", "client_id", "session_id", "timestamp", "action_name", "doc_id", "user_query", "experiment",
             "variant", "application", "user_agent", "area")  # fmt: skip
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), **kinds})


def _request(rng: random.Random, number: int, start: datetime, users: list[str | None]) -> list[dict[str, Any]]:
    """A request and its events, some of which lack what they need, or come before it."""
    name = None if rng.random() < 0.03 else f"q{number if rng.random() < 0.9 else rng.randrange(number + 1)}"
    time = start + timedelta(minutes=rng.randrange(20_000), milliseconds=rng.randrange(1000))
    user, first, many = rng.choice(users), rng.choice([0, 1]), rng.random() < 0.3
    session = rng.choice([None, f"s{rng.randrange(9)}"])
    made = {
        "query_id": name, "client_id": user, "session_id": session, "timestamp": time, "action_name": "query",
        "user_query": rng.choice(["tea", "Tea ", "green tea", "milk", "", None]), "area": rng.choice(["a", "b", None]),
        "results": rng.choice([None, [], ["d1", "d2", "d3"]]), "latency_ms": rng.choice([None, rng.random() * 900]),
        "cost": rng.choice([None, rng.random(), -1.0]), "application": rng.choice([None, "shop"]),
        "user_agent": rng.choice([None, None, "Googlebot"]) if rng.random() < 0.1 else None,
        "experiment": "ranker" if many else None, "variant": rng.choice(_VARIANTS) if many else None,
    }  # fmt: skip
    found = [made] if rng.random() < 0.9 else []
    for _ in range(rng.randrange(7)):
        early = rng.choice([-3, -3, -3, 0.01, 5])
        found.append({
            **dict.fromkeys(made), "query_id": name, "timestamp": rng.choice([time - timedelta(minutes=early), time, None]),
            "client_id": user if rng.random() < 0.6 else rng.choice(users), "action_name": rng.choice(_ACTIONS),
            "session_id": rng.choice([None, session]), "doc_id": rng.choice([None, "d1", "d2", "d3", "d4"]),
            "position": rng.choice([None, first, first + 1, first + 2, 2.5]), "rating": rng.choice([None, 1, 4, -1]),
            "application": made["application"], "variant": rng.choice([None, made["variant"]]),
        })  # fmt: skip
    return found
