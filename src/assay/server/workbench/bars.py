"""Differences as bars, drawn by the page itself: what got worse to the left, what got better to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.report.numbers import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.result_difference import QueryDifference, QueryTable, Sign

WIDTH, HEIGHT = 480, 120
_MOST = 240  # narrower bars than these cannot be told apart


class Bar(NamedTuple):
    """One query: where its bar stands in the picture, and what is said under the pointer."""

    x: float
    y: float
    width: float
    height: float
    sign: Sign
    said: str


def difference_bars(queries: Sequence[QueryDifference] | QueryTable) -> list[Bar]:
    """Bars of queries in their order; of very many, those of evenly spaced ones. Nothing where nothing changed."""
    picked = list(queries) if len(queries) <= _MOST else []
    if len(queries) > _MOST:
        picked = [queries[round(i * (len(queries) - 1) / (_MOST - 1))] for i in range(_MOST)]
    most = max((abs(one.after - one.before) for one in picked), default=0.0)
    if not most:
        return []
    step, middle = WIDTH / len(picked), HEIGHT / 2
    return [_bar(one, i * step, step, (one.after - one.before) / most * middle) for i, one in enumerate(picked)]


def _bar(one: QueryDifference, x: float, step: float, tall: float) -> Bar:
    top = HEIGHT / 2 - max(tall, 0.0)
    said = f"{one.query_id} {number(one.after - one.before, signed=True)}"
    return Bar(round(x, 2), round(top, 2), round(max(step * 0.86, 0.5), 2), round(abs(tall), 2), one.sign, said)
