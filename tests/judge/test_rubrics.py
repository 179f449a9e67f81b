"""Users' own rubrics: read with care, asked of a judge like everything else, and measures like any other afterwards."""

from __future__ import annotations

import json
import re
import statistics
from hashlib import sha256
from pathlib import Path

import pytest

import assay
from assay.errors import InputError, NotComparable, UsageError
from assay.judge.criteria import read_rubric
from assay.llm import Client
from assay.measures import parse
from assay.testing import FakeLLM
from commands import run_assay

TONE = """# Tone

needs: question

Is the answer polite? Judge nothing else.

## Scale

- 1: rude
- **2**: cold,
  or wooden
- 5: friendly
"""
ROWS = [
    {"id": "a", "question": "When?", "answer": "In 1889, my dear.", "contexts": ["It opened in 1889."]},
    {"id": "b", "question": "Where?", "answer": "Read the manual!", "contexts": ["It is in Paris."]},
    {"id": "c", "question": "Why?", "answer": "I do not know.", "contexts": ["It is in Paris."]},
    {"id": "d", "question": "Who?", "answer": "", "contexts": ["It is in Paris."]},
    {"id": "e", "question": None, "answer": "Eiffel, my dear.", "contexts": ["It is in Paris."]},
]
GRADES = {"In 1889, my dear.": 5, "Read the manual!": 1, "I do not know.": 2}  # the judge's, by answer


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tone.md").write_text(TONE, encoding="utf-8")
    return tmp_path


def shown(text: str, name: str) -> list[str]:
    """The texts of a prompt between the marks of a name, read as a judge would."""
    return re.findall(rf"^\[{name} (\w{{16}})\]\n(.*?)\n\[end of {name} \1\]$", text, re.MULTILINE | re.DOTALL)


def grade(received) -> str:
    """A judge who grades answers by the table, and finds every statement in the first context."""
    if answers := shown(received.text, "answer"):
        return json.dumps({"reason": f"said {answers[0][1][:9]}", "grade": GRADES.get(answers[0][1], 1)})
    numbers = re.findall(r"^\[statement (\d+) ", received.text, re.MULTILINE)
    return json.dumps({number: {"reason": "so", "verdict": "yes", "contexts": [1]} for number in numbers})


def judged(measures, rows=ROWS, reply=grade, **more):
    with FakeLLM(reply) as server, Client(server.url, "m") as client:
        found = assay.answers(rows, measures, judge=client, **more)
        return found, list(server.requests)


# Reading -------------------------------------------------------------------------------------------------------------


def test_a_rubric_has_a_text_a_scale_and_what_it_needs(home):
    found = read_rubric("tone.md")
    assert found.name == "tone"
    assert found.digest == sha256(TONE.encode()).hexdigest()[:12]
    assert found.criterion.text == "# Tone\n\n\n\nIs the answer polite? Judge nothing else."
    assert found.criterion.scale.meanings == {1: "rude", 2: "cold, or wooden", 5: "friendly"}
    assert (found.criterion.shows, found.criterion.needs) == (("question",), ("question",))


def test_a_rubric_may_have_a_name_and_needs_nothing_by_default(home):
    Path("x.md").write_text("name: 语气\n\n是否礼貌？\n\n* 0：无礼\n* 1： 有礼\n\n只看语气。\n", encoding="utf-8")
    found = read_rubric("x.md")
    assert found.name == "语气"
    assert found.criterion.text == "是否礼貌？\n\n只看语气。"
    assert found.criterion.scale.meanings == {0: "无礼", 1: "有礼"}
    assert (found.criterion.shows, found.criterion.needs) == (("question", "contexts", "reference"), ())


def test_the_end_of_lines_is_no_difference_between_rubrics(home):
    Path("dos.md").write_bytes(b"\xef\xbb\xbf" + TONE.replace("\n", "\r\n").encode())
    assert read_rubric("dos.md").digest == read_rubric("tone.md").digest


BAD = {
    "no scale": ("Is it polite?\n", r"bad\.md: there is no scale \(expected a list with two lines or more such as - 0: poor\)"),
    "one grade": ("Is it polite?\n\n- 0: no\n", r"bad\.md: the scale has only one grade"),
    "no text": ("# Tone\n\n- 0: no\n- 1: yes\n", r"bad\.md:3: the rubric does not say what to judge"),
    "twice": ("Polite?\n\n- 0: no\n- 1: yes\n- 0: never\n", r"bad\.md:5: grade 0 appears twice"),
    "half": ("Polite?\n\n- 0: no\n- 0.5: so so\n- 1: yes\n", r"bad\.md:4: '0\.5' is not a grade \(a grade is a whole number"),
    "below 0": ("Polite?\n\n- -1: no\n- 1: yes\n", r"bad\.md:3: '-1' is not a grade \(a grade is a whole number of 0 or more"),
    "no meaning": ("Polite?\n\n- 0: no\n- 1:\n", r"bad\.md:4: grade 1 has no meaning"),
    "text inside": ("Polite?\n- 0: no\nbut\n- 1: yes\n", r"bad\.md:3: 'but' is not a line of the scale"),
    "unknown key": ("need: question\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md:1: unknown key 'need'"),
    "key twice": ("name: a\nname: b\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md:2: name appears twice"),
    "unknown field": ("# T\n\nneeds: question, gold\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md:3: needs: 'gold' is not known \(expected some of answer, question, contexts, reference\)"),
    "needs nothing": ("needs:\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md:1: needs: names nothing"),
    "odd name": ("name: a=b\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md:1: 'a=b' cannot be a name"),
    "name of a measure": ("name: faithfulness\n\nPolite?\n- 0: no\n- 1: yes\n", r"bad\.md: there is already a measure called faithfulness"),
    "empty": ("", r"bad\.md: the file is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_rubric_that_is_none_is_refused_in_one_line_with_its_place(home, name):
    text, told = BAD[name]
    Path("bad.md").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told) as caught:
        judged(["bad.md"])
    assert "\n" not in str(caught.value)


def test_a_rubric_that_does_not_exist_is_named(home):
    with pytest.raises(InputError, match=r"none\.md: no such file"):
        judged(["none.md"])


# Values --------------------------------------------------------------------------------------------------------------


def test_the_value_is_the_grade_on_its_own_scale(home):
    found, requests = judged(["tone.md"])
    assert dict(zip(found.query_ids, found.column("tone"), strict=True)) == pytest.approx(
        {"a": 5.0, "b": 1.0, "c": 2.0, "d": float("nan"), "e": float("nan")}, nan_ok=True
    )
    assert found["tone"] == statistics.fmean(GRADES.values())
    assert [outcome.cells["tone"].status for outcome in found.outcomes] == [
        "scored", "scored", "scored", "missing", "not_applicable",
    ]  # fmt: skip
    assert found.outcomes[4].cells["tone"].reason == "the sample has no question"
    assert len(requests) == 3
    column = found.about("tone")
    digest = sha256(TONE.encode()).hexdigest()[:12]
    assert column.definition == f"rubric(digest='{digest}', high=5, low=1, method='llm', name='tone')"
    assert (column.bounds, column.method, column.subject) == ((1.0, 5.0), "llm", "answers")
    interval = found.interval("tone")
    assert 1.0 <= interval.low < interval.high <= 5.0
    assert found["tone.md"] == found["tone"]
    assert parse(column.definition).column("tone") == column


def test_what_the_judge_said_is_kept(home):
    found, _ = judged(["tone.md"])
    assert found.outcomes[0].cells["tone"].note == "said In 1889, "


@pytest.mark.parametrize(
    ("needs", "seen"),
    [
        ("needs: question\n\n", {"question"}),
        ("needs: answer\n\n", set()),
        ("needs: contexts, reference\n\n", {"context 1", "context 2", "reference 1"}),
        ("", {"question", "context 1", "context 2", "reference 1"}),
    ],
)
def test_the_judge_sees_what_the_rubric_needs_and_nothing_else(home, needs, seen):
    Path("x.md").write_text(f"{needs}Costs $5?\n\n- 0: no\n- 7: yes\n", encoding="utf-8")
    row = {**ROWS[0], "contexts": ["one", "two"], "reference": "1889"}
    _, (request,) = judged(["x.md"], [row], lambda _: '{"reason": "x", "grade": 7}')
    names = re.findall(r"^\[(?!end of )(.+?) \w{16}\]$", request.text, re.MULTILINE)
    assert set(names) == {*seen, "answer"}
    assert "Costs $5?" in request.text
    assert "- 0: no\n- 7: yes" in request.text
    assert request.schema["properties"]["grade"]["enum"] == [0, 7]


def test_a_sample_without_what_the_rubric_needs_is_not_asked_about(home):
    Path("x.md").write_text("needs: reference, contexts\n\nSame?\n\n- 0: no\n- 1: yes\n", encoding="utf-8")
    rows = [ROWS[0], {**ROWS[1], "reference": "Paris"}, {**ROWS[2], "reference": "x", "contexts": []}]
    found, requests = judged(["x.md"], rows)
    assert [outcome.cells["x"].status for outcome in found.outcomes] == ["not_applicable", "scored", "not_applicable"]
    assert len(requests) == 1


def test_a_chinese_sample_is_asked_about_in_chinese(home):
    row = {
        "id": "1",
        "question": "绿茶用多少度的水？",
        "answer": "绿茶用八十度的水。",
        "contexts": ["绿茶宜用八十度的水。"],
    }
    found, (request,) = judged(["tone.md"], [row])
    assert "按照该标准，该回答应得 1 到 5 中的哪个等级" in request.text
    assert found.judge.startswith("m (criterion-zh-1+")


def test_long_contexts_are_cut_and_that_is_said(home):
    Path("x.md").write_text("needs: contexts\n\nFine?\n\n- 0: no\n- 1: yes\n", encoding="utf-8")
    row = {**ROWS[0], "contexts": ["a" * 50, "b" * 70]}
    found, (request,) = judged(["x.md"], [row], lambda _: '{"reason": "so", "grade": 1}', max_chars=60)
    assert [text for _, text in shown(request.text, "context 2")] == ["b" * 10]
    assert found.outcomes[0].cells["x"].note == "so (contexts were cut to 60 of 120 characters)"


@pytest.mark.parametrize("reply", ['{"reason": "x", "grade": 3}', '{"reason": "x", "grade": "5"}', "friendly"])
def test_a_grade_that_is_not_on_the_scale_is_a_failure(home, reply):
    found, _ = judged(["tone.md"], ROWS[:1], lambda _: reply)
    cell = found.outcomes[0].cells["tone"]
    assert (cell.value, cell.status) == (None, "failed")
    assert cell.reason.startswith("llm: parse")


def test_a_rubric_needs_a_judge(home):
    with pytest.raises(UsageError, match=r"^tone needs a judge: --judge MODEL with --url \(in Python: judge=client\)$"):
        assay.answers(ROWS, ["tone.md"])


def test_the_judge_grades_by_a_rubric_where_another_method_finds_the_support(home):
    found, requests = judged(["faithfulness", "tone.md"], method="words")
    assert found.definitions["faithfulness"] == "faithfulness(method='words')"
    assert found["tone"] == statistics.fmean(GRADES.values())
    assert len(requests) == 3, "nobody is asked about statements"
    assert found.judge.startswith("m (criterion-en-1+")


def test_what_two_measures_need_is_paid_for_once(home):
    names = ["faithfulness", "faithfulness(method='llm')", "tone.md"]
    _, requests = judged(names, ROWS[:2])
    assert len(requests) == 2 + 2


def test_rubrics_of_one_name_are_told_apart_or_refused(home):
    Path("other").mkdir()
    Path("other/tone.md").write_text(TONE.replace("rude", "very rude"), encoding="utf-8")
    with pytest.raises(UsageError, match="two measures would be called tone"):
        judged(["tone.md", "other/tone.md"])
    Path("other/tone.md").write_text("name: strict\n\n" + TONE.replace("needs: question\n", ""), encoding="utf-8")
    found, _ = judged(["tone.md", "other/tone.md"])
    assert found.labels == ("tone", "strict")


def test_a_rubric_is_a_measure_of_answers(home):
    with pytest.raises(UsageError, match="tone is a measure of answers, not of rankings: use assay answers"):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["tone.md"])
    with pytest.raises(UsageError, match=r"a rubric is a file: name it, as in -m tone\.md"):
        judged(["rubric"])
    with pytest.raises(UsageError, match=r"the rubric 'x' \(00ff\) has not been read: name its file"):
        judged(["rubric(name='x', digest='00ff')"])


# Other commands ------------------------------------------------------------------------------------------------------


def write_rows(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


KINDER = [{**row, "answer": "In 1889, my dear." if row["id"] in "bc" else row["answer"]} for row in ROWS]


@pytest.fixture
def results(home):
    """Results of two systems by one rubric, in a folder that does not have it."""
    write_rows("one.jsonl", ROWS[:3])
    write_rows("two.jsonl", KINDER[:3])
    (home / "elsewhere").mkdir()
    with FakeLLM(grade) as server:
        for name in ("one", "two"):
            done = run_assay("answers", f"{name}.jsonl", "-m", "tone.md", "--judge", "m", "--url", server.url, "--no-cache",
                       "-o", f"elsewhere/{name}.json", cwd=home)  # fmt: skip
            assert done.returncode == 0, done.stderr
        Path("tone.md").write_text(TONE.replace("rude", "very rude"), encoding="utf-8")
        done = run_assay("answers", "two.jsonl", "-m", "tone.md", "--judge", "m", "--url", server.url, "--no-cache",
                   "-o", "elsewhere/three.json", cwd=home)  # fmt: skip
        assert done.returncode == 0, done.stderr
    Path("tone.md").unlink()
    return home / "elsewhere"


def test_results_of_a_rubric_are_shown_and_compared_where_the_rubric_is_not(results):
    done = run_assay("compare", "one.json", "two.json", "-m", "tone", "--format", "json", cwd=results)
    assert done.returncode == 0, done.stderr
    means = {one["name"]: one["metrics"]["tone"] for one in json.loads(done.stdout)["systems"]}
    assert means == {"one": pytest.approx((5 + 1 + 2) / 3), "two": 5.0}
    column = assay.read_result(results / "one.json")[0].about("tone")
    assert (column.bounds, column.subject, column.method, column.name) == ((1.0, 5.0), "answers", "llm", "rubric")
    done = run_assay("report", "one.json", "two.json", "-o", "r.html", cwd=results)
    assert done.returncode == 0, done.stderr
    assert "tone" in (results / "r.html").read_text(encoding="utf-8")


def test_a_gate_holds_a_rubric_against_a_threshold_and_a_baseline(results):
    assert run_assay("gate", "two.json", "--fail-under", "tone=4.5", cwd=results).returncode == 0
    failed = run_assay("gate", "one.json", "--fail-under", "tone=4.5", cwd=results)
    assert failed.returncode == 1
    assert "tone" in failed.stdout
    kept = run_assay("gate", "two.json", "--not-worse-than", "one.json", "-m", "tone.md", cwd=results)
    assert kept.returncode == 0, kept.stdout + kept.stderr


def test_results_of_different_rubrics_are_never_compared_as_one(results):
    done = run_assay("compare", "one.json", "three.json", "-m", "tone", cwd=results)
    assert done.returncode == 2
    assert "these are different measures" in done.stderr


def test_samples_that_one_system_has_no_value_for_are_left_out_of_the_comparison(home):
    one, _ = judged(["tone.md"], ROWS, name="one")
    two, _ = judged(["tone.md"], [{**KINDER[0], "answer": ""}, *KINDER[1:]], name="two")
    found = assay.compare([one, two])
    assert [mean.n for mean in found.means["tone"]] == [2, 2]
    assert [mean.estimate for mean in found.means["tone"]] == [1.5, 5.0]
    Path("tone.md").write_text(TONE.replace("rude", "nasty"), encoding="utf-8")
    other, _ = judged(["tone.md"], KINDER, name="other")
    with pytest.raises(NotComparable, match="these are different measures"):
        assay.compare([one, other])


def test_a_dry_run_counts_the_calls_and_replies_are_kept(home):
    write_rows("s.jsonl", ROWS)
    with FakeLLM(grade) as server:
        judge = ("--judge", "m", "--url", server.url, "--cache", "c.sqlite")
        planned = run_assay("answers", "s.jsonl", "-m", "tone.md", *judge, "--dry-run", cwd=home)
        assert planned.returncode == 0, planned.stderr
        assert "3 calls" in planned.stdout
        assert not server.requests
        assert run_assay("answers", "s.jsonl", "-m", "tone.md", *judge, cwd=home).returncode == 0
        assert len(server.requests) == 3
        assert run_assay("answers", "s.jsonl", "-m", "tone.md", *judge, cwd=home).returncode == 0
        assert len(server.requests) == 3, "paid for once"
        Path("tone.md").write_text(TONE.replace("rude", "very rude"), encoding="utf-8")
        assert run_assay("answers", "s.jsonl", "-m", "tone.md", *judge, cwd=home).returncode == 0
        assert len(server.requests) == 6, "another rubric is another question"


def test_a_budget_that_is_too_small_for_a_rubric_pays_for_nothing(home):
    write_rows("s.jsonl", ROWS)
    Path("prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ndate = 2026-01-01\ninput = 1000\noutput = 1000\ncurrency = "USD"\n',
        encoding="utf-8",
    )
    with FakeLLM(grade) as server:
        done = run_assay("answers", "s.jsonl", "-m", "tone.md", "--judge", "m", "--url", server.url, "--no-cache",
                   "--prices", "prices.toml", "--max-cost", "0.0001", cwd=home)  # fmt: skip
        assert not server.requests
    assert done.returncode == 1
    assert "budget" in done.stdout


def test_a_protocol_may_name_a_rubric_beside_it(home):
    (home / "rules").mkdir()
    Path("tone.md").rename("rules/tone.md")
    Path("rules/mine.toml").write_text('name = "mine"\n[measures]\nmanners = "tone.md"\n', encoding="utf-8")
    found, _ = judged(None, protocol="rules/mine.toml")
    assert found.labels == ("manners",)
    assert found["manners"] == statistics.fmean(GRADES.values())
    assert "rules" not in json.dumps(found.protocol.to_dict())


def test_the_example_is_a_rubric():
    found = read_rubric(Path(__file__).parents[2] / "examples" / "tone.md")
    assert found.criterion.scale.grades == (0, 1, 2, 3)
    assert found.criterion.needs == ("question",)


def test_the_page_of_a_rubric_says_what_it_is(home):
    done = run_assay("measures", "rubric", cwd=home)
    assert done.returncode == 0
    assert "values from its lowest to its highest grade; needs answer and a judge" in done.stdout


def test_no_command_writes_over_the_rubric_that_it_reads(results):
    rubric = results / "tone.md"
    rubric.write_text(TONE, encoding="utf-8")
    write_rows(results / "s.jsonl", ROWS)
    (results / "e.toml").write_text(
        '[data]\ndocuments = "s.jsonl"\nqueries = "s.jsonl"\njudgments = "s.jsonl"\n[evaluate]\nmeasures = ["tone.md"]\n',
        encoding="utf-8",
    )
    for words in (
        ("answers", "s.jsonl", "-m", "tone.md", "-o", "tone.md"),
        ("answers", "s.jsonl", "-m", "tone.md", "--report", "./tone.md"),
        ("compare", "one.json", "two.json", "-m", "tone.md", "-o", "tone.md"),
        ("gate", "two.json", "--not-worse-than", "one.json", "-m", "tone.md", "-o", "tone.md"),
        ("run", "e.toml", "--report", "tone.md"),
    ):
        done = run_assay(*words, cwd=results)
        assert done.returncode == 2, words
        assert "tone.md" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert rubric.read_text(encoding="utf-8") == TONE
