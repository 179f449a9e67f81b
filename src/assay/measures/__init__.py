"""Ranking measures: values that read and print as text and compute on a `Ranking`."""

from assay.measures import gains, ranked, sets, subtopics
from assay.measures.grammar import ALIASES, parse, parse_all
from assay.measures.registry import REGISTRY, Measure, Spec, measure

__all__ = [
    "ALIASES",
    "REGISTRY",
    "Measure",
    "Spec",
    "gains",
    "measure",
    "parse",
    "parse_all",
    "ranked",
    "sets",
    "subtopics",
]
