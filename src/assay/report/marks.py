"""How decisions of a record are shown: one mark, one tone and one legend for each, everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say

if TYPE_CHECKING:
    from assay.report.blocks import Tone
    from assay.results.comparison import Comparison

BETTER, WORSE, FRONT = "\N{DAGGER}", "\N{DOUBLE DAGGER}", "*"
_MARKS = {"better": BETTER, "worse": WORSE, "equivalent": "", "inconclusive": ""}
_TONES: dict[str, Tone] = {
    "better": "good", "worse": "bad", "inconclusive": "warn",
    "excellent": "good", "ok": "good", "low": "bad", "high": "bad", "unclear": "warn",
    "passed": "good", "failed": "bad",
    "kept": "good", "behind": "bad", "over": "bad",
    "supported": "good", "partly": "warn", "unsupported": "bad",
    "pays": "good", "loses": "bad", "open": "warn",
    "ship": "good", "do_not_ship": "bad", "keep_running": "warn", "invalid": "bad", "holds": "good", "broken": "bad",
    "watch_alert": "bad", "watch_past": "warn", "watch_met": "good",
    "shown": "good", "right": "good", "wrong": "bad",
}  # fmt: skip


def mark(decision: str) -> str:
    """The mark beside a mean: a dagger for a verdict, letters as they are."""
    return _MARKS.get(decision, decision)


def tone(decision: str | None) -> Tone:
    """The tone of a verdict, status or outcome: good, bad or plain."""
    return _TONES.get(decision or "", "")


def daggers(baseline: str, alpha: float, correction: str = "holm") -> Said:
    """What daggers mean."""
    return say("compare.daggers", baseline=baseline, correction=say(f"correction.{correction}"), alpha=alpha)


def legend(found: Comparison) -> Said:
    """What the marks of a comparison mean."""
    if found.pairs:
        return say("compare.letters", alpha=found.rules.alpha)
    return daggers(found.baseline, found.rules.alpha, found.rules.correction)
