"""What the demo looks like: one screen with what a newcomer should see, or every table of every part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.demo import CHUNKING
from assay.messages import say
from assay.report.blocks import Block, Heading, Lines, Verdict
from assay.report.intervals import between
from assay.report.numbers import percent
from assay.report.views import ab_test, answers, diagnosis, experiment
from assay.results.answers import by_stage

if TYPE_CHECKING:
    from assay.analysis.demonstration import Demonstration
    from assay.demo import Bundle
    from assay.results.ab_test import ABTest
    from assay.results.experiment import Findings


def about(place: Bundle) -> list[Block]:
    """Describe the collection."""
    return [Lines((say("demo.about", documents=place.documents, queries=place.queries), say("demo.made_for")))]


def screen(found: Demonstration) -> list[Block]:
    """The ladder, the chunkers, the answers in a few lines, and what to do."""
    ladder, chunking = found.ladder.findings, found.chunking.findings
    return [
        replace(experiment.ladder(ladder), caption=say("demo.ladder")),
        Lines((experiment.basis(ladder), *experiment.front(ladder)[:1])),
        replace(experiment.side_by_side(chunking, CHUNKING), caption=say("demo.chunking")),
        Lines(
            (
                say("demo.closer", name=ladder.winner),
                answers.line(found.answers).text,
                *answers.advice(by_stage(found.answers.samples)),
            )
        ),
        decision(ladder),
    ]


def table(found: Demonstration) -> list[Block]:
    """Every table of every part."""
    ladder, chunking = found.ladder.findings, found.chunking.findings
    return [
        Heading(say("demo.ladder")), *experiment.table(ladder),
        Heading(say("demo.chunking")), *experiment.table(chunking),
        *diagnosis.table(found.diagnosis), *answers.table(found.answers), decision(ladder),
    ]  # fmt: skip


def live(found: ABTest, truth: float) -> list[Block]:
    """The decision of the simulated A/B test, with what is true of it."""
    test = next(one for one in found.tests if one.role == "primary")
    relative = test.lift.relative
    said = say(
        "demo.live",
        users=sum(found.users.values()),
        measure=test.measure,
        control=found.control,
        lift=percent(relative.estimate, signed=True),
        interval=between(relative, signed=True, percent=True),
        truth=percent(truth, signed=True),
    )
    decided = ab_test.line(found)
    return [replace(decided, text=say("text.then", first=said, second=decided.text))]


def decision(found: Findings) -> Verdict:
    """Say which system to take, with the evidence that there is for it; of a single one, only what it has."""
    said = experiment.line(found)
    if len(found.done) < 2:  # noqa: PLR2004
        return said
    best = found.conclusion
    if len(best.best) != 1:
        return replace(said, text=say("demo.keep_tie", baseline=found.baseline, measure=found.measure))
    key = "take" if found.choice != found.baseline else "keep_best" if best.best[0] == found.baseline else "keep"
    values = {"name": best.best[0], "baseline": found.baseline, "measure": found.measure, "value": best.value or 0.0}
    return replace(said, text=say(f"demo.{key}", **values))
