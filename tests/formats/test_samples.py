"""Samples: the files of other tools are read under their own names, and nothing is guessed silently."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

from assay.data.samples import Context, Sample, Turn
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.columns import SAMPLE
from assay.formats.samples import as_samples, read_samples

EXPECTED = Sample(
    "q1",
    "What is tea?",
    "A drink.",
    (Context("Tea is a drink."), Context("It is hot.")),
    references=("A hot drink.",),
)

FLAVOURS = {
    "ragas": {"user_input": "What is tea?", "response": "A drink.", "retrieved_contexts": ["Tea is a drink.", "It is hot."], "reference": "A hot drink."},
    "ragas before 0.2": {"question": "What is tea?", "answer": "A drink.", "contexts": ["Tea is a drink.", "It is hot."], "ground_truth": "A hot drink."},
    "deepeval": {"input": "What is tea?", "actual_output": "A drink.", "retrieval_context": ["Tea is a drink.", "It is hot."], "expected_output": "A hot drink."},
    "AutoRAG": {"qid": "q1", "query": "What is tea?", "generated_texts": "A drink.", "retrieved_contents": ["Tea is a drink.", "It is hot."], "generation_gt": ["A hot drink."]},
    "RAGChecker": {
        "query_id": "q1", "query": "What is tea?", "response": "A drink.", "gt_answer": "A hot drink.",
        "retrieved_context": [{"doc_id": "d1", "text": "Tea is a drink."}, {"doc_id": "d2", "text": "It is hot."}],
    },
    "LangChain": {
        "query": "What is tea?", "result": "A drink.", "ground_truths": ["A hot drink."],
        "source_documents": [{"page_content": "Tea is a drink.", "metadata": {"source": "d1"}}, {"page_content": "It is hot.", "metadata": {}}],
    },
    "TruLens": {"input": "What is tea?", "output": "A drink.", "contexts": ["Tea is a drink.", "It is hot."], "expected_response": "A hot drink."},
}  # fmt: skip


@pytest.mark.parametrize("tool", FLAVOURS)
def test_the_files_of_other_tools_are_read_as_they_are(tool, tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(FLAVOURS[tool]) + "\n", encoding="utf-8")
    samples = read_samples(path)
    (found,) = samples
    assert (found.question, found.answer, found.references) == (EXPECTED.question, EXPECTED.answer, EXPECTED.references)
    assert [context.text for context in found.contexts] == ["Tea is a drink.", "It is hot."]
    assert not found.faults
    assert set(samples.mapping.values()) == set(FLAVOURS[tool])
    assert all(
        f"column {name!r} is read as {field}" in samples.notes
        for field, name in samples.mapping.items()
        if field != name
    )


def rows() -> list[dict]:
    return [
        {
            "id": 1,
            "question": "Q",
            "answer": "A",
            "contexts": ["x", "y"],
            "context_ids": ["d1", "d2"],
            "gold_ids": ["d2"],
        },
        {"id": 2, "question": "R", "answer": "B", "contexts": [], "context_ids": [], "gold_ids": ["d3", "d4"]},
    ]


def write(kind, path):
    frame = pl.DataFrame(rows())
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows())))
    elif kind == "json":
        path.write_text(json.dumps(rows()))
    elif kind == "wrapped.json":
        path.write_text(json.dumps({"name": "run 7", "results": rows()}))
    elif kind == "columns.json":
        path.write_text(json.dumps({key: [row[key] for row in rows()] for key in rows()[0]}))
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "csv":
        packed = [
            {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in rows()
        ]
        pl.DataFrame(packed).write_csv(path)
    elif kind == "python.csv":
        packed = [
            {key: str(value) if isinstance(value, list) else value for key, value in row.items()} for row in rows()
        ]
        pl.DataFrame(packed).write_csv(path)


@pytest.mark.parametrize("kind", ["jsonl", "json", "wrapped.json", "columns.json", "parquet", "csv", "python.csv"])
def test_every_format_gives_the_same_samples(kind, tmp_path):
    path = tmp_path / f"samples.{kind}"
    write(kind, path)
    found = read_samples(path)
    assert found.rows == as_samples(rows()).rows
    assert found[0].contexts == (Context("x"), Context("y"))
    assert found[1].contexts == ()
    assert found[1].gold_ids == (("d3",), ("d4",))
    assert [row.query_id for row in found] == ["1", "2"]
    assert found.digest == as_samples(rows()).digest


@pytest.mark.parametrize(
    "frame", [pl.DataFrame(rows()), pd.DataFrame(rows()), pl.DataFrame(rows()).to_arrow(), pl.DataFrame(rows()).lazy()]
)
def test_frames_give_the_same_samples(frame):
    assert as_samples(frame).rows == as_samples(rows()).rows


def test_samples_pass_through():
    samples = as_samples(rows())
    assert as_samples(samples) is samples
    assert len(samples) == 2 and list(samples)[1] is samples[1]


def test_missing_values_of_frames_are_none():
    found = as_samples(pd.DataFrame({"answer": ["a", None, float("nan")], "question": [None, "q", "r"]}))
    assert [row.answer for row in found] == ["a", None, None]
    assert found[0].question is None


CONTEXTS = {
    "texts": (["x", "y"], (Context("x"), Context("y"))),
    "objects": ([{"id": "d1", "text": "x"}, {"doc_id": 7, "content": "y"}], (Context("x", "d1"), Context("y", "7"))),
    "an object of ids": ({"d1": "x", "d2": "y"}, (Context("x", "d1"), Context("y", "d2"))),
    "one object": ({"id": "d1", "text": "x"}, (Context("x", "d1"),)),
    "one text": ("x", (Context("x"),)),
    "lists of lists": ([["x"], ["y"]], (Context("x"), Context("y"))),
    "nulls": (["x", None], (Context("x"),)),
    "numbers": ([3, 4.5], (Context("3"), Context("4.5"))),
    "nothing": ([], ()),
}


@pytest.mark.parametrize("shape", CONTEXTS)
def test_contexts_come_in_many_shapes(shape):
    value, expected = CONTEXTS[shape]
    (found,) = as_samples([{"answer": "a", "contexts": value}])
    assert found.contexts == expected
    assert not found.faults


def test_odd_but_readable_values_leave_a_note():
    found = as_samples([{"answer": 42, "contexts": "x"}, {"answer": "a", "contexts": ["x", None, None]}])
    assert found[0].answer == "42"
    assert found[0].notes == ("the number '42' is read as text", "contexts is one text, not a list")
    assert found[1].notes == ("2 of 3 contexts are null",)


FAULTS = {
    "answer": ({"answer": {"a": 1}}, "expected a text, found an object"),
    "answer as a list": ({"answer": ["a", "b"]}, "expected a text, found a list"),
    "answer as a truth value": ({"answer": True}, "expected a text, found true or false"),
    "contexts": ({"answer": "a", "contexts": 5}, "expected a list of texts, found a number"),
    "a context without text": (
        {"answer": "a", "contexts": [{"id": 1, "score": 2}]},
        "a context has no text: its keys are 'id', 'score'",
    ),
    "history": ({"answer": "a", "history": 5}, "expected a list of messages, found a number"),
    "gold_ids": ({"answer": "a", "gold_ids": {"a": 1}}, "expected a list of ids, found an object"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_value_that_cannot_be_read_is_a_fault_of_its_sample(kind):
    row, expected = FAULTS[kind]
    found = as_samples([row, {"answer": "fine", "contexts": ["x"]}])
    assert list(found[0].faults.values()) == [expected]
    assert not found[1].faults


HISTORIES = {
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "turns": ["Hi", "Hello"],
    "pairs": [["Hi", "Hello"]],
    "speakers": [{"speaker": "user", "text": "Hi"}, {"speaker": "assistant", "text": "Hello"}],
}


@pytest.mark.parametrize("shape", HISTORIES)
def test_conversations_come_in_many_shapes(shape):
    (found,) = as_samples([{"answer": "a", "question": "And tea?", "history": HISTORIES[shape]}])
    assert found.history == (Turn("user", "Hi"), Turn("assistant", "Hello"))
    assert found.conversation == "Hi\nHello\nAnd tea?"


def test_a_question_of_messages_is_the_last_one_of_the_user():
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Tea?"},
    ]
    assert as_samples([{"user_input": messages, "response": "a"}])[0].question == "Tea?"


def test_two_candidates_for_a_field_are_an_error_until_one_is_chosen():
    row = {"question": "q", "answer": "the gold one", "prediction": "the given one"}
    with pytest.raises(
        InputError, match=r"columns 'answer' and 'prediction' could each be answer .*--map answer=answer"
    ):
        as_samples([row])
    found = as_samples([row], columns={"answer": "prediction"})
    assert found[0].answer == "the given one"
    assert found[0].others == {"answer": "the gold one"}


def test_ids_of_rows_beside_ids_of_queries_are_clear():
    assert as_samples([{"id": "row", "query_id": "q", "answer": "a"}])[0].query_id == "q"


def test_overrides_must_name_fields_and_columns_that_exist():
    with pytest.raises(UnknownName, match="unknown field 'questoin'; did you mean question"):
        as_samples(rows(), columns={"questoin": "id"})
    with pytest.raises(InputError, match="no column 'missing' for question"):
        as_samples(rows(), columns={"question": "missing"})


def test_a_file_without_answers_says_what_would_do(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"question": "q", "text": "t"}\n')
    with pytest.raises(InputError, match=r"no column for answer among 'question', 'text' .*--map answer=COLUMN"):
        read_samples(path)


def test_the_same_id_twice_is_an_error():
    with pytest.raises(InputError, match="sample 'a' appears in rows 1 and 2"):
        as_samples([{"id": "a", "answer": "x"}, {"id": "a", "answer": "y"}])


def test_samples_without_ids_are_numbered():
    assert [row.query_id for row in as_samples([{"answer": "x"}, {"answer": "y"}])] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", "[1, 2]", "expected a list of samples"), ("a.json", "{", "not valid JSON"), ("a.json", "[]", "expected a list of samples"),
        ("a.jsonl", '{"answer": "x"}\n[1]\n', "a.jsonl:2: expected a JSON object"), ("a.jsonl", "{nope}\n", "not valid JSON"),
        ("a.csv", "answer,question\nx,y,z\n", "fields where the header has"), ("a.parquet", "PAR1nope", "not a Parquet file"),
        ("a.txt", "q1 0 d1 1\n", "samples cannot be read from trec"), ("a.json", "[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_their_place(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=expected):
        read_samples(path)


def test_what_is_no_sample_is_refused():
    with pytest.raises(UsageError, match="samples must be a path, a list of dicts or a frame, not int"):
        as_samples(3)


def test_no_alias_means_two_fields():
    known = [key for heading in SAMPLE.values() for key in heading.all_keys]
    assert len(known) == len(set(known))


def test_the_digest_is_of_what_answers_are_judged_against():
    one, other = rows(), rows()
    other[0]["answer"] = "another"
    assert as_samples(one).digest == as_samples(other).digest
    other[0]["question"] = "another"
    assert as_samples(one).digest != as_samples(other).digest


def test_real_samples_are_read(shared):
    samples = read_samples(shared / "mtrag" / "dev.jsonl")
    assert len(samples) == 234
    assert samples.mapping["query_id"] == "id"
    assert all(not row.faults for row in samples)
    assert {"human", "published"} <= set(samples[0].others)
