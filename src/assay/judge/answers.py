"""Judging many answers with a language model: which calls they need, and the cases that the replies amount to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from assay.grounding.case import Case
from assay.grounding.preparing import Piece, prepare, sample_for
from assay.grounding.record import Blank
from assay.judge.criteria import Criterion, ungradable
from assay.judge.grading import GradeQuestion
from assay.judge.prompting import load_prompt
from assay.judge.support import NEEDED, SupportCall, SupportQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.data.samples import Sample
    from assay.grounding.preparing import Prepared
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.llm.records import Reply, Request
    from assay.messages import Lang

    Replies = dict[tuple[int, Piece | Criterion], list[tuple[tuple[int, ...], Reply]]]

PIECES: tuple[Piece, ...] = get_args(Piece)


@dataclass(frozen=True)
class AnswerJudge:
    """A client and what it has to find out about every sample: the support of `pieces`, and grades by `criteria`."""

    client: Completes
    pieces: frozenset[Piece] = frozenset()
    criteria: tuple[Criterion, ...] = ()
    lang: Lang = "en"
    max_chars: int = 60_000
    progress: Callable[[Progress], object] | None = None
    deadline: float | None = None

    @cached_property
    def support(self) -> SupportQuestion:
        """The prompt and settings for asking about statements."""
        return SupportQuestion(load_prompt("support", self.lang, needed=NEEDED), self.max_chars)

    @cached_property
    def grades(self) -> dict[Criterion, GradeQuestion]:
        """The prompt and settings for asking about the answer as a whole."""
        return {criterion: GradeQuestion.of(criterion, self.lang, self.max_chars) for criterion in self.criteria}

    @property
    def is_asked(self) -> bool:
        """Return whether there is anything to ask."""
        return bool(self.pieces or self.criteria)

    @property
    def name(self) -> str:
        """The model and the versions of the prompts: what must be the same for its values to be comparable."""
        prompts = [self.support.prompt.version] if self.pieces else []
        prompts += sorted({question.prompt.version for question in self.grades.values()})
        return f"{getattr(self.client, 'model', '') or 'a function'} ({', '.join(prompts)})"

    def requests(self, samples: Sequence[Sample]) -> Iterator[tuple[int, Piece | Criterion, SupportCall]]:
        """Every call that the samples need, with the sample's place and what it is to find out."""
        for place, sample in enumerate(samples):
            for piece in PIECES:
                ready = _ready(sample, piece) if piece in self.pieces else None
                for asking in () if ready is None else self.support.calls(ready):
                    yield place, piece, asking
            for criterion, question in self.grades.items():
                if ungradable(sample, criterion) is None:
                    yield place, criterion, SupportCall((), question.request(sample))

    def ask(self, samples: Sequence[Sample]) -> Replies:
        """Send all requests about some samples; returns replies by sample and subject."""
        asked: list[tuple[int, Piece | Criterion, tuple[int, ...]]] = []

        def requests() -> Iterator[Request]:
            for place, piece, asking in self.requests(samples):
                asked.append((place, piece, asking.places))
                yield asking.request

        total = sum(1 for _ in self.requests(samples)) if self.progress is not None else None
        replies: Replies = defaultdict(list)
        stream = self.client.complete_many(requests(), total=total, progress=self.progress, deadline=self.deadline)
        for number, reply in stream:
            place, piece, places = asked[number]
            replies[place, piece].append((places, reply))
        return replies

    def cases(self, samples: Sequence[Sample], replies: Replies) -> list[Case]:
        """Make a case of each sample and the replies about it; what failed is in it with its reason.

        Its trail says why support failed; a grade that failed says so itself.
        """
        return [self._case(place, sample, replies) for place, sample in enumerate(samples)]

    def _case(self, place: int, sample: Sample, replies: Replies) -> Case:
        matrices, trail = {}, []
        for piece in PIECES:
            ready = _ready(sample, piece) if piece in self.pieces else None
            if ready is not None:
                found = sorted(replies.get((place, piece), ()), key=lambda pair: pair[0])
                matrices[piece], reason = self.support.read_replies(ready, found)
                trail += [reason] if reason else []
        grades = {
            criterion.name: question.read_grade(replies[place, criterion][0][1], sample)
            for criterion, question in self.grades.items()
            if replies.get((place, criterion))
        }
        return Case(sample, "llm", matrices=matrices, grades=grades, trail=tuple(dict.fromkeys(trail)))


def _ready(sample: Sample, piece: Piece) -> Prepared | None:
    found = sample_for(sample, piece)
    return None if isinstance(found, Blank) else prepare(found)
