"""Texts in English: verdicts of judges."""

from __future__ import annotations

TEXTS = {
    "judged.failed": "llm: {reason}: {message}",
    "judged.grade": "grade {grade}",
    "judged.outside": "grade {grade} is not one of the rubric's",
    "judged.no_verdict": "no verdict on {n:statement|statements} {numbers}",
    "judged.several": "{first}; {second}",
    "judged.cut": "contexts were cut to {most:,} of {size:,} characters",
    "judged.explained": "{reason} ({remark})",
    "judged.silent": "the judge gave no verdict",
}
