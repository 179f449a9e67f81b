"""Carry out a proposal: everything it needs is written into its folder, and nothing that is there is written over."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.curation.questions import make_questions
from assay.errors import InputError, UsageError, cause
from assay.formats.documents import hash_of_text
from assay.formats.files import Input, is_there, write_atomically
from assay.formats.queries import read_queries
from assay.formats.set_folders import is_set
from assay.formats.text_folders import PROPOSAL
from assay.messages import say
from assay.results.codec import read_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.analysis.folder_contents import Contents
    from assay.llm.client import Client
    from assay.pipeline.experiment import Experiment
    from assay.results.proposal import Proposal
    from assay.results.questions import QuestionSet


@dataclass(frozen=True)
class Earlier:
    """An experiment that was proposed before: its text, and whether somebody changed it since."""

    toml: str
    changed: bool


EXPERIMENT, DOCUMENTS, QUESTIONS, UNLABELLED = "experiment.toml", "documents.jsonl", "questions", "unlabelled"


def read_earlier(folder: Path, digest: str) -> Earlier | None:
    """The experiment that is in a folder already, if there is one; it must be for the same documents."""
    if not is_there(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return None
    another = say("name another folder with -o")
    if not (folder / PROPOSAL).is_file():
        raise InputError(say("this folder is there already, and not from assay run"), path=str(folder), hint=another)
    known = read_json(Input.at(folder / PROPOSAL).text, path=str(folder / PROPOSAL))
    if not isinstance(known, dict) or known.get("digest") != digest:
        raise InputError(say("the documents have changed since this folder was made"), path=str(folder), hint=another)
    place = folder / EXPERIMENT
    text = Input.at(place).text if place.is_file() else None
    return None if text is None else Earlier(text, known.get("experiment") != hash_of_text(text))


def write_proposal(found: Proposal) -> Path:
    """Write the experiment of a proposal into its folder, if it is not there yet, and return its place."""
    folder = Path(found.output)
    earlier = read_earlier(folder, found.digest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(say("conduct.cannot_write", why=cause(error)), path=str(folder)) from None
    if not (folder / PROPOSAL).is_file():
        told = {
            "digest": found.digest,
            "questions": found.questions,
            "seed": found.seed,
            "experiment": hash_of_text(found.toml),
        }
        write_atomically(folder / PROPOSAL, json.dumps(told, indent=1) + "\n")
    if earlier is None:
        write_atomically(folder / EXPERIMENT, found.toml)
    return folder / EXPERIMENT


def style_seeds(found: Contents) -> tuple[str, ...]:
    """Queries of a folder that have no labels, whose style a model imitates."""
    if found.has_labels or "queries" not in found.roles:
        return ()
    return tuple(read_queries(found.roles["queries"]).texts().values())


class PreparedExperiment(NamedTuple):
    """The place of an experiment whose inputs are written, and the questions that were made for it now."""

    experiment: Path
    questions: QuestionSet | None = None


def carry_out(
    found: Proposal, tell: Callable[[str, int, int], None], *, judge: Client | None = None
) -> PreparedExperiment:
    """Write what the experiment of a proposal reads: documents that are files, and questions where none are given.

    Questions of a model are written by the client `judge`, within its budget.
    """
    from assay.analysis.folder_contents import look_into

    experiment = write_proposal(found)
    folder = experiment.parent
    documents = folder / DOCUMENTS
    makes = (found.known_items or bool(found.judge)) and not is_set(folder / QUESTIONS)
    contents = look_into(Path(found.folder), tell) if found.copied or makes else None
    texts = {} if contents is None else contents.documents
    if found.copied and not documents.is_file():
        rows = ({"doc_id": doc, "text": text} for doc, text in texts.items())
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        write_atomically(documents, "".join(lines).encode("utf-8", "replace"))
    if not makes or contents is None:
        return PreparedExperiment(experiment)
    made = _make_questions(found, contents, judge, tell)
    made.save(folder / QUESTIONS)
    return PreparedExperiment(experiment, made)


def _make_questions(
    found: Proposal, contents: Contents, judge: Client | None, tell: Callable[[str, int, int], None]
) -> QuestionSet:
    if found.judge and judge is None:
        raise UsageError(say("the questions of this proposal are written by a model: give its client as judge"))
    asked: dict[str, Any] = {"judge": judge, "style_seeds": style_seeds(contents)} if found.judge else {}
    made = make_questions(contents.documents, found.questions, seed=found.seed, progress=tell, **asked)
    if not made.questions and found.judge:
        told = [str(text) for text in made.warnings]
        raise InputError(
            say("the model made no question that passed the checks"), path=found.folder, hint="; ".join(told)
        )
    if not made.questions:
        most = max(made.filters, key=lambda one: one.fell)
        raise InputError(say(f"proposal.no_question_{most.name}"), path=found.folder)
    return made


def leave_out_labels(found: Proposal, experiment: Experiment) -> Experiment | None:
    """The same combinations over the folder's queries that have no labels, if there are some; nothing is scored."""
    if not found.unlabelled_at:
        return None
    folder = Path(found.output)
    queries = Path(os.path.relpath(found.unlabelled_at, folder)).as_posix()
    data = {"documents": experiment.data["documents"], "queries": queries}
    return replace(experiment, data=data, evaluate={}, output=folder / UNLABELLED, written=False)
