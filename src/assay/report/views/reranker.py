"""What a reranker made of its candidates: the comparison with what they were, and the time it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.views import comparison

if TYPE_CHECKING:
    from assay.results.reranker import RerankerEvaluation


def line(found: RerankerEvaluation) -> Verdict:
    """What came out on the first measure."""
    return comparison.line(found.comparison) if found.comparison is not None else Verdict(_latency(found)[0])


def table(found: RerankerEvaluation) -> list[Block]:
    """Before and after, then the latency."""
    return [*([] if found.comparison is None else comparison.table(found.comparison)), *timing(found)]


def page(found: RerankerEvaluation, place: int = 0) -> list[Block]:
    """The same, with the pictures of a comparison."""
    return [*([] if found.comparison is None else comparison.page(found.comparison, place)), *timing(found)]


def timing(found: RerankerEvaluation) -> list[Block]:
    """Latency, tokens, money and failed calls, which a comparison does not show."""
    return [Lines(tuple(_latency(found)))]


def _latency(found: RerankerEvaluation) -> list[Said]:
    n = len(found.ms)
    times = {name: found.latency_ms[name] for name in ("p50", "p95", "p99")}
    said = [say("rerank.latency", n=n, candidates=round(found.mean_candidates, 1), **times)]
    if found.too_few_for_p99:
        said.append(say("rerank.tail", n=n))
    if found.tokens and found.money is not None:
        key = "rerank.used_estimated" if found.estimated or found.money_estimated else "rerank.used"
        said.append(say(key, tokens=found.tokens, money=found.money / n))
    if found.chosen.get("embedder"):
        said.append(say("experiment.embedders", names=[found.chosen["embedder"]]))
    if found.faults:
        counts = [say("call.count", reason=word("call", reason), n=count) for reason, count in found.faults.items()]
        said.append(say("experiment.faults", name="reranked", counts=counts))
    return said
