"""JUnit files: what the schemas of Ant and Jenkins ask for, whatever systems are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from assay.report.blocks import CaseOutcome, Cases
from assay.report.document import write

SCHEMAS = Path(__file__).parent / "schemas"
NAMES = ["bm25", "", " ", "a & b <c> \"d\" 'e'", "]]>", "\x00\x08\x0b\x1b[31m\x7f\x85", "\ufffe\uffff\ud800", "重排 😀"]


def cases(name: str) -> Cases:
    told = [
        CaseOutcome(name, f"ndcg@10 >= 0.85 {name}", "passed", "passed", "fine"),
        CaseOutcome(name, "map >= 0.5", "failed", "failed", f"map is 0.4, not >= 0.5 {name}"),
        CaseOutcome(name, "", "inconclusive", "skipped", name),
    ]
    return Cases(tuple(told), ((name, f"a note on {name}"),))


@pytest.fixture
def written(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return lambda *names: write([cases(name) for name in names], "junit")


@pytest.mark.parametrize("schema", ["junit-ant.xsd", "junit-jenkins.xsd"])
@pytest.mark.parametrize("name", NAMES)
def test_files_are_valid(schema, name, written):
    rules = etree.XMLSchema(etree.parse(SCHEMAS / schema))
    rules.assertValid(etree.fromstring(written(name, "other").encode()))


def test_a_file_tells_when_how_many_and_why(written):
    (suite,) = etree.fromstring(written("bm25").encode())
    told = {"name": "bm25", "package": "assay.gate", "id": "0", "hostname": "localhost", "time": "0.000", "tests": "3",
            "failures": "1", "errors": "0", "skipped": "1", "timestamp": "2023-11-14T22:13:20"}  # fmt: skip
    assert dict(suite.attrib) == told
    passed, failed, skipped = suite.findall("testcase")
    assert dict(passed.attrib) == {"classname": "bm25", "name": "ndcg@10 >= 0.85 bm25", "time": "0.000"}
    assert (len(passed), failed[0].tag, failed[0].get("type"), skipped[0].tag) == (0, "failure", "failed", "skipped")
    assert failed[0].get("message") == failed[0].text == "map is 0.4, not >= 0.5 bm25"
    assert suite.find("system-out").text == "a note on bm25\n"


def test_a_file_is_the_same_each_time(written):
    assert written("bm25") == written("bm25")
