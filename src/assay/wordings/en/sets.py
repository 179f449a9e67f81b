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
    "set.kind.real": "by people",
    "set.kind.model": "by a language model",
    "set.kind.known_items": "simulated known items",
    "set.kind.unknown": "of unknown origin",
    "set.kind_count": "{n:,} {kind}",
    "set.mixed": "the set mixes kinds of queries, and so do these means: {kinds}; evaluate each kind alone (assay set split SET --by made_by), or slice by made_by",
    "set.judged_by_gold": "the set has no judgments: documents that hold its gold are relevant",
    "column.set": "set",
}
