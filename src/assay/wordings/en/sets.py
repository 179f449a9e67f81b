"""Texts in English: evaluation sets."""

from __future__ import annotations

TEXTS = {
    "set.role.queries": "queries",
    "set.role.documents": "documents",
    "set.role.hashes": "hashes of documents",
    "set.role.judgments": "judgments",
    "set.role.gold": "gold",
    "set.role.nuggets": "nuggets",
    "set.role.labels": "labels",
}
