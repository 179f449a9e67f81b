"""A number over time in the width of a few words: a line that ends in a dot, without axes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT, _EDGE = 96, 24, 4
_MOST = 24  # of the latest values


class Sparkline(NamedTuple):
    """The points of a line as SVG has them, and where its dot stands; nothing for fewer than two values."""

    points: str = ""
    x: str = ""
    y: str = ""


def sparkline(values: Sequence[float]) -> Sparkline:
    """Draw the latest values in a box of 96 x 24, the first on the left.

    >>> sparkline([0.1, 0.3, 0.2])
    Sparkline(points='4.0,20.0 48.0,4.0 92.0,12.0', x='92.0', y='12.0')
    """
    latest = values[-_MOST:]
    if len(latest) < 2:  # noqa: PLR2004 - a single value is no line
        return Sparkline()
    low, high = min(latest), max(latest)
    span, bottom = high - low, _HEIGHT - _EDGE
    tall = _HEIGHT - 2 * _EDGE
    if span:
        points = _template(len(latest)) % tuple([bottom - (one - low) / span * tall for one in latest])
    else:
        points = _template(len(latest)) % ((_HEIGHT / 2,) * len(latest))
    x, _, y = points[points.rindex(" ") + 1 :].partition(",")
    return Sparkline(points, x, y)


@lru_cache(maxsize=_MOST)
def _template(count: int) -> str:
    """So many points whose heights are open."""
    step = (_WIDTH - 2 * _EDGE) / (count - 1)
    return " ".join(f"{_EDGE + i * step:.1f},%.1f" for i in range(count))
