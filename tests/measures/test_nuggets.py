"""Nuggets: what an answer holds of the facts that were listed, against an oracle; where they come from, what is told."""

from __future__ import annotations

import json
import random
import re

import pytest

import assay
from assay.testing import seal_of
from commands import run_assay

VALUES = {"yes": 1.0, "partly": 0.5, "no": 0.0}
LABELS = {
    ("vital", False): "nugget_recall",
    ("vital", True): "nugget_recall(strict=true)",
    ("all", False): "nugget_recall(of='all')",
    ("all", True): "nugget_recall(of='all',strict=true)",
}
HIGH = {"text": "It is 330 metres high", "importance": "vital"}
BUILT = {"text": "The tower was built in 1889", "importance": "vital"}
PAINT = {"text": "Painters need sixty tonnes of paint", "importance": "okay"}
SAID = "The tower was built in 1889."


def row(name: str = "q1", answer: str | None = SAID, **more) -> dict:
    return {"id": name, "question": "What about the tower?", "answer": answer, **more}


def cell(measure: str = "nugget_recall", **given):
    (one,) = assay.answers([row(**given)], [measure], method="words").outcomes
    return one.cells[measure]


def oracle(told: list[tuple[str, str]], of: str, *, strict: bool) -> float | None:
    counted = [VALUES[verdict] for importance, verdict in told if of == "all" or importance == "vital"]
    held = [value for value in counted if not strict or value == 1]
    return sum(held) / len(counted) if counted else None


def judge(messages) -> str:
    """A judge whose verdict on a nugget is its last word."""
    found = re.findall(r"^\[statement (\d+) \w{16}\]\n(.*?)\n\[end", messages[-1]["content"], re.MULTILINE | re.DOTALL)
    verdicts = {number: text.split()[-1] for number, text in found}
    told = {
        number: {"reason": "so", "verdict": said, "contexts": [1] * (said != "no")} for number, said in verdicts.items()
    }  # fmt: skip
    return json.dumps({"seal": seal_of(messages), **told})


def test_a_judges_verdicts_count_as_the_oracle_counts_them():
    rng = random.Random(7)
    told = [
        [(rng.choice(["vital", "okay", ""]), rng.choice(list(VALUES))) for _ in range(rng.randint(1, 6))]
        for _ in range(40)
    ]
    rows = [
        row(f"q{i}", nuggets=[{"text": f"fact {n} is {verdict}", "importance": weight or None}
                              for n, (weight, verdict) in enumerate(one)])
        for i, one in enumerate(told)
    ]  # fmt: skip
    found = assay.answers(rows, list(LABELS.values()), judge=judge, method="llm")
    for (of, strict), label in LABELS.items():
        expected = [oracle(one, of, strict=strict) for one in told]
        cells = [outcome.cells[label] for outcome in found.outcomes]
        assert [one.value for one in cells] == pytest.approx(expected)
        assert [one.status for one in cells] == ["undefined" if value is None else "scored" for value in expected]
        assert found[label] == pytest.approx(sum(filter(None, expected)) / sum(value is not None for value in expected))
    assert not any("people is not known" in str(text) for text in found.warnings)


def test_the_judge_is_asked_about_each_nugget_as_it_stands_and_shown_the_answer_alone():
    asked: list[str] = []

    def noting(messages):
        asked.append(messages[-1]["content"])
        return judge(messages)

    listed = ["It was new. It was tall: yes", "The documents do not say who paid: no"]
    given = row(answer="It was tall [1].", contexts=["A source."], nuggets=listed)
    found = assay.answers([given], ["nugget_recall(of='all')"], judge=noting, method="llm")
    assert found["nugget_recall(of='all')"] == 0.5
    (text,) = asked
    assert "\n".join(re.findall(r"\n(.*)\n\[end of statement", text)) == "\n".join(listed)
    assert "It was tall" in text
    assert "A source" not in text
    assert text.count("[context ") == 1


def test_a_failure_of_the_judge_leaves_the_other_samples_with_the_judge():
    def failing(messages):
        return "{}" if "broken" in messages[-1]["content"] else judge(messages)

    rows = [row("a", nuggets=["fact yes"]), row("b", answer="It is broken.", nuggets=["It is broken"])]
    found = assay.answers(rows, ["nugget_recall(of='all')"], judge=failing)
    assert [one.cells["nugget_recall(of='all')"].method for one in found.outcomes] == ["llm", "words"]


def test_words_find_the_nuggets_that_are_said_and_the_note_names_the_others():
    listed = [BUILT, HIGH, PAINT]
    found = cell(nuggets=listed)
    assert (found.value, found.status) == (0.5, "scored")
    assert "It is 330 metres high" in str(found.note)
    assert "Painters" not in str(found.note)  # okay nuggets do not count here
    assert cell("nugget_recall(of='all')", nuggets=listed).value == pytest.approx(1 / 3)
    assert cell(nuggets=[BUILT], answer="The tower was built in 1920.").value < 1
    assert cell(nuggets=[{"text": "铁塔建于1889年", "importance": "vital"}], answer="铁塔建于1889年。").value == 1.0


def test_half_of_the_words_are_half_a_nugget_unless_strict():
    # tower, built: two of three content words are in the answer, none of them contradicted
    given = {"nuggets": ["tower built engineers"], "answer": "A tower was built."}
    assert cell("nugget_recall(of='all')", **given).value == 0.5
    assert cell("nugget_recall(of='all',strict=true)", **given).value == 0.0


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        ({}, "not_applicable", "no nuggets"),
        ({"nuggets": []}, "not_applicable", "no nuggets"),
        ({"nuggets": ["?!"]}, "not_applicable", "no nuggets"),
        ({"nuggets": ["a fact", PAINT]}, "undefined", "no nugget is vital"),
        ({"nuggets": [PAINT], "answer": None}, "undefined", "no nugget is vital"),
        ({"nuggets": "a fact"}, "failed", "expected a list of nuggets"),
        ({"nuggets": [{"text": "a fact", "importance": "high"}]}, "failed", "expected vital or okay"),
        ({"nuggets": [BUILT], "answer": None}, "missing", "no answer"),
    ],
)
def test_what_has_no_value_says_why(given, status, reason):
    found = cell(**given)
    assert (found.value, found.status) == (None, status)
    assert reason in found.reason


def test_a_refusal_holds_nothing_and_a_missing_answer_counts_as_nothing():
    assert cell(nuggets=[BUILT], answer="I don't know when the tower was built.").value == 0.0
    easy = assay.answers([row(answer="I don't know.", nuggets=["fact yes"])], [LABELS["all", False]], judge=judge)
    assert easy[LABELS["all", False]] == 0.0
    rows = [row("a", nuggets=[BUILT]), row("b", answer=None, nuggets=[BUILT])]
    assert assay.answers(rows, ["nugget_recall"], method="words")["nugget_recall"] == 0.5


def test_nuggets_of_a_file_go_to_the_samples_with_their_ids(tmp_path):
    listed = [{"qid": "a", "nuggets": [BUILT]}, {"qid": "b", "nuggets": [HIGH]}, {"qid": "z", "nuggets": [HIGH]}]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(one) + "\n" for one in listed), encoding="utf-8")
    rows = [row("b"), row("a"), row("c")]
    found = assay.answers(rows, method="words", nuggets=tmp_path / "n.jsonl")
    cells = {one.sample.query_id: one.cells["nugget_recall"] for one in found.outcomes}
    assert {name: (one.value, one.status) for name, one in cells.items()} == {
        "a": (1.0, "scored"), "b": (0.0, "scored"), "c": (None, "not_applicable")}  # fmt: skip
    assert any("1 id that no sample has: z" in note for note in found.notes)
    assert "nuggets" in dict(found.inputs)
    same = assay.answers(rows, method="words", nuggets=assay.read_nuggets(tmp_path / "n.jsonl"))
    assert same["nugget_recall"] == found["nugget_recall"]
    others = assay.answers([{**one, "nuggets": [HIGH]} for one in rows], ["nugget_recall"], method="words")
    assert others.judgments != found.judgments  # another question is asked of the answers


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([row("x")], "no sample has an id of the nuggets"),
        ([{"answer": SAID}], "no column says which question a sample answers"),
        ([row("a", nuggets=["mine"])], "have a column of nuggets already"),
    ],
)
def test_nuggets_that_cannot_be_given_to_samples_are_refused(rows, told):
    listed = [assay.QuestionNuggets("a", "", (assay.Nugget("tall", "vital"),))]
    with pytest.raises(assay.AssayError, match=told):
        assay.answers(rows, ["nugget_recall"], method="words", nuggets=listed)


def test_systems_with_other_nuggets_for_a_question_are_refused():
    rows = [row(system="old", nuggets=[BUILT]), row(system="new", nuggets=[HIGH])]
    with pytest.raises(assay.AssayError, match="nuggets differ"):
        assay.answer_systems(rows, ["nugget_recall"], method="words")


def test_an_engine_gives_the_same_values(tmp_path):
    rows = [row("a", nuggets=[BUILT, HIGH]), row("b", nuggets=[BUILT]), row("c", nuggets=[PAINT])]
    place = tmp_path / "s.jsonl"
    place.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    here = assay.answers(place, method="words")
    there = assay.answer_tables(place, engine="local", method="words")["s"]
    assert here["nugget_recall"] == there["nugget_recall"] == 0.75
    assert here.judgments == there.judgments


def test_the_command_reads_them_and_says_that_nobody_knows_how_far_words_agree_with_people(tmp_path):
    (tmp_path / "s.jsonl").write_text(json.dumps(row()) + "\n", encoding="utf-8")
    line = {"qid": "q1", "nuggets": [BUILT, HIGH]}
    (tmp_path / "n.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    words = ["answers", "s.jsonl", "--nuggets", "n.jsonl", "-m", "nugget_recall", "--method", "words"]
    done = run_assay(*words, "--per-sample", "each.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.5000" in done.stdout
    assert "nugget_recall: without a judge, how far it agrees with people is not known" in done.stdout + done.stderr
    assert "Spearman" not in done.stdout + done.stderr
    each = json.loads((tmp_path / "each.jsonl").read_text(encoding="utf-8"))
    assert each["scores"]["nugget_recall"]["note"] == "not in the answer: 'It is 330 metres high'"
    chinese = run_assay(*words, "--lang", "zh", cwd=tmp_path)
    assert "与人工判断的一致程度未知" in chinese.stdout + chinese.stderr
