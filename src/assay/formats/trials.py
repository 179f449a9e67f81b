"""Reading tables of A/B tests: one row per user, or sums over the users of each arm."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.data.limits import MEGABYTE
from assay.errors import InputError, UsageError, excerpt
from assay.formats import columns
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.tables import first_line, frame_from, open_parquet, read_table
from assay.formats.trial_sums import arms_of_sums, check_users
from assay.formats.trial_users import BEFORE, DAY, VARIANT, arms_of_users, faults_of_users, find_counts, ratio_of
from assay.lazy import pl
from assay.messages import say
from assay.stats.arms import COLUMNS, Arm, pool_arms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SCANNED = 4 * MEGABYTE  # a file of users that is larger is not held in memory


@dataclass(frozen=True)
class TrialData:
    """What is known of a test before anything is decided.

    `daily` has the arms by day, measure and variant, of the users who came in on that day; a file without days has one
    day without a name, and so have users none of whose requests has a time. `corrected` names the measures that have a
    covariate, `uncorrected` ratios of which only one
    part has one, `shares` what is 0 or 1 for every user. `file` is where it came from. An event log also says of which
    measures less is better (`lower`), how many requests were rated, by measure and variant (`answers`), and in `notes`
    what was left out; `full_days` is how long its requests came in, `crossed` the share of users of several variants.
    Its measures are `declared`: which way is better is known, not guessed from a name. Where a test is planned,
    `counts` names the measures whose values are whole numbers for every user, `limited` those that cannot be above 1.
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
    full_days: int | None = None
    crossed: float = 0.0
    declared: bool = False
    counts: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()

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
            if until is None or (day and day <= until):
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


def read_trial_table(
    given: Any, measures: Sequence[str] = (), *, cuped: bool = True, one_variant: bool = False
) -> TrialData:
    """Read one row per user, or one row per arm and measure, from a file or a frame.

    Users have a column of their variant (`variant`, `arm`, `group` ...), measures as further columns, a ratio of two of
    them as `clicks/impressions`, and what they did before the test as `clicks_before`. Arms have the columns `variant,
    measure, n, sum, sum_squares` and, for ratios and covariates, the further sums that docs/ab.md lists. With
    `one_variant`, users need no variant: all are one.
    """
    frame, label = _frame(given)
    try:
        return _read_rows(frame, measures, label, cuped=cuped, one_variant=one_variant)
    except pl.exceptions.PolarsError as error:  # a file whose values are damaged, or a column of lists
        raise InputError(say("cannot be read as a table: {reason}", reason=first_line(error)), path=label) from None


def _read_rows(
    frame: pl.LazyFrame, measures: Sequence[str], label: str, *, cuped: bool, one_variant: bool
) -> TrialData:
    known = frame.collect_schema().names()
    frame, day = _name_groups(frame, label, one_variant=one_variant)
    names = check_groups(frame, day, label)
    if has_sums(known):
        found = arms_of_sums(frame.collect(), list(measures), label, cuped=cuped)
        check_users(found, names, label)
    else:
        found = arms_of_users(frame, list(measures), label, cuped=cuped)
    measured = list(next(iter(found.values())))
    pooled = TrialData(found, file=label, variants=names)
    return TrialData(
        found,
        tuple(m for m in measured if any(arm.covariances[2][2] > 0 for arm in pooled.arms(m).values())),
        tuple(m for m in measured if all(is_share(arm) for arm in pooled.arms(m).values())),
        label,
        names,
        tuple(m for m in measured if cuped and _is_half_known(m, known)),
        counts=_find_counts(frame, measured) if one_variant and not has_sums(known) else (),
    )


def _find_counts(frame: pl.LazyFrame, measures: Sequence[str]) -> tuple[str, ...]:
    known = frame.collect_schema().names()
    above = {measure: (ratio_of(measure) if measure not in known else None) or (measure,) for measure in measures}
    return find_counts(frame, {measure: names[0] for measure, names in above.items()})


def _name_groups(frame: pl.LazyFrame, label: str, *, one_variant: bool = False) -> tuple[pl.LazyFrame, str | None]:
    """The rows with their variant and day under names of our own, and the column of days."""
    known = frame.collect_schema().names()
    variant = columns.find(known, columns.VARIANT, path=label, needed="" if one_variant else say("variants"))
    day = columns.find(known, columns.DAY, path=label)
    named = frame.with_columns(
        (pl.lit("all") if variant is None else pl.col(variant)).cast(pl.String).alias(VARIANT),
        (pl.lit("") if day is None else pl.col(day).cast(pl.String).str.slice(0, 10)).alias(DAY),
    )
    return named.drop([variant] if variant is not None else []), day


def has_sums(names: Iterable[str]) -> bool:
    """Return whether a table with these columns has one row per arm and measure, and not one per user."""
    return {"n", "sum", "measure"} <= set(names)


def find_faults(given: Any) -> list[InputError]:
    """What `read_trial_table` would refuse in a file of users or arms, one error for each kind of fault."""
    given_frame, label = _frame(given)
    frame, day = _name_groups(given_frame, label)
    checks: list[Callable[[], object]] = [partial(check_groups, frame, None, label)]
    if day is not None:
        checks.append(partial(_check_days, _groups(frame), day, label))
    if has_sums(frame.collect_schema().names()):
        checks.append(partial(read_trial_table, given))
    else:
        checks += faults_of_users(frame, label) or [partial(read_trial_table, given)]
    return list({error.message: error for error in map(_fault_of, checks) if error is not None}.values())


def _fault_of(check: Callable[[], object]) -> InputError | None:
    try:
        check()
    except InputError as error:
        return error
    return None


def _is_half_known(measure: str, known: Sequence[str]) -> bool:
    """Say whether only one part of a ratio has a column of before the test."""
    parts = ratio_of(measure) if measure not in known else None
    return parts is not None and (f"{parts[0]}{BEFORE}" in known) != (f"{parts[1]}{BEFORE}" in known)


def _frame(given: Any) -> tuple[pl.LazyFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        source = Input.at(given)
        kind = format_of(source)
        if kind == "parquet":
            return open_parquet(source, above=_SCANNED), source.label
        return read_table(source, kind if kind in {"tsv", "jsonl"} else "csv").lazy(), source.label
    found = given if isinstance(given, pl.LazyFrame) else frame_from(given)
    if found is None:
        raise UsageError(say("give a file or a frame of users or arms, not {kind}", kind=type(given).__name__))
    return found.lazy(), ""


def _groups(frame: pl.LazyFrame) -> pl.DataFrame:
    """Days and variants in the order of their first rows."""
    first = frame.with_row_index("line ").group_by(DAY, VARIANT).agg(pl.len().alias("n "), pl.col("line ").min())
    return first.collect(engine="streaming").sort("line ")


def check_groups(frame: pl.LazyFrame, day: str | None, label: str) -> tuple[str, ...]:
    """The variants in the order of their first rows; odd days and spellings are refused."""
    groups = _groups(frame)
    if not len(groups):
        raise InputError(say("the file has no rows"), path=label or None, hint=say("expected at least one row"))
    if day is not None:
        _check_days(groups, day, label)
    _check_variants(groups, label)
    return tuple(groups[VARIANT].unique(maintain_order=True).to_list())


def _check_days(groups: pl.DataFrame, name: str, label: str) -> None:
    """Refuse days that are not written as 2026-11-18: others cannot be counted, nor put in order."""
    whole = groups[DAY].str.contains(r"^[1-9]\d{3}-\d\d-\d\d$")  # to_date takes a year of three digits, too
    days = groups[DAY].str.to_date("%Y-%m-%d", strict=False).set(~whole.fill_null(value=True), None)
    if days.null_count():
        odd = groups[DAY].filter(days.is_null())[0]
        raise InputError(
            say("{name}: {value} is not a day", name=excerpt(name), value=excerpt(str(odd))),
            path=label or None,
            hint=say("write days as 2026-11-18, or rename the column"),
        )


def _check_variants(groups: pl.DataFrame, label: str) -> None:
    """Refuse rows without a variant, and variants that differ only in case, spaces and dashes."""
    names = groups[VARIANT]
    missing = int(groups["n "].filter(names.is_null() | (names.str.strip_chars() == "")).sum())
    if missing:
        raise InputError(
            say("{n} {n:row has|rows have} no variant", n=missing),
            path=label or None,
            hint=say("users who were never assigned are not part of the test: leave them out"),
        )
    check_spellings(names.unique(maintain_order=True).to_list(), label)


def check_spellings(names: Sequence[str], label: str) -> None:
    """Refuse variants that differ only in case, spaces and dashes: their users would seem to be in two of them."""
    seen: dict[str, str] = {}
    for name in names:
        twin = seen.setdefault(re.sub(r"[\s_-]+", "", name.casefold()), name)
        if twin != name:
            raise InputError(
                say("the variants {first!r} and {second!r} look like the same one", first=twin, second=name),
                path=label or None,
                hint=say("spell it the same way in every row"),
            )


def is_share(arm: Arm) -> bool:
    """Return whether every user's value is 0 or 1, judging by the variance."""
    if any(arm.covariances[i][i] for i in range(1, len(COLUMNS))) or arm.means[1] != 1 or arm.n < 2:  # noqa: PLR2004
        return False
    mean, hits = arm.means[0], arm.n * arm.means[0]
    expected = mean * (1 - mean) * arm.n / (arm.n - 1)
    return 0 <= mean <= 1 and abs(hits - round(hits)) < 1e-6 and abs(arm.covariances[0][0] - expected) < 1e-9  # noqa: PLR2004
