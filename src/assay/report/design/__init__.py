"""The look of all pages: one style sheet of tokens and components, and the colours of systems.

`docs/design.md` says how it is used. Reports carry the sheet inside them; the workbench serves it as a file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["stylesheet"]


@cache
def stylesheet() -> str:
    """The style sheet as text."""
    return (files("assay.report.design") / "style.css").read_text(encoding="utf-8")
