"""What an application for questions is sent, and what its replies mean: a template of a body, and paths into a reply.

Without a path, an answer is looked for under the names that samples have for it (`formats/columns.py`), in the reply
itself and in the objects that replies are commonly wrapped in; contexts and their ids likewise.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.data.samples import Context
from assay.errors import UsageError
from assay.formats import cells, columns
from assay.formats.samples import value_at
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

QUESTION, QUERY_ID = "{question}", "{query_id}"
FIELDS = ("question", "query", "input", "messages")
_WRAPPERS = ("data", "result", "output", "outputs", "response", "message", "metadata")
_DEEPEST = 3  # wrappers within wrappers
# What applications call their contexts, beyond the columns of files: there, these hold other things.
_SOURCES = ("sources", "citations", "references", "chunks", "nodes", "matches", "retrieved")
_LONGEST_NAME = 200  # characters
_IDS = (*columns.CONTEXT_ID, "_id", "source", "url", "file", "filename", "title")
_MONEY = ("cost", "cost_usd", "total_cost", "money", "费用")
_TIMES = ("latency_ms", "took_ms", "elapsed_ms", "response_time_ms", "duration_ms", "耗时毫秒")
_PROMPT = ("prompt_tokens", "input_tokens")
_WRITTEN = ("completion_tokens", "output_tokens")
_REFUSING = {"content_filter", "refusal", "sensitive"}
_CUT = {"length", "max_tokens", "model_length"}


@dataclass(frozen=True)
class Shape:
    """What is sent and how a reply is read.

    `body` is a JSON value in whose texts `{question}` and `{query_id}` become those of the query; without one, an
    object with the question under `asks` (a chat for `messages`). The others are paths into the reply: a.b is b of the
    object a, a.0 the first of the list a.
    """

    body: Any = None
    asks: str = "question"
    answer: str = ""
    contexts: str = ""
    ids: str = ""
    tokens: str = ""
    money: str = ""
    ms: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        written = "" if self.body is None else json.dumps(self.body, ensure_ascii=False)
        if self.body is not None and QUESTION not in written:
            raise UsageError(say("the body of a request needs the text {mark} where the question goes", mark=QUESTION))

    def request(self, question: str, query_id: str = "") -> Any:
        """The body of a request."""
        if self.body is not None:
            return _fill(self.body, question, query_id)
        asked: Any = [{"role": "user", "content": question}] if self.asks == "messages" else question
        return {**self.extra, self.asks: asked}

    def template(self) -> Any:
        """The body with the marks in it."""
        return self.request(QUESTION, QUERY_ID)


def _fill(part: Any, question: str, query_id: str) -> Any:
    if isinstance(part, str):
        # In one pass: a question that holds the other mark is text.
        return query_id.join(piece.replace(QUESTION, question) for piece in part.split(QUERY_ID))
    if isinstance(part, list):
        return [_fill(one, question, query_id) for one in part]
    if isinstance(part, dict):
        return {name: _fill(one, question, query_id) for name, one in part.items()}
    return part


@dataclass(frozen=True)
class AppReply:
    """What a reply holds; None is what it does not have, which differs from what is empty.

    `ended` says why there is no whole answer: refused or truncated. `ms` is the time that the application names.
    """

    answer: str | None = None
    contexts: tuple[Context, ...] | None = None
    prompt_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None
    ms: float | None = None
    ended: str = ""
    keys: tuple[str, ...] = ()


def read_reply(reply: Any, shape: Shape) -> AppReply:
    """Read a reply: the answer, the contexts in their order, tokens, money and the time it names."""
    if isinstance(reply, str):
        return AppReply(reply)
    if not isinstance(reply, dict):
        return AppReply()
    answer, ended = _choice(reply)
    if shape.answer:
        answer = _text(value_at(reply, shape.answer))
    elif answer is None:
        answer = _find_answer(reply)
    prompt, written = _tokens(reply, shape)
    return AppReply(
        answer, _contexts(reply, shape), prompt, written, _number(reply, shape.money, _MONEY),
        _number(reply, shape.ms, _TIMES), ended, tuple(map(str, reply)),
    )  # fmt: skip


def _choice(reply: Mapping[str, Any]) -> tuple[str | None, str]:
    """The text of a chat completion, or of a piece of one; and why it is none, if it says so."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = next((one for name in ("message", "delta") if isinstance(one := first.get(name), dict)), {})
    reason = str(first.get("finish_reason") or "")
    refused = message.get("refusal")
    ended = "refused" if reason in _REFUSING or refused else "truncated" if reason in _CUT else ""
    content = message.get("content", first.get("text"))
    if isinstance(content, list):
        content = "".join(str(one.get("text", "")) for one in content if isinstance(one, dict))
    return (content if isinstance(content, str) else refused if isinstance(refused, str) else None), ended


def layers(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A reply, and the objects inside it that are known to wrap one, the outer ones first."""
    level = [reply]
    for _ in range(_DEEPEST):
        yield from level
        level = [inner for outer in level for inner in _inside(outer)]


def _inside(outer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    choices = outer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    for one in (*(first.get(name) for name in ("message", "delta")), *(outer.get(name) for name in _WRAPPERS)):
        if isinstance(one, dict):
            yield one


def _find_answer(reply: Mapping[str, Any]) -> str | None:
    for one in layers(reply):
        for name in columns.candidates(map(str, one), columns.SAMPLE["answer"]):
            found = one[name]
            if isinstance(found, (str, int, float)) and not isinstance(found, bool):
                return str(found)
    for one in layers(reply):  # {"data": {"text": ...}}
        found = columns.first_of(one, columns.CONTEXT_TEXT)
        if isinstance(found, str) and one is not reply:
            return found
    return None


def _text(value: Any) -> str | None:
    try:
        return None if value is None else cells.text(value, [])
    except cells.Fault:
        return None


def _contexts(reply: Mapping[str, Any], shape: Shape) -> tuple[Context, ...] | None:
    found = _find_contexts(reply, shape)
    names = value_at(reply, shape.ids) if shape.ids else _find_value(reply, columns.SAMPLE["context_ids"])
    ids = _ids(names)
    if ids is None:
        return found
    if found is None or len(found) != len(ids):
        return tuple(Context("", one) for one in ids) if found is None or shape.ids else found
    return tuple(Context(one.text, name) for one, name in zip(found, ids, strict=True))


def _find_contexts(reply: Mapping[str, Any], shape: Shape) -> tuple[Context, ...] | None:
    if shape.contexts:
        value = value_at(reply, shape.contexts)
        return None if value is None else _items(value, texts=True)
    for one in layers(reply):
        for name in columns.candidates(map(str, one), columns.SAMPLE["contexts"]):
            if isinstance(one[name], (list, dict)):
                return _items(one[name], texts=True)
        for name in _SOURCES:
            if isinstance(one.get(name), list):
                return _items(one[name], texts=False)
    return None


def _find_value(reply: Mapping[str, Any], heading: columns.ColumnName) -> Any:
    for one in layers(reply):
        for name in columns.candidates(map(str, one), heading):
            return one[name]
    return None


def _ids(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        return cells.identifiers(value, [])
    except cells.Fault:
        return None


def _items(value: Any, *, texts: bool) -> tuple[Context, ...]:
    """Contexts of a list: with a text, with an id, or both; bare texts are ids where names of sources are usual.

    There, all are texts as soon as one reads as a passage: else an answer would be held against nothing.
    """
    if isinstance(value, dict) and columns.first_of(value, columns.CONTEXT_TEXT) is None:
        value = [{"id": name, "text": one} if isinstance(one, str) else one for name, one in value.items()]
    items, found = value if isinstance(value, list) else [value], []
    texts = texts or any(isinstance(item, str) and _is_passage(item) for item in items)
    for item in items:
        if isinstance(item, str):
            found.append(Context(item) if texts else Context("", item))
        elif isinstance(item, dict):
            found.append(_context(item))
    return tuple(found)


def _is_passage(text: str) -> bool:
    """Return whether a text is too long for a title, or has lines or a Chinese sentence; an address has no blanks."""
    text = text.strip()
    return "\n" in text or "。" in text or (len(text) > _LONGEST_NAME and " " in text)


def _context(item: dict[str, Any]) -> Context:
    try:
        (known,) = cells.contexts([item], [])
    except cells.Fault:
        known = Context("")
    if known.id is not None:
        return known
    inner = next((one for name in ("metadata", "meta", "node") if isinstance(one := item.get(name), dict)), {})
    name = columns.first_of({**inner, **item}, _IDS)
    return Context(known.text, str(name)) if isinstance(name, (str, int)) else known


def _tokens(reply: Mapping[str, Any], shape: Shape) -> tuple[int, int]:
    """Tokens of the prompt and of the answer, as far as a reply names them."""
    if shape.tokens:
        found = value_at(reply, shape.tokens)
        return (int(found), 0) if _is_count(found) else _counts(found)
    for one in layers(reply):
        if isinstance(usage := one.get("usage"), dict):
            return _counts(usage)
    return _counts(reply)


def _counts(usage: Any) -> tuple[int, int]:
    if not isinstance(usage, dict):
        return 0, 0
    prompt, written = columns.first_of(usage, _PROMPT), columns.first_of(usage, _WRITTEN)
    total = usage.get("total_tokens")
    if not _is_count(prompt) and not _is_count(written):
        return (int(total or 0), 0) if _is_count(total) else (0, 0)
    return (int(prompt) if _is_count(prompt) else 0), (int(written) if _is_count(written) else 0)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(reply: Mapping[str, Any], path: str, names: tuple[str, ...]) -> float | None:
    """A number at a path, or of one of these names; None for anything that is none."""
    if path:
        return _positive(value_at(reply, path))
    for one in layers(reply):
        for part in (one, one.get("usage")):
            found = _positive(columns.first_of(part, names)) if isinstance(part, dict) else None
            if found is not None:
                return found
    return None


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return found if math.isfinite(found) and found >= 0 else None
