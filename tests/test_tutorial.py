"""The tutorial "From a folder to an answer" does what it says, in both languages."""

from __future__ import annotations

import glob
import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import pytest

from assay.testing import FakeLLM
from commands import call_assay, working_in

ROOT = Path(__file__).parents[1]


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """Blocks of the page as kind (sh or text) and lines."""
    return [(kind, body.strip().splitlines()) for kind, body in re.findall(r"```(sh|text)\n(.*?)```", text, re.DOTALL)]


def run_line(line: str, url: str) -> str:
    words = [{"MODEL": "m", "URL": url}.get(word, word) for word in shlex.split(line)]
    words += ["--prices", "prices.toml"] if url in words else []  # those of well-known models are built in
    if words[0] == "mkdir":
        Path(words[1]).mkdir()
        return ""
    if words[0] == "cp":
        for place in words[1:-1]:
            shutil.copy(ROOT / place, words[-1])
        return ""
    assert words.pop(0) == "assay"
    spread = [name for word in words for name in (sorted(glob.glob(word)) if "*" in word else [word])]  # noqa: PTH207
    code, out, err = call_assay(spread)
    assert code == 0, f"{line}: {err}"
    return f"{out}\n{err}"


@pytest.mark.parametrize(("page", "language"), [("tutorial.md", "en"), ("tutorial.zh.md", "zh")])
def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path, monkeypatch, page, language):
    pytest.importorskip("bm25s")
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")
    monkeypatch.setenv("ASSAY_LANG", language)
    monkeypatch.setattr("assay.analysis.proposal.find_minilm", lambda: None)  # slow, and not everywhere
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nhost = "127.0.0.1"\nmodel = "m"\ninput = 0.1\noutput = 0.3\ndate = 2026-01-01\n'
    )
    printed, shown = "", 0
    with FakeLLM('{"reason": "said", "grade": 2}') as server, working_in(tmp_path):
        for kind, lines in blocks((ROOT / "docs" / page).read_text(encoding="utf-8")):
            if kind == "sh":
                printed = "".join(run_line(line, server.url) for line in lines)
                continue
            flat = "".join(printed.split())
            for line in lines:
                assert "".join(line.split()) in flat, line
                shown += 1
        asked = len(server.requests)
    assert shown >= 7
    assert 50 <= asked <= 300, "two documents of each question and list, each pair once, and none by the dry run"
    assert (tmp_path / "labelled-results" / "report.html").is_file()
