"""A panel of judges: each pair is put to every judge as often as asked, and the votes become one verdict."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Literal

from assay.errors import UsageError, excerpt
from assay.judge.relevance import vote_of
from assay.messages import say
from assay.results.judging import PairVerdict, Vote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assay.judge.relevance import Pair, Question
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress

Combine = Literal["vote", "mean"]


def judge(
    pairs: Sequence[Pair],
    judges: Mapping[str, Completes],
    question: Question,
    *,
    repeats: int = 1,
    combine: Combine = "vote",
    progress: Callable[[str, Progress], object] | None = None,
    deadline: float | None = None,
) -> Iterator[PairVerdict]:
    """Put every pair to every judge; verdicts come in the order of the pairs, whenever all their votes are in."""
    _check(pairs, repeats)
    if not judges:
        raise UsageError(say("there is no judge"))
    votes: list[list[Vote]] = [[] for _ in pairs]
    done = 0
    end = None if deadline is None else time.monotonic() + deadline
    for name, client in judges.items():  # one after the other: judges mostly share a server's limits
        requests = (question.request(pair, repeat) for pair, repeat in itertools.product(pairs, range(repeats)))
        report = None if progress is None else partial(progress, name)
        left = None if end is None else max(end - time.monotonic(), 0.001)
        replies = client.complete_many(requests, total=len(pairs) * repeats, progress=report, deadline=left)
        for number, reply in replies:
            votes[number // repeats].append(vote_of(reply, question, name, number % repeats))
            while done < len(pairs) and len(votes[done]) == len(judges) * repeats:
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
    grade = math.fsum(grades) / len(grades) if combine == "mean" else _majority(grades)
    nearest = min(scored, key=lambda vote: abs((vote.grade or 0.0) - grade))
    return PairVerdict(pair.query_id, pair.doc_id, "scored", "", grade, nearest.explanation, ordered)


def _majority(grades: Sequence[float]) -> float:
    """The most common grade; of several, the one nearest to the median, and of two such the lower."""
    if len(grades) == 1:
        return grades[0]
    counts = Counter(grades)
    most = max(counts.values())
    middle = statistics.median(grades)
    return min((grade for grade, count in counts.items() if count == most), key=lambda g: (abs(g - middle), g))
