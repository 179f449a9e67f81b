"""A gate as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from assay.errors import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.gate import Gate, RuleCheck


def junit(gates: Sequence[Gate], *, strict: bool) -> str:
    """One suite per system, one case per rule; an open rule is skipped, or fails where `strict`."""
    suites = "".join(_suite(gate, strict=strict) for gate in gates)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="assay gate">\n{suites}</testsuites>\n'


def _suite(gate: Gate, *, strict: bool) -> str:
    failed = sum(_fails(check, strict=strict) for check in gate.checks)
    skipped = sum(check.outcome == "inconclusive" and not strict for check in gate.checks)
    head = f"  <testsuite name={quoteattr(clean(gate.system))} tests={quoteattr(str(len(gate.checks)))}"
    head += f' failures="{failed}" errors="0" skipped="{skipped}">\n'
    cases = "".join(_case(gate.system, check, strict=strict) for check in gate.checks)
    doubts = "".join(f"{escape(clean(str(text)))}\n" for text in gate.warnings)
    notes = f"    <system-out>{doubts}</system-out>\n" if doubts else ""
    return f"{head}{cases}{notes}  </testsuite>\n"


def _fails(check: RuleCheck, *, strict: bool) -> bool:
    return check.outcome == "failed" or (check.outcome == "inconclusive" and strict)


def _case(system: str, check: RuleCheck, *, strict: bool) -> str:
    name, message = quoteattr(clean(check.name)), clean(str(check.message))
    head = f"    <testcase classname={quoteattr(clean(system))} name={name}"
    if check.outcome == "passed":
        return f"{head}/>\n"
    kind = "failure" if _fails(check, strict=strict) else "skipped"
    return f"{head}><{kind} message={quoteattr(message)}>{escape(message)}</{kind}></testcase>\n"
