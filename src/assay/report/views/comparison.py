"""What a comparison looks like: the table for a paper, the details of each measure, verdicts, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Fold, Heading, Lines, Verdict
from assay.report.intervals import between, describe_interval, picture
from assay.report.marks import legend, mark, tone
from assay.report.numbers import number, percent, pvalue
from assay.report.tables import Cell, Table
from assay.report.views import conclusion
from assay.report.views.scores import definitions
from assay.results.comparison import LEAST_QUERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.comparison import Change, Comparison, Contrast, Likeness, Pairs, Reordering

_PICTURES = 3  # measures that get a picture
_NAMED = 3  # differences in one sentence


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
    shown = mark(comparison.mark_of(name, label))
    return Cell(number(value, exact=exact), shown, strong=name in comparison.conclusion(label).best)


def details(comparison: Comparison, label: str) -> Table:
    """Everything about one measure: one row per system, the baseline first."""
    level = comparison.rules.confidence_level
    headers = (
        say("column.system"), say("column.mean"), say("column.interval", level=level), say("column.difference"),
        say("column.interval", level=level), say("column.relative"), say("column.p"),
        say("column.p_corrected", name=say(f"correction.{comparison.rules.correction}")), say("column.effect_size"),
        say("column.outcomes"), say("column.verdict"),
    )  # fmt: skip
    rows: list[tuple[str | Cell, ...]] = []
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


def _contrast(contrast: Contrast) -> tuple[str | Cell, ...]:
    return (
        number(contrast.difference.estimate, signed=True),
        between(contrast.difference, signed=True),
        percent(contrast.relative.estimate, signed=True),
        pvalue(contrast.pvalue),
        pvalue(contrast.adjusted),
        "" if contrast.effect_size is None else f"{contrast.effect_size:+.2f}",
        f"{contrast.wins}/{contrast.ties}/{contrast.losses}",
        Cell(say("verdict.none" if contrast.too_few else f"verdict.{contrast.verdict}"), tone=tone(contrast.verdict)),
    )


def verdict(comparison: Comparison, contrast: Contrast) -> Said:
    """Describe the outcome of one contrast in one sentence."""
    return say(
        f"compare.{contrast.finding}",
        system=contrast.system,
        baseline=comparison.baseline,
        measure=contrast.measure,
        by=contrast.difference.estimate or 0.0,
        interval=describe_interval(contrast.difference, signed=True),
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


def _more(comparison: Comparison, contrast: Contrast) -> Said | str:
    """What a verdict leaves open: whether a difference matters, what the queries could show, how many it takes."""
    rules, within = comparison.rules, contrast.is_within(comparison.rules.smallest_effect)
    if contrast.verdict in {"better", "worse"}:
        return "" if contrast.at_least_smallest else say("compare.maybe_small", smallest=rules.smallest_effect)
    if contrast.verdict == "equivalent":
        return ""
    if contrast.fails_by_correction(rules.alpha) or contrast.fails_by_tail(rules.alpha):
        return _note_failure(comparison, contrast)
    if contrast.reach is None:
        return say("compare.unbounded") if within else _power(comparison, contrast)
    if contrast.changes_nothing or within:
        needed = rules.least_queries(contrast.reach)
        short = contrast.effective_n < needed
        return say("compare.needed" if short else "compare.rare", n=needed, smallest=rules.smallest_effect)
    return _power(comparison, contrast)


def _note_failure(comparison: Comparison, contrast: Contrast) -> Said:
    """Note why a difference with a small p is not shown: by a correction, or by what may not have been seen."""
    values = {"p": pvalue(contrast.pvalue), "adjusted": pvalue(contrast.adjusted)}
    if contrast.fails_by_correction(comparison.rules.alpha):
        key = "compare.turned_all" if comparison.rules.family == "all" else "compare.turned"
        return say(key, n=comparison.tests, **values)
    of = contrast.difference
    unseen = of.low is None or of.is_bounded or of.excludes(0.0)  # the last in older files
    key = "skewed" if not unseen else "unseen_losses" if contrast.improves else "unseen_gains"
    opposed = contrast.losses if contrast.improves else contrast.wins
    return say(f"compare.{key}", opposed=opposed, n=contrast.difference.n, **values)


def _power(comparison: Comparison, contrast: Contrast) -> Said | str:
    if contrast.detectable is None:
        return ""
    many = comparison.tests > 1
    level = comparison.rules.strictest(len(comparison.systems) - 1, len(comparison.measures))
    values = {"n": contrast.difference.n, "detectable": contrast.detectable, "tests": comparison.tests, "level": level}
    return say("compare.power_corrected" if many else "compare.power", **values)


def best(comparison: Comparison) -> list[Said]:
    """Name the best system of each measure, and whether that is shown."""
    return [conclusion.sentence(comparison.conclusion(label)) for label in comparison.measures]


def heading(comparison: Comparison, protocol: str) -> Said:
    """Say what the table of means shows."""
    marks, weight = legend(comparison), comparison.weight
    if comparison.clusters is not None:
        worth = comparison.contrasts[0].effective_n if comparison.contrasts else comparison.clusters
        marks = say("compare.clustered", m=comparison.clusters, effective=worth, marks=marks)
    if weight is None:
        return say("compare.means", n=comparison.queries, protocol=protocol, marks=marks)
    return say(
        "compare.weighted_means", n=comparison.queries, protocol=protocol, marks=marks,
        effective=weight.effective_queries, query=weight.heaviest, share=weight.share,
    )  # fmt: skip


def line(found: Comparison, measure: str = "") -> Verdict:
    """What came out on one measure: the best system, and what is shown about it."""
    label = measure or found.measures[0]
    if len(found.systems) > 2:  # noqa: PLR2004
        return conclusion.line(found.conclusion(label))
    contrast = found.leading_contrast(label)
    return Verdict(verdict(found, contrast), tone(contrast.verdict))


def movers(comparison: Comparison, contrast: Contrast) -> Table | None:
    """The queries that gained and lost most."""

    def row(mover: Change) -> tuple[str | Cell, ...]:
        change = mover.after - mover.before
        return (
            Cell(mover.query_id, query=mover.query_id),
            number(mover.before),
            number(mover.after),
            number(change, signed=True),
        )

    rows = [*map(row, contrast.gained), *map(row, reversed(contrast.lost))]
    if not rows:
        return None
    caption = say("compare.movers", system=contrast.system, measure=contrast.measure)
    headers = (say("column.query"), comparison.baseline, contrast.system, say("column.change"))
    return Table(headers, tuple(rows), caption=caption)


def lifts(comparison: Comparison, found: Sequence[Reordering]) -> list[Block]:
    """Retrieved against reranked, with the ceiling of the candidates."""
    if not found:
        return []
    rows = tuple(
        (
            lift.measure, number(lift.before), number(lift.after), percent(lift.relative.estimate, signed=True),
            number(lift.ceiling), percent(lift.reached), percent(lift.headroom),
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


def _payment(comparison: Comparison, lift: Reordering) -> list[Said]:
    """Say whether the gain is shown to be above what makes a reranker pay, and where that number comes from."""
    gain, worth = lift.relative.estimate or 0.0, comparison.rules.worth
    contrast = comparison.contrast(lift.system, lift.measure)
    if contrast.changes_nothing and lift.pays == "open":
        key = "compare.keeps_unbounded" if contrast.reach is None else "compare.keeps_open"
        same = say(key, n=contrast.difference.n, measure=lift.measure, worth=worth)
        return [same, say("compare.worth", worth=worth)]
    if contrast.changes_nothing:
        change = say("compare.keeps_all", measure=lift.measure)
        return [say(f"compare.pays_{lift.pays}", change=change, worth=worth), say("compare.worth", worth=worth)]
    key = "compare.gains" if gain > 0 else "compare.loses" if gain < 0 else "compare.keeps"
    change = say(key, measure=lift.measure, gain=abs(gain), interval=describe_interval(lift.relative, percent=True))
    return [say(f"compare.pays_{lift.pays}", change=change, worth=worth), say("compare.worth", worth=worth)]


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


def table(
    comparison: Comparison, *, protocol: str = "", brief: bool = False, notes: Sequence[str] = ()
) -> list[Block]:  # fmt: skip
    """Put a comparison together, the most important part first."""
    head = ablation(comparison) if comparison.descriptions else summary(comparison)
    blocks: list[Block] = [head, Lines((heading(comparison, protocol or comparison.protocol), *best(comparison)))]
    if not brief:
        blocks += [*_tests(comparison, comparison.measures), *_lists(comparison)]
        tables = [movers(comparison, c) for c in comparison.contrasts if c.measure == comparison.measures[0]]
        blocks += [table for table in tables if table is not None]
    return [*blocks, *_behind(comparison, notes)]


def page(comparison: Comparison, place: int = 0, *, primary: str = "") -> list[Block]:
    """The same with the `primary` measure first, and pictures of means."""
    primary = primary or comparison.measures[0]
    head = ablation(comparison) if comparison.descriptions else summary(comparison)
    labels = sorted(comparison.measures, key=lambda label: label != primary)
    blocks: list[Block] = [head, Lines((heading(comparison, comparison.protocol), *best(comparison)))]
    blocks += [picture_of(comparison, label, place) for label in labels[:_PICTURES]]
    blocks += _tests(comparison, labels[:1])
    if len(labels) > 1:
        blocks.append(Fold(say("report.other_measures"), tuple(_tests(comparison, labels[1:]))))
    if comparison.pairs:
        each = tuple(details(comparison, label) for label in labels)
        blocks.append(Fold(say("report.each_against", baseline=comparison.baseline), each))
    blocks += [*_lists(comparison), *_behind(comparison, ())]
    return blocks


def _tests(comparison: Comparison, labels: Sequence[str]) -> list[Block]:
    """What was tested on some measures; of one family of tests in one document."""
    if comparison.pairs:
        return [matrix(comparison, pairs) for pairs in comparison.pairs if pairs.measure in labels]
    tested = [contrast for contrast in comparison.contrasts if contrast.measure in labels]
    said = [verdict(comparison, contrast) for contrast in tested]
    return [*(details(comparison, label) for label in labels), Lines((*said, *_unseen(tested)))]


def _unseen(tested: Sequence[Contrast]) -> list[Said]:
    """Name the differences whose intervals count on what the queries did not show."""
    found = [say("compare.of", system=one.system, measure=one.measure) for one in tested if one.difference.is_bounded]
    key = "text.some" if len(found) > _NAMED else "text.list"
    return [say("compare.bounded", found=say(key, parts=found[:_NAMED]))] if found else []


def _lists(comparison: Comparison) -> list[Block]:
    """What is known about the lists behind the scores."""
    blocks = [block for found in comparison.lifts_by_system() for block in lifts(comparison, found)]
    return [*blocks, *([likeness(comparison, comparison.likeness)] if comparison.likeness else [])]


def _behind(comparison: Comparison, notes: Sequence[str]) -> list[Block]:
    """Warnings, settings, definitions and further notes."""
    rules = comparison.rules
    key = "compare.settings_exact" if comparison.exact else "compare.settings"
    settled = [say(key, n=rules.n_resamples, seed=rules.seed, smallest=rules.smallest_effect)]
    if len(comparison.systems) > 2 and not comparison.pairs:  # noqa: PLR2004
        settled.append(say("compare.settings_each"))
    if comparison.scores:
        settled += definitions(comparison.scores[0])
    blocks: list[Block] = []
    if comparison.warnings:
        blocks += [Heading(say("compare.warnings")), Lines(comparison.warnings, listed=True)]
    return [*blocks, Lines(tuple(dict.fromkeys((*settled, *notes))))]


def picture_of(comparison: Comparison, label: str, place: int = 0) -> Chart:
    """The means of all systems with their intervals."""
    means = dict(zip(comparison.systems, comparison.means[label], strict=True))
    return picture(f"means-{place}-{label}", say("chart.means", measure=label), label, means)
