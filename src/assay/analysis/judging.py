"""Judgments by a language model: which pairs to judge, what it would cost, and the verdicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.formats.conversion import as_judgments
from assay.formats.documents import read_documents, read_drawn, read_pairs
from assay.formats.queries import Queries, read_queries
from assay.judge import panel, pooling
from assay.judge.prompting import load_prompt
from assay.judge.relevance import NEEDED, Pair, Question
from assay.judge.rubric import load_rubric
from assay.llm.adapters import as_client
from assay.messages import say
from assay.results.judging import Bill, DrawnPair, Judging, JudgingPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from assay.judge.panel import Combine
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.messages import Lang

Place = str | os.PathLike[str]
Texts = Mapping[str, str] | Place


def choose_pairs(
    pairs: Iterable[Any] | Place, *, queries: Texts | Queries | None = None, documents: Texts | None = None,
    known: Any = None,
) -> list[Pair]:  # fmt: skip
    """Collect the pairs to judge with their texts, without those that have a grade already."""
    found = _with_texts(pairs, queries, documents)
    done = {(one.query_id, one.doc_id) for one in _drawn(pairs) if one.grade is not None}
    found = [pair for pair in found if (pair.query_id, pair.doc_id) not in done]
    if known is not None:
        judged = as_judgments(known)
        found = [pair for pair in found if not pooling.is_judged(judged, pair.query_id, pair.doc_id)]
    if not found:
        raise UsageError(say("there is nothing to judge"))
    return found


def _drawn(pairs: Iterable[Any] | Place) -> tuple[DrawnPair, ...]:
    """The pairs of a file that is a sample."""
    return tuple(DrawnPair(*row) for row in read_drawn(pairs)) if isinstance(pairs, (str, os.PathLike)) else ()


def _with_texts(pairs: Iterable[Any] | Place, queries: Texts | Queries | None, documents: Texts | None) -> list[Pair]:
    if isinstance(pairs, (str, os.PathLike)):
        return [Pair(*row) for row in read_pairs(pairs)]
    given = list(pairs)
    if all(isinstance(pair, Pair) for pair in given):
        return given
    if queries is None or documents is None:
        raise UsageError(say("pairs of ids need texts: give queries and documents, as {{id: text}} or as files"))
    asked = read_queries(queries) if isinstance(queries, (str, os.PathLike)) else queries
    texts = asked.texts() if isinstance(asked, Queries) else asked
    read = read_documents(documents) if isinstance(documents, (str, os.PathLike)) else documents
    return pooling.pairs_of(given, texts, read)


def judge_pairs(
    pairs: Iterable[Any] | Place,
    *,
    judge: Any,
    queries: Texts | Queries | None = None,
    documents: Texts | None = None,
    known: Any = None,
    sample: Place | None = None,
    scale: str = "0-3",
    text_lang: Lang = "en",
    prompt: str = "relevance",
    repeats: int = 1,
    combine: Combine = "vote",
    weighted: bool = False,
    max_chars: int = 20_000,
    progress: Callable[[str, Progress], object] | None = None,
    deadline: float | None = None,
) -> Judging:
    """Let language models grade pairs of queries and documents; a failed call fails its pair and nothing else.

    `pairs` are those of `pool` (with `queries` and `documents`, their texts by id or files of them), `assay.judge`'s
    `Pair`, or a file. `judge` is a client, a function from messages to text, or several as a list or {name: client}.
    `known` are judgments whose pairs are not judged again, `sample` is the list that the pairs were drawn for, if that
    is another one. `scale` is 0-1, 0-2, 0-3, 0-10 or a file with a rubric,
    `prompt` a file with one of your own. Each judge is asked `repeats` times, and votes are combined by majority
    ("vote") or "mean"; `weighted` grades are means of those that a judge considered. `progress` is called with the name
    of a judge and its progress; `deadline` are seconds for everything.

    >>> import assay
    >>> from assay.llm import Client
    >>> from assay.testing import FakeLLM
    >>> pairs, texts = assay.pool([{"q": {"d": 1.0}}]), {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}
    >>> with FakeLLM('{"reason": "on the point", "grade": 3}') as server, Client(server.url, "any-model") as client:
    ...     found = assay.judge_pairs(pairs, judge=client, **texts)
    >>> found.to_judgments().to_dict()
    {'q': {'d': 3.0}}
    """
    chosen = choose_pairs(pairs, queries=queries, documents=documents, known=known)
    question = _question(scale, text_lang, prompt, repeats, max_chars, weighted=weighted)
    judges = _judges(judge)
    last: dict[str, Progress] = {}

    def note(name: str, now: Progress) -> None:
        last[name] = now
        if progress is not None:
            progress(name, now)

    found = panel.judge(
        chosen, judges, question, repeats=repeats, progress=note, deadline=deadline,
        combine="mean" if weighted else combine,  # weighted grades are hardly ever equal
    )  # fmt: skip
    return Judging(
        judge=_name(question, list(judges), repeats, combine),
        verdicts=tuple(found),
        bills={name: _bill(now) for name, now in last.items()},
        max_chars=max_chars,
        cut=sum(len(pair.document) > max_chars for pair in chosen),
        drawn=_drawn(pairs if sample is None else sample),
    )


def estimate_judging(
    pairs: Iterable[Any] | Place,
    *,
    judge: Any,
    queries: Texts | Queries | None = None,
    documents: Texts | None = None,
    known: Any = None,
    scale: str = "0-3",
    text_lang: Lang = "en",
    prompt: str = "relevance",
    repeats: int = 1,
    weighted: bool = False,
    max_chars: int = 20_000,
) -> JudgingPlan:
    """Estimate what `judge_pairs` would cost with each judge, without sending any request.

    >>> import assay
    >>> from assay.llm import Client
    >>> texts = {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}
    >>> with Client("http://127.0.0.1:9/v1", "any-model") as client:
    ...     plan = assay.estimate_judging([("q", "d")], judge=client, **texts)
    >>> plan.estimates["any-model"].calls
    1
    """
    chosen = choose_pairs(pairs, queries=queries, documents=documents, known=known)
    question = _question(scale, text_lang, prompt, repeats, max_chars, weighted=weighted)
    found = {}
    for name, client in _judges(judge).items():
        if not hasattr(client, "estimate"):
            raise UsageError(say("{name} cannot say what it would cost: give an assay.llm.Client", name=name))
        found[name] = client.estimate(question.request(pair, repeat) for pair in chosen for repeat in range(repeats))
    return JudgingPlan(len(chosen), found)


def _question(scale: str, text_lang: Lang, prompt: str, repeats: int, max_chars: int, *, weighted: bool) -> Question:
    # Repeating a question at temperature 0 would only repeat the answer.
    temperature = 0.0 if repeats == 1 else 1.0
    loaded = load_prompt(prompt, text_lang, needed=NEEDED)
    return Question(loaded, load_rubric(scale, text_lang), max_chars, weighted=weighted, temperature=temperature)


def _judges(given: Any) -> dict[str, Completes]:
    """Clients by name: as given, or by their models."""
    if isinstance(given, Mapping):
        return {str(name): as_client(one) for name, one in given.items()}
    listed = given if isinstance(given, (list, tuple)) else [given]
    found = {str(getattr(one, "model", "") or getattr(one, "__name__", "judge")): as_client(one) for one in listed}
    if len(found) < len(listed):
        raise UsageError(
            say("two judges have the same name: give them as {{name: client}}; to ask one several times, use repeats")
        )
    return found


def _name(question: Question, judges: Sequence[str], repeats: int, combine: Combine) -> str:
    """Name the judge: what must be the same for its grades to be comparable."""
    how = f", {repeats} x {combine}" if repeats > 1 or len(judges) > 1 else ""
    weighted = ", weighted" if question.weighted else ""
    return f"{' + '.join(judges)} ({question.prompt.version}, scale {question.rubric.name}{how}{weighted})"


def _bill(now: Progress) -> Bill:
    return Bill(
        now.calls, now.cached, now.prompt_tokens, now.completion_tokens, now.cost, now.possible_cost, now.currency,
        now.unpriced, now.estimated,
    )  # fmt: skip
