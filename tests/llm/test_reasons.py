"""Why calls failed, in two languages."""

from __future__ import annotations

import re

import pytest

from assay.llm import REASONS, Client, Request
from assay.llm.records import Reply, failure, from_json, to_json
from assay.messages import Said, say, tell, word
from assay.testing import FakeLLM
from faults import FAULTS, IMPATIENT, SCHEMA

LASTING = [name for name, (_, reason, *_) in FAULTS.items() if reason not in {"", "refused"}]


@pytest.mark.parametrize("name", LASTING)
def test_why_a_call_failed_can_be_told_in_chinese(name):
    with FakeLLM(FAULTS[name][0]) as server, Client(server.url, "m", patience=IMPATIENT) as client:
        reply = client.complete(Request.asking("q", schema=SCHEMA))
    assert not reply.ok
    assert isinstance(reply.message, Said), reply.message
    assert tell(reply.message, "zh") != reply.message


@pytest.mark.parametrize("reason", [reason for reason in REASONS if reason])
def test_every_reason_has_a_word_in_both_languages(reason):
    assert word("call", reason) == reason
    assert re.search("[\u4e00-\u9fff]", tell(word("call", reason), "zh"))


def test_a_reason_that_is_not_ours_stays_as_it_is():
    assert word("call", "exit 3") == "exit 3"
    assert word("call", "") == ""


@pytest.mark.parametrize(
    ("kept", "chinese"),
    [
        (say("reply.no_text"), "回复没有正文"),
        ("no text", "回复没有正文"),  # as earlier versions kept it
        ("it contains no JSON object", "其中没有 JSON 对象"),
        ("grade is not one of [0, 1]", "grade is not one of [0, 1]"),
        ("", ""),
    ],
)
def test_what_a_cache_keeps_in_english_is_told_in_chinese_where_it_is_known(kept, chinese):
    found = from_json(to_json(failure("empty", kept)), "key")
    assert found is not None
    assert tell(found.message, "zh") == chinese


def test_a_cache_keeps_messages_as_plain_texts():
    assert '"message":"the answer has no text"' in to_json(Reply("failed", "empty", say("reply.no_text")))
