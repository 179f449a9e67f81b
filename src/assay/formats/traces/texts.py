"""What people and models said, in all the forms that spans have it: lists, JSON, numbered attributes, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.data.samples import Turn
from assay.formats.columns import CONTEXT_TEXT, SAMPLE, first_of
from assay.formats.traces import names

if TYPE_CHECKING:
    from assay.formats.columns import ColumnName
    from assay.formats.traces.spans import Attributes, TraceSpan, Value

_LONGEST = 1 << 24  # characters of a JSON text that is looked into
_DEEPEST = 4
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
_MESSAGES = ("messages", "chat_history", "conversation", "input_messages", "contents")
_MOST_NUMBER = 4  # digits of the number of a message or of a document


def unpack(value: Value | None) -> Value | None:
    """A list or an object that was written as JSON, else the value as it is."""
    if not isinstance(value, str) or value[:1] not in "[{" or value[-1:] not in "]}" or len(value) > _LONGEST:
        return value
    try:
        found: Value = msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return value
    return found


def question_of(span: TraceSpan) -> str | None:
    """What a span was asked: its input as text, else the last message of a user in it."""
    for name in names.INPUT:
        if (found := plain_text(span.attributes.get(name), SAMPLE["question"], user=True)) is not None:
            return found
    return last_of(input_messages(span), "user")


def answer_of(span: TraceSpan) -> str | None:
    """What a span answered: its output as text, else the last message of its model."""
    for name in names.OUTPUT:
        if (found := plain_text(span.attributes.get(name), SAMPLE["answer"], user=False)) is not None:
            return found
    return reply_of(span)


def reply_of(span: TraceSpan) -> str | None:
    """What the model of a span said, from its messages; of several choices the first."""
    found = output_messages(span)
    return next((turn.text for turn in found if turn.text.strip() and turn.role not in {"user", "tool"}), None)


def last_of(turns: Sequence[Turn], role: str) -> str | None:
    """The last message of a role that has a text."""
    return next((turn.text for turn in reversed(turns) if turn.role == role and turn.text.strip()), None)


def input_messages(span: TraceSpan) -> list[Turn]:
    """The messages that a model was sent, in order."""
    return _messages(span, names.INPUT_MESSAGES, names.INPUT_LISTS, "user") or _messages_of_events(span)


def output_messages(span: TraceSpan) -> list[Turn]:
    """The messages that a model replied with."""
    found = _messages(span, names.OUTPUT_MESSAGES, names.OUTPUT_LISTS, "assistant")
    return found or [
        Turn("assistant", text)
        for event in span.events
        if event.name == names.CHOICE_EVENT and (text := _choice(event.attributes)) is not None
    ]


def plain_text(value: Value | None, heading: ColumnName, *, user: bool, depth: int = 0) -> str | None:
    """The text of an input or an output: itself, or what has a known name in the object that it is.

    Of messages the last of the user or of the model counts, of an object with one text that text.
    """
    value = unpack(value)
    if isinstance(value, str):
        return value if value.strip() else None
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        role = "user" if user else "assistant"
        return last_of(_turns(value, role), role) or content_of(value) or None
    if not isinstance(value, Mapping):
        return None if value is None or isinstance(value, bool) else str(value)
    known = first_of(value, (heading.name, *heading.others, *_MESSAGES, *CONTEXT_TEXT))
    if known is None and sum(isinstance(one, (str, Mapping)) for one in value.values()) == 1:
        known = next(one for one in value.values() if isinstance(one, (str, Mapping)))
    return None if known is None else plain_text(known, heading, user=user, depth=depth + 1)


def content_of(value: object, depth: int = 0) -> str:
    """The texts of a message's content, which may have parts; images, tool calls and reasoning are none."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if isinstance(value, list):
        return "\n".join(text for one in value if (text := content_of(one, depth + 1)))
    if isinstance(value, Mapping) and value.get("type", "text") in {"text", "input_text", "output_text", None}:
        return content_of(first_of(value, CONTEXT_TEXT), depth + 1)
    return ""


def list_objects(attributes: Attributes, prefix: str) -> list[dict[str, Value]]:
    """Objects whose attributes are named PREFIX.0.NAME, in the order of their numbers, without the name of their kind.

    `retrieval.documents.0.document.id` becomes `document.id` of the first object.
    """
    found: dict[int, dict[str, Value]] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            number, _, rest = name.removeprefix(start).partition(".")
            if rest and number.isascii() and number.isdecimal() and len(number) <= _MOST_NUMBER:
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def _messages(span: TraceSpan, whole: Sequence[str], lists: Sequence[str], role: str) -> list[Turn]:
    for name in whole:
        value = span.attributes.get(name)
        if value is None:
            value = next((event.attributes[name] for event in span.events
                          if event.name in names.DETAIL_EVENTS and name in event.attributes), None)  # fmt: skip
        if value is not None and (found := _turns(unpack(value), role)):
            return found
    for prefix in lists:
        if found := [_read_turn(one, role) for one in list_objects(span.attributes, prefix)]:
            return found
    return []


def _turns(value: object, role: str) -> list[Turn]:
    """A list of messages, one message, or a text."""
    if isinstance(value, str):
        return [Turn(role, value)] if value.strip() else []
    if isinstance(value, Mapping):
        inner = first_of(value, _MESSAGES)
        return _turns(inner, role) if isinstance(inner, list) else [_turn(value, role)]
    if isinstance(value, list):
        return [_turn(one, role) for one in value if isinstance(one, Mapping)]
    return []


def _turn(message: Mapping[str, object], role: str) -> Turn:
    """One message: its role and its texts, which are in `parts`, in `content`, or in a message inside."""
    inner = message.get("message")
    if isinstance(inner, Mapping) and not {"content", "parts"} & message.keys():
        message = inner
    content = message.get("parts", message.get("content", message.get("text")))
    if isinstance(content, list):
        content = [{**one, "text": one["content"]} if isinstance(one, Mapping) and "content" in one else one
                   for one in content]  # fmt: skip
    return Turn(_role(message.get("role", message.get("type")), role), content_of(content))


def _role(told: object, usual: str) -> str:
    name = told.lower() if isinstance(told, str) and told else usual
    return _ROLES.get(name, name)


def _read_turn(message: Mapping[str, Value], role: str) -> Turn:
    """A message of numbered attributes, with or without `message.` before their names."""
    plain = {name.removeprefix("message."): value for name, value in message.items()}
    content = plain.get("content")
    if content is None:
        content = [
            {"type": one.get("message_content.type", "text"), "text": one.get("message_content.text", "")}
            for one in list_objects(plain, "contents")
        ]
    return Turn(_role(plain.get("role"), role), content_of(unpack(content)))


def _messages_of_events(span: TraceSpan) -> list[Turn]:
    found = []
    for event in span.events:
        if event.name in names.MESSAGE_EVENTS:
            body = unpack(event.attributes.get("body", event.attributes.get("content")))
            content = body.get("content") if isinstance(body, Mapping) else body
            found.append(Turn(names.MESSAGE_EVENTS[event.name], content_of(unpack(content))))
    return found


def _choice(attributes: Attributes) -> str | None:
    body = unpack(attributes.get("body", attributes.get("message", attributes.get("content"))))
    message = body.get("message", body) if isinstance(body, Mapping) else body
    content = message.get("content") if isinstance(message, Mapping) else message
    return content_of(unpack(content)) or None
