"""What all pages share: the folder, the labels, the rubric, and which item is on whose screen just now."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.analysis.workspace import Workspace
    from assay.curation.labelling import Item
    from assay.curation.labels import LabelStore
    from assay.judge.rubric import Rubric
    from assay.messages import Lang

_HELD_SECONDS = 300.0  # that an item on somebody's screen is not given to others


@dataclass
class Desk:
    """The state of a workbench."""

    space: Workspace
    store: LabelStore
    rubrics: dict[Lang, Rubric]
    lang: Lang
    overlap: float
    _held: dict[tuple[str, str], tuple[Item, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, task: str, by: str, item: Item | None) -> None:
        """Remember what somebody looks at."""
        with self._lock:
            self._held.pop((task, by), None)
            if item is not None:
                self._held[task, by] = (item, time.monotonic() + _HELD_SECONDS)

    def items_of_others(self, task: str, by: str) -> list[Item]:
        """What others look at in a task."""
        now = time.monotonic()
        with self._lock:
            return [
                item
                for (where, who), (item, until) in self._held.items()
                if where == task and who != by and until > now
            ]
