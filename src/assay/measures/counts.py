"""What a request of an event log adds to a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.lazy import pl


@dataclass(frozen=True)
class RequestCounts:
    """What one request adds to a measure: to its numerator, to its denominator, and to what is left out.

    A measure with `value` is not a ratio but the percentile `percentile` of these values. `needs` are actions and
    columns of a log that these parameters need beside those of the measure.
    """

    numerator: pl.Expr
    denominator: pl.Expr
    left_out: pl.Expr | None = None
    value: pl.Expr | None = None
    percentile: float | None = None
    needs: tuple[str, ...] = ()
