"""`assay validate`: how far methods of judging answers agree with people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Judge labelled SAMPLES by each method and compare all scores with what people said.

The file holds answers, their contexts and a column of people's values; scores of other tools in it stand in the same
table. All scores are compared on the rows that have every one of them.

\b
assay validate answers.jsonl --human human.faithfulness --positive 3
assay validate begin.tsv --map contexts=knowledge --human begin_label --positive 'Fully attributable'
assay validate summaries.json --map answer=summary --map contexts=doc --method words --method overlap
"""


@click.command(name="validate", help=_HELP)
@click.argument("samples")
@click.option(
    "--method", "methods", multiple=True, metavar="NAME",
    help="words, embedding, overlap (plain word overlap) or contains; may be repeated.  [default: the first three]",
)  # fmt: skip
@click.option("--human", metavar="COLUMN", help="People's values; a.b looks into an object, a list counts as its mean.")
@click.option("--positive", metavar="VALUE", help="From which value on people mean yes, or their word for it.")
@click.option("--score", "scores", multiple=True, metavar="COLUMN", help="A score in the file; may be repeated.")
@click.option("--threshold", type=float, help="Of the scores, for balanced accuracy; else it is chosen on other rows.")
@click.option(
    "--embedder", "embedders", multiple=True, default=["auto"], show_default=True, metavar="NAME|FOLDER|MODEL@URL",
    help="auto, minilm, wordllama, or a model behind an OpenAI-compatible server; may be repeated.",
)  # fmt: skip
@click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="Which column a field is read from.")
@click.option("--input-format", metavar="FORMAT", help="jsonl, json, csv, tsv or parquet.")
@click.option("--resamples", type=click.IntRange(0), default=1000, show_default=True, help="Of the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the intervals.")
@options.output
def command(
    *, samples: str, methods: tuple[str, ...], human: str | None, positive: str | None, scores: tuple[str, ...],
    threshold: float | None, embedders: tuple[str, ...], columns: tuple[str, ...], input_format: str | None,
    resamples: int, seed: int, output: str | None, kind: str | None, lang: Lang,
) -> None:  # fmt: skip
    """Validate and print."""
    from assay.analysis.validate import validate
    from assay.cli.embedders import embedder_of
    from assay.formats.samples import read_samples

    found = validate(
        read_samples(samples, kind=input_format, columns=_mapping(columns)), methods or None,  # type: ignore[arg-type]
        human=human, positive=positive, scores=scores or None, threshold=threshold,
        embedder=list(map(embedder_of, embedders)), n_resamples=resamples, seed=seed,
    )  # fmt: skip
    kind = kind or options.format_for(output, options.FORMATS)
    if kind == "json":
        from assay.cli.inputs import command_line
        from assay.formats.results import to_json
        from assay.results.result import make_result

        options.emit(to_json(make_result(found, command=command_line(), seed=seed)), output)
        return
    from assay.report.document import write
    from assay.report.views.validation import validation

    options.emit(write(validation(found), kind, lang), output)  # type: ignore[arg-type]


def _mapping(texts: tuple[str, ...]) -> dict[str, str]:
    from assay.errors import UsageError

    found = dict(text.partition("=")[::2] for text in texts)
    wrong = next((text for text in texts if not all(text.partition("=")[::2])), None)
    if wrong is not None:
        raise UsageError(f"--map {wrong}: expected FIELD=COLUMN")
    return found
