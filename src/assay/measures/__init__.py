"""Ranking measures: values that read and print as text and compute on a `Ranking`."""

from assay.measures import gains, incomplete, ranked, sets, subtopics
from assay.measures.grammar import ALIASES, parse
from assay.measures.registry import REGISTRY, Measure, Spec, measure

__all__ = [
    "ALIASES",
    "REGISTRY",
    "Measure",
    "Spec",
    "gains",
    "incomplete",
    "measure",
    "parse",
    "ranked",
    "sets",
    "subtopics",
]
