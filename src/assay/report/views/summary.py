"""The first page of a report: what came out in one sentence for each part, a few facts, the targets with advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Facts, Fold, Lines, Verdict
from assay.report.intervals import between, describe_interval
from assay.report.numbers import number, pvalue
from assay.report.views import comparison, diagnosis, experiment
from assay.report.views.scores import stamp
from assay.results.experiment import Findings

if TYPE_CHECKING:
    from assay.analysis.report_data import Group

_OPEN = 40  # rows of targets that are shown without a click


def headline(group: Group) -> list[Verdict]:
    """Say what came out of a group of systems, and how many targets the best of them reaches.

    For the systems of an experiment, the line is about the experiment itself.
    """
    best = group.systems[0].name
    if group.comparison is not None:
        best = next(iter(group.comparison.conclusion(group.primary).best), best)
    found = [experiment.line(part) for result in group.results if (part := result.part(Findings)) is not None]
    if not found:
        found = [
            _single_verdict(group) if group.comparison is None else comparison.line(group.comparison, group.primary)
        ]
    checked = [one for one in group.diagnoses if one.system == best and one.targets_with_value]
    return [*found, *(diagnosis.line(one) for one in checked)]


def _single_verdict(group: Group) -> Verdict:
    first = group.systems[0]
    mean = group.means[first.name].get(group.primary)
    value = number(first[group.primary])
    if mean is None:
        n = first.counts[group.primary].queries
        return Verdict(say("scores.line", system=first.name, measure=group.primary, value=value, n=n))
    values = {"value": value, "interval": describe_interval(mean), "n": mean.n}
    key = "report.one_system" if values["interval"] else "scores.line"
    return Verdict(say(key, system=first.name, measure=group.primary, **values))


def about(group: Group) -> list[Block]:
    """The facts of a group of systems, and what hinders reading them."""
    blocks: list[Block] = [_facts(group)]
    if group.why:
        blocks.append(Verdict(say("report.not_compared", why=group.why), "warn"))
    judged = stamp(group.systems)
    return [*blocks, Verdict(judged, "warn")] if judged else blocks


def targets(group: Group, *, alone: bool) -> list[Block]:
    """Compare every system of a group with the targets of its protocol."""
    known = [one for one in group.diagnoses if one.targets_with_value]
    if not known:
        none = say("diagnose.no_targets", protocol=group.systems[0].protocol.name)
        return [Lines((none,))] if alone else []
    blocks = diagnosis.targets(known)
    if sum(len(one.targets) for one in known) > _OPEN:
        return [Fold(say("diagnose.targets"), tuple(blocks))]
    return blocks


def _facts(group: Group) -> Facts:
    first = group.systems[0]
    days = list(dict.fromkeys(one.origin.day for one in group.results if one.origin.day))
    items: list[tuple[str, str, str]] = [
        (say("fact.queries"), f"{first.judged:,}", ""),
        (say("fact.systems"), str(len(group.systems)), _names([scores.name for scores in group.systems])),
        (say("fact.protocol"), str(first.protocol), first.protocol.what_it_is),
        *([(say("fact.date"), say("text.list", parts=days), "")] if days else []),
    ]
    if group.comparison is not None:
        contrast = group.comparison.leading_contrast(group.primary)
        mean = group.comparison.mean(contrast.system, group.primary)
        name = say("fact.mean", measure=group.primary, system=contrast.system)
        items.append((name, number(mean.estimate), between(mean)))
        change = contrast.difference
        more = say("fact.p", p=pvalue(contrast.adjusted), interval=between(change, signed=True))
        against = say("fact.difference", baseline=group.comparison.baseline)
        items.append((against, number(change.estimate, signed=True), more))
    else:
        known = group.means[first.name].get(group.primary)
        items.append((group.primary, number(first[group.primary]), "" if known is None else between(known)))
    return Facts(tuple(items))


def _names(names: list[str]) -> str:
    return say("text.some" if len(names) > 4 else "text.list", parts=names[:4])  # noqa: PLR2004
