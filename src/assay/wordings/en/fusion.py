"""Texts in English: fused runs."""

from __future__ import annotations

TEXTS = {
    "fuse.idle": "{name} has weight 0 and is left out",
    "fuse.tied": "{share:.0%} of the fused scores are tied: their order is that of document ids",
    "fuse.missing": "{n:,} {n:query is|queries are} missing from {name} and fused from the other runs: {some}",
}
