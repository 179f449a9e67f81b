"""Say how an outcome differs from the recorded one; what is new beside the old is no difference."""

from __future__ import annotations

import math
import re
from collections import Counter

# Keys of result files that were given another name on purpose: old -> new.
RENAMED: dict[str, str] = {}
# Keys that were left out on purpose with all their values, or with these.
GONE: dict[str, tuple[str, ...]] = {
    "weighted": (),  # the part `weight` of a comparison is there where queries have weights
}
SHOWN = 6  # differences told of one output
CLOSE = 1e-8  # numbers of JSON may differ by what another machine's arithmetic does


def differences(golden: dict, now: dict) -> list[str]:
    """Tell, line by line, what the golden outcome of a command line has and the present one has not."""
    found = [] if golden["exit"] == now["exit"] else [f"exit code: was {golden['exit']}, is {now['exit']}"]
    for name, old in golden.items():
        if name == "exit":
            continue
        if name not in now:
            found.append(f"{name}: is not written any more")
            continue
        told = _told(name, old, now[name])
        found += [f"{name}: {line}" for line in told[:SHOWN]]
        if len(told) > SHOWN:
            found.append(f"{name}: ... and {len(told) - SHOWN} more")
    return found


def _told(name: str, old: object, new: object) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return _lost_values(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return _lost_rows(old, new, in_order=name in {"stdout", "stderr"}) + _lost_tokens(old, new)
    return [] if old == new else [f"was {_short(old)}, is {_short(new)}"]


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 160 else text[:160] + " ..."


# JSON ----------------------------------------------------------------------------------------------------------------


def _values(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for part in text.split():
        value, _, times = part.partition("×")
        found[value] += int(times or 1)
    return found


def _lost_values(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Every number and status is still there under its key, as often or more often."""
    found = []
    for key, text in old.items():
        if GONE.get(key) == ():
            continue
        here = _values(new.get(key, "")) + _values(new.get(RENAMED.get(key, ""), ""))
        lost = _values(text) - here
        for value in GONE.get(key, ()):
            del lost[value]
        spare = here - _values(text)
        for value in list(lost):
            near = next((other for other in spare if _close(value, other)), None)
            if near is not None:
                met = min(lost[value], spare[near])
                lost[value] -= met
                spare[near] -= met
        gone = " ".join(value if n == 1 else f"{value}×{n}" for value, n in (+lost).items())
        if gone:
            instead = " ".join((+spare).keys())
            found.append(f"{key}: lost {_short(gone)}; new there: {_short(instead) or 'nothing'}")
    return found


def _close(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=CLOSE, abs_tol=1e-12)
    except ValueError:
        return False


# Text ----------------------------------------------------------------------------------------------------------------


def _cells(line: str) -> list[str]:
    return line.removeprefix("| ").split(" | ")


def _holds(row: list[str], wanted: list[str]) -> bool:
    """Whether the row has all wanted cells in their order; new columns may stand between, new marks may not."""
    rest = list(row)
    at = 0
    for cell in wanted:
        if cell not in rest[at:]:
            return False
        at = rest.index(cell, at)
        del rest[at]
    return not any(re.fullmatch(r"[*†‡↑↓ ]+|=.*", cell) for cell in rest)


def _lost_rows(old: list[str], new: list[str], *, in_order: bool) -> list[str]:
    """Every row of a table is still there, in order on a terminal, anywhere on a page."""
    wanted = [_cells(line) for line in old if line.startswith("|")]
    left = [_cells(line) for line in new if line.startswith("|")]
    found = []
    if not in_order:
        same = [row for row in wanted if row in left and (left.remove(row) or True)]
        for row in same:
            wanted.remove(row)
    for row in wanted:
        at = next((i for i, other in enumerate(left) if _holds(other, row)), None)
        if at is None:
            alike = max(left, key=lambda other: len(set(other) & set(row)), default=["nothing"])
            found.append(f"row was  | {_short(' | '.join(row))}\n      nearest  | {_short(' | '.join(alike))}")
        else:
            left = left[at + 1 :] if in_order else left[:at] + left[at + 1 :]
    return found


def _lost_tokens(old: list[str], new: list[str]) -> list[str]:
    """Every number of the running text is still there; sentences may be worded and ordered in another way."""

    def tokens(lines: list[str]) -> Counter[str]:
        return sum((_values(line[2:]) for line in lines if line.startswith("~")), Counter())

    lost = tokens(old) - tokens(new)
    if not lost:
        return []
    where = [line for line in old if line.startswith("~") and set(_values(line[2:])) & set(lost)]
    gained = tokens(new) - tokens(old)
    return [
        f"text lost {_short(' '.join(lost.elements()))}; gained {_short(' '.join(gained.elements())) or 'nothing'}",
        *(f"  of the line {_short(line)}" for line in where[:2]),
    ]
