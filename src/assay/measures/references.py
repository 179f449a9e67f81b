"""Measures of an answer against reference answers, from the two texts alone."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from assay.grounding.record import Blank
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.grounding.case import Case

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = rf"[{_HAN}]|[^\W_{_HAN}]+"  # compiled, and kept, by the first call that needs it
_PIECE = rf"[{_HAN}]|[^\s{_HAN}]+"
_ARTICLES = {"a", "an", "the"}


class _PunctuationTable(dict[int, int | None]):
    """A table for str.translate that drops punctuation of any script; filled as characters are met."""

    def __missing__(self, code: int) -> int | None:
        sign = chr(code)
        dropped = sign in string.punctuation or unicodedata.category(sign)[0] == "P"
        found = self[code] = None if dropped else code
        return found


_BARE = _PunctuationTable()


def plain_tokens(text: str) -> list[str]:
    """Words of a text in lower case, without punctuation and articles; each Chinese character is a word."""
    lower = unicodedata.normalize("NFKC", text).lower()
    return [word for word in re.findall(_PIECE, lower.translate(_BARE)) if word not in _ARTICLES]


def _best(case: Case, value: Callable[[str, str], float]) -> float | Blank:
    """Highest value over the references; a sample without one, or without an answer, has none."""
    sample = case.sample
    for name in ("answer", "reference"):
        if name in sample.faults:
            return Blank("failed", say("blank.fault", field=name, fault=sample.faults[name]))
    references = [text for text in sample.references if text.strip()]
    if not references:
        return Blank("not_applicable", say("blank.no_reference"))
    if sample.answer is None or not sample.answer.strip():
        return Blank("missing", say("blank.no_answer" if sample.answer is None else "blank.empty_answer"))
    answer = sample.answer
    return max(value(answer, text) for text in references)


@measure(cutoff="none", of="answers", needs=("answer", "reference"), zero_if_missing=True)
def exact_match(case: Case, _k: None) -> float | Blank:
    """Whether the answer is the reference, but for case, punctuation and articles.

    Definition: 1 if answer and a reference are equal after lower case, removal of punctuation and of a, an, the, and
      spaces made one; else 0. With several references, the best counts.
    Odd cases: full-width and half-width forms are equal; spaces between Chinese characters do not count. An answer that
      is missing counts as 0.
    Reference: Rajpurkar et al. 2016, SQuAD.
    Agrees with: the SQuAD script on English text; for Chinese, characters are compared as CMRC does.
    Reading: .40 means two in five answers are exactly a reference.
    Use when: answers are short: a name, a date, a number.
    Not when: answers are sentences; use token_f1 or correctness.
    """
    return _best(case, lambda answer, reference: float(plain_tokens(answer) == plain_tokens(reference)))


@measure(cutoff="none", of="answers", needs=("answer", "reference"), zero_if_missing=True)
def token_f1(case: Case, _k: None) -> float | Blank:
    """Overlap of the answer's words with the reference's.

    Definition: harmonic mean of the shares of common words (with repeats) in the answer and in the reference, after the
      clean-up of exact_match. With several references, the best counts.
    Odd cases: each Chinese character is a word. If either has no words, 1 when neither has, else 0. An answer that is
      missing counts as 0.
    Reference: Rajpurkar et al. 2016, SQuAD; Cui et al. 2019, CMRC 2018.
    Agrees with: the SQuAD script on English text.
    Reading: .60 is typical of answers that have the reference among other words.
    Use when: references are short and may be worded differently.
    Not when: one wrong number matters: the other words hide it.
    """
    return _best(case, lambda answer, reference: _f1(plain_tokens(answer), plain_tokens(reference)))


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted))


@measure(cutoff="none", of="answers", needs=("answer", "reference"), zero_if_missing=True)
def rouge_l(case: Case, _k: None, *, beta: float = 1) -> float | Blank:
    """Longest common subsequence of the answer's and the reference's words.

    Definition: with l its length, P = l / words of the answer, R = l / words of the reference:
      (1 + beta^2) P R / (R + beta^2 P). With several references, the best counts.
    Parameters:
      beta: how much more recall weighs than precision.
    Odd cases: words are runs of letters and digits in lower case, unstemmed; each Chinese character is a word. 0 if
      either has no words. An answer that is missing counts as 0.
    Reference: Lin 2004.
    Agrees with: rouge-score rougeL (F measure) on English text.
    Reading: .30 to .50 is usual for free text that says the same.
    Use when: you compare with a published table that has it.
    Not when: a decision depends on it: one changed word hardly moves it.
    """
    return _best(case, lambda answer, reference: _rouge(_words(answer), _words(reference), float(beta)))


def _words(text: str) -> list[str]:
    return re.findall(_TOKEN, unicodedata.normalize("NFKC", text).lower())


def _rouge(said: Sequence[str], wanted: Sequence[str], beta: float) -> float:
    length = common_subsequence(said, wanted)
    if not length:
        return 0.0
    precision, recall = length / len(said), length / len(wanted)
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, a whole row of the usual table at a time as bits of one number."""
    short, long = sorted((one, other), key=len)
    places: dict[str, int] = {}
    for i, word in enumerate(short):
        places[word] = places.get(word, 0) | 1 << i
    full = (1 << len(short)) - 1
    row = full
    for word in long:
        match = row & places.get(word, 0)
        row = ((row + match) | (row - match)) & full
    return len(short) - row.bit_count()
