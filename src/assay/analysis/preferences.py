"""Preferences between two answers: win rates, ties, the part of the place, and strengths of several systems."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from assay.analysis.decision import decide
from assay.errors import InputError, excerpt
from assay.formats.files import Input
from assay.formats.tables import read_jsonl
from assay.messages import say
from assay.results.comparison import Rules
from assay.results.preferences import PreferencePair, Preferences, Strength
from assay.stats.bradley_terry import APART, ONE_SIDED, bradley_terry
from assay.stats.intervals import mean_interval
from assay.stats.multiplicity import adjust
from assay.stats.signflip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.data.segments import Floats

Place = Literal["left", "right", "tie"]
_PLACES = ("left", "right", "tie")
_FITTING: dict[str, Literal["", "one_sided", "apart"]] = {ONE_SIDED: "one_sided", APART: "apart"}


class RaterAnswer(NamedTuple):
    """What a rater said about two answers to a question: which place was preferred, or neither."""

    question: str
    left: str
    right: str
    preferred: Place
    rater: str


class _Orders(NamedTuple):
    """What became of one or two orders: the share of the first system, and how the orders went together."""

    question: str
    share: float
    both: bool
    by_place: bool


def preferences(
    answers: str | os.PathLike[str] | Iterable[Mapping[str, Any]], *, rules: Rules | None = None
) -> Preferences:
    """Compare systems by which of two answers was preferred: rows, or a file of JSON lines.

    A row has `question_id`, `left` and `right` (the names of the systems), `preferred` ("left", "right", "tie", or the
    name of a system) and, where there are several, `rater`. A rater who was asked in both orders must prefer the same
    system in both: else it is a tie. A later row of a rater on the same question and order replaces an earlier one.

    >>> import assay
    >>> rows = [{"question_id": f"q{i}", "left": "new", "right": "old", "preferred": "new"} for i in range(12)]
    >>> assay.preferences(rows).pairs[0].decision
    'better'
    """
    rules = rules or Rules()
    read = _read(answers)
    latest = {(one.question, one.left, one.right, one.rater): one for one in read}
    grouped: dict[tuple[str, str], list[_Orders]] = defaultdict(list)
    for pair, outcome in _combine(list(latest.values())):
        grouped[pair].append(outcome)
    decided = [one for one in latest.values() if one.preferred != "tie"]
    names = list(dict.fromkeys(name for one in latest.values() for name in (one.left, one.right)))
    order = {name: place for place, name in enumerate(names)}
    fitted = bradley_terry(
        [order[pair[0]] for pair, found in grouped.items() for _ in found],
        [order[pair[1]] for pair, found in grouped.items() for _ in found],
        shares=[one.share for found in grouped.values() for one in found],
        groups=[one.question for found in grouped.values() for one in found],
        systems=len(names),
    )
    every = [one for found in grouped.values() for one in found]
    return Preferences(
        questions=len({one.question for one in latest.values()}),
        raters=len({one.rater for one in latest.values()}),
        answers=len(read),
        replaced=len(read) - len(latest),
        pairs=_compare(grouped, rules),
        left=mean_interval(
            [float(one.preferred == "left") for one in decided],
            clusters=[one.question for one in decided], bounds=(0.0, 1.0),
        ),
        both_orders=sum(one.both for one in every),
        by_place=sum(one.by_place for one in every),
        strengths=tuple(Strength(name, one) for name, one in zip(names, fitted.strengths, strict=True)),
        fitting=_FITTING.get(fitted.reason, ""),
    )  # fmt: skip


def _combine(answers: Sequence[RaterAnswer]) -> Iterable[tuple[tuple[str, str], _Orders]]:
    """Make one outcome of the one or two orders in which a rater was asked, for the systems in a fixed order."""
    names = list(dict.fromkeys(name for one in answers for name in (one.left, one.right)))
    orders: dict[tuple[str, str, str, str], list[RaterAnswer]] = defaultdict(list)
    for one in answers:
        first, second = sorted((one.left, one.right), key=names.index)
        orders[first, second, one.question, one.rater].append(one)
    for (first, second, question, _), asked in orders.items():
        shares = [_share(one, first) for one in asked]
        agree = len(set(shares)) == 1
        places = {one.preferred for one in asked}
        by_place = len(asked) > 1 and len(places) == 1 and places != {"tie"}
        yield (first, second), _Orders(question, shares[0] if agree else 0.5, len(asked) > 1, by_place)


def _share(one: RaterAnswer, first: str) -> float:
    if one.preferred == "tie":
        return 0.5
    return float((one.left if one.preferred == "left" else one.right) == first)


def _compare(grouped: Mapping[tuple[str, str], Sequence[_Orders]], rules: Rules) -> tuple[PreferencePair, ...]:
    """Test every two systems by the means of the questions, corrected for the number of pairs."""
    means = {pair: _by_question(found) for pair, found in grouped.items()}
    pvalues = np.array(
        [
            float(sign_flip(one[:, None] - 0.5, n_resamples=rules.n_resamples, rng=rules.seed).pvalue[0])
            for one in means.values()
        ]
    )
    adjusted = adjust(pvalues, method=rules.correction)
    found = []
    for (pair, outcomes), p, corrected in zip(grouped.items(), pvalues.tolist(), adjusted.tolist(), strict=True):
        change = means[pair] - 0.5
        found.append(
            PreferencePair(
                *pair, questions=len(change), wins=sum(one.share == 1 for one in outcomes),
                ties=sum(one.share == 0.5 for one in outcomes),  # noqa: PLR2004
                losses=sum(one.share == 0 for one in outcomes), inconsistent=sum(one.by_place for one in outcomes),
                rate=mean_interval(means[pair], bounds=(0.0, 1.0)), pvalue=p, adjusted=corrected,
                decision=decide(change, rules, adjusted=corrected, sign=1.0, weights=None, reach=0.5, pvalue=p),
            )
        )  # fmt: skip
    return tuple(found)


def _by_question(outcomes: Sequence[_Orders]) -> Floats:
    shares: dict[str, list[float]] = defaultdict(list)
    for one in outcomes:
        shares[one.question].append(one.share)
    return np.array([math.fsum(own) / len(own) for own in shares.values()])


# Reading --------------------------------------------------------------------------------------------------------------


def _read(answers: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> list[RaterAnswer]:
    if isinstance(answers, (str, os.PathLike)):
        source = Input.at(answers)
        found = [_preference(row, source.label, line) for line, row in read_jsonl(source)]
        label: str | None = source.label
    else:
        found, label = [_preference(row, None, None) for row in answers], None
    if not found:
        raise InputError(say("there are no preferences"), path=label)
    return found


def _preference(row: Mapping[str, Any], path: str | None, line: int | None) -> RaterAnswer:
    names = ("question_id", "left", "right", "preferred")
    lacking = [name for name in names if not (isinstance(row.get(name), str) and row[name])]
    if lacking:
        raise InputError(
            say("a preference has no {name}", name=lacking[0]),
            path=path,
            line=line,
            hint=say('expected {{"question_id": "q1", "left": "A", "right": "B", "preferred": "left"}}'),
        )
    left, right, preferred = row["left"], row["right"], row["preferred"]
    if left == right:
        raise InputError(say("{system} is compared with itself", system=excerpt(left)), path=path, line=line)
    if preferred in {left, right} and preferred not in _PLACES:
        preferred = "left" if preferred == left else "right"
    if preferred not in _PLACES:
        raise InputError(
            say("preferred is {value}: expected left, right, tie or one of the two systems", value=excerpt(preferred)),
            path=path,
            line=line,
        )
    return RaterAnswer(row["question_id"], left, right, preferred, str(row.get("rater") or ""))
