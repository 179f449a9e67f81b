"""Chinese word lists: what claims nothing, what turns a claim around, which words are opposites or equivalents."""

from __future__ import annotations

import re

from assay.text.wordlists import groups, read_lists

_LISTS = read_lists("chinese")

STOP_WORDS = frozenset(_LISTS["stop"].split())
OPPOSITES = groups(_LISTS["opposites"])
EQUIVALENTS = groups(_LISTS["equivalents"])
MEASURES = "".join(_LISTS["measures"].split())
# Patterns of words with a negating sign that deny nothing, and of the cues that do, long ones first.
HARMLESS = "|".join(_LISTS["harmless"].split())
CUES = "|".join(sorted(_LISTS["negations"].split(), key=len, reverse=True))
# A match without a group denies nothing.
NEGATION = re.compile(f"(?:{HARMLESS})|({CUES})")
