"""Imports point down only, as docs/architecture.md draws it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "assay"

# Parts of one layer do not import each other. `demo` only knows where its files are.
LAYERS = [
    {"wordings", "lazy", "installation"},
    {"messages"},
    {"errors"},
    {"data", "stats", "demo"},
    {"results"},
    {"llm", "formats", "text"},
    {"grounding", "fusion", "engines"},
    {"judge", "pipeline", "serving"},
    {"curation"},
    {"measures"},
    {"analysis"},
    {"online"},
    {"report"},
    {"server"},
    {"cli"},
    {"__main__", "testing"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(SOURCE.rglob("*.py"))


def part_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay"):
            assert node.level == 0, "relative imports hide the layer"
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [part if part in NAMES else node.module for part in parts]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("assay")]
    return found


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path) for path in MODULES}


def test_imports_point_down():
    """The package itself names everything, lazily."""
    inner = {path: module_name(path) for path in MODULES if "." in module_name(path)}
    found = [(name, other) for path, name in inner.items() for other in imports(path)]
    assert [pair for pair in found if part_of(pair[1]) not in LEVEL] == [], "a part has no place in the picture"
    levels = [(part_of(name), part_of(other), name, other) for name, other in found]
    up = [
        f"{name} imports {other}"
        for here, there, name, other in levels
        if here != there and LEVEL[there] >= LEVEL[here]
    ]
    assert up == []


# Files of schema 1 name their measures and say nothing else about them; what was true of them is kept as it was.
_NAMING = {"results/schema1.py"}
# A format of numbers, statuses of queries, a name in prompts, actions and columns of event logs: ordinary words that are
# names of measures too.
_ORDINARY = {"coverage", "g", "judged", "unjudged", "rubric", "clicks", "copy", "dwell", "regenerate", "thumbs"}
# A click model, a stratum of requests, the results in an engine's answer and a column of a table, which have their names in the literature and share them
# with measures: each is let through in its own module only.
_NAMESAKES = {
    ("online/click_judgments.py", "ctr"),
    ("online/strata.py", "zero_results"),
    ("pipeline/elastic.py", "hits"),
    ("pipeline/web_search.py", "hits"),
    ("report/views/click_judgments.py", "ctr"),
}
_MEASURE = re.compile(r"(\w+)(\(.*\))?(@\d*)?", re.DOTALL)


def literals(path: Path) -> list[tuple[int, str]]:
    """Texts in a module with their lines, but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, places) and ast.get_docstring(node)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    return [(node.lineno, node.value) for node in texts if isinstance(node.value, str)]


def test_no_measure_is_named_outside_the_part_that_declares_it():
    from assay.measures import REGISTRY

    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in MODULES
        if part_of(module_name(path)) not in {"measures", "wordings", "demo"}
        and str(path.relative_to(SOURCE)) not in _NAMING
        for line, text in literals(path)
        if (form := _MEASURE.fullmatch(text)) and form[1] in REGISTRY and form[1] not in _ORDINARY
        and (str(path.relative_to(SOURCE)), text) not in _NAMESAKES
    ]  # fmt: skip
    assert found == []


def test_every_part_has_a_place():
    parts = {module_name(path).split(".")[1] for path in MODULES if "." in module_name(path)}
    assert parts == set(LEVEL)


def test_the_picture_of_the_layers_is_drawn_for_contributors():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = text.partition("## Layers")[2].split("```")[1].strip().splitlines()
    assert [set(line.split()) for line in reversed(drawn)] == LAYERS
    described = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.MULTILINE)
    assert {part.strip("`") for row in described for part in row.split(", ")} == set(LEVEL) - {"__main__"}


def test_there_are_no_import_cycles():
    graph = {module_name(path): set(imports(path)) for path in MODULES}
    graph = {name: {other for other in found if other in graph and other != name} for name, found in graph.items()}
    seen: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"cycle: {' -> '.join([*trail, name])}"
        if name not in seen:
            for other in sorted(graph[name]):
                walk(other, (*trail, name))
            seen.add(name)

    for name in graph:
        if name != "assay":
            walk(name, ())
