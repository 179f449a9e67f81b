"""The colour of each system: by the order of the names, the same in every chart, table and list of a result.

The values are those of the tokens `--s1` to `--s10` of the light theme; pages use the tokens, which differ in the dark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PALETTE = ("#0072b2", "#c85500", "#00855f", "#b14f8f", "#7a5cc0", "#96690a", "#1f7f8c", "#5f7f2f", "#a6463a", "#5c6670")
GAIN, LOSS = "#087f5b", "#c8490a"
INK, GRID = "#171b20", "#d5dbe1"


def assign_colours(names: Iterable[str]) -> dict[str, int]:
    """Number the colours of names from 1 on: class `s1` of a name, `c1` of what is filled, `l1` of what is drawn.

    >>> assign_colours(["dense", "bm25", "hybrid"])
    {'bm25': 1, 'dense': 2, 'hybrid': 3}
    """
    return {name: place % len(PALETTE) + 1 for place, name in enumerate(sorted(set(map(str, names))))}
