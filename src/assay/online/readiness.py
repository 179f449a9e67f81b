"""Whether a test has run long enough, and on enough users, for a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say

if TYPE_CHECKING:
    from assay.results.ab_test import TrialRules


def find_waits(rules: TrialRules, *, users: int, days: int | None) -> list[Said]:
    """Why it is too early to decide: fewer users than planned, or too few days."""
    found = []
    if rules.planned is not None and users < rules.planned and not rules.sequential:
        found.append(say("ab.early", users=users, planned=rules.planned))
    if days is not None and days < rules.least_days:
        found.append(say("ab.short", days=days, least=rules.least_days))
    return found
