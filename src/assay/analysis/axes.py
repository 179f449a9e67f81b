"""Which value of each axis to take: combinations that differ in one axis alone, compared with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.compare import compare
from assay.results.experiment import AxisDecision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.scores import Scores
    from assay.pipeline.grid import Combination


def decide_axes(
    combinations: Sequence[Combination], systems: Sequence[Scores], label: str, baseline: str
) -> tuple[AxisDecision, ...]:
    """Compare the values of each axis by one measure, in the largest group that differs in nothing else.

    The baseline of a group is that of the experiment, else its combination that is most like it.
    """
    axes = {one.name: {str(axis): value for axis, value in one.axes.items()} for one in combinations}
    scored = {one.name: one for one in systems if label in one.labels}
    if baseline not in axes:
        return ()
    # A finished application has none of the axes of a pipeline.
    names = [name for name in axes if name in scored and axes[name].keys() == axes[baseline].keys()]
    varied = [axis for axis in axes[baseline] if len({axes[name][axis] for name in names}) > 1]
    found = []
    for axis in varied:
        group = _largest_group(axes, names, axis, baseline)
        base = max(group, key=lambda name: sum(axes[name][one] == axes[baseline][one] for one in varied))
        if len(group) > 1:
            compared = compare([scored[name] for name in group], [label], baseline=base)
            concluded = compared.conclusion(label)
            found.append(AxisDecision(axis, {name: axes[name][axis] for name in group}, concluded))
    return tuple(found)


def _largest_group(
    axes: Mapping[str, Mapping[str, str]], names: Sequence[str], axis: str, baseline: str
) -> list[str]:  # fmt: skip
    """The most combinations that differ in this axis alone; of equal groups that with the baseline, else the first."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in names:
        others = tuple((other, value) for other, value in axes[name].items() if other != axis)
        groups.setdefault(others, []).append(name)
    return max(groups.values(), key=lambda group: (len(group), baseline in group))
