"""Judging many answers with a language model: which calls they need, and the cases that the replies amount to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from assay.grounding.case import Case
from assay.grounding.preparing import Piece, prepare, sample_for
from assay.grounding.record import Blank
from assay.judge.grading import GradeQuestion, Kind
from assay.judge.prompting import load_prompt
from assay.judge.support import NEEDED, Asking, SupportQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.data.samples import Sample
    from assay.grounding.preparing import Prepared
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.llm.records import Reply, Request
    from assay.messages import Lang

SUPPORTS: tuple[Literal["answer", "reference", "check"], ...] = ("answer", "reference", "check")


@dataclass(frozen=True)
class AnswerJudge:
    """A client and the prompts it is asked with; `pieces` is what it has to find out about every sample."""

    client: Completes
    pieces: frozenset[Piece]
    lang: Lang = "en"
    max_chars: int = 60_000
    progress: Callable[[Progress], object] | None = None
    deadline: float | None = None
    support: SupportQuestion = field(init=False)
    grades: dict[Kind, GradeQuestion] = field(init=False)

    def __post_init__(self) -> None:
        prompt = load_prompt("support", self.lang, needed=NEEDED)
        object.__setattr__(self, "support", SupportQuestion(prompt, self.max_chars))
        object.__setattr__(self, "grades", {kind: GradeQuestion.of(kind, self.lang) for kind in get_args(Kind)})

    @property
    def name(self) -> str:
        """The model and the versions of the prompts: what must be the same for its values to be comparable."""
        prompts = [self.support.prompt.version] if self.pieces.intersection(SUPPORTS) else []
        prompts += [question.prompt.version for kind, question in self.grades.items() if kind in self.pieces]
        return f"{getattr(self.client, 'model', '') or 'a function'} ({', '.join(prompts)})"

    def requests(self, samples: Sequence[Sample]) -> Iterator[tuple[int, Piece, Asking]]:
        """Every call that the samples need, with the sample's place and the piece it is for."""
        for place, sample in enumerate(samples):
            for piece in get_args(Piece):
                if piece in self.pieces:
                    for asking in self._askings(sample, piece):
                        yield place, piece, asking

    def _askings(self, sample: Sample, piece: Piece) -> list[Asking]:
        if piece not in SUPPORTS:
            asks = _worth_grading(sample, piece)
            return [Asking((), self.grades[piece].request(sample))] if asks else []  # type: ignore[index]
        ready = _ready(sample, piece)
        return [] if ready is None else self.support.askings(ready)

    def judge(self, samples: Sequence[Sample]) -> list[Case]:
        """Ask everything, and make a case of each sample; what failed is in it with its reason.

        Its trail says why support failed; a grade that failed says so itself.
        """
        asked: list[tuple[int, Piece, tuple[int, ...]]] = []

        def requests() -> Iterator[Request]:
            for place, piece, asking in self.requests(samples):
                asked.append((place, piece, asking.places))
                yield asking.request

        total = sum(1 for _ in self.requests(samples)) if self.progress is not None else None
        replies: dict[tuple[int, Piece], list[tuple[tuple[int, ...], Reply]]] = defaultdict(list)
        stream = self.client.complete_many(requests(), total=total, progress=self.progress, deadline=self.deadline)
        for number, reply in stream:
            place, piece, places = asked[number]
            replies[place, piece].append((places, reply))
        return [self._case(place, sample, replies) for place, sample in enumerate(samples)]

    def _case(
        self, place: int, sample: Sample, replies: dict[tuple[int, Piece], list[tuple[tuple[int, ...], Reply]]]
    ) -> Case:
        matrices, grades, trail = {}, {}, []
        for piece in get_args(Piece):
            found = sorted(replies.get((place, piece), ()), key=lambda pair: pair[0])
            if piece not in self.pieces:
                continue
            if piece in SUPPORTS:
                ready = _ready(sample, piece)
                if ready is not None:
                    matrices[piece], reason = self.support.read_replies(ready, found)
                    trail += [reason] if reason else []
            elif found:
                grades[piece] = self.grades[piece].read_grade(found[0][1])
        return Case(sample, "llm", matrices=matrices, grades=grades, trail=tuple(dict.fromkeys(trail)))


def _ready(sample: Sample, piece: Piece) -> Prepared | None:
    found = sample_for(sample, piece)
    return None if isinstance(found, Blank) else prepare(found)


def _worth_grading(sample: Sample, piece: Piece) -> bool:
    """Whether there is an answer, and what it is held against; a refusal needs no grade of relevance."""
    if not (sample.answer or "").strip() or {"answer", "question", "reference"}.intersection(sample.faults):
        return False
    if piece == "correctness":
        return any(text.strip() for text in sample.references)
    return bool((sample.question or "").strip()) and prepare(sample).status != "abstained"
