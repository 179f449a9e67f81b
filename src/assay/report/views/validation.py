"""What a validation looks like: every score beside people, with intervals, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.grounding.agreement import describe_agreement
from assay.messages import ends, say
from assay.report.blocks import Block, Heading, Lines, Verdict
from assay.report.intervals import interval_column, why
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from assay.results.trust import ScoreAgreement, Validation
    from assay.stats.agreement import Agreement


def line(found: Validation) -> Verdict:
    """Name the score that agrees best with people."""
    best = found.best
    value = None if best is None else (best.auroc or best.spearman).value
    if best is None or value is None:
        return Verdict(say("validate.no_best", name=found.name, n=found.compared))
    by = "Spearman" if best.auroc is None else "AUROC"
    return Verdict(say("validate.line", name=found.name, score=_name(best), by=by, value=value, n=found.compared))


def table(found: Validation) -> list[Block]:
    """Agreement of each score with people, then what is behind it."""
    title = say("validate.title", name=found.name, compared=found.compared, rows=found.rows, groups=found.groups)
    blocks: list[Block] = [Heading(title), _table(found)]
    if any(score.difference for score in found.scores):
        blocks.append(_differences(found))
    lines = [say("validate.human", human=found.human)]
    if found.positives is not None:
        lines.append(say("validate.positive", n=found.positives, of=found.compared, positive=str(found.positive)))
        lines.append(
            say("validate.threshold")
            if found.threshold is None
            else say("validate.given_threshold", threshold=found.threshold)
        )
    else:
        lines.append(say("validate.no_positive"))
    lines += [say("validate.left_out", n=count, reason=reason) for reason, count in found.left_out.items()]
    blocks += [Lines((*lines, *found.notes), listed=True)]
    known = [describe_agreement(score.name) for score in found.scores if score.kind == "method"]
    return [*blocks, Lines(tuple(line for line in known if line), listed=True)]


def _table(found: Validation) -> Table:
    interval = interval_column(of.interval for one in found.scores for of in (one.spearman, one.auroc) if of)
    headers = [say("column.score"), "Spearman", interval]
    if found.positives is not None:
        headers += ["AUROC", interval, say("validate.accuracy"), interval, say("column.threshold")]
    return Table(tuple(headers), tuple(_row(score, strong=score in found.leaders) for score in found.scores))


def _row(score: ScoreAgreement, *, strong: bool) -> tuple[str | Cell, ...]:
    row: list[str | Cell] = [_name(score), *_value(score.spearman, strong=strong and score.auroc is None)]
    if score.auroc is not None and score.accuracy is not None:
        row += [*_value(score.auroc, strong=strong), *_value(score.accuracy)]
        row.append("" if score.threshold is None else f"{score.threshold:.3g}")
    return tuple(row)


def _differences(found: Validation) -> Table:
    """By how much the first score is better than each other one."""
    pairs = [(score, score.difference) for score in found.scores if score.difference is not None]
    rows = tuple((_name(score), *_value(difference, signed=True)) for score, difference in pairs)
    interval = interval_column(difference.interval for _, difference in pairs)
    headers = (say("column.score"), say("column.difference"), interval)
    return Table(headers, rows, caption=say("validate.difference", name=found.scores[0].name))


def _name(score: ScoreAgreement) -> str:
    return score.name if score.kind == "method" else say("validate.published", name=score.name.rpartition(".")[2])


def _value(of: Agreement, *, strong: bool = False, signed: bool = False) -> tuple[Cell, str]:
    form = "+.3f" if signed else ".3f"
    text = "" if of.value is None else f"{of.value:{form}}"
    value = Cell(text, strong=strong)
    if of.interval is None:
        return value, why(of.reason)
    return value, ends(of.interval.low, of.interval.high, form) or why(of.interval.reason)
