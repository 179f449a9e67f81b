"""Evaluation sets: queries, documents, judgments, gold and labels as one folder with a manifest."""
