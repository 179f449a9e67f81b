"""What measures of answers work with besides support: grades of a whole answer, and why there is no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.data.status import Status


@dataclass(frozen=True, slots=True)
class Blank:
    """No value, and why."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Grade:
    """A value from 0 to 1 for an answer as a whole, or None with a status and the reason why there is none."""

    value: float | None
    reason: str = ""
    status: Status = "failed"
