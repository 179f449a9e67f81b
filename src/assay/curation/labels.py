"""Labels of people, kept so that nothing is lost: on the disk before anybody is told so, with who, when and what.

A folder has one log for all of its tasks, `labels.jsonl`, which is the truth, and an index of it beside it. Several
people, several pages of one person and several processes write to one log, one after the other.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from assay.curation.label_index import LabelIndex, select
from assay.data.label import KINDS, Label
from assay.errors import AssayError, InputError, UnknownName, UsageError
from assay.formats.label_log import append_labels, read_label_log
from assay.messages import say

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Sequence

    from assay.data.label import Kind

LOG = "labels.jsonl"
LONGEST_NAME, LONGEST_NOTE = 100, 4000  # characters
_LATEST = (
    "number IN (SELECT max(number) FROM labels WHERE undone = 0 AND undoes IS NULL AND task = ? GROUP BY by, item) "
    "ORDER BY number"
)
_HISTORY = "undone = 0 AND undoes IS NULL AND task = ? ORDER BY number"
_OWN = "task = ? AND by = ? AND undone = 0 AND undoes IS NULL"


class LabelConflict(AssayError):
    """Somebody has labelled this item under the same name since the page was shown; `now` is that label."""

    def __init__(self, now: Label | None) -> None:
        super().__init__(say("another page with your name has changed this label: look again"))
        self.now = now


class LabelStore:
    """The labels of a folder; `log` is the file that holds them.

    >>> from assay import LabelStore
    >>> with LabelStore("labels") as store:
    ...     label = store.add("pool", "relevance", ("q1", "d1"), 2, by="Ann")
    ...     [(one.item, one.value) for one in store.current("pool")]
    [(('q1', 'd1'), 2)]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise InputError(say("the folder of the labels cannot be made"), path=str(folder)) from None
        self.log = self.folder / LOG
        self._index = LabelIndex(self.log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the log is damaged and left out."""
        return read_label_log(self.log).notes if self.log.exists() else ()

    def add(
        self,
        task: str,
        kind: Kind,
        item: Sequence[str],
        value: float | str,
        *,
        by: str,
        note: str = "",
        shown: str = "",
        key: str = "",
        instead_of: str | None = None,
        check: Callable[[list[Label]], None] | None = None,
    ) -> Label:
        """Keep a label, and return it once it is on the disk.

        A `key` that was kept before is the same request once more, and changes nothing. `instead_of` is the key of the
        label that the page knew for this item and person ("" for none): if there is another by now, this is a conflict.
        `check` sees the `history` of the task, which nobody changes meanwhile, and raises what speaks against it.
        """
        _check(kind, by, note)
        by, note, *ids = (_clean(text) for text in (by, note, *item))
        label = Label(key or secrets.token_hex(16), _now(), by, task, kind, tuple(ids), value, note, shown)
        with self._index.hold_lock() as connection:
            before = select(connection, "key = ?", [label.key])
            if before:
                return before[0]
            if instead_of is not None:
                known = self._latest(connection, label)
                if (known.key if known else "") != instead_of:
                    raise LabelConflict(known)
            if check is not None:
                check(select(connection, _HISTORY, [task]))
            return self._keep(connection, label)

    def undo(
        self,
        task: str,
        *,
        by: str,
        key: str = "",
        undoes: str = "",
        check: Callable[[list[Label], Label], None] | None = None,
    ) -> Label | None:
        """Take back a person's last label in a task, or the one with the key `undoes`; return it, or None.

        `check` sees the `history` of the task and the label, and raises what speaks against taking it back.
        """
        with self._index.hold_lock() as connection:
            again = select(connection, "key = ? AND undoes IS NOT NULL", [key]) if key else []
            if again:
                return next(iter(select(connection, "key = ?", [again[0].undoes])), None)
            wanted = (_OWN + " AND key = ?", [task, by, undoes]) if undoes else (_OWN, [task, by])
            own = select(connection, wanted[0] + " ORDER BY number DESC LIMIT 1", wanted[1])
            if not own:
                return None
            if check is not None:
                check(select(connection, _HISTORY, [task]), own[0])
            undoing = replace(
                own[0], key=key or secrets.token_hex(16), at=_now(), value=None, note="", undoes=own[0].key
            )
            self._keep(connection, undoing)
            return own[0]

    def current(self, task: str) -> list[Label]:
        """The labels of a task that count, in the order in which they were given."""
        with self._index.hold_lock() as connection:
            return select(connection, _LATEST, [task])

    def history(self, task: str) -> list[Label]:
        """All labels of a task that were not taken back, in the order in which they were given."""
        with self._index.hold_lock() as connection:
            return select(connection, _HISTORY, [task])

    def last(self, task: str, by: str) -> Label | None:
        """A person's last label in a task, which `undo` would take back."""
        with self._index.hold_lock() as connection:
            return next(iter(select(connection, _OWN + " ORDER BY number DESC LIMIT 1", [task, by])), None)

    def counts(self) -> dict[str, int]:
        """How many labels count in each task."""
        latest = "SELECT task, by, item FROM labels WHERE undone = 0 AND undoes IS NULL GROUP BY task, by, item"
        with self._index.hold_lock() as connection:
            return dict(connection.execute(f"SELECT task, count(*) FROM ({latest}) GROUP BY task"))  # noqa: S608 - fixed

    def _latest(self, connection: sqlite3.Connection, label: Label) -> Label | None:
        """What counts now for the item and person of a label."""
        wanted = [label.task, label.by, json.dumps(label.item)]
        own = select(connection, _OWN + " AND item = ? ORDER BY number DESC LIMIT 1", wanted)
        return own[0] if own else None

    def _keep(self, connection: sqlite3.Connection, label: Label) -> Label:
        append_labels(self.log, [label])
        self._index.take_in(connection)
        return label


def _check(kind: str, by: str, note: str) -> None:
    if kind not in KINDS:
        raise UnknownName(say("kind of label"), kind, KINDS)
    if not by.strip() or len(by) > LONGEST_NAME:
        raise UsageError(say("a name has between 1 and {most} characters", most=LONGEST_NAME))
    if len(note) > LONGEST_NOTE:
        raise UsageError(say("a note has at most {most:,} characters", most=LONGEST_NOTE))


def _clean(text: str) -> str:
    """A text that has bytes: half a surrogate pair has none."""
    return text.encode("utf-8", "replace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
