"""Pages on which people say, together, which facts a good answer to a question holds."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from assay.analysis.nugget_tasks import find_nugget_files, find_nugget_source, read_nugget_task
from assay.curation.nugget_edits import (
    LONGEST,
    REMOVED,
    EditedNugget,
    NuggetConflict,
    NuggetEdit,
    apply_edits,
    edit_nuggets,
    new_nugget_id,
    undo_nugget_edit,
)
from assay.data.nuggets import IMPORTANCE
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import write_atomically
from assay.formats.nuggets import nugget_lines
from assay.messages import say
from assay.server.workbench.rendering import go_to, send_file, show
from assay.server.workbench.routes import reading, writing
from assay.server.workbench.visits import make_once

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.nugget_tasks import NuggetQuestion, NuggetTask
    from assay.data.label import Label
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_CONFLICT = 409
_MERGED, _PAGE = 12, 100  # nuggets merged at a time, questions on a page
_SAME = "same"  # the importance of a nugget that is only reworded
_ADD = "add"  # where to go on after a nugget was added


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/nuggets", desk, list_tasks),
        reading("/nuggets/{key}", desk, show_question),
        writing("/nuggets/{key}", desk, keep_edit),
        writing("/nuggets/{key}/undo", desk, undo_edit),
        reading("/nuggets/{key}/results", desk, show_results),
        reading("/nuggets/{key}/nuggets.jsonl", desk, send_nuggets),
        writing("/nuggets/{key}/save", desk, save_nuggets),
    ]


def list_tasks(desk: Desk, visit: Visit) -> Response:
    """All files of nuggets and of queries, with how many edits each has."""
    counts = desk.store.counts()
    tasks = [(file, counts.get(f"nuggets:{file.name}", 0)) for file in find_nugget_files(desk.space)]
    return show(visit, "nuggets_index", tasks=tasks)


def show_question(desk: Desk, visit: Visit) -> Response:
    """A question with its nuggets: the one that was asked for, else the first without any."""
    task = _task(desk, visit)
    if not visit.by:
        return show(visit, "name", next=visit.path, task=task.file.name)
    history = desk.store.history(task.name)
    place = task.places.get(visit.asked("q"))
    if place is None:
        edited = zip(range(len(task.questions)), task.list_nuggets(history), strict=False)
        place = next((i for i, one in edited if not one.nuggets), 0)
    return _show(desk, visit, task, task.questions[place], at=visit.asked("at"))


def _show(
    desk: Desk, visit: Visit, task: NuggetTask, question: NuggetQuestion, *, at: str = "", trouble: str = "",
    draft: str = "", status: int = 200,
) -> Response:  # fmt: skip
    place = task.places[question.key]
    now = apply_edits(question.query_id, question.nuggets, desk.store.history(task.name))
    listed = [one for one in now if not one.gone]
    before, after = (task.questions[i].key if 0 <= i < len(task.questions) else "" for i in (place - 1, place + 1))
    return show(
        visit, "nuggets", status, task=task, question=question, listed=listed, gone=[one for one in now if one.gone],
        names={one.id: one.text for one in now}, place=place, before=before, after=after, at=at, trouble=trouble,
        draft=draft, last=_last(desk, visit, task), source=find_nugget_source(desk.space, question), weights=IMPORTANCE,
        once=[make_once() for _ in range(len(now) + 3)], longest=LONGEST, most=_MERGED,
    )  # fmt: skip


def _last(desk: Desk, visit: Visit, task: NuggetTask) -> Label | None:
    return desk.store.last(task.name, visit.by)


def keep_edit(desk: Desk, visit: Visit) -> Response:
    """Add, reword, weigh, remove, put back or merge; whoever changed it meanwhile is named; what was typed stays."""
    task = _task(desk, visit)
    question = _question(task, visit)
    now = apply_edits(question.query_id, question.nuggets, desk.store.history(task.name))
    draft = visit.form.get("text", "")
    try:
        edit = _merging(now, visit, question) if visit.form.get("do") == "merge" else _change(now, visit, question)
        edit_nuggets(desk.store, task.name, question.nuggets, edit, by=visit.author, key=visit.once)
    except (NuggetConflict, UsageError) as error:
        status = _CONFLICT if isinstance(error, NuggetConflict) else 400
        at = visit.form.get("nugget", "") or _ADD
        return _show(desk, visit, task, question, at=at, trouble=error.message, draft=draft, status=status)
    return go_to(_address(task, question, _ADD if not edit.known else _next_place(now, edit)))


def _change(now: list[EditedNugget], visit: Visit, question: NuggetQuestion) -> NuggetEdit:
    """What a form says of one nugget; of one that is not there yet, that it is added."""
    told = visit.form
    found = next((one for one in now if one.id == told.get("nugget")), None)
    importance = told.get("importance", "")
    if found is None and told.get("nugget"):
        raise UnknownName(say("nugget"), told["nugget"][:20], [])
    if importance not in {*IMPORTANCE, REMOVED, _SAME} or (found is None and importance not in IMPORTANCE):
        raise UsageError(say("the form is not complete: open the page again"))
    if found is None:
        return NuggetEdit(question.query_id, (new_nugget_id(visit.once),), importance, told.get("text", ""), {})
    text = found.text if importance == REMOVED else told.get("text", found.text)
    weight = found.importance if importance == _SAME else importance
    return NuggetEdit(question.query_id, (found.id,), weight, text, {found.id: told.get("known", "")})


def _merging(now: list[EditedNugget], visit: Visit, question: NuggetQuestion) -> NuggetEdit:
    """The nuggets that were ticked become one: the first of the list, vital if one of them is."""
    ticked = dict(value.partition(".")[::2] for name, value in visit.form.items() if name.startswith("tick"))
    chosen = [one for one in now if one.id in ticked]
    if len(chosen) < max(2, len(ticked)):
        raise UsageError(say("tick two nuggets or more that mean the same"))
    weights = {one.importance for one in chosen}
    importance = next((one for one in IMPORTANCE if one in weights), "")
    return NuggetEdit(question.query_id, tuple(one.id for one in chosen), importance, chosen[0].text, ticked)


def _next_place(now: list[EditedNugget], edit: NuggetEdit) -> str:
    """Where to go on after an edit: at the same nugget, or at the one after a removed one."""
    if edit.importance != REMOVED:
        return edit.ids[0]
    ids = [one.id for one in now if not one.gone or one.id == edit.ids[0]]
    place = ids.index(edit.ids[0])
    return next(iter([*ids[place + 1 :], *reversed(ids[:place])]), _ADD)


def undo_edit(desk: Desk, visit: Visit) -> Response:
    """Take back the last edit, and show its question again."""
    task = _task(desk, visit)
    try:
        undone = undo_nugget_edit(
            desk.store, task.name, by=visit.author, key=visit.once, undoes=visit.form.get("undoes", "")
        )
    except NuggetConflict as error:
        shown = _question(task, visit)
        return _show(desk, visit, task, shown, trouble=error.message, status=_CONFLICT)
    question = next((one for one in task.questions if undone and one.query_id == undone.item[0]), None)
    if undone is None or question is None:
        return go_to(f"/nuggets/{task.file.key}")
    return go_to(_address(task, question, undone.item[1]))


def show_results(desk: Desk, visit: Visit) -> Response:
    """All questions with how many nuggets each has, and the file to take."""
    task = _task(desk, visit)
    history = desk.store.history(task.name)
    edited = list(task.list_nuggets(history))
    people: dict[str, int] = {}
    for one in history:
        people[one.by] = people.get(one.by, 0) + 1
    pages = max(-(-len(task.questions) // _PAGE), 1)
    at = visit.number("page", pages)
    shown = list(zip(task.questions, edited, strict=False))[(at - 1) * _PAGE : at * _PAGE]
    return show(
        visit, "nuggets_results", task=task, shown=shown, at=at, pages=pages, people=people, stem=_stem(task),
        total=sum(len(one.nuggets) for one in edited), vital=sum(one.vital for one in edited), once=make_once(),
        filled=sum(bool(one.nuggets) for one in edited), saved=visit.asked("saved") == "1",
    )  # fmt: skip


def send_nuggets(desk: Desk, visit: Visit) -> Response:
    """The nuggets as a file."""
    task = _task(desk, visit)
    return send_file(f"{_stem(task)}.jsonl", _lines(desk, task), "application/x-ndjson")


def save_nuggets(desk: Desk, visit: Visit) -> Response:
    """Write the nuggets into the folder."""
    task = _task(desk, visit)
    write_atomically(desk.space.own / f"{_stem(task)}.jsonl", _lines(desk, task))
    return go_to(f"/nuggets/{task.file.key}/results?saved=1")


def _lines(desk: Desk, task: NuggetTask) -> bytes:
    found = [one for one in task.list_nuggets(desk.store.history(task.name)) if one.nuggets]
    if not found:
        raise InputError(say("there are no nuggets yet"))
    return nugget_lines(found).encode("utf-8", "replace")


def _address(task: NuggetTask, question: NuggetQuestion, at: str = "") -> str:
    return f"/nuggets/{task.file.key}?" + urlencode({"q": question.key, **({"at": at} if at else {})})


def _stem(task: NuggetTask) -> str:
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in task.file.stem)
    return f"nuggets-{plain}-{task.file.key[:6]}"


def _task(desk: Desk, visit: Visit) -> NuggetTask:
    return read_nugget_task(desk.space, desk.space.find(visit.key(), "nuggets", "queries"))


def _question(task: NuggetTask, visit: Visit) -> NuggetQuestion:
    place = task.places.get(visit.form.get("q", ""))
    if place is None:
        raise UnknownName(say("question"), visit.form.get("q", "")[:20], [])
    return task.questions[place]
