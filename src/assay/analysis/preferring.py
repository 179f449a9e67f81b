"""Ask a model which of two systems' answers to a question is better, in both orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from assay.analysis.judging import bill_of, clients_of
from assay.errors import UsageError, excerpt
from assay.formats.samples import as_samples
from assay.judge.preference import NEEDED, PreferenceQuestion, place_of
from assay.judge.prompting import load_prompt
from assay.messages import say
from assay.results.judging import JudgingPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.samples import Sample
    from assay.llm.progress import Progress
    from assay.llm.records import Request
    from assay.messages import Lang
    from assay.results.judging import Bill


@dataclass(frozen=True)
class ModelPreferences:
    """What models said: a row for each question, two systems, order and model, as `preferences` takes them.

    Of comparisons of which one order `failed`, neither is in the rows: a single order would let the place decide.
    `unanswered` questions lack an answer of one of two systems.
    """

    rows: tuple[dict[str, str], ...]
    failed: int
    comparisons: int
    unanswered: int
    bills: Mapping[str, Bill]


@dataclass(frozen=True)
class _Comparison:
    question_id: str
    left: str
    right: str
    request: Request


def ask_preferences(
    systems: Mapping[str, Any],
    *,
    judge: Any,
    text_lang: Lang = "en",
    prompt: str = "preference",
    max_chars: int = 20_000,
    progress: Callable[[str, Progress], object] | None = None,
    deadline: float | None = None,
) -> ModelPreferences:
    """Ask models which of two systems' answers is better, about every two systems and question and in both orders.

    `systems` are the answers of each, by its name: samples, as `answers` takes them, of the same questions.

    >>> import assay, json
    >>> from assay.testing import seal_of
    >>> def first(messages): return json.dumps({"seal": seal_of(messages), "reason": "", "preferred": "first"})
    >>> old = [{"id": "1", "question": "When?", "answer": "In 1889."}]
    >>> new = [{"id": "1", "question": "When?", "answer": "It opened in 1889."}]
    >>> asked = assay.ask_preferences({"old": old, "new": new}, judge=first)
    >>> assay.preferences(asked.rows).pairs[0].inconsistent
    1
    """
    listed, unanswered = _comparisons(systems, text_lang, prompt, max_chars)
    rows: list[dict[str, str]] = []
    bills: dict[str, Bill] = {}
    failed = 0
    for name, client in clients_of(judge).items():
        last: list[Progress] = []
        show = None if progress is None else partial(progress, name)

        def note(now: Progress, last: list[Progress] = last, show: Any = show) -> None:
            last[:] = [now]
            if show is not None:
                show(now)

        found: dict[int, tuple[str | None, str]] = {}
        stream = client.complete_many(
            (one.request for one in listed), total=len(listed), progress=note, deadline=deadline
        )
        for number, reply in stream:
            data = reply.data if isinstance(reply.data, dict) else {}
            found[number] = place_of(reply), str(data.get("reason", ""))
        for at in range(0, len(listed), 2):
            if found[at][0] is None or found[at + 1][0] is None:
                failed += 1
                continue
            for number in (at, at + 1):
                one, (place, reason) = listed[number], found[number]
                rows.append(
                    {"question_id": one.question_id, "left": one.left, "right": one.right, "preferred": place or "",
                     "rater": name, "reason": reason}
                )  # fmt: skip
        bills[name] = bill_of(last[-1])
    comparisons = len(listed) // 2 * len(bills)
    return ModelPreferences(tuple(rows), failed, comparisons, unanswered, bills)


def estimate_preferences(
    systems: Mapping[str, Any],
    *,
    judge: Any,
    text_lang: Lang = "en",
    prompt: str = "preference",
    max_chars: int = 20_000,
) -> JudgingPlan:
    """Estimate what `ask_preferences` would cost with each model, without sending any request.

    >>> import assay
    >>> from assay.llm import Client
    >>> old, new = ([{"id": "1", "question": "When?", "answer": text}] for text in ("1889", "In 1889"))
    >>> with Client("http://127.0.0.1:9/v1", "any-model") as client:
    ...     plan = assay.estimate_preferences({"old": old, "new": new}, judge=client)
    >>> plan.pairs, plan.estimates["any-model"].calls
    (1, 2)
    """
    listed, _ = _comparisons(systems, text_lang, prompt, max_chars)
    found = {}
    for name, client in clients_of(judge).items():
        if not hasattr(client, "estimate"):
            raise UsageError(say("{name} cannot say what it would cost: give an assay.llm.Client", name=name))
        found[name] = client.estimate(one.request for one in listed)
    return JudgingPlan(len(listed) // 2, found)


def _comparisons(
    systems: Mapping[str, Any], text_lang: Lang, prompt: str, max_chars: int
) -> tuple[list[_Comparison], int]:
    """List every two systems and question in both orders, one after the other; and how many lack an answer."""
    if len(systems) < 2:  # noqa: PLR2004
        raise UsageError(say("preferences need the answers of two systems or more"))
    asking = PreferenceQuestion(load_prompt(prompt, text_lang, needed=NEEDED), max_chars)
    read = {name: {one.query_id: one for one in as_samples(data)} for name, data in systems.items()}
    found, lacking = [], 0
    for left, right in combinations(read, 2):
        for query in dict.fromkeys((*read[left], *read[right])):
            a, b = read[left].get(query), read[right].get(query)
            if a is None or b is None or not _has_answer(a) or not _has_answer(b):
                lacking += 1
                continue
            if a.question != b.question:
                raise UsageError(
                    say("question {query} has another text in {left} than in {right}",
                        query=excerpt(query), left=excerpt(left), right=excerpt(right))
                )  # fmt: skip
            text, one, other = a.conversation.strip(), a.answer or "", b.answer or ""
            found.append(_Comparison(query, left, right, asking.request(text, one, other)))
            found.append(_Comparison(query, right, left, asking.request(text, other, one)))
    if not found:
        raise UsageError(say("the systems have no question in common that both answered"))
    return found, lacking


def _has_answer(sample: Sample) -> bool:
    return bool((sample.answer or "").strip())
