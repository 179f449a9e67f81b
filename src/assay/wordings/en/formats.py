"""Texts in English: how files were read."""

from __future__ import annotations

TEXTS = {
    "read.column_as": "column {name} is read as {field}",
    "read.number_as_text": "the number {value} is read as text",
    "read.one_context": "contexts is one text, not a list",
    "read.null_contexts": "{n} of {of} contexts {n:is|are} null",
    "read.no_text": "expected a text, found {kind}",
    "read.no_texts": "expected a list of texts, found {kind}",
    "read.no_context_text": "a context has no text: its keys are {keys}",
    "read.no_messages": "expected a list of messages, found {kind}",
    "read.no_id": "expected an id, found {kind}",
    "read.no_nuggets": "expected a list of nuggets, found {kind}",
    "read.no_ids": "expected a list of ids, found {kind}",
    "read.too_deep": "nested too deeply to be read",
    "read.key_twice": "key {key} appears twice in one object",
    "read.object": "an object",
    "read.list": "a list",
    "read.boolean": "true or false",
    "read.number": "a number",
    "read.string": "a text",
    "read.null": "null",
    "read.other": "a value of type {name}",
}
