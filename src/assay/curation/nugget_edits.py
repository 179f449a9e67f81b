"""Editing nuggets together: each edit is a line of the log of labels, and the list is what the lines make of a file.

Adding, rewording and weighing a nugget say what it is from then on; removing it says that it is gone; merging says what
the first of several is, and that the others are gone. An edit of a nugget that somebody has changed since it was shown
is refused, and so is undoing an edit on which another one rests: nothing of anybody is overwritten.
"""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from assay.data.nuggets import IMPORTANCE, Importance, Nugget
from assay.errors import AssayError, UnknownName, UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.curation.labels import LabelStore
    from assay.data.label import Label

REMOVED = "removed"
LONGEST, MOST = 1000, 100  # characters of a nugget, nuggets of a question
_DIGITS = 16


class NuggetConflict(AssayError):
    """Somebody, `by`, has changed a nugget since the page was shown."""

    def __init__(self, by: str) -> None:
        super().__init__(say("{by} has changed this meanwhile: look again", by=by))
        self.by = by


@dataclass(frozen=True)
class EditedNugget:
    """A nugget as it is now: its id, the key of the `latest` edit of it and who made it; both empty as in the file.

    `gone` is empty, "removed", or the id of the nugget into which it was merged.
    """

    id: str
    text: str
    importance: Importance
    latest: str = ""
    by: str = ""
    gone: str = ""

    def as_nugget(self) -> Nugget:
        """It without its history."""
        return Nugget(self.text, self.importance)


@dataclass(frozen=True)
class NuggetEdit:
    """What is done to a question's nuggets: the first of `ids` becomes this, the others are merged into it.

    A removed one has the importance "removed". `known` are the latest edits that whoever edits has seen, by id; the
    id of a nugget that is added has none.
    """

    query_id: str
    ids: tuple[str, ...]
    importance: Importance | str
    text: str
    known: Mapping[str, str]


def edit_nuggets(
    store: LabelStore, task: str, base: Sequence[Nugget], edit: NuggetEdit, *, by: str, key: str = ""
) -> Label:
    """Keep an edit of a question whose file has the nuggets `base`, and return it once it is on the disk.

    A `key` that was kept before is the same request once more, and changes nothing.

    >>> from assay import LabelStore, Nugget
    >>> with LabelStore("labels") as store:
    ...     edit = NuggetEdit("q1", ("n1",), "vital", "built in 1889", {})
    ...     _ = edit_nuggets(store, "nuggets:n.jsonl", [], edit, by="Ann")
    ...     found = apply_edits("q1", [], store.history("nuggets:n.jsonl"))
    >>> found[0].text, found[0].by
    ('built in 1889', 'Ann')
    """
    text = " ".join(edit.text.split())
    if edit.importance not in {*IMPORTANCE, "", REMOVED} or not edit.ids or len(set(edit.ids)) < len(edit.ids):
        raise UsageError(say("the form is not complete: open the page again"))
    if edit.importance != REMOVED and not 1 <= len(text) <= LONGEST:
        raise UsageError(say("a nugget has between 1 and {most:,} characters", most=LONGEST))

    def check(history: list[Label]) -> None:
        _refuse_clash(apply_edits(edit.query_id, base, history), edit, text)

    return store.add(
        task, "nugget", (edit.query_id, *edit.ids), edit.importance, by=by, note=text[:LONGEST],
        key=key or secrets.token_hex(16), check=check,
    )  # fmt: skip


def _refuse_clash(now: Sequence[EditedNugget], edit: NuggetEdit, text: str) -> None:
    """Raise what speaks against an edit of the nuggets as they are now."""
    found = {one.id: one for one in now}
    for place in edit.ids:
        if place not in edit.known:
            if place in found or len(edit.ids) > 1:
                raise UsageError(say("the form is not complete: open the page again"))
        elif place not in found:
            raise UnknownName(say("nugget"), place[:_DIGITS], [])
        elif found[place].latest != edit.known[place]:
            raise NuggetConflict(found[place].by or "\N{EN DASH}")
        elif len(edit.ids) > 1 and found[place].gone:
            raise UsageError(say("a nugget that is gone cannot be merged: put it back first"))
    if edit.importance == REMOVED:
        return
    before = found.get(edit.ids[0])
    left = [one for one in now if not one.gone and one.id not in edit.ids]
    if len(left) >= MOST and (before is None or before.gone):
        raise UsageError(say("a question has at most {most} nuggets", most=MOST))
    is_new = before is None or before.gone or _plain(before.text) != _plain(text)
    if is_new and any(_plain(one.text) == _plain(text) for one in left):
        raise UsageError(say("this nugget is in the list already"))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def undo_nugget_edit(store: LabelStore, task: str, *, by: str, key: str = "", undoes: str = "") -> Label | None:
    """Take back a person's last edit in a task, or the one with the key `undoes`; return it, or None.

    One on which an edit of somebody else rests is not taken back.
    """

    def check(history: list[Label], edit: Label) -> None:
        query, *ids = edit.item
        later = history[next(i for i, one in enumerate(history) if one.key == edit.key) + 1 :]
        for one in later:
            if one.item[0] == query and set(ids) & set(one.item[1:]):
                raise NuggetConflict(one.by)

    return store.undo(task, by=by, key=key, undoes=undoes, check=check)


def apply_edits(query_id: str, base: Iterable[Nugget], history: Iterable[Label]) -> list[EditedNugget]:
    """The nuggets of a question, those of its file first; what is gone stays in its place, marked as such."""
    found = {one.id: one for one in _start(query_id, base)}
    for edit in history:
        if edit.kind != "nugget" or edit.item[0] != query_id or len(edit.item) < 2:  # noqa: PLR2004 - id and nugget
            continue
        _, first, *merged = edit.item
        before = found.get(first)
        value = str(edit.value)
        if value == REMOVED:
            if before is not None:
                found[first] = replace(before, gone=REMOVED, latest=edit.key, by=edit.by)
        elif value in {*IMPORTANCE, ""}:
            found[first] = EditedNugget(first, edit.note, value, edit.key, edit.by)
            for other in merged:
                if other in found:
                    found[other] = replace(found[other], gone=first, latest=edit.key, by=edit.by)
    return list(found.values())


def _start(query_id: str, base: Iterable[Nugget]) -> Iterable[EditedNugget]:
    """The nuggets of a file, with ids that their question and words decide, so that they stay when the file grows."""
    seen: Counter[str] = Counter()
    for one in base:
        seen[one.text] += 1
        text = "\x00".join((query_id, one.text, str(seen[one.text])))
        yield EditedNugget(sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS], one.text, one.importance)


def new_nugget_id(key: str) -> str:
    """The id of a nugget that the request with this key adds."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
