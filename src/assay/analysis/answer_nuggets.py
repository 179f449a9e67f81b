"""Give samples the nuggets of their questions, from a file of their own."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.data.nuggets import QuestionNuggets
from assay.errors import InputError, UsageError, excerpt
from assay.formats.files import Input
from assay.formats.nuggets import read_nuggets
from assay.formats.set_folders import is_set
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.samples import Samples
    from assay.data.source import Source

_NAMES = 5  # of ids in a message


class SamplesWithNuggets(NamedTuple):
    """Samples, what there is to say about their nuggets, and the file that these are from."""

    samples: Samples
    notes: tuple[str, ...] = ()
    inputs: tuple[tuple[str, Source], ...] = ()


def add_nuggets(
    samples: Samples, nuggets: str | os.PathLike[str] | Sequence[QuestionNuggets] | None
) -> SamplesWithNuggets:
    """Give each sample the nuggets with its id; ids that no sample has are named."""
    if nuggets is None:
        return SamplesWithNuggets(samples)
    place = os.fspath(nuggets) if isinstance(nuggets, (str, os.PathLike)) else None
    listed: Any = nuggets if place is None else read_nuggets(place)
    label = place or "nuggets"
    if isinstance(listed, QuestionNuggets) or not all(isinstance(one, QuestionNuggets) for one in listed):
        raise UsageError(say("nuggets must be a path or what assay.read_nuggets returns"))
    if "nuggets" in samples.mapping or any(row.nuggets is not None for row in samples):
        raise UsageError(say("the samples have a column of nuggets already: name no file of them, or drop the column"))
    if samples.mapping and "query_id" not in samples.mapping:
        raise InputError(
            say("no column says which question a sample answers, so its nuggets are not known"),
            path=None if samples.source is None else samples.source.label,
            hint=say("name it with --map query_id=COLUMN"),
        )
    told = {one.query_id: one.nuggets for one in listed}
    known = {row.query_id for row in samples}
    strange = [query for query in told if query not in known]
    if len(strange) == len(told):
        raise InputError(
            say("no sample has an id of the nuggets"),
            path=label,
            hint=say(
                "here {ids}, in the samples {others}",
                ids=some(list(map(excerpt, strange)), _NAMES),
                others=some([excerpt(row.query_id) for row in samples], _NAMES),
            ),
        )
    rows = tuple(replace(row, nuggets=told.get(row.query_id)) for row in samples)
    notes = [say("answers.nuggets_strange", place=label, n=len(strange), some=some(strange, _NAMES))] if strange else []
    source = Input.at(label).source if place is not None and not is_set(place) else None
    return SamplesWithNuggets(
        replace(samples, rows=rows), tuple(notes), () if source is None else (("nuggets", source),)
    )
