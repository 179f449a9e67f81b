"""Everything Assay raises on purpose.

AssayError
├── InputError      data that cannot be used: names file, line and cure
│   └── Repeated      the same document twice for one query
├── UsageError      a name, an option or a combination of them that makes no sense
│   └── UnknownName   a measure, protocol or column that does not exist, with "did you mean"
├── NotComparable   values of different definitions, judgments or query sets
└── NothingJudged   a method that failed on everything it was given

The command line prints any of them as one line and exits with 2, or with 1 where nothing could be judged. Anything else
is a bug and shows its traceback.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EXCERPT = 60
# Control characters and bidirectional marks could rewrite what a terminal shows; half a surrogate pair has no bytes.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


class AssayError(Exception):
    """Base of all errors that Assay raises on purpose."""


class InputError(AssayError):
    """Data that cannot be used; the message names the place and the cure."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None, hint: str = "") -> None:
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message + (f" ({hint})" if hint else ""))
        self.path, self.line, self.hint = path, line, hint


class Repeated(InputError):
    """The same document twice for one query."""

    def __init__(
        self,
        query: str,
        doc: str,
        verb: str,
        *,
        path: str | None = None,
        lines: Sequence[int] = (),
        hint: str = "remove one of them, or use --dedupe (dedupe=True) to keep the first",
    ) -> None:
        where = f" (lines {' and '.join(map(str, lines))})" if lines else ""
        message = f"document {excerpt(doc)} is {verb} twice for query {excerpt(query)}{where}"
        super().__init__(message, path=path, hint=hint)
        self.query, self.doc, self.verb, self.lines = query, doc, verb, lines

    def with_hint(self, hint: str) -> Repeated:
        """The same with another cure."""
        return Repeated(self.query, self.doc, self.verb, path=self.path, lines=self.lines, hint=hint)


class UsageError(AssayError):
    """An option or a combination of options that makes no sense."""


class UnknownName(UsageError):
    """A name that does not exist; the message offers the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "") -> None:
        from difflib import get_close_matches

        by_lower = {word.lower(): word for word in known}
        near = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
        offer = f"; did you mean {', '.join(by_lower[word] for word in near)}?" if near else ""
        super().__init__(f"unknown {kind} {excerpt(name)}{offer}{f' ({hint})' if hint else ''}")


class NotComparable(AssayError):
    """Values that must not stand side by side; the message names the difference."""


class NothingJudged(AssayError):
    """A method that failed on everything it was given: the input is fine, and there is no answer."""


def excerpt(text: object) -> str:
    """Quote user data for a message: one line, no control characters, cut to a readable length."""
    shown = repr(text if isinstance(text, str) else str(text))
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 3] + "...'"


def clean(text: str) -> str:
    """Replace characters that could rewrite what a terminal or a log shows, line ends included."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)
