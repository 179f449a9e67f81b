"""Read people's labels of samples, and scores by other tools, from the extra columns of a file."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError, UsageError, excerpt
from assay.formats.columns import PEOPLE, candidates
from assay.measures import defaults
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.samples import Sample, Samples
    from assay.data.segments import Floats

PUBLISHED = "published"
_SHOWN = 12  # names of columns in a hint
_FEW = 4  # values in a message
_WANTED = defaults.ANSWERS[0]


def find_human(samples: Samples) -> str:
    """Name the column of people's values; several candidates, or none, are an error.

    An object with several values is looked into for faithfulness.
    """
    found = candidates(dict.fromkeys(name for sample in samples for name in sample.others), PEOPLE)
    names = _names(samples)
    if len(found) != 1:
        raise InputError(
            say("columns {names:and} could each hold people's values", names=found)
            if found
            else say("no column holds people's values"),
            path=_label(samples),
            hint=say("choose one: --human COLUMN; the columns are {names}", names=some(map(excerpt, names), _SHOWN))
            if names
            else say("choose one: --human COLUMN, or add one to the file"),
        )
    inside = next((s.others[found[0]] for s in samples if s.others.get(found[0]) is not None), None)
    if not isinstance(inside, dict):
        return found[0]
    if _WANTED in inside:
        return f"{found[0]}.{_WANTED}"
    raise InputError(
        say("column {name} holds several values", name=found[0]),
        path=_label(samples),
        hint=say("choose one: --human {name}.{value}", name=found[0], value=next(iter(inside), "...")),
    )


def find_scores(samples: Samples) -> list[str]:
    """Name the scores that the file publishes: the numbers of its object `published`."""
    keys = dict.fromkeys(
        key for s in samples if isinstance(s.others.get(PUBLISHED), dict) for key in s.others[PUBLISHED]
    )
    return [
        f"{PUBLISHED}.{key}" for key in keys if any(_number(_at(s, f"{PUBLISHED}.{key}")) is not None for s in samples)
    ]


def column(samples: Samples, name: str) -> Floats:
    """Numbers of a column, NaN where there is none; `a.b` looks into an object, a list counts as its mean."""
    values = [_at(sample, name) for sample in samples]
    if all(value is None for value in values):
        raise InputError(
            say("there is no column {name}", name=excerpt(name)),
            path=_label(samples),
            hint=say("the columns are {names}", names=some(map(excerpt, _names(samples)), _SHOWN)),
        )
    return np.array([math.nan if value is None else value for value in map(_number, values)])


def human_labels(samples: Samples, name: str, positive: str | float | None) -> tuple[Floats, Floats | None]:
    """People's labels as numbers, and whether each is positive: at least `positive`, or equal to it as a label."""
    values = [_at(sample, name) for sample in samples]
    numbers = column(samples, name)
    wanted = _number(positive)
    if wanted is None and positive is not None:
        labels = {str(value) for value in values if value is not None}
        if str(positive) not in labels:
            raise UsageError(
                say(
                    "no row of {name} has the value {positive}: the values are {values}",
                    name=name,
                    positive=excerpt(str(positive)),
                    values=_some(labels),
                )
            )
        found = np.array([math.nan if value is None else float(str(value) == positive) for value in values])
        return found, found
    if np.isnan(numbers).all():
        labels = {str(value) for value in values if value is not None}
        raise UsageError(
            say(
                "{name} holds words ({values}): say which of them means yes, as in --positive WORD",
                name=name,
                values=_some(labels),
            )
        )
    if wanted is None and not set(numbers[~np.isnan(numbers)]) <= {0.0, 1.0}:
        return numbers, None
    cut = 1.0 if wanted is None else wanted
    return numbers, np.where(np.isnan(numbers), np.nan, (numbers >= cut).astype(np.float64))


def _some(labels: set[str]) -> list[str]:
    return some(map(excerpt, sorted(labels)), _FEW)


def _at(sample: Sample, name: str) -> Any:
    if name in sample.others:
        return sample.others[name]
    value: Any = sample.others
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _number(value: Any) -> float | None:
    """A finite number, a truth value, a number in a text, or the mean of several."""
    if isinstance(value, (list, tuple)):
        found = [number for number in map(_number, value) if number is not None]
        return math.fsum(found) / len(found) if found else None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, (bool, int, float)):
        return None
    with suppress(OverflowError):  # a whole number of hundreds of digits
        return float(value) if math.isfinite(value) else None
    return None


def _names(samples: Samples) -> list[str]:
    found: list[str] = []
    for name, value in ((n, v) for s in samples for n, v in s.others.items()):
        found += [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
    return list(dict.fromkeys(found))


def _label(samples: Samples) -> str | None:
    return samples.source.label if samples.source else None


def groups(samples: Sequence[Sample]) -> list[int]:
    """Give samples with the same question and contexts the same number, as they are not independent."""
    seen: dict[Any, int] = {}
    keys = [(s.conversation, tuple(c.text for c in s.contexts)) if s.contexts else s.query_id for s in samples]
    return [seen.setdefault(key, len(seen)) for key in keys]
