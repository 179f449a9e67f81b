"""Decoding users' JSON: a key that appears twice in one object is refused, as one of its values would be lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, cause, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from assay.formats.files import Input


class RepeatedKey(ValueError):
    """The same key twice in one object."""

    def __init__(self, key: str) -> None:
        self.message = say("read.key_twice", key=excerpt(key))
        super().__init__(self.message)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise RepeatedKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


class TooDeep(ValueError):
    """More brackets within brackets than any data has."""

    def __init__(self) -> None:
        self.message = say("read.too_deep")
        super().__init__(self.message)


# One decoder for all lines: `json.loads` would make one for each.
_decode = json.JSONDecoder(object_pairs_hook=_unique).decode


def decode(text: str) -> Any:
    """Decode a JSON text; any fault is a `ValueError`."""
    try:
        return _decode(text)
    except RecursionError:
        raise TooDeep from None


def peek(text: str | bytes) -> Any:
    """Decode a JSON text only to see what it is: a key may appear twice, which its reader will refuse."""
    try:
        return json.loads(text)
    except RecursionError:
        raise TooDeep from None


def refusal(error: ValueError, text: str, label: str, line: int | None = None) -> InputError:
    """Say what is wrong with a text that could not be decoded: a `line` of a file, or all of it."""
    if isinstance(error, RepeatedKey):
        return InputError(error.message, path=label, line=line, hint=say("keep one of them"))
    if isinstance(error, TooDeep):
        return InputError(error.message, path=label, line=line)
    if not isinstance(error, json.JSONDecodeError):
        return InputError(
            say("the JSON cannot be read: {reason}", reason=cause(error)),
            path=label,
            line=line,
        )
    if line is None:
        return InputError(say("not valid JSON: {reason}", reason=cause(error)), path=label, line=error.lineno)
    return InputError(
        say(
            "not valid JSON: {reason} at column {column}: {text}",
            reason=cause(error),
            column=error.colno,
            text=excerpt(text),
        ),
        path=label,
        line=line,
        hint=say("expected one JSON object per line"),
    )


def read_json(source: Input) -> Any:
    """Read a file that is one JSON value."""
    text = source.text
    try:
        return decode(text)
    except ValueError as error:
        raise refusal(error, text, source.label) from None
