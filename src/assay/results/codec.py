"""Records to plain values and back: the one way in which anything is stored.

What is written are the fields of a record by their names; a field with `UNSTORED` in its metadata is left out. A text
that `messages.say` made is stored as its key and values, so that it can be translated later; its English
text is stored with them for readers that do not know the key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import AssayError, InputError, cause
from assay.messages import Said, is_known, say

if TYPE_CHECKING:
    from assay.data.scores import Scores

    ScoresBehind = tuple[Scores, ...]
else:
    ScoresBehind = Any  # scores are stored separately in a file, so that decoding a part does not read them

T = TypeVar("T")
Plain = dict[str, Any]  # an object of a JSON file before it is decoded: its shape is not known yet

UNSTORED = {"stored": False}
_MESSAGE = {"key", "values", "text"}
_HUGE = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")
_COMPLAINTS = {  # of msgspec
    re.compile(r"Expected (?P<expected>.+), got (?P<found>.+)"): "damage.kind",
    re.compile(r"Object missing required field (?P<name>.+)"): "damage.missing",
    re.compile(r"Invalid enum value (?P<value>.+)"): "damage.choice",
}
_PLACE = re.compile(r"(?P<what>.*?) - at `(?P<place>[^`]*)`", re.DOTALL)


def encode(value: Any) -> Any:
    """Copy a record to plain values: objects, lists, texts, numbers, true, false and null.

    >>> import assay
    >>> assay.encode(assay.Rules(alpha=0.01))["alpha"]
    0.01
    """
    if isinstance(value, Said):
        value = {"key": value.key, "values": value.values, "text": str(value)}
    elif is_dataclass(value) and not isinstance(value, type):
        stored = [field.name for field in fields(value) if field.metadata.get("stored", True)]
        value = {name: getattr(value, name) for name in stored}
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a result file cannot hold {value}")
    return value.item() if hasattr(value, "item") else value  # numbers of numpy's become plain


def decode(plain: Any, kind: type[T], *, place: str, path: str | None = None) -> T:
    """Make a record of plain values; what does not fit is refused with its place below `place` in the file.

    An empty `place` is the file itself.
    """
    import msgspec

    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise damage(*place_and_reason(error, place), path) from None
    except UnicodeEncodeError:
        raise damage(place, say("half a surrogate pair, which is no character"), path) from None
    except AssayError as error:
        raise damage(place, error.message, path) from None


def damage(place: str, what: str, path: str | None) -> InputError:
    """The error of a file that does not fit together, with the place in it."""
    return InputError(say("the result file is damaged: {place}: {what}", place=place, what=what), path=path)


def place_and_reason(error: Exception, place: str) -> tuple[str, str]:
    """Find out where below `place` something does not fit, and what is wrong with it."""
    found = _PLACE.fullmatch(str(error))
    what, where = (found["what"], found["place"].removeprefix("$")) if found else (str(error), "")
    return f"{place}{where}".removeprefix("."), _say_again(what.replace("`", ""))


def _say_again(what: str) -> str:
    """Turn an error of msgspec or of a record into a message; msgspec passes on only a record's English."""
    for pattern, key in _COMPLAINTS.items():
        if found := pattern.fullmatch(what):
            return say(key, **found.groupdict())
    return say(what) if is_known(what) else what[:1].lower() + what[1:]


def read_json(text: str, *, path: str | None = None) -> Any:
    """Read JSON, with messages restored as texts; no number is infinite, no key appears twice."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite if _HUGE.search(text) else None,
            parse_int=_whole if _HUGE.search(text) else None,
        )
    except json.JSONDecodeError as error:
        raise InputError(say("not valid JSON: {reason}", reason=cause(error)), path=path, line=error.lineno) from None
    except RecursionError:
        raise InputError(say("not valid JSON: it is nested too deeply"), path=path) from None
    except ValueError as error:
        raise InputError(say("not valid JSON: {reason}", reason=error.args[0]), path=path) from None


def write_json(value: Any, *, indent: int | None = 1) -> str:
    """Write plain values as JSON that any file can hold: half a surrogate pair is escaped, NaN is refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent)
    return text


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(say("the key {key!r} appears twice in one object", key=max(names, key=names.count)))
    if found.keys() == _MESSAGE and isinstance(found["text"], str):
        return _message(found["key"], found["values"], found["text"])
    return found


def _message(key: Any, values: Any, text: str) -> str:
    """Make a message again from its key and values; one of another version that is unknown stays plain text."""
    if not is_known(key):
        return text
    try:
        return say(key, **values)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(say("{value} is not a finite number", value=name))


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(say("the number {number} is too large", number=text[:20]))
    return value


def _whole(text: str) -> int:
    if len(text) > 300:  # noqa: PLR2004
        raise ValueError(say("the number {number} is too large", number=f"{text[:20]}..."))
    return int(text)
