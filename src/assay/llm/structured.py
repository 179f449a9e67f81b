"""JSON from a language model: how it is asked for, found in the answer, checked, and asked for once more."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, get_args

from assay.llm.records import Rung

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# From what binds the server most to what only asks the model.
RUNGS: tuple[Rung, ...] = get_args(Rung)[1:]
_ASK = "Answer with one JSON object and nothing else. It must fit this JSON schema:"
_FENCED = "Answer with one JSON object in a ```json block. It must fit this JSON schema:"
_MOST_WORK = 50_000_000  # characters read in search of an object, some 30 ms, however many braces a text has


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def response_format(schema: Mapping[str, Any], rung: Rung) -> dict[str, Any] | None:
    """Write the `response_format` of a rung."""
    if rung == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    return {"type": "json_object"} if rung == "json_object" else None


def instructed(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any], rung: Rung) -> list[Mapping[str, Any]]:
    """Add to the last message what the rung needs: the schema, or at least the word JSON: DashScope insists on it."""
    if rung == "json_schema":
        if any("json" in str(message["content"]).lower() for message in messages):
            return list(messages)
        return _extended(messages, "Answer in JSON.")
    text = json.dumps(schema, ensure_ascii=False)
    return _extended(messages, f"{_ASK if rung == 'json_object' else _FENCED}\n{text}")


def _extended(messages: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
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


def last_object(text: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Find the last complete JSON object that fits; what a text quotes before its own verdict does not count.

    Returns the object, or None and what is wrong. Objects are tried from the right, so that however many braces a
    quoted document has, the end of the answer is read first; of two that fit, the one that ends later wins, so an
    object is never mistaken for a part of itself.
    """
    found, end_of_found, work, why = None, -1, 0, "it contains no JSON object"
    for match in reversed(list(re.finditer(r"\{", text))):
        start = match.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            work += getattr(error, "pos", 20 * len(text))  # the error counts the lines before it
        else:
            work += end - start
            if end > end_of_found:
                wrong = misfit(value, schema)
                if not wrong:
                    found, end_of_found = value, end
                elif found is None:
                    why = wrong
        if work > _MOST_WORK:
            break
    return found, "" if found is not None else why


def misfit(value: Any, schema: Mapping[str, Any], place: str = "") -> str:
    """Say why a value does not fit a JSON schema, or nothing.

    Knows type, enum, const, required, properties, additionalProperties (true or false), items, minItems, maxItems,
    minimum, maximum, minLength, maxLength, anyOf. Other words of JSON Schema are not checked.
    """
    if "anyOf" in schema and all(misfit(value, option, place) for option in schema["anyOf"]):
        return f"{place or 'the object'} fits none of the alternatives"
    for check in (_wrong_kind, _wrong_size, _wrong_parts):
        wrong = check(value, schema, place)
        if wrong:
            return wrong
    return ""


def _wrong_kind(value: Any, schema: Mapping[str, Any], place: str) -> str:
    wanted = schema.get("type", [])
    names = [wanted] if isinstance(wanted, str) else wanted
    if names and not any(_is(value, name) for name in names):
        return f"{place or 'the object'} is not of type {' or '.join(names)}"
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if allowed is not None and not any(value == item and type(value) is type(item) for item in allowed):
        return f"{place or 'the object'} is not one of {json.dumps(allowed, ensure_ascii=False)}"
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
        return f"{place or 'the value'} is below its {low} of {schema[low]}"
    if high in schema and size > schema[high]:
        return f"{place or 'the value'} is above its {high} of {schema[high]}"
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
        return f"{place or 'the object'} lacks {', '.join(missing)}"
    extra = [name for name in value if name not in properties]
    if extra and schema.get("additionalProperties") is False:
        return f"{place or 'the object'} has the unknown part {extra[0][:40]!r}"
    faults = (
        misfit(value[name], part, f"{place}.{name}".lstrip(".")) for name, part in properties.items() if name in value
    )
    return next((fault for fault in faults if fault), "")
