"""The default measures."""

from __future__ import annotations

ANSWERS = ("faithfulness",)  # of a generator, where the protocol names nothing
SPANS = ("span_recall@5", "span_precision@5")  # where gold is spans
CURVES = ("precision", "recall", "f1", "ndcg")  # over the cutoffs of a sweep
CLEAN, COMPLETE, BALANCED = "precision", "recall", "f1"  # what a k is chosen by: few wrong documents, few missed, both
SINGLE = "ndcg@10"  # where one measure is tuned or explained
