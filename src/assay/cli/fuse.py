"""`assay fuse`: several runs into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import language, options, progress
from assay.cli.commands import command as make_command
from assay.cli.parameters import NUMBER, WHOLE, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.run import Run

_EXAMPLES = (
    "assay fuse bm25.run dense.run -o hybrid.run",
    "assay fuse bm25.run dense.run --by weighted --norm z --weight bm25=0.3 --weight dense=0.7 -o hybrid.run",
    "assay fuse a.run b.run c.run --by combmnz --depth 100 --top 100 -o fused.jsonl",
    "assay fuse bm25.run dense.run --by weighted --tune qrels.txt -m ndcg@10 --train 0.5 --seed 0 -o hybrid.run",
    "assay fuse --list",
)


@dataclass(frozen=True)
class FusionOptions:
    """How lists become one."""

    by: str = option("--by", default="rrf", show_default=True, metavar="METHOD", former=["--method"])
    norm: str | None = option("--norm", metavar="NORM")
    rrf_k: float | None = option("--rrf-k", type=NUMBER, former=["--k"])
    phi: float | None = option("--phi", type=NUMBER)
    nu: float | None = option("--nu", type=NUMBER)
    weight: tuple[str, ...] = option("--weight", default=(), multiple=True, metavar="NAME=W|W,W,...")
    listed: str | None = option("--weights", metavar="W,W,...", hidden=True)
    depth: int | None = option("--depth", type=WHOLE)
    top: int = option("--top", default=1000, show_default=True, type=WHOLE)
    ties: str = option("--ties", default="docid", show_default=True, type=WordChoice(["docid", "given"]))
    unlisted: str = option("--unlisted", default="lowest", show_default=True, type=WordChoice(["lowest", "zero"]))
    dedupe: bool = option("--dedupe", default=False, is_flag=True)
    name: str | None = option("--name", metavar="NAME")

    def settings(self) -> dict[str, Any]:
        """What `fuse` takes."""
        params = {"k": self.rrf_k, "phi": self.phi, "nu": self.nu}
        return {
            "method": self.by.lower(), "norm": self.norm, "weights": self._weights(), "depth": self.depth,
            "top": self.top, "ties": self.ties, "unlisted": self.unlisted, "dedupe": self.dedupe, "name": self.name,
            **{name: value for name, value in params.items() if value is not None},
        }  # fmt: skip

    def _weights(self) -> dict[str, float] | list[float] | None:
        """Weights by name, or in the order of the runs."""
        bare = [text for text in self.weight if "=" not in text]
        listed = self.listed or (bare[0] if len(bare) == 1 and len(self.weight) == 1 else None)
        if listed and self.listed and self.weight:
            raise UsageError(say("cli.weights_one_way"))
        if listed:
            return [_number(text) for text in listed.split(",")]
        found: dict[str, float] = {}
        for text in self.weight:
            name, equals, value = text.rpartition("=")
            if not equals or name in found:
                raise UsageError(say("cli.weight_form", text=text))
            found[name] = _number(value)
        return found or None


@dataclass(frozen=True)
class Tuning:
    """On which queries weights are searched."""

    measure: str | None = option("-m", "--measure", metavar="MEASURE", only="tune")
    train: float | None = option("--train", type=NUMBER, only="tune")
    seed: int | None = option("--seed", type=WHOLE, only="tune")
    train_queries: str | None = option("--train-queries", metavar="FILE", only="tune")
    write_split: str | None = option("--write-split", type=OUTPUT, metavar="FILE", only="tune")
    protocol: str | None = option("--protocol", metavar="NAME|FILE", only="tune")
    min_relevance: float | None = option("--min-relevance", type=NUMBER, only="tune")
    split: str | None = option("--split", metavar="NAME", only="tune")


def _show_list(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from assay.cli import language
        from assay.report.views.fusion import listing

        click.echo(listing(language.current()), nl=False)
        ctx.exit()


@make_command("fuse", _EXAMPLES)
@add_argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@takes(fusion=FusionOptions)
@add_option("--input-format", metavar="FORMAT")
@add_option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_show_list)
@add_option("--tune", metavar="JUDGMENTS")
@takes(tuning=Tuning)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@options.quiet
def command(
    *, runs: tuple[str, ...], fusion: FusionOptions, input_format: str | None, tune: str | None, tuning: Tuning,
    output: str | None,
) -> None:  # fmt: skip
    """Fuse and write."""
    from assay.fusion.fuse import fuse

    settings = fusion.settings()
    if output is None and tune is None:
        raise UsageError(say("cli.fuse_where"))
    options.read_once([options.split_name(text)[1] for text in [*runs, *([tune] if tune else [])]])
    read = [_read(text, input_format) for text in progress.each(runs, say("progress.reading"), len(runs))]
    fused = fuse(read, **settings) if tune is None else _tune(tune, read, tuning, settings)
    _write(fused, output)


def _read(text: str, input_format: str | None) -> Run:
    from assay.formats.reading import read_run

    name, path = options.split_name(text)
    return read_run(path, kind=input_format, name=name)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(say("cli.weight_number", text=text)) from None


def _tune(tune: str, runs: list[Run], tuning: Tuning, settings: dict[str, Any]) -> Run:
    """Tune, print the outcome, and return the fused run."""
    from assay.analysis.settings import need_subtopics
    from assay.analysis.tuning import tune_fusion
    from assay.formats.reading import read_judgments
    from assay.formats.splits import read_training, write_split
    from assay.measures import defaults
    from assay.report.document import write
    from assay.report.views import fusion

    given = {name: getattr(tuning, name) for name in ("measure", "train", "seed", "protocol", "min_relevance")}
    asked = {name: value for name, value in given.items() if value is not None}
    if tuning.train_queries is not None:
        if "train" in asked or "seed" in asked:
            raise UsageError(say("cli.train_queries"))
        asked["train"] = read_training(tuning.train_queries)
    subtopics = need_subtopics([asked.get("measure", defaults.SINGLE)], asked.get("protocol", "trec"))
    judged = read_judgments(tune, split=tuning.split or "test", subtopics=subtopics, dedupe=settings["dedupe"])
    found = tune_fusion(judged, runs, **asked, **settings)
    if not options.is_quiet():
        click.echo(write(fusion.tuning(found), "table", language.current()), nl=False)
    if tuning.write_split is not None:
        write_split(found.training_ids, found.held_out_ids, tuning.write_split)
        options.tell_written(tuning.write_split)
    return found.run


def _write(fused: Run, output: str | None) -> None:
    from assay.formats.writing import write_run

    options.note(fused.notes)
    if output is not None:
        write_run(fused, output)
        queries = fused.frame["query_id"].n_unique()
        options.note([say("cli.wrote_run", place=output, documents=len(fused), queries=queries)])
