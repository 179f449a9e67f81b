"""Documentation is complete and true."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import COMMANDS
from assay.measures import REGISTRY
from assay.report.pages import sections

ROOT = Path(__file__).parents[1]


def tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_measure_has_a_complete_page(name):
    found = sections(REGISTRY[name])
    assert {"Definition", "Agrees with", "Reading", "Use when", "Not when"} <= set(found)
    described = set(re.findall(r"^ *(\w+):", found.get("Parameters", ""), re.MULTILINE))
    known = {"min_relevance", "max_grade"}
    assert set(REGISTRY[name].parameters) - known <= described


def test_generated_pages_are_up_to_date():
    made = tool("make_docs")
    assert made.measures_text() == (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert made.chinese_measures_text() == (ROOT / "docs" / "measures.zh.md").read_text(encoding="utf-8")
    assert made.protocols_text() == (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    # In a process of its own: a command keeps the help option of the group that first called it.
    code = "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['commands_text']())"
    place = str(ROOT / "tools" / "make_docs.py")
    done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout == (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_command_is_in_the_readme(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"assay {command}" in text or f"make {command}" in text, command


def test_links_between_documents_exist():
    for path in [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_page_is_in_the_navigation_of_the_site():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    hidden = re.search(r"exclude_docs: \|\n((?:  .*\n)+)", text)[1].split()
    listed = re.findall(r": (\S+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)
    assert sorted(listed) == sorted({path.name for path in (ROOT / "docs").glob("*.md")} - set(hidden))


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md", "docs/experiments.md", "docs/serving.md"])
def test_what_runs_code_is_told_where_people_look(name):
    assert "security.md" in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["run", "bench", "rerank-eval"])
def test_commands_that_import_code_say_so(command):
    done = subprocess.run(
        [sys.executable, "-m", "assay", command, "--help"], capture_output=True, text=True, check=True
    )
    assert re.search(r"runs code|code\s+runs", done.stdout)


def test_the_readmes_python_works(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    for name in ("one.run", "two.run"):
        (tmp_path / name).write_text("q1 Q0 d1 1 1 r\n")
    code += "print(scores['AP'])\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "1.0\n")


def test_the_documents_python_works(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1 r\n")
    told = {
        "comparing": "passed\n",
        "python": "2 intervals\n",
        "judging": "1\n3.0 on the point\n",
        "serving": "108.33%\n",
        "answers": "0.5 llm no\n",
        "experiments": "0.5 1.0 ['mean', 'p50', 'p95', 'p99', 'std']\n",
    }
    for name, expected in told.items():
        blocks = re.findall(
            r"```python\n(.*?)```", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL
        )
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.stderr, done.stdout) == ("", expected)


def test_the_readmes_records_can_be_read(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    from assay.formats.reading import read_records

    for number, line in enumerate(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1].splitlines()):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(line + "\n")
        assert read_records(path).runs


def test_the_chinese_readme_has_the_same_code_and_commands():
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    commands = [re.findall(r"`(assay [^`]*)`", text) for text in (english, chinese)]
    assert sorted(set(commands[0])) == sorted(set(commands[1]))
    for language in ("python", "json", "console"):
        blocks = [re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) for text in (english, chinese)]
        assert [re.sub(r"#.*", "", block) for block in blocks[0]] == [re.sub(r"#.*", "", block) for block in blocks[1]]


def test_the_chinese_recipes_have_the_same_commands():
    english, chinese = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("recipes.md", "recipes.zh.md"))
    commands = [re.findall(r"`(assay [^`]*)`", text) for text in (english, chinese)]
    assert commands[0] == commands[1] != []


def test_the_chinese_guide_to_a_decision_has_the_same_commands():
    names = ("guide-decision.md", "guide-decision.zh.md")
    english, chinese = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in names)
    commands = [re.findall(r"^\$ (assay .*?)(?: --lang zh)?$", text, re.MULTILINE) for text in (english, chinese)]
    assert commands[0] == commands[1] != []


def test_the_readmes_screen_is_what_the_demo_prints(demo_run):
    """Numbers of the ladder hang on which of its steps can run here, so that lines without the last are compared."""
    (shown,) = re.findall(r"```console\n\$ assay demo\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    names = {"bm25", "vectors", "hybrid", "whole", "fixed", "sentence", "recursive", "semantic"}
    exact = re.compile(r"0\.\d{4} ?‡?|\[[^\]]*\]")

    def rows(text: str) -> dict[str, list[str]]:
        found = [line for line in text.splitlines() if line.split("  ")[0] in names]
        return {line.split()[0]: exact.findall(line)[:2] for line in found}

    assert rows(shown) == rows(demo_run.printed)
    assert len(rows(shown)) == len(names)


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement of the theme's successor
    done = subprocess.run(words, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (tmp_path / "site" / "commands.html").is_file()
    outside = re.compile(r"""<(?:script|link|img)[^>]*(?:src|href)=["']?https?:""")
    assert [p.name for p in (tmp_path / "site").rglob("*.html") if outside.search(p.read_text(encoding="utf-8"))] == []
