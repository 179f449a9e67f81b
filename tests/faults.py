"""What servers do wrong, with the status in which each fault ends and the number of calls it takes."""

from __future__ import annotations

from email.utils import formatdate
from time import time

from assay.llm import Patience
from assay.testing import Answer

QUICK = Patience(timeout=30, deadline=60, backoff=0.005, longest_wait=0.03)
IMPATIENT = Patience(timeout=0.8, deadline=60, backoff=0.005, longest_wait=0.03)
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
GOOD = '{"score": 7}'
HTML = Answer(body="<html><body>502 Bad Gateway</body></html>", headers={"Content-Type": "text/html"})
BROKEN_GZIP = Answer(body=b"\x1f\x8b not gzip at all", headers={"Content-Encoding": "gzip"})


def error(status: int, message: str = "", **known) -> Answer:
    return Answer.error(status, message, **known)


def again(fault: Answer, times: int = 1) -> list[Answer | str]:
    """A fault that passes."""
    return [fault] * times + [GOOD]


# name: what the server does, then the reason ("" = an answer) and the number of calls
FAULTS = {
    # Faults that pass are tried again.
    "html with status 200": (again(HTML), "", 2),
    "truncated json": (again(Answer(body='{"choices": [{"message": {"cont')), "", 2),
    "json that is not an object": (again(Answer(body="[1, 2]")), "", 2),
    "error with status 200": (again(Answer(body={"error": {"message": "upstream failed"}})), "", 2),
    "error as a text with status 200": (again(Answer(body={"error": "upstream failed"})), "", 2),
    "empty choices": (again(Answer(body={"choices": [], "usage": {"prompt_tokens": 1}})), "", 2),
    "choices missing": (again(Answer(body={"id": "x"})), "", 2),
    "a choice without a message": (again(Answer(body={"choices": [{}]})), "", 2),
    "internal server error": (again(error(500)), "", 2),
    "bad gateway with html": (again(Answer(status=502, body="<html>")), "", 2),
    "overloaded with a wait": (again(error(503, headers={"Retry-After": "0"})), "", 2),
    "gateway timeout": (again(error(504)), "", 2),
    "connection reset": (again(Answer(broken="reset")), "", 2),
    "connection closed without an answer": (again(Answer(broken="close")), "", 2),
    "body cut off": (again(Answer(GOOD, cut=20)), "", 2),
    "stalled": (again(Answer(broken="stall")), "", 2),
    "dripping": (again(Answer(GOOD, drip=0.05)), "", 2),
    "broken compression": (again(BROKEN_GZIP), "", 2),
    "interrupted for lack of resources": (again(Answer(GOOD, finish_reason="insufficient_system_resource")), "", 2),
    "throttled, wait in seconds": (again(error(429, headers={"Retry-After": "1"}), 2), "", 3),
    "throttled, wait as a date": (again(error(429, headers={"Retry-After": formatdate(time() + 2, usegmt=True)})), "", 2),
    "throttled, wait in the past": (again(error(429, headers={"Retry-After": formatdate(0, usegmt=True)})), "", 2),
    "throttled, absurd wait": (again(error(429, headers={"Retry-After": "86400000"})), "", 2),
    "throttled, nonsensical wait": (again(error(429, headers={"Retry-After": "soon"})), "", 2),
    "throttled, negative wait": (again(error(429, headers={"Retry-After": "-5"})), "", 2),
    "throttled in milliseconds": (again(error(429, headers={"retry-after-ms": "12"})), "", 2),
    "throttled with status 200": (again(Answer(body={"error": {"code": 429, "message": "slow down"}})), "", 2),
    "throttled without a body": (again(Answer(status=429, body="")), "", 2),
    # Faults that stay end in their reason, after as many calls as the policy allows.
    "always internal server error": ([error(500)] * 9, "server", 5),
    "always html": ([HTML] * 9, "garbage", 4),
    "always reset": ([Answer(broken="reset")] * 9, "network", 4),
    "always stalled": ([Answer(broken="stall")] * 9, "timeout", 3),
    "always empty choices": ([Answer(body={"choices": []})] * 9, "empty", 4),
    "always throttled": ([error(429)] * 12, "throttled", 8),
    # What no further attempt can change stops the run.
    "wrong key": ([error(401, "Incorrect API key provided", code="invalid_api_key")], "key", 1),
    "forbidden": ([error(403, "Access denied.", code="AccessDenied")], "key", 1),
    "no money": ([error(429, "You exceeded your current quota", code="insufficient_quota")], "quota", 1),
    "no balance": ([error(402, "Insufficient Balance")], "quota", 1),
    "overdue bill": ([error(400, "Access denied", code="Arrearage")], "quota", 1),
    "free tier used up": ([error(403, "free tier", code="AllocationQuota.FreeTierOnly")], "quota", 1),
    "credits used up, said in words": ([error(429, "Your prepayment credits are depleted.")], "quota", 1),
    "no such model": ([error(404, "The model does not exist", code="model_not_found")], "model", 1),
    # Outcomes of the item: nobody is at fault.
    "filtered by DashScope": ([error(400, "may contain inappropriate content", code="data_inspection_failed")], "filtered", 1),
    "filtered in DashScope's own format": ([Answer(status=400, body={"code": "DataInspectionFailed", "message": "x"})], "filtered", 1),
    "filtered answer": ([Answer("", finish_reason="content_filter")], "filtered", 1),
    "refused": ([Answer(None, refusal="I can't help with that.")], "refused", 1),
    "cut at max_tokens": ([Answer('{"score": 7, "because": "it', finish_reason="length")], "truncated", 1),
    "cut at max_tokens after a quotation": ([Answer('{"score": 10} says the document, but', finish_reason="length")], "truncated", 1),
    "content null with reasoning": ([Answer(None, reasoning="Let me think. " + GOOD)], "empty", 1),
    "thinking without end": ([Answer("<think>Is it 3? " + GOOD)], "empty", 1),
    "content null": ([Answer(None)], "empty", 1),
    "prompt too long": ([error(400, "This model's maximum context length is 4096 tokens", code="context_length_exceeded")], "too_long", 1),
    "prompt too long on DashScope": ([error(400, "Range of input length should be [1, 30720]")], "too_long", 1),
    "payload too large": ([Answer(status=413, body="")], "too_long", 1),
    "bad request": ([error(400, "something is wrong")], "request", 1),
    "bad request in FastAPI's format": ([Answer(status=422, body={"detail": [{"msg": "bad"}]})], "request", 1),
    "redirect": ([Answer(status=301, body="", headers={"Location": "https://example.org/"})], "request", 1),
    # JSON: one repair attempt.
    "not json, repaired": (["The score is 7.", GOOD], "", 2),
    "not json, twice": (["The score is 7.", "Really, 7."], "parse", 2),
    "json of another shape, repaired": (['{"grade": 7}', GOOD], "", 2),
    "json with a wrong type, twice": (['{"score": "7"}', '{"score": "seven"}'], "parse", 2),
    "fenced json": (["Here it is:\n```json\n" + GOOD + "\n```"], "", 1),
    "thinking before json": (['<think>First {"score": 1}, then</think>' + GOOD], "", 1),
    "thinking without its opening mark": (["Hmm, seven it is.</think>\n" + GOOD], "", 1),
    # Parameters that newer models refuse are left out, and that is remembered.
    "max_tokens refused": ([error(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", param="max_tokens"), GOOD], "", 2),
    "temperature refused": ([error(400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature"), GOOD], "", 2),
    "json_schema refused": ([error(400, "'response_format.type' must be 'text' or 'json_object'"), GOOD], "", 2),
    "json mode refused": ([error(400, "json_schema is not supported"), error(400, "json_object is not supported"), GOOD], "", 3),
    "thinking only with streaming": ([error(400, "parameter.enable_thinking must be set to false for non-streaming calls"), GOOD], "", 2),
}  # fmt: skip
