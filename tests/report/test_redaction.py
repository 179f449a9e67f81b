"""Reports to be sent: no text of questions, documents and answers is left, and all numbers are."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace

import pytest

import assay
from assay.analysis.redaction import TEXTS, mask, redact
from assay.data.scores import Scores
from assay.messages import Said
from assay.results.parts import all_parts
from assay.results.result import make_result
from parts import SAMPLES_OF_PARTS

SECRET = "SECRET"


def salt(value, *, is_text: bool = False):
    """The same record with a word hidden in every text that people or models wrote."""
    if isinstance(value, (Scores, Said)):
        return value
    if isinstance(value, str):
        return f"{value} {SECRET}" if is_text else value
    if isinstance(value, tuple):
        return tuple(salt(one, is_text=is_text) for one in value)
    if isinstance(value, dict):
        return {key: salt(one, is_text=is_text) for key, one in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    known = TEXTS.get(type(value).__name__, frozenset())
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return replace(value, **{name: salt(one, is_text=name in known) for name, one in given.items()})


def sample(name: str):
    found = SAMPLES_OF_PARTS[name]()
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("name", sorted(all_parts()))
def test_no_text_of_a_part_is_left(name):
    made = make_result(salt(sample(name)), command="x")
    for kind in ("html", "markdown") if name in {"answers", "diagnoses"} else ("markdown",):
        assert SECRET not in assay.write_report(made, kind=kind, redact=True), kind


def test_there_was_something_to_leave_out():
    made = make_result(salt(sample("answers")), command="x")
    assert SECRET in assay.write_report(made, kind="markdown")


def test_numbers_and_ids_are_kept():
    made = make_result(sample("answers"), command="x")
    whole, cut = (assay.write_report(made, kind="markdown", redact=left_out) for left_out in (False, True))
    assert re.findall(r"\d\.\d{4}", whole) == re.findall(r"\d\.\d{4}", cut)
    assert "It opened in 1889" in whole and "It opened in 1889" not in cut
    assert mask("It opened in 1889.") in cut


def test_statements_keep_their_support_and_their_place():
    made = make_result(sample("answers"), command="x")
    before, after = made.parts["answers"].samples, redact(made).parts["answers"].samples
    for one, other in zip(before, after, strict=True):
        assert [part.support for part in one.support.statements] == [part.support for part in other.support.statements]
        assert [other.words_of(part) for part in other.support.statements] == [
            mask(one.words_of(part)) for part in sorted(one.support.statements, key=lambda part: part.start)
        ]


def test_texts_of_queries_and_documents_are_left_out(tmp_path):
    judged, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    scores = assay.evaluate(judged, run, ["map"], name="bm25")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "text": "SECRET question", "kind": "short"}\n')
    given = {
        "judgments": judged,
        "runs": {"bm25": run},
        "documents": {"a": "SECRET text"},
        "queries": tmp_path / "q.jsonl",
    }
    assert "SECRET question" in assay.write_report(scores, **given)
    assert SECRET not in assay.write_report(scores, **given, redact=True)
