"""Sentences of single parts in English and Chinese, joined in the catalogue."""
