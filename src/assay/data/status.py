"""The statuses that a value can have; a reason goes with a status where there is more to say."""

from __future__ import annotations

from typing import Literal, get_args

Status = Literal["scored", "missing", "undefined", "unjudged", "abstained", "not_applicable", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)
SCORED, MISSING, UNDEFINED, UNJUDGED, ABSTAINED, NOT_APPLICABLE, FAILED = range(len(STATUSES))
