"""The default measures."""

from __future__ import annotations

ANSWERS = ("faithfulness",)  # of a generator, where the protocol names nothing
NUGGETS = ("nugget_recall",)  # where samples have nuggets
SPANS = ("span_recall@5", "span_precision@5")  # where gold is spans
LISTS = ("ndcg@10", "recall@10", "reciprocal_rank@10")  # of lists, for a folder and an application alike
CURVES = ("precision", "recall", "f1", "ndcg")  # over the cutoffs of a sweep
CLEAN, COMPLETE, BALANCED = "precision", "recall", "f1"  # what a k is chosen by: few wrong documents, few missed, both
SINGLE = "ndcg@10"  # where one measure is tuned or explained
SERVED = ("faithfulness(method='words')", "context_utilisation(method='words')")  # of every request that is watched
# Of an event log, as far as it holds what they need.
EVENTS = ("ctr@5", "any_click", "abandonment", "abandonment(kind='bad')", "first_click_rr", "clicks", "reformulation",
          "zero_results", "dwell", "satisfied_click", "pogo", "thumbs", "satisfaction", "copy", "regenerate",
          "query_latency(p=50)", "query_latency(p=95)", "query_latency(p=99)", "query_tokens",
          "query_cost")  # fmt: skip
REFUSALS = "right_refusals"  # of questions that no document answers
