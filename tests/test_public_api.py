"""The names that users import, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import assay
from assay.measures import REGISTRY


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_every_public_name_exists():
    for name in assay.__all__:
        assert getattr(assay, name) is not None
    assert set(assay.__all__) <= set(dir(assay))


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_measure_is_a_name_of_the_package(name):
    assert str(getattr(assay, name)) == name


def test_importing_assay_loads_no_heavy_library():
    heavy = "{'polars', 'scipy', 'numpy', 'pandas', 'click', 'httpx2'}"
    assert run(f"import sys, assay; print(sorted(set(sys.modules) & {heavy}))") == "[]\n"


def test_help_loads_click_only():
    code = "import sys; sys.argv = ['assay', '--help']\nfrom assay.cli import main\ntry:\n main()\nexcept SystemExit: pass\n"
    assert run(code + "print(sorted(set(sys.modules) & {'polars', 'scipy', 'numpy'}))").splitlines()[-1] == "[]"


def test_evaluating_clean_files_loads_numpy_and_click_only(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 b 1 2.5 t\nq Q0 a 2 1.5 t\n")
    places = [str(tmp_path / name) for name in ("qrels", "run")]
    code = (
        f"import os, sys; sys.argv = ['assay', 'evaluate', *{places}]; os._exit = sys.exit\nbefore = set(sys.modules)\n"
    )
    code += "from assay.cli import program\ntry:\n program()\nexcept SystemExit: pass\n"
    code += "of = {name: getattr(module, '__file__', None) or '' for name, module in sys.modules.items()}\n"
    code += "print(sorted({name.split('.')[0] for name in of.keys() - before if 'site-packages' in of[name]}))"
    assert run(code).splitlines()[-1] == "['click', 'numpy']"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = assay.nothing_like_it


def test_the_version_is_known():
    assert assay.__version__.count(".") == 2


def test_the_package_docstring_is_true():
    import doctest

    assert doctest.testmod(assay).failed == 0
    assert doctest.testmod(assay).attempted == 3


def with_examples() -> list[str]:
    """Public functions, and classes whose docstrings have examples."""
    things = {name: getattr(assay, name) for name in assay.__all__}
    return [name for name, thing in things.items() if not isinstance(thing, type) or ">>>" in (thing.__doc__ or "")]


@pytest.mark.parametrize("name", with_examples())
def test_every_public_function_has_examples_that_are_true(name, tmp_path, monkeypatch):
    import doctest

    monkeypatch.chdir(tmp_path)
    registered = dict(REGISTRY)
    thing = getattr(assay, name)
    found = doctest.DocTestFinder(recurse=False).find(thing, name, globs=dict(vars(sys.modules[thing.__module__])))
    try:
        results = [doctest.DocTestRunner().run(test) for test in found]
    finally:  # an example declares a measure
        REGISTRY.clear()
        REGISTRY.update(registered)
    assert sum(result.attempted for result in results) > 1
    assert sum(result.failed for result in results) == 0


def test_what_commands_do_can_be_done_from_python():
    assert {
        "check", "compare", "cost", "diagnose", "estimate_judging", "evaluate", "explain", "gate", "judge_pairs",
        "plot", "pool", "roi", "write_report", "write_verdicts",
    } <= {*assay.__all__}  # fmt: skip
