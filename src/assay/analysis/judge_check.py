"""A model's grades beside people's, pair by pair: how far they agree, and the cases behind every number."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.calibrate import LEAST, RESAMPLES, calibrate
from assay.analysis.label_tasks import find_readable
from assay.curation.labelling import settle_numbers
from assay.data.judgments import Judgments
from assay.errors import AssayError
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.reading import read_judgments
from assay.formats.verdicts import read_votes
from assay.stats.agreement import confusion_matrix, kappa, krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assay.analysis.workspace import WorkFile, Workspace
    from assay.curation.labelling import Item
    from assay.curation.labels import LabelStore
    from assay.data.label import Label
    from assay.results.trust import Calibration
    from assay.stats.agreement import Agreement, Confusion

_TABLES = {"jsonl", "csv", "tsv", "parquet"}
TASK = "relevance:"  # how the names of tasks begin in which documents are graded


@dataclass(frozen=True)
class JudgedFile:
    """A file of a model's grades; `people` is the column of it that holds people's, or empty."""

    file: WorkFile
    judge: str
    pairs: int
    people: str


@dataclass(frozen=True)
class GradedPair:
    """A document that people and the model graded for a query; `notes` are what people wrote, each with the name."""

    query_id: str
    doc_id: str
    human: float
    model: float
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class JudgeCheck:
    """How far a model's grades agree with people's; `calibration` is None as long as there are too few pairs for it.

    `kappa` counts every difference alike, `weighted` by its square. Intervals draw queries.
    """

    judge: str
    pairs: tuple[GradedPair, ...]
    confusion: Confusion
    exact: float
    kappa: Agreement
    weighted: Agreement
    alpha: Agreement
    calibration: Calibration | None
    least: int = LEAST

    def cases(self, human: float | None, model: float | None) -> list[GradedPair]:
        """The pairs with these two grades; without them those on which the two differ, the furthest apart first."""
        if human is not None and model is not None:
            return [one for one in self.pairs if (one.human, one.model) == (human, model)]
        differing = [one for one in self.pairs if one.human != one.model]
        return sorted(differing, key=lambda one: -abs(one.human - one.model))


def check_judge(
    judged: Judgments, people: Mapping[Item, float], notes: Mapping[Item, Sequence[tuple[str, str]]] | None = None
) -> JudgeCheck | None:
    """Compare a model's grades with people's on the pairs that both graded; None where there is none.

    From 50 pairs on, this has all that `calibrate` finds.

    >>> import assay
    >>> judged = assay.Judgments.from_dict({"q1": {"a": 2, "b": 0}, "q2": {"c": 1}})
    >>> found = check_judge(judged, {("q1", "a"): 2, ("q1", "b"): 1, ("q2", "d"): 0})
    >>> found.exact, [one.doc_id for one in found.cases(1, 0)]
    (0.5, ['b'])
    """
    pairs = pairs_of_both(judged, people, notes)
    if not pairs:
        return None
    theirs, ours = np.array([one.human for one in pairs]), np.array([one.model for one in pairs])
    options = {"groups": [one.query_id for one in pairs], "n_resamples": RESAMPLES, "rng": 0}
    found = None
    if len(pairs) >= LEAST:
        said: defaultdict[object, dict[object, float]] = defaultdict(dict)
        for one in pairs:
            said[one.query_id][one.doc_id] = one.human
        found = calibrate(judged, Judgments.from_dict(said))
    return JudgeCheck(
        judge=judged.judge or "judge",
        pairs=pairs,
        confusion=confusion_matrix(theirs, ours),
        exact=float(np.mean(ours == theirs)),
        kappa=kappa(ours, theirs, weighting="none", **options),  # type: ignore[arg-type]
        weighted=found.kappa if found else kappa(ours, theirs, **options),  # type: ignore[arg-type]
        alpha=found.alpha if found else krippendorff_alpha(np.stack([ours, theirs], axis=1), **options),  # type: ignore[arg-type]
        calibration=found,
    )


def pairs_of_both(
    judged: Judgments, people: Mapping[Item, float], notes: Mapping[Item, Sequence[tuple[str, str]]] | None = None
) -> tuple[GradedPair, ...]:
    """The pairs that a model and people graded; negative grades do not count."""
    grades = judged.by_query
    return tuple(
        GradedPair(query, doc, grade, grades[query][doc], tuple((notes or {}).get((query, doc), ())))
        for (query, doc), grade in sorted(people.items())
        if grade >= 0 and grades.get(query, {}).get(doc, -1) >= 0
    )


# In a folder ----------------------------------------------------------------------------------------------------------


def find_judged_files(space: Workspace) -> list[JudgedFile]:
    """Files of a folder with grades of a model: those of `assay judge`, and tables with a column of people's grades."""
    found = []
    for file in space.files("judgments"):
        try:
            judged = space.read(file, read_judgments)
            people = space.read(file, _column_of_people)
        except AssayError:
            continue
        if judged.judge or people:
            found.append(JudgedFile(file, judged.judge or file.stem, len(judged.frame), people))
    return found


def find_files_of_people(space: Workspace) -> list[WorkFile]:
    """Judgments of a folder that no model made."""
    found = []
    for file in space.files("judgments"):
        try:
            judged = space.read(file, read_judgments)
            if not judged.judge and not space.read(file, _column_of_people):
                found.append(file)
        except AssayError:
            continue
    return found


def check_file(
    space: Workspace, judged: JudgedFile, people: Mapping[Item, float], notes: Mapping[Item, Sequence[tuple[str, str]]]
) -> JudgeCheck | None:
    """Compare the grades of a file with people's; what was found is kept as long as neither changes."""
    mark = sha256(repr((sorted(people.items()), sorted(notes.items()))).encode("utf-8", "replace")).hexdigest()

    def compare_grades(place: str) -> JudgeCheck | None:
        del place
        return check_judge(space.read(judged.file, read_judgments), people, notes)

    return space.read(judged.file, compare_grades, mark)


def people_of_file(space: Workspace, file: WorkFile) -> dict[Item, float]:
    """People's grades in a file: of a column of theirs beside the model's, or the judgments that it holds."""
    if space.read(file, _column_of_people):
        return space.read(file, _grades_of_column)
    rows = space.read(file, read_judgments).frame.select("query_id", "doc_id", "grade").iter_rows()
    return {(query, doc): float(grade) for query, doc, grade in rows}


def labels_of_people(store: LabelStore) -> list[Label]:
    """All grades of documents that people gave in the workbench."""
    return [label for task in store.counts() if task.startswith(TASK) for label in store.current(task)]


def grades_of_labels(labels: Sequence[Label]) -> dict[Item, float]:
    """One grade for each pair: where several people gave one, the median."""
    return settle_numbers("relevance", labels)


def notes_of_labels(labels: Iterable[Label]) -> dict[Item, tuple[tuple[str, str], ...]]:
    """What people wrote beside their grades, with the names."""
    found: defaultdict[Item, list[tuple[str, str]]] = defaultdict(list)
    for one in labels:
        if one.note and one.counts:
            found[one.item].append((one.by, one.note))
    return {item: tuple(notes) for item, notes in found.items()}


def reasons_of_judge(space: Workspace, judge: str) -> dict[Item, str]:
    """Why the model gave its grades, where the details of `assay judge` are in the folder."""
    found: dict[Item, str] = {}
    for votes in find_readable(space, "verdicts", read_votes):
        for vote in votes:
            if isinstance(vote.get("reason"), str) and vote.get("judge") in {judge, None}:
                found.setdefault((vote["query_id"], vote["doc_id"]), vote["reason"])
    return found


def _column_of_people(place: str) -> str:
    """The column of a table that holds people's grades beside those of a model; empty for other files."""
    source = Input.at(place)
    if format_of(source, None) not in _TABLES:
        return ""
    names = list(tables.read_table(source, format_of(source, None)).columns)
    grade = columns.find(names, columns.GRADE, path=source.label)
    found = columns.candidates([name for name in names if name != grade], columns.PEOPLE)
    return found[0] if grade and len(found) == 1 else ""


def _grades_of_column(place: str) -> dict[Item, float]:
    source = Input.at(place)
    frame = tables.read_table(source, format_of(source, None))
    grade = columns.find(frame.columns, columns.GRADE, path=source.label)
    query, doc = (columns.find(frame.columns, one, path=source.label) for one in (columns.QUERY, columns.DOC))
    people = _column_of_people(place)
    if not (grade and query and doc):
        return {}
    rows: Iterator[tuple[object, ...]] = frame.select(query, doc, people).iter_rows()
    return {
        (str(one), str(other)): float(value)
        for one, other, value in rows
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    }
