"""A panel of judges: each pair is put to every judge as often as asked, and the votes become one verdict."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from assay.errors import UsageError, excerpt
from assay.judge.relevance import vote_of
from assay.messages import say
from assay.results.judging import PairVerdict, Vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assay.judge.relevance import Pair, PairQuestion
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.llm.records import Reply

# "calibrated" is a mean until labels say how far each judge is to be believed (`analysis.panel_grades`).
Combine = Literal["vote", "median", "mean", "calibrated"]


@dataclass(frozen=True)
class Juror:
    """A judge on a panel: who is asked, and how."""

    client: Completes
    question: PairQuestion


def judge(
    pairs: Sequence[Pair],
    jurors: Mapping[str, Juror],
    *,
    repeats: int = 1,
    combine: Combine = "vote",
    progress: Callable[[str, Progress], object] | None = None,
    deadline: float | None = None,
    seen: Callable[[str, Reply], object] | None = None,
) -> Iterator[PairVerdict]:
    """Put every pair to every judge; verdicts come in the order of the pairs, whenever all their votes are in.

    `progress` and `seen` are called with a judge's name after each of its replies.
    """
    _check(pairs, repeats)
    if not jurors:
        raise UsageError(say("there is no judge"))
    votes: list[list[Vote]] = [[] for _ in pairs]
    done = 0
    end = None if deadline is None else time.monotonic() + deadline
    for name, juror in jurors.items():  # one after the other: judges mostly share a server's limits
        requests = (juror.question.request(pair, repeat) for pair, repeat in itertools.product(pairs, range(repeats)))
        report = None if progress is None else partial(progress, name)
        left = None if end is None else max(end - time.monotonic(), 0.001)
        replies = juror.client.complete_many(requests, total=len(pairs) * repeats, progress=report, deadline=left)
        for number, reply in replies:
            if seen is not None:
                seen(name, reply)
            votes[number // repeats].append(vote_of(reply, juror.question, name, number % repeats))
            while done < len(pairs) and len(votes[done]) == len(jurors) * repeats:
                yield verdict(pairs[done], votes[done], combine)
                votes[done] = []
                done += 1


def _check(pairs: Sequence[Pair], repeats: int) -> None:
    if repeats < 1:
        raise UsageError(say("repeats = {n}: expected 1 or more", n=repeats))
    ids = Counter((pair.query_id, pair.doc_id) for pair in pairs)
    twice = next((key for key, count in ids.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            say(
                "document {doc} is to be judged twice for query {query}", doc=excerpt(twice[1]), query=excerpt(twice[0])
            )
        )


def verdict(pair: Pair, votes: Sequence[Vote], combine: Combine = "vote") -> PairVerdict:
    """Combine votes: most of them must have a grade, otherwise the pair failed for the most common reason."""
    ordered = tuple(sorted(votes, key=lambda vote: (vote.judge, vote.repeat)))
    scored = [vote for vote in ordered if vote.grade is not None]
    if 2 * len(scored) < len(ordered) or not scored:
        reasons = Counter(vote.reason for vote in ordered if vote.grade is None)
        reason = min(reasons, key=lambda name: (-reasons[name], name))
        message = next(vote.explanation for vote in ordered if vote.reason == reason)
        return PairVerdict(pair.query_id, pair.doc_id, "failed", reason, None, message, ordered)
    grades = [vote.grade for vote in scored if vote.grade is not None]
    grade = combine_grades(grades, combine)
    nearest = min(scored, key=lambda vote: abs((vote.grade or 0.0) - grade))
    tied = is_tied(grades, combine)
    return PairVerdict(pair.query_id, pair.doc_id, "scored", "", grade, nearest.explanation, ordered, tied)


def combine_grades(grades: Sequence[float], combine: Combine) -> float:
    """Make one grade of one or several: the commonest, the middle one (of two the lower), or their mean."""
    if combine == "vote":
        return _majority(grades)
    return statistics.median_low(grades) if combine == "median" else math.fsum(grades) / len(grades)


def is_tied(grades: Sequence[float], combine: Combine) -> bool:
    """Return whether two grades or more are equally common, or equally in the middle."""
    if combine == "vote":
        return len(statistics.multimode(grades)) > 1
    return combine == "median" and statistics.median_low(grades) != statistics.median_high(grades)


def _majority(grades: Sequence[float]) -> float:
    """The most common grade; of several, the one nearest to the median, and of two such the lower."""
    middle = statistics.median(grades)
    return min(statistics.multimode(grades), key=lambda grade: (abs(grade - middle), grade))
