"""Pages on which people say of every statement whether its contexts support it, and mark the whole answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assay.analysis.label_exports import add_human_columns
from assay.analysis.rating_tasks import read_rating_task, whole_answers
from assay.curation.labelling import label_agreement, next_turn
from assay.curation.labels import LabelConflict
from assay.data.label import CANNOT_TELL, SUPPORT
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import write_atomically
from assay.messages import say
from assay.server.workbench.rendering import go_to, send_file, show
from assay.server.workbench.routes import reading, writing
from assay.server.workbench.visits import make_once

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.rating_tasks import AnswerCard, RatingTask
    from assay.curation.labelling import Item
    from assay.data.label import Label
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_MARKS = (1, 2, 3, 4, 5)


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/rate", desk, list_tasks),
        reading("/rate/{key}", desk, show_answer),
        writing("/rate/{key}", desk, keep_label),
        writing("/rate/{key}/undo", desk, undo_label),
        reading("/rate/{key}/results", desk, show_results),
        reading("/rate/{key}/rated.jsonl", desk, send_samples),
        writing("/rate/{key}/save", desk, save_samples),
    ]


def list_tasks(desk: Desk, visit: Visit) -> Response:
    """All files of answers, with how many labels each has."""
    counts = desk.store.counts()
    tasks = [(file, counts.get(f"answers:{file.name}", 0)) for file in desk.space.files("samples")]
    return show(visit, "task_index", tasks=tasks, room="rate", about="rate_about", none="no_answers")


def show_answer(desk: Desk, visit: Visit) -> Response:
    """The next answer, or the one that was asked for, at the first statement that has no label."""
    task = _task(desk, visit)
    if not visit.by:
        return show(visit, "name", next=visit.path, task=task.file.name)
    labels = desk.store.current(task.name)
    done = whole_answers(task, labels, visit.by)
    taken = desk.items_of_others(task.name, visit.by)
    turn = next_turn(task.items, done, visit.by, overlap=desk.overlap, taken=taken)
    card = task.by_key.get(visit.asked("card")) or (None if turn.place is None else task.cards[turn.place])
    desk.hold(task.name, visit.by, card.item if card else None)
    if card is None:
        return go_to(f"/rate/{task.file.key}/results")
    own = {label.item: label for label in labels if label.by == visit.by}
    said = [own.get(card.statement_item(place)) for place in range(len(card.statements))]
    current = next((place for place, label in enumerate(said) if label is None), -1)
    return show(
        visit, "rate", task=task, card=card, turn=turn, said=said, mark=own.get(card.item), current=current,
        last=desk.store.last(task.name, visit.by), once=[make_once() for _ in range(len(said) + 2)],
        changed=bool(visit.asked("changed")), marks=_MARKS, words=(*SUPPORT, CANNOT_TELL),
    )  # fmt: skip


def keep_label(desk: Desk, visit: Visit) -> Response:
    """Keep what was said of one statement, or the mark of the answer; then the same answer until it is done."""
    task = _task(desk, visit)
    card = task.by_key.get(visit.form.get("card", ""))
    if card is None:
        raise UnknownName(say("answer"), visit.form.get("card", "")[:20], [])
    item, value = _read_form(card, visit)
    try:
        desk.store.add(
            task.name, "mark" if item == card.item else "statement", item, value, by=visit.author, key=visit.once,
            instead_of=visit.form.get("known", ""),
        )  # fmt: skip
    except LabelConflict:
        return go_to(f"/rate/{task.file.key}?card={card.key}&changed=1")
    own = whole_answers(task, desk.store.current(task.name), visit.by)
    done = any(label.by == visit.by and label.item == card.item for label in own)
    return go_to(f"/rate/{task.file.key}" + ("" if done else f"?card={card.key}"))


def _read_form(card: AnswerCard, visit: Visit) -> tuple[Item, float | str]:
    """What a form is about, and what it says."""
    place, value = visit.form.get("statement", ""), visit.form.get("value", "")
    if place == "" and value in {str(mark) for mark in _MARKS}:
        return card.item, int(value)
    if place.isdecimal() and int(place[:6]) < len(card.statements) and value in {*SUPPORT, CANNOT_TELL}:
        return card.statement_item(int(place[:6])), value
    raise UsageError(say("the form is not complete: open the page again"))


def undo_label(desk: Desk, visit: Visit) -> Response:
    """Take back the last label, and show its answer again."""
    task = _task(desk, visit)
    undone = desk.store.undo(task.name, by=visit.author, key=visit.once, undoes=visit.form.get("undoes", ""))
    card = next((one for one in task.cards if undone and one.item == undone.item[:2]), None)
    return go_to(f"/rate/{task.file.key}" + (f"?card={card.key}" if card else ""))


def show_results(desk: Desk, visit: Visit) -> Response:
    """What was said, and how far people agree."""
    task = _task(desk, visit)
    labels = desk.store.current(task.name)
    done = whole_answers(task, labels, visit.by)
    turn = next_turn(task.items, done, visit.by, overlap=desk.overlap) if visit.by else None
    statements, marks = _split(labels)
    return show(
        visit, "rate_results", task=task, turn=turn, labels=labels, saved=visit.asked("saved") == "1", once=make_once(),
        statements=label_agreement("statement", statements), marks=label_agreement("mark", marks), stem=_stem(task),
        rated=len({label.item[:2] for label in labels if label.counts}), overlap=desk.overlap,
    )  # fmt: skip


def _split(labels: list[Label]) -> tuple[list[Label], list[Label]]:
    return [one for one in labels if one.kind == "statement"], [one for one in labels if one.kind == "mark"]


def send_samples(desk: Desk, visit: Visit) -> Response:
    """The samples with the columns of people."""
    task = _task(desk, visit)
    return send_file(f"{_stem(task)}.jsonl", _fill_in_file(desk, task), "application/x-ndjson")


def save_samples(desk: Desk, visit: Visit) -> Response:
    """Write the samples with the columns of people into the folder."""
    task = _task(desk, visit)
    write_atomically(desk.space.own / f"{_stem(task)}.jsonl", _fill_in_file(desk, task))
    return go_to(f"/rate/{task.file.key}/results?saved=1")


def _fill_in_file(desk: Desk, task: RatingTask) -> bytes:
    labels = desk.store.current(task.name)
    if not any(one.counts for one in labels):
        raise InputError(say("nothing is labelled yet"))
    rows = add_human_columns(task.rows, task.items, labels)
    text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    return text.encode("utf-8", "replace")


def _stem(task: RatingTask) -> str:
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in task.file.stem)
    return f"rated-{plain}-{task.file.key[:6]}"


def _task(desk: Desk, visit: Visit) -> RatingTask:
    return read_rating_task(desk.space, desk.space.find(visit.key(), "samples"))
