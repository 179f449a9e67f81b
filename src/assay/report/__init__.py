"""Turning records into what people read."""
