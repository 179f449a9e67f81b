"""Commands that a reader copies fit the way in which this copy was installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay import installation
from assay.errors import MissingPackage
from assay.messages import tell

SOURCE = Path(installation.__file__).parent


@pytest.fixture
def installed_from(monkeypatch, tmp_path):
    """Pretend that this copy came from somewhere, in an environment whose programs a shell finds."""
    home = tmp_path / "env" / "bin"
    home.mkdir(parents=True)
    for name in ("pip", "assay", "python"):
        (home / name).write_text("#!/bin/sh\n")
        (home / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(home / "python"))
    monkeypatch.setenv("PATH", str(home))

    def pretend(told: dict | None) -> None:
        class Copy:
            def read_text(self, _name):
                return None if told is None else json.dumps(told)

        monkeypatch.setattr(installation, "distribution", lambda _name: Copy())

    return pretend


def test_extras_come_from_where_this_copy_came_from(installed_from, tmp_path):
    installed_from(None)
    assert installation.install_command("text") == "pip install 'assay-eval[text]'"
    installed_from({"url": f"file://{tmp_path}", "dir_info": {"editable": True}})
    assert installation.install_command("text", "report") == "pip install -e '.[text,report]'"
    installed_from({"url": "file:///some%20where/assay", "dir_info": {}})
    assert installation.install_command("text") == "pip install '/some where/assay[text]'"
    installed_from({"url": "https://example.org/assay.git", "vcs_info": {"vcs": "git", "commit_id": "0"}})
    assert installation.install_command("text") == "pip install 'assay-eval[text] @ git+https://example.org/assay.git'"


def test_programs_that_a_shell_does_not_find_are_named_with_their_place(installed_from, monkeypatch):
    installed_from(None)
    assert (installation.program_name(), installation.pip_command()) == ("assay", "pip")
    monkeypatch.setenv("PATH", "/nowhere")
    assert installation.program_name() == "env/bin/assay"
    assert installation.install_command("text") == "env/bin/python -m pip install 'assay-eval[text]'"
    Path("env/bin/assay").unlink()
    assert installation.program_name() == "env/bin/python -m assay"


def test_the_pip_of_another_python_is_not_taken(installed_from, monkeypatch, tmp_path):
    installed_from(None)
    other = tmp_path / "other"
    other.mkdir()
    for name in ("pip", "assay"):
        (other / name).write_text("#!/bin/sh\n")
        (other / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(other))
    assert (installation.program_name(), installation.pip_command()) == ("env/bin/assay", "env/bin/python -m pip")


def test_a_missing_package_is_told_with_the_command_in_both_languages(installed_from):
    installed_from({"url": f"file://{Path.cwd()}", "dir_info": {"editable": True}})
    error = MissingPackage("bm25", "bm25s", "pipeline")
    assert error.message == "bm25 needs the package bm25s: pip install -e '.[pipeline]'"
    assert "bm25s" in tell(error.message, "zh") and "pip install -e '.[pipeline]'" in tell(error.message, "zh")


def test_no_sentence_names_a_command_that_may_not_fit():
    """`pip install` is said in one place, which knows how this copy was installed."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        if path.name != "installation.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "pip install" in node.value
    ]
    assert found == []


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("jinja2", "import assay; assay.write_report('r.json', 'r.html')"),
        ("tokenizers", "from assay.text.model_files import load_tokenizer; load_tokenizer('x')"),
        ("pypdf", "from pathlib import Path; from assay.formats.text_folders import _pdf; _pdf(Path('x.pdf'))"),
        ("bm25s", "from assay.pipeline.bm25 import _package; _package()"),
    ],
)
def test_what_needs_a_package_says_which_command_installs_it(package, code, tmp_path):
    import assay

    assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").save(tmp_path / "r.json")
    words = [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None; {code}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert f"needs the package {package}: " in last and "pip install " in last
