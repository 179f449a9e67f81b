"""What `assay evaluate` prints: a protocol's main measures on the screen, all of them in files."""

from __future__ import annotations

import csv
import json

import pytest

from assay.analysis.protocols import load_protocol
from assay.wordings import LANGUAGES

TREC = load_protocol("trec")


@pytest.fixture
def evaluate(call, two_systems):
    def run(*more):
        code, out, err = call("evaluate", "qrels.txt", "one.run", *more)
        assert code == 0, err
        return out

    run.folder = two_systems
    return run


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_screen_shows_the_main_measures_and_says_how_to_see_all(lang, evaluate):
    table, _, notes = evaluate("--lang", lang).partition("\n\n")
    assert table.split("\n")[0].split()[1:] == list(TREC.headline)
    assert "--all" in notes
    assert "iprec_at_recall" not in notes
    assert str(len(TREC.measures)) in notes


def test_all_measures_are_shown_when_asked_for_and_are_in_every_file(evaluate):
    every = list(TREC.measures)
    rows = evaluate("--all").partition("\n\n")[0].splitlines()[2:]
    assert [row.split()[0] for row in rows] == every
    assert next(csv.reader(evaluate("--format", "csv").splitlines()))[1:] == every
    assert list(json.loads(evaluate("--format", "json"))["systems"][0]["metrics"]) == every
    for name in ("o.csv", "o.md", "o.txt"):
        evaluate("-o", name)
        assert "P_1000" in (evaluate.folder / name).read_text(encoding="utf-8")


def test_named_measures_are_shown_as_they_are(evaluate):
    out = evaluate("-m", "P@5,gm_map")
    assert out.split("\n")[0].split()[1:] == ["P@5", "gm_map"]
    assert "--all" not in out


def test_all_is_refused_where_measures_are_named(call, two_systems):
    code, _, err = call("evaluate", "qrels.txt", "one.run", "-m", "map", "--all")
    assert (code, "--all has no effect with -m" in err) == (2, True)
