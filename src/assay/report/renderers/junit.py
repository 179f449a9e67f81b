"""Checks as JUnit XML, which continuous integration shows as tests; for machines, so the same in every language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from assay.errors import UsageError, clean
from assay.messages import say
from assay.report.blocks import Cases, Fold, Section
from assay.results.result import utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block, CaseOutcome

_PACKAGE = "assay.gate"
_TIME = "0.000"  # checks take hardly any time, and a file should be the same each time
_NO_XML = re.compile("[\ufffe\uffff]")


def write(blocks: Sequence[Block], lang: Lang = "en", **_: str) -> str:  # noqa: ARG001
    """One suite per system, one case per rule; a rule that is open and stops nothing is skipped.

    What the schemas of Ant and Jenkins both accept: no attributes of `testsuites`, all those of a suite, and
    `localhost`, as a file should be the same wherever it is made.
    """
    found = list(_checks(blocks))
    if not found:
        raise UsageError(say("junit.nothing"))
    names = dict.fromkeys(case.suite for one in found for case in one.cases)
    suites = "".join(_suite(place, name, found) for place, name in enumerate(names))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _checks(blocks: Sequence[Block]) -> Iterator[Cases]:
    for block in blocks:
        if isinstance(block, Cases):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from _checks(block.blocks)


def _suite(place: int, name: str, found: Sequence[Cases]) -> str:
    own = [case for one in found for case in one.cases if case.suite == name]
    counts = {result: sum(case.result == result for case in own) for result in ("failed", "skipped")}
    head = _attributes(
        name=_name(name), package=_PACKAGE, id=place, timestamp=utc_now().removesuffix("Z"), hostname="localhost",
        tests=len(own), failures=counts["failed"], errors=0, skipped=counts["skipped"], time=_TIME,
    )  # fmt: skip
    told = "".join(f"{escape(_clean(str(text)))}\n" for one in found for suite, text in one.notes if suite == name)
    notes = f"    <system-out>{told}</system-out>\n    <system-err></system-err>\n"
    return f"  <testsuite {head}>\n    <properties/>\n{''.join(map(_case, own))}{notes}  </testsuite>\n"


def _case(case: CaseOutcome) -> str:
    message = _clean(str(case.message))
    head = f"    <testcase {_attributes(classname=_name(case.suite), name=_clean(str(case.name)), time=_TIME)}"
    if case.result == "passed":
        return f"{head}/>\n"
    kind, more = ("failure", {"type": "failed"}) if case.result == "failed" else ("skipped", {})
    return f"{head}><{kind} {_attributes(message=message, **more)}>{escape(message)}</{kind}></testcase>\n"


def _attributes(**values: object) -> str:
    return " ".join(f"{name}={quoteattr(str(value))}" for name, value in values.items())


def _name(system: str) -> str:
    """The name of a suite, which must not be empty."""
    return _clean(system).strip() or _PACKAGE


def _clean(text: str) -> str:
    """Leave out what a terminal should not be shown, and what XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", clean(text))
