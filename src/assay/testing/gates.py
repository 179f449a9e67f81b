"""Gates inside a test suite."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from assay.analysis.gate import gate
from assay.messages import Said

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from assay.analysis.gate_rules import GivenRules
    from assay.data.record import Record
    from assay.data.scores import Scores
    from assay.results.gate import Gate


def assert_gate(
    scores: Scores | Record | str | os.PathLike[str],
    rules: GivenRules = (),
    *,
    at_least: Mapping[str, float] | None = None,
    strict: bool = False,
    **more: Any,
) -> Gate:
    """Fail the test unless the scores pass; the message names every rule that did not.

    `at_least` and `rules` are the rules, `more` the other parameters of `assay.gate`: `at_most`, `not_worse_than`,
    `measures`, `margin`, `alpha`, `min_coverage`, `slices`, `queries`, `take`, `sure`, `targets`. A rule that cannot be
    decided passes with a warning, or fails where `strict`.
    """
    given = rules if isinstance(rules, (list, tuple)) else [rules]
    found = gate(scores, [*([at_least] if at_least else []), *given], **more)
    if not found.passes(strict=strict):
        bad = [check for check in found.checks if check.fails(strict=strict)]
        raise AssertionError(f"{found.system}: " + "; ".join(str(check.message) for check in bad))
    gaps = [text for text in found.notes if isinstance(text, Said) and _root(text) == "doubt.missing"]
    for text in (*gaps, *(c.message for c in found.checks if c.outcome == "inconclusive")):
        warnings.warn(f"{found.system}: {text}", stacklevel=2)
    return found


def _root(text: Said) -> str:
    """The message itself, not the name of the system in front of it."""
    inner = text.values.get("text")
    return _root(inner) if text.key == "doubt.of_one" and isinstance(inner, Said) else text.key
