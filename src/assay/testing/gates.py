"""Gates inside a test suite."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from assay.analysis.gate import gate
from assay.analysis.gate_rules import ALPHA, MARGIN
from assay.messages import Said

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.data.scores import Scores
    from assay.results.gate import Gate


def assert_gate(
    scores: Scores | str | os.PathLike[str],
    *,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    not_worse_than: Scores | str | os.PathLike[str] | None = None,
    measures: Sequence[str] | None = None,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    strict: bool = False,
    min_coverage: float = 1.0,
) -> Gate:
    """Fail the test unless the scores pass; the message names every rule that did not.

    `not_worse_than` is a baseline's scores or result file, compared on `measures` (the primary one unless named). A
    rule that cannot be decided passes with a warning, or fails where `strict`. `scores` may be a result file too. A
    measure fails where less than the share `min_coverage` of what should have a value has one.
    """
    found = gate(
        scores, at_least or {}, at_most=at_most, not_worse_than=not_worse_than, measures=measures or (), margin=margin,
        alpha=alpha, min_coverage=min_coverage,
    )  # fmt: skip
    if not found.passes(strict=strict):
        bad = [check for check in found.checks if check.outcome != "passed"]
        raise AssertionError(
            f"{found.system}: " + "; ".join(str(c.message) for c in bad if strict or c.outcome == "failed")
        )
    gaps = [text for text in found.warnings if isinstance(text, Said) and _root(text) == "doubt.missing"]
    for text in (*gaps, *(c.message for c in found.checks if c.outcome == "inconclusive")):
        warnings.warn(f"{found.system}: {text}", stacklevel=2)
    return found


def _root(text: Said) -> str:
    """The message itself, not the name of the system in front of it."""
    inner = text.values.get("text")
    return _root(inner) if text.key == "doubt.of_one" and isinstance(inner, Said) else text.key
