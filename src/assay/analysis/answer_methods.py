"""Judge each sample by the first method of a given order that works; the next one takes over when a method fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UsageError
from assay.grounding.agreement import ORDERS
from assay.grounding.case import Case
from assay.grounding.embedding import relevance_by_embedding
from assay.grounding.matrix import JudgeMatrix
from assay.grounding.preparing import sample_for
from assay.grounding.record import Blank, Grade
from assay.grounding.words import by_words, relevance_by_words
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.protocol import AnswerMethod
    from assay.data.samples import Sample
    from assay.judge.answers import AnswerJudge, Replies
    from assay.results.support import Method, Support
    from assay.text.embeddings import Embedder, EmbedderChoice

_KEPT = 50_000  # texts whose vectors are kept


@dataclass(frozen=True)
class Available:
    """The methods that can be used, and why others cannot."""

    judge: AnswerJudge | None
    embeddings: EmbedderChoice | None
    notes: tuple[str, ...] = ()

    def chain(self, asked: AnswerMethod) -> tuple[Method, ...]:
        """The methods to try in order; a method that the user named is the only one tried."""
        if asked in ORDERS:
            here = {"llm": self.judge is not None, "embedding": self.embeddings is not None, "words": True}
            return tuple(method for method in ORDERS[asked] if here[method])
        if asked == "llm" and self.judge is None:
            raise UsageError(say("the method llm needs a judge: --judge MODEL with --url (in Python: judge=client)"))
        if asked == "embedding" and self.embeddings is None:
            raise UsageError(self.notes[0] if self.notes else say("there are no embeddings"))
        return (asked,)  # type: ignore[return-value]


def is_order(asked: str) -> bool:
    """Return whether more than one method may judge."""
    return asked in ORDERS


def words_first(asked: str) -> bool:
    """Return whether embeddings are used only for what words cannot judge."""
    order = ORDERS.get(asked, ())
    return "embedding" in order and order.index("words") < order.index("embedding")


def choose_embeddings(
    asked: Any, texts: Sequence[str], *, needed: bool
) -> tuple[EmbedderChoice | None, tuple[str, ...]]:
    """Choose the embedder; if there is none and the user named none, the next method takes over."""
    from assay.text.embeddings import choose_embedder

    try:
        found = choose_embedder(asked, texts)
    except UsageError as error:
        if needed or (asked is not None and asked != "auto"):
            raise
        return None, (error.message,)
    return found, (found.note,)


def judge_samples(
    samples: Sequence[Sample], chain: Sequence[Method], here: Available, replies: Replies | None = None
) -> list[Case]:
    """Judge every sample by the first method of the chain that does not fail on it; `replies` are those of the judge.

    A judge always comes first: all samples were already sent to it.
    """
    found: list[Case | None] = [None] * len(samples)
    left = list(range(len(samples)))
    for method in chain:
        failed = []
        asked = [samples[place] for place in left]
        for place, case in zip(left, _judge_by(method, asked, here, replies, last=method == chain[-1]), strict=True):
            failed += [place] if case.trail and _can_be_saved(case.sample) else []
            found[place] = _carry_over(found[place], case)
        if failed and not any(_was_judged(found[place]) for place in set(left).difference(failed)):
            failed = [place for place in left if _can_be_saved(samples[place])]  # the rest was settled by rules
        left = failed
    cases = [case for case in found if case is not None]
    for case in cases:
        for method in chain[chain.index(case.method) + 1 :]:
            case.add_grader(method, _grader(method, here))
    return cases


def _can_be_saved(sample: Sample) -> bool:
    """Return whether another method could succeed: not if the sample itself cannot be read."""
    return not {"answer", "contexts"}.intersection(sample.faults)


def _was_judged(case: Case | None) -> bool:
    """Return whether a method judged the answer: refusals and answers without contexts are decided by rule."""
    if case is None:
        return False
    return (bool(case.sample.contexts) and case.support.status == "scored") or case.has_judged("nuggets")


def _carry_over(before: Case | None, case: Case) -> Case:
    """Copy into a case why earlier methods failed and which grades they gave."""
    if before is None:
        return case
    case.trail = (*before.trail, *case.trail)
    case.take_over_grades(before)
    return case


def _judge_by(
    method: Method, samples: Sequence[Sample], here: Available, replies: Replies | None, *, last: bool
) -> list[Case]:
    if not samples:
        return []
    embedder = None if here.embeddings is None else CachingEmbedder(here.embeddings.embedder)
    if method == "embedding":
        assert embedder is not None
        return _judge_by_embedding(samples, embedder)
    if method == "llm":
        assert here.judge is not None and replies is not None
        cases = here.judge.cases(samples, replies)
    else:
        cases = [_by_words(sample, last=last) for sample in samples]
    for case in cases if embedder is not None else ():
        case.embedder = embedder
    return cases


def _by_words(sample: Sample, *, last: bool) -> Case:
    """Judge an answer by its words, when they are needed; immediately if another method can take over.

    Words fail on a sample that is too long to be compared. A low value is not a failure.
    """
    case = Case(sample, "words", judge=by_words, relevance=relevance_by_words)
    if not last and case.support.status == "failed":
        case.trail = (say("blank.fault", field="words", fault=case.support.reason),)
    return case


def _grader(method: Method, here: Available) -> Callable[[Sample], Grade]:
    """The function that grades relevance for a fallback method; never a judge, which always comes first."""
    if method == "words":
        return relevance_by_words
    assert here.embeddings is not None
    return _relevance(here.embeddings.embedder)


class CachingEmbedder:
    """An embedder that embeds each text only once, as measures use the same sentences repeatedly."""

    def __init__(self, inner: Embedder) -> None:
        self._inner, self.name = inner, inner.name
        self._kept: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """One row per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if len(self._kept) + len(new) > _KEPT:
            self._kept, new = {}, list(dict.fromkeys(texts))
        if new:
            self._kept |= zip(new, self._inner.embed(new), strict=True)
        return [self._kept[text] for text in texts]


def _judge_by_embedding(samples: Sequence[Sample], embedder: Embedder) -> list[Case]:
    """Judge answers by embeddings, in batches; if the embedder fails, every sample fails."""
    from assay.grounding.embedding import by_embedding

    ready = [sample_for(sample, "answer") for sample in samples]
    plain = [sample for sample in ready if not isinstance(sample, Blank)]
    try:
        supports = by_embedding(plain, embedder)
    except Exception as error:  # noqa: BLE001 - a user's embedder may raise anything; the next method takes over
        return [Case(sample, "embedding", trail=(_failure(error),)) for sample in samples]
    one = _single_judge(embedder)
    return [
        Case(
            sample,
            "embedding",
            matrices={"answer": JudgeMatrix(asked, support, one)},
            judge=one,
            relevance=_relevance(embedder),
            embedder=embedder,
            trail=(_prefix_reason(support.reason),) if support.status == "failed" else (),
        )
        for sample, asked, support in zip(samples, plain, supports, strict=True)
    ]


def _prefix_reason(reason: str) -> str:
    return reason if reason.startswith("embedding: ") else say("blank.fault", field="embedding", fault=reason)


def _failure(error: Exception) -> str:
    """Return why an embedder failed: its own message, else that of the exception."""
    why = error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
    return say("blank.fault", field="embedding", fault=why)


def _single_judge(embedder: Embedder) -> Callable[[Sample], Support]:
    from assay.grounding.embedding import by_embedding

    def judge(sample: Sample) -> Support:
        try:
            return by_embedding([sample], embedder)[0]
        except Exception as error:  # noqa: BLE001 - a user's embedder may raise anything
            return replace(by_words(sample), method="embedding", status="failed", reason=_failure(error))

    return judge


def _relevance(embedder: Embedder) -> Callable[[Sample], Grade]:
    def grade(sample: Sample) -> Grade:
        try:
            return relevance_by_embedding(sample, embedder)
        except Exception as error:  # noqa: BLE001 - a user's embedder may raise anything
            return Grade(None, _failure(error))

    return grade
