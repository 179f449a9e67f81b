"""A language model as judge: a rubric in, verdicts out, every item with exactly one status."""
