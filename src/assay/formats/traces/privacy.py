"""Privacy of traces, as of event logs: ids of people become pseudonyms, personal data is taken out of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from assay.formats.events.privacy import key_of_salt, make_pseudonym
from assay.formats.redaction import redact
from assay.formats.traces import names
from assay.formats.traces.texts import unpack
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay.formats.traces.spans import Batch, SpanEvent, TraceSpan, Value

# Texts that are read by programs: to change them would lose what belongs together.
_KEPT = {names.KIND, names.OPERATION, names.REQUEST_TYPE, names.ERROR, names.DATA_SOURCE, *names.DATABASE, *names.MODEL}
_KEPT_KEYS = {"id", "role", "type", "finish_reason", "object_id", "doc_id", "document_id", "document.id"}


def hash_ids(batch: Batch, salt: str) -> Batch:
    """Replace the ids of users and sessions by keyed hashes of them, the same ones as in event logs."""
    key = key_of_salt(salt)

    def change(name: str, value: Value) -> Value:
        if name not in names.PERSONAL:
            return value
        return make_pseudonym(str(value), key)

    return _change(batch, change)


def redact_texts(batch: Batch) -> Batch:
    """Take personal data out of all texts of spans: of questions, answers, documents and errors."""
    found = list(dict.fromkeys(text for name, value in _values(batch) for text in _texts(name, value)))
    errors = [span.error for span in batch.spans if span.error]
    texts = [*found, *errors]
    clean = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).select(redact(pl.col("text"))).to_series()
    words = dict(zip(texts, clean.to_list(), strict=True))
    done = _change(batch, lambda name, value: _replace(name, value, words))
    return replace(
        done, spans=tuple(replace(span, error=words[span.error]) if span.error else span for span in done.spans)
    )


def _values(batch: Batch) -> Iterator[tuple[str, Value]]:
    for span in batch.spans:
        yield from span.attributes.items()
    for event in (*batch.events, *(event for span in batch.spans for event in span.events)):
        yield from event.attributes.items()


def _is_kept(name: str) -> bool:
    """Whether an attribute is read by programs, so that its texts stay."""
    return name in _KEPT or name in names.PERSONAL or name.rpartition(".")[2] in _KEPT_KEYS


def _texts(name: str, value: object) -> Iterator[str]:
    """The texts of an attribute, also those in a list, an object, or one that was written as JSON."""
    if _is_kept(name):
        return
    value = unpack(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts("", one)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(str(key), one)


def _replace(name: str, value: Value, words: Mapping[str, str]) -> Value:
    if _is_kept(name):
        return value
    inner = unpack(value)
    if isinstance(inner, str):
        return words.get(inner, inner)
    if isinstance(inner, (list, dict)):
        done = _replace_inside(inner, words)
        return msgspec.json.encode(done).decode() if isinstance(value, str) else done
    return value


def _replace_inside(value: Value, words: Mapping[str, str]) -> Value:
    if isinstance(value, list):
        return [_replace("", one, words) for one in value]
    if isinstance(value, dict):
        return {key: _replace(key, one, words) for key, one in value.items()}
    return value


def _change(batch: Batch, change: Callable[[str, Value], Value]) -> Batch:
    def renew(attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {name: change(name, value) for name, value in attributes.items()}

    def renew_event(event: SpanEvent) -> SpanEvent:
        return replace(event, attributes=renew(event.attributes))

    def renew_span(span: TraceSpan) -> TraceSpan:
        return replace(span, attributes=renew(span.attributes), events=tuple(map(renew_event, span.events)))

    return replace(batch, spans=tuple(map(renew_span, batch.spans)), events=tuple(map(renew_event, batch.events)))
