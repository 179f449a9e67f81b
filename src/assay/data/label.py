"""A label: what a person said about one thing, such as a document for a query, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["relevance", "statement", "mark", "preference", "nugget"]
KINDS: tuple[Kind, ...] = ("relevance", "statement", "mark", "preference", "nugget")
SKIPPED, CANNOT_TELL = "skipped", "cannot_tell"
SUPPORT = ("supported", "unsupported")
PREFERRED = ("first", "second", "tie", "both_bad")


@dataclass(frozen=True)
class Label:
    """One line of the log of labels: the label of `item` by a person in a task, or the undoing of an earlier line.

    `key` names the request that made the line, so that one sent twice counts once. `item` holds the ids of what was
    labelled; `value` is a grade, a mark or a word; `shown` says which answer stood on the left. An undoing has no
    value: it `undoes` the line with that key. Of several labels of one person for one item, the last that was not
    undone counts.

    Nuggets are edited by all together: the `item` is a question, a nugget and those that were merged into it, `value`
    its importance or that it was removed, `note` its words, and the last line of anybody counts.
    """

    key: str
    at: str
    by: str
    task: str
    kind: Kind
    item: tuple[str, ...]
    value: float | str | None
    note: str = ""
    shown: str = ""
    undoes: str | None = None

    @property
    def grade(self) -> float | None:
        """The number that was given; None for a word."""
        return None if isinstance(self.value, str) else self.value

    @property
    def counts(self) -> bool:
        """Whether something was said: what was skipped, or cannot be told, is in no export."""
        return self.value is not None and self.value not in {SKIPPED, CANNOT_TELL}
