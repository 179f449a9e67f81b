"""The first page: every result of the folder, the newest first, with its main number and how it moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.history import read_history
from assay.messages import ends, is_known, say, tell
from assay.report.numbers import number
from assay.report.sparkline import sparkline
from assay.report.views.result import PAGES
from assay.server.workbench.rendering import show
from assay.server.workbench.routes import reading

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.history import HistoryEntry
    from assay.messages import Lang
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_PAGE = 100  # results on one page


def routes(desk: Desk) -> list[Route]:
    """The address of this page."""
    return [reading("/", desk, show_history)]


def show_history(desk: Desk, visit: Visit) -> Response:
    """One page of the history, of all results or of those whose names hold a text."""
    found = read_history(desk.space)
    sought = visit.asked("q").strip().lower()
    entries = [one for one in found.entries if sought in f"{one.name} {' '.join(one.systems)} {one.measure}".lower()]
    pages = max((len(entries) + _PAGE - 1) // _PAGE, 1)
    at = visit.number("page", pages)
    shown = [_row(one, visit.lang) for one in entries[(at - 1) * _PAGE : at * _PAGE]]
    return show(
        visit, "history", rows=shown, broken=found.broken, total=len(found.entries), matching=len(entries), at=at,
        pages=pages, sought=visit.asked("q"), folder=desk.space.folder.name,
    )  # fmt: skip


def _row(entry: HistoryEntry, lang: Lang) -> dict[str, object]:
    """An entry as texts and points."""
    mean = entry.mean
    change = entry.change
    better = change is not None and (change < 0 if entry.lower else change > 0)
    return {
        "key": entry.key, "name": entry.name, "date": entry.date.replace("T", " ").removesuffix("Z"),
        "what": name_parts(entry, lang), "system": entry.system, "others": len(entry.systems) - 1,
        "measure": entry.measure, "mean": number(mean.estimate) if mean else "",
        "ends": ends(mean.low, mean.high, ".4f") if mean else "", "n": mean.n if mean else 0,
        "points": sparkline(entry.trend), "trend": [number(one) for one in entry.trend],
        "change": number(change, signed=True), "tone": "" if not change else "good" if better else "bad",
        "comparable": entry.mean is not None,
    }  # fmt: skip


def name_parts(entry: HistoryEntry, lang: Lang) -> str:
    """What a result holds, in a few words."""
    keys = dict.fromkeys(f"page.{PAGES.get(name, name)}" for name in entry.parts)
    named = [tell(say(key), lang) for key in keys if is_known(key)]
    scores = tell(say("workbench.scores"), lang)
    return tell(say("text.list", parts=named or [scores if entry.systems else "\N{EN DASH}"]), lang)
