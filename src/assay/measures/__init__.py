"""Measures of rankings, of gold spans, of answers and of event logs: values that read and print as text."""

from assay.measures import (
    answers,
    clicks,
    conduct,
    gains,
    incomplete,
    judged,
    ranked,
    references,
    sets,
    spans,
    subtopics,
)
from assay.measures.grammar import ALIASES, is_rubric, parse
from assay.measures.registry import REGISTRY, Measure, Spec, measure
from assay.measures.spellings import expand, split_measures

__all__ = [
    "ALIASES",
    "REGISTRY",
    "Measure",
    "Spec",
    "answers",
    "clicks",
    "conduct",
    "expand",
    "gains",
    "incomplete",
    "is_rubric",
    "judged",
    "measure",
    "parse",
    "ranked",
    "references",
    "sets",
    "spans",
    "split_measures",
    "subtopics",
]
