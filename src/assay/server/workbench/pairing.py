"""Pages on which people say which of two answers is better, without knowing which system gave which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assay.analysis.label_exports import preference_rows
from assay.analysis.pair_tasks import read_pair_task
from assay.analysis.preferences import preferences
from assay.curation.labelling import label_agreement, next_turn, stands_left
from assay.curation.labels import LabelConflict
from assay.data.label import CANNOT_TELL, SKIPPED
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import write_atomically
from assay.messages import ends, say
from assay.report.numbers import percent
from assay.report.views.preferences import line
from assay.server.workbench.rendering import go_to, send_file, show
from assay.server.workbench.routes import reading, writing
from assay.server.workbench.visits import make_once

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.analysis.pair_tasks import PairCard, PairTask
    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_PRESSED = ("left", "right", "tie", "both_bad", CANNOT_TELL, SKIPPED)


def routes(desk: Desk) -> list[Route]:
    """The addresses of these pages."""
    return [
        reading("/pairs", desk, list_files),
        reading("/pairs/{key}/{other}", desk, show_pair),
        writing("/pairs/{key}/{other}", desk, keep_label),
        writing("/pairs/{key}/{other}/undo", desk, undo_label),
        reading("/pairs/{key}/{other}/results", desk, show_results),
        reading("/pairs/{key}/{other}/preferences.jsonl", desk, send_preferences),
        writing("/pairs/{key}/{other}/save", desk, save_preferences),
    ]


def list_files(desk: Desk, visit: Visit) -> Response:
    """All files of answers, of which two are chosen."""
    chosen = visit.request.query_params.getlist("f")
    if len(chosen) == 2:  # noqa: PLR2004 - a pair
        first, second = (desk.space.find(key, "samples") for key in chosen)
        return go_to(_address(read_pair_task(desk.space, first, second)))
    begun = []
    names = {file.name: file for file in desk.space.files("samples")}
    for task, n in desk.store.counts().items():
        left, _, right = task.removeprefix("pairs:").partition("|")
        if task.startswith("pairs:") and left in names and right in names:
            begun.append((names[left], names[right], n))
    return show(visit, "pairs_index", files=list(names.values()), begun=begun)


def show_pair(desk: Desk, visit: Visit) -> Response:
    """The next two answers, in an order that was drawn for this question and person."""
    task = _task(desk, visit)
    if not visit.by:
        return show(visit, "name", next=visit.path, task="")
    labels = desk.store.current(task.name)
    taken = desk.items_of_others(task.name, visit.by)
    turn = next_turn(task.items, labels, visit.by, overlap=desk.overlap, taken=taken)
    card = task.by_key.get(visit.asked("card")) or (None if turn.place is None else task.cards[turn.place])
    desk.hold(task.name, visit.by, card.item if card else None)
    if card is None:
        return go_to(f"{_address(task)}/results")
    own = next((one for one in labels if one.by == visit.by and one.item == card.item), None)
    left, right = card.answers if stands_left(card.item, visit.by) else card.answers[::-1]
    return show(
        visit, "pair", card=card, turn=turn, left=left, right=right, own=own, address=_address(task),
        pressed=_find_key(card, visit, own.value) if own else "", last=desk.store.last(task.name, visit.by),
        once=make_once(), changed=bool(visit.asked("changed")),
    )  # fmt: skip


def keep_label(desk: Desk, visit: Visit) -> Response:
    """Keep which of the two was preferred, with how they stood."""
    task = _task(desk, visit)
    card = task.by_key.get(visit.form.get("card", ""))
    if card is None:
        raise UnknownName(say("pair"), visit.form.get("card", "")[:20], [])
    pressed = visit.form.get("value", "")
    if pressed not in _PRESSED:
        raise UsageError(say("the form is not complete: open the page again"))
    on_left = stands_left(card.item, visit.author)
    value = {"left": "first" if on_left else "second", "right": "second" if on_left else "first"}.get(pressed, pressed)
    try:
        desk.store.add(
            task.name, "preference", card.item, value, by=visit.author, note=visit.form.get("note", "").strip(),
            key=visit.once, shown=card.first if on_left else card.second, instead_of=visit.form.get("known", ""),
        )  # fmt: skip
    except LabelConflict:
        return go_to(f"{_address(task)}?card={card.key}&changed=1")
    return go_to(_address(task))


def _find_key(card: PairCard, visit: Visit, value: object) -> str:
    """The key that a kept preference came from."""
    on_left = stands_left(card.item, visit.by)
    sides = {"first": "left" if on_left else "right", "second": "right" if on_left else "left"}
    return sides.get(str(value), str(value))


def undo_label(desk: Desk, visit: Visit) -> Response:
    """Take back the last preference, and show its pair again."""
    task = _task(desk, visit)
    undone = desk.store.undo(task.name, by=visit.author, key=visit.once, undoes=visit.form.get("undoes", ""))
    card = next((one for one in task.cards if undone and one.item == undone.item), None)
    return go_to(_address(task) + (f"?card={card.key}" if card else ""))


def show_results(desk: Desk, visit: Visit) -> Response:
    """How far people are; and, to who is done or asks for it, which system is preferred."""
    task = _task(desk, visit)
    labels = desk.store.current(task.name)
    turn = next_turn(task.items, labels, visit.by, overlap=desk.overlap) if visit.by else None
    done = turn is not None and turn.place is None and turn.total > 0
    rows = preference_rows(labels)
    told = preferences(rows) if rows and (done or visit.asked("reveal") == "1") else None
    pair = told.pairs[0] if told else None
    return show(
        visit, "pairs_results", task=task, turn=turn, done=done, told=told, pair=pair, given=len(rows),
        line=line(told) if told else None, address=_address(task), once=make_once(), stem=_stem(task),
        agreement=label_agreement("preference", labels), saved=visit.asked("saved") == "1", percent=percent,
        rate=ends(pair.rate.low, pair.rate.high, ".1%") if pair else "", overlap=desk.overlap,
        bad=sum("answers" in row for row in rows),
    )  # fmt: skip


def send_preferences(desk: Desk, visit: Visit) -> Response:
    """The preferences as a file."""
    task = _task(desk, visit)
    return send_file(f"{_stem(task)}.jsonl", _rows(desk, task), "application/x-ndjson")


def save_preferences(desk: Desk, visit: Visit) -> Response:
    """Write the preferences into the folder."""
    task = _task(desk, visit)
    write_atomically(desk.space.own / f"{_stem(task)}.jsonl", _rows(desk, task))
    return go_to(f"{_address(task)}/results?saved=1&reveal=1")


def _rows(desk: Desk, task: PairTask) -> bytes:
    rows = preference_rows(desk.store.current(task.name))
    if not rows:
        raise InputError(say("nothing is labelled yet"))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def _address(task: PairTask) -> str:
    return f"/pairs/{task.files[0].key}/{task.files[1].key}"


def _stem(task: PairTask) -> str:
    return f"preferences-{task.files[0].key[:6]}-{task.files[1].key[:6]}"


def _task(desk: Desk, visit: Visit) -> PairTask:
    first, second = (desk.space.find(visit.key(name), "samples") for name in ("key", "other"))
    return read_pair_task(desk.space, first, second)
