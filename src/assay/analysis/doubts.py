"""What a careful reader should know about scores: gaps, ties and doubts, in words."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assay.data.scores import MISSING, UNDEFINED, UNJUDGED
from assay.messages import Said, say

if TYPE_CHECKING:
    from assay.data.scores import Scores

_EXAMPLES = 3
_UNJUDGED_ALARM = 0.2


def doubts(scores: Scores, *, complete: bool = False) -> tuple[Said, ...]:
    """List the odd things about one system's scores; `complete` judgments have no gaps to warn of."""
    gaps = [] if complete else _unjudged(scores)
    return (*_judged(scores), *_absent(scores), *_fewer(scores), *_tied(scores), *gaps, *_weighted(scores))


def _judged(scores: Scores) -> list[Said]:
    if scores.uncalibrated:
        return [say("doubt.uncalibrated", judge=scores.judge)]
    return [say("doubt.calibrated", judge=scores.judge, how=scores.calibration)] if scores.judge else []


def _absent(scores: Scores) -> list[Said]:
    out = []
    for code, key, rule in (
        (MISSING, "doubt.missing", scores.protocol.missing),
        (UNDEFINED, "doubt.undefined", scores.protocol.undefined),
        (UNJUDGED, "doubt.unjudged_query", "skip"),
    ):
        rows = (scores.status == code).any(axis=1)
        found = list(itertools.compress(scores.query_ids, rows))
        if found:
            out.append(say(key, n=len(found), fate=say(f"fate.{rule}"), some=_some(found)))
    return out


def _fewer(scores: Scores) -> list[Said]:
    """Name the means that stand on fewer queries than were judged."""
    by_number: dict[int, list[str]] = {}
    for label, counts in scores.counts.items():
        if counts.queries < scores.judged and not scores.definitions[label].startswith("coverage"):
            by_number.setdefault(counts.queries, []).append(label)
    return [
        say("doubt.fewer", labels=_some(labels), n=number, judged=scores.judged) for number, labels in by_number.items()
    ]


def _tied(scores: Scores) -> list[Said]:
    label, counts = max(scores.counts.items(), key=lambda item: item[1].tied)
    if not counts.tied:
        return []
    return [say("doubt.tied", label=label, n=counts.tied, rule=say(f"rule.{scores.protocol.ties}"))]


def _unjudged(scores: Scores) -> list[Said]:
    """Warn where many documents behind a number were never judged; the shallowest cutoff says most."""
    shares = [(_depth(scores.definitions[label]), label, c.unjudged_share or 0.0) for label, c in scores.counts.items()]
    _, label, share = min(shares)
    if all(every == 1.0 for _, _, every in shares):
        return [say("doubt.no_common")]
    return [say("doubt.unjudged", share=share, label=label)] if share > _UNJUDGED_ALARM else []


def _depth(definition: str) -> float:
    cut = definition.rpartition("@")[2]
    return float(cut) if cut.isdigit() else float("inf")


def _weighted(scores: Scores) -> list[Said]:
    return [] if scores.weights is None else [say("doubt.weighted")]


def _some(items: list[str]) -> str:
    return ", ".join(items[:_EXAMPLES]) + (" ..." if len(items) > _EXAMPLES else "")
