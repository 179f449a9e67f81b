"""Pages of production: what watches found, window by window, and requests that went wrong, to be added to a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from assay.analysis.production import (
    add_to_set,
    find_bad_files,
    find_sets,
    find_watches,
    read_bad_requests,
)
from assay.analysis.workspace import SET
from assay.curation.labels import LONGEST_NOTE
from assay.errors import UnknownName, UsageError
from assay.messages import ends, say
from assay.report.renderers.html import fragment
from assay.report.views import watch as view
from assay.results.watch import Watch
from assay.server.workbench.rendering import go_to, show
from assay.server.workbench.routes import reading, writing

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.results.watch import WatchMeasure, WatchWindow
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_WINDOWS, _REQUESTS = 48, 20  # on one page


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/production", desk, list_watches),
        reading("/production/{key}", desk, show_watch),
        reading("/production/{key}/requests", desk, show_requests),
        writing("/production/{key}/requests", desk, keep_request),
    ]


def list_watches(desk: Desk, visit: Visit) -> Response:
    """All watches with what stands, and files of requests that went wrong."""
    rows = [(one, view.line(one.watch)) for one in find_watches(desk.space)]
    return show(visit, "production_index", rows=rows, files=find_bad_files(desk.space))


def show_watch(desk: Desk, visit: Visit) -> Response:
    """Windows and measures with intervals against targets, the latest first; alerts; a chart of each measure."""
    file = desk.space.find(visit.key(), "result")
    result = desk.space.result(visit.key()).result
    found = result.part(Watch)
    if found is None:
        raise UnknownName(say("watch"), visit.key(), [])
    pages = max(-(-len(found.windows) // _WINDOWS), 1)
    at = visit.number("page", pages)
    listed = found.windows[::-1][(at - 1) * _WINDOWS : at * _WINDOWS]
    measures = sorted(found.watched, key=lambda one: one.label.startswith(("psi(", "canary")))
    return show(
        visit, "production", file=file, watch=found, date=result.origin.date, line=view.line(found), at=at,
        pages=pages, measures=measures, rows=[(one, [_cell(found, one, own) for own in measures]) for one in listed],
        alerts=_html([view.alerts(found)] if found.alerts else [], visit), goals=list(map(view.goal_of, measures)),
        charts=_html(view.charts(found), visit), notes=view.notes(found), clock=view.write_time,
        bad=len(read_bad_requests(desk.space, file)), level=view.interval_name(found),
    )  # fmt: skip


def _html(blocks: list[Any], visit: Visit) -> Markup:
    return Markup(fragment(blocks, visit.lang) if blocks else "")  # noqa: S704 - the report escapes every text


def _cell(found: Watch, window: WatchWindow, measure: WatchMeasure) -> dict[str, str]:
    """A value with its interval and where it stands."""
    value = window.value(measure.label)
    if value is None:
        return {"value": "", "ends": "", "standing": "none"}
    of = value.interval
    return {
        "value": view.write_value(of.estimate), "ends": ends(of.low, of.high, view.form_for(of.estimate)),
        "standing": found.standing_of(window, measure),
    }  # fmt: skip


def show_requests(desk: Desk, visit: Visit) -> Response:
    """Requests that went wrong, the latest first, each with a form that adds its question to a set."""
    file = desk.space.find(visit.key(), "result", "samples")
    if not visit.by:
        return show(visit, "name", next=visit.path, task=file.name)
    requests = read_bad_requests(desk.space, file)
    why = visit.asked("why")
    listed = [one for one in requests if not why or one.why == why]
    pages = max(-(-len(listed) // _REQUESTS), 1)
    at = visit.number("page", pages)
    shown, sets = listed[(at - 1) * _REQUESTS : at * _REQUESTS], find_sets(desk.space)
    inside = {one.key: [own for own in sets if own.holds(one)] for one in shown}
    return show(
        visit, "requests", file=file, listed=shown, matching=len(listed), total=len(requests), at=at, pages=pages,
        reasons=sorted({one.why for one in requests}), why=why, sets=sets, inside=inside, longest=LONGEST_NOTE,
    )  # fmt: skip


def keep_request(desk: Desk, visit: Visit) -> Response:
    """Add the question of a request to a set; it is there once, however often this is asked for."""
    file = desk.space.find(visit.key(), "result", "samples")
    if not visit.by:
        raise UsageError(say("the form is not complete: open the page again"))
    told = visit.form
    request = next((one for one in read_bad_requests(desk.space, file) if one.key == told.get("request")), None)
    if request is None:
        raise UnknownName(say("request"), told.get("request", "")[:20], [])
    desk.space.find(told.get("set", ""), SET)
    target = next((one for one in find_sets(desk.space) if one.file.key == told["set"]), None)
    reference = told.get("reference", "")
    if target is None or len(reference) > LONGEST_NOTE:
        raise UsageError(say("the form is not complete: open the page again"))
    add_to_set(target, request, by=visit.by, source=f"log watch {file.name}", reference=reference)
    query = urlencode({name: value for name in ("why", "page") if (value := visit.asked(name))})
    return go_to(f"/production/{file.key}/requests" + (f"?{query}" if query else "") + f"#{request.key}")
