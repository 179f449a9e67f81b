"""Where the words of a query stand in a text, for a reader's eye."""

from __future__ import annotations

import re

from assay.text.words import HAN, TOKEN, strong_words

_RUN = re.compile(f"[{HAN}]+")
_PAIR = 2  # characters of Chinese that are looked for together


def mark_words(text: str, query: str) -> list[tuple[str, bool]]:
    """Cut a text into pieces, each with whether it is a word of the query in any form, or two Chinese characters of it.

    >>> mark_words("Steeping green tea", "How to steep tea?")
    [('Steeping', True), (' green ', False), ('tea', True)]
    """
    wanted, known = strong_words(query), dict[str, bool]()
    spans = []
    for found in TOKEN.finditer(text) if wanted else ():
        if found[0] not in known:
            known[found[0]] = not wanted.isdisjoint(strong_words(found[0]))
        if known[found[0]]:
            spans.append(found.span())
    pairs = {run[i : i + _PAIR] for run in _RUN.findall(query) for i in range(max(len(run) - 1, 1))}
    if pairs:
        sizes = {len(pair) for pair in pairs}
        spans += [(i, i + n) for n in sizes for i in range(len(text) - n + 1) if text[i : i + n] in pairs]
    return _cut(text, sorted(spans))


def _cut(text: str, spans: list[tuple[int, int]]) -> list[tuple[str, bool]]:
    pieces: list[tuple[str, bool]] = []
    joined: list[list[int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    last = 0
    for start, end in joined:
        pieces += [(text[last:start], False), (text[start:end], True)]
        last = end
    pieces.append((text[last:], False))
    return [piece for piece in pieces if piece[0]]
