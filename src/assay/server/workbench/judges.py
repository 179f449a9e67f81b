"""Pages that check a model that judges: its grades against people's, and the cases behind every number."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from assay.analysis.judge_check import (
    check_file,
    find_files_of_people,
    find_judged_files,
    grades_of_labels,
    labels_of_people,
    notes_of_labels,
    pairs_of_both,
    people_of_file,
    reasons_of_judge,
)
from assay.analysis.label_tasks import document_texts, query_texts
from assay.errors import UnknownName
from assay.formats.reading import read_judgments
from assay.messages import ends, say
from assay.report.intervals import why
from assay.report.numbers import percent
from assay.report.views.calibration import line
from assay.server.workbench.rendering import show
from assay.server.workbench.routes import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.judge_check import JudgeCheck, JudgedFile
    from assay.curation.labelling import Item
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit
    from assay.stats.agreement import Agreement

_PAGE = 25  # cases on one page
_SHADES = 4
_WIDEST = 20  # different grades of a matrix that is shown
_LABELS, _COLUMN = "labels", "column"  # people who are no file
Notes = dict[tuple[str, ...], tuple[tuple[str, str], ...]]


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [reading("/judges", desk, list_judges), reading("/judges/{key}", desk, show_judge)]


def list_judges(desk: Desk, visit: Visit) -> Response:
    """All files of a model's grades, with how many pairs people graded too."""
    labels = grades_of_labels(labels_of_people(desk.store))
    rows = [(one, _common(desk, one, labels)) for one in find_judged_files(desk.space)]
    return show(visit, "judges_index", rows=rows)


def _common(desk: Desk, judged: JudgedFile, labels: Mapping[Item, float]) -> int:
    people = people_of_file(desk.space, judged.file) if judged.people else labels
    return len(pairs_of_both(desk.space.read(judged.file, read_judgments), people))


def show_judge(desk: Desk, visit: Visit) -> Response:
    """The confusion matrix, agreement with intervals, and the cases of a cell or those that are furthest apart."""
    desk.space.find(visit.key(), "judgments")
    judged = next((one for one in find_judged_files(desk.space) if one.file.key == visit.key()), None)
    if judged is None:
        raise UnknownName(say("file"), visit.key(), [])
    others = find_files_of_people(desk.space)
    known = [*([_COLUMN] if judged.people else []), _LABELS, *(one.key for one in others)]
    chosen = visit.asked("people") if visit.asked("people") in known else known[0]
    people, notes = _people(desk, judged, chosen)
    found = check_file(desk.space, judged, people, notes)
    bias = found.calibration.bias if found and found.calibration else None
    cell = _cell_of(found, visit)
    cases = found.cases(*cell) if found else []
    pages = max(-(-len(cases) // _PAGE), 1)
    at = visit.number("page", pages)
    shown = cases[(at - 1) * _PAGE : at * _PAGE]
    reasons = reasons_of_judge(desk.space, judged.judge) if shown else {}
    return show(
        visit, "judges", judged=judged, found=found, others=others, chosen=chosen, cell=cell, cases=shown, at=at,
        pages=pages, matching=len(cases), reasons=reasons, address=_addresses(judged, chosen),
        queries=query_texts(desk.space, {one.query_id for one in shown}) if shown else {},
        documents=document_texts(desk.space, {one.doc_id for one in shown}) if shown else {},
        matrix=_matrix(found) if found else [], line=line(found.calibration) if found and found.calibration else None,
        figures=_figures(found) if found else [], labels=_LABELS, column=_COLUMN, most=_WIDEST, percent=percent,
        bias=ends(bias.low, bias.high, "+.2f") if bias else "",
    )  # fmt: skip


def _people(desk: Desk, judged: JudgedFile, chosen: str) -> tuple[dict[Item, float], Notes]:
    if chosen == _LABELS:
        labels = labels_of_people(desk.store)
        return grades_of_labels(labels), notes_of_labels(labels)
    file = judged.file if chosen == _COLUMN else desk.space.find(chosen, "judgments")
    return people_of_file(desk.space, file), {}


def _cell_of(found: JudgeCheck | None, visit: Visit) -> tuple[float | None, float | None]:
    """The two grades whose cases were asked for, if both are in the matrix."""
    values = {f"{one:g}": one for one in found.confusion.values} if found else {}
    human, model = (values.get(visit.asked(name)) for name in ("human", "model"))
    return (human, model) if human is not None and model is not None else (None, None)


def _matrix(found: JudgeCheck) -> list[tuple[float, list[tuple[float, int, int]], int]]:
    """Rows of the matrix: people's grade, cells with the model's grade, a count and a shade, and the sum."""
    most = max(max(row) for row in found.confusion.counts)
    rows = zip(found.confusion.values, found.confusion.counts, strict=True)
    return [
        (
            grade,
            [
                (other, int(n), -(-_SHADES * int(n) // int(most)))
                for other, n in zip(found.confusion.values, row, strict=True)
            ],
            int(sum(row)),
        )
        for grade, row in rows
    ]


def _figures(found: JudgeCheck) -> list[tuple[str, str, str, str]]:
    """Coefficients: what each is called, its value, its interval, and why it has none."""
    return [
        _figure("weighted_kappa", found.weighted), _figure("kappa", found.kappa), _figure("alpha_short", found.alpha),
    ]  # fmt: skip


def _figure(name: str, of: Agreement) -> tuple[str, str, str, str]:
    between = of.interval
    told = ends(between.low, between.high, ".2f") if between else ""
    reason = of.reason or (between.reason if between and not told else "")
    return name, "\N{EN DASH}" if of.value is None else f"{of.value:.2f}", told, why(reason) if reason else ""


def _addresses(judged: JudgedFile, chosen: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Addresses of this page with something else chosen."""

    def address(**told: object) -> str:
        return f"/judges/{judged.file.key}?" + urlencode({"people": chosen, **told})

    return address
