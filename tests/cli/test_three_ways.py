"""The three ways into Assay that the README shows, run line by line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import workplace
from commands import run_assay

README = Path(__file__).parents[2] / "README.md"


def lines():
    """The command lines of the chapter, in their order, without what is said about them."""
    chapter = README.read_text(encoding="utf-8").partition("## Three ways in")[2].partition("\n## ")[0]
    return [line.partition("#")[0].strip() for line in re.findall(r"^    (assay .*)$", chapter, re.MULTILINE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ways")
    workplace.fill(place)
    (place / "old.run").write_text((place / "one.run").read_text())
    (place / "new.run").write_text((place / "two.run").read_text())
    return place


def test_there_are_three_ways_of_five_lines():
    assert len(lines()) == 15


@pytest.mark.parametrize("line", lines())
def test_a_line_of_a_way_works_after_those_before_it(folder, line):
    done = run_assay(*shlex.split(line)[1:], cwd=folder)
    assert done.returncode in ({0, 1} if line.startswith(("assay gate", "assay check")) else {0}), done.stderr
    assert "assay:" not in done.stderr
