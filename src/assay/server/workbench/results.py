"""Pages of one result, of the difference of any two, and of one query under both."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup

from assay.analysis.answers_beside import find_answers
from assay.analysis.evidence import find_evidence
from assay.analysis.history import describe_result
from assay.analysis.report_data import report_data
from assay.analysis.result_difference import (
    SIGNS,
    QueryFilter,
    choose_system,
    common_measures,
    difference_of,
    list_all_systems,
    read_lists,
)
from assay.errors import AssayError, NotComparable, UnknownName, UsageError
from assay.messages import ends, say
from assay.report.blocks import Drilldown, Lines, Section
from assay.report.design.colours import assign_colours
from assay.report.numbers import number
from assay.report.renderers.answer_panes import answer_panes
from assay.report.renderers.html import fragment
from assay.report.renderers.plain import find_cast
from assay.report.views.answers import view_answer
from assay.report.views.result import line, pages
from assay.report.writing import render_report
from assay.server.workbench.bars import HEIGHT, WIDTH, difference_bars
from assay.server.workbench.history import name_parts
from assay.server.workbench.rendering import send_file, show
from assay.server.workbench.routes import reading
from assay.text.marking import mark_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.answers_beside import AnswerBeside
    from assay.analysis.evidence import LoadedResult
    from assay.analysis.result_difference import Difference, System
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_SHOWN = 100  # queries on one page
_OTHERS = 12  # systems whose answers are folded below those of the two
_STATE = ("base", "other", "m", "sign", "attr", "value", "zero", "q")
_DATA = re.compile(r'<script type="application/json".*?</script>', re.DOTALL)  # `<` is escaped in data
_PLACE = re.compile(r'href="#([a-z_]+)(?:&amp;[^"]*)?"')
_QUERY = re.compile(r'<a href="#query=[^"]*">(.*?)</a>', re.DOTALL)
_ZEROS = ("baseline", "other", "both")


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/result/{key}", desk, show_result),
        reading("/result/{key}/report.html", desk, send_report),
        reading("/compare", desk, show_difference),
        reading("/compare/query", desk, show_query),
    ]


def show_result(desk: Desk, visit: Visit) -> Response:
    """One page of the report of a result, each at its own address."""
    file = desk.space.find(visit.key(), "result")
    loaded = desk.space.result(visit.key())
    result = loaded.result
    entry = describe_result(result, file.key, file.name)
    sections = desk.space.keep(("pages", file.name, file.stamp), lambda: _make_pages(loaded))
    section = next((one for one in sections if one.key == visit.asked("page")), sections[0])
    text = fragment([section], visit.lang, find_cast(sections))
    return show(
        visit, "result", entry=entry, what=name_parts(entry, visit.lang), section=section, sections=sections,
        text=Markup(_link(text, file.key, [one.key for one in sections], several=len(result.systems) > 1)),  # noqa: S704
    )  # fmt: skip


def _make_pages(loaded: LoadedResult) -> list[Section]:
    """The pages of a report, but for the lists of queries, which have a page of their own here."""
    made = pages(report_data([loaded.result], find_evidence([loaded])))
    kept = [replace(one, blocks=tuple(b for b in one.blocks if not isinstance(b, Drilldown))) for one in made]
    return [one for one in kept if one.blocks] or [Section("summary", say("page.summary"), (Lines(()),))]


def _link(text: str, key: str, pages: list[str], *, several: bool) -> str:
    """A part of a report whose places are pages of the workbench; data for the report's own script is left out."""
    text = _DATA.sub("", text)
    text = _PLACE.sub(lambda at: f'href="/result/{key}?page={at[1]}"' if at[1] in pages else at[0], text)
    if several:
        return text.replace('href="#query=', f'href="/compare/query?r={key}&amp;query=')
    return _QUERY.sub(r"\1", text)


def send_report(desk: Desk, visit: Visit) -> Response:
    """The report of a result as a file that needs nothing else."""
    loaded = desk.space.result(visit.key())
    text = render_report([loaded], find_evidence([loaded]), lang=visit.lang)
    return send_file(f"{desk.space.find(visit.key()).stem}.html", text.encode("utf-8", "replace"), "text/html")


# The difference of two ------------------------------------------------------------------------------------------------


def show_difference(desk: Desk, visit: Visit) -> Response:
    """The decision on two systems, and the queries that changed; all of its state is in the address."""
    systems, baseline, other, measures = _choose_systems(desk, visit)
    measure = visit.asked("m") if visit.asked("m") in measures else next(iter(measures), "")
    found: Difference | None = None
    fault: AssayError | None = None
    try:
        found = difference_of(desk.space, baseline, other, measure)
    except (NotComparable, UsageError) as error:
        fault = error
    wanted = _filter(visit)
    places = found.queries.select(wanted).tolist() if found else []
    pages = max(-(-len(places) // _SHOWN), 1)
    at = visit.number("page", pages)
    rows = [found.queries[place] for place in places[(at - 1) * _SHOWN : at * _SHOWN]] if found else []
    contrast = found.comparison.contrasts[0] if found else None
    return show(
        visit, "difference", systems=systems, baseline=baseline, other=other, measures=measures, measure=measure,
        found=found, fault=fault.message if fault else "", wanted=wanted, rows=rows, matching=len(places), at=at,
        pages=pages,
        keys=_keys(visit), decision=line(found.comparison) if found else None, contrast=contrast, number=number,
        interval=ends(contrast.difference.low, contrast.difference.high, "+.4f") if contrast else "",
        attributes=_attributes(found), signs=SIGNS, zeros=_ZEROS, state=_state(visit), with_state=_with_state(visit),
        colours=assign_colours([one.name for one in systems]), days=_days(desk, visit),
        texts=any(one.text for one in rows), wide=WIDTH, tall=HEIGHT,
        bars=difference_bars(found.queries) if found else [],
    )  # fmt: skip


def _days(desk: Desk, visit: Visit) -> list[str]:
    """The days on which the results were measured."""
    days = (desk.space.result(key).result.origin.day for key in _keys(visit))
    return list(dict.fromkeys(filter(None, days)))


def show_query(desk: Desk, visit: Visit) -> Response:
    """One query under both systems: the lists side by side, with the previous and the next of the same filter."""
    systems, baseline, other, measures = _choose_systems(desk, visit)
    measure = visit.asked("m") if visit.asked("m") in measures else next(iter(measures), "")
    found = difference_of(desk.space, baseline, other, measure)
    own = found.queries.find(visit.asked("query"))
    if own is None:
        raise UnknownName(say("query"), visit.asked("query")[:100], [])
    query = found.queries[own]
    within = found.queries.select(_filter(visit))
    place = int(within.searchsorted(own))
    place = place if place < len(within) and within[place] == own else -1
    ids = found.queries.ids
    answered = find_answers(desk.space, [baseline, other], query.query_id)
    others = [one for one in systems if one is not baseline and one is not other][:_OTHERS]
    further = find_answers(desk.space, others, query.query_id) if answered else []
    colours = assign_colours([one.name for one in systems])
    lists = read_lists(desk.space, [baseline, other], query.query_id)
    return show(
        visit, "query", baseline=baseline, other=other, measure=measure, query=query, number=number, lists=lists,
        before=ids[within[place - 1]] if place > 0 else "",
        after=ids[within[place + 1]] if 0 <= place < len(within) - 1 else "",
        place=place + 1, total=len(within), with_state=_with_state(visit),
        mark=lambda text: mark_words(text, query.text), colours=colours,
        answers=_beside(answered, visit, colours), others=_beside(further, visit, colours),
        asked=query.text or next((one.answer.sample.question or "" for one in answered), ""),
        is_new=any(one.is_new for one in answered), further=len(further), days=_days(desk, visit),
    )  # fmt: skip


def _beside(found: list[AnswerBeside], visit: Visit, colours: Mapping[str, int]) -> Markup:
    """Answers side by side, as reports show them."""
    views = [view_answer(one.answer, one.system) for one in found]
    return Markup(answer_panes(views, visit.lang, colours) if views else "")  # noqa: S704 - every text is escaped


def _keys(visit: Visit) -> list[str]:
    return visit.request.query_params.getlist("r")[:2]


def _choose_systems(desk: Desk, visit: Visit) -> tuple[list[System], System, System, list[str]]:
    """The systems of the results, and the two that are compared: at first the best of the earlier and of the later."""
    keys = _keys(visit)
    dated = sorted(keys, key=lambda key: desk.space.result(key).result.origin.date)
    systems = list_all_systems(desk.space, dated)
    if len(systems) < 2:  # noqa: PLR2004 - one cannot be compared with itself
        raise UsageError(say("choose two results, or one with several systems"))
    first, last = (_best_of(desk, systems, key) for key in (dated[0], dated[-1]))
    if first is last:
        first = next(one for one in systems if one is not last)
    baseline, other = (
        choose_system(systems, visit.asked(name), otherwise) for name, otherwise in (("base", first), ("other", last))
    )
    return systems, baseline, other, [] if baseline is other else common_measures(baseline, other)


def _best_of(desk: Desk, systems: list[System], key: str) -> System:
    own = [one for one in systems if one.file.key == key]
    file = desk.space.find(key, "result")
    result = desk.space.result(key).result
    entry = desk.space.keep(("entry", file.name, file.stamp), lambda: describe_result(result, key, ""))
    return next((one for one in own if one.own_name == entry.system), own[0] if own else systems[0])


def _filter(visit: Visit) -> QueryFilter:
    return QueryFilter(*(visit.asked(name) for name in ("sign", "attr", "value", "zero", "q")))


def _attributes(found: Difference | None) -> dict[str, list[str]]:
    """Attributes of the queries with few enough values to choose from."""
    known = found.queries.attributes if found else {}
    return {name: list(values) for name, (values, _) in known.items() if 1 < len(values) <= 30}  # noqa: PLR2004


def _state(visit: Visit) -> dict[str, str]:
    return {name: visit.asked(name) for name in _STATE}


def _with_state(visit: Visit):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """An address with the state of this page, of which some is changed."""
    state = [(name, value) for name, value in _state(visit).items() if value]
    begins: dict[tuple[str, ...], str] = {}

    def address(path: str, **changes: str) -> str:
        names = tuple(changes)
        if names not in begins:
            kept = [(name, value) for name, value in state if name not in changes]
            begins[names] = urlencode([*(("r", key) for key in _keys(visit)), *kept])
        changed = [f"{name}={quote_plus(value, errors='replace')}" for name, value in changes.items() if value]
        return f"{path}?{'&'.join([begins[names], *changed])}"

    return address
