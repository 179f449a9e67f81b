"""Checks as JUnit XML, which continuous integration shows as tests; for machines, so the same in every language."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from assay.errors import UsageError, clean
from assay.messages import say
from assay.report.blocks import Cases, Fold, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block, CaseOutcome


def write(blocks: Sequence[Block], lang: Lang = "en", **_: str) -> str:  # noqa: ARG001
    """One suite per system, one case per rule; a rule that is open and stops nothing is skipped."""
    found = list(_checks(blocks))
    if not found:
        raise UsageError(say("junit.nothing"))
    names = dict.fromkeys(case.suite for one in found for case in one.cases)
    suites = "".join(_suite(name, found) for name in names)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="assay gate">\n{suites}</testsuites>\n'


def _checks(blocks: Sequence[Block]) -> Iterator[Cases]:
    for block in blocks:
        if isinstance(block, Cases):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from _checks(block.blocks)


def _suite(name: str, found: Sequence[Cases]) -> str:
    own = [case for one in found for case in one.cases if case.suite == name]
    counts = {result: sum(case.result == result for case in own) for result in ("failed", "skipped")}
    head = f"  <testsuite name={quoteattr(clean(name))} tests={quoteattr(str(len(own)))}"
    head += f' failures="{counts["failed"]}" errors="0" skipped="{counts["skipped"]}">\n'
    told = "".join(f"{escape(clean(str(text)))}\n" for one in found for suite, text in one.notes if suite == name)
    notes = f"    <system-out>{told}</system-out>\n" if told else ""
    return f"{head}{''.join(map(_case, own))}{notes}  </testsuite>\n"


def _case(case: CaseOutcome) -> str:
    message = clean(str(case.message))
    head = f"    <testcase classname={quoteattr(clean(case.suite))} name={quoteattr(clean(str(case.name)))}"
    if case.result == "passed":
        return f"{head}/>\n"
    kind = "failure" if case.result == "failed" else "skipped"
    return f"{head}><{kind} message={quoteattr(message)}>{escape(message)}</{kind}></testcase>\n"
