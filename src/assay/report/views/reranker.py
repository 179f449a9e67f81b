"""What a reranker made of its candidates: the comparison with what they were, and the time it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Lines
from assay.report.views import comparison

if TYPE_CHECKING:
    from assay.results.reranker import RerankerEvaluation

_FEW = 100  # calls below which the tail of latencies is not known


def document(found: RerankerEvaluation, protocol: str) -> list[Block]:
    """Before and after, then the latency."""
    return [*comparison.document(found.comparison, protocol), Lines(tuple(_latency(found)))]


def view(found: RerankerEvaluation) -> list[Block]:
    """All of it, with the protocol that its scores name."""
    return document(found, str(found.before.protocol))


def _latency(found: RerankerEvaluation) -> list[Said]:
    n = len(found.ms)
    mean = sum(found.candidates.values()) / n
    times = {name: found.latency_ms[name] for name in ("p50", "p95", "p99")}
    said = [say("rerank.latency", n=n, candidates=round(mean, 1), **times)]
    if n < _FEW:
        said.append(say("rerank.tail", n=n))
    if found.tokens and found.money is not None:
        key = "rerank.used_estimated" if found.estimated or found.money_estimated else "rerank.used"
        said.append(say(key, tokens=found.tokens, money=found.money / n))
    if found.chosen.get("embedder"):
        said.append(say("experiment.embedders", names=[found.chosen["embedder"]]))
    if found.faults:
        counts = ", ".join(f"{reason} {count}" for reason, count in found.faults.items())
        said.append(say("experiment.faults", name="reranked", counts=counts))
    return said
