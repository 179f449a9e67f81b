"""The results of a folder over time: the main number of each with its interval, and how it moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.analysis.diagnose import choose_measure
from assay.analysis.means import column_mean
from assay.results.conclusion import find_best
from assay.stats.intervals import Interval  # noqa: TC001 - decoding needs the type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores
    from assay.results.result import Result


@dataclass(frozen=True)
class HistoryEntry:
    """A result: when it was made, what it holds, and the mean of its main measure for the system with the best one.

    `systems` are all of them; `trend` has this and the latest earlier means of results with the same system, measure
    and judgments, the latest last; `lower` says that lower values are better.
    """

    key: str
    name: str
    date: str
    parts: tuple[str, ...]
    systems: tuple[str, ...] = ()
    system: str = ""
    measure: str = ""
    mean: Interval | None = None
    lower: bool = False
    judgments: str = ""
    trend: tuple[float, ...] = ()

    @property
    def change(self) -> float | None:
        """How far the mean is from that of the result before; None for the first."""
        return self.trend[-1] - self.trend[-2] if len(self.trend) > 1 else None


@dataclass(frozen=True)
class BrokenFile:
    """A file that cannot be read, and why."""

    name: str
    reason: str


def describe_result(result: Result, key: str, name: str) -> HistoryEntry:
    """The main number of a result, and what else it holds."""
    entry = HistoryEntry(
        key, name, result.origin.date, tuple(result.parts), tuple(scores.name for scores in result.systems)
    )
    scored = [scores for scores in result.systems if any(column.is_mean for column in scores.columns)]
    if not scored:
        return entry
    label = choose_measure(scored[0], None)
    best = _best([one for one in scored if label in one.labels], label)
    return replace(
        entry, system=best.name, measure=label, mean=column_mean(best, label), lower=best.about(label).lower_is_better,
        judgments=best.judgments_digest,
    )  # fmt: skip


def _best(scored: Sequence[Scores], label: str) -> Scores:
    lower = scored[0].about(label).lower_is_better
    names, _ = find_best({one.name: one[label] for one in scored}, lower=lower)
    return next((one for one in scored if one.name in names), scored[0])
