"""Means whose interval ends at a bound of their measure, which every part of a result names alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.messages import Said, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assay.stats.intervals import Interval

_NAMED = 3


class NamedMean(NamedTuple):
    """The mean of a measure with its interval, and whose it is: a system's, or that of a part of the queries."""

    label: str
    of: str
    mean: Interval


def name_means(means: Mapping[str, Mapping[str, Interval]]) -> list[NamedMean]:
    """List means that are kept by system and label."""
    return [NamedMean(label, name, mean) for name, own in means.items() for label, mean in own.items()]


def warn_of_edges(means: Iterable[NamedMean]) -> tuple[Said, ...]:
    """Name the means near the highest possible value and those near the lowest (`note_bounds`)."""
    known = list(means)
    top = [_describe(one, bound) for one in known for bound in one.mean.near if _is_top(one.mean, bound)]
    bottom = [_describe(one, bound) for one in known for bound in one.mean.near if not _is_top(one.mean, bound)]
    return (*_tell("concern.at_top", top), *_tell("concern.at_bottom", bottom))


def _is_top(mean: Interval, bound: float) -> bool:
    assert mean.high is not None  # an interval without ends is near nothing
    return bound >= mean.high


def _describe(one: NamedMean, bound: float) -> Said:
    mean = one.mean
    ends = {"low": mean.low, "high": mean.high, "bound": bound}
    return say("concern.edge", label=one.label, system=one.of, mean=mean.estimate, **ends)


def _tell(key: str, found: Sequence[Said]) -> Iterator[Said]:
    if found:
        shown = say("text.some" if len(found) > _NAMED else "text.list", parts=list(found[:_NAMED]))
        yield say(key, found=shown)
