"""Gates inside a test suite."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from assay.analysis.diagnose import chosen
from assay.analysis.gate import ALPHA, MARGIN, NotWorse, Rule, Threshold, gate
from assay.errors import UsageError
from assay.formats.writing import read_result
from assay.messages import Said

if TYPE_CHECKING:
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
    if isinstance(scores, (str, os.PathLike)):
        scores = _only(scores)
    more: dict[str, Any] = {"alpha": alpha, "min_coverage": min_coverage}
    rules: list[Rule] = [Threshold(measure, at_least=value, **more) for measure, value in (at_least or {}).items()]
    rules += [Threshold(measure, at_most=value, **more) for measure, value in (at_most or {}).items()]
    if not_worse_than is not None:
        base = _baseline(not_worse_than, scores)
        rules += [NotWorse(measure, base, margin, **more) for measure in measures or [chosen(scores, None)]]
    found = gate(scores, rules)
    bad = [c for c in found.checks if c.outcome == "failed" or (strict and c.outcome == "inconclusive")]
    if bad:
        raise AssertionError(f"{scores.name}: " + "; ".join(str(check.message) for check in bad))
    gaps = [text for text in found.warnings if isinstance(text, Said) and _root(text) == "doubt.missing"]
    for text in (*gaps, *(c.message for c in found.checks if c.outcome == "inconclusive")):
        warnings.warn(f"{scores.name}: {text}", stacklevel=2)
    return found


def _root(text: Said) -> str:
    """The message itself, not the name of the system in front of it."""
    inner = text.values.get("text")
    return _root(inner) if text.key == "doubt.of_one" and isinstance(inner, Said) else text.key


def _only(place: str | os.PathLike[str]) -> Scores:
    systems = read_result(place)
    if len(systems) > 1:
        raise UsageError(f"{os.fspath(place)} holds {len(systems)} systems: give one of assay.read_result(...)")
    return systems[0]


def _baseline(given: Scores | str | os.PathLike[str], scores: Scores) -> Scores:
    if not isinstance(given, (str, os.PathLike)):
        return given
    systems = read_result(given)
    same = systems if len(systems) == 1 else [one for one in systems if one.name == scores.name]
    if not same:
        held = ", ".join(one.name for one in systems)
        raise UsageError(f"{os.fspath(given)} holds {held}, none called {scores.name}")
    return same[0]
