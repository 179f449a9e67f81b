"""Judging (query, document) pairs: requests for them, and the verdicts that replies amount to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request
from assay.messages import say
from assay.results.judging import Vote

if TYPE_CHECKING:
    from assay.judge.rubric import Rubric
    from assay.llm.records import Reply, TokenLogprob

NEEDED = ("query", "document", "rubric", "mark")
_TOKENS = 400
_TOP = 5
_DIGITS = 20  # of a grade; Python refuses to read a number of more than 4,300


@dataclass(frozen=True)
class Pair:
    """A query and a document to be judged."""

    query_id: str
    doc_id: str
    query: str
    document: str


@dataclass(frozen=True)
class PairQuestion:
    """How pairs are asked about: prompt, rubric, the most characters of a document, and what to ask the server for."""

    prompt: Prompt
    rubric: Rubric
    max_chars: int = 20_000
    weighted: bool = False
    temperature: float | None = 0.0

    def request(self, pair: Pair, repeat: int = 0) -> Request:
        """Ask about a pair."""
        document = pair.document[: self.max_chars]
        values = {
            "query": pair.query,
            "document": document,
            "rubric": self.rubric.text,
            "mark": mark_for(self.prompt.version, pair.query, document),
            "low": str(self.rubric.low),
            "high": str(self.rubric.high),
        }
        return Request(
            self.prompt.messages(values),
            schema=self.rubric.schema,
            temperature=self.temperature,
            max_tokens=_TOKENS,
            logprobs=_TOP if self.weighted else None,
            prompt_version=self.prompt.version,
            repeat=repeat,
        )


def vote_of(reply: Reply, question: PairQuestion, judge: str, repeat: int) -> Vote:
    """Read a reply; a grade outside the rubric does not count."""
    if not reply.ok:
        return Vote(judge, repeat, "failed", reply.reason, None, reply.message)
    data = reply.data if isinstance(reply.data, dict) else {}
    grade, explanation = data.get("grade"), str(data.get("reason", ""))
    if isinstance(grade, bool) or not isinstance(grade, int) or grade not in question.rubric.grades:
        return Vote(judge, repeat, "failed", "parse", None, say("judged.outside", grade=repr(grade)))
    if question.weighted and reply.logprobs:
        mean = expected_grade(reply.logprobs, grade, question.rubric)
        if mean is not None:
            return Vote(judge, repeat, "scored", "", mean, explanation, weighted=True)
    return Vote(judge, repeat, "scored", "", float(grade), explanation)


def expected_grade(tokens: tuple[TokenLogprob, ...], grade: int, rubric: Rubric) -> float | None:
    """Mean of the grades that the judge considered, by their probabilities at the place where it wrote its grade.

    None where the grade is not a token of its own, as its alternatives are then not known.
    """
    place = None
    for i, token in enumerate(tokens):
        if token.token.strip() == str(grade):
            place = i  # the last one counts: it is the verdict, an earlier one may be quoted in the reason
    if place is None:
        return None
    options = {**tokens[place].top, tokens[place].token: tokens[place].logprob}
    weights: dict[int, float] = {}
    for text, logprob in options.items():
        value = text.strip()
        if value.isdecimal() and len(value) < _DIGITS and int(value) in rubric.grades:
            weights[int(value)] = weights.get(int(value), 0.0) + math.exp(logprob)
    total = math.fsum(weights.values())
    return math.fsum(value * weight for value, weight in weights.items()) / total if total else None
