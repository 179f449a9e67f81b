"""Labels as what other commands read: judgments, filled lists, samples with columns of people, preferences."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from assay.curation.labelling import settle_numbers
from assay.data.judgments import Judgments
from assay.errors import InputError
from assay.measures import defaults
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.data.label import Label

HUMAN = "human"
MARK = "mark"
_SUPPORTED = defaults.ANSWERS[0]
_SCALE = 5  # the highest mark


def judgments_of_labels(labels: Sequence[Label]) -> Judgments:
    """Judgments of what people graded: where several did, the median, of an even number the lower of the middle two."""
    grades: dict[object, dict[object, float]] = {}
    for (query, doc), grade in settle_numbers("relevance", labels).items():
        grades.setdefault(query, {})[doc] = grade
    if not grades:
        raise InputError(say("nothing is labelled yet"))
    return Judgments.from_dict(grades)


def fill_in(rows: Iterable[Mapping[str, Any]], labels: Sequence[Label]) -> list[dict[str, Any]]:
    """The rows of a list to judge with the grades that people gave; other columns stay, such as those of a sample."""
    grades = settle_numbers("relevance", labels)
    return [{**row, "grade": grades.get((row["query_id"], row["doc_id"]), row.get("grade"))} for row in rows]


def preference_rows(labels: Sequence[Label]) -> list[dict[str, str]]:
    """Rows as `preferences` reads them, with the places in which people saw the answers; two bad answers are a tie."""
    rows = []
    for label in labels:
        if not label.counts or label.kind != "preference":
            continue
        question, first, second = label.item
        left, right = (first, second) if label.shown == first else (second, first)
        value = str(label.value)
        preferred = {"first": first, "second": second}.get(value, "tie")
        rows.append(
            {"question_id": question, "left": left, "right": right, "preferred": preferred, "rater": label.by,
             **({"answers": "both bad"} if value == "both_bad" else {}), **({"note": label.note} if label.note else {})}
        )  # fmt: skip
    return rows


def add_human_columns(
    rows: Sequence[Mapping[str, Any]], items: Sequence[tuple[str, ...]], labels: Sequence[Label]
) -> list[dict[str, Any]]:
    """Samples with a column `human`: the share of an answer's statements that people found supported, and the mark / 5.

    `items` names the sample of each row as labels do. A statement counts by the median of the people who judged it; an
    answer of which nobody judged a statement has no share.
    """
    support = defaultdict(list)
    for (*sample, _), number in settle_numbers("statement", [one for one in labels if one.kind == "statement"]).items():
        support[tuple(sample)].append(number)
    marks = settle_numbers("mark", [one for one in labels if one.kind == "mark"])
    raters = defaultdict(set)
    for one in labels:
        if one.counts:
            raters[one.item[:2]].add(one.by)
    found = []
    for row, item in zip(rows, items, strict=True):
        judged = support.get(item)
        human = {
            _SUPPORTED: math.fsum(judged) / len(judged) if judged else None,
            MARK: marks[item] / _SCALE if item in marks else None,
        }
        known = {name: value for name, value in human.items() if value is not None}
        found.append({**row, **({HUMAN: known, "raters": sorted(raters[item])} if known else {})})
    return found
