"""Packages: every one is pinned, and its licence is looked at."""

from __future__ import annotations

import re
import sys
import tomllib
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import audit_licences  # noqa: E402


def plain(name):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name)[0]).lower()


def test_every_direct_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {key: names for key, names in project["optional-dependencies"].items() if key != "bench"}
    asked = {plain(one) for names in [project["dependencies"], *extras.values()] for one in names} - {"assay-eval"}
    lines = [
        line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.+!]+", line) for line in lines)
    assert asked <= {line.partition("==")[0] for line in lines}


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"License-Expression": "MIT"}, {"MIT"}),
        ({"License-Expression": "Apache-2.0 OR GPL-3.0-only"}, {"Apache-2.0"}),
        ({"License-Expression": "MIT AND (GPL-2.0-only)"}, {"MIT", "GPL-2.0-only"}),
        ({"License": "MPL-2.0 AND MIT"}, {"MPL-2.0", "MIT"}),
        ({"License": "MIT License\n\nCopyright ..."}, {"MIT"}),
        ({"Classifier": "License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "License": "MIT"}, {"GPL"}),
        ({"License": "UNKNOWN"}, set()),
        ({}, set()),
    ],
)
def test_licences_are_read_from_what_a_package_tells(told, names):
    metadata = Message()
    for key, value in told.items():
        metadata[key] = value
    assert audit_licences.names_of(SimpleNamespace(metadata=metadata)) == names


def test_every_exception_has_a_reason():
    assert all(len(reason) > 20 for reason in audit_licences.EXCEPTIONS.values())
