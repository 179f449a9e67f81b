"""Scores: the table of queries x measures that every question and every report starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from assay.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.segments import Bools, Floats

STATUSES = ("scored", "missing", "undefined", "unjudged", "abstained", "not_applicable", "failed")
SCORED, MISSING, UNDEFINED, UNJUDGED, ABSTAINED, NOT_APPLICABLE, FAILED = range(len(STATUSES))

GEOMETRIC_FLOOR = 0.00001  # trec_eval's, so that one failed query does not make the geometric mean 0


@dataclass(frozen=True)
class Counts:
    """How many queries (of answers: samples) stand behind a mean, and how many do not and why.

    Of those in it, `tied` hang on the order of equal scores, `short` have fewer results than the cutoff. `judged_by`
    counts the samples that other methods judged, which are in means of their own.
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


class Coverage(NamedTuple):
    """How many queries (of answers: samples) have a value, of those that should have one."""

    scored: int
    expected: int

    @property
    def share(self) -> float:
        """Share of the values that are there; 1 where none is expected."""
        return self.scored / self.expected if self.expected else 1.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Values of one system: one row per query (the union of judged and retrieved ones), one column per measure.

    A cell has a value or NaN, and a status. NaN cells are in no mean; a judged query missing from the run has the value
    0 and the status `missing` unless the protocol leaves it out. Scores from a file know their judgments by digest.
    `judge` names the language model behind the grades, `calibration` how far it agrees with people,
    `embedder` whose embeddings stand behind values found by embeddings.
    """

    name: str
    query_ids: list[str]
    labels: tuple[str, ...]
    definitions: dict[str, str]
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    counts: dict[str, Counts]
    protocol: Protocol
    aggregates: dict[str, Literal["mean", "sum", "geometric"]] = field(default_factory=dict)
    weights: Floats | None = None
    judgments: Judgments | str = ""
    inputs: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    calibration: str = ""
    embedder: str = ""

    @property
    def uncalibrated(self) -> bool:
        """Say whether the grades are a language model's that nobody compared with people's."""
        return bool(self.judge) and not self.calibration

    @property
    def judgments_digest(self) -> str:
        """SHA-256 of the judgments' content: scores are comparable only when it is the same."""
        return self.judgments if isinstance(self.judgments, str) else self.judgments.digest

    @property
    def judged(self) -> int:
        """Number of judged queries; coverage scores the others too and does not tell."""
        tells = [not self.definitions[label].startswith("coverage") for label in self.labels]
        rows = self.status[:, tells] if any(tells) else self.status
        return int((rows != UNJUDGED).any(axis=1).sum())

    def __getitem__(self, label: object) -> float:
        """Mean of a measure, by its label or by the text or value it was asked for with."""
        name = str(label)
        return self._aggregate(name if name in self.labels else self.asked.get(name, name))

    def mean(self) -> dict[str, float]:
        """Mean (or total, for counts) of every measure."""
        return {label: self._aggregate(label) for label in self.labels}

    def column(self, label: str) -> Floats:
        """Per-query values of a measure in the order of `query_ids`; NaN for queries that are in no mean."""
        if label not in self.labels:
            raise UnknownName("label", label, self.labels, hint=f"the labels are {', '.join(self.labels[:12])}")
        return self.values[:, self.labels.index(label)]

    def coverage(self, label: str) -> Coverage:
        """How much of what should have a value has one.

        A value that failed should be there, and so should that of an answer or a ranking that is missing (unless it
        counts as 0) and that of a sample which another method judged. Refusals, what a measure does not apply to or is
        not defined for, and queries that nobody judged are not expected to have a value.
        """
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
        return aggregate(values, ~np.isnan(values), self.aggregates.get(label, "mean"), self.weights)

    def __repr__(self) -> str:
        shown = ", ".join(f"{label}={value:.4f}" for label, value in list(self.mean().items())[:4])
        more = f", {len(self.labels) - 4} more" if len(self.labels) > 4 else ""  # noqa: PLR2004
        return f"Scores({self.name!r}, {len(self.query_ids)} queries: {shown}{more})"


def aggregate(
    values: Floats, mask: Bools, kind: Literal["mean", "sum", "geometric"], weights: Floats | None = None
) -> float:
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
