"""The first page of a report: one decision, what every part found in a sentence, a few facts, the targets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.messages import Said, say
from assay.report.blocks import Block, Cast, Facts, Figure, Fold, Headline, Lines, Outline, Verdict
from assay.report.intervals import between, describe_interval
from assay.report.numbers import number, pvalue
from assay.report.views import comparison, conclusion, decision, diagnosis, experiment
from assay.report.views.scores import name_measure, stamp, unevenness
from assay.results.experiment import Findings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import Group, ReportData
    from assay.data.scores import Scores

_OPEN = 40  # rows of targets that are shown without a click


def page(
    found: ReportData,
    pages: Mapping[str, Sequence[Block]],
    told: Sequence[tuple[str, Verdict]],
    figure: Figure | None = None,
) -> list[Block]:
    """One decision with what stands behind it, then what all parts found, a few facts, and the targets.

    `pages` are those that the report has, with their blocks, `told` is what their parts say in a sentence, `figure`
    the main number of the first of them.
    """
    blocks: list[Block] = [_cast(found)]
    if found.main is not None:
        blocks.append(decision.by_gates(decision.of_group(found.main, headline(found.main)[0]), _gates(told)))
    elif told:
        blocks.append(decision.of_part(told[0][1], pages.get(told[0][0], ()), figure))
    blocks += _outline(found, pages, told)
    if found.evidence.redacted:
        blocks.append(Lines((say("report.redacted"),)))
    for group in found.groups:
        blocks += [*about(group, alone=group is found.main), *targets(group, alone=len(found.groups) == 1)]
    return blocks


def _gates(told: Sequence[tuple[str, Verdict]]) -> list[Verdict]:
    return [one for page, one in told if page == "gates"]


def _cast(found: ReportData) -> Cast:
    """All systems, whose colours follow from their names; the baseline and the best of the main group."""
    main, names = found.main, [scores.name for group in found.groups for scores in group.systems]
    days = tuple(dict.fromkeys(one.origin.day for one in found.results if one.origin.day))
    if main is None or main.comparison is None:
        return Cast(tuple(names), days=days)
    best = main.conclusion
    shown = best.best[0] if best.state == "shown" else ""
    return Cast(tuple(names), main.comparison.baseline, shown, days)


def _outline(
    found: ReportData, pages: Mapping[str, Sequence[Block]], told: Sequence[tuple[str, Verdict]]
) -> list[Block]:
    """What was found besides the decision: about targets, other systems, and other parts."""
    said = [
        ("answers" if group.of_answers and "answers" in pages else "systems", one)
        for group in found.groups
        for one in headline(group)
    ]
    every = [*said[1:], *told] if said else [*told[1:]]
    rest = {one: page for page, one in reversed(every) if not said or one != said[0][1]}
    ordered = sorted(rest, key=[one for _, one in every].index)
    findings = tuple(
        Headline(say(f"page.{rest[one]}"), one, rest[one] if rest[one] in pages else "") for one in ordered
    )
    return [Outline(findings)] if findings else []


def headline(group: Group) -> list[Verdict]:
    """Say what came out of a group of systems, and how many targets the best of them reaches.

    For the systems of an experiment, the line is about the experiment itself.
    """
    found = [experiment.line(part) for result in group.results if (part := result.part(Findings)) is not None]
    checked = [one for one in group.diagnoses if one.system == group.best.name and one.targets_with_value]
    found = found or [_verdict(group)]
    return [*found, *(diagnosis.line(one) for one in checked)]


def _verdict(group: Group) -> Verdict:
    if group.comparison is not None:
        return comparison.line(group.comparison, group.primary)
    if len(group.systems) > 1:
        return conclusion.line(replace(group.conclusion, measure=name_measure(group.systems[0], group.primary)))
    return _single_verdict(group)


def _single_verdict(group: Group) -> Verdict:
    first = group.systems[0]
    mean = group.means[first.name].get(group.primary)
    value = number(first[group.primary])
    if mean is None:
        n = first.counts[group.primary].queries
        return Verdict(_sentence(group, "scores.line", value=value, n=n))
    values = {"value": value, "interval": describe_interval(mean), "n": mean.n}
    return Verdict(_sentence(group, "report.one_system" if values["interval"] else "scores.line", **values))


def _sentence(group: Group, key: str, **values: Any) -> Said:
    """A sentence about the one system, which has answers or queries."""
    named = {"system": group.systems[0].name, "measure": name_measure(group.systems[0], group.primary)}
    return say(f"{key}_of_answers" if group.of_answers else key, **named, **values)


def about(group: Group, *, alone: bool = False) -> list[Block]:
    """The facts of a group of systems, and what hinders reading them; `alone`, without what the decision says."""
    blocks: list[Block] = [_facts(group, alone=alone)]
    if group.why:
        blocks.append(Verdict(say("report.not_compared", why=group.why), "warn"))
    judged = stamp(group.systems)
    return [*blocks, Verdict(judged, "warn")] if judged else blocks


def targets(group: Group, *, alone: bool) -> list[Block]:
    """Compare every system of a group with the targets of its protocol."""
    known = [one for one in group.diagnoses if one.targets_with_value]
    if not known and group.of_answers:
        return []
    if not known:
        none = say("diagnose.no_targets", protocol=group.systems[0].protocol.name)
        return [Lines((none,))] if alone else []
    blocks = diagnosis.targets(known)
    if sum(len(one.targets) for one in known) > _OPEN:
        return [Fold(say("diagnose.targets"), tuple(blocks))]
    return blocks


def _facts(group: Group, *, alone: bool) -> Facts:
    first = group.systems[0]
    days = list(dict.fromkeys(one.origin.day for one in group.results if one.origin.day))
    items: list[tuple[str, str, str]] = [
        _size(group),
        (say("fact.systems"), str(len(group.systems)), _names([scores.name for scores in group.systems])),
        (say("fact.protocol"), str(first.protocol), first.protocol.what_it_is),
        *([(say("fact.date"), say("text.list", parts=days), "")] if days else []),
    ]
    if group.comparison is not None:
        contrast = group.comparison.leading_contrast(group.primary)
        mean = group.comparison.mean(contrast.system, group.primary)
        name = say("fact.mean", measure=group.primary, system=contrast.system)
        items.append((name, number(mean.estimate), between(mean)))
        if alone:
            return Facts(tuple(items))
        change = contrast.difference
        more = say("fact.p", p=pvalue(contrast.adjusted), interval=between(change, signed=True))
        against = say("fact.difference", baseline=group.comparison.baseline)
        items.append((against, number(change.estimate, signed=True), more))
    elif not alone:
        best = group.best
        known = group.means[best.name].get(group.primary)
        title = name_measure(best, group.primary)
        title = say("fact.mean", measure=title, system=best.name) if len(group.systems) > 1 else title
        items.append((title, number(best[group.primary]), "" if known is None else between(known)))
    return Facts(tuple(items))


def _size(group: Group) -> tuple[str, str, str]:
    """How much was judged, answers of all systems or queries, and what it is worth by weights and clusters."""
    if group.of_answers:
        return say("fact.answers"), _worth(group.systems, sum(len(scores.query_ids) for scores in group.systems)), ""
    return say("fact.queries"), _worth(group.systems[:1], group.systems[0].judged), ""


def _worth(systems: Sequence[Scores], n: int) -> str:
    """A number of queries or answers, with the effective number where that is another."""
    uneven = [told[-1] for scores in systems if (told := unevenness(scores))]  # clusters, if any, count the weights too
    if not uneven:
        return f"{n:,}"
    return say("queries.worth", n=f"{n:,}", effective=sum(text.values["effective"] for text in uneven))


def _names(names: list[str]) -> str:
    return say("text.some" if len(names) > 4 else "text.list", parts=names[:4])  # noqa: PLR2004
