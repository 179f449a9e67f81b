"""For users' tests: gates on search quality, and a scripted fake language model server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.testing.answers import Answer, Received, seal_of, vector
from assay.testing.server import FakeLLM

if TYPE_CHECKING:
    from assay.testing.gates import assert_gate

__all__ = ["Answer", "FakeLLM", "Received", "assert_gate", "seal_of", "vector"]


def __getattr__(name: str) -> Any:
    """Import the gate when it is used: a fake server needs no evaluation."""
    if name == "assert_gate":
        from assay.testing.gates import assert_gate

        return assert_gate
    raise AttributeError(f"module 'assay.testing' has no attribute {name!r}")
