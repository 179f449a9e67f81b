"""What a careful reader should know about scores: gaps, ties and doubts, in words."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assay.data.scores import MISSING, UNDEFINED, UNJUDGED

if TYPE_CHECKING:
    from assay.data.scores import Scores

_EXAMPLES = 3
_UNJUDGED_ALARM = 0.2


def doubts(scores: Scores, *, complete: bool = False) -> tuple[str, ...]:
    """List the odd things about one system's scores; `complete` judgments have no gaps to warn of."""
    gaps = [] if complete else _unjudged(scores)
    return (*_absent(scores), *_fewer(scores), *_tied(scores), *gaps, *_weighted(scores))


def _absent(scores: Scores) -> list[str]:
    out = []
    for code, one, many, rule in (
        (MISSING, "judged query is missing", "judged queries are missing", scores.protocol.missing),
        (UNDEFINED, "query has no relevant document", "queries have no relevant document", scores.protocol.undefined),
        (UNJUDGED, "query has no judgments", "queries have no judgments", "nowhere"),
    ):
        rows = (scores.status == code).any(axis=1)
        found = list(itertools.compress(scores.query_ids, rows))
        if found:
            fate = {"zero": "as 0", "skip": "nowhere"}.get(rule, rule)
            what = f"1 {one} and counts" if len(found) == 1 else f"{len(found):,} {many} and count"
            out.append(f"{what} {fate}: {_some(found)}")
    return out


def _fewer(scores: Scores) -> list[str]:
    """Name the means that stand on fewer queries than were judged."""
    by_number: dict[int, list[str]] = {}
    for label, counts in scores.counts.items():
        if counts.queries < scores.judged and not scores.definitions[label].startswith("coverage"):
            by_number.setdefault(counts.queries, []).append(label)
    return [f"{_some(labels)}: over {number:,} of {scores.judged:,} queries" for number, labels in by_number.items()]


def _tied(scores: Scores) -> list[str]:
    label, counts = max(scores.counts.items(), key=lambda item: item[1].tied)
    if not counts.tied:
        return []
    rule = {"docid": "document id", "given": "the order given"}.get(scores.protocol.ties, scores.protocol.ties)
    many = "1 query hangs" if counts.tied == 1 else f"{counts.tied} queries hangs"
    return [f"{label} of {many} on tied scores, broken by {rule}"]


def _unjudged(scores: Scores) -> list[str]:
    """Warn where many documents behind a number were never judged; the shallowest cutoff says most."""
    shares = [(_depth(scores.definitions[label]), label, c.unjudged_share or 0.0) for label, c in scores.counts.items()]
    _, label, share = min(shares)
    if all(every == 1.0 for _, _, every in shares):
        return ["no document of the run is judged: do both files use the same document ids? (see: assay check)"]
    if share > _UNJUDGED_ALARM:
        return [f"{share:.0%} of the documents behind {label} are unjudged and count as not relevant"]
    return []


def _depth(definition: str) -> float:
    cut = definition.rpartition("@")[2]
    return float(cut) if cut.isdigit() else float("inf")


def _weighted(scores: Scores) -> list[str]:
    return [] if scores.weights is None else ["means are weighted by query"]


def _some(items: list[str]) -> str:
    return ", ".join(items[:_EXAMPLES]) + (" ..." if len(items) > _EXAMPLES else "")
