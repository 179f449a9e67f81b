"""How far methods of judging answers agree with people, on labelled samples, beside scores that others published."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from assay.analysis import labels
from assay.errors import InputError, NothingJudged, UnknownName, UsageError
from assay.formats.samples import as_samples
from assay.grounding import support_of
from assay.grounding.recipes import verbatim_share, word_overlap
from assay.messages import say
from assay.results.trust import ScoreAgreement, Validation
from assay.stats.agreement import spearman
from assay.stats.discrimination import auroc, auroc_difference, balanced_accuracy, best_threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.samples import Sample, Samples
    from assay.data.segments import Floats

Method = Literal["words", "embedding", "overlap", "contains"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT: tuple[Method, ...] = ("words", "embedding", "overlap")
LEAST = 10  # rows; fewer say nothing about agreement
RESAMPLES = 1000
_RECIPES = {"overlap": word_overlap, "contains": verbatim_share}


@dataclass(frozen=True)
class _Column:
    name: str
    kind: Literal["method", "published"]
    values: Floats


def validate(
    samples: Any,
    methods: Sequence[Method] | None = None,
    *,
    human: str | None = None,
    positive: str | float | None = None,
    scores: Sequence[str] | None = None,
    threshold: float | None = None,
    embedder: Any = "auto",
    columns: Mapping[str, str] | None = None,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> Validation:
    """Judge labelled samples by each method and compare all scores with people's on the rows that have every score.

    `positive` is the value from which on people mean yes, or their word for it; AUROC and balanced accuracy need it
    unless people's values are 0 and 1. Each of several embedders gets a row of its own. Rows with the same question and
    contexts are resampled together.

    >>> import assay
    >>> samples = [
    ...     {"answer": answer, "contexts": [f"It was built in {year}."], "human": answer.endswith(f"{year}.")}
    ...     for year in range(1880, 1900)
    ...     for answer in (f"It was built in {year}.", "Bananas are yellow.")
    ... ]
    >>> assay.validate(samples, ["words"]).scores[0].auroc.value
    1.0
    """
    given = as_samples(samples, columns=columns)
    human = human or labels.find_human(given)
    said, truth = labels.human_labels(given, human, positive)
    left_out: Counter[str] = Counter()
    notes: list[str] = list(given.notes)
    found = _methods(given, methods, embedder, left_out, notes)
    names = labels.find_scores(given) if scores is None else scores
    found += [_Column(name, "published", labels.column(given, name)) for name in names]
    if not found:
        raise UsageError(say("there is nothing to compare with people: name a method or a score"))
    kept = _complete_rows(given, found, said, left_out)
    grouped = np.array(labels.groups(given.rows))[kept]
    options = {"groups": grouped, "n_resamples": n_resamples, "rng": seed}
    return Validation(
        name=given.source.label if given.source else "samples",
        human=human,
        positive=1 if positive is None and truth is not None else positive,
        threshold=threshold,
        rows=len(given),
        compared=int(kept.sum()),
        positives=None if truth is None else int(truth[kept].sum()),
        groups=len(set(grouped.tolist())),
        scores=tuple(
            _agreement(column, found[0], kept=kept, said=said, truth=truth, threshold=threshold, options=options)
            for column in found
        ),
        left_out=dict(sorted(left_out.items())),
        notes=tuple(dict.fromkeys(notes)),
    )


def _methods(
    samples: Samples, asked: Sequence[Method] | None, embedder: Any, left_out: Counter[str], notes: list[str]
) -> list[_Column]:
    found = []
    several = list(embedder) if isinstance(embedder, (list, tuple)) else [embedder]
    wanted = DEFAULT if asked is None else dict.fromkeys(asked)
    for method, model in ((m, e) for m in wanted for e in (several if m == "embedding" else [None])):
        if method not in METHODS:
            raise UnknownName(say("method"), method, METHODS, hint=say("choose from {methods}", methods=list(METHODS)))
        try:
            found.append(_method(samples, method, model, left_out, notes))
        except UsageError as error:
            if asked is not None or method != "embedding":
                raise
            notes.append(error.message)
    return found


def _method(samples: Samples, method: Method, embedder: Any, left_out: Counter[str], notes: list[str]) -> _Column:
    if method in _RECIPES:
        return _Column(method, "method", np.array([_by_recipe(sample, method) for sample in samples]))
    records = support_of(samples, "words" if method == "words" else "embedding", embedder=embedder)
    told = [note for record in records for note in record.notes if note.startswith("embeddings: ")][:1]
    notes += told
    if not left_out:
        left_out.update(
            say("blank.fault", field=say(f"blank.{record.status}"), fault=record.reason)
            for record in records
            if record.value is None
        )
    failed = Counter(record.reason for record in records if record.status == "failed")
    if failed and not any(record.status == "scored" for record in records):
        raise NothingJudged(
            say(
                "{method} could not judge any of {n} rows: {reason}",
                method=method,
                n=len(samples),
                reason=failed.most_common(1)[0][0],
            )
        )
    name = f"embedding ({told[0].split()[1].rstrip(',')})" if told else method
    values = [np.nan if record.value is None else record.value for record in records]
    return _Column(name, "method", np.array(values))


def _by_recipe(sample: Sample, method: str) -> float:
    """The value of a recipe; 0 for an answer for which it is undefined."""
    if not sample.answer or sample.contexts is None:
        return np.nan
    return _RECIPES[method](sample.answer, [context.text for context in sample.contexts]) or 0.0


def _complete_rows(samples: Samples, columns: Sequence[_Column], said: Floats, left_out: Counter[str]) -> Any:
    """Rows that people and every score have a value for."""
    for column in columns:
        if column.kind == "published" and np.isnan(column.values).any():
            left_out[say("validate.no_score", name=column.name)] = int(np.isnan(column.values).sum())
    if np.isnan(said).any():
        left_out[say("validate.no_human")] = int(np.isnan(said).sum())
    kept = ~np.isnan(said) & np.all([~np.isnan(column.values) for column in columns], axis=0)
    if kept.sum() < LEAST:
        fewest = min(columns, key=lambda column: int((~np.isnan(column.values)).sum()))
        raise InputError(
            say(
                "only {n} of {of} rows have every score: at least {least} are needed",
                n=int(kept.sum()),
                of=len(kept),
                least=LEAST,
            ),
            path=samples.source.label if samples.source else None,
            hint=say("{name} has {n}", name=fewest.name, n=int((~np.isnan(fewest.values)).sum())),
        )
    return kept


def _agreement(
    column: _Column, first: _Column, *, kept: Any, said: Floats, truth: Floats | None, threshold: float | None,
    options: dict[str, Any],
) -> ScoreAgreement:  # fmt: skip
    values, scored = column.values[kept], int((~np.isnan(column.values)).sum())
    rho = spearman(values, said[kept], **options)
    if truth is None:
        return ScoreAgreement(column.name, column.kind, scored, rho, None, None, None, None)
    yes = truth[kept]
    difference = None if column is first else auroc_difference(first.values[kept], values, labels=yes, **options)
    return ScoreAgreement(
        column.name,
        column.kind,
        scored,
        rho,
        auroc(values, yes, **options),
        balanced_accuracy(values, yes, threshold=threshold, **options),
        best_threshold(values, yes) if threshold is None else threshold,
        difference,
    )
