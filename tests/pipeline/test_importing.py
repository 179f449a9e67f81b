"""Modules of users: each folder has its own, whatever their names."""

from __future__ import annotations

import sys

import pytest

from assay.errors import UsageError
from assay.pipeline.stages import load


@pytest.fixture
def folders(tmp_path):
    """Two folders with modules of the same names, and a package beside an environment."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own_stage.py").write_text(
            f"import own_words\ncalls = []\ndef tell():\n    calls.append(1)\n    return own_words.NAME\ndef only_{name}(): ...\n"
        )
        (tmp_path / name / "own_words.py").write_text(f"NAME = {name!r}\n")
    return tmp_path / "one", tmp_path / "two"


def test_modules_of_the_same_name_in_two_folders_are_two_modules(folders):
    one, two = folders
    assert [load("own_stage:tell", folder)() for folder in (one, two, one)] == ["one", "two", "one"]
    with pytest.raises(UsageError, match="has no attribute 'only_one'"):
        load("own_stage:only_one", two)


def test_a_module_is_run_once_for_each_folder(folders):
    one, two = folders
    load("own_stage:tell", one)()
    load("own_stage:tell", two)
    assert load("own_stage:calls", one) == [1]


def test_what_is_imported_from_elsewhere_stays_one_module(folders, monkeypatch):
    one, two = folders
    packages = one / ".venv" / "packages"
    packages.mkdir(parents=True)
    (packages / "far_package.py").write_text("")
    (one / "own_far.py").write_text("import far_package\n")
    monkeypatch.syspath_prepend(str(packages))
    load("own_far:far_package", one)
    far = sys.modules["far_package"]
    load("own_stage:tell", two)
    assert sys.modules["far_package"] is far
    assert str(one) not in sys.path


def test_a_module_of_a_folder_that_the_session_imports_from_stays_one_module(folders, monkeypatch, tmp_path):
    one, two = folders
    load("own_stage:tell", one)()
    monkeypatch.syspath_prepend(str(one))
    assert load("own_stage:calls", tmp_path) == [1]
    assert load("own_stage:tell", two)() == "two"
