"""How numbers and short texts are written: the same in every table."""

from __future__ import annotations

import math

from assay.messages import Said, say
from assay.report.tables import width

_TINY = 0.0001
_TEXT = 46


def number(value: float | None, *, signed: bool = False, whole: bool = False, exact: bool = False) -> str:
    """A value with four decimals (or all of them), a count as a whole number, nothing for no value."""
    if value is None or math.isnan(value):
        return ""
    if whole and value == int(value):
        return str(int(value))
    return repr(value) if exact else f"{value:+.4f}" if signed else f"{value:.4f}"


def signed(value: float) -> str:
    """A difference with four decimals and its sign."""
    return number(value, signed=True)


def upwards(money: float) -> str:
    """An amount that suffices, with four decimals: rounded up."""
    return f"{math.ceil(money * 10_000) / 10_000:.4f}"


def pvalue(value: float | None) -> str:
    """A p-value; it is never 0."""
    if value is None:
        return ""
    return f"< {_TINY:g}" if value < _TINY else f"{value:.4f}"


def percent(value: float | None, *, signed: bool = False) -> str:
    """A share with one decimal, nothing for no value."""
    return "" if value is None else f"{value:+.1%}" if signed else f"{value:.1%}"


def ms(value: float | None) -> str:
    """Milliseconds with three significant digits; microseconds, with their unit, below a thousandth."""
    if value is None:
        return "?"
    if 0 < value < 0.001:  # noqa: PLR2004
        return f"{1000 * value:.3g} \N{MICRO SIGN}s"
    if value < 1:
        return f"{value:.3g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"  # noqa: PLR2004


def duration(value: float | None) -> Said:
    """Milliseconds with their unit, for a sentence."""
    shown = ms(value)
    key = "time.microseconds" if shown.endswith("s") else "time.milliseconds"
    return say(key, value=shown.partition(" ")[0])


def three_digits(value: float) -> str:
    """A size with three significant digits, never as a power of ten: 0.00412, 1.25, 1,250."""
    places = 2 if value <= 0 else min(6, max(0, 2 - math.floor(math.log10(value))))
    return f"{value:,.{places}f}"


def about(text: str, estimated: object) -> str:
    """Mark a number that is an estimate."""
    return f"~{text}" if estimated and text else text


def cut(text: str, limit: int) -> str:
    """The beginning of a text, of at most so many characters."""
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def short(text: str, size: int = _TEXT) -> str:
    """The beginning of a text on one line, of at most so many columns of a terminal."""
    joined = " ".join(text.split())
    if width(joined) <= size:
        return joined
    kept, used = [], 0
    for sign in joined:
        used += width(sign)
        if used > size - 3:
            break
        kept.append(sign)
    return "".join(kept).rstrip() + "..."
