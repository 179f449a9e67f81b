"""Answers of several systems, from a column of one file or from several files: evaluated side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from pathlib import Path

import pytest

import assay
from assay.formats.samples import join_samples, read_samples
from assay.testing import seal_of

TEA = "Green tea is made in Japan."
ROWS = [
    {"id": i, "system": system, "question": f"Where is tea {i} made?", "answer": answer, "contexts": [TEA], "reference": TEA}
    for i in ("1", "2", "3")
    for system, answer in (("base", TEA if i == "1" else "Cats sleep."), ("new", "I don't know." if i == "3" else TEA))
]  # fmt: skip


def lines(path, rows) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path.name


def test_every_system_has_means_of_its_own():
    found = assay.answer_systems(ROWS, ["exact_match", "faithfulness"], method="words")
    assert list(found) == ["base", "new"]
    assert {name: scores["exact_match"] for name, scores in found.items()} == {"base": 1 / 3, "new": 2 / 3}
    assert {name: scores["faithfulness"] for name, scores in found.items()} == {"base": 1 / 3, "new": 1.0}
    assert [scores.query_ids for scores in found.values()] == [["1", "2", "3"]] * 2
    assert found["new"].counts["faithfulness"].abstained == 1


def test_a_system_in_a_file_of_its_own_has_the_same_numbers_and_compares():
    measures = ["exact_match", "token_f1", "faithfulness"]
    together = assay.answer_systems(ROWS, measures, method="words")
    for name, scores in together.items():
        alone = assay.answers([row for row in ROWS if row["system"] == name], measures, method="words", name=name)
        assert alone.mean() == scores.mean()
        assert alone.judgments_digest == scores.judgments_digest
    compared = assay.compare(list(together.values()), ["exact_match"])
    (contrast,) = compared.contrasts
    assert contrast.difference.estimate == pytest.approx(1 / 3)


def test_a_single_system_keeps_the_name_of_its_file(call, tmp_path):
    """Two files of one model, before and after a change, must not be called the same."""
    lines(tmp_path / "after.jsonl", [row for row in ROWS if row["system"] == "base"])
    assert call("answers", "after.jsonl", "--method", "words", "-m", "exact_match", "-o", "r.json")[0] == 0
    assert [one["name"] for one in json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["systems"]] == [
        "after"
    ]


def test_one_function_is_for_one_system_and_names_the_other():
    with pytest.raises(assay.UsageError, match=r"column 'system' names 2 systems \(base, new\): assay.answer_systems"):
        assay.answers(ROWS, ["exact_match"])
    one = [{**row, "system": "base"} for row in ROWS if row["system"] == "base"]
    assert assay.answers(one, ["exact_match"], method="words", name="mine").name == "mine"
    assert list(assay.answer_systems(one, ["exact_match"], method="words")) == ["base"]


@pytest.mark.parametrize("column", ["system", "System", "model", "system_name", "model_name"])
def test_the_column_has_other_names(column, tmp_path):
    rows = [{column if key == "system" else key: value for key, value in row.items()} for row in ROWS]
    assert read_samples(tmp_path / lines(tmp_path / "s.jsonl", rows)).systems == ("base", "new")


def test_a_model_beside_a_system_is_just_a_column():
    found = assay.answer_systems([{**row, "model": "gpt"} for row in ROWS], ["exact_match"], method="words")
    assert list(found) == ["base", "new"]


def test_any_column_can_be_named():
    rows = [{"who" if key == "system" else key: value for key, value in row.items()} for row in ROWS]
    found = assay.answer_systems(rows, ["exact_match"], method="words", columns={"system": "who"})
    assert list(found) == ["base", "new"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, {**ROWS[0], "id": "9", "system": None}], "row 7 names no system"),
        ([*ROWS, ROWS[0]], "sample '1' of system 'base' appears in rows 1 and 7"),
        (
            [*ROWS[:2], {**ROWS[2], "id": "3"}, {**ROWS[3], "id": "3", "question": "Else?"}],
            "sample '3' is not the same",
        ),
        (
            [*ROWS[:2], {**ROWS[2], "id": "3"}, {**ROWS[3], "id": "3", "reference": "Else."}],
            "sample '3' is not the same",
        ),
    ],
)
def test_what_cannot_be_told_apart_is_refused(rows, said, tmp_path):
    with pytest.raises(assay.InputError, match=said):
        read_samples(tmp_path / lines(tmp_path / "s.jsonl", rows))


def test_samples_without_ids_are_numbered_within_their_system_where_the_questions_agree():
    rows = [{key: value for key, value in row.items() if key != "id"} for row in ROWS]
    found = assay.answer_systems(rows, ["exact_match"], method="words")
    assert [scores.query_ids for scores in found.values()] == [["1", "2", "3"]] * 2
    apart = assay.answer_systems([rows[0], rows[3], rows[5], rows[2]], ["exact_match"], method="words")
    assert [scores.query_ids for scores in apart.values()] == [["1", "4"], ["2", "3"]]


def test_the_command_shows_every_system_and_other_commands_read_its_result(call, tmp_path):
    lines(tmp_path / "s.jsonl", ROWS)
    words = ["answers", "s.jsonl", "--method", "words", "-m", "exact_match", "-m", "faithfulness"]
    code, out, _ = call(*words, "-o", "r.json", "--per-sample", "e.jsonl")
    assert code == 0
    code, out, _ = call(*words)
    shown = [line.split() for line in out.splitlines()]
    assert ["measure", "base", "new"] in shown
    assert ["exact_match", "0.3333", "0.6667"] in shown and ["faithfulness", "0.3333", "1.0000"] in shown
    evidence = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["system"], row["query_id"]) for row in evidence] == sorted((row["system"], row["id"]) for row in ROWS)
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert {one["name"]: one["metrics"]["exact_match"] for one in result["systems"]} == {"base": 1 / 3, "new": 2 / 3}
    code, out, _ = call("compare", "r.json", "-m", "exact_match")
    assert code == 0 and "+0.3333" in out
    code, out, _ = call("gate", "r.json", "--fail-under", "exact_match=0.5")
    assert code == 1 and "Gate for base: failed" in out and "Gate for new: passed" in out
    code, out, _ = call("diagnose", "r.json")
    assert code == 0 and out.count("wrong refusal") == 2  # a row and its advice, of the one system that refuses
    code, _, _ = call("report", "r.json", "-o", "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert code == 0 and "base" in page and "new" in page
    code, _, _ = call("report", "r.json", "-o", "r.md")
    assert "| new | 3 |" in (tmp_path / "r.md").read_text(encoding="utf-8").replace(" 3 | ", " 3 |")
    code, out, _ = call(*words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {(row["system"], row["measure"], float(row["mean"])) for row in rows if row["measure"] == "exact_match"} == {
        ("base", "exact_match", 1 / 3), ("new", "exact_match", 2 / 3)
    }  # fmt: skip
    code, out, _ = call(*words, "--lang", "zh")
    assert "系统" in out and "2 个系统" in out


def test_several_files_are_several_systems(call, tmp_path):
    for name in ("base", "new"):
        rows = [{key: value for key, value in row.items() if key != "system"} for row in ROWS if row["system"] == name]
        lines(tmp_path / f"{name}.jsonl", rows)
    words = ["--method", "words", "-m", "exact_match", "-o", "r.json"]
    assert call("answers", "base.jsonl", "better=new.jsonl", *words)[0] == 0
    result = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [(one["name"], one["file"], one["metrics"]["exact_match"]) for one in result["systems"]] == [
        ("base", "base.jsonl", 1 / 3), ("better", "new.jsonl", 2 / 3)
    ]  # fmt: skip
    assert {entry["path"] for entry in result["inputs"]} == {"base.jsonl", "new.jsonl"}
    code, _, err = call("answers", "base.jsonl", "base=new.jsonl", *words)
    assert (code, err) == (2, "assay: two systems are called 'base': give them names, as in NAME=FILE\n")
    lines(tmp_path / "both.jsonl", ROWS)
    code, _, err = call("answers", "x=both.jsonl", *words)
    assert (code, err) == (2, "assay: both.jsonl holds 2 systems: one name cannot name them all\n")
    found = assay.answer_systems(
        {"base": tmp_path / "base.jsonl", "better": tmp_path / "new.jsonl"}, ["exact_match"], method="words"
    )
    assert {name: scores["exact_match"] for name, scores in found.items()} == {"base": 1 / 3, "better": 2 / 3}


def test_files_with_other_questions_under_the_same_ids_are_refused(tmp_path):
    one = read_samples(tmp_path / lines(tmp_path / "a.jsonl", [{"id": "1", "question": "A?", "answer": "a"}]))
    two = read_samples(tmp_path / lines(tmp_path / "b.jsonl", [{"id": "1", "question": "B?", "answer": "b"}]))
    with pytest.raises(assay.InputError, match="sample '1' is not the same"):
        join_samples({"a": one, "b": two})


def test_systems_without_a_sample_in_common_stand_side_by_side_and_are_told_so(call, tmp_path):
    lines(tmp_path / "s.jsonl", [{**row, "id": f"{row['id']}/{row['system']}", "task": row["id"]} for row in ROWS])
    code, out, _ = call(
        "answers", "s.jsonl", "--method", "words", "-m", "exact_match", "-o", "r.json", "--report", "r.md"
    )
    assert code == 0
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["warnings"]
    texts = [one if isinstance(one, str) else one["text"] for one in told]
    assert any("the systems have no question in common" in text and "--map query_id=COLUMN" in text for text in texts)
    code, _, err = call("compare", "r.json", "-m", "exact_match")
    assert (code, err.count("\n")) == (2, 1)
    code, out, _ = call("answers", "s.jsonl", "--method", "words", "-m", "exact_match", "--map", "query_id=task")
    assert code == 0 and "no question in common" not in out


def test_a_judge_is_asked_about_all_systems_at_once_and_each_has_its_own_methods():
    def judge(messages):
        text = str(messages)
        if "tea 2" in text and "Cats" not in text:  # the second sample of the new system
            raise RuntimeError("gone")
        return json.dumps({"seal": seal_of(messages), "1": {"reason": "x", "verdict": "yes", "contexts": [1]}})

    rows = [row for row in ROWS if row["answer"] != "I don't know."]
    rows.sort(key=lambda row: row["system"])
    found = assay.answer_systems(rows, ["faithfulness"], judge=judge)
    assert [dict(scores.methods) for scores in found.values()] == [{"llm": 3}, {"llm": 1, "words": 1}]
    assert found["new"].counts["faithfulness"].judged_by == {"words": 1}
    assert found["base"].counts["faithfulness"].judged_by == {}
    assert (found["base"].judge != "", found["base"].labels) == (True, ("faithfulness",))


def test_the_judge_of_a_system_that_needed_none_is_not_told(tmp_path):
    by_judge, by_words = (
        assay.answers(
            [row for row in ROWS if row["system"] == name], ["faithfulness"], method=method, name=name,
            judge=(lambda _: json.dumps({"1": {"reason": "x", "verdict": "yes", "contexts": [1]}})) if method == "llm" else None,
        )
        for name, method in (("base", "llm"), ("new", "words"))
    )  # fmt: skip
    for order in ([by_judge, by_words], [by_words, by_judge]):
        assay.write_result(order, tmp_path / "r.json")
        read = {one.name: one for one in assay.read_result(tmp_path / "r.json")}
        assert (bool(read["base"].judge), read["new"].judge) == (True, "")


def test_real_systems_have_the_shares_that_counting_gives(shared):
    """MTRAG: three systems of 78 answers each, one of them the references themselves."""
    place = shared / "mtrag" / "dev.jsonl"
    rows = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    equal, sizes = defaultdict(int), defaultdict(int)
    for row in rows:
        sizes[row["system"]] += 1
        equal[row["system"]] += row["answer"] == row["reference"]
    found = assay.answer_systems(place, ["exact_match"], method="words", columns={"query_id": "task"})
    assert sorted(found) == sorted(sizes)
    for name, scores in found.items():
        assert scores.counts["exact_match"].queries == sizes[name] == 78
        assert math.isclose(scores["exact_match"], equal[name] / sizes[name])
    assert found["reference"]["exact_match"] == 1.0
    compared = assay.compare(list(found.values()), ["exact_match"], baseline="reference")
    assert [contrast.difference.estimate for contrast in compared.contrasts] == [-1.0, -1.0]


CITED = [
    {"id": str(i), "system": system, "question": "When?", "answer": f"It opened in {1880 + i}{mark}.", "contexts": [f"It opened in {1880 + i}."]}
    for i in range(12)
    for system, mark in (("base", ""), ("new", " [1]" if i == 3 else ""))
]  # fmt: skip


def test_a_measure_that_only_one_system_has_values_of_is_left_out_of_the_comparison(call):
    write(CITED)
    code, _, err = call("answers", "s.jsonl", "--method", "words", "-o", "r.json", "--report", "r.html")
    assert code == 0, err
    code, out, err = call("compare", "r.json")
    assert (code, err) == (0, "")
    told = "not compared, because no sample has a value for every system: citation_precision, citation_recall"
    assert told in " ".join(out.split())
    assert "have the same faithfulness" in out and "citation_precision of" not in out
    code, _, err = call("compare", "r.json", "-m", "citation_precision")
    assert code == 2 and "no sample has a value for every system" in err


def write(rows):
    Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
