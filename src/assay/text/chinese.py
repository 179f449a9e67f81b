"""Chinese word lists: what claims nothing, what turns a claim around, which words are opposites or equivalents."""

from __future__ import annotations

import re

from assay.text.wordlists import groups, read_lists

_LISTS = read_lists("chinese")

STOP_WORDS = frozenset(_LISTS["stop"].split())
OPPOSITES = groups(_LISTS["opposites"])
EQUIVALENTS = groups(_LISTS["equivalents"])
MEASURES = "".join(_LISTS["measures"].split())
# A match without a group is a word with a negating sign that denies nothing.
_CUES = sorted(_LISTS["negations"].split(), key=len, reverse=True)
NEGATION = re.compile(f"(?:{'|'.join(_LISTS['harmless'].split())})|({'|'.join(_CUES)})")
