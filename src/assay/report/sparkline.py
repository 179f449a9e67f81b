"""A number over time in the width of a few words: a line that ends in a dot, without axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT, _EDGE = 96, 24, 4
_MOST = 24  # of the latest values


def sparkline(values: Sequence[float]) -> list[tuple[float, float]]:
    """The points of the latest values in a box of 96 x 24, the first on the left; nothing for fewer than two.

    >>> sparkline([0.1, 0.3, 0.2])
    [(4.0, 20.0), (48.0, 4.0), (92.0, 12.0)]
    """
    latest = list(values)[-_MOST:]
    if len(latest) < 2:  # noqa: PLR2004 - a single value is no line
        return []
    low, high = min(latest), max(latest)
    step = (_WIDTH - 2 * _EDGE) / (len(latest) - 1)
    span = high - low
    heights = [(one - low) / span if span else 0.5 for one in latest]
    return [
        (round(_EDGE + i * step, 1), round(_HEIGHT - _EDGE - height * (_HEIGHT - 2 * _EDGE), 1))
        for i, height in enumerate(heights)
    ]
