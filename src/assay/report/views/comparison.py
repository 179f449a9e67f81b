"""What a comparison looks like: the table for a paper, the details of each measure, verdicts, doubts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Heading, Lines
from assay.report.intervals import between, told
from assay.report.tables import Cell, Table
from assay.results.comparison import LEAST_QUERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.comparison import Comparison, Contrast, Lift, Likeness, Mover, Pairs

_BETTER, _WORSE = "\N{DAGGER}", "\N{DOUBLE DAGGER}"
_TINY = 0.0001


def summary(comparison: Comparison, *, exact: bool = False) -> Table:
    """One row per system, one column per measure; the best in bold, marks for what differs."""
    rows: list[tuple[str | Cell, ...]] = [
        (name, *(_mean(comparison, label, place, exact=exact) for label in comparison.measures))
        for place, name in enumerate(comparison.systems)
    ]
    return Table((say("column.system"), *comparison.measures), tuple(rows))


def _mean(comparison: Comparison, label: str, place: int, *, exact: bool) -> Cell:
    value = comparison.means[label][place].estimate
    name = comparison.systems[place]
    best = comparison.best[comparison.measures.index(label)]
    return Cell(number(value, exact=exact), _mark(comparison, label, name), strong=name == best)


def _mark(comparison: Comparison, label: str, name: str) -> str:
    for pairs in comparison.pairs:
        if pairs.measure == label:
            return pairs.letters[comparison.systems.index(name)]
    if name == comparison.baseline:
        return ""
    return {"better": _BETTER, "worse": _WORSE}.get(comparison.contrast(name, label).verdict, "")


def number(value: float | None, *, signed: bool = False, exact: bool = False) -> str:
    """Show a value with four decimals, nothing for no value."""
    if value is None or math.isnan(value):
        return ""
    return repr(value) if exact else f"{value:+.4f}" if signed else f"{value:.4f}"


def pvalue(value: float | None) -> str:
    """Show a p-value; it is never 0."""
    if value is None:
        return ""
    return f"< {_TINY:g}" if value < _TINY else f"{value:.4f}"


def details(comparison: Comparison, label: str) -> Table:
    """Everything about one measure: one row per system, the baseline first."""
    level = comparison.rules.confidence_level
    headers = (
        say("column.system"), say("column.mean"), say("column.interval", level=level), say("column.difference"),
        say("column.interval", level=level), say("column.relative"), say("column.p"),
        say("column.p_corrected", name=say(f"correction.{comparison.rules.correction}")), say("column.effect_size"),
        say("column.outcomes"), say("column.verdict"),
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for place, name in enumerate(comparison.systems):
        mean = comparison.means[label][place]
        left = (name, number(mean.estimate), between(mean))
        if place == 0:
            rows.append((*left, "", "", "", "", "", "", "", say("verdict.baseline")))
        else:
            rows.append((*left, *_contrast(comparison.contrast(name, label))))
    return Table(
        headers, tuple(rows), caption=say("compare.against", measure=label, baseline=comparison.baseline), texts=(10,)
    )


def _contrast(contrast: Contrast) -> tuple[str, ...]:
    relative = contrast.relative.estimate
    return (
        number(contrast.difference.estimate, signed=True),
        between(contrast.difference, signed=True),
        "" if relative is None else f"{relative:+.1%}",
        pvalue(contrast.pvalue),
        pvalue(contrast.adjusted),
        "" if contrast.effect_size is None else f"{contrast.effect_size:+.2f}",
        f"{contrast.wins}/{contrast.ties}/{contrast.losses}",
        say("verdict.none" if contrast.too_few else f"verdict.{contrast.verdict}"),
    )


def verdict(comparison: Comparison, contrast: Contrast) -> Said:
    """Say in one sentence what came out of one contrast."""
    return say(
        f"compare.{_outcome(contrast)}",
        system=contrast.system,
        baseline=comparison.baseline,
        measure=contrast.measure,
        by=contrast.difference.estimate or 0.0,
        interval=told(contrast.difference, signed=True),
        smallest=comparison.rules.smallest_effect,
        n=contrast.difference.n,
        effective=_short_of(contrast.effective_n, LEAST_QUERIES),
        least=LEAST_QUERIES,
        limit=contrast.limit,
        more=_more(comparison, contrast),
    )


def _short_of(value: float, least: float) -> str:
    """Show a number with as many digits as it takes to be seen below the least."""
    return next((text for digits in range(1, 9) if float(text := f"{value:.{digits}f}") < least), f"{value:.9f}")


def _outcome(contrast: Contrast) -> str:
    """Which sentence tells what came out."""
    if contrast.too_few:
        return "too_few" if contrast.difference.n < LEAST_QUERIES else "too_few_by_weight"
    if contrast.unchanged:
        return "unchanged_unbounded" if contrast.limit is None else f"unchanged_{contrast.verdict}"
    return contrast.verdict


def _more(comparison: Comparison, contrast: Contrast) -> Said | str:
    """What a verdict leaves open: whether a difference matters, what the queries could show, how many it takes."""
    rules, within = comparison.rules, _within(contrast, comparison.rules.smallest_effect)
    if contrast.verdict in {"better", "worse"}:
        return "" if contrast.at_least_smallest else say("compare.maybe_small", smallest=rules.smallest_effect)
    if contrast.verdict == "equivalent":
        return ""
    if contrast.reach is None:
        return say("compare.unbounded") if within else _power(contrast)
    if contrast.unchanged or within:
        needed = rules.needed_queries(contrast.reach)
        short = contrast.effective_n < needed
        return say("compare.needed" if short else "compare.rare", n=needed, smallest=rules.smallest_effect)
    return _power(contrast)


def _power(contrast: Contrast) -> Said | str:
    if contrast.detectable is None:
        return ""
    return say("compare.power", n=contrast.difference.n, detectable=contrast.detectable)


def _within(contrast: Contrast, smallest: float) -> bool:
    low, high = contrast.difference.low, contrast.difference.high
    return low is not None and high is not None and -smallest < low and high < smallest


def best(comparison: Comparison) -> list[Said]:
    """Name the best system of each measure and, where all pairs were tested, those it does not differ from."""
    found = []
    for label, name in zip(comparison.measures, comparison.best, strict=True):
        value = comparison.means[label][comparison.systems.index(name)].estimate
        like = alike(comparison, label)
        key = "compare.best_like" if like else "compare.best"
        found.append(say(key, measure=label, system=name, value=value, others=like))
    return found


def alike(comparison: Comparison, label: str) -> list[str]:
    """The systems that the best one is not shown to differ from, where all pairs were tested."""
    name = comparison.best[comparison.measures.index(label)]
    place = comparison.systems.index(name)
    return [
        other
        for pairs in comparison.pairs
        if pairs.measure == label
        for other, letters in zip(comparison.systems, pairs.letters, strict=True)
        if other != name and set(letters) & set(pairs.letters[place])
    ]


def heading(comparison: Comparison, protocol: str) -> Said:
    """Say what the table of means shows."""
    rules = comparison.rules
    if comparison.pairs:
        marks = say("compare.letters", alpha=rules.alpha)
    else:
        correction = say(f"correction.{rules.correction}")
        marks = say("compare.daggers", baseline=comparison.baseline, correction=correction, alpha=rules.alpha)
    weight = comparison.weight
    if weight is None:
        return say("compare.means", n=comparison.queries, protocol=protocol, marks=marks)
    return say(
        "compare.weighted_means", n=comparison.queries, protocol=protocol, marks=marks,
        effective=weight.effective_queries, query=weight.heaviest, share=weight.share,
    )  # fmt: skip


def movers(comparison: Comparison, contrast: Contrast) -> Table | None:
    """The queries that gained and lost most."""

    def row(mover: Mover) -> tuple[str, ...]:
        change = mover.after - mover.before
        return (mover.query_id, number(mover.before), number(mover.after), number(change, signed=True))

    rows = [*map(row, contrast.gained), *map(row, reversed(contrast.lost))]
    if not rows:
        return None
    caption = say("compare.movers", system=contrast.system, measure=contrast.measure)
    headers = (say("column.query"), comparison.baseline, contrast.system, say("column.change"))
    return Table(headers, tuple(rows), caption=caption)


def lifts(comparison: Comparison, found: Sequence[Lift]) -> list[Block]:
    """Retrieved against reranked, with the ceiling of the candidates."""
    if not found:
        return []
    rows = tuple(
        (
            lift.measure, number(lift.before), number(lift.after), _percent(lift.relative.estimate, signed=True),
            number(lift.ceiling), _percent(lift.reached), _percent(lift.headroom),
        )
        for lift in found
    )  # fmt: skip
    headers = tuple(
        say(f"column.{name}")
        for name in ("measure", "retrieved", "reranked", "relative", "ceiling", "reached", "headroom")
    )
    caption = say("compare.lifts", system=found[0].system, baseline=comparison.baseline)
    rule = [line for lift in found if lift.pays is not None for line in _payment(comparison, lift)]
    return [Table(headers, rows, caption=caption), Lines((*rule, say("compare.ceiling")))]


def _payment(comparison: Comparison, lift: Lift) -> list[Said]:
    """Say whether the gain is shown to be above what makes a reranker pay, and where that number comes from."""
    gain, worth = lift.relative.estimate or 0.0, comparison.rules.worth
    contrast = comparison.contrast(lift.system, lift.measure)
    if contrast.unchanged and lift.pays == "open":
        key = "compare.keeps_unbounded" if contrast.reach is None else "compare.keeps_open"
        same = say(key, n=contrast.difference.n, measure=lift.measure, worth=worth)
        return [same, say("compare.worth", worth=worth)]
    if contrast.unchanged:
        change = say("compare.keeps_all", measure=lift.measure)
        return [say(f"compare.pays_{lift.pays}", change=change, worth=worth), say("compare.worth", worth=worth)]
    key = "compare.gains" if gain > 0 else "compare.loses" if gain < 0 else "compare.keeps"
    change = say(key, measure=lift.measure, gain=abs(gain), interval=told(lift.relative, percent=True))
    return [say(f"compare.pays_{lift.pays}", change=change, worth=worth), say("compare.worth", worth=worth)]


def _percent(value: float | None, *, signed: bool = False) -> str:
    return "" if value is None else f"{value:+.1%}" if signed else f"{value:.1%}"


def likeness(comparison: Comparison, found: Sequence[Likeness]) -> Table:
    """How far each system's lists differ from the baseline's."""
    rows = tuple((one.system, f"{one.overlap:.1%}", f"{one.rbo:.4f}", f"{one.from_candidates:.1%}") for one in found)
    headers = (
        say("column.system"), say("column.overlap", k=found[0].k), say("column.rbo"), say("column.contained"),
    )  # fmt: skip
    return Table(headers, rows, caption=say("compare.likeness", baseline=comparison.baseline))


def ablation(comparison: Comparison) -> Table:
    """Variants of one system with what each leaves out."""
    plain = summary(comparison)
    rows = tuple((row[0], comparison.descriptions.get(str(row[0]), ""), *row[1:]) for row in plain.rows)
    headers = (say("column.variant"), say("column.description"), *comparison.measures)
    caption = say("compare.ablation", baseline=comparison.baseline)
    return Table(headers, rows, caption=caption, names=2)


def pair_rows(comparison: Comparison) -> Table:
    """Every pair of systems as one row with exact numbers, for a spreadsheet."""
    headers = ("measure", "system", "letters", "mean", "other", "other_mean", "difference", "pvalue")
    body = []
    for pairs in comparison.pairs:
        means = [mean.estimate for mean in comparison.means[pairs.measure]]
        for i, name in enumerate(comparison.systems):
            for j, other in enumerate(comparison.systems[:i]):
                mine, theirs = means[i] or 0.0, means[j] or 0.0
                numbers = [repr(value) for value in (theirs, mine - theirs, pairs.pvalues[i][j])]
                body.append((pairs.measure, name, pairs.letters[i], repr(mine), other, *numbers))
    return Table(headers, tuple(body), names=3, texts=(4,))


def matrix(comparison: Comparison, pairs: Pairs) -> Table:
    """Family-wise p of every pair of systems on one measure."""
    rows = tuple(
        (name, *("" if i == j else pvalue(p) for j, p in enumerate(pairs.pvalues[i])))
        for i, name in enumerate(comparison.systems)
    )
    caption = say("compare.matrix", measure=pairs.measure)
    return Table((say("column.system"), *comparison.systems), rows, caption=caption)


def rows(comparison: Comparison) -> Table:
    """Every contrast as one row with exact numbers, for a spreadsheet."""
    headers = (
        "measure", "system", "baseline", "mean", "baseline_mean", "difference", "low", "high", "relative",
        "relative_low", "relative_high", "t_pvalue", "pvalue", "adjusted", "d_z", "superiority", "wins", "ties",
        "losses", "verdict", "reason",
    )  # fmt: skip
    body = []
    for c in comparison.contrasts:
        mean = comparison.means[c.measure][comparison.systems.index(c.system)].estimate
        numbers = (
            mean, comparison.means[c.measure][0].estimate, c.difference.estimate, c.difference.low, c.difference.high,
            c.relative.estimate, c.relative.low, c.relative.high, c.t_pvalue, c.pvalue, c.adjusted, c.effect_size,
            c.superiority,
        )  # fmt: skip
        exact = [number(value, exact=True) for value in numbers]
        outcome = (str(c.wins), str(c.ties), str(c.losses), c.verdict, c.difference.reason)
        body.append((c.measure, c.system, comparison.baseline, *exact, *outcome))
    return Table(headers, tuple(body), names=3)


def document(
    comparison: Comparison,
    protocol: str,
    *,
    brief: bool = False,
    notes: Sequence[str] = (),
) -> list[Block]:
    """Put a comparison together, the most important part first."""
    head = ablation(comparison) if comparison.descriptions else summary(comparison)
    blocks: list[Block] = [head, Lines((heading(comparison, protocol), *best(comparison)))]
    if not brief:
        if comparison.pairs:  # one family of tests in one document
            blocks += [matrix(comparison, pairs) for pairs in comparison.pairs]
        else:
            blocks += [details(comparison, label) for label in comparison.measures]
            blocks.append(Lines(tuple(verdict(comparison, contrast) for contrast in comparison.contrasts)))
        for found in comparison.lifted():
            blocks += lifts(comparison, found)
        if comparison.likeness:
            blocks.append(likeness(comparison, comparison.likeness))
        tables = [movers(comparison, c) for c in comparison.contrasts if c.measure == comparison.measures[0]]
        blocks += [table for table in tables if table is not None]
    rules = comparison.rules
    exact = rules.interval == "t" and not comparison.pairs and all(contrast.exact for contrast in comparison.contrasts)
    key = "compare.settings_exact" if exact else "compare.settings"
    settled = [say(key, n=rules.n_resamples, seed=rules.seed, smallest=rules.smallest_effect)]
    if len(comparison.systems) > 2 and not comparison.pairs:  # noqa: PLR2004
        settled.append(say("compare.settings_each"))
    if comparison.warnings:
        blocks += [Heading(say("compare.warnings")), Lines(comparison.warnings, listed=True)]
    return [*blocks, Lines((*settled, *notes))]


def view(found: Comparison) -> list[Block]:
    """A comparison by itself, with the protocol that its scores name."""
    protocol = str(found.scores[0].protocol) if found.scores else ""
    return document(found, protocol)
