"""What the spans of a trace are: generations, retrievals, rerankings; which of them count, and what they found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from assay.data.served import ServedContext
from assay.formats.columns import CONTEXT_ID, CONTEXT_TEXT, first_of
from assay.formats.traces import names
from assay.formats.traces.texts import content_of, list_objects, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.formats.traces.spans import Attributes, TraceSpan, Value

Role = Literal["generation", "retrieval", "reranking", "outer", "check", "other"]
_SCORES = ("score", "distance", "relevance_score", "similarity")


def role_of(span: TraceSpan) -> Role:
    """What a span is, from what it says of itself, else from what it recorded."""
    found = span.attributes
    for told in (found.get(names.KIND), found.get(names.OPERATION), found.get(names.REQUEST_TYPE)):
        if isinstance(told, str) and (role := _ROLES.get(told)):
            return role
    if any(name.startswith(_RERANKED) for name in found):
        return "reranking"
    if names.DOCUMENTS in found or names.DATA_SOURCE in found or any(name.startswith(_RETRIEVED) for name in found):
        return "retrieval"
    if any(event.name == names.RESULT_EVENT for event in span.events):
        return "retrieval"
    if str(pick(found, names.DATABASE)) in names.SEARCH_ENGINES:
        return "retrieval"
    has_model = pick(found, names.MODEL) is not None
    return "generation" if has_model and pick(found, names.OUTPUT_TOKENS) is not None else "other"


_RERANKED, _RETRIEVED = (f"{name}.0." for name in names.DOCUMENT_LISTS)
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(names.GENERATIONS, "generation"),
    **dict.fromkeys(names.RETRIEVALS, "retrieval"),
    **dict.fromkeys(names.RERANKINGS, "reranking"),
    **dict.fromkeys(names.OUTER, "outer"),
    **dict.fromkeys(names.CHECKS, "check"),
    **dict.fromkeys(names.OTHERS, "other"),
}


def pick(attributes: Attributes, wanted: Sequence[str]) -> Value | None:
    """The value of the first of these names that is there."""
    return next((attributes[name] for name in wanted if name in attributes), None)


class Steps:
    """The spans of one trace in the order in which they began, each once, with what each is."""

    def __init__(self, spans: Sequence[TraceSpan]) -> None:
        last = {span.span_id: span for span in spans}
        self.spans = sorted(last.values(), key=lambda span: (span.start_ns, -span.end_ns, span.span_id))
        self.by_id = last
        self.roles = {span.span_id: role_of(span) for span in self.spans}

    @cached_property
    def root(self) -> TraceSpan | None:
        """The span that began the request: without a parent, else the longest whose parent is in another process."""
        whole = [span for span in self.spans if not span.parent_id]
        if whole:
            return max(whole, key=lambda span: span.end_ns - span.start_ns)
        entries = [span for span in self.spans if span.is_entry and span.parent_id not in self.by_id]
        return max(entries, key=lambda span: span.end_ns - span.start_ns, default=None)

    def of(self, *roles: Role) -> list[TraceSpan]:
        """The spans of some roles, outside of what only checks an answer."""
        return [span for span in self.spans if self.roles[span.span_id] in roles and not self.is_within(span, "check")]

    def outermost(self, *roles: Role) -> list[TraceSpan]:
        """The spans of some roles that are not within another one of them: a library inside a library says it twice."""
        return [span for span in self.of(*roles) if not self.is_within(span, *roles)]

    def is_within(self, span: TraceSpan, *roles: Role) -> bool:
        """Whether any span above is of one of these roles."""
        return any(self.roles[one.span_id] in roles for one in self._above(span))

    def _above(self, span: TraceSpan) -> Iterator[TraceSpan]:
        seen = {span.span_id}
        while (parent := self.by_id.get(span.parent_id)) is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            span = parent

    @cached_property
    def is_request(self) -> bool:
        """Whether anything here asked a model or searched; a check of health, for one, does not."""
        return any(role in {"generation", "retrieval", "reranking", "outer"} for role in self.roles.values())

    @cached_property
    def generation(self) -> TraceSpan | None:
        """The call of a model that gave the answer: the one that ended last."""
        return max(self.outermost("generation"), key=lambda span: span.end_ns, default=None)

    @cached_property
    def searches(self) -> list[TraceSpan]:
        """Retrievals and rerankings before the answer, outermost ones, in the order in which they ended."""
        end = self.generation.end_ns if self.generation is not None else None
        found = [span for span in self.outermost("retrieval", "reranking") if end is None or span.start_ns <= end]
        return sorted(found, key=lambda span: span.end_ns)

    @cached_property
    def contexts(self) -> tuple[ServedContext, ...] | None:
        """What was found: a reranking replaces what was retrieved since the one before it, the rest is joined."""
        settled: list[ServedContext] = []
        reranked: list[ServedContext] = []
        retrieved: list[ServedContext] = []
        known = False
        for span in self.searches:
            found = documents_of(span)
            if found is None:
                continue
            known = True
            if self.roles[span.span_id] == "retrieval":
                retrieved += found
            else:
                settled, reranked = [*settled, *(reranked if retrieved else [])], found
                retrieved = []
        return _each_once([*settled, *reranked, *retrieved]) if known else None

    @cached_property
    def search_ms(self) -> float | None:
        """How long searching took: spans that overlap count once."""
        parts = [(span.start_ns, span.end_ns) for span in self.searches if 0 < span.start_ns <= span.end_ns]
        if not parts:
            return None
        total, reached = 0, 0
        for start, end in sorted(parts):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total / 1e6


def documents_of(span: TraceSpan) -> list[ServedContext] | None:
    """The documents that a span recorded; None where it recorded none, not even that there were none."""
    for prefix in names.DOCUMENT_LISTS:
        if found := list_objects(span.attributes, prefix):
            return [_document({name.removeprefix("document."): value for name, value in one.items()}) for one in found]
    whole = unpack(span.attributes.get(names.DOCUMENTS))
    if isinstance(whole, list):
        return [_document(one) for one in whole if isinstance(one, Mapping)]
    told = [event.attributes for event in span.events if event.name == names.RESULT_EVENT]
    cut = len(names.RESULT_EVENT) + 1
    return [_document({name[cut:]: value for name, value in one.items()}) for one in told] or None


def _document(found: Mapping[str, Value]) -> ServedContext:
    text = content_of(first_of(found, CONTEXT_TEXT)) or None
    name, score = first_of(found, CONTEXT_ID), None
    for key in _SCORES:
        if (score := as_number(found.get(key))) is not None:
            score = -score if key == "distance" else score
            break
    named = str(name) if isinstance(name, (str, int)) and not isinstance(name, bool) and str(name) else None
    return ServedContext(text, named, score)


def as_number(value: Value | None) -> float | None:
    """A finite number, which may be written as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _each_once(found: Sequence[ServedContext]) -> tuple[ServedContext, ...]:
    kept: dict[str | ServedContext, ServedContext] = {}
    for one in found:
        kept.setdefault(one.id or one.text or one, one)
    return tuple(kept.values())
