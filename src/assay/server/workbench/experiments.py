"""Pages of experiments: the grid of combinations with what runs now, what came from the cache, quality and money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assay.analysis.experiment_board import find_experiment, find_experiments
from assay.messages import ends
from assay.report.numbers import number
from assay.report.renderers.html import fragment
from assay.report.views import run_progress as view
from assay.server.workbench.rendering import show
from assay.server.workbench.routes import reading

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.results.run_progress import CombinationProgress, RunProgress
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_ROWS = 100  # combinations on one page
_TONES = {"running": "", "finished": "good", "done": "good", "failed": "bad", "interrupted": "warn", "waiting": ""}


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [reading("/experiments", desk, list_experiments), reading("/experiments/{key}", desk, show_board)]


def list_experiments(desk: Desk, visit: Visit) -> Response:
    """All experiments with what they do now."""
    found = find_experiments(desk.space)
    lines = [view.line(one.progress) if one.progress else None for one in found]
    return show(
        visit, "experiments", rows=list(zip(found, lines, strict=True)), tones=_TONES, percent=_percent,
        duration=view.write_duration, money=view.write_money, number=number,
    )  # fmt: skip


def show_board(desk: Desk, visit: Visit) -> Response:
    """The grid of one experiment."""
    found = find_experiment(desk.space, visit.key())
    run = found.progress
    assert run is not None
    pages = max(-(-len(run.combinations) // _ROWS), 1)
    at = visit.number("page", pages)
    front = run.front()
    picture = view.chart(run)
    reused, pieces = view.reused(run)
    return show(
        visit, "experiment", found=found, run=run, line=view.line(run), tones=_TONES, at=at, pages=pages,
        rows=[_row(one, run, front) for one in run.combinations[(at - 1) * _ROWS : at * _ROWS]],
        reused=reused, pieces=pieces, duration=view.write_duration, money=view.write_money, percent=_percent,
        front=len(front), paid=bool(run.spent or run.unpriced),
        picture=Markup(fragment([picture], visit.lang)) if picture else "",  # noqa: S704 - the report escapes all
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _row(one: CombinationProgress, run: RunProgress, front: frozenset[str]) -> dict[str, Any]:
    """A combination as texts."""
    mean = one.mean
    known = {stage.stage: stage for stage in one.stages}
    return {
        "one": one, "tone": _TONES[one.state], "stages": [known[name] for name in view.STAGES if name in known],
        "names": {name: view.name_stage(name) for name in view.STAGES},
        "mean": number(mean.estimate) if mean else "", "ends": ends(mean.low, mean.high, ".4f") if mean else "",
        "why": mean.reason if mean and mean.low is None else "",
        "ms": "" if one.ms_p95 is None else f"{one.ms_p95:,.1f}",
        "cost": "" if one.cost_per_query is None else f"{1000 * one.cost_per_query:.4g}",
        "spent": view.write_sum(one.spent, one.unpriced) if one.spent or one.unpriced else "",
        "front": one.name in front, "is_baseline": one.name == run.baseline,
    }  # fmt: skip
