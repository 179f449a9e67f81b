"""English word lists: what claims nothing, what turns a claim around, which words are opposites or equivalents."""

from __future__ import annotations

from assay.text.wordlists import groups, read_lists

_LISTS = read_lists("english")

FIRST_PERSON = frozenset(_LISTS["first person"].split())
STOP_WORDS = frozenset(_LISTS["function"].split() + _LISTS["discourse"].split()) - FIRST_PERSON
NEGATIONS = frozenset(_LISTS["negations"].split())
HARMLESS_AFTER_NOT = frozenset(_LISTS["harmless after not"].split())
OPPOSITES = groups(_LISTS["opposites"])
OPPOSITE_PREFIXES = tuple(_LISTS["opposite prefixes"].split())
EQUIVALENTS = groups(_LISTS["equivalents"])
IRREGULAR = dict(pair.split(":") for pair in _LISTS["irregular"].split())
NEVER_LAST = frozenset(_LISTS["never last"].split())
SOMETIMES_LAST = frozenset(_LISTS["sometimes last"].split())
COURTEOUS = frozenset(_LISTS["courteous"].split())
