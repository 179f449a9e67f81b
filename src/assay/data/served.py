"""Requests as an application served them: what was asked, what was found, what was answered, how long it took.

They are read from traces (`formats.traces`). A served request is a sample, so that measures of answers work on it, and
many of them are an event log, so that measures of logs do.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a codec reads the types of records
from dataclasses import dataclass, field, replace
from datetime import datetime  # noqa: TC003 - likewise
from typing import TYPE_CHECKING, Literal

from assay.data.events import QUERY, Events, schema
from assay.data.samples import Context, Sample, Samples, Turn
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.source import Source

# Why a request lacks something. `served.REASON` is the sentence.
Lack = Literal[
    "no_root",  # the span that the others belong to has not arrived
    "no_input",  # no span holds a question
    "no_output",  # no span holds an answer
    "failed",  # it ended in an error, and so has no answer
    "no_retrieval",  # no span is a retrieval
    "no_documents",  # a retrieval recorded no documents
    "no_texts",  # documents were recorded without their texts
    "no_usage",  # no span counts tokens
    "no_cost",  # no span holds what it cost
    "no_clock",  # times are missing or run backwards
]
# Columns of an event log of served requests that other logs have not; `Events.attributes` names them.
COLUMNS = ("error", "model", "system", "top_score", "first_token_ms", "retrieval_ms")
_NUMBERS = {"top_score", "first_token_ms", "retrieval_ms"}


@dataclass(frozen=True, slots=True)
class ServedContext:
    """One document that was found for a request; applications record its id, its text or both, often with a score."""

    text: str | None = None
    id: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """One request as it was served; None is what its trace does not say, and `lacks` says why.

    `id` is the id of its trace in hexadecimal digits, `time` when it began, `contexts` what was found before the answer
    and not replaced by a reranking. `system` is the service that served it, `attributes` are
    those that were asked for by name, `error` is how it failed, `span_id` the span that holds the answer, and
    `response_id` the model's own id of it.
    """

    id: str
    time: datetime | None = None
    question: str | None = None
    answer: str | None = None
    contexts: tuple[ServedContext, ...] | None = None
    history: tuple[Turn, ...] = ()
    session: str | None = None
    user: str | None = None
    model: str | None = None
    system: str | None = None
    latency_ms: float | None = None
    first_token_ms: float | None = None
    retrieval_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    error: str | None = None
    attributes: Mapping[str, str | float | bool] = field(default_factory=dict)
    lacks: Mapping[str, Lack] = field(default_factory=dict)
    spans: int = 0
    span_id: str | None = None
    response_id: str | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is missing and why, as messages."""
        return tuple(say("served.lacks", field=say(f"served.of_{name}"), why=say(f"served.{why}"))
                     for name, why in self.lacks.items())  # fmt: skip

    @property
    def top_score(self) -> float | None:
        """The score of the best document; None where scores were not recorded."""
        return max((one.score for one in self.contexts or () if one.score is not None), default=None)

    @property
    def sample(self) -> Sample:
        """The request as a sample; its contexts are the documents whose texts were recorded."""
        contexts = None
        if self.contexts is not None and (not self.contexts or any(one.text is not None for one in self.contexts)):
            contexts = tuple(Context(one.text, one.id) for one in self.contexts if one.text is not None)
        ids = [one.id for one in self.contexts or () if one.id is not None]
        named = self.contexts is not None and len(ids) == len(self.contexts)
        others = {name: getattr(self, name) for name in ("session", "user", "model", "latency_ms", "first_token_ms",
                  "retrieval_ms", "input_tokens", "output_tokens", "cost", "error")}  # fmt: skip
        return Sample(
            query_id=self.id,
            question=self.question,
            answer=self.answer,
            contexts=contexts,
            history=self.history,
            context_ids=tuple(ids) if named else None,
            notes=self.remarks,
            others={"time": None if self.time is None else self.time.isoformat(), **others, **self.attributes},
            system=self.system,
        )


def as_samples(requests: Iterable[Served], source: Source | None = None, notes: Sequence[str] = ()) -> Samples:
    """Make samples of requests, of one system where only one service served them."""
    rows = tuple(one.sample for one in requests)
    if len({row.system for row in rows}) > 1:  # parts of one application, which were asked different things
        rows = tuple(replace(row, system=None, others={**row.others, "service": row.system}) for row in rows)
    mapping = {name: name for name in ("question", "answer", "contexts") if any(getattr(row, name) for row in rows)}
    return Samples(rows, mapping, source, tuple(notes))


def as_log(requests: Iterable[Served], attributes: Sequence[str] = ()) -> Events:
    """Make an event log of requests: a row for each, with the attributes that are named beside those of `COLUMNS`."""
    kinds: dict[str, pl.DataType] = {
        name: kind for name, kind in schema().items() if name in _row(Served("")) and name not in COLUMNS
    }
    kinds |= {name: pl.Float64() if name in _NUMBERS else pl.String() for name in COLUMNS}
    extra = [name for name in attributes if name not in kinds]
    kinds |= {name: pl.String() for name in extra}
    rows = [{**_row(one), **{name: _plain(one.attributes.get(name)) for name in extra}} for one in requests]
    return Events.of(pl.DataFrame(rows, schema=kinds, orient="row"), (*COLUMNS, *extra))


def _plain(value: str | float | None) -> str | None:
    return None if value is None else str(value)


def _row(one: Served) -> dict[str, object]:
    """The row of a request in an event log."""
    ids = [found.id for found in one.contexts or () if found.id is not None]
    known = one.contexts is not None
    return {
        "query_id": one.id,
        "user": one.user,
        "session": one.session,
        "time": one.time,
        "action": QUERY,
        "text": one.question,
        "results": ids if known and len(ids) == len(one.contexts or ()) else None,
        "result_count": len(one.contexts or ()) if known else None,
        "latency_ms": one.latency_ms,
        "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens,
        "cost": one.cost,
        **{name: getattr(one, name) for name in COLUMNS},
    }
