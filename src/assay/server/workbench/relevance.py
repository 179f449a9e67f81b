"""Pages on which people grade documents for queries, see how far they agree, and take the grades with them."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from assay.analysis.label_exports import fill_in, judgments_of_labels
from assay.analysis.label_tasks import find_relevance_files, model_grades, read_relevance_task
from assay.curation.labelling import label_agreement, next_turn
from assay.curation.labels import LabelConflict
from assay.data.label import CANNOT_TELL, SKIPPED, Label
from assay.errors import UnknownName, UsageError
from assay.formats.files import write_atomically
from assay.formats.writing import write_judgments
from assay.messages import say
from assay.server.workbench.rendering import go_to, send_file, show
from assay.server.workbench.routes import reading, writing
from assay.server.workbench.visits import make_once
from assay.text.marking import mark_words

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.label_tasks import Card, RelevanceTask
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/label", desk, list_tasks),
        reading("/label/{key}", desk, show_card),
        writing("/label/{key}", desk, keep_label),
        writing("/label/{key}/undo", desk, undo_label),
        reading("/label/{key}/results", desk, show_results),
        reading("/label/{key}/judgments.qrels", desk, send_judgments),
        reading("/label/{key}/list.jsonl", desk, send_list),
        writing("/label/{key}/save", desk, save_labels),
    ]


def list_tasks(desk: Desk, visit: Visit) -> Response:
    """All lists of what to judge, with how far they are."""
    counts = desk.store.counts()
    tasks = [(file, counts.get(f"relevance:{file.name}", 0)) for file in find_relevance_files(desk.space)]
    return show(visit, "label_index", tasks=tasks, once=make_once(), notes=desk.store.notes)


def show_card(desk: Desk, visit: Visit) -> Response:
    """The pair that matters most of those that are left, or one that was asked for."""
    task = _task(desk, visit)
    if not visit.by:
        return show(visit, "name", next=visit.path, task=task.file.name)
    labels = desk.store.current(task.name)
    turn = next_turn(
        task.items, labels, visit.by, overlap=desk.overlap, taken=desk.items_of_others(task.name, visit.by)
    )  # fmt: skip
    card = task.by_key.get(visit.asked("card")) or (None if turn.place is None else task.cards[turn.place])
    desk.hold(task.name, visit.by, card.item if card else None)
    if card is None:
        return go_to(f"/label/{task.file.key}/results")
    own = next((one for one in labels if one.by == visit.by and one.item == card.item), None)
    return show(
        visit, "label", task=task, card=card, turn=turn, own=own, last=desk.store.last(task.name, visit.by),
        pieces=mark_words(card.document, card.query), rubric=desk.rubrics[visit.lang], once=make_once(),
        changed=bool(visit.asked("changed")), cards=task.by_key, key_of=_key_of(task),
    )  # fmt: skip


def keep_label(desk: Desk, visit: Visit) -> Response:
    """Keep a grade, and go to the next pair once it is on the disk."""
    task = _task(desk, visit)
    card = _card(task, visit)
    value = _value(desk, visit)
    try:
        desk.store.add(
            task.name, "relevance", card.item, value, by=visit.author, note=visit.form.get("note", "").strip(),
            key=visit.once, instead_of=visit.form.get("known", ""),
        )  # fmt: skip
    except LabelConflict:
        return go_to(f"/label/{task.file.key}?" + urlencode({"card": card.key, "changed": 1}))
    return go_to(f"/label/{task.file.key}")


def undo_label(desk: Desk, visit: Visit) -> Response:
    """Take back the last label, and show its pair again."""
    task = _task(desk, visit)
    undone = desk.store.undo(task.name, by=visit.author, key=visit.once, undoes=visit.form.get("undoes", ""))
    key = _key_of(task)(undone) if undone else ""
    return go_to(f"/label/{task.file.key}" + (f"?card={key}" if key else ""))


def show_results(desk: Desk, visit: Visit) -> Response:
    """What was labelled, how far people agree with each other and with models, and what to do with it."""
    task = _task(desk, visit)
    labels = desk.store.current(task.name)
    agreement = label_agreement("relevance", labels)
    machine = model_grades(desk.space, [one.item for one in labels])
    judged = [Label("", "", model, "", "relevance", item, grade) for item, (model, grade) in machine.items()]
    with_models = label_agreement("relevance", [*judged, *labels]) if judged else None
    models = {model for model, _ in machine.values()}
    turn = next_turn(task.items, labels, visit.by, overlap=desk.overlap) if visit.by else None
    return show(
        visit, "label_results", task=task, labels=labels, agreement=agreement, with_models=with_models, models=models,
        machine=machine, turn=turn, key_of=_key_of(task), saved=visit.asked("saved") == "1", once=make_once(),
        texts={card.item: card for card in task.cards}, stem=_stem(task), overlap=desk.overlap,
    )  # fmt: skip


def send_judgments(desk: Desk, visit: Visit) -> Response:
    """The grades as TREC judgments; those of a sample are not complete without their probabilities."""
    task = _task(desk, visit)
    if task.sampled:
        raise UsageError(say("this list is a sample: take the filled list, which keeps the probabilities"))
    name = f"{_stem(task)}.qrels"
    with TemporaryDirectory() as folder:  # who only looks changes nothing in the folder of work
        place = Path(folder) / name
        write_judgments(judgments_of_labels(desk.store.current(task.name)), place)
        return send_file(name, place.read_bytes(), "text/plain; charset=utf-8")


def send_list(desk: Desk, visit: Visit) -> Response:
    """The list, filled in."""
    task = _task(desk, visit)
    return send_file(f"{_stem(task)}.jsonl", _fill_in_file(desk, task), "application/x-ndjson")


def save_labels(desk: Desk, visit: Visit) -> Response:
    """Write the grades into the folder, where commands read them."""
    task = _task(desk, visit)
    if task.sampled:  # judgments without their probabilities would be taken for complete
        write_atomically(desk.space.own / f"{_stem(task)}.jsonl", _fill_in_file(desk, task))
    else:
        judged = judgments_of_labels(desk.store.current(task.name))
        write_judgments(judged, desk.space.own / f"{_stem(task)}.qrels")
    return go_to(f"/label/{task.file.key}/results?saved=1")


def _fill_in_file(desk: Desk, task: RelevanceTask) -> bytes:
    rows = fill_in(task.rows, desk.store.current(task.name))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def _stem(task: RelevanceTask) -> str:
    """The name of the file of grades: of the list, and a piece of its key, as lists in two folders may share a name."""
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in task.file.stem)
    return f"{plain}-{task.file.key[:6]}"


def _task(desk: Desk, visit: Visit) -> RelevanceTask:
    return read_relevance_task(desk.space, desk.space.find(visit.key(), "judgments", "pairs"))


def _card(task: RelevanceTask, visit: Visit) -> Card:
    found = task.by_key.get(visit.form.get("card", ""))
    if found is None:
        raise UnknownName(say("pair"), visit.form.get("card", "")[:20], [])
    return found


def _value(desk: Desk, visit: Visit) -> float | str:
    told = visit.form.get("value", "")
    if told in {SKIPPED, CANNOT_TELL}:
        return told
    if told not in {str(grade) for grade in desk.rubrics[visit.lang].grades}:
        raise UsageError(say("{value} is not a grade of the rubric", value=told[:20]))
    return int(told)


def _key_of(task: RelevanceTask):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """What pages call the item of a label by, where it is still in the list."""
    keys = {card.item: key for key, card in task.by_key.items()}
    return lambda label: keys.get(label.item, "")
