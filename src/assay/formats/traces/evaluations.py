"""What was found out about answers, as log records that tracing systems attach to the spans of the answers.

The event is `gen_ai.evaluation.result` of OpenTelemetry's conventions for GenAI, in OTLP's JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from assay.formats.traces.keeping import encode_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EVENT = "gen_ai.evaluation.result"
_RECORDS = 100  # of a line: the collector reads lines up to 1 MB
_SEVERITY = {"severityNumber": 9, "severityText": "INFO"}
_TRACE_ID, _SPAN_ID = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class Evaluation:
    """One value of one answer: what it is called, and the request and the span that it is about.

    `label` is a word for the value, or why there is none; `error` says that the evaluation itself failed. `method` is
    how the answer was judged, by which `judge`, and `probability` that of its having been drawn to be judged.
    """

    name: str
    trace_id: str
    span_id: str | None
    value: float | None = None
    label: str = ""
    explanation: str = ""
    response_id: str | None = None
    error: str = ""
    method: str = ""
    judge: str = ""
    probability: float | None = None

    @property
    def uid(self) -> str:
        """What is the same when it is sent again, and by no other evaluation."""
        parts = "\0".join((self.trace_id, self.span_id or "", self.name, self.method, self.judge))
        return blake2b(parts.encode(), digest_size=16).hexdigest()


def encode_evaluations(found: Sequence[Evaluation], time_ns: int) -> list[bytes]:
    """Write evaluations that were made at a time as lines of OTLP in JSON, each a request of its own."""
    parts = (found[start : start + _RECORDS] for start in range(0, len(found), _RECORDS))
    return [msgspec.json.encode(_request(part, time_ns)) + b"\n" for part in parts]


def count_evaluations(line: bytes) -> int:
    """How many evaluations a line holds."""
    return len(msgspec.json.decode(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"])


def _request(found: Iterable[Evaluation], time_ns: int) -> dict[str, Any]:
    scope = {"name": "assay", "version": version("assay-eval")}
    records = [_record(one, time_ns) for one in found]
    resource = {"attributes": encode_attributes({"service.name": "assay"})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]}


def _record(one: Evaluation, time_ns: int) -> dict[str, Any]:
    ids = {
        name: value
        for name, value, form in (("traceId", one.trace_id, _TRACE_ID), ("spanId", one.span_id, _SPAN_ID))
        if value is not None and form.fullmatch(value)
    }
    told = {
        "gen_ai.evaluation.name": one.name,
        "gen_ai.evaluation.score.value": one.value,
        "gen_ai.evaluation.score.label": one.label or None,
        "gen_ai.evaluation.explanation": one.explanation or None,
        "gen_ai.response.id": one.response_id,
        "error.type": one.error or None,
        "log.record.uid": one.uid,
        "assay.evaluation.method": one.method or None,
        "assay.evaluation.judge": one.judge or None,
        "assay.evaluation.sampling_probability": one.probability,
    }
    times = {"timeUnixNano": str(time_ns), "observedTimeUnixNano": str(time_ns)}
    known = {name: value for name, value in told.items() if value is not None}
    return {**times, **_SEVERITY, "eventName": EVENT, **ids, "attributes": encode_attributes(known)}
