"""What is wrong or doubtful in judgments and runs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.messages import is_known, say
from assay.results.parts import part


@dataclass(frozen=True)
class Finding:
    """One kind of problem: where, how often, an example, and its consequence."""

    where: str
    kind: str
    count: int
    message: str
    examples: tuple[str, ...] = ()
    error: bool = False

    @property
    def title(self) -> str:
        """Its kind in translatable words."""
        key = f"finding.{self.kind}"
        return say(key) if is_known(key) else self.kind

    @property
    def level(self) -> str:
        """An error stops an evaluation, a warning may spoil it."""
        return "error" if self.error else "warning"


@dataclass(frozen=True)
class CheckedFile:
    """A file that was looked at: what it is, and what it holds, where that was counted."""

    where: str
    kind: str
    holds: str = ""


@part("check")
@dataclass(frozen=True)
class InputCheck(Record):
    """Everything that was found in files, in the order in which they were looked at, and what those are."""

    findings: tuple[Finding, ...]
    files: tuple[CheckedFile, ...] = ()

    @property
    def clean(self) -> bool:
        """Return whether nothing was found."""
        return not self.findings

    def topic(self) -> str:
        """The first of the files."""
        return self.files[0].where if self.files else ""

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
