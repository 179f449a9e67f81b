"""`assay fuse`: several runs into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.data.run import Run

_HELP = """Fuse RUNs into one run. Methods: rrf, isr, log_isr, rbc, borda, condorcet (on ranks); combsum, combmnz,
combanz, combmax, combmin, combmed, weighted (on scores). Normalisations: none, min-max, max, sum, z, rank, borda.

\b
assay fuse bm25.run dense.run -o hybrid.run
assay fuse bm25.run dense.run --method weighted --norm z --weight bm25=0.3 --weight dense=0.7 -o hybrid.run
assay fuse a.run b.run c.run --method combmnz --depth 100 --top 100 -o fused.jsonl
assay fuse bm25.run dense.run --method weighted --tune qrels.txt -m ndcg@10 --train 0.5 --seed 0 -o hybrid.run
assay fuse --list
"""

_TUNING = ("measure", "train", "seed", "train_queries", "write_split", "protocol", "min_relevance", "split")


def _show_list(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from assay.report.views.fusion import listing

        click.echo(listing(), nl=False)
        ctx.exit()


@click.command(name="fuse", help=_HELP)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@click.option("--method", default="rrf", show_default=True, metavar="METHOD", help="See: assay fuse --list.")
@click.option("--norm", metavar="NORM", help="Normalisation of scores.  [default: min-max where scores are used]")
@click.option("--k", type=float, help="Of rrf.  [default: 60]")
@click.option("--phi", type=float, help="Of rbc.  [default: 0.8]")
@click.option("--nu", type=float, help="Of log_isr; 0.01 is logN_ISR.  [default: 0]")
@click.option("--weight", "weight", multiple=True, metavar="NAME=W", help="Weight of a run; repeat it for each.")
@click.option("--weights", metavar="W,W,...", help="Weights in the order of the runs.")
@click.option("--depth", type=int, help="Use this much of each list.  [default: all]")
@click.option("--top", type=int, default=1000, show_default=True, help="Keep this many documents of each query.")
@click.option("--ties", type=click.Choice(["docid", "given"]), default="docid", help="Order of equal input scores.")
@click.option(
    "--unlisted",
    type=click.Choice(["lowest", "zero"]),
    default="lowest",
    help="What a document counts that a run with negative scores does not list.  [default: like its lowest]",
)
@click.option("--dedupe", is_flag=True, help="Keep the highest ranked of repeated documents.")
@click.option("--name", help="Name of the fused run.  [default: the method]")
@click.option("--input-format", metavar="FORMAT", help="trec, json, jsonl, csv, tsv or parquet.")
@options.written("--output", "-o", help="The fused run; its suffix sets the format.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_show_list, help="List the methods.")
@click.option("--tune", metavar="JUDGMENTS", help="Search weights (k, phi, nu) on training queries of JUDGMENTS.")
@click.option("-m", "--measure", help="What tuning maximises.  [default: ndcg@10]")
@click.option("--train", type=float, help="Share of judged queries to train on.  [default: 0.5]")
@click.option("--seed", type=int, help="Of the draw of training queries.  [default: 0]")
@click.option("--train-queries", metavar="FILE", help="Training queries, one id per line, or a file of --write-split.")
@options.written("--write-split", help="Write which queries were for training and which were held out.")
@click.option("--protocol", metavar="NAME|FILE", help="Of the measure.  [default: trec]")
@click.option("--min-relevance", type=float, help="Smallest grade that counts as relevant.")
@click.option("--split", help="Split of a BEIR folder.  [default: test]")
def command(
    *, runs: tuple[str, ...], weight: tuple[str, ...], weights: str | None, input_format: str | None,
    output: str | None, tune: str | None, method: str, **rest: Any,
) -> None:  # fmt: skip
    """Fuse and write."""
    from assay.errors import UsageError
    from assay.fusion.fuse import fuse

    tuning = {name: rest.pop(name) for name in _TUNING}
    params = {name: rest.pop(name) for name in ("k", "phi", "nu")}
    rest |= {name: value for name, value in params.items() if value is not None}
    rest |= {"method": method, "weights": _weights(weight, weights)}
    stray = next((name for name, value in tuning.items() if value is not None), None)
    if tune is None and stray is not None:
        raise UsageError(f"--{stray.replace('_', '-')} is for tuning: it needs --tune JUDGMENTS")
    if output is None and tune is None:
        raise UsageError("where to? give -o FILE, as in -o fused.run")
    _check_places([*runs, *([tune] if tune else [])])
    read = [_read(text, input_format) for text in options.with_progress(runs, "reading")]
    fused = fuse(read, **rest) if tune is None else _tuned(tune, read, tuning, rest)
    _report(fused, output)


def _check_places(inputs: list[str]) -> None:
    """Refuse to read standard input twice."""
    from assay.errors import UsageError

    paths = [options.named(text)[1] for text in inputs]
    if paths.count("-") > 1:
        raise UsageError("standard input can be read for one file only")


def _read(text: str, input_format: str | None) -> Run:
    from assay.formats.reading import read_run

    name, path = options.named(text)
    return read_run(path, kind=input_format, name=name)


def _weights(named: tuple[str, ...], listed: str | None) -> dict[str, float] | list[float] | None:
    from assay.errors import UsageError

    if named and listed:
        raise UsageError("give --weight NAME=W for each run, or --weights W,W,... for all of them, not both")
    if listed:
        return [_number(text) for text in listed.split(",")]
    found: dict[str, float] = {}
    for text in named:
        name, equals, value = text.rpartition("=")
        if not equals or name in found:
            raise UsageError(f"--weight {text!r}: expected NAME=W, once for each run")
        found[name] = _number(value)
    return found or None


def _number(text: str) -> float:
    from assay.errors import UsageError

    try:
        return float(text)
    except ValueError:
        raise UsageError(f"weight {text!r} is not a number") from None


def _tuned(tune: str, runs: list[Run], tuning: dict[str, Any], rest: dict[str, Any]) -> Run:
    """Tune, say what came of it, and hand on the fused run."""
    from assay.analysis.settings import need_subtopics
    from assay.analysis.tuning import tune_fusion
    from assay.errors import UsageError
    from assay.formats.reading import read_judgments
    from assay.formats.splits import read_training, write_split
    from assay.measures import usual
    from assay.report.views import fusion

    asked = {name: value for name, value in tuning.items() if value is not None}
    place, listed, kind = asked.pop("write_split", None), asked.pop("train_queries", None), asked.pop("split", "test")
    if listed is not None:
        if "train" in asked or "seed" in asked:
            raise UsageError("--train-queries names the training queries: leave out --train and --seed")
        asked["train"] = read_training(listed)
    subtopics = need_subtopics([asked.get("measure", usual.SINGLE)], asked.get("protocol", "trec"))
    judged = read_judgments(tune, split=kind, subtopics=subtopics, dedupe=rest["dedupe"])
    found = tune_fusion(judged, runs, **asked, **rest)
    click.echo(fusion.tuning(found))
    click.echo("\n".join(fusion.sentences(found)))
    if place is not None:
        write_split(found.training_ids, found.held_out_ids, place)
        click.echo(f"wrote {place}", err=True)
    return found.run


def _report(fused: Run, output: str | None) -> None:
    from assay.errors import clean
    from assay.formats.writing import write_run

    for note in fused.notes:
        click.echo(clean(note), err=True)
    if output is not None:
        write_run(fused, output)
        queries = fused.frame["query_id"].n_unique()
        click.echo(f"wrote {output}: {len(fused):,} documents for {queries:,} queries", err=True)
