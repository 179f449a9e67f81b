"""Sums over the users of each arm, as files of arms have them: checked and made into arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UsageError, excerpt
from assay.formats.trial_users import DAY, LARGEST, VARIANT
from assay.messages import say
from assay.stats.arms import COLUMNS, Arm, arm_from_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.lazy import pl

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


def arms_of_sums(
    frame: pl.DataFrame, measures: list[str], label: str, *, cuped: bool
) -> dict[str, dict[str, dict[str, Arm]]]:
    """Arms by day, measure and variant, one for each row."""
    numbered = frame.with_row_index("line ", offset=2).sort(DAY, maintain_order=True)
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
    for day in dict.fromkeys(row[DAY] for _, row in rows):
        found[day] = {measure: {} for measure in measures or known}
    for line, row in rows:
        arms = found[row[DAY]].get(str(row["measure"]))
        if arms is None:
            continue
        if row[VARIANT] in arms:
            text = say("{measure} of {variant} has two rows", measure=str(row["measure"]), variant=row[VARIANT])
            raise InputError(text, path=label or None, line=line)
        arms[row[VARIANT]] = _arm_of_sums(row, label, line, cuped=cuped)
    return found


def check_users(found: dict[str, dict[str, dict[str, Arm]]], variants: Sequence[str], label: str) -> None:
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
    return found if abs(found) <= LARGEST else None
