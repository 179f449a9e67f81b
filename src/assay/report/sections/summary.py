"""The first page: the verdict in one sentence, a few facts, the targets with their status and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Facts, Fold, Lines, Section, Tone, Verdict
from assay.report.intervals import between, told
from assay.report.tables import Cell, Table
from assay.report.views.comparison import alike, number, pvalue, verdict
from assay.report.views.diagnosis import goal
from assay.report.views.scores import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.report_data import Group, ReportData
    from assay.messages import Said
    from assay.results.comparison import Comparison, Contrast
    from assay.results.diagnosis import Diagnosis, TargetCheck

TONES: dict[str, Tone] = {
    "better": "good", "worse": "bad", "equivalent": "", "inconclusive": "warn",
    "excellent": "good", "ok": "good", "low": "bad", "high": "bad", "unmeasured": "",
}  # fmt: skip

_OPEN = 40  # rows of targets that are shown without a click


def section(found: ReportData, others: Sequence[Verdict]) -> Section:
    """What a manager reads; `others` are the verdicts of the other parts of the results."""
    verdicts = [verdict for group in found.groups for verdict in (headline(group), *_reached(group))]
    blocks: list[Block] = [*verdicts, *others]
    for group in found.groups:
        blocks += _group(group, alone=len(found.groups) == 1)
    return Section("summary", say("page.summary"), tuple(blocks))


def _group(group: Group, *, alone: bool) -> list[Block]:
    blocks: list[Block] = [_facts(group)]
    if group.why:
        blocks.append(Verdict(say("report.not_compared", why=group.why), "warn"))
    judged = stamp(group.systems)
    if judged:
        blocks.append(Verdict(judged, "warn"))
    with_targets = [one for one in group.diagnoses if any(f.status != "unmeasured" for f in one.targets)]
    if with_targets:
        blocks += [targets(with_targets), Lines(_unmeasured(with_targets))]
    elif alone:
        blocks.append(Lines((say("diagnose.no_targets", protocol=group.systems[0].protocol.name),)))
    return blocks


def headline(group: Group) -> Verdict:
    """Say in one sentence what came out."""
    if group.comparison is None:
        first = group.systems[0]
        mean = group.means[first.name][group.primary]
        text = say(
            "report.one_system", system=first.name, measure=group.primary, value=number(first[group.primary]),
            interval=told(mean), n=mean.n,
        )  # fmt: skip
        return Verdict(text)
    contrast = leading(group.comparison, group.primary)
    return Verdict(_sentence(group.comparison, contrast), TONES[contrast.verdict])


def _reached(group: Group) -> list[Verdict]:
    """Say how many targets the system that the report speaks of first reaches."""
    best = group.systems[0].name
    if group.comparison is not None:
        best = group.comparison.best[group.comparison.measures.index(group.primary)]
    found = next((one.targets for one in group.diagnoses if one.system == best), ())
    known = [not finding.missed for finding in found if finding.status != "unmeasured"]
    if not known:
        return []
    text = say("report.targets_reached", system=best, reached=sum(known), n=len(known))
    return [Verdict(text, "good" if all(known) else "warn")]


def leading(comparison: Comparison, measure: str) -> Contrast:
    """The contrast that matters most: that of the best system, or, where the baseline is best, of the next one."""
    contrasts = [contrast for contrast in comparison.contrasts if contrast.measure == measure]
    best = comparison.best[comparison.measures.index(measure)]
    mine = [contrast for contrast in contrasts if contrast.system == best]
    if mine:
        return mine[0]
    worse = [c for c in contrasts if c.difference.estimate is not None]
    return min(worse or contrasts, key=lambda c: abs(c.difference.estimate or 0.0))


def _sentence(comparison: Comparison, contrast: Contrast) -> Said:
    """The verdict, and whether the best system is the baseline itself."""
    told = verdict(comparison, contrast)
    best = comparison.best[comparison.measures.index(contrast.measure)]
    many = len(comparison.systems) > 2  # noqa: PLR2004
    if best == comparison.baseline and many:
        return say("report.baseline_best", measure=contrast.measure, system=best, verdict=told)
    if not many:
        return told
    others = alike(comparison, contrast.measure)
    like = say("report.like", others=others) if others else ""
    return say(
        "report.best_of", n=len(comparison.systems), system=best, measure=contrast.measure, like=like, verdict=told
    )


def _facts(group: Group) -> Facts:
    first = group.systems[0]
    items: list[tuple[str, str, str]] = [
        (say("fact.queries"), f"{first.judged:,}", ""),
        (say("fact.systems"), str(len(group.systems)), ", ".join(scores.name for scores in group.systems[:4])),
        (say("fact.protocol"), str(first.protocol), first.protocol.title),
    ]
    if group.comparison is not None:
        contrast = leading(group.comparison, group.primary)
        place = group.comparison.systems.index(contrast.system)
        mean = group.comparison.means[group.primary][place]
        name = say("fact.mean", measure=group.primary, system=contrast.system)
        items.append((name, number(mean.estimate), between(mean)))
        change = contrast.difference
        more = say("fact.p", p=pvalue(contrast.adjusted), interval=between(change, signed=True))
        against = say("fact.difference", baseline=group.comparison.baseline)
        items.append((against, number(change.estimate, signed=True), more))
    else:
        mean = group.means[first.name][group.primary]
        items.append((group.primary, number(first[group.primary]), between(mean)))
    return Facts(tuple(items))


def targets(found: Sequence[Diagnosis]) -> Block:
    """Hold every system against the targets of its protocol; what matters most stands first."""
    known = [(one.system, f) for one in found for f in one.targets if f.status != "unmeasured"]
    many = len(found) > 1
    excellent = any(f.target.excellent is not None for _, f in known)
    names = ["measure", "value", "status", "target", *(["excellent"] if excellent else []), "advice"]
    headers = tuple(say(f"column.{name}") for name in (["system", *names] if many else names))
    rows = tuple((system,) * many + _finding(f, excellent=excellent) for system, f in known)
    texts = (len(headers) - 1, 2 + many)
    table = Table(headers, rows, caption=say("diagnose.targets"), names=1 + many, texts=texts)
    return Fold(say("diagnose.targets"), (table,)) if len(rows) > _OPEN else table


def _unmeasured(found: Sequence[Diagnosis]) -> tuple[str, ...]:
    """Name the targets that nothing was measured for."""
    names = [f.target.measure for one in found for f in one.targets if f.status == "unmeasured"]
    return (say("report.unmeasured", names=list(dict.fromkeys(names))),) if names else ()


def _finding(finding: TargetCheck, *, excellent: bool) -> tuple[str | Cell, ...]:
    target = finding.target
    value = "" if finding.value is None else f"{finding.value:.4f}" if not target.unit else f"{finding.value:g}"
    best = (goal(target, target.excellent),) if excellent else ()
    shown = Cell(say(f"status.{finding.status}"), tone=TONES[finding.status])
    return (target.measure, value, shown, goal(target, target.target), *best, finding.advice)
