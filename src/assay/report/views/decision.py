"""What a report says first: one decision, the number behind it, one picture, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.messages import Said, say, some
from assay.report.addresses import page_address, stage_code
from assay.report.blocks import Chart, Decision, Figure, Fold, Step, Verdict
from assay.report.intervals import between
from assay.report.numbers import number, pvalue
from assay.report.views import answers, comparison, conclusion
from assay.report.views.queries import subject_of
from assay.report.views.scores import name_measure
from assay.report.views.spread import draw_failures, spread
from assay.results.answers import AnswerDetails, by_stage
from assay.results.experiment import Findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.report_data import Group
    from assay.report.blocks import Block
    from assay.results.comparison import Comparison, Contrast
    from assay.results.diagnosis import Diagnosis

_STEPS = 3
_NAMES = 4
_WORST = ("bad", "warn", "", "good")


def of_group(group: Group, told: Verdict) -> Decision:
    """Decide about a group of systems; `told` is the whole sentence about them."""
    if group.comparison is None:
        return _of_means(group, told)
    findings = next((part for one in group.results if (part := one.part(Findings)) is not None), None)
    text = _of_experiment(findings) if findings is not None and findings.judged else None
    means = replace(comparison.picture_of(group.comparison, group.primary), name="first")
    return Decision(
        text or _of_comparison(group.comparison, group.primary), told.tone, (told.text,),
        _figure(group.comparison, group.primary), means, _steps(group)[:_STEPS],
    )  # fmt: skip


def by_gates(found: Decision, gates: Sequence[Verdict]) -> Decision:
    """Where gates were asked whether a change may pass, that is the decision: of several, the worst."""
    if not gates:
        return found
    worst = min(gates, key=lambda one: _WORST.index(one.tone))
    return replace(found, text=worst.text, tone=worst.tone, why=tuple(dict.fromkeys((*found.why, found.text))))


def of_part(told: Verdict, shown: Sequence[Block], figure: Figure | None = None) -> Decision:
    """Decide by the sentence of a part, with the first picture of its page, and its main number where it has one."""
    chart = _first_chart(shown)
    return Decision(told.text, told.tone, figure=figure, chart=None if chart is None else replace(chart, name="first"))


def _first_chart(blocks: Sequence[Block]) -> Chart | None:
    for block in blocks:
        found = block if isinstance(block, Chart) else _first_chart(block.blocks) if isinstance(block, Fold) else None
        if found is not None and not found.is_flat:
            return found
    return None


def _of_experiment(found: Findings) -> Said | None:
    """Say which combination to take, or None where there is nothing to choose."""
    best = found.conclusion
    if len(found.done) < 2 or best.state == "nothing":  # noqa: PLR2004
        return None
    if len(best.best) != 1:
        return say("decision.keep_tie", baseline=found.baseline, measure=found.measure)
    key = "take" if found.choice != found.baseline else "keep_best" if best.best[0] == found.baseline else "keep"
    return say(f"decision.{key}", system=best.best[0], baseline=found.baseline, measure=found.measure)


def _of_comparison(found: Comparison, measure: str) -> Said:
    """Say in a few words what is shown; the whole sentence stands under it."""
    best = found.conclusion(measure)
    if len(found.systems) == 2:  # noqa: PLR2004
        contrast = found.leading_contrast(measure)
        key = "too_few" if contrast.too_few else contrast.verdict
        return say(f"decision.{key}", system=contrast.system, baseline=found.baseline, measure=measure)
    if best.state not in {"shown", "not_shown"}:
        return conclusion.sentence(best)
    if best.state == "shown":
        return say("decision.best", system=best.best[0], measure=measure)
    won = [one for one in found.contrasts if one.measure == measure and one.verdict == "better"]
    values = {"baseline": found.baseline, "measure": measure, "n": len(won)}
    if won:
        better = [one.system for one in sorted(won, key=_size_of_change, reverse=True)]
        if _NAMES < len(won) == len(found.systems) - 1:
            return say("decision.better_all", **values)
        return say("decision.better_several", systems=some(better, _NAMES), **values)
    return say("decision.none_best" if best.best[0] == found.baseline else "decision.none_better", **values)


def _size_of_change(contrast: Contrast) -> float:
    return abs(contrast.difference.estimate or 0.0)


def _figure(found: Comparison, measure: str) -> Figure:
    contrast = found.leading_contrast(measure)
    change = contrast.difference
    name = say("decision.figure", measure=measure, system=contrast.system, baseline=found.baseline, n=change.n)
    more = say("fact.p", p=pvalue(contrast.adjusted), interval=between(change, signed=True))
    return Figure(name, number(change.estimate, signed=True), more)


def _of_means(group: Group, told: Verdict) -> Decision:
    """Decide about systems that were not compared: what the best has."""
    best, label = group.best, group.primary
    mean = group.means.get(best.name, {}).get(label)
    key = "decision.figure_mean_of_answers" if group.of_answers else "decision.figure_mean"
    name = say(key, measure=name_measure(best, label), system=best.name, n=best.counts[label].queries)
    figure = Figure(name, number(best[label]), "" if mean is None else between(mean))
    return Decision(told.text, told.tone, figure=figure, chart=_picture(group), steps=_steps(group)[:_STEPS])


def _picture(group: Group) -> Chart | None:
    """Where answers failed, else how values are spread."""
    details = [part for one in group.results for part in one.every(AnswerDetails)]
    drawn = [*(draw_failures(one, 0) for one in details), *(spread(one, 0) for one in group.distributions[:1])]
    found = next((one for one in drawn if one is not None and not one.is_flat), None)
    return None if found is None else replace(found, name="first")


def _steps(group: Group) -> tuple[Step, ...]:
    """What to do next, most urgent first."""
    steps: list[Step] = []
    if group.comparison is not None:
        simulated = any(part.of_known_items for one in group.results for part in one.every(Findings))
        steps += _of_contrast(group.comparison, group.primary, simulated=simulated)
    mine = [one for one in group.diagnoses if one.system == subject_of(group)]
    steps += [step for one in mine for step in _of_diagnosis(one)]
    details = [part for one in group.results for part in one.every(AnswerDetails)]
    stages = by_stage([sample for part in details for sample in part.samples])
    for stage, ids in stages.items():
        rows = page_address("answers", failure=stage_code(stage))
        steps += [Step(text, rows) for text in answers.advice({stage: ids})]
    return tuple({step.text: step for step in steps}.values())


def _of_contrast(found: Comparison, measure: str, *, simulated: bool) -> list[Step]:
    contrast = found.leading_contrast(measure)
    steps = []
    if contrast.verdict == "inconclusive" and not contrast.too_few and contrast.detectable is not None:
        told = say("decision.more_queries", n=contrast.difference.n, detectable=contrast.detectable)
        steps.append(Step(say("decision.real_queries") if simulated else told))
    if contrast.losses:
        text = say("decision.read_lost", n=contrast.losses, system=contrast.system, baseline=found.baseline)
        steps.append(Step(text, page_address("queries", change="lost")))
    return steps


def _of_diagnosis(found: Diagnosis) -> list[Step]:
    steps = []
    for stage in ("missing", "not_retrieved", "below_k"):
        queries = found.stages.get(stage, ())
        if queries:
            text = say(f"diagnose.{stage}", n=len(queries), k=found.k)
            steps.append(Step(text, page_address("queries", failure=stage_code(stage))))
    missed = [check for check in found.targets if check.misses_target and check.advice]
    return [*steps, *(Step(check.advice) for check in missed)]
