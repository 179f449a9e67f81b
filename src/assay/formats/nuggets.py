"""Files of nuggets: JSON lines with a question each and its nuggets, or with a nugget each."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.nuggets import Nugget, QuestionNuggets
from assay.errors import InputError, excerpt
from assay.formats import cells, columns, tables
from assay.formats.files import Input, write_atomically
from assay.formats.set_folders import is_set, need
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

LIST, TEXT, WEIGHT = "nuggets", "text", "importance"


def read_nuggets(place: str | os.PathLike[str]) -> tuple[QuestionNuggets, ...]:
    """Read nuggets: JSON lines `{"qid", "nuggets": [{"text", "importance"}]}`, or a row for each with its `query_id`.

    The folder of an evaluation set stands for its nuggets. Rows of one question are put together.

    >>> import assay
    >>> from pathlib import Path
    >>> line = '{"qid": "q1", "nuggets": [{"text": "built in 1889", "importance": "vital"}]}'
    >>> _ = Path("nuggets.jsonl").write_text(line)
    >>> assay.read_nuggets("nuggets.jsonl")[0].nuggets[0].importance
    'vital'
    """
    source = Input.at(need(place, "nuggets") if is_set(place) else place)
    questions: dict[str, str] = {}
    found: defaultdict[str, list[Nugget]] = defaultdict(list)
    for number, row in tables.read_jsonl(source):
        query, question = _query_of(row, source.label, number)
        questions[query] = questions.get(query) or question
        found[query] += [_nugget(one, source.label, number) for one in _list_nuggets(row, source.label, number)]
    if not questions:
        raise InputError(say("the file has no rows"), path=source.label, hint=say("expected at least one row"))
    return tuple(QuestionNuggets(query, text, tuple(found[query])) for query, text in questions.items())


def write_nuggets(nuggets: Iterable[QuestionNuggets], place: str | os.PathLike[str]) -> None:
    """Write nuggets as JSON lines, a question in each, as TREC RAG's tools read them.

    >>> import assay
    >>> made = assay.QuestionNuggets("q1", "how old is it?", (assay.Nugget("built in 1889", "vital"),))
    >>> assay.write_nuggets([made], "nuggets.jsonl")
    >>> assay.read_nuggets("nuggets.jsonl") == (made,)
    True
    """
    write_atomically(Path(place), nugget_lines(nuggets).encode("utf-8", "replace"))


def nugget_lines(nuggets: Iterable[QuestionNuggets]) -> str:
    """The text of a file of nuggets."""
    return "".join(json.dumps(_row(one), ensure_ascii=False) + "\n" for one in nuggets)


def are_nuggets(names: Iterable[str], label: str) -> bool:
    """Whether rows with these columns hold nuggets: a list, or one each, as its importance or the file's name shows."""
    known = list(names)
    if not columns.has_any(known, columns.PAIR_QUERY_ID):
        return False
    named = WEIGHT in known or "nugget" in Path(label).name.lower()
    return LIST in known or (TEXT in known and named and not columns.has_any(known, columns.DOCUMENT_ID))


def _row(one: QuestionNuggets) -> dict[str, Any]:
    listed = [{TEXT: each.text, **({WEIGHT: each.importance} if each.importance else {})} for each in one.nuggets]
    return {"qid": one.query_id, **({"query": one.question} if one.question else {}), LIST: listed}


def _query_of(row: Mapping[str, Any], label: str, line: int) -> tuple[str, str]:
    names = list(row)
    name = columns.find(names, columns.PAIR_QUERY_ID, path=label, needed=say("nuggets"))
    query = row[name] if name else None
    if isinstance(query, bool) or not isinstance(query, str | int) or not str(query).strip():
        raise InputError(say("expected the id of a question, not {value}", value=excerpt(query)), path=label, line=line)
    text = columns.find([one for one in names if one not in {name, LIST, TEXT}], columns.PAIR_QUERY, path=label)
    question = row[text] if text else ""
    return str(query), question if isinstance(question, str) else ""


def _list_nuggets(row: Mapping[str, Any], label: str, line: int) -> list[Any]:
    listed = row.get(LIST) if LIST in row else [row]
    if not isinstance(listed, list):
        raise InputError(say("expected a list of nuggets, not {value}", value=excerpt(listed)), path=label, line=line)
    return listed


def _nugget(one: Any, label: str, line: int) -> Nugget:
    try:
        return cells.nugget(one)
    except cells.Fault as error:
        raise InputError(error.message, path=label, line=line) from None
