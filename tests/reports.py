"""Results written by hand, in the shapes that commands write, for the tests of reports."""

from __future__ import annotations

import assay
from assay.results.result import decode_result, make_result

DOCUMENTS = {f"d{i}": f"Document {i}: what it says about steeping and water, 第 {i} 篇。 " * 4 for i in range(1, 13)}
QUERIES = {f"q{i:02d}": f"question {i}, 问题 {i}" for i in range(1, 15)}


def judgments(queries=QUERIES):
    return {query: {"d1": 2, f"d{2 + i % 9}": 1, "d12": 0} for i, query in enumerate(queries)}


def run(shift: int, queries=QUERIES):
    """Lists that put the documents in another order for each query."""
    docs = list(DOCUMENTS)
    return {
        query: {
            doc: float(-((docs.index(doc) * (i + shift)) % 11) - docs.index(doc) / 100) for doc in docs[: 9 + i % 3]
        }
        for i, query in enumerate(queries)
    }


def scores(names=("first", "second", "third"), measures=("ndcg@10", "recall@5", "precision@5"), queries=QUERIES):
    found = judgments(queries)
    return [
        assay.evaluate(found, run(i + 2, queries), list(measures), protocol="rerank", name=name)
        for i, name in enumerate(names)
    ]


def evaluation(names=("first", "second", "third"), **more):
    return make_result(
        [part for found in bare(**more).parts.values() for part in (found if isinstance(found, tuple) else (found,))],
        systems=scores(names), command="assay evaluate qrels.txt one.run", warnings=["a doubt of old"],
    )  # fmt: skip


def bare(**more):
    """A result without systems."""
    parts = {"schema": 1, "version": "0.1.0", "command": "assay bench x", "systems": [], "inputs": [], "warnings": []}
    return decode_result({**parts, "per_query": {"query_id": [], "values": {}, "status": {}}, **more})


ANSWER = "Steep it for three minutes. The water must boil. 第三句没有依据。"
ANSWERS = {
    "samples": [
        {
            "query_id": "q01", "question": "How long to steep?", "answer": ANSWER, "method": "words",
            "contexts": [{"id": "d1", "text": "Steep oolong for three minutes."}, {"id": "d2", "text": "Use hot water."}],
            "stage": "used but not supported",
            "statements": [
                {"start": 0, "end": 27, "support": 0.95, "context": 0, "evidence": "Steep oolong for three minutes.", "reason": None},
                {"start": 28, "end": 48, "support": 0.6, "context": 1, "evidence": "Use hot water.", "reason": "hot is not boiling"},
                {"start": 49, "end": len(ANSWER), "support": 0.1, "context": None, "evidence": None, "reason": "nothing says so"},
            ],
        },
        {
            "query_id": "q02", "question": "为什么茶会苦？", "answer": "因为水太热。", "method": "llm", "contexts": [],
            "stage": "fine", "statements": [{"start": 0, "end": 6, "support": 1.0, "context": None, "evidence": None, "reason": None}],
        },
    ],
    "methods": {"words": 1, "llm": 1},
    "agreement": {"words": "Spearman .65 with people on 477 answers"},
}  # fmt: skip

EXPERIMENT = {
    "axes": {"retriever": ["bm25", "hybrid"], "reranker": ["none", "cross-encoder"]},
    "measure": "ndcg@10",
    "baseline": "bm25",
    "winner": {
        "name": "hybrid + rerank",
        "holdout": {
            "queries": 12, "chosen_on": 28, "measure": "ndcg@10", "winner": {"mean": 0.8612, "low": 0.83, "high": 0.89},
            "baseline": {"mean": 0.66, "low": 0.6, "high": 0.72}, "difference": {"mean": 0.2012, "low": 0.11, "high": 0.29}, "pvalue": 0.0123,
        },
    },
    "combinations": [
        {
            "name": name, "axes": {"retriever": retriever, "reranker": reranker}, "status": "done", "reason": None,
            "pareto": pareto, "quality": {"ndcg@10": {"mean": mean, "low": mean - 0.03, "high": mean + 0.03, "pvalue": p}},
            "latency_ms": {"p50": p95 / 2, "p95": p95, "p99": p95 * 1.4}, "cost_per_query": cost,
            "stages": [{"stage": "retrieve", "ms_p50": 4.0, "ms_p95": 9.5, "tokens": 0, "money": 0.0}],
            "index": {"build_seconds": 1.25, "chunks": 155, "bytes": 20480, "peak_memory_bytes": 1048576},
        }
        for name, retriever, reranker, mean, p95, cost, pareto, p in (
            ("bm25", "bm25", "none", 0.65, 12.0, 0.0, True, None),
            ("hybrid", "hybrid", "none", 0.78, 45.0, 0.0002, True, 0.001),
            ("bm25 + rerank", "bm25", "cross-encoder", 0.76, 160.0, 0.001, False, 0.004),
            ("hybrid + rerank", "hybrid", "cross-encoder", 0.87, 210.0, 0.0012, True, 0.0001),
        )
    ]
    + [{"name": "broken", "axes": {"retriever": "hybrid", "reranker": "x"}, "status": "failed", "reason": "no such model", "pareto": False,
        "quality": {}, "latency_ms": {}, "stages": [], "index": None, "cost_per_query": None}],
}  # fmt: skip

BENCH = {
    "target": "http://localhost/rerank",
    "loads": [
        {
            "kind": "closed", "threads": threads, "candidates": 50, "seconds": 60, "count": 100 * threads,
            "errors": {"timeout": threads - 1} if threads > 1 else {}, "throughput_qps": qps,
            "latency_ms": {"p50": {"value": 200.0, "low": 195.0, "high": 206.0}, "p95": {"value": 301.25, "low": 290.0, "high": 320.0},
                           "p99": {"value": 402.0, "low": 360.0, "high": 450.0}, "mean": 210.0, "std": 44.0},
            "histogram": {"edges": [100, 150, 200, 250, 300, 350, 400, 450], "counts": [5, 20, 40, 20, 9, 4, 2]},
        }
        for threads, qps in ((1, 50.0), (2, 95.5), (4, 180.25))
    ],
    "warnings": ["100 calls are too few for P99"],
}  # fmt: skip

ECONOMICS = {
    "currency": "USD",
    "costs": [{"method": "cross-encoder", "per_query": 0.001, "per_day": 100.0}, {"method": "LLM pointwise", "per_query": 0.025, "per_day": 2500.0}],
    "roi": {
        "value": 1.0833, "low": 0.4, "high": 1.8, "break_even_queries_per_day": 12000, "break_even_price": 0.0020833,
        "curve": [{"queries_per_day": n, "net_per_day": n * 0.0010833 - 13.0} for n in (0, 25000, 50000, 75000, 100000)],
    },
}  # fmt: skip


def everything():
    """Results that fill every page."""
    return [
        evaluation(),
        bare(answers=ANSWERS),
        bare(bench=BENCH),
        bare(economics=ECONOMICS),
        bare(experiment=EXPERIMENT),
    ]
