"""One row per user, reduced to the arms of an A/B test.

The rows are a lazy frame, which is read three times and never held: who is in it, where the values of each column lie,
and the sums about those values. Products of what is far from 0 would lose the digits in which users differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.data.sums import exact_sum
from assay.errors import InputError, excerpt
from assay.formats import columns
from assay.lazy import pl
from assay.messages import say
from assay.stats.arms import Arm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Daily = dict[str, dict[str, dict[str, Arm]]]  # arms by day, measure and variant

Parts = tuple[str, str, str, str]  # columns of value, denominator, and both before the test; "" where there is none
VARIANT, DAY = "variant ", "day "  # with a blank: no column of a file is called so
BEFORE = "_before"  # the end of a column that says what the same users did before the test
LEAST, LARGEST = 1e-100, 1e30  # its square is in sums of squares, whose products are in variances of ratios


def arms_of_users(frame: pl.LazyFrame, measures: list[str], label: str, *, cuped: bool) -> Daily:
    """Reduce users to arms by day, measure and variant; users with several rows and without numbers are refused."""
    known = frame.collect_schema().names()
    user = columns.find(known, columns.USER, path=label)
    if user is not None:
        _refuse_repeated(frame, user, label)
    wanted = measures or _find_measures(frame, [name for name in known if _could_be_measure(name, user)])
    if not wanted:
        raise InputError(say("no column has numbers to compare"), path=label or None)
    return reduce_users(frame, {measure: _parts_of(measure, known, label, cuped=cuped) for measure in wanted}, label)


def faults_of_users(frame: pl.LazyFrame, label: str) -> list[Callable[[], object]]:
    """Checks of a table of users, column by column; none where no column has numbers."""
    known = frame.collect_schema().names()
    user = columns.find(known, columns.USER, path=label)
    names = [name for name in known if _could_be_measure(name, user)]
    rows = frame.select(pl.len(), *(_number(name).null_count() for name in names)).collect()
    half = [name for name in names if rows[name].item() <= rows["len"].item() // 2]
    repeated = [partial(_refuse_repeated, frame, user, label)] if user is not None else []
    return (
        [*repeated, *(partial(_look_at, frame.select(_number(name)), [name], label) for name in half)] if half else []
    )


def reduce_users(frame: pl.LazyFrame, parts: Mapping[str, Parts], label: str = "") -> Daily:
    """Arms by day, measure and variant, from the columns of each measure."""
    used = _names(parts.values())
    pairs = {(a, b) for names in parts.values() for a in names for b in names if a and b and a <= b}
    numbers = frame.select(DAY, VARIANT, *(_number(name) for name in used))
    near = _look_at(numbers, used, label)
    away = {name: (pl.col(name) - one.mean) / one.spread for name, one in near.items()}
    table = numbers.group_by(DAY, VARIANT).agg(
        pl.len().alias("n "),
        *(_mean(name, near[name].size).alias(f"mean {name}") for name in used),
        *((pl.col(name).min() == pl.col(name).max()).alias(f"constant {name}") for name in used),
        *((exact_sum(away[name]) / pl.len() * near[name].spread).alias(f"away {name}") for name in used),
        *(
            (exact_sum(away[a] * away[b]) * (near[a].spread * near[b].spread)).alias(f"sum {a} {b}")
            for a, b in sorted(pairs)
        ),
    )
    found: Daily = {}
    for row in table.collect(engine="streaming").sort(DAY, VARIANT).iter_rows(named=True):
        for measure, names in parts.items():
            found.setdefault(row[DAY], {}).setdefault(measure, {})[row[VARIANT]] = _arm_of_row(row, names)
    return found


def find_counts(frame: pl.LazyFrame, values: Mapping[str, str]) -> tuple[str, ...]:
    """The measures whose values, in the columns that are named, are numbers of something: whole and not below 0."""
    columns = {name: _number(name) for name in dict.fromkeys(values.values())}
    whole = {name: ((one >= 0) & (one == one.floor())).all() for name, one in columns.items()}
    found = frame.select(**whole).collect(engine="streaming")
    return tuple(measure for measure, name in values.items() if found[name].item())


def _names(parts: Iterable[Parts]) -> list[str]:
    return list(dict.fromkeys(name for names in parts for name in names if name))


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _mean(name: str, size: float = 1.0) -> pl.Expr:
    """The mean, within its values: that of one value many times may miss it by a last digit."""
    mean = exact_sum(pl.col(name) / size) / pl.col(name).count() * size
    return mean.clip(pl.col(name).min(), pl.col(name).max())


def _could_be_measure(name: str, user: str | None) -> bool:
    return name not in {VARIANT, DAY, user} and not name.endswith(BEFORE) and not columns.has_any([name], columns.DAY)


def _find_measures(frame: pl.LazyFrame, names: Sequence[str]) -> list[str]:
    """The columns that have a number for every user."""
    lacking = frame.select(_number(name).null_count() for name in names).collect(engine="streaming")
    return [name for name in names if not lacking[name].item()]


def _parts_of(measure: str, known: Sequence[str], label: str, *, cuped: bool) -> Parts:
    """The columns of value, denominator and both before the test; nothing where there is none."""
    above, below = (ratio_of(measure) if measure not in known else None) or (measure, "")
    for name in (above, below):
        if name and name not in known:
            raise InputError(
                say("there is no column {name}", name=excerpt(name)),
                path=label or None,
                hint=say("the columns are {names}", names=[one for one in known if not one.endswith(" ")][:12]),
            )
    earlier = [f"{name}{BEFORE}" for name in (above, below) if name]
    if not cuped or not set(earlier) <= set(known):
        return above, below, "", ""
    return above, below, earlier[0], earlier[1] if below else ""


def ratio_of(measure: str) -> tuple[str, str] | None:
    """The two columns of a ratio; None for what is not written as one."""
    above, _, below = (part.strip() for part in measure.partition("/"))
    return (above, below) if above and below and "/" not in below else None


@dataclass(frozen=True)
class _Centre:
    """The mean of a column, and the powers of 2 above its values, and above how far these are from the mean."""

    mean: float
    size: float
    spread: float


def _look_at(numbers: pl.LazyFrame, names: Sequence[str], label: str) -> dict[str, _Centre]:
    """The centre of each column; what is no number, or too large to be added up, is refused."""
    found = numbers.select(
        *((~(pl.col(name).abs() <= LARGEST).fill_null(value=False)).sum().alias(f"bad {name}") for name in names),
        *(_mean(name) for name in names),
        *(pl.col(name).min().alias(f"least {name}") for name in names),
        *(pl.col(name).max().alias(f"most {name}") for name in names),
    ).collect(engine="streaming")
    for name in names:
        bad = int(found[f"bad {name}"].item())
        if bad:
            raise InputError(
                say("{name}: {n} {n:user has|users have} no number", name=excerpt(name), n=bad),
                path=label or None,
                hint=say("every assigned user counts: write 0 for one who did nothing"),
            )
    return {name: _centre(*(found[f"{of}{name}"].item() or 0.0 for of in ("", "least ", "most "))) for name in names}


def _centre(mean: float, least: float, most: float) -> _Centre:
    return _Centre(mean, _power_above(max(abs(least), abs(most))), _power_above(max(most - mean, mean - least)))


def _power_above(value: float) -> float:
    """The power of 2 above a value; 1 for 0, and for what is next to it."""
    return 2.0 ** math.frexp(value)[1] if value > LEAST else 1.0


def _arm_of_row(row: dict[str, Any], names: Parts) -> Arm:
    constant = (0.0, 1.0, 0.0, 1.0)
    means = tuple(row[f"mean {name}"] if name else constant[i] for i, name in enumerate(names))

    def covariance(a: str, b: str) -> float:
        n = row["n "]
        if not a or not b or n == 1 or row[f"constant {a}"] or row[f"constant {b}"]:
            return 0.0
        about = row[f"sum {min(a, b)} {max(a, b)}"] - n * row[f"away {a}"] * row[f"away {b}"]
        return float((max(about, 0.0) if a == b else about) / (n - 1))

    return Arm(row["n "], means, tuple(tuple(covariance(a, b) for b in names) for a in names))


def _refuse_repeated(frame: pl.LazyFrame, user: str, label: str) -> None:
    """Refuse users with several rows: the user is the unit of the test."""
    hashes = frame.select(pl.col(user).hash()).collect(engine="streaming")[user]
    if hashes.n_unique() == len(hashes):  # a frame of ids would be some times as large
        return
    repeated = frame.select(user, VARIANT).filter(pl.col(user).is_duplicated()).collect()
    if not len(repeated):  # two users with one hash
        return
    crossed = repeated.group_by(user).agg(pl.col(VARIANT).n_unique()).filter(pl.col(VARIANT) > 1)
    if len(crossed):
        raise InputError(
            say(
                "{n} {n:user is|users are} in more than one variant, {name} among them",
                n=len(crossed),
                name=excerpt(str(crossed[user].min())),
            ),
            path=label or None,
            hint=say("find out why, then leave out whoever saw both variants"),
        )
    raise InputError(
        say("user {name} has several rows", name=excerpt(str(repeated[user][0]))),
        path=label or None,
        hint=say("give one row per user: add up what each user did"),
    )
