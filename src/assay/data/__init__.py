"""Judgments, runs, their join and the table of scores: frozen, columnar, typed."""
