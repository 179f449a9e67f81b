"""`assay.preferences` and `assay.ask_preferences`: win rates, ties, places, and models that are asked in both orders."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest

import assay
from assay.stats.intervals import mean_interval
from assay.testing import Answer, FakeLLM, seal_of
from commands import run_assay


def row(question: str, left: str, right: str, preferred: str, rater: str = "") -> dict[str, str]:
    return {"question_id": question, "left": left, "right": right, "preferred": preferred, "rater": rater}


def both(question: str, one: str, other: str) -> list[dict[str, str]]:
    """Two orders of a and b, with what was preferred in each."""
    return [row(question, "a", "b", one), row(question, "b", "a", other)]


def test_an_answer_must_be_preferred_in_both_orders():
    rows = [
        *both("1", "a", "a"),
        *both("2", "left", "left"),
        *both("3", "tie", "tie"),
        *both("4", "b", "b"),
        *both("5", "a", "tie"),
    ]
    found = assay.preferences(rows)
    (pair,) = found.pairs
    assert (pair.wins, pair.ties, pair.losses, pair.inconsistent) == (1, 3, 1, 1)
    assert pair.rate.estimate == pytest.approx((1 + 0.5 + 0.5 + 0 + 0.5) / 5)
    assert (found.both_orders, found.by_place, found.answers) == (5, 1, 10)


def test_the_win_rate_has_questions_as_units():
    rng = random.Random(2)
    outcome = {str(q): [rng.choice(["a", "b", "tie"]) for _ in range(3)] for q in range(30)}
    rows = [row(q, "a", "b", said, f"r{i}") for q, own in outcome.items() for i, said in enumerate(own)]
    means = [np.mean([{"a": 1.0, "b": 0.0, "tie": 0.5}[said] for said in own]) for own in outcome.values()]
    found = assay.preferences(rows)
    expected = mean_interval(means, bounds=(0.0, 1.0))
    assert (found.pairs[0].rate.low, found.pairs[0].rate.high) == pytest.approx((expected.low, expected.high))
    assert (found.questions, found.raters) == (30, 3)


def test_better_is_said_only_where_it_is_shown():
    def decided(wins: int, losses: int) -> str:
        rows = [row(f"w{i}", "a", "b", "a") for i in range(wins)] + [row(f"l{i}", "a", "b", "b") for i in range(losses)]
        return assay.preferences(rows).pairs[0].decision

    assert [decided(30, 10), decided(10, 30), decided(22, 18), decided(5, 0)] == [
        "better",
        "worse",
        "inconclusive",
        "inconclusive",
    ]


def test_equal_systems_are_called_better_or_worse_no_more_often_than_one_time_in_twenty():
    rng, wrong = random.Random(1), 0
    for _ in range(200):
        rows = [row(str(q), "a", "b", rng.choice(["a", "b", "tie"])) for q in range(40)]
        wrong += assay.preferences(rows).pairs[0].decision in {"better", "worse"}
    assert wrong <= 18  # of 200; more than that is seen once in 100 times at 5 %


def test_pairs_of_several_systems_are_corrected_for_their_number():
    rows = [
        row(str(q), one, other, one if q % 4 else other)
        for q in range(24)
        for one, other in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    found = assay.preferences(rows)
    assert [one.adjusted for one in found.pairs] == pytest.approx([3 * one.pvalue for one in found.pairs])
    assert [one.system for one in found.strengths] == ["a", "b", "c"]
    assert found.fitting == ""


def test_where_the_place_decides_it_is_said():
    rows = [row(str(q), *(("a", "b") if q % 2 else ("b", "a")), "left" if q % 10 else "right") for q in range(60)]
    found = assay.preferences(rows)
    assert found.left.estimate == pytest.approx(54 / 60)
    assert found.place_matters and "the place has a part in it" in found.to_markdown()
    fair = [row(str(q), *(("a", "b") if q % 2 else ("b", "a")), "a" if q % 4 < 2 else "b") for q in range(60)]
    assert not assay.preferences(fair).place_matters


def test_a_later_preference_of_a_rater_replaces_an_earlier_one():
    found = assay.preferences(
        [row("1", "a", "b", "a", "x"), row("1", "a", "b", "b", "x"), row("1", "a", "b", "a", "y")]
    )
    assert (found.pairs[0].wins, found.pairs[0].losses, found.replaced) == (1, 1, 1)


def test_preferences_are_read_from_json_lines(tmp_path):
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(one) + "\n" for one in both("1", "a", "a")))
    assert assay.preferences(tmp_path / "p.jsonl").pairs[0].wins == 1


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"question_id": "1", "left": "a", "right": "b"}, "a preference has no preferred"),
        ({"question_id": 1, "left": "a", "right": "b", "preferred": "a"}, "a preference has no question_id"),
        (row("1", "a", "a", "left"), "'a' is compared with itself"),
        (row("1", "a", "b", "c"), "preferred is 'c'"),
    ],
)
def test_rows_that_are_no_preferences_are_refused_with_their_line(tmp_path, bad, told):
    (tmp_path / "p.jsonl").write_text(json.dumps(row("0", "a", "b", "a")) + "\n" + json.dumps(bad) + "\n")
    with pytest.raises(assay.InputError, match=re.escape(told)) as error:
        assay.preferences(tmp_path / "p.jsonl")
    assert "p.jsonl" in str(error.value) and ":2" in str(error.value)


# Models ---------------------------------------------------------------------------------------------------------------


def samples(name: str, n: int = 12) -> list[dict[str, str]]:
    return [{"id": str(i), "question": f"What is {i}?", "answer": f"{name} says {i}."} for i in range(n)]


def test_a_model_that_always_prefers_the_first_answer_decides_nothing():
    def first(messages) -> str:
        return json.dumps({"seal": seal_of(messages), "reason": "", "preferred": "first"})

    found = assay.preferences(assay.ask_preferences({"old": samples("old"), "new": samples("new")}, judge=first).rows)
    (pair,) = found.pairs
    assert (pair.wins, pair.ties, pair.losses, pair.inconsistent) == (0, 12, 0, 12)
    assert (found.left.estimate, found.place_matters) == (1.0, True)


def likes_new(request) -> Answer | str:
    """Prefers what new says; fails on one question, and only if new comes second."""
    text = request.text
    first = text.index("new says") < text.index("old says")
    if "What is 3?" in text and not first:
        return Answer("no idea")
    return json.dumps({"reason": "it is new", "preferred": "first" if first else "second"})


@pytest.fixture
def folder(tmp_path):
    for name in ("old", "new"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples(name)))
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ninput = 100.0\noutput = 100.0\ndate = 2026-11-01\n'
    )
    return tmp_path


def prefer(server: FakeLLM, folder, *words):
    fixed = [
        "judge",
        "--prefer",
        "old.jsonl",
        "new.jsonl",
        "--url",
        server.url,
        "--judge",
        "m",
        "--cache",
        str(folder / "kept"),
    ]
    return run_assay(*fixed, *words, cwd=folder)


def test_every_question_is_asked_in_both_orders_and_only_once(folder):
    with FakeLLM(likes_new) as server:
        done = prefer(server, folder, "-o", "p.jsonl")
        sent = len(server.requests)
        assert done.returncode == 1  # one comparison failed in one order
        assert "12 comparisons in both orders: 1 failed in one of them and is left out" in done.stderr
        prefer(server, folder, "-o", "again.jsonl")
    rows = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert len(rows) == 22 and {one["rater"] for one in rows} == {"m"}
    assert {(one["left"], one["right"]) for one in rows} == {("old", "new"), ("new", "old")}
    assert "new is preferred to old: old wins 0.0%" in done.stdout
    assert assay.preferences(folder / "p.jsonl").pairs[0].losses == 11
    assert len(server.requests) <= sent + 2  # the question that failed is asked once more, with one repair
    assert (folder / "again.jsonl").read_bytes() == (folder / "p.jsonl").read_bytes()


def test_a_dry_run_of_preferences_counts_both_orders_and_sends_nothing(folder):
    with FakeLLM(likes_new) as server:
        done = prefer(server, folder, "--dry-run", "--prices", "prices.toml")
        assert (done.returncode, len(server.requests)) == (0, 0)
    assert "12 pairs for m: 24 calls" in done.stdout and "USD" in done.stdout


def test_the_budget_of_preferences_holds(folder):
    with FakeLLM(likes_new) as server:
        prefer(server, folder, "-o", "p.jsonl", "--prices", "prices.toml", "--max-cost", "0.6")
        spent = sum((len(one.text) / 4 + 20) * 100 / 1e6 for one in server.requests)
        assert 0 < len(server.requests) < 24
        assert spent <= 0.6


def test_options_of_grades_and_systems_that_do_not_fit_are_refused(folder):
    (folder / "other.jsonl").write_text('{"id": "0", "question": "Why?", "answer": "So."}\n')
    with FakeLLM(likes_new) as server:
        for words, told in (
            (["--scale", "0-2", "-o", "p.jsonl"], "--scale is for grades of pairs"),
            (["-o", "p.csv"], "use .jsonl"),
            ([], "say where the preferences go"),
            (["other.jsonl", "-o", "p.jsonl"], "another text"),
        ):
            done = prefer(server, folder, *words)
            assert (done.returncode, told in done.stderr) == (2, True), done.stderr
        assert not server.requests
