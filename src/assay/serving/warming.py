"""What the calls before the measurement tell: whether there is anything to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.serving.records import Log


def check_warm(logs: Sequence[Log]) -> None:
    """Stop when there were calls to warm up and none of them worked."""
    failed = sum(log.failures.total() for log in logs)
    if failed and not any(len(log.ended) for log in logs):
        kind, text = next((kind, text) for log in logs for kind, text in log.examples.items())
        said = f"{kind}: {text}" if text and text != kind else kind
        raise UsageError(f"nothing to measure: {failed} of {failed} warm-up calls failed ({said})")
