"""What is wrong or doubtful in judgments and runs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.results.parts import part


@dataclass(frozen=True)
class Finding:
    """One kind of trouble: where, how often, for example, and what follows from it."""

    where: str
    kind: str
    count: int
    message: str
    examples: tuple[str, ...] = ()
    error: bool = False

    @property
    def level(self) -> str:
        """An error stops an evaluation, a warning may spoil it."""
        return "error" if self.error else "warning"


@part("check")
@dataclass(frozen=True)
class InputCheck(Record):
    """Everything that was found in judgments and runs, in the order in which they were looked at."""

    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Say whether nothing was found."""
        return not self.findings

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per finding."""
        return [
            {
                "file": one.where,
                "level": one.level,
                "kind": one.kind,
                "count": one.count,
                "message": one.message,
                "examples": "; ".join(one.examples),
            }
            for one in self.findings
        ]
