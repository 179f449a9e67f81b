"""Reading plain numbers out of bytes, many at a time, each rounded as `float` rounds it.

Plain are up to 19 signs besides leading zeros and a minus: digits, and perhaps a point among them. The digits make an
integer, which is divided by a power of ten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.data.texts import WORD, words_of

if TYPE_CHECKING:
    from assay.data.segments import Bools, Floats, Ints
    from assay.data.texts import Words

_WIDEST = 3 * WORD  # bytes of a number
MARGIN = _WIDEST  # bytes that must come before the first number, of any value
_SINGLE = 2  # so many digits are read one by one, more as a word
_DIGITS = 19  # of an integer of 64 bits
_EXACT = 1 << 53  # a float holds every integer up to this one
_POWERS = np.array([10.0**power for power in range(23)])  # and these powers of ten
_TENS = np.array([min(10**power, (1 << 64) - 1) for power in range(_WIDEST + 1)], dtype=np.uint64)
_NINES = np.array([9 * 10**power if power < _DIGITS else 0 for power in range(_WIDEST + 1)], dtype=np.uint64)
_ZERO = np.uint8(ord("0"))
_ZEROS = np.uint64(0x3030303030303030)
_SIGNS = np.uint64(0x8080808080808080)
_TO_SIGN = np.uint64(0x7676767676767676)  # what is more than 9 gets a sign
_PAIRS = np.uint64(0x000000FF000000FF)
_ALL = (1 << 64) - 1
_LAST = np.array([_ALL >> 8 * count ^ _ALL for count in range(WORD + 1)], dtype=np.uint64)
_BUT = np.array([~(0xFF << 8 * byte) & _ALL for byte in reversed(range(WORD))] + [_ALL], dtype=np.uint64)
_SPLIT = float((1 << 27) + 1)  # what cuts a float into halves whose products are exact
_LOW = np.uint64((1 << 11) - 1)
_CLOSE = 2.0**-20
_MINUS, _DOT = b"-."
_Bytes = NDArray[np.uint8]


def decimals(text: _Bytes, end: Ints, size: Ints) -> Floats | None:
    """Read numbers that end before `end`; None when one is not plain."""
    minus = text[end - size] == _MINUS
    size = size - minus
    if size.min() < 1 or size.max() > _WIDEST:
        return None
    places = _places(text, end, size)
    if (size <= (places >= 0)).any() or np.max(places) >= len(_POWERS):
        return None
    number = _digits(text, end, size, places)
    if number is None:
        return None
    number -= number // _TENS[places + 1] * _NINES[places]  # the point was read as a digit 0
    found = _quotients(text, end, size, number, _POWERS[np.maximum(places, 0)])
    return np.where(minus, -found, found) if minus.any() else found


def _places(text: _Bytes, end: Ints, size: Ints) -> NDArray[np.int64] | np.int64:
    """How many places each number has behind the point, -1 without one; a single number if all have as many."""
    likely = text[end[0] - size[0] : end[0]].tobytes()[::-1].find(b".")
    if likely >= 0 and _have_places(text, end, size, likely).all():
        return np.int64(likely)
    found = np.full(len(end), -1)
    left = np.arange(len(end))
    for places in sorted(range(int(size.max())), key=lambda places: abs(places - likely)):
        hit = _have_places(text, end[left], size[left], places)
        found[left[hit]] = places
        left = left[~hit]
        if not len(left):
            break
    return found if (found >= 0).any() else np.int64(-1)


def _have_places(text: _Bytes, end: Ints, size: Ints, places: int) -> Bools:
    """Mark the numbers that have so many places behind a decimal point."""
    found: Bools = (text[end - 1 - places] == _DOT) & (size > places)
    return found


def _digits(text: _Bytes, end: Ints, size: Ints, point: NDArray[np.int64] | np.int64) -> Words | None:
    """Make integers of the digits before `end`, with 0 for the point; None when they are others or too many."""
    number = np.zeros(len(end), np.uint64)
    done, width = 0, int(size.max())
    while done < width:
        if width - done > _SINGLE or not done:
            word = words_of(text)[end - done - WORD] ^ _ZEROS
            word &= _LAST[np.clip(size - done, 0, WORD)]
            word &= _BUT[np.clip(point - done, -1, WORD)]
            part, step = _integer(word), WORD
        else:
            digit = text[end - done - 1] ^ _ZERO
            digit *= (size > done) & (done != point)
            part, step = None if digit.max() > 9 else digit.astype(np.uint64), 1  # noqa: PLR2004
        if part is None or (done + step > _DIGITS and part.max() >= 10 ** (_DIGITS - done)):
            return None
        number += part * _TENS[done]
        done += step
    return number


def _integer(word: Words) -> Words | None:
    """Make integers of eight digits from 0 to 9 each; None when one is more."""
    if (((word + _TO_SIGN) | word) & _SIGNS).any():
        return None
    # Neighbours become numbers below 100, those of four digits, and those of eight.
    word = word * np.uint64(10) + (word >> np.uint64(8))
    high = (word & _PAIRS) * np.uint64(100 + (1_000_000 << 32))
    low = ((word >> np.uint64(16)) & _PAIRS) * np.uint64(1 + (10_000 << 32))
    found: Words = (high + low) >> np.uint64(32)
    return found


def _quotients(text: _Bytes, end: Ints, size: Ints, number: Words, power: NDArray[np.float64] | np.float64) -> Floats:
    """Divide integers by powers of ten; where rounding is in doubt, ask `float`."""
    if number.max() <= _EXACT:
        return number.astype(np.float64) / power  # both are exact, so the quotient is what it should be
    found, doubtful = divide(number, power)
    for row in doubtful:
        found[row] = float(text[end[row] - size[row] : end[row]].tobytes())
    return found


def divide(number: Words, power: NDArray[np.float64] | np.float64) -> tuple[Floats, Ints]:
    """Divide integers that floats may not hold, and return the rows in which rounding is in doubt.

    The first quotient leaves a remainder that is found exactly, from products of halves. What the remainder adds is a
    little off, so whatever comes close to the middle between two floats is in doubt. (Just below a power of two, the
    middle is where a quarter is lost; but no quotient of 64 bits and these powers comes close to that.)
    """
    bits = np.where(number > _EXACT, number & _LOW, np.uint64(0))  # without these, it is a float
    above, below = (number - bits).astype(np.float64), bits.astype(np.float64)
    first = above / power
    product = first * power
    (high, low), (power_high, power_low) = _halves(first), _halves(power)
    error = ((high * power_high - product) + high * power_low + low * power_high) + low * power_low
    rest = ((above - product) - error + below) / power
    found = first + rest
    lost = np.abs(rest - (found - first)) / np.spacing(found)
    return found, np.flatnonzero(np.abs(lost - 0.5) < _CLOSE)


def _halves(value: NDArray[np.float64] | np.float64) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    cut = value * _SPLIT
    high = np.asarray(cut - (cut - value))
    return high, np.asarray(value - high)
