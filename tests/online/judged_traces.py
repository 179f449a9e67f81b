"""Traces of an hour whose answers a judge looks at: some of them invent something."""

from __future__ import annotations

import json
import re

from assay.testing import Answer
from otlp import rag, write


def judge(received):
    """Supports what the contexts say, and nothing else; every call takes the same tokens."""
    statements = re.findall(
        r"^\[statement (\d+) \w{16}\]\n(.*?)\n\[end of statement", received.text, re.MULTILINE | re.DOTALL
    )
    verdicts = {
        number: {
            "reason": "so",
            "verdict": "yes" if "1889" in text else "no",
            "contexts": [1] if "1889" in text else [],
        }
        for number, text in statements
    }
    return Answer(json.dumps(verdicts), usage={"prompt_tokens": 500, "completion_tokens": 50})


def make_traces(place, count=60):
    """One hour of requests; one answer in six invents something."""
    spans = []
    for number in range(1, count + 1):
        invented = number % 6 == 0
        answer = (
            f"It was moved to Berlin by train number {number}." if invented else f"In 1889, it is said by {number}."
        )
        spans += rag(
            number, begin=number * 3000.0 / count, answer=answer, question=f"Question {number}?", user=f"u{number}"
        )
    return write(place, *spans)
