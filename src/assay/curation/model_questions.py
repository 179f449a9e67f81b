"""Questions written by a language model, of which nothing is believed that cannot be checked.

Passages are drawn by stratum and tried in rounds. What the model writes passes filters from cheap to expensive: its
format, its language, its evidence, its wording, whether it is new; then the judge is asked whether the passages answer
it, whether it can be answered without them, and which other passages answer it. Every attempt becomes a question or
falls at one filter. Which requests are sent follows from the documents, the seed and the replies, so that a run that is
repeated finds all its replies in the cache.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from assay.curation.drawing import digest_of, survey
from assay.curation.passage_index import PassageIndex
from assay.curation.question_briefs import Plan, make_plan
from assay.curation.question_calls import NO_ANSWER, Asker, prompt_lang, read_passages, read_written
from assay.curation.question_checks import (
    LONGEST_REFERENCE,
    KnownQuestions,
    compare_wording,
    is_in_language,
    is_malformed,
    mentions_passage,
)
from assay.curation.quotes import find_all, find_quote
from assay.curation.topics import find_topics
from assay.messages import Said, say, word
from assay.results.judging import Bill
from assay.results.questions import GoldPlace, Question, QuestionFilter, QuestionSet, QuestionStratum
from assay.text.refusals import is_refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.curation.collection import Opener, ProgressCallback
    from assay.curation.drawing import Survey
    from assay.curation.passages import Passage
    from assay.curation.question_briefs import AttemptPlace, Wishes
    from assay.curation.question_calls import Brief, PassageVerdict
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.llm.records import Reply, Request
    from assay.results.questions import Category

FILTERS = (
    "call", "unsuitable", "format", "mentions", "language", "evidence", "copied", "duplicate", "not_answered",
    "reference", "known", "one_passage", "ambiguous", "answered",
)  # fmt: skip
STEPS = ("write", "answerable", "closed_book", "same", "others")
_STOPPING = ("budget", "quota", "key", "model", "deadline", "cancelled")  # reasons that hold for every further call
_UNREADABLE = {"parse", "truncated", "empty", "refused", "filtered", "too_long"}
_HOPELESS = 20  # attempts after which something must have been kept
_OTHERS = 5  # further passages that may answer a question; with more, it asks for nothing in particular
_CANDIDATES, _LEAST_CANDIDATES = 10, 500  # passages that are grouped by topic: so many for each question, and in all


@dataclass(eq=False)
class Attempt:
    """One attempt at a question, and at which filter it fell."""

    place: AttemptPlace
    brief: Brief | None
    category: Category
    text: str = ""
    reference: str = ""
    gold: list[GoldPlace] = field(default_factory=list)
    others: list[Passage] = field(default_factory=list)
    fell: str = ""

    @property
    def asker(self) -> Asker:
        """The prompts in the language of the question."""
        assert self.brief is not None
        return Asker(prompt_lang(self.brief))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages that it is made from."""
        return () if self.brief is None else self.brief.passages


@dataclass
class ModelCalls:
    """The model, what was spent on it, and what it takes to know whether to go on."""

    client: Completes
    tell: ProgressCallback
    end: float | None
    last: list[Progress] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    served: set[str] = field(default_factory=set)
    stopped: str = ""

    def ask(
        self, step: str, asked: Sequence[tuple[Attempt, Sequence[Request]]]
    ) -> Iterator[tuple[Attempt, list[Reply]]]:
        """Send the requests of some attempts; those whose calls fail fall, the others come with their replies."""
        requests = [request for _, mine in asked for request in mine]
        replies: dict[int, Reply] = {}
        left = None if self.end is None else max(self.end - time.monotonic(), 0.001)
        progress: list[Progress] = []

        def show(now: Progress) -> None:
            progress[:] = [now]
            self.tell(say(f"questions.step.{step}"), now.done, len(requests))

        if requests:
            replies = dict(self.client.complete_many(requests, total=len(requests), progress=show, deadline=left))
        self.last += progress
        at = 0
        for attempt, mine in asked:
            own = [replies[place] for place in range(at, at + len(mine))]
            at += len(mine)
            self.served.update(reply.model for reply in own if reply.ok and reply.model)
            failed = next((reply for reply in own if not reply.ok), None)
            if failed is None:
                yield attempt, own
            else:
                self._note(attempt, failed)

    def _note(self, attempt: Attempt, reply: Reply) -> None:
        attempt.fell = "format" if reply.reason in _UNREADABLE else "call"
        self.reasons[reply.reason] += 1
        if reply.reason in _STOPPING:
            self.stopped = self.stopped or reply.reason

    def bill(self) -> Bill | None:
        """What all calls took together."""
        if not self.last:
            return None
        parts = self.last
        return Bill(
            sum(one.calls for one in parts), sum(one.cached for one in parts),
            sum(one.prompt_tokens for one in parts), sum(one.completion_tokens for one in parts),
            sum(one.cost for one in parts), sum(one.possible_cost for one in parts), parts[-1].currency,
            sum(one.unpriced for one in parts), sum(one.estimated for one in parts),
        )  # fmt: skip


def prepare(
    documents: Opener, n: int, wishes: Wishes, seed: int, tell: ProgressCallback
) -> tuple[Plan, PassageIndex, str]:
    """Read a collection, index its passages, group them by topic and plan the attempts; and what topics came from."""
    found = survey(documents, max(_CANDIDATES * n, _LEAST_CANDIDATES), seed, tell)
    index = PassageIndex(documents, tell)
    topics = find_topics([one.passage.text for one in found.order], seed, partial(tell, say("questions.grouping")))
    return make_plan(found, topics.names, wishes, n, seed), index, topics.by


def make_model_questions(
    documents: Opener,
    n: int,
    *,
    client: Completes,
    wishes: Wishes,
    seed: int,
    tell: ProgressCallback,
    deadline: float | None = None,
) -> QuestionSet:
    """Make n questions with a language model; the passages of all documents are kept in memory."""
    plan, index, topics = prepare(documents, n, wishes, seed, tell)
    work = ModelCalls(client, tell, None if deadline is None else time.monotonic() + deadline)
    known = KnownQuestions(wishes.seeds)
    attempts: list[Attempt] = []
    places = {category: plan.places(category) for category in plan.quotas}
    while not work.stopped:
        missing = dict(plan.quotas)
        for one in attempts:
            missing[one.category] -= not one.fell
        batch = [
            Attempt(place, plan.brief(place, category, index), category)
            for category, stream in places.items()
            for _, place in zip(range(missing[category]), stream, strict=False)
        ]
        if not batch or (len(attempts) >= _HOPELESS and all(one.fell for one in attempts)):
            break
        attempts += sorted(batch, key=lambda one: (one.place.number, one.category))
        _try(attempts[-len(batch) :], work, index, known, wishes)
    return _record(attempts, work, plan, index, topics)


def _try(
    batch: Sequence[Attempt], work: ModelCalls, index: PassageIndex, known: KnownQuestions, wishes: Wishes
) -> None:
    """Put a round of attempts through all filters."""
    _write(batch, work)
    for one in _alive(batch):
        one.fell = check_text(one, known)
        if not one.fell:
            known.add(one.text)
    _check_answerable([one for one in _alive(batch) if one.category != "unanswerable"], work)
    if not wishes.allow_known:
        _check_closed_book([one for one in _alive(batch) if one.category != "unanswerable"], work)
    _check_others(list(_alive(batch)), work, index)


def _alive(batch: Iterable[Attempt]) -> Iterator[Attempt]:
    return (one for one in batch if not one.fell)


def _write(batch: Sequence[Attempt], work: ModelCalls) -> None:
    asked = []
    for one in batch:
        if one.brief is None:
            one.fell = "unsuitable"
        else:
            asked.append((one, [one.asker.write(one.brief)]))
    for one, replies in work.ask("write", asked):
        said = read_written(replies[0])
        one.text, one.reference = said.question, said.reference
        if not said.question:
            one.fell = "unsuitable"
        elif one.category == "unanswerable":
            one.reference = NO_ANSWER[one.asker.lang]
        else:
            one.gold = find_evidence(one.passages, said.evidence)


def find_evidence(passages: Sequence[Passage], quotes: Sequence[str]) -> list[GoldPlace]:
    """The places of the evidence, one for each passage; nothing if a quotation, or that of a passage, is missing."""
    mine = [[quote for quote in quotes if find_quote(passage.text, quote)] for passage in passages]
    spans = [find_all(passage.text, found) for passage, found in zip(passages, mine, strict=True)]
    if not quotes or any(not any(quote in found for found in mine) for quote in quotes):
        return []
    places = [
        place_in(passage, span, str(part))
        for part, (passage, span) in enumerate(zip(passages, spans, strict=True), 1)
        if span is not None
    ]
    return places if len(places) == len(passages) else []


def place_in(passage: Passage, span: tuple[int, int], part: str) -> GoldPlace:
    """A piece of a passage as a place in its document."""
    start, end = span
    return GoldPlace(passage.doc_id, passage.start + start, passage.start + end, passage.text[start:end], part=part)


def check_text(one: Attempt, known: KnownQuestions) -> str:
    """The first filter at which a question falls by its text alone, or nothing."""
    assert one.brief is not None
    wanted = one.brief.text_lang or one.brief.language
    checks = (
        ("format", is_malformed(one.text) or not 0 < len(one.reference) <= LONGEST_REFERENCE),
        ("mentions", mentions_passage(one.text)),
        ("language", not is_in_language(one.text, wanted)),
        ("evidence", not one.gold and one.category != "unanswerable"),
        ("copied", any(compare_wording(one.text, passage.text).is_copy for passage in one.passages)),
        ("duplicate", known.holds(one.text)),
    )
    return next((name for name, wrong in checks if wrong), "")


def _check_answerable(batch: Sequence[Attempt], work: ModelCalls) -> None:
    asked = [(one, [one.asker.ask_answerable(one.text, one.reference, one.passages)]) for one in batch]
    for one, (reply,) in work.ask("answerable", asked):
        if reply.data["answered"] != "yes":
            one.fell = "not_answered"
        elif reply.data["reference"] != "yes":
            one.fell = "reference"


def _check_closed_book(batch: Sequence[Attempt], work: ModelCalls) -> None:
    """Let fall what the model knows without the passages: its answer to the bare question is right."""
    said: list[tuple[Attempt, str]] = []
    for one, (reply,) in work.ask("closed_book", [(one, [one.asker.ask_closed_book(one.text)]) for one in batch]):
        answer = str(reply.data["answer"]).strip()[:LONGEST_REFERENCE]
        if answer and not is_refusal(answer):
            said.append((one, answer))
    asked = [(one, [one.asker.ask_same(one.text, one.reference, answer)]) for one, answer in said]
    for one, (reply,) in work.ask("same", asked):
        one.fell = "known" if reply.data["right"] == "yes" else ""


def _check_others(batch: Sequence[Attempt], work: ModelCalls, index: PassageIndex) -> None:
    """Ask which other passages answer a question; of several passages that it needs, whether one is enough."""
    asked = []
    for one in batch:
        one.others = [*_alone(one), *index.find_others(search_text(one), one.passages)]
        asked.append((one, one.asker.ask_passages(one.text, one.others)))
    for one, replies in work.ask("others", asked):
        verdicts = read_passages(replies, one.others)
        one.fell = _judge_others(one, verdicts)
        if not one.fell:
            one.gold = [copy for place in one.gold for copy in _with_copies(place, one, index)]


def _alone(one: Attempt) -> list[Passage]:
    """Passages of its own that are asked about one by one: none where its one passage is known to answer it."""
    return list(one.passages) if one.category in {"multi-passage", "unanswerable"} else []


def search_text(one: Attempt) -> str:
    """What passages are searched for: the question and, where it is in another language, its evidence."""
    assert one.brief is not None
    foreign = one.brief.text_lang is not None and not is_in_language(one.text, one.brief.language)
    return " ".join([one.text, *(place.text for place in one.gold if foreign)])


def _judge_others(one: Attempt, verdicts: Sequence[PassageVerdict]) -> str:
    """The filter at which a question falls for what other passages say; those that answer it join its gold."""
    found = [(passage, said) for passage, said in zip(one.others, verdicts, strict=True) if said.verdict != "no"]
    full = [(passage, said) for passage, said in found if said.verdict == "yes"]
    if one.category == "unanswerable":
        return "answered" if found else ""
    if one.category == "multi-passage":
        return "one_passage" if full else ""
    spans = [(passage, find_quote(passage.text, said.quote)) for passage, said in full]
    if len(full) > _OTHERS or any(span is None for _, span in spans):
        return "ambiguous"
    one.gold += [place_in(passage, span, "1") for passage, span in spans if span is not None]
    return ""


def _with_copies(place: GoldPlace, one: Attempt, index: PassageIndex) -> Iterator[GoldPlace]:
    """A place, and the same text in copies of its passage."""
    yield place
    for passage in (*one.passages, *one.others):
        start = place.start - passage.start
        if passage.doc_id == place.doc_id and start >= 0 and place.end <= passage.end:
            span = start, place.end - passage.start
            yield from (place_in(copy, span, place.part) for copy in index.copies(passage))
            return


# The record -----------------------------------------------------------------------------------------------------------


def _record(attempts: Sequence[Attempt], work: ModelCalls, plan: Plan, index: PassageIndex, topics: str) -> QuestionSet:
    kept = sorted((one for one in attempts if not one.fell), key=lambda one: (one.place.number, one.category))
    fell = Counter(one.fell for one in attempts if one.fell)
    used = Counter(one.place.drawn.stratum for one in kept)
    model = str(getattr(work.client, "model", "") or "a function")
    return QuestionSet(
        questions=tuple(map(_question, kept)),
        made_by="model",
        n=plan.n,
        drawn=len(attempts),
        filters=tuple(QuestionFilter(name, fell[name]) for name in FILTERS),
        strata=tuple(_strata(plan.survey, used)),
        documents=plan.survey.documents,
        passages=len(index.passages),
        seed=plan.seed,
        model=model,
        warnings=tuple(_warnings(kept, work, plan)),
        prompts=tuple(dict.fromkeys(version for one in attempts if one.brief for version in one.asker.versions)),
        served=tuple(sorted(work.served)),
        topics=topics,
        bill=work.bill(),
        stopped=work.stopped,
    )


def _strata(found: Survey, used: Counter[tuple[str, ...]]) -> Iterator[QuestionStratum]:
    for stratum, size in sorted(found.sizes.items()):
        source, length, topic = stratum
        yield QuestionStratum(source, length, size, used[stratum], topic)


def _question(one: Attempt) -> Question:
    assert one.brief is not None
    source, length, topic = one.place.drawn.stratum
    name = f"model-{digest_of(one.passages[0].doc_id + chr(0) + one.text):016x}"
    return Question(
        query_id=name, text=one.text, kind=one.category, gold=tuple(one.gold),
        language=one.brief.text_lang or one.brief.language, source=source, length=length, reference=one.reference,
        topic=topic, style=one.brief.style, user=one.brief.user,
    )  # fmt: skip


def _warnings(kept: Sequence[Attempt], work: ModelCalls, plan: Plan) -> Iterator[Said]:
    if work.stopped:
        yield say("questions.stopped", reason=word("call", work.stopped), kept=len(kept), n=plan.n)
    elif len(kept) < plan.n:
        yield say("questions.fewer_model", kept=len(kept), n=plan.n)
    lost = [say("call.count", reason=word("call", name), n=n) for name, n in sorted(work.reasons.items())]
    if lost:
        yield say("questions.lost", reasons=lost)
    if plan.survey.documents == 1:
        yield say("questions.one_document")
