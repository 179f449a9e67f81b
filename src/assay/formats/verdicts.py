"""Reading what each judge said about every pair: the details of `assay judge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.formats.files import Input
from assay.formats.tables import read_jsonl
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

_MOST = 1e9  # of a grade
_NEEDED = {"query_id", "doc_id", "judge", "grade"}


def is_verdict(names: Iterable[str]) -> bool:
    """Return whether a row with these names is one of the details, or one as earlier versions wrote them."""
    known = set(names)
    return "votes" in known or known >= {*_NEEDED, "repeat", "panel_grade"}


def read_votes(place: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the votes of a file of details: query_id, doc_id, judge, repeat, grade, and what else is known of each."""
    source = Input.at(place)
    votes = [vote for _, row in read_jsonl(source) for vote in _votes(row)]
    if not votes or not all(_is_vote(vote) for vote in votes):
        raise InputError(say("cli.no_votes"), path=source.label, hint=say("cli.no_votes_hint"))
    return votes


def _votes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The votes of a row: itself, or all about a pair, as earlier versions wrote them."""
    if "votes" not in row:
        return [dict(row)]
    pair = {name: row.get(name) for name in ("query_id", "doc_id")}
    listed = row["votes"] if isinstance(row["votes"], list) else [None]
    return [{**pair, **vote} if isinstance(vote, dict) else {} for vote in listed]


def _is_vote(vote: Mapping[str, Any]) -> bool:
    if not (vote.keys() >= _NEEDED and isinstance(vote["query_id"], str) and isinstance(vote["doc_id"], str)):
        return False
    number = vote["grade"]
    return number is None or (type(number) in {int, float} and abs(number) < _MOST)
