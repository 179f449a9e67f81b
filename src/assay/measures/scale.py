"""The scale of grades, which must be given and is never guessed."""

from __future__ import annotations

from assay.errors import UsageError
from assay.messages import say


def require_max_grade(max_grade: float | None, name: str) -> float:
    """Insist on the scale's largest grade."""
    if max_grade is None or max_grade <= 0:
        raise UsageError(
            say(
                "err needs the largest grade of the scale: add max_grade=2 (or 3, 4 ...) to it, use --max-grade, or a "
                "protocol that sets it; gdeval and ir_measures use err(max_grade=4)"
            )
            if name == "err"
            else say(
                "{name} needs the largest grade of the scale: add max_grade=2 (or 3, 4 ...) to it, use --max-grade, or "
                "a protocol that sets it",
                name=name,
            )
        )
    return float(max_grade)
