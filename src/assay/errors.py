"""Everything Assay raises on purpose.

AssayError
├── InputError      data that cannot be used: names file, line and cure
│   ├── NoSuchFile    a file that is not there
│   └── Repeated      the same document twice for one query
├── UsageError      a name, an option or a combination of them that makes no sense
│   ├── UnknownName   a measure, protocol or column that does not exist, with "did you mean"
│   └── MissingPackage  a package that is not installed, with the command that installs it
├── NotComparable   values of different definitions, judgments or query sets
└── NothingJudged   a method that failed on everything it was given

The command line prints any of them as one line and exits with 2, or with 1 where nothing could be judged. Anything else
is a bug and shows its traceback.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Literal

from assay.messages import is_known, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EXCERPT = 60
# Control characters and bidirectional marks could rewrite what a terminal shows; half a surrogate pair has no bytes.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)

_ERRNO = re.compile(r"\[Errno (\d+)\]")
_PLACE = re.compile(r":? \(?(?:at )?line (\d+),? column (\d+).*$| \(at end of document\)$")
# How messages of json, tomllib and SQLite begin, and what we call them.
_LIBRARIES = (
    ("Expecting value", "json_value"),
    ("Expecting property name", "json_name"),
    ("Illegal trailing comma", "json_trailing"),
    ("Expecting ':'", "json_colon"),
    ("Expecting ','", "json_comma"),
    ("Extra data", "json_extra"),
    ("Unterminated string starting", "json_string"),
    ("Invalid control character", "json_control"),
    ("Invalid \\", "json_escape"),
    ("Invalid value", "toml_value"),
    ("Expected '='", "toml_equals"),
    ("Invalid statement", "toml_statement"),
    ("Expected newline", "toml_newline"),
    ("Cannot overwrite", "toml_twice"),
    ("Cannot declare", "toml_table_twice"),
    ("Duplicate inline table key", "toml_twice"),
    ("Unescaped", "toml_backslash"),
    ("Invalid hex value", "toml_backslash"),
    ("Unterminated string", "toml_string"),
    ("Illegal character '\\n'", "toml_string"),
    ("Found invalid character '\\n'", "toml_string"),
    ("Unclosed", "toml_bracket"),
    ("Expected ']'", "toml_bracket"),
    ("database is locked", "sqlite_locked"),
    ("file is not a database", "sqlite_other"),
    ("database disk image is malformed", "sqlite_damaged"),
    ("its index and its replies disagree", "sqlite_index"),
    ("disk I/O error", "sqlite_disk"),
    ("database or disk is full", "ENOSPC"),
    ("attempt to write a readonly database", "sqlite_readonly"),
    ("unable to open database file", "sqlite_open"),
    ("All connection attempts failed", "ECONNREFUSED"),
    ("Name or service not known", "no_host"),
    ("Temporary failure in name resolution", "no_host"),
)


class AssayError(Exception):
    """Base of all errors that Assay raises on purpose; `tell(error.message, lang)` puts it into a language."""

    @property
    def message(self) -> str:
        """What is wrong and how to cure it."""
        text = self.args[0] if self.args else ""
        return text if isinstance(text, str) else str(text)


class InputError(AssayError):
    """Data that cannot be used; the message names the place and the cure."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None, hint: str = "") -> None:
        super().__init__(_place(_with_hint(message, hint), path, line))
        self.path, self.line, self.hint = path, line, hint


class NoSuchFile(InputError):
    """A file that is not there."""

    def __init__(self, path: str, hint: str = "") -> None:
        super().__init__(say("error.no_file"), path=path, hint=hint or say("error.check_spelling"))
        self.given = path


class Repeated(InputError):
    """The same document listed twice for one query."""

    def __init__(
        self,
        query: str,
        doc: str,
        verb: Literal["judged", "listed"],
        *,
        path: str | None = None,
        lines: Sequence[int] = (),
        hint: str = "",
    ) -> None:
        message = say(f"error.{verb}_twice", doc=excerpt(doc), query=excerpt(query))
        if lines:
            message = say("error.on_two_lines", message=message, first=lines[0], second=lines[1])
        super().__init__(message, path=path, hint=hint or say("error.remove_or_dedupe"))
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
        message = say("error.unknown", kind=kind, name=excerpt(name))
        if near:
            message = say("error.did_you_mean", message=message, names=[by_lower[word] for word in near])
        super().__init__(_with_hint(message, hint))


class MissingPackage(UsageError):
    """A package that something needs; the message has the command that installs it with the rest of its extra."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        from assay.installation import install_command

        super().__init__(say("error.needs_package", what=what, package=package, command=install_command(extra)))
        self.package, self.extra = package, extra


class NotComparable(AssayError):
    """Values that cannot be compared; the message names the difference."""


class NothingJudged(AssayError):
    """A method failed on everything it was given, although the input is fine."""


def _with_hint(message: str, hint: str) -> str:
    return say("error.with_hint", message=message, hint=hint) if hint else message


def _place(message: str, path: str | None, line: int | None) -> str:
    if not path:
        return message
    if line is None:
        return say("error.in_file", path=path, message=message)
    return say("error.on_line", path=path, line=line, message=message)


def excerpt(text: object) -> str:
    """Quote user data for a message: one line, no control characters, cut to a readable length."""
    shown = repr(text if isinstance(text, str) else str(text))
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 3] + "...'"


def clean(text: str) -> str:
    """Replace characters that could rewrite what a terminal or a log shows, line ends included."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text) if _UNSAFE.search(text) else text  # a message stays one


def cause(error: BaseException) -> str:
    """The error of the system or a library as a message, translatable where we know its wording.

    A place within a text is named for TOML; that of JSON is left to its reader, which knows the line of the file.
    """
    if isinstance(error, AssayError):
        return error.message
    text = _words(error).strip().partition("\n")[0] or type(error).__name__
    number = _ERRNO.search(text)
    key = f"cause.{errno.errorcode.get(int(number[1]) if number else getattr(error, 'errno', None) or 0)}"
    if is_known(key):
        return say(key)
    place = _PLACE.search(text)
    name = next((name for start, name in _LIBRARIES if text.startswith(start)), None)
    told = say(f"cause.{name}") if name else text[: place.start()] if place else text
    return say("cause.at", what=told, line=int(place[1]), column=int(place[2])) if place and place[1] else told


def _words(error: BaseException) -> str:
    from json import JSONDecodeError

    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return error.msg if isinstance(error, JSONDecodeError) else str(error)
