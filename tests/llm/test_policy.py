"""How a kind of failure is recognised: codes of several vendors, waits in several forms, parameters named in words."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from assay.llm.hosts import LOCAL, OTHER, VENDORS, Address
from assay.llm.policy import Complaint, adapt, complaint_of, kind_of, retry_after
from assay.llm.records import Request
from assay.llm.wire import Traits, chat_body

DASHSCOPE = next(vendor for vendor in VENDORS if vendor.name == "dashscope")
OPENAI = next(vendor for vendor in VENDORS if vendor.name == "openai")


@pytest.mark.parametrize(
    ("status", "answer", "vendor", "kind"),
    [
        # DashScope: what its page of error codes says
        (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota, please check your plan"}}, DASHSCOPE, "throttled"),
        (429, {"code": "Throttling.AllocationQuota", "message": "Allocated quota exceeded, please increase your quota limit."}, DASHSCOPE, "throttled"),
        (429, {"code": "Throttling.AllocationQuota", "message": "Free allocated quota exceeded."}, DASHSCOPE, "quota"),
        (429, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later."}, DASHSCOPE, "throttled"),
        (429, {"error": {"code": "limit_requests", "message": "You exceeded your current requests list."}}, DASHSCOPE, "throttled"),
        (429, {"code": "Throttling.BurstRate", "message": "Request rate increased too quickly"}, DASHSCOPE, "throttled"),
        (429, {"code": "PrepaidBillOverdue", "message": "The prepaid bill is overdue."}, DASHSCOPE, "quota"),
        (429, {"code": "CommodityNotPurchased", "message": "Commodity has not purchased yet."}, DASHSCOPE, "quota"),
        (400, {"error": {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}}, DASHSCOPE, "quota"),
        (403, {"error": {"code": "AllocationQuota.FreeTierOnly", "message": "free tier exhausted"}}, DASHSCOPE, "quota"),
        (403, {"error": {"code": "AccessDenied.Unpurchased", "message": "Access to model denied."}}, DASHSCOPE, "quota"),
        (400, {"error": {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}}, DASHSCOPE, "filtered"),
        (400, {"code": "CustomRoleBlocked", "message": "blocked by custom rule"}, DASHSCOPE, "filtered"),
        (401, {"error": {"code": "invalid_api_key", "message": "Incorrect API key provided."}}, DASHSCOPE, "key"),
        (404, {"error": {"code": "model_not_found", "message": "The model does not exist"}}, DASHSCOPE, "model"),
        (500, {"code": "InternalError.Timeout", "message": "timeout"}, DASHSCOPE, "server"),
        (503, {"code": "ModelUnavailable", "message": "Model is unavailable, please try again later."}, DASHSCOPE, "server"),
        (400, {"error": {"message": "Range of input length should be [1, 129024]"}}, DASHSCOPE, "too_long"),
        # elsewhere insufficient_quota is final
        (429, {"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}}, OPENAI, "quota"),
        (429, {"error": {"type": "requests", "code": "rate_limit_exceeded", "message": "Rate limit reached"}}, OPENAI, "throttled"),
        (400, {"error": {"code": "content_policy_violation", "message": "x"}}, OPENAI, "filtered"),
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, OPENAI, "too_long"),
        (402, {"error": {"message": "Insufficient Balance"}}, OTHER, "quota"),
        (403, {"error": {"code": "insufficient_user_quota", "message": "x"}}, OTHER, "quota"),
        (429, [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded per minute"}}], OTHER, "throttled"),
        (529, {"error": {"type": "overloaded_error"}}, OTHER, "server"),
        (520, None, OTHER, "server"),
        # llama.cpp
        (501, {"error": {"code": 501, "message": "This server does not support embeddings.", "type": "not_supported_error"}}, LOCAL, "request"),
        (400, {"error": {"code": 400, "message": "request (6031 tokens) exceeds the available context size (2048 tokens)", "type": "exceed_context_size_error"}}, LOCAL, "too_long"),
        (400, {"object": "error", "message": "max_tokens must be at least 1"}, LOCAL, "unsupported"),
        (422, {"detail": "bad"}, LOCAL, "unsupported"),
        (418, {}, LOCAL, "request"),
        (200, {"error": {"code": 401, "message": "no"}}, LOCAL, "key"),
        (200, {"error": {"code": "data_inspection_failed", "message": "no"}}, DASHSCOPE, "filtered"),
        (200, {"error": "overloaded"}, LOCAL, "server"),
    ],
)  # fmt: skip
def test_a_failure_is_known_by_its_code_and_its_status(status, answer, vendor, kind):
    assert kind_of(status, complaint_of(answer) or Complaint(), vendor) == kind


@pytest.mark.parametrize(
    "answer", [{"choices": []}, {"data": []}, {"choices": [], "error": None}, {}, None, "text", []]
)
def test_what_is_no_error_is_none(answer):
    assert complaint_of(answer) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "in a while"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 00:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_all_its_forms(headers, seconds):
    assert retry_after(headers, now=1_000_000.0) == seconds


def body_of(**options):
    return chat_body(Request.asking("x", **options), "m", vendor=LOCAL, traits=Traits(), seal="")


def test_a_complaint_about_a_parameter_drops_it():
    body = body_of(temperature=0.3, logprobs=5, seed=1, stop=["a"], top_p=0.5)
    said = {
        "temperature": Complaint(message="temperature is deprecated for this model"),
        "top_p": Complaint(message="Unrecognized request argument supplied: top_p"),
        "seed": Complaint(param="seed", message="unknown"),
        "stop": Complaint(message="Unsupported parameter: 'stop' is not supported"),
    }
    for name, complaint in said.items():
        assert adapt(Traits(), complaint, body).dropped == {name}
    both = adapt(Traits(), Complaint(message="top_logprobs must be in [0, 5]"), body).dropped
    assert both == {"logprobs", "top_logprobs"}


def test_everyday_words_and_what_is_not_sent_are_not_taken_for_parameters():
    body = body_of(seed=1, stop=["a"])
    assert adapt(Traits(), Complaint(message="please stop; we seed the rest"), body) is None
    assert adapt(Traits(), Complaint(message="'top_p' is not supported"), body) is None
    assert adapt(Traits(), Complaint(message="max_tokens is too large: 9. This model supports at most 4"), body) is None


def test_dashscope_gets_what_it_understands():
    request = Request.asking("x", logprobs=20, thinking=False)
    assert chat_body(request, "m", vendor=DASHSCOPE, traits=Traits(), seal="")["top_logprobs"] == 5
    assert chat_body(request, "m", vendor=DASHSCOPE, traits=Traits(), seal="")["enable_thinking"] is False
    assert chat_body(request, "m", vendor=OPENAI, traits=Traits(), seal="")["top_logprobs"] == 20
    assert "enable_thinking" not in chat_body(request, "m", vendor=OPENAI, traits=Traits(), seal="")
    local = chat_body(request, "m", vendor=LOCAL, traits=Traits(), seal="")
    assert local["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1/", "dashscope"),
        ("https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://ws1.cn-beijing.maas.aliyuncs.com/compatible-mode/v1", "dashscope"),
        ("https://API.openai.com/v1", "openai"),
        ("https://api.openai.com.evil.example/v1", ""),
        ("http://localhost:8000/v1", "local"),
        ("http://127.0.0.2:8000/v1", "local"),
        ("http://[::1]:8000/v1", "local"),
        ("http://10.0.0.1:8000/v1", ""),
    ],
)
def test_hosts_are_known_by_their_names(url, name):
    assert Address.of(url).vendor.name == name


def test_the_address_of_a_call_may_be_given_in_full():
    assert Address.of("https://h/v1/chat/completions").url == "https://h:443/v1"
