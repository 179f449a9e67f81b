"""From the spans of one trace to a request as it was served; what the spans do not say stays empty, with its reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from assay.data.served import Lack, Served
from assay.formats.columns import SAMPLE
from assay.formats.traces import names
from assay.formats.traces.steps import Steps, as_number, pick
from assay.formats.traces.texts import answer_of, input_messages, last_of, plain_text, question_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.data.samples import Turn
    from assay.formats.traces.spans import SpanEvent, TraceSpan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_TOKENS = 10**12
_SPOKEN = {"user", "assistant"}


def assemble(spans: Iterable[TraceSpan], events: Iterable[SpanEvent] = (), attributes: Sequence[str] = ()) -> Served:
    """Make a served request of the spans of one trace, in any order; `events` are log records that name them.

    The question is what the outermost span was asked that says so, the answer what the outermost one replied; contexts
    are those of `Steps.contexts`. Calls within calls of the same kind count once. `attributes` are kept by their names.
    """
    steps = Steps(_with_events(spans, events))
    generation, root = steps.generation, steps.root
    answer = _answer(steps)
    latency, why_no_time = _latency(root)
    usage = [span for span in steps.of("generation") if not steps.is_within(span, "generation")] or _outer(steps)
    found = Served(
        id=steps.spans[0].trace_id if steps.spans else "",
        time=_time(root or (steps.spans[0] if steps.spans else None)),
        question=_question(steps),
        answer=answer,
        contexts=steps.contexts,
        history=_history(generation),
        session=_find_text(steps, names.SESSION),
        user=_find_text(steps, names.USER),
        model=_text(pick(generation.attributes, names.MODEL)) if generation is not None else None,
        system=next((span.service for span in ([root] if root else steps.spans) if span.service), None),
        latency_ms=latency,
        first_token_ms=_first_token(generation, root),
        retrieval_ms=steps.search_ms,
        input_tokens=_sum_tokens(usage, names.INPUT_TOKENS),
        output_tokens=_sum_tokens(usage, names.OUTPUT_TOKENS),
        cost=_sum(usage, names.COST),
        error=_error(steps, answer),
        attributes=_pick_attributes(steps, attributes),
        spans=len(steps.spans),
        span_id=(generation or root or steps.spans[0]).span_id if steps.spans else None,
        response_id=_text(pick(generation.attributes, names.RESPONSE)) if generation is not None else None,
    )
    return replace(found, lacks=_lacks(found, steps, why_no_time))


def _with_events(spans: Iterable[TraceSpan], events: Iterable[SpanEvent]) -> list[TraceSpan]:
    """Give the spans the log records that name them, in the order of their times."""
    told: dict[str, list[SpanEvent]] = {}
    for event in events:
        told.setdefault(event.span_id, []).append(event)
    return [
        replace(span, events=(*span.events, *sorted(told[span.span_id], key=lambda one: one.time_ns)))
        if span.span_id in told
        else span
        for span in spans
    ]


def _outer(steps: Steps) -> list[TraceSpan]:
    """Spans around all others: what they count are sums, which are used where no call of a model counts anything."""
    return steps.outermost("outer")


def _spans_inwards(steps: Steps) -> list[TraceSpan]:
    """The spans to look into for question and answer: the root, then chains and agents from outside to inside."""
    root = steps.root
    if root is None or steps.roles[root.span_id] in {"retrieval", "reranking"}:
        return steps.of("outer")
    return [root, *(span for span in steps.of("outer") if span is not root)]


def _question(steps: Steps) -> str | None:
    for span in _spans_inwards(steps):
        if (found := question_of(span)) is not None:
            return found
    for span in steps.searches:
        if (found := plain_text(pick(span.attributes, names.QUERY), SAMPLE["question"], user=True)) is not None:
            return found
    return question_of(steps.generation) if steps.generation is not None else None


def _answer(steps: Steps) -> str | None:
    for span in _spans_inwards(steps):
        if (found := answer_of(span)) is not None:
            return found
    return answer_of(steps.generation) if steps.generation is not None else None


def _history(generation: TraceSpan | None) -> tuple[Turn, ...]:
    """What user and model had said before the last message of the user."""
    if generation is None:
        return ()
    turns = input_messages(generation)
    last = last_of(turns, "user")
    places = [i for i, turn in enumerate(turns) if turn.role == "user" and turn.text == last]
    return tuple(turn for turn in turns[: places[-1]] if turn.role in _SPOKEN and turn.text) if places else ()


def _find_text(steps: Steps, wanted: Sequence[str]) -> str | None:
    """What the root says of a session or a user, else the first span that does."""
    for span in ([steps.root] if steps.root is not None else []) + steps.spans:
        if (found := _text(pick(span.attributes, wanted))) is not None:
            return found
    return None


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value) else None


def _time(span: TraceSpan | None) -> datetime | None:
    if span is None or not span.start_ns:
        return None
    return _EPOCH + timedelta(microseconds=span.start_ns // 1000)


def _latency(root: TraceSpan | None) -> tuple[float | None, Lack | None]:
    if root is None:
        return None, "no_root"
    if not root.start_ns or not root.end_ns or root.end_ns < root.start_ns:
        return None, "no_clock"
    return (root.end_ns - root.start_ns) / 1e6, None


def _first_token(generation: TraceSpan | None, root: TraceSpan | None) -> float | None:
    """Milliseconds from the beginning of the request to the first token of the answer."""
    if generation is None or not generation.start_ns:
        return None
    start = root.start_ns if root is not None and root.start_ns else generation.start_ns
    seconds = as_number(generation.attributes.get(names.FIRST_TOKEN))
    if seconds is not None and seconds >= 0:
        return max(0.0, (generation.start_ns - start) / 1e6 + 1000 * seconds)
    moment = next((one.time_ns for one in generation.events if one.name == names.FIRST_TOKEN_EVENT), 0)
    return (moment - start) / 1e6 if moment >= start else None


def _sum(spans: Sequence[TraceSpan], wanted: Sequence[str]) -> float | None:
    told = (as_number(pick(span.attributes, wanted)) for span in spans)
    found = [number for number in told if number is not None and number >= 0]
    return sum(found) if found else None


def _sum_tokens(spans: Sequence[TraceSpan], wanted: Sequence[str]) -> int | None:
    found = _sum(spans, wanted)
    return None if found is None or found > _MOST_TOKENS else round(found)


def _error(steps: Steps, answer: str | None) -> str | None:
    """How the request failed: by its root; without one, or without an answer, by what failed in it."""
    if steps.root is not None and (steps.root.error is not None or answer is not None):
        return steps.root.error
    failed = [span for span in (steps.generation, *steps.searches) if span is not None and span.error is not None]
    return failed[0].error if failed and answer is None else None


def _pick_attributes(steps: Steps, attributes: Sequence[str]) -> Mapping[str, str | float | bool]:
    found: dict[str, str | float | bool] = {}
    for name in attributes:
        order = ([steps.root] if steps.root is not None else []) + steps.spans
        value = next((span.attributes[name] for span in order if name in span.attributes), None)
        if value is not None:
            found[name] = value if isinstance(value, (str, int, float)) else _join(value)
    return found


def _join(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lacks(found: Served, steps: Steps, why_no_time: Lack | None) -> dict[str, Lack]:
    """What is missing, and why."""
    lacks: dict[str, Lack] = {}
    if steps.root is None:
        lacks["root"] = "no_root"
    if found.question is None:
        lacks["question"] = "no_input"
    if found.answer is None:
        lacks["answer"] = "failed" if found.error is not None else "no_output"
    if found.contexts is None:
        lacks["contexts"] = "no_documents" if steps.searches else "no_retrieval"
    elif found.contexts and all(one.text is None for one in found.contexts):
        lacks["contexts"] = "no_texts"
    if why_no_time == "no_clock":
        lacks["latency_ms"] = why_no_time
    if found.input_tokens is None and found.output_tokens is None:
        lacks["input_tokens"] = "no_usage"
    if found.cost is None:
        lacks["cost"] = "no_cost"
    return lacks
