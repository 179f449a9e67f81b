"""JSON from a language model: how it is asked for, found in the answer, checked, and requested again.

Every object that is asked for carries a seal: a word made from the call's own contents (`prompts.seal_for`), which no
document can hold. An answer may quote documents, the prompt or other answers; only the one object with the seal counts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from assay.llm.records import SEAL, Rung, mend_surrogates
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# From what binds the server most to what only asks the model.
RUNGS: tuple[Rung, ...] = get_args(Rung)[1:]
NO_OBJECT = say("reply.no_object")
NO_SEAL = say("reply.no_seal")
_FIRST = f'Its first entry is "{SEAL}": "%s".'
_ASK = "Answer with one JSON object and nothing else. %s It must fit this JSON schema:"
_FENCED = "Answer with one JSON object in a ```json block. %s It must fit this JSON schema:"
_MOST_WORK = 50_000_000  # characters read in search of objects, some 30 ms, however many braces a text has
_NODE, _WHOLE = 50, 1000  # of them for each value in an object, and for one whose characters are looked at
_TOO_DEEP = 200_000  # of them until an object turns out to be too deep

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # of a surrogate pair, as it is or escaped


class FoundObject(NamedTuple):
    """An object of an answer and what is wrong with it; no object if none can be identified as the answer."""

    data: dict[str, Any] | None
    why: str


class _RepeatedNames(dict[str, Any]):
    """An object in which a name occurs twice."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _RepeatedNames(found)


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip

# Asking ---------------------------------------------------------------------------------------------------------------


def add_seal(schema: Mapping[str, Any], seal: str) -> dict[str, Any]:
    """Add the seal to what a schema asks for, as a constant: a server that binds the model to it writes it by itself.

    It comes first, before anything that the model makes up.
    """
    properties = {SEAL: {"type": "string", "const": seal}, **schema.get("properties", {})}
    return {**schema, "properties": properties, "required": [SEAL, *schema.get("required", ())]}


def response_format(schema: Mapping[str, Any], rung: Rung) -> dict[str, Any] | None:
    """Write the `response_format` of a rung."""
    if rung == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    return {"type": "json_object"} if rung == "json_object" else None


def add_instructions(
    messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], rung: Rung, seal: str
) -> list[Mapping[str, Any]]:
    """Add to the last message what the rung needs: the seal, and the schema where the server is not bound to it.

    The word JSON is there in any case: DashScope insists on it. No complete object with the seal is, so that an answer
    that repeats the whole prompt does not hold one.
    """
    first = _FIRST % seal
    if rung == "json_schema":
        return _extend(messages, f"Answer in JSON. {first}")
    text = json.dumps(schema, ensure_ascii=False)
    return _extend(messages, f"{(_ASK if rung == 'json_object' else _FENCED) % first}\n{text}")


def _extend(messages: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
    last = messages[-1]
    content = last["content"]
    longer = f"{content}\n\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]
    return [*messages[:-1], {**last, "content": longer}]


def repairing(messages: Sequence[Mapping[str, Any]], answer: str, why: str) -> list[Mapping[str, Any]]:
    """Show the model its answer and what is wrong with it."""
    again = (
        f"That answer cannot be used: {why}. Give the same answer again as JSON that fits the schema, and nothing else."
    )
    return [*messages, {"role": "assistant", "content": answer or "(empty)"}, {"role": "user", "content": again}]


# Reading --------------------------------------------------------------------------------------------------------------


def find_sealed(
    text: str, schema: Mapping[str, Any], seal: str, *, given: Sequence[str] = (), spellings: Mapping[str, str] = {}
) -> FoundObject:
    """Find the one object that carries the seal, and say what is wrong with it; the seal itself is taken off.

    Two of them, or one with a name that occurs twice, are not an answer: it is unclear which one counts. Nor is an
    object in free words that occurs as a whole in what was `given`: it is a copy, even with the seal. An object that
    has the seal but does not fit the schema is returned with the reason.
    """
    found: list[dict[str, Any]] = []
    why, complete = NO_OBJECT, True
    places = text.count(seal)
    for _, end, value in _objects(text):
        if end < 0:
            complete = False
        elif value.get(SEAL) != seal:
            why = NO_SEAL
        else:
            found.append(value)
            if places == 1:  # it can be the seal of one object only
                break
    if len(found) > 1 or (found and not complete and places > 1):
        return FoundObject(None, say("reply.several"))
    if not found:
        return FoundObject(None, why)
    value = found[0]
    data = {name: part for name, part in value.items() if name != SEAL}
    if _has_a_name_twice(value):
        return FoundObject(None, say("reply.name_twice"))
    if _is_copied_whole(data, schema, given):
        return FoundObject(None, say("reply.copied"))
    data = normalise_words(data, schema, spellings)
    return FoundObject(data, misfit(data, schema))


def single_object(
    text: str, schema: Mapping[str, Any], *, given: Sequence[str] = (), spellings: Mapping[str, str] = {}
) -> FoundObject:
    """Find the one object that fits, in an answer without a seal; of several, none can be trusted."""
    fitting: list[tuple[int, int, dict[str, Any]]] = []
    for start, end, value in _objects(text):
        if end < 0:
            return FoundObject(None, say("reply.too_long"))
        if not misfit(normalise_words(value, schema, spellings), schema):
            # From the right: what comes later may hold what came before, and is then the object that was meant.
            fitting = [one for one in fitting if one[1] > end]
            fitting.append((start, end, value))
    if len(fitting) != 1:
        return FoundObject(None, say("reply.several") if fitting else NO_OBJECT)
    start, end, value = fitting[0]
    if _has_a_name_twice(value) or _is_copied(text[start:end], value, given):
        return FoundObject(None, say("reply.unproven"))
    return FoundObject(normalise_words(value, schema, spellings), "")


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Every complete JSON object of a text with its place, from the right, those inside others too.

    However many braces a quoted document has, the end of the answer is read first. What is too much to read ends with
    an object at -1.
    """
    work = 0
    halves = _HALF.search(text) is not None
    for match in reversed(list(re.finditer(r"\{", text))):
        start = match.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
            value = mend_surrogates(value) if halves else value
        except (ValueError, RecursionError) as error:
            work += getattr(error, "pos", _TOO_DEEP)  # the error counts the lines before it
        else:
            work += (
                end
                - start
                + (_WHOLE if halves else _NODE) * (text.count(":", start, end) + text.count(",", start, end))
            )
            yield start, end, value
        if work > _MOST_WORK:
            yield -1, -1, {}
            return


def _parts(value: Any) -> Iterator[Any]:
    """A value and everything in it, however deep."""
    left = [value]
    while left:
        part = left.pop()
        yield part
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()


def _has_a_name_twice(value: Any) -> bool:
    return any(isinstance(part, _RepeatedNames) for part in _parts(value))


def _is_copied_whole(data: dict[str, Any], schema: Mapping[str, Any], given: Sequence[str]) -> bool:
    """Return whether a sealed object occurs in what was given.

    Only one with free words beside a verdict can be known for a copy: numbers, words of a list and bare labels are the
    same in an example, in a document and in an honest answer.
    """
    leaves = [part for part in _parts(data) if not isinstance(part, (dict, list))]
    if len(leaves) < 2 or not _has_words(data, schema):  # noqa: PLR2004 - something beside the words
        return False
    words = [part for part in leaves if isinstance(part, str)]
    return any(
        other == data
        for text in given
        if all(_stands_in(text, word) for word in words)
        for _, _, other in _objects(text)
    )


def _has_words(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a value holds words that its schema does not list."""
    if isinstance(value, str):
        return bool(value.strip()) and "enum" not in schema and "const" not in schema
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return any(_has_words(part, known.get(name, {})) for name, part in value.items() if name in known)
    items = schema.get("items")
    return isinstance(value, list) and isinstance(items, dict) and any(_has_words(part, items) for part in value)


def _is_copied(written: str, data: dict[str, Any], given: Sequence[str]) -> bool:
    """Return whether an object, or one inside it, occurs in what was given, exactly or with other parts beside it.

    Equal numbers are no proof, as an example in a prompt may have the same grade; equal words are.
    """
    if any(written in text for text in given):
        return True
    worded = [
        part for part in _parts(data) if isinstance(part, dict) and any(v and isinstance(v, str) for v in part.values())
    ]
    for text in given:
        likely = [part for part in worded if all(_stands_in(text, v) for v in part.values() if isinstance(v, str))]
        if likely and any(
            all(name in other and other[name] == value for name, value in part.items())
            for _, _, other in _objects(text)
            for part in likely
        ):
            return True
    return False


def _stands_in(text: str, words: str) -> bool:
    """Return whether words occur in a text as they are, or roughly as JSON writes them."""
    return words in text or "\\" in text


# Spellings ------------------------------------------------------------------------------------------------------------


def normalise_words(value: Any, schema: Mapping[str, Any], spellings: Mapping[str, str] = {}) -> Any:
    """Read words of a fixed list in other spellings: case, spaces, full stops, and the synonyms of `spellings`.

    Truth values are looked up as "true" and "false". What is not known stays as it is.
    """
    allowed = schema.get("enum")
    if allowed and all(isinstance(word, str) for word in allowed) and isinstance(value, (str, bool)):
        word = _normalise_word(str(value))
        return {_normalise_word(one): one for one in allowed}.get(word, spellings.get(word, value))
    if isinstance(value, dict) and "properties" in schema:
        known: Mapping[str, Any] = schema["properties"]
        return {
            name: normalise_words(part, known[name], spellings) if name in known else part
            for name, part in value.items()
        }
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [normalise_words(part, schema["items"], spellings) for part in value]
    return value


def _normalise_word(word: str) -> str:
    return unicodedata.normalize("NFKC", word).strip(" \t\r\n.。!！\"'“”*").casefold()


# Checking -------------------------------------------------------------------------------------------------------------


def misfit(value: Any, schema: Mapping[str, Any], place: str = "") -> str:
    """Return why a value does not fit a JSON schema; empty if it fits.

    Knows type, enum, const, required, properties, additionalProperties (true or false), items, minItems, maxItems,
    minimum, maximum, minLength, maxLength, anyOf. Other words of JSON Schema are not checked.
    """
    if "anyOf" in schema and all(misfit(value, option, place) for option in schema["anyOf"]):
        return say("reply.no_alternative", place=place or say("reply.object"))
    for check in (_wrong_kind, _wrong_size, _wrong_parts):
        wrong = check(value, schema, place)
        if wrong:
            return wrong
    return ""


def _wrong_kind(value: Any, schema: Mapping[str, Any], place: str) -> str:
    wanted = schema.get("type", [])
    names = [wanted] if isinstance(wanted, str) else wanted
    if names and not any(_is(value, name) for name in names):
        return say("reply.wrong_type", place=place or say("reply.object"), types=list(names))
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if allowed is not None and not any(value == item and type(value) is type(item) for item in allowed):
        listed = json.dumps(allowed, ensure_ascii=False)
        return say("reply.not_listed", place=place or say("reply.object"), listed=listed)
    return ""


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))


def _wrong_size(value: Any, schema: Mapping[str, Any], place: str) -> str:
    if isinstance(value, (str, list)):
        low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minItems", "maxItems")
        size: float = len(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high, size = "minimum", "maximum", value
    else:
        return ""
    if low in schema and size < schema[low]:
        return say("reply.below", place=place or say("reply.value"), name=low, limit=schema[low])
    if high in schema and size > schema[high]:
        return say("reply.above", place=place or say("reply.value"), name=high, limit=schema[high])
    return ""


def _wrong_parts(value: Any, schema: Mapping[str, Any], place: str) -> str:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        faults = (misfit(item, schema["items"], f"{place}[{i}]") for i, item in enumerate(value))
        return next((fault for fault in faults if fault), "")
    if not isinstance(value, dict):
        return ""
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return say("reply.lacks", place=place or say("reply.object"), names=missing)
    extra = [name for name in value if name not in properties]
    if extra and schema.get("additionalProperties") is False:
        return say("reply.unknown_part", place=place or say("reply.object"), name=extra[0][:40])
    faults = (
        misfit(value[name], part, f"{place}.{name}".lstrip(".")) for name, part in properties.items() if name in value
    )
    return next((fault for fault in faults if fault), "")
