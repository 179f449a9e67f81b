"""What is done about each kind of failure: one table, and how a kind is recognised.

DashScope's codes are those of its page of error codes: `Throttling.*`, `limit_requests` and, unlike anywhere else,
`insufficient_quota` mean that a minute's requests or tokens are used up; `Arrearage` and overdue bills are final.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from assay.llm.structured import RUNGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.llm.hosts import Vendor
    from assay.llm.records import Reason
    from assay.llm.wire import Traits

Kind = Literal[
    "unreachable", "broken", "slow", "garbage", "hollow", "server", "throttled", "key", "quota", "model", "filtered",
    "refused", "truncated", "empty", "unfit", "too_long", "unsupported", "request",
]  # fmt: skip
Action = Literal["retry", "wait", "stop", "record", "adapt", "repair"]


@dataclass(frozen=True)
class Rule:
    """What follows from a kind of failure.

    retry: this item again, after a pause with jitter; wait: all items pause, then this item again; stop: nothing more
    is sent in this run; record: the outcome of this item; adapt: again without what the server does not accept;
    repair: the model is shown what is wrong, once. `attempts` counts calls of the item that ended in this kind.
    `charged`: the server may have taken money for it. `keep`: the outcome is put into the cache.
    """

    action: Action
    reason: Reason
    attempts: int = 1
    charged: bool = False
    keep: bool = False


POLICY: dict[Kind, Rule] = {
    "unreachable": Rule("retry", "network", 4),
    "broken": Rule("retry", "network", 4, charged=True),
    "slow": Rule("retry", "timeout", 3, charged=True),
    "garbage": Rule("retry", "garbage", 4, charged=True),
    "hollow": Rule("retry", "empty", 4),
    "server": Rule("retry", "server", 5),
    "throttled": Rule("wait", "throttled", 8),
    "key": Rule("stop", "key"),
    "quota": Rule("stop", "quota"),
    "model": Rule("stop", "model"),
    "filtered": Rule("record", "filtered", keep=True),
    "refused": Rule("record", "refused", keep=True),
    "truncated": Rule("record", "truncated", keep=True),
    "empty": Rule("record", "empty", keep=True),
    "unfit": Rule("repair", "parse", 2, keep=True),
    "too_long": Rule("record", "too_long", keep=True),
    "unsupported": Rule("adapt", "request", 8),
    "request": Rule("record", "request"),
}

_FILTERED = {
    "data_inspection_failed", "datainspectionfailed", "content_filter", "content_policy_violation", "sensitive",
    "responsibleaipolicyviolation", "customroleblocked", "faqruleblocked", "1301",
}  # fmt: skip
_QUOTA = {
    "insufficient_quota", "insufficient_balance", "insufficient_user_quota", "exceeded_current_quota_error",
    "arrearage", "billing_not_active", "billing_hard_limit_reached", "prepaidbilloverdue", "postpaidbilloverdue",
    "commoditynotpurchased", "allocationquota.freetieronly", "accessdenied.unpurchased", "1113",
}  # fmt: skip
_MINUTE_USED_UP = {"insufficient_quota", "throttling.allocationquota"}  # on DashScope
_THROTTLED = {
    "limit_requests", "limitrequests", "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error",
    "limit_burst_rate", "requests_limit_exceeded", "engine_overloaded_error",
}  # fmt: skip
_FINISHED: dict[str, Kind] = {
    "length": "truncated", "max_tokens": "truncated", "model_length": "truncated",
    "content_filter": "filtered", "sensitive": "filtered",
    "insufficient_system_resource": "server", "network_error": "server", "error": "server", "abort": "server",
}  # fmt: skip
_BY_STATUS: dict[int, Kind] = {
    401: "key", 402: "quota", 403: "key", 404: "model", 408: "server", 409: "server", 413: "too_long", 425: "server",
    424: "server", 429: "throttled", 501: "request",
}  # fmt: skip
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum.{0,20}(input|prompt|context|length of tokens)|input length|"
    r"prompt is too long|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
_MUST_BE_QUOTED = {"seed", "stop"}  # everyday words: only quoted are they parameters
_DROPPABLE = (
    "temperature", "top_p", "seed", "stop", "top_logprobs", "logprobs", "enable_thinking", "chat_template_kwargs",
    "thinking",
)  # fmt: skip


@dataclass(frozen=True)
class Complaint:
    """The error that a server reports, in any of the known shapes."""

    codes: tuple[str, ...] = ()
    param: str = ""
    message: str = ""

    @property
    def text(self) -> str:
        """Everything it says, in lower case."""
        return " ".join((*self.codes, self.param, self.message)).lower()


def complaint_of(answer: Any) -> Complaint | None:
    """Read the error of an answer, or None when there is none."""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    if not isinstance(answer, dict):
        return None
    error = answer.get("error")
    if isinstance(error, str) and error:  # text-embeddings-inference: {"error": "...", "error_type": "Validation"}
        kind = answer.get("error_type")
        return Complaint((kind.lower(),) if isinstance(kind, str) else (), message=error)
    if not isinstance(error, dict) or not error:
        answered = any(name in answer for name in ("choices", "data", "results", "output"))
        if answered or not any(name in answer for name in ("code", "message", "detail")):
            return None
        error = answer
    codes = [str(error[name]).lower() for name in ("code", "type", "status") if error.get(name) is not None]
    message = error.get("message") or error.get("detail") or error.get("reason") or ""  # Elasticsearch: reason
    return Complaint(tuple(codes), str(error.get("param") or ""), message if isinstance(message, str) else str(message))


def kind_of(status: int, complaint: Complaint, vendor: Vendor) -> Kind:
    """Name the kind of a failure by what the server says, then by its HTTP status."""
    if status == HTTPStatus.OK:  # an error sent with a status of success: its code may be an HTTP status
        known = {str(code.value): code.value for code in HTTPStatus if code >= HTTPStatus.BAD_REQUEST}
        status = next((known[code] for code in complaint.codes if code in known), 500)
    return _kind_by_name(complaint, vendor) or _status_kind(status, complaint)


def _kind_by_name(complaint: Complaint, vendor: Vendor) -> Kind | None:
    codes, message = set(complaint.codes), complaint.message.lower()
    if codes & _FILTERED:
        return "filtered"
    if vendor.quota_is_throttling and codes & _MINUTE_USED_UP and "free" not in message:
        return "throttled"
    if codes & (_QUOTA | _MINUTE_USED_UP) or "credits are depleted" in message or "insufficient balance" in message:
        return "quota"
    return "throttled" if codes & _THROTTLED or any(code.startswith("throttling") for code in codes) else None


def _status_kind(status: int, complaint: Complaint) -> Kind:
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and "batch size" in complaint.message.lower():
        return "request"  # the number of texts is a matter of settings, and not one to remember
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server"
    if "context_length_exceeded" in complaint.codes or _TOO_LONG.search(complaint.message):
        return "too_long"
    return "unsupported" if status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY} else "request"


def finish_kind(finish_reason: str) -> Kind | None:
    """Name the kind of an answer that did not end as it should."""
    return _FINISHED.get(finish_reason.lower())


def adapt(traits: Traits, complaint: Complaint, body: Mapping[str, Any]) -> Traits | None:
    """Leave out what the complaint names, if the body has it and can do without it."""
    text = complaint.text
    if "enable_thinking" in text and "stream" in text and not traits.no_thinking:
        return replace(traits, no_thinking=True)
    if "max_completion_tokens" in text and "max_tokens" in body:
        return replace(traits, max_tokens="max_completion_tokens")
    if "response_format" in body and re.search(
        r"response_format|json_schema|json_object|structured|grammar|guided", text
    ):
        return replace(traits, rung=RUNGS[RUNGS.index(traits.rung) + 1])
    for name in _DROPPABLE:
        if name in body and _names(name, complaint):
            both = {"logprobs", "top_logprobs"}
            return replace(traits, dropped=traits.dropped | (both if name in both else {name}))
    return None


def _names(name: str, complaint: Complaint) -> bool:
    if complaint.param == name:
        return True
    edge = "['\"`]" if name in _MUST_BE_QUOTED else r"\b"
    return re.search(f"{edge}{name}{edge}", complaint.message) is not None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read how long the server wants us to wait: seconds, milliseconds or a date; None when it makes no sense."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
