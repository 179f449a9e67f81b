"""Scores: the table of queries x measures that every question and every report starts from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from assay.data.record import Record
from assay.data.status import FAILED, MISSING, STATUSES, UNJUDGED
from assay.errors import AssayError, UnknownName
from assay.lazy import public
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.sampling import Sampling
    from assay.data.segments import Bools, Floats
    from assay.data.source import Source


Subject = Literal["rankings", "answers", "spans", "events"]
Aggregate = Literal["mean", "sum", "geometric"]
Parameter = str | bool | int | float | None | tuple[float, ...] | Mapping[str, float]

GEOMETRIC_FLOOR = 0.00001  # trec_eval's, so that one failed query does not make the geometric mean 0
_SHOWN = 8
_EQUAL = 1e-12  # values that differ by less are the same


@dataclass(frozen=True)
class Column:
    """What is known about one column of scores: which measure it is, and how its values are to be read.

    `definition` is the measure as text with everything that was set; two columns are the same where it is. `method`
    says how answers were judged, `bounds` are the ends of all values (None: no end), `over` whether the mean is over
    the judged queries or those of the run, `threshold` from which grade on a document is relevant for it.
    """

    label: str
    definition: str
    name: str
    k: int | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    method: str = ""
    subject: Subject = "rankings"
    bounds: tuple[float | None, float | None] = (0.0, 1.0)
    lower_is_better: bool = False
    aggregate: Aggregate = "mean"
    over: Literal["judged", "run"] = "judged"
    threshold: float | None = None

    @property
    def direction(self) -> float:
        """1 if a higher value is better, -1 if a lower one is."""
        return -1.0 if self.lower_is_better else 1.0

    @property
    def is_mean(self) -> bool:
        """Return whether it is a mean over queries, and not a total or a geometric mean."""
        return self.aggregate == "mean"

    @property
    def family(self) -> str:
        """The definition without its cutoff."""
        return self.definition if self.k is None else self.definition.removesuffix(f"@{self.k}")

    def limits(self, values: Floats) -> tuple[float, float] | None:
        """The ends between which all values lie; None without two ends, or where some of these values lie beyond.

        A measure of a user's own may not have declared its bounds.
        """
        low, high = self.bounds
        if low is None or high is None:
            return None
        known = values[~np.isnan(values)]
        beyond = len(known) > 0 and (known.min() < low - _EQUAL or known.max() > high + _EQUAL)
        return None if beyond else (low, high)

    def reach(self, values: Floats) -> float | None:
        """The largest difference that two values can have; None where they have no limits."""
        limits = self.limits(values)
        return None if limits is None else limits[1] - limits[0]


@dataclass(frozen=True)
class Counts:
    """How many queries (of answers: samples) are in a mean, and how many are not and why.

    Of those in it, `tied` hang on the order of equal scores, `short` have fewer results than the cutoff; `listed` is
    how many documents the middle one of them has in its list, down to the cutoff. `judged_by` counts the samples that
    other methods judged, which are in means of their own.
    """

    queries: int
    missing: int = 0
    undefined: int = 0
    unjudged: int = 0
    tied: int = 0
    short: int = 0
    unjudged_share: float | None = None
    abstained: int = 0
    not_applicable: int = 0
    failed: int = 0
    judged_by: Mapping[str, int] = field(default_factory=dict)
    listed: int | None = None


class Coverage(NamedTuple):
    """How many queries (of answers: samples) have a value, of those that should have one."""

    scored: int
    expected: int

    @property
    def share(self) -> float:
        """Share of the values that are there; 1 where none is expected."""
        return self.scored / self.expected if self.expected else 1.0


@dataclass(frozen=True, eq=False)
class Scores(Record):
    """Values of one system: one row per query (the union of judged and retrieved ones), one column per measure.

    `columns` says what is known about each measure. A cell has a value or NaN, and a status. NaN cells are in no mean;
    a judged query missing from the run has the value 0 and the status `missing` unless the protocol leaves it out.
    Scores from a file know their judgments by digest. `judge` names the language model behind the grades,
    `calibration` how far it agrees with people, `embedder` is the one behind values found by embeddings,
    `inputs` the files that went in by what they were for, `file` the one that the system itself was read from.
    `clusters` names for each query what it belongs to, where queries of one conversation or passage belong together.
    With `sampling`, values are estimates from judgments of a sample, and it has their standard errors.
    """

    name: str
    query_ids: list[str]
    columns: tuple[Column, ...]
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    counts: dict[str, Counts]
    protocol: Protocol
    weights: Floats | None = None
    judgments: Judgments | str = ""
    inputs: tuple[tuple[str, Source], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    calibration: str = ""
    embedder: str = ""
    file: str | None = None
    clusters: tuple[str, ...] | None = None
    sampling: Sampling | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same values for the same queries, wherever their files are."""
        if not isinstance(other, Scores):
            return NotImplemented
        mine, theirs = (
            (s.name, s.query_ids, s.columns, s.counts, s.protocol, s.judgments_digest, s.warnings, s.notes,
             dict(s.asked), s.judge, s.calibration, s.embedder, s.file, s.clusters)
            for s in (self, other)
        )  # fmt: skip
        if mine != theirs or (self.weights is None) != (other.weights is None):
            return False
        weights = self.weights is None or np.array_equal(self.weights, other.weights)  # type: ignore[arg-type]
        same = np.array_equal(self.values, other.values, equal_nan=True) and np.array_equal(self.status, other.status)
        return weights and same

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the measures, in the order of the columns."""
        return tuple(column.label for column in self.columns)

    @property
    def definitions(self) -> dict[str, str]:
        """Full definitions of the measures by their labels."""
        return {column.label: column.definition for column in self.columns}

    @property
    def subject(self) -> Subject:
        """What these scores are about: answers where any measure is about answers alone, else rankings or spans."""
        found = {column.subject for column in self.columns}
        return "answers" if "answers" in found else "rankings" if "rankings" in found else "spans"

    @property
    def main_labels(self) -> tuple[str, ...]:
        """The labels of the protocol's main measures; of a protocol that names none, all."""
        return tuple(label for label in self.protocol.headline if label in self.labels) or self.labels

    def select(self, labels: Sequence[str]) -> Scores:
        """Keep the columns of these labels only."""
        places = [self._place(label) for label in labels]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            values=self.values[:, places],
            status=self.status[:, places],
            counts={label: self.counts[label] for label in labels},
            sampling=None if self.sampling is None else self.sampling.select(places),
        )

    def about(self, measure: object) -> Column:
        """What is known about a measure."""
        return self.columns[self._place(measure)]

    @property
    def uncalibrated(self) -> bool:
        """Return whether a language model gave the grades and they were never compared with people's."""
        return bool(self.judge) and not self.calibration

    @property
    def judgments_digest(self) -> str:
        """SHA-256 of the judgments' content: scores are comparable only when it is the same."""
        return self.judgments if isinstance(self.judgments, str) else self.judgments.digest

    @cached_property
    def judged(self) -> int:
        """Number of judged queries, ignoring measures over the run's own queries, which score unjudged ones too."""
        tells = [column.over == "judged" for column in self.columns]
        rows = self.status[:, tells] if any(tells) else self.status
        return int((rows != UNJUDGED).any(axis=1).sum())

    def __getitem__(self, measure: object) -> float:
        """Mean of a measure, by its label or any spelling of it: scores["ndcg@10"], scores["AP"], scores[ndcg @ 10]."""
        return self._aggregate(self.label_of(measure))

    def mean(self) -> dict[str, float]:
        """Mean (or total, for counts) of every measure."""
        return {label: self._aggregate(label) for label in self.labels}

    def column(self, measure: object) -> Floats:
        """Per-query values of a measure in the order of `query_ids`; NaN for queries that are in no mean."""
        return self.values[:, self._place(measure)]

    def _place(self, measure: object) -> int:
        return self.labels.index(self.label_of(measure))

    def label_of(self, measure: object) -> str:
        """The label of the column of a measure: that label, or any spelling of the same definition."""
        found = self.find(measure)
        if found is None:
            hint = say("{system} has {measures}", system=self.name, measures=some(self.labels, _SHOWN))
            raise UnknownName(say("measure"), str(measure), self.labels, hint=hint)
        return found

    def find(self, measure: object) -> str | None:
        """The label of the column of a measure, in any spelling; None if there is no such column."""
        text = str(measure)
        known = {**self.asked, **{label: label for label in self.labels}}
        if text in known:
            return known[text]
        try:
            wanted = public("parse")(measure)
            canonical, definition = wanted.text, str(wanted.under(self.protocol))
        except AssayError:  # a custom measure of another session, a rubric that is not here, or no measure at all
            canonical = definition = text
        if canonical in known:
            return known[canonical]
        defined = {column.definition: column.label for column in reversed(self.columns)}
        return defined.get(definition, defined.get(text))

    def coverage(self, measure: object) -> Coverage:
        """How much of what should have a value has one.

        A value that failed should be there, and so should that of an answer or a ranking that is missing (unless it
        counts as 0) and that of a sample which another method judged. Refusals, what a measure does not apply to or is
        not defined for, and unjudged queries are not expected to have a value.
        """
        label = self.label_of(measure)
        column = self.status[:, self.labels.index(label)]
        codes = [MISSING, FAILED, *([UNJUDGED] if self.counts[label].judged_by else [])]
        scored = ~np.isnan(self.column(label))
        return Coverage(int(scored.sum()), int((scored | np.isin(column, codes)).sum()))

    @property
    def failed(self) -> tuple[str, ...]:
        """Measures that have not a single value because all that could have one failed."""
        return tuple(label for label, counts in self.counts.items() if counts.failed and not counts.queries)

    def per_query(self) -> pl.DataFrame:
        """All values as a frame: query_id and one column per measure, null where there is none."""
        import polars as pl

        columns = {label: self.values[:, i] for i, label in enumerate(self.labels)}
        return pl.DataFrame({"query_id": self.query_ids, **columns}).with_columns(pl.exclude("query_id").fill_nan(None))

    def to_polars(self) -> pl.DataFrame:
        """Write out as a frame of one row per query and measure with value and status."""
        import polars as pl

        return pl.DataFrame(
            {
                "system": [self.name] * self.values.size,
                "query_id": np.repeat(self.query_ids, len(self.labels)).tolist(),
                "measure": list(self.labels) * len(self.query_ids),
                "value": self.values.ravel(),
                "status": [STATUSES[code] for code in self.status.ravel()],
            }
        ).with_columns(pl.col("value").fill_nan(None))

    def to_pandas(self) -> pd.DataFrame:
        """Write out as a pandas frame: query_id and one column per measure."""
        import pandas as pd

        columns = {label: self.values[:, i] for i, label in enumerate(self.labels)}
        return pd.DataFrame({"query_id": self.query_ids, **columns})

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Write out as {query: {measure: value}} with only the cells that have a value."""
        return {
            query: {label: float(v) for label, v in zip(self.labels, row, strict=True) if not math.isnan(v)}
            for query, row in zip(self.query_ids, self.values, strict=True)
        }

    def _aggregate(self, label: str) -> float:
        values = self.column(label)
        return aggregate(values, ~np.isnan(values), self.about(label).aggregate, self.weights)

    def __repr__(self) -> str:
        shown = ", ".join(f"{label}={value:.4f}" for label, value in list(self.mean().items())[:4])
        more = f", {len(self.labels) - 4} more" if len(self.labels) > 4 else ""  # noqa: PLR2004
        return f"Scores({self.name!r}, {len(self.query_ids)} queries: {shown}{more})"


def aggregate(values: Floats, mask: Bools, kind: Aggregate, weights: Floats | None = None) -> float:
    """Combine per-query values exactly, so that the order of queries and any partition of them cannot matter."""
    kept = values[mask]
    if not len(kept):
        return math.nan
    if kind == "sum":
        return math.fsum(kept)
    if kind == "geometric":
        kept = np.log(np.maximum(kept, GEOMETRIC_FLOOR))
    if weights is None:
        mean = math.fsum(kept) / len(kept)
    elif not weights[mask].any():
        return math.nan
    else:
        mean = math.fsum(kept * weights[mask]) / math.fsum(weights[mask])
    return math.exp(mean) if kind == "geometric" else mean
