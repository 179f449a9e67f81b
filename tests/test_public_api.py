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


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = assay.nothing_like_it


def test_the_version_is_known():
    assert assay.__version__.count(".") == 2


def test_the_package_docstring_is_true():
    import doctest

    assert doctest.testmod(assay).failed == 0
    assert doctest.testmod(assay).attempted == 3


def examples() -> list[str]:
    """Public functions and classes whose docstrings have examples."""
    return [name for name in assay.__all__ if ">>>" in (getattr(assay, name).__doc__ or "")]


@pytest.mark.parametrize("name", examples())
def test_examples_of_public_names_are_true(name):
    import doctest

    thing = getattr(assay, name)
    home = sys.modules[thing.__module__]
    for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs=dict(vars(home))):
        assert doctest.DocTestRunner().run(test).failed == 0


def test_what_commands_do_can_be_done_from_python():
    assert {
        "check", "compare", "cost", "diagnose", "estimate_judging", "evaluate", "explain", "gate", "judge_pairs",
        "plot", "pool", "roi", "write_report", "write_verdicts",
    } <= {*assay.__all__}  # fmt: skip
