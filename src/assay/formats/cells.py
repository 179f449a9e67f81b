"""Values of one sample: texts, lists of texts, contexts, conversations and ids in the shapes that tools write them.

Each reader takes a value and a list for remarks, and raises Fault with what is wrong in a few words.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from assay.data.nuggets import IMPORTANCE, Nugget
from assay.data.samples import Context, Turn
from assay.errors import excerpt
from assay.formats.columns import CONTEXT_ID, CONTEXT_INSIDE, CONTEXT_TEXT, SPEAKER, first_of
from assay.formats.decoding import RepeatedKey, decode
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

_KINDS: dict[type | tuple[type, ...], str] = {
    dict: "object", list: "list", bool: "boolean", (int, float): "number", str: "string", type(None): "null",
}  # fmt: skip
_PACKED = 1 << 24  # characters; a longer cell is not looked into
_PYTHON = 1 << 20  # likewise for what is written as Python writes it, which takes a hundred times its size to read


class Fault(Exception):
    """What is wrong with a value, in a few words."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def plain(value: Any) -> Any:
    """Turn arrays into lists and the missing values of frames into None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return plain(value.tolist())
    if isinstance(value, tuple):
        return list(value)
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    return value


def unpack(value: Any) -> Any:
    """Read a list or an object that was written into a cell of a flat file, as JSON or as Python writes it."""
    if not isinstance(value, str) or value[:1] not in "[{" or value[-1:] not in "]}" or len(value) > _PACKED:
        return value
    try:
        return decode(value)
    except RepeatedKey as error:
        raise Fault(error.message) from None
    except ValueError:
        pass
    try:
        return ast.literal_eval(value) if len(value) <= _PYTHON else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def kind_of_value(value: Any) -> str:
    """Say what a value is, for a message."""
    for types, name in _KINDS.items():
        if isinstance(value, types):
            return say(f"read.{name}")
    return say("read.other", name=type(value).__name__)


def text(value: Any, notes: list[str]) -> str:
    """Read one text; a number is written out, a list of one text is that text."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        notes.append(say("read.number_as_text", value=excerpt(value)))
        return str(value)
    if isinstance(value, list) and len(value) == 1:
        return text(plain(value[0]), notes)
    if isinstance(value, dict):
        found = first_of(value, CONTEXT_TEXT)
        if isinstance(found, str):
            return found
    raise Fault(say("read.no_text", kind=kind_of_value(value)))


def question(value: Any, notes: list[str]) -> str:
    """Read a question; of a list of messages, the last one that the user sent."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        asked = [turn.text for turn in turns(value, notes) if turn.role.lower() in {"user", "human", "用户", ""}]
        if asked:
            return asked[-1]
    return text(value, notes)


def texts(value: Any, notes: list[str]) -> tuple[str, ...]:
    """Read one or several texts."""
    if isinstance(value, list):
        return tuple(text(plain(item), notes) for item in value if plain(item) is not None)
    return (text(value, notes),)


def contexts(value: Any, notes: list[str]) -> tuple[Context, ...]:
    """Read contexts: a list of texts or of {id, text}, an object {id: text}, or one text."""
    if isinstance(value, str):
        notes.append(say("read.one_context"))
        return (Context(value),)
    if isinstance(value, dict):
        if first_of(value, CONTEXT_TEXT) is not None:
            return (_context(value, notes),)
        return tuple(Context(text(plain(found), notes), str(key)) for key, found in value.items())
    if not isinstance(value, list):
        raise Fault(say("read.no_texts", kind=kind_of_value(value)))
    flat = [found for item in value for found in (item if isinstance(item, list) else [item])]
    known = [item for item in map(plain, flat) if item is not None]
    if len(known) < len(flat):
        notes.append(say("read.null_contexts", n=len(flat) - len(known), of=len(flat)))
    return tuple(_context(item, notes) for item in known)


def _context(item: Any, notes: list[str]) -> Context:
    if not isinstance(item, dict):
        return Context(text(item, notes))
    found = plain(first_of(item, CONTEXT_TEXT))
    inside = first_of(item, CONTEXT_INSIDE) if found is None else None
    if isinstance(inside, dict):
        held, own = _context(inside, notes), first_of(item, CONTEXT_ID)
        return held if held.id is not None or own is None else Context(held.text, str(own))
    if found is None:
        raise Fault(say("read.no_context_text", keys=list(map(excerpt, list(item)[:5]))))
    inner = item.get("metadata")
    name = first_of(item, CONTEXT_ID)
    if name is None and isinstance(inner, dict):
        name = first_of(inner, (*CONTEXT_ID, "source"))
    return Context(text(found, notes), None if name is None else str(name))


def turns(value: Any, notes: list[str]) -> tuple[Turn, ...]:
    """Read a conversation: messages with a role, plain texts in turn, pairs of question and answer, or one text."""
    if isinstance(value, str):
        return (Turn("user", value),)
    if not isinstance(value, list):
        raise Fault(say("read.no_messages", kind=kind_of_value(value)))
    found: list[Turn] = []
    for item in (plain(item) for item in value):
        if isinstance(item, dict):
            said = plain(first_of(item, CONTEXT_TEXT))
            role = first_of(item, SPEAKER)
            found.append(Turn("" if role is None else str(role), "" if said is None else text(said, notes)))
        elif isinstance(item, list):
            found += [Turn(_role(found, i), text(plain(part), notes)) for i, part in enumerate(item)]
        elif item is not None:
            found.append(Turn(_role(found, 0), text(item, notes)))
    return tuple(found)


def _role(before: Sequence[Turn], ahead: int) -> str:
    return "user" if (len(before) + ahead) % 2 == 0 else "assistant"


def identifier(value: Any, notes: list[str]) -> str:
    """Read an id; whole numbers that a library turned into floats read as whole numbers."""
    del notes
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise Fault(say("read.no_id", kind=kind_of_value(value)))


def identifiers(value: Any, notes: list[str]) -> tuple[str, ...]:
    """Read a list of ids."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise Fault(say("read.no_ids", kind=kind_of_value(value)))
    flat = [found for item in value for found in (item if isinstance(item, list) else [item])]
    return tuple(identifier(first_of(item, CONTEXT_ID) if isinstance(item, dict) else item, notes) for item in flat)


def groups(value: Any, notes: list[str]) -> tuple[tuple[str, ...], ...]:
    """Read gold ids: a list of ids, or an AND of ORs as a list of lists."""
    if isinstance(value, list):
        return tuple(identifiers(item if isinstance(item, list) else [item], notes) for item in value)
    return (identifiers(value, notes),)


def nuggets(value: Any, notes: list[str]) -> tuple[Nugget, ...]:
    """Read the facts that a good answer holds: a list of texts or of {text, importance}."""
    del notes
    if not isinstance(value, list):
        raise Fault(say("read.no_nuggets", kind=kind_of_value(value)))
    return tuple(nugget(plain(item)) for item in value)


def nugget(value: Any) -> Nugget:
    """Read one fact: a text, or an object with its text and its importance."""
    row = {"text": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    text, importance = row.get("text"), plain(row.get("importance"))
    importance = "" if importance is None else importance
    if not isinstance(text, str) or not text.strip():
        raise Fault(say("expected a nugget with a text, not {value}", value=excerpt(value)))
    if not isinstance(importance, str) or importance not in {*IMPORTANCE, ""}:
        raise Fault(say("importance {value}: expected vital or okay", value=excerpt(importance)))
    return Nugget(text, importance)
