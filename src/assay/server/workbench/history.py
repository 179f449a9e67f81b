"""The first page: every result of the folder, the newest first, with its main number and how it moved."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from assay.analysis.history_index import index_of
from assay.messages import ends, is_known, say, tell
from assay.report.numbers import number
from assay.report.sparkline import sparkline
from assay.report.views.result import PAGES
from assay.server.workbench.rendering import fill, show
from assay.server.workbench.routes import reading

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.history import HistoryEntry
    from assay.messages import Lang
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_PAGE, _LAST = 50, 100_000  # results on one page; pages
_KEPT = 1000  # rows that need not be written again


def routes(desk: Desk) -> list[Route]:
    """The address of this page."""
    return [reading("/", desk, show_history)]


def show_history(desk: Desk, visit: Visit) -> Response:
    """One page of the history, of all results or of those whose names hold a text."""
    asked = visit.number("page", _LAST)
    found = index_of(desk.space).page(visit.asked("q"), asked, _PAGE)
    pages = max(-(-found.matching // _PAGE), 1)
    shown = [_write_row(one, visit.lang) for one in found.entries]
    return show(
        visit, "history", rows=shown, broken=found.broken, total=found.total, matching=found.matching,
        at=min(asked, pages), pages=pages, sought=visit.asked("q"), folder=desk.space.folder.name,
        waiting=found.waiting,
    )  # fmt: skip


@lru_cache(maxsize=_KEPT)
def _write_row(entry: HistoryEntry, lang: Lang) -> Markup:
    """The row of an entry, as its page shows it: entries stay as they are, and their rows are written once."""
    mean, change = entry.mean, entry.change
    better = change is not None and (change < 0 if entry.lower else change > 0)
    return fill(
        "history_row", lang, entry=entry, date=entry.date.replace("T", " ").removesuffix("Z"),
        what=name_parts(entry, lang), mean=number(mean.estimate) if mean else "",
        ends=ends(mean.low, mean.high, ".4f") if mean else "", line=sparkline(entry.trend),
        trend=", ".join([number(one) for one in entry.trend]), change=number(change, signed=True),
        tone="" if not change else "good" if better else "bad",
    )  # fmt: skip


def name_parts(entry: HistoryEntry, lang: Lang) -> str:
    """What a result holds, in a few words."""
    return _name_parts(entry.parts, lang, scored=bool(entry.systems))


@lru_cache(maxsize=1000)
def _name_parts(parts: tuple[str, ...], lang: Lang, *, scored: bool) -> str:
    keys = dict.fromkeys(f"page.{PAGES.get(name, name)}" for name in parts)
    named = [tell(say(key), lang) for key in keys if is_known(key)]
    scores = tell(say("workbench.scores"), lang)
    return tell(say("text.list", parts=named or [scores if scored else "\N{EN DASH}"]), lang)
