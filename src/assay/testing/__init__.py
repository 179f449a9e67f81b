"""For users' tests: gates on search quality, and a fake language model server that does what it is told."""

from __future__ import annotations

from assay.testing.answers import Answer, Received, vector
from assay.testing.gates import assert_gate
from assay.testing.server import FakeLLM

__all__ = ["Answer", "FakeLLM", "Received", "assert_gate", "vector"]
