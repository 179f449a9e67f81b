"""Answers from the retrieved chunks: by a language model, or sentences of the chunks themselves."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import InputError, excerpt
from assay.llm import Request
from assay.llm.calls import Call
from assay.messages import say, word
from assay.pipeline.external import answer_of
from assay.pipeline.prompting import fill_prompt, load_prompt, number_passages
from assay.pipeline.records import Answered
from assay.pipeline.sources import prices, source_digest
from assay.pipeline.stages import Setup, at_least, load, method
from assay.pipeline.terms import query_words, words
from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.llm import Client
    from assay.llm.prompts import Prompt

_FATAL = {"key", "quota", "model", "budget"}


class Generator(Protocol):
    """Anything that answers a question from contexts."""

    identity: dict[str, Any]

    def answer(self, question: str, contexts: Sequence[str]) -> Answered:
        """One answer."""


@method("generate", "none")
def none(setup: Setup) -> None:
    """No answers."""
    del setup


@method("generate", "extractive")
def extractive(setup: Setup, *, sentences: int = 2) -> Generator:
    """The sentences of the chunks that have most of the question's rarer words: an answer without a language model."""
    del setup
    at_least("sentences", sentences, 1)
    return Extractive(sentences)


class Extractive:
    """Each sentence is chosen for the words of the question that those before it lack."""

    def __init__(self, count: int = 2) -> None:
        self._count = count
        self.identity = {"method": "extractive", "sentences": count}

    def answer(self, question: str, contexts: Sequence[str]) -> Answered:
        """Sentences in the order in which they were chosen."""
        texts = [text[start:end].strip() for text in contexts for start, end in sentences(text)]
        texts = list(dict.fromkeys(text for text in texts if text))
        bags = [set(words(text)) for text in texts]
        number = Counter(word for bag in bags for word in bag)
        wanted = {word: math.log(1 + len(texts) / number[word]) for word in set(query_words(question)) if number[word]}
        chosen: list[int] = []
        while wanted and len(chosen) < self._count:
            gains = [
                math.fsum(sorted(wanted[word] for word in bag & wanted.keys())) / math.log(10 + len(bag))
                for bag in bags
            ]
            best = max(range(len(texts)), key=lambda i: (gains[i], -i))
            if best in chosen or not gains[best]:
                break
            chosen.append(best)
            wanted = {word: weight for word, weight in wanted.items() if word not in bags[best]}
        if not chosen:
            return Answered(None, say("generate.no_words"))
        return Answered(" ".join(texts[i] for i in chosen))


@method("generate", "llm")
def llm(
    setup: Setup, *, url: str = "", model: str = "", prompt: str | None = None, max_tokens: int = 512,
    max_chars: int = 6000,
) -> Generator:  # fmt: skip
    """A language model that is shown the chunks; `prompt` is a file with $query and $passages."""
    at_least("max_tokens", max_tokens, 1)
    loaded = load_prompt("answer", setup.path(prompt) if prompt else None, ("query", "passages"))
    return LanguageModel(setup.client(url, model), loaded, (max_tokens, max_chars))


class LanguageModel:
    """One call per question."""

    def __init__(self, client: Client, prompt: Prompt, sizes: tuple[int, int]) -> None:
        self._client, self._prompt, self._sizes = client, prompt, sizes
        self.identity = {
            "method": "llm", "url": client.host, "model": client.model, "prompt": prompt.version, "sizes": list(sizes),
            "prices": prices(client),
        }  # fmt: skip

    def answer(self, question: str, contexts: Sequence[str]) -> Answered:
        """Ask."""
        tokens, chars = self._sizes
        messages = fill_prompt(self._prompt, query=question, passages=number_passages(contexts, chars))
        reply = self._client.complete(Request(messages, max_tokens=tokens, prompt_version=self._prompt.version))
        if not reply.ok and reply.reason in _FATAL:
            raise InputError(
                say(
                    "the language model failed ({reason}): {message}",
                    reason=word("call", reply.reason),
                    message=reply.message,
                )
            )
        used = reply.usage.prompt_tokens + reply.usage.completion_tokens
        money = self._client.price_of(reply)
        guessed = reply.usage.estimated
        return Answered(
            reply.text if reply.ok else None, reply.reason, tokens=used, money=money, estimated=guessed,
            money_estimated=guessed and bool(money), output_tokens=reply.usage.completion_tokens,
        )  # fmt: skip


class OwnGenerator:
    """A user's function of question and contexts."""

    def __init__(self, call: Any, name: str, params: Mapping[str, Any]) -> None:
        self._call, self._name, self._params = call, name, dict(params)
        self.identity = {"plugin": name, "source": source_digest(call, name), "parameters": self._params}

    def answer(self, question: str, contexts: Sequence[str]) -> Answered:
        """Call it."""
        found = self._call(question, list(contexts), **self._params)
        if not isinstance(found, str):
            raise InputError(say("{name} returned {found}, expected a text", name=self._name, found=excerpt(found)))
        return Answered(found)


def plugin_generator(text: str, setup: Setup, params: Mapping[str, Any]) -> Generator:
    """A user's own generator: module:callable, or an endpoint: POST {"question", "contexts"} -> {"answer"}."""
    if not text.startswith(("http://", "https://")):
        return OwnGenerator(load(text, setup.folder), text, params)
    client, sent = setup.endpoint(text, "generator", params)

    def ask(question: str, contexts: list[str], **rest: Any) -> Any:
        body = {"question": question, "contexts": contexts, **rest}
        return answer_of(client.call_many([Call("", "generator", body, lambda answer: answer.get("answer"))])[0])

    return OwnGenerator(ask, text, sent)
