"""What an experiment looks like while it runs, and when its run was ended by something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Chart, Point, Verdict
from assay.report.marks import FRONT
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.run_progress import CombinationProgress, RunProgress

STAGES = ("chunk", "index", "query", "retrieve", "rerank", "generate", "app")  # in the order of the work
_MINUTE, _HOUR = 60, 3600


def line(found: RunProgress) -> Verdict:
    """Say what the run does now, or how it ended."""
    n, done = len(found.combinations), found.count("done", "failed")
    if found.state == "failed":
        return Verdict(say("run.failed", done=done, n=n, reason=found.reason), "bad")
    if found.state == "interrupted":
        return Verdict(say("run.interrupted", done=done, n=n), "warn")
    if found.state == "finished":
        failed = found.count("failed")
        told = say("run.finished", n=n)
        several = say("text.then", first=told, second=say("experiment.how_many_failed", n=failed))
        return Verdict(several, "warn") if failed else Verdict(told, "good")
    now = next((one for one in found.combinations if one.state == "running"), None)
    if now is not None:
        return Verdict(say("run.now", done=done, n=n, name=now.name, stage=name_stage(now.stage)))
    return Verdict(say("run.done_of" if found.phase == "combinations" else f"run.{found.phase}", done=done, n=n))


def name_stage(stage: str) -> Said:
    """What a combination does in a stage."""
    return say(f"run.stage_{stage}" if stage in STAGES else "run.stage_begin")


def write_duration(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> write_duration(3671.5), write_duration(59.6)
    ('1:01:11', '0:59')
    """
    whole = int(seconds)
    hours, rest = divmod(whole, _HOUR)
    return f"{hours}:{rest // _MINUTE:02}:{rest % _MINUTE:02}" if hours else f"{rest // _MINUTE}:{rest % _MINUTE:02}"


def write_money(found: RunProgress) -> Said | str:
    """What the calls of the run cost so far."""
    return write_sum(found.spent, found.unpriced)


def write_sum(money: float, unpriced: int) -> Said | str:
    """An amount; where some prices are not known, that it is at least that, or not known at all."""
    text = f"{money:.4g}"
    if not unpriced:
        return text
    return say("run.at_least", money=text) if money else say("run.unpriced")


def reused(found: RunProgress) -> tuple[int, int]:
    """How many pieces of work came from the cache, of how many."""
    stages = [stage for one in found.combinations for stage in one.stages]
    there = sum(stage.reused for stage in stages)
    return there, there + sum(stage.made for stage in stages)


def chart(found: RunProgress) -> Chart | None:
    """Quality against P95 latency of what is finished."""
    front, shown = found.front(), [one for one in found.combinations if one.state == "done"]
    points = {one.name: point for one in shown if (point := _point(one, on_front=one.name in front)) is not None}
    if len(points) < 2:  # noqa: PLR2004 - one point is no picture
        return None
    rows = tuple((p.label, f"{p.x:,.6g}", number(p.y), FRONT if p.label in front else "") for p in points.values())
    axis = say("axis.p95")
    table = Table((say("column.system"), axis, found.measure, say("column.front")), rows, texts=(3,))
    title = say("chart.front", measure=found.measure, cost=axis)
    return Chart(
        "progress-0", "frontier", title, axis, found.measure, tuple(points.values()), table, write_x="{:,.6g}".format
    )


def _point(one: CombinationProgress, *, on_front: bool) -> Point | None:
    if one.mean is None or one.mean.estimate is None or one.ms_p95 is None:
        return None
    series = say("experiment.on_front") if on_front else say("experiment.beaten")
    return Point(one.ms_p95, one.mean.estimate, series=series, label=one.name)
