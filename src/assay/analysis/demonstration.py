"""The demo: search systems and chunkers compared on the bundled collection, and a closer look at the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from assay.analysis.answers import answer_details, answers
from assay.analysis.compare import compare
from assay.analysis.diagnose import diagnose
from assay.analysis.evaluate import evaluate_run
from assay.analysis.experiment_runner import run_experiment
from assay.analysis.pools import pool_judgments
from assay.analysis.settings import Settings
from assay.demo import Bundle, collection
from assay.errors import InputError, cause
from assay.formats.files import write_atomically
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments, read_run
from assay.formats.writing import write_result
from assay.installation import install_command
from assay.messages import say
from assay.results.result import make_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from assay.analysis.experiment_runner import FinishedExperiment
    from assay.pipeline.runner import Execution
    from assay.results.answers import AnswerDetails
    from assay.results.comparison import Comparison
    from assay.results.diagnosis import Diagnosis
    from assay.results.pool import JudgingPool
    from assay.results.result import Result

_LADDER = ("bm25", "vectors", "hybrid", "hybrid + minilm")
_CHUNKERS = ("whole", "fixed", "sentence", "recursive", "semantic")


LIST = "to-label.jsonl"
_TO_LABEL, _PLACES = 40, 5  # documents of the list for people, out of so many first places of each run


def list_to_label(place: Bundle, folder: Path) -> JudgingPool:
    """Write a list of documents that people may grade in the workbench."""
    runs = {run.stem: run for run in place.runs}
    found = pool_judgments(
        runs, _TO_LABEL, depth=_PLACES, queries=place.queries_file, documents=place.documents_file
    )  # fmt: skip
    found.save(folder / LIST)
    return found


@dataclass(frozen=True)
class DemoSteps:
    """The combinations of both experiments that can run here; `left_out` lists the others and what they need."""

    ladder: tuple[str, ...] = _LADDER
    chunkers: tuple[str, ...] = _CHUNKERS
    left_out: str = ""


@dataclass(frozen=True)
class Demonstration:
    """What the demo found: two experiments, and the best system of the first with its failures and its answers."""

    ladder: FinishedExperiment
    chunking: FinishedExperiment
    diagnosis: Diagnosis
    answers: AnswerDetails

    def results(self, command: str = "") -> dict[str, Result]:
        """All of it as results by their names."""
        return {
            "ladder": self.ladder.to_result(command),
            "chunking": self.chunking.to_result(command),
            "diagnosis": make_result(self.diagnosis, command=command),
            "answers": make_result(self.answers, command=command),
        }

    def save(self, folder: Path, command: str = "") -> None:
        """Write runs, answers, times and results into a folder."""
        self.ladder.save(folder / "ladder", command=command)
        self.chunking.save(folder / "chunking", command=command)
        write_result(self.diagnosis, folder / "diagnosis.json", command=command)
        write_result(self.answers, folder / "answers.json", command=command)


def find_steps() -> DemoSteps:
    """Find out which steps can run with the packages and models that are here."""
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    if find_spec("bm25s") is None or find_spec("semantic_text_splitter") is None:
        return DemoSteps((), (), say("demo.no_pipeline", command=install_command("pipeline", "text")))
    if wordllama_folder() is None:
        return DemoSteps(_LADDER[:1], _CHUNKERS[:-1], say("demo.no_vectors", command=install_command("text")))
    if find_minilm() is None:
        return DemoSteps(_LADDER[:-1], left_out=say("demo.no_minilm"))
    return DemoSteps()


def copy_collection(folder: Path) -> Bundle:
    """Copy the bundled files into a folder, where commands can name them and people can change them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(say("conduct.cannot_write", why=cause(error)), path=str(folder)) from None
    for path in collection().files:
        write_atomically(folder / path.name, path.read_text(encoding="utf-8"))
    return Bundle(folder)


def run_demo(
    place: Bundle, steps: DemoSteps, *, tell: Callable[[str, int, int], None] = lambda *_: None
) -> Demonstration:
    """Run both experiments, diagnose the best system of the ladder, judge its answers; `tell` reports progress."""
    ladder = run_experiment(place.ladder, only=steps.ladder, tell=tell)
    chunking = run_experiment(place.chunking, only=steps.chunkers, tell=tell)
    best = next(one for one in ladder.outcomes if one.combination.name == ladder.findings.winner)
    return Demonstration(ladder, chunking, _diagnose(ladder, best, place), _judge_answers(best))


def compare_runs(place: Bundle) -> Comparison:
    """Compare the bundled runs, all pairs of them: what works without any further package."""
    judgments = read_judgments(place.judgments)
    settings = Settings.of(judgments, None, "graded-012")
    return compare([evaluate_run(judgments, read_run(path), settings) for path in place.runs], all_pairs=True)


def _diagnose(ladder: FinishedExperiment, best: Execution, place: Bundle) -> Diagnosis:
    assert best.run is not None
    judged = ladder.collection.judgments
    assert judged is not None
    settings = Settings.of(judged, None, "rag", fold="before")
    found = diagnose(judged, best.run, settings, queries=read_queries(place.queries_file))
    return replace(found, worst=())


def _judge_answers(best: Execution) -> AnswerDetails:
    """Judge the answers, which are sentences of the documents, by words."""
    name = say("demo.answers_of", name=best.combination.name)
    return answer_details([answers(best.samples, method="words", name=name)])
