"""Reading plain numbers out of bytes, many at a time, each rounded as `float` rounds it.

Plain are digits, perhaps with a point among them and a minus before them, that make an integer up to 2**53: a float
holds it exactly, as it does the power of ten by which it is divided, so only the quotient is rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.data.texts import WORD, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.data.segments import Bools, Floats, Ints
    from assay.data.texts import Words

_WIDEST = 3 * WORD  # bytes of a number
MARGIN = _WIDEST  # bytes that must lie before the first number, whatever they are
_SINGLE = 2  # so many digits are read one by one, more as a word
_MOST_DIGITS = 19  # of an integer of 64 bits
_EXACT = 1 << 53  # a float holds every integer up to this one
_EXACT_POWER = 22  # and ten to the power of this one
_ZERO = np.uint8(ord("0"))
_ZEROS = np.uint64(0x3030303030303030)
_SIGNS = np.uint64(0x8080808080808080)
_TO_SIGN = np.uint64(0x7676767676767676)  # what is more than 9 gets a sign
_PAIRS = np.uint64(0x000000FF000000FF)
_LAST = np.array([(1 << 64) - (1 << 8 * (WORD - count)) for count in range(WORD + 1)], dtype=np.uint64)
_MINUS, _DOT = b"-."
_Bytes = NDArray[np.uint8]


def decimals(text: _Bytes, end: Ints, size: Ints) -> Floats | None:
    """Read numbers that end before `end`, rounded as `float` rounds them; None when one is not plain."""
    minus = text[end - size] == _MINUS
    size = size - minus
    if size.min() < 1 or size.max() > _WIDEST:
        return None
    likely = text[end[0] - size[0] : end[0]].tobytes()[::-1].find(b".")
    found = None
    if likely < 0 or _have_places(text, end, size, likely).all():
        found = _decimals_of(text, end, size, likely)
    if found is None:
        found = np.empty(len(end))
        for places, rows in _by_places(text, end, size):
            value = _decimals_of(text, end[rows], size[rows], places)
            if value is None:
                return None
            found[rows] = value
    return np.where(minus, -found, found) if minus.any() else found


def _have_places(text: _Bytes, end: Ints, size: Ints, places: int) -> Bools:
    """Mark the numbers that have so many places behind a decimal point."""
    found: Bools = (text[end - 1 - places] == _DOT) & (size > places)
    return found


def _by_places(text: _Bytes, end: Ints, size: Ints) -> Iterator[tuple[int, Ints]]:
    """Rows by the number of places behind their decimal point; -1 of those that have no point."""
    left = np.arange(len(end))
    for places in range(_WIDEST):
        hit = _have_places(text, end[left], size[left], places)
        if hit.any():
            yield places, left[hit]
            left = left[~hit]
    if len(left):
        yield -1, left


def _decimals_of(text: _Bytes, end: Ints, size: Ints, places: int) -> Floats | None:
    """Read numbers that have so many places behind the point; -1 means no point."""
    if places > _EXACT_POWER or int(size.min()) <= (places >= 0):
        return None
    number = _digits(text, end, size, places)
    if number is None:
        return None
    if 0 <= places < _MOST_DIGITS:  # the point was read as a digit 0
        number -= number // np.uint64(10 ** (places + 1)) * np.uint64(9 * 10**places)
    return None if number.max() > _EXACT else number.astype(np.float64) / 10.0 ** max(places, 0)


def _digits(text: _Bytes, end: Ints, size: Ints, point: int) -> Words | None:
    """Make integers of the digits before `end`, with 0 for the point; None when they are others or too many."""
    number = np.zeros(len(end), np.uint64)
    done, width = 0, int(size.max())
    while done < width:
        if width - done > _SINGLE or not done:
            word = words_of(text)[end - done - WORD]
            part, step = _integer(word, np.clip(size - done, 0, WORD), point - done), WORD
        else:
            digit = text[end - done - 1] ^ _ZERO
            digit *= (size > done) & (done != point)
            part, step = None if digit.max() > 9 else digit.astype(np.uint64), 1  # noqa: PLR2004
        if part is None or (done + step > _MOST_DIGITS and part.max() >= 10 ** (_MOST_DIGITS - done)):
            return None
        number += part * np.uint64(10**done)
        done += step
    return number


def _integer(word: Words, size: Ints, point: int) -> Words | None:
    """Make integers of the last `size` of eight digits, with 0 for the point if it is in one of eight places."""
    word ^= _ZEROS
    word &= _LAST[size]
    if 0 <= point < WORD:
        word &= ~np.uint64(0xFF << 8 * (WORD - 1 - point))
    if (((word + _TO_SIGN) | word) & _SIGNS).any():
        return None
    # Neighbours become numbers below 100, those of four digits, and those of eight.
    word = word * np.uint64(10) + (word >> np.uint64(8))
    high = (word & _PAIRS) * np.uint64(100 + (1_000_000 << 32))
    low = ((word >> np.uint64(16)) & _PAIRS) * np.uint64(1 + (10_000 << 32))
    found: Words = (high + low) >> np.uint64(32)
    return found
