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


@pytest.fixture
def folder(tmp_path):
    workplace.fill(tmp_path)
    (tmp_path / "old.run").write_text((tmp_path / "one.run").read_text())
    (tmp_path / "new.run").write_text((tmp_path / "two.run").read_text())
    return tmp_path


def test_there_are_three_ways_of_five_lines_and_more():
    assert len(lines()) >= 15


def test_every_line_of_a_way_works_after_those_before_it(folder):
    for line in lines():
        if line.startswith("assay serve"):
            continue  # it does not end; tests/server runs it
        done = run_assay(*shlex.split(line)[1:], cwd=folder)
        assert done.returncode in ({0, 1} if line.startswith(("assay gate", "assay check")) else {0}), (
            line + done.stderr
        )
        assert "assay:" not in done.stderr, line
