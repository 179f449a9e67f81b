"""Texts in English: validation."""

from __future__ import annotations

TEXTS = {
    "column.score": "score",
    "column.threshold": "threshold",
    "validate.title": "{name}: {compared} of {rows} rows compared, {groups} different sets of contexts",
    "validate.accuracy": "balanced acc.",
    "validate.difference": "AUROC of {name} minus that of",
    "validate.published": "{name} (published)",
    "validate.human": "what people said: {human}; intervals are percentiles over resampled sets of contexts",
    "validate.positive": "{n} of {of} rows are positive (people said {positive}, or more if it is a number)",
    "validate.no_positive": "no AUROC, as it is not known from which value on people mean yes; to say so: assay calibrate ... --positive VALUE",
    "validate.given_threshold": "balanced accuracy: scores from {threshold:g} on count as yes",
    "validate.threshold": "balanced accuracy: each fifth of the rows is judged by the best threshold of the others; the one shown is that of all rows",
    "validate.left_out": "{n} left out: {reason}",
    "standing.method": "{name}: {figures}; {blind}",
    "standing.figures": "Spearman {rho:.2f} with people on MTRAG (AUROC {mtrag:.2f}; BEGIN {begin:.2f}, SummEdits {summedits:.2f})",
    "standing.published": "depends on the model; a published one (RAGAS) has Spearman {rho:.2f}, AUROC {mtrag:.2f} with people on MTRAG",
    "standing.words": "blind to paraphrase, to who did what to whom, and to most one-word changes but numbers, names and negations",
    "standing.embedding": "blind to what is on the topic and plausible but not said, and to most one-word changes",
    "standing.overlap": "blind to numbers in other spellings, negation, opposites and word order",
    "standing.contains": "sees verbatim copies only",
    "standing.llm": "compare yours with people: assay calibrate --score",
    "validate.line": "{name}: {score} agrees best with people, {by} {value:.3f} over {n:,} {n:row|rows}.",
    "validate.no_best": "{name}: no score could be compared with people over {n:,} {n:row|rows}.",
}
