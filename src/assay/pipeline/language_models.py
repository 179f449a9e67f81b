"""Language models as rerankers: one grade per text, or the order of many texts by a sliding window."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.llm import Request
from assay.messages import say, word
from assay.pipeline.prompting import fill_prompt, load_prompt, number_passages
from assay.pipeline.records import Scored, add_money
from assay.pipeline.sources import prices
from assay.pipeline.stages import Setup, at_least, method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.llm import Client, Reply
    from assay.llm.prompts import Prompt
    from assay.pipeline.rerankers import Reranker

_FATAL = {"key", "quota", "model", "budget"}
_GRADE = {
    "type": "object", "properties": {"grade": {"type": "integer", "minimum": 0, "maximum": 10}}, "required": ["grade"],
    "additionalProperties": False,
}  # fmt: skip


@method("rerank", "llm-pointwise")
def llm_pointwise(
    setup: Setup, *, url: str = "", model: str = "", prompt: str | None = None, max_chars: int = 4000
) -> Reranker:
    """A language model grades every text by itself, from 0 to 10; equal grades stay in the retriever's order."""
    at_least("max_chars", max_chars, 1)
    loaded = load_prompt("pointwise", setup.path(prompt) if prompt else None, ("query", "passage"))
    return Pointwise(setup.client(url, model), loaded, max_chars)


class Pointwise:
    """One call per text."""

    def __init__(self, client: Client, prompt: Prompt, max_chars: int) -> None:
        self._client, self._prompt, self._limit = client, prompt, max_chars
        self.identity = {
            "method": "llm-pointwise", "url": client.host, "model": client.model, "prompt": prompt.version,
            "max_chars": max_chars, "prices": prices(client),
        }  # fmt: skip

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """Grades; a text whose call failed has none."""
        scores: list[float | None] = [None] * len(texts)
        account = _Account(self._client)
        for number, reply in self._client.complete_many([self._request(query, text) for text in texts]):
            account.add(reply)
            if reply.ok:
                scores[number] = float(reply.data["grade"])
        return account.outcome(scores)

    def _request(self, query: str, text: str) -> Request:
        messages = fill_prompt(self._prompt, query=query, passage=text[: self._limit])
        return Request(messages, schema=_GRADE, max_tokens=64, prompt_version=self._prompt.version)


class _Account:
    """Adds up tokens, money and failures of the calls of one query."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tokens, self._written, self._calls = 0, 0, 0
        self._money: float | None = 0.0
        self._faults: Counter[str] = Counter()
        self._estimated = False

    def add(self, reply: Reply) -> None:
        if not reply.ok and reply.reason in _FATAL:
            raise InputError(
                say(
                    "the language model failed ({reason}): {message}",
                    reason=word("call", reply.reason),
                    message=reply.message,
                )
            )
        self._calls += 1
        self._tokens += reply.usage.prompt_tokens + reply.usage.completion_tokens
        self._written += reply.usage.completion_tokens
        self._money = add_money(self._money, self._client.price_of(reply))
        self._estimated |= reply.usage.estimated
        if not reply.ok:
            self._faults[reply.reason] += 1

    def outcome(self, scores: list[float | None]) -> Scored:
        if sum(self._faults.values()) == self._calls:  # without a reply there is no order
            scores = [None] * len(scores)
        priced = self._estimated and bool(self._money)
        return Scored(scores, self._tokens, self._money, dict(self._faults), self._estimated, priced, self._written)


@method("rerank", "llm-listwise")
def llm_listwise(
    setup: Setup, *, url: str = "", model: str = "", window: int = 20, step: int = 10, prompt: str | None = None,
    max_chars: int = 1200,
) -> Reranker:  # fmt: skip
    """A language model orders `window` texts at a time, from the end of the list to its start by `step` (RankGPT)."""
    at_least("window", window, 2)
    at_least("step", step, 1)
    if step >= window:
        raise InputError(say("step = {step}: expected less than window, which is {window}", step=step, window=window))
    loaded = load_prompt("listwise", setup.path(prompt) if prompt else None, ("query", "passages"))
    return Listwise(setup.client(url, model), loaded, (window, step, max_chars))


class Listwise:
    """Sun and others, EMNLP 2023: the best texts rise through overlapping windows."""

    def __init__(self, client: Client, prompt: Prompt, sizes: tuple[int, int, int]) -> None:
        self._client, self._prompt = client, prompt
        self._window, self._step, self._limit = sizes
        self.identity = {
            "method": "llm-listwise", "url": client.host, "model": client.model, "prompt": prompt.version,
            "sizes": list(sizes), "prices": prices(client),
        }  # fmt: skip

    def score(self, query: str, texts: Sequence[str]) -> Scored:
        """Scores that count down along the order; a window whose call failed keeps its order."""
        order = list(range(len(texts)))
        account = _Account(self._client)
        for start, end in windows(len(texts), self._window, self._step):
            chosen = order[start:end]
            reply = self._client.complete(self._request(query, [texts[i] for i in chosen]))
            account.add(reply)
            if reply.ok:
                order[start:end] = [chosen[i] for i in permutation(reply.data["order"], len(chosen))]
        scores: list[float | None] = [0.0] * len(texts)
        for place, number in enumerate(order):
            scores[number] = float(len(order) - place)
        return account.outcome(scores)

    def _request(self, query: str, texts: list[str]) -> Request:
        count = str(len(texts))
        messages = fill_prompt(self._prompt, query=query, passages=number_passages(texts, self._limit), count=count)
        items = {"type": "integer", "minimum": 1, "maximum": len(texts)}
        schema: dict[str, Any] = {
            "type": "object", "properties": {"order": {"type": "array", "items": items}}, "required": ["order"],
            "additionalProperties": False,
        }  # fmt: skip
        limit = 32 + 8 * len(texts)
        return Request(messages, schema=schema, max_tokens=limit, prompt_version=self._prompt.version)


def windows(count: int, window: int, step: int) -> list[tuple[int, int]]:
    """Windows over a list, the last first; the first one begins at the top."""
    found = []
    end = count
    while end > 0:
        start = max(0, end - window)
        found.append((start, end))
        if start == 0:
            break
        end -= step
    return found


def permutation(order: Sequence[int], count: int) -> list[int]:
    """Make a full order of what a model said: repeats are dropped, what it left out follows in the old order."""
    named = list(dict.fromkeys(number - 1 for number in order if 1 <= number <= count))
    return [*named, *(i for i in range(count) if i not in set(named))]
