"""Texts in Chinese."""
