"""Reading an A/B test: an event log, one row per user, or sums over the users of each arm."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assay.data.events import Events
from assay.errors import InputError, UsageError, excerpt
from assay.formats import columns
from assay.formats.detect import format_of
from assay.formats.events.reading import open_log
from assay.formats.events.recognition import is_event_log
from assay.formats.files import Input
from assay.formats.tables import frame_from, read_table
from assay.lazy import pl
from assay.messages import say
from assay.online.trial_events import Parts, users_of_log
from assay.stats.arms import COLUMNS, Arm, arm_from_sums, pool_arms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LARGEST = 1e30  # its square is in sums of squares, whose products are in variances of ratios
BEFORE = "_before"  # the end of a column that says what the same users did before the test

# Columns of a file of arms: what is summed, by its place in `COLUMNS`.
_SUMS = ("sum", "denominator_sum", "covariate_sum", "covariate_denominator_sum")
_PRODUCTS = {
    (0, 0): "sum_squares",
    (1, 1): "denominator_sum_squares",
    (2, 2): "covariate_sum_squares",
    (3, 3): "covariate_denominator_sum_squares",
    (0, 1): "sum_products",
    (0, 2): "covariate_products",
    (0, 3): "covariate_denominator_products",
    (1, 2): "denominator_covariate_products",
    (1, 3): "denominator_covariate_denominator_products",
    (2, 3): "covariate_sum_products",
}


@dataclass(frozen=True)
class TrialData:
    """What is known of a test before anything is decided.

    `daily` has the arms by day, measure and variant, of the users who came in on that day; a file without days has one
    day without a name. `corrected` names the measures that have a covariate, `uncorrected` ratios of which only one
    part has one, `shares` what is 0 or 1 for every user. `file` is where it came from. An event log also says of which
    measures less is better (`lower`), how many requests were rated, by measure and variant (`answers`), and in `notes`
    what was left out.
    """

    daily: Mapping[str, Mapping[str, Mapping[str, Arm]]]
    corrected: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    file: str = ""
    variants: tuple[str, ...] = field(default=())
    uncorrected: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()
    answers: Mapping[str, Mapping[str, Arm]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, as they were asked for."""
        return tuple(next(iter(self.daily.values())))

    @property
    def days(self) -> tuple[str, ...]:
        """The days, in order; none where the file has no days."""
        return tuple(day for day in self.daily if day)

    def arms(self, measure: str, until: str | None = None) -> dict[str, Arm]:
        """The arms of a measure up to a day, or of the whole test."""
        found: dict[str, list[Arm]] = {}
        for day, measures in self.daily.items():
            if until is None or day <= until:
                for variant, arm in measures.get(measure, {}).items():
                    found.setdefault(variant, []).append(arm)
        return {variant: pool_arms(*arms) for variant, arms in found.items()}

    def users(self, day: str | None = None) -> dict[str, int]:
        """Users by variant, of one day or of the whole test: the most that any measure has."""
        chosen = [self.daily[day]] if day is not None else list(self.daily.values())
        count = dict.fromkeys(self.variants, 0)
        for measures in chosen:
            for variant in count:
                count[variant] += max((arms[variant].n for arms in measures.values() if variant in arms), default=0)
        return count


def read_trial(
    given: Any, measures: Sequence[str] = (), *, cuped: bool = True, one_variant: bool = False, timezone: str = "UTC"
) -> TrialData:
    """Read an event log, one row per user, or one row per arm and measure, from a file or a frame.

    Users have a column of their variant (`variant`, `arm`, `group` ...), measures as further columns, a ratio of two of
    them as `clicks/impressions`, and what they did before the test as `clicks_before`. Arms have the columns `variant,
    measure, n, sum, sum_squares` and, for ratios and covariates, the further sums that docs/ab.md lists. With
    `one_variant`, users need no variant: all are one.
    """
    if isinstance(given, Events) or _is_log(given):
        return _read_log(open_log(given), measures, cuped=cuped, one_variant=one_variant, timezone=timezone)
    frame, label = _frame(given)
    needed = "" if one_variant else say("variants")
    variant = columns.find(frame.columns, columns.VARIANT, path=label, needed=needed)
    day = columns.find(frame.columns, columns.DAY, path=label)
    frame = frame.with_columns((pl.lit("all") if variant is None else pl.col(variant)).cast(pl.String).alias(_VARIANT))
    frame = frame if variant is None else frame.drop(variant)
    frame = frame.with_columns(
        (pl.lit("") if day is None else pl.col(day).cast(pl.String).str.slice(0, 10)).alias(_DAY)
    )
    if day is not None:
        _check_days(frame, day, label)
    _check_variants(frame, label)
    is_arms = {"n", "sum", "measure"} <= set(frame.columns)
    found = (_arms_of_sums if is_arms else _arms_of_users)(frame, list(measures), label, cuped=cuped)
    names = tuple(frame[_VARIANT].unique(maintain_order=True).to_list())
    if is_arms:
        _check_users(found, names, label)
    measured = list(next(iter(found.values())))
    pooled = TrialData(found, file=label, variants=names)
    return TrialData(
        found,
        tuple(m for m in measured if any(arm.covariances[2][2] > 0 for arm in pooled.arms(m).values())),
        tuple(m for m in measured if all(_is_share(arm) for arm in pooled.arms(m).values())),
        label,
        names,
        tuple(m for m in measured if cuped and _is_half_known(m, frame.columns)),
    )


def _is_log(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return True
    return isinstance(given, (str, os.PathLike)) and is_event_log(os.fspath(given))


def _read_log(events: Events, measures: Sequence[str], *, cuped: bool, one_variant: bool, timezone: str) -> TrialData:
    users = users_of_log(events, measures, cuped=cuped, one_variant=one_variant, timezone=timezone)
    label = events.sources[0].label if events.sources else ""
    frame = users.frame.rename({"variant": _VARIANT}).with_columns(pl.col("day").cast(pl.String).alias(_DAY))
    _check_variants(frame, label)
    daily = _reduce(frame, users.parts)
    answers = TrialData(_reduce(frame, users.answers) if users.answers else {})
    found = TrialData(
        daily,
        tuple(measure for measure, parts in users.parts.items() if parts[2]),
        file=label,
        variants=tuple(frame[_VARIANT].unique().sort().to_list()),
        lower=users.lower,
        answers={measure: answers.arms(measure) for measure in users.answers},
        notes=users.notes,
    )
    return replace(found, shares=tuple(m for m in users.parts if all(_is_share(arm) for arm in found.arms(m).values())))


def _is_half_known(measure: str, known: Sequence[str]) -> bool:
    """Say whether only one part of a ratio has a column of before the test."""
    parts = _ratio_of(measure) if measure not in known else None
    return parts is not None and (f"{parts[0]}{BEFORE}" in known) != (f"{parts[1]}{BEFORE}" in known)


def _ratio_of(measure: str) -> tuple[str, str] | None:
    """The two columns of a ratio; None for what is not written as one."""
    above, _, below = (part.strip() for part in measure.partition("/"))
    return (above, below) if above and below and "/" not in below else None


_VARIANT, _DAY = "variant ", "day "  # with a blank: no column of a file is called so


def _frame(given: Any) -> tuple[pl.DataFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        source = Input.at(given)
        kind = format_of(source)
        return read_table(source, kind if kind in {"tsv", "jsonl", "parquet"} else "csv"), source.label
    found = frame_from(given)
    if found is None:
        raise UsageError(say("give a file or a frame of users or arms, not {kind}", kind=type(given).__name__))
    return found, ""


def _check_days(frame: pl.DataFrame, name: str, label: str) -> None:
    """Refuse days that are not written as 2026-11-18: others cannot be counted, nor put in order."""
    whole = frame[_DAY].str.contains(r"^[1-9]\d{3}-\d\d-\d\d$")  # to_date takes a year of three digits, too
    days = frame[_DAY].str.to_date("%Y-%m-%d", strict=False).set(~whole.fill_null(value=True), None)
    if days.null_count():
        odd = frame[_DAY].filter(days.is_null())[0]
        raise InputError(
            say("{name}: {value} is not a day", name=excerpt(name), value=excerpt(str(odd))),
            path=label or None,
            hint=say("write days as 2026-11-18, or rename the column"),
        )


def _check_variants(frame: pl.DataFrame, label: str) -> None:
    """Refuse rows without a variant, and variants that differ only in case, spaces and dashes."""
    names = frame[_VARIANT]
    missing = int((names.is_null() | (names.str.strip_chars() == "")).sum())
    if missing:
        raise InputError(
            say("{n} {n:row has|rows have} no variant", n=missing),
            path=label or None,
            hint=say("users who were never assigned are not part of the test: leave them out"),
        )
    seen: dict[str, str] = {}
    for name in names.unique(maintain_order=True).to_list():
        twin = seen.setdefault(re.sub(r"[\s_-]+", "", name.casefold()), name)
        if twin != name:
            raise InputError(
                say("the variants {first!r} and {second!r} look like the same one", first=twin, second=name),
                path=label or None,
                hint=say("spell it the same way in every row"),
            )


def _is_share(arm: Arm) -> bool:
    """Return whether every user's value is 0 or 1, judging by the variance."""
    if any(arm.covariances[i][i] for i in range(1, len(COLUMNS))) or arm.means[1] != 1 or arm.n < 2:  # noqa: PLR2004
        return False
    mean, hits = arm.means[0], arm.n * arm.means[0]
    expected = mean * (1 - mean) * arm.n / (arm.n - 1)
    return 0 <= mean <= 1 and abs(hits - round(hits)) < 1e-6 and abs(arm.covariances[0][0] - expected) < 1e-9  # noqa: PLR2004


# One row per user -----------------------------------------------------------------------------------------------------


def _arms_of_users(
    frame: pl.DataFrame, measures: list[str], label: str, *, cuped: bool
) -> dict[str, dict[str, dict[str, Arm]]]:
    """Reduce users to arms in one pass over the frame."""
    user = columns.find(frame.columns, columns.USER, path=label)
    if user is not None:
        _refuse_repeated(frame, user, label)
    wanted = measures or [name for name in frame.columns if _could_be_measure(frame, name, user)]
    if not wanted:
        raise InputError(say("no column has numbers to compare"), path=label or None)
    parts = {measure: _parts_of(measure, frame.columns, label, cuped=cuped) for measure in wanted}
    used = list(dict.fromkeys(name for names in parts.values() for name in names if name))
    return _reduce(_as_numbers(frame, used, label), parts)


def _reduce(frame: pl.DataFrame, parts: Mapping[str, Parts]) -> dict[str, dict[str, dict[str, Arm]]]:
    """Arms by day, measure and variant, from the columns of each measure."""
    used = list(dict.fromkeys(name for names in parts.values() for name in names if name))
    pairs = {(a, b) for names in parts.values() for a in names for b in names if a and b and a <= b}
    table = frame.group_by(_DAY, _VARIANT, maintain_order=True).agg(
        pl.len().alias("n "),
        *(pl.col(name).mean().alias(f"mean {name}") for name in used),
        *(pl.cov(a, b, ddof=1).alias(f"cov {a} {b}") for a, b in sorted(pairs)),
    )
    found: dict[str, dict[str, dict[str, Arm]]] = {}
    for row in table.sort(_DAY, maintain_order=True).iter_rows(named=True):
        for measure, names in parts.items():
            found.setdefault(row[_DAY], {}).setdefault(measure, {})[row[_VARIANT]] = _arm_of_row(row, names)
    return found


def _could_be_measure(frame: pl.DataFrame, name: str, user: str | None) -> bool:
    if name in {_VARIANT, _DAY, user} or name.endswith(BEFORE) or columns.has_any([name], columns.DAY):
        return False
    return frame[name].cast(pl.Float64, strict=False).null_count() == 0


def _parts_of(measure: str, known: Sequence[str], label: str, *, cuped: bool) -> Parts:
    """The columns of value, denominator and both before the test; nothing where there is none."""
    above, below = (_ratio_of(measure) if measure not in known else None) or (measure, "")
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


def _as_numbers(frame: pl.DataFrame, names: Sequence[str], label: str) -> pl.DataFrame:
    numbers = frame.with_columns(pl.col(name).cast(pl.Float64, strict=False) for name in names)
    for name in names:
        bad = int((~(numbers[name].abs() <= _LARGEST).fill_null(value=False)).sum())
        if bad:
            raise InputError(
                say("{name}: {n} {n:user has|users have} no number", name=excerpt(name), n=bad),
                path=label or None,
                hint=say("every assigned user counts: write 0 for one who did nothing"),
            )
    return numbers


def _arm_of_row(row: dict[str, Any], names: Parts) -> Arm:
    constant = (0.0, 1.0, 0.0, 1.0)
    means = tuple(row[f"mean {name}"] if name else constant[i] for i, name in enumerate(names))

    def covariance(a: str, b: str) -> float:
        return (row[f"cov {min(a, b)} {max(a, b)}"] or 0.0) if a and b else 0.0

    return Arm(row["n "], means, tuple(tuple(covariance(a, b) for b in names) for a in names))


def _refuse_repeated(frame: pl.DataFrame, user: str, label: str) -> None:
    """Refuse users with several rows: the user is the unit of the test."""
    repeated = frame.filter(pl.col(user).is_duplicated())
    if not len(repeated):
        return
    crossed = repeated.group_by(user).agg(pl.col(_VARIANT).n_unique()).filter(pl.col(_VARIANT) > 1)
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


# Sums over users ------------------------------------------------------------------------------------------------------


def _arms_of_sums(
    frame: pl.DataFrame, measures: list[str], label: str, *, cuped: bool
) -> dict[str, dict[str, dict[str, Arm]]]:
    numbered = frame.with_row_index("line ", offset=2).sort(_DAY, maintain_order=True)
    rows = [(row["line "], row) for row in numbered.iter_rows(named=True)]
    known = list(dict.fromkeys(str(row["measure"]) for _, row in rows))
    for name in measures:
        if name not in known:
            raise InputError(
                say("there is no measure {name}", name=excerpt(name)),
                path=label or None,
                hint=say("the measures are {names}", names=known),
            )
    found: dict[str, dict[str, dict[str, Arm]]] = {}
    for day in dict.fromkeys(row[_DAY] for _, row in rows):
        found[day] = {measure: {} for measure in measures or known}
    for line, row in rows:
        arms = found[row[_DAY]].get(str(row["measure"]))
        if arms is None:
            continue
        if row[_VARIANT] in arms:
            text = say("{measure} of {variant} has two rows", measure=str(row["measure"]), variant=row[_VARIANT])
            raise InputError(text, path=label or None, line=line)
        arms[row[_VARIANT]] = _arm_of_sums(row, label, line, cuped=cuped)
    return found


def _check_users(found: dict[str, dict[str, dict[str, Arm]]], variants: Sequence[str], label: str) -> None:
    """Refuse sums in which a measure lacks a variant, or counts other users than the others do."""
    for measures in found.values():
        for measure, arms in measures.items():
            lacking = [name for name in variants if name not in arms]
            if lacking:
                text = say("{measure} has no row of {variant}", measure=measure, variant=lacking[0])
                raise InputError(text, path=label or None)
        for name in variants:
            counts = {measure: arms[name].n for measure, arms in measures.items()}
            if len(set(counts.values())) > 1:
                few, many = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
                raise InputError(
                    say(
                        "{variant}: {few} counts {n:,} users, {many} {other:,}",
                        variant=name, few=few, n=counts[few], many=many, other=counts[many],
                    ),
                    path=label or None,
                    hint=say("every assigned user counts in every measure: those who did nothing with 0"),
                )  # fmt: skip


def _arm_of_sums(row: dict[str, Any], label: str, line: int, *, cuped: bool) -> Arm:
    size = len(COLUMNS) if cuped else len(COLUMNS) // 2
    numbers = dict(_numbers_of(row, label, line))
    n = numbers.get("n")
    if n is None or n < 1 or n != int(n) or numbers.get("sum") is None:
        text = say("a row of an arm needs n (the number of users, 1 or more) and sum")
        raise InputError(text, path=label or None, line=line)
    sums = [numbers.get(name) if i < size else None for i, name in enumerate(_SUMS)]
    products = [
        [numbers.get(_PRODUCTS[min(i, j), max(i, j)]) if max(i, j) < size else None for j in range(len(COLUMNS))]
        for i in range(len(COLUMNS))
    ]
    try:
        return arm_from_sums(int(n), sums, products=products)
    except UsageError as error:
        raise InputError(error.message, path=label or None, line=line) from None


def _numbers_of(row: dict[str, Any], label: str, line: int) -> Iterator[tuple[str, float]]:
    for name in ("n", *_SUMS, *_PRODUCTS.values()):
        value = row.get(name)
        if value is None or value == "":
            continue
        number = _number_of(value)
        if number is None:
            text = say("{name} = {value}: expected a number", name=name, value=excerpt(str(value)))
            raise InputError(text, path=label or None, line=line)
        yield name, number


def _number_of(value: Any) -> float | None:
    """A number that can be squared and added up; None for anything else."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if abs(found) <= _LARGEST else None
