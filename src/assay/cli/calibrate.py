"""`assay calibrate`: how far a judge, or a method of judging answers, agrees with people."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output, PlainRules
from assay.cli.parameters import NUMBER, WHOLE, Number, add_argument, add_option, option, takes
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.results.trust import Calibration, Validation

_EXAMPLES = (
    "assay calibrate judged.qrels human.qrels",
    "assay calibrate judged.qrels human.qrels --run bm25.run --run dense.run -m ndcg@10",
    "assay calibrate judged.qrels human.qrels --votes details.jsonl -o calibration.json",
    "assay calibrate labelled.jsonl --human human.faithfulness --positive 3",
    "assay calibrate begin.tsv --map contexts=knowledge --human begin_label --positive 'Fully attributable'",
)


@dataclass(frozen=True)
class OfJudgments:
    """Options for two files of judgments."""

    runs: tuple[str, ...] = option("--run", default=(), multiple=True, metavar="[NAME=]FILE", section="judgments")
    measures: tuple[str, ...] = option(
        "-m", "--measure", default=(), multiple=True, metavar="MEASURE", section="judgments"
    )
    votes: str | None = option("--votes", metavar="FILE", section="judgments")


@dataclass(frozen=True)
class OfAnswers:
    """Options for one file of answers with people's values."""

    human: str | None = option("--human", metavar="COLUMN", section="answers")
    positive: str | None = option("--positive", metavar="VALUE", section="answers")
    methods: tuple[str, ...] = option("--method", default=(), multiple=True, metavar="NAME", section="answers")
    scores: tuple[str, ...] = option("--score", default=(), multiple=True, metavar="COLUMN", section="answers")
    threshold: float | None = option("--threshold", type=NUMBER, section="answers")
    embedders: tuple[str, ...] = option(
        "--embedder", default=("auto",), show_default=True, multiple=True, metavar="NAME|FOLDER|MODEL@URL",
        section="answers",
    )  # fmt: skip
    columns: tuple[str, ...] = option("--map", default=(), multiple=True, metavar="FIELD=COLUMN", section="answers")
    resamples: int = option(
        "--resamples", default=1000, show_default=True, type=Number(least=0, whole=True), section="answers"
    )


@make_command("calibrate", _EXAMPLES)
@add_argument("judged", metavar="JUDGED|ANSWERS")
@add_argument("people", required=False, metavar="[HUMAN]")
@add_option("--seed", type=WHOLE, default=0, show_default=True)
@options.encoding
@takes(of_judgments=OfJudgments, of_answers=OfAnswers, rules=PlainRules, out=Output)
def command(
    *, judged: str, people: str | None, seed: int, of_judgments: OfJudgments, of_answers: OfAnswers,
    rules: PlainRules, out: Output,
) -> None:  # fmt: skip
    """Calibrate and print: two files are judgments, one is a file of answers."""
    if people is None:
        names = [one.name for one in (*fields(OfJudgments), *fields(PlainRules)) if one.name != "input_format"]
        options.refuse(*names, because="cli.needs_two_files")
        _of_answers(judged, of_answers, rules.input_format, seed, out)
    else:
        options.refuse(*(one.name for one in fields(OfAnswers)), because="cli.needs_one_file")
        _of_judgments(judged, people, of_judgments, rules, seed=seed, out=out)


def _of_judgments(judge: str, human: str, asked: OfJudgments, rules: PlainRules, *, seed: int, out: Output) -> None:
    from assay.analysis.calibrate import calibrate
    from assay.formats.reading import read_judgments
    from assay.formats.verdicts import read_votes
    from assay.report.views.calibration import table

    options.read_once([judge, human, *asked.runs])
    form = rules.input_format
    found = calibrate(
        read_judgments(judge, kind=form, split=rules.split), read_judgments(human, kind=form, split=rules.split),
        runs=inputs.read_runs(asked.runs, form), measures=list(asked.measures) or inputs.headline(rules.protocol),
        protocol=rules.protocol, votes=read_votes(asked.votes) if asked.votes else [], seed=seed, **rules.overrides(),
    )  # fmt: skip
    _print(found, table(found), seed, out, warnings=found.warnings)


def _of_answers(place: str, asked: OfAnswers, form: str | None, seed: int, out: Output) -> None:
    from assay.analysis.validate import validate
    from assay.cli.embedders import embedders_of
    from assay.formats.samples import read_samples
    from assay.report.views.validation import table

    if inputs.is_result(place):
        raise UsageError(say("cli.result_not_samples", place=place))
    columns = dict(options.pair(text, "--map", "FIELD=COLUMN") for text in asked.columns)
    found = validate(
        read_samples(place, kind=form, columns=columns), asked.methods or None,  # type: ignore[arg-type]
        human=asked.human, positive=asked.positive, scores=asked.scores or None, threshold=asked.threshold,
        embedder=embedders_of(asked.embedders), n_resamples=asked.resamples, seed=seed,
    )  # fmt: skip
    _print(found, table(found), seed, out)


def _print(
    found: Calibration | Validation, blocks: list[Any], seed: int, out: Output, warnings: tuple[str, ...] = ()
) -> None:
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.results.result import make_result

    result = make_result(found, command=inputs.command_line(), seed=seed, warnings=warnings)

    def as_text(kind: str) -> str:
        return to_json(result) if kind == "json" else write(blocks, kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)
