"""What is known of scores that are estimates, because only a sample of the documents was judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.segments import Floats, Ints


@dataclass(frozen=True, eq=False)
class Influence:
    """How much each judged document moves the estimates of its query: one row per document, one column per measure.

    `inclusion` is the probability with which each was drawn, `query` the row of its query in the scores.
    """

    values: Floats
    inclusion: Floats
    query: Ints


@dataclass(frozen=True, eq=False)
class Sampling:
    """The standard errors of the values of scores, from judging a sample: one row per query, one column per measure.

    `judged` documents of a pool of about `pooled` were judged. `unpooled` is the estimated share of the retrieved
    documents, down to the smallest cutoff, that could not be drawn; None where there is no cutoff. Scores of a file
    have no `influence`, without which the errors of differences are not known. `degrees` are how many values the errors
    of each query rest on, less one; None in files that were written without them.
    """

    errors: Floats
    judged: int
    pooled: int
    unpooled: float | None = None
    influence: Influence | None = None
    degrees: Floats | None = None

    def select(self, places: Sequence[int]) -> Sampling:
        """Keep the columns of these places."""
        some = self.influence
        if some is not None:
            some = replace(some, values=some.values[:, places])
        return replace(self, errors=self.errors[:, places], influence=some)
