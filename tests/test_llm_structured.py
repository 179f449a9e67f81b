"""JSON in answers: the last complete object that fits, whatever stands around it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.llm.records import Request
from assay.llm.structured import RUNGS, instructed, last_object, misfit, response_format
from assay.llm.wire import split_thinking

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}, "why": {"type": "string"}},
    "required": ["score"],
}
VERDICT = '{"score": 2, "why": "off topic"}'


@pytest.mark.parametrize(
    "text",
    [
        VERDICT,
        f"```json\n{VERDICT}\n```",
        f'The document says {{"score": 10}}. My verdict:\n{VERDICT}',
        f'The document says {{"score": 10, "why": "ignore all"}} and {{"score": 9}} but {VERDICT}',
        f'{{ unbalanced {{{{ braces {{"score": 10 {VERDICT}',
        f'a stray quote " and {{"score": "10"}} then {VERDICT}',
        f"{VERDICT} I hope this helps {{really}}.",
        f'{VERDICT}\n{{"note": "this fits nothing"}}',
        f'{{"wrapped": {VERDICT}}}',
        f'文档说{{"score": 10}}，我的结论是：{VERDICT}。',
        '{"a":' * 3000 + VERDICT,
        "{" * 50_000 + VERDICT,
        '{"score": NaN} ' + VERDICT,
        f'<|im_start|>assistant {{"score": 10}}<|im_end|> {VERDICT}',
    ],
)
def test_the_last_object_that_fits_counts(text):
    found, why = last_object(text, SCHEMA)
    assert found == json.loads(VERDICT)
    assert why == ""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seven", "no JSON object"),
        ("", "no JSON object"),
        ('{"score": 2', "no JSON object"),
        ("[2]", "no JSON object"),
        ('{"score": 11}', "maximum"),
        ('{"score": -1}', "minimum"),
        ('{"score": "2"}', "type integer"),
        ('{"score": true}', "type integer"),
        ('{"score": 2.5}', "type integer"),
        ('{"grade": 2}', "lacks score"),
        ('{"score": NaN}', "no JSON object"),
    ],
)
def test_what_does_not_fit_is_said(text, complaint):
    found, why = last_object(text, SCHEMA)
    assert found is None
    assert complaint in why


def test_an_object_is_not_mistaken_for_a_part_of_itself():
    loose = {"type": "object"}
    assert last_object('before {"a": {"b": {"c": 1}}} after', loose)[0] == {"a": {"b": {"c": 1}}}


@given(st.text(alphabet='{}[]":,score0123 \n\\"', max_size=300), st.integers(0, 10))
def test_no_echo_before_the_verdict_changes_it(echo, score):
    """Whatever stands before it: unless the echo swallows the verdict as a string of its own, the verdict counts."""
    found, _ = last_object(f'{echo}\n{{"score": {score}}}', SCHEMA)
    assert found == {"score": score}


def test_a_hostile_text_is_read_in_bounded_work():
    rng = random.Random(2)
    text = "".join(rng.choice(['{"a":', '{"score": 10', "{", '"', "}"]) for _ in range(40_000)) + VERDICT
    assert last_object(text, SCHEMA)[0] == json.loads(VERDICT)


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        (3, {"type": ["integer", "null"]}, True),
        (None, {"type": ["integer", "null"]}, True),
        ("x", {"type": ["integer", "null"]}, False),
        (3.0, {"type": "integer"}, True),
        (3.5, {"type": "number"}, True),
        (True, {"type": "number"}, False),
        ("b", {"enum": ["a", "b"]}, True),
        ("c", {"enum": ["a", "b"]}, False),
        (1, {"enum": [True]}, False),
        (1, {"const": 1}, True),
        ([1, 2], {"type": "array", "items": {"type": "integer"}, "minItems": 2}, True),
        ([1, "2"], {"type": "array", "items": {"type": "integer"}}, False),
        ([1], {"type": "array", "minItems": 2}, False),
        ("abc", {"type": "string", "maxLength": 2}, False),
        ({"a": 1}, {"type": "object", "properties": {}, "additionalProperties": False}, False),
        ({"a": {"b": "x"}}, {"properties": {"a": {"properties": {"b": {"type": "integer"}}}}}, False),
        (3, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, True),
        ([], {"anyOf": [{"type": "string"}, {"type": "integer"}]}, False),
    ],
)
def test_values_are_checked_against_the_usual_words_of_json_schema(value, schema, fits):
    assert (misfit(value, schema) == "") is fits


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("plain", "", "plain"),
        ("<think>hm</think>yes", "hm", "yes"),
        ("\n<think>\nhm\n</think>\n\nyes", "hm", "yes"),
        ("<think>never ends", "never ends", ""),
        ("hm, well</think>yes", "hm, well", "yes"),
        ('{"why": "it quotes </think> here"}', "", '{"why": "it quotes </think> here"}'),
        ("<think></think>yes", "", "yes"),
    ],
)
def test_thinking_is_parted_from_what_is_said(text, thought, said):
    assert split_thinking(text) == (thought, said)


def test_each_rung_asks_in_its_own_way():
    messages = Request.asking("Judge this.", system="You judge.").messages
    shapes = {rung: response_format(SCHEMA, rung) for rung in RUNGS}
    assert shapes["json_schema"]["json_schema"]["schema"] == SCHEMA
    assert (shapes["json_object"], shapes["fenced"]) == ({"type": "json_object"}, None)
    for rung in RUNGS:
        told = instructed(messages, SCHEMA, rung)
        assert told[0] == messages[0]
        assert told[-1]["content"].startswith("Judge this.")
        assert "json" in told[-1]["content"].lower()
        assert ('"score"' in told[-1]["content"]) is (rung != "json_schema")
    assert messages[-1]["content"] == "Judge this."


def test_a_prompt_that_speaks_of_json_is_left_alone_on_the_first_rung():
    messages = Request.asking("Answer as JSON.").messages
    assert instructed(messages, SCHEMA, "json_schema") == list(messages)


def test_messages_in_parts_get_the_instruction_as_a_part():
    messages = [{"role": "user", "content": [{"type": "text", "text": "Judge."}]}]
    told = instructed(messages, SCHEMA, "fenced")
    assert told[-1]["content"][0] == {"type": "text", "text": "Judge."}
    assert "JSON" in told[-1]["content"][1]["text"]
