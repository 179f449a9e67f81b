"""Measures of event logs: what people clicked, rated and waited for, each a ratio of two sums over requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.errors import UsageError
from assay.lazy import pl
from assay.measures.counts import RequestCounts
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.requests import RequestRow

_NO_END = (0.0, float("inf"))
_REWORDING = ("text", "session|user")


def _one() -> pl.Expr:
    return pl.col("query_id").is_not_null()  # a column: the sum of a literal is that of one row


def _of_known(value: pl.Expr) -> RequestCounts:
    """The mean of what a request has, over the requests for which it is known."""
    return RequestCounts(value.fill_null(0), value.is_not_null(), value.is_null())


def _check_seconds(name: str, parameter: str, value: float) -> None:
    if not value > 0:
        raise UsageError(
            say("{name}({parameter}={value:g}): expected seconds above 0", name=name, parameter=parameter, value=value)
        )


@measure(of="events", unit="result", needs=("click", "impression|results"))
def ctr(row: RequestRow, k: int | None) -> RequestCounts:
    """Click-through rate: share of the results shown that were clicked.

    Definition: different results shown and clicked / different results shown, summed over requests; with @k, at
      positions 1 to k of both. Results shown are events of the action impression; where a request has none, the results
      that it returned.
    Odd cases: a result counts once in a request, at its highest position, however often it was shown or clicked. Clicks
      on results that were not shown are left out and counted; with @k, clicks on results without any position are, too.
      A number of hits says nothing of what was shown: a log with neither impressions nor lists of results leaves it
      undefined.
    Agrees with: assay log judgments --model ctr, summed over pairs; clicks over impressions of search and advertising
      reports, where each result is clicked once at most.
    Reading: ctr@5 = .08 means that 8 of 100 results in the first five places were clicked.
    Use when: two rankings are compared on the same kind of requests, above all in an A/B test.
    Not when: quality as such is meant: people click what stands high (position bias), what looks attractive, and
      nothing where the answer is on the page.
    """
    unplaced = pl.lit(0) if k is None else row.clicks_nowhere
    return RequestCounts(row.hits(k), row.list_size(k), row.unseen_clicks + unplaced)


@measure(of="events", unit="query", needs=("click",))
def any_click(row: RequestRow, k: int | None) -> RequestCounts:
    """Share of requests with at least one click.

    Definition: requests with a click / requests; with @k, with a click at positions 1 to k.
    Odd cases: a request that found nothing counts, with 0. With @k, a click without a position is no click in the first
      k places, and such clicks are counted as left out.
    Reference: Radlinski, Kurup & Joachims 2008, How does clickthrough data reflect retrieval quality?
    Agrees with: 1 - abandonment.
    Reading: .60 means that three requests in five led to a click.
    Use when: one good result is enough, as in most searches.
    Not when: answers are read on the page of results itself, or a click is only a try. See satisfied_click.
    """
    unplaced = None if k is None else row.clicks_without("position")
    return RequestCounts(row.distinct_clicks(k) > 0 if k is not None else row.count("click") > 0, _one(), unplaced)


@measure(cutoff="none", of="events", unit="query", needs=("click",), lower_is_better=True)
def abandonment(
    row: RequestRow, _k: None, *, kind: Literal["all", "good", "bad"] = "all", within_s: float = 300
) -> RequestCounts:
    """Share of requests without any click; the bad ones are reworded soon after, the good ones are not.

    Definition: requests without a click / requests. kind='bad': those after which the next request of the same session
      (of the same user, where there is no session) came within within_s seconds with another text; kind='good': those
      after which it did not. good + bad = all.
    Parameters:
      kind: which requests without a click are counted.
      within_s: how many seconds later a reworded request may come.
    Odd cases: good and bad need the text and the session or user of a request; requests without are left out, counted.
      Texts are compared without outer blanks and case. The last request of a session is followed by nothing.
    Reference: Li, Huffman & Tokuda 2009, Good abandonment in mobile and PC internet search.
    Agrees with: 1 - any_click for kind='all'; the article had people read the pages of results, which a log cannot.
    Reading: .40 with .10 of it bad means that most people who did not click did not search on either.
    Use when: answers may be on the page of results itself, so that no click is not a failure by itself.
    Not when: sessions are short or cut off: who leaves for another site looks content.
    """
    _check_seconds("abandonment", "within_s", within_s)
    none = row.count("click") == 0
    if kind == "all":
        return RequestCounts(none, _one())
    reworded = row.is_followed_by_other_words(within_s)
    counted = none & (reworded if kind == "bad" else ~reworded)
    return RequestCounts(counted.fill_null(value=False), reworded.is_not_null(), reworded.is_null(), needs=_REWORDING)


@measure(cutoff="none", of="events", unit="query", needs=("click", "click.position"))
def first_click_rr(row: RequestRow, _k: None) -> RequestCounts:
    """Mean of 1/position of the first click.

    Definition: sum over requests of 1 / position of the click that came first / requests; a request without a click
      adds 0.
    Odd cases: first is the earliest in time; of clicks at one moment, the one in the highest place. Requests whose
      first click has no position are left out and counted.
    Reference: Radlinski, Kurup & Joachims 2008, How does clickthrough data reflect retrieval quality?
    Agrees with: reciprocal_rank with the first click as the only relevant document; the article takes the highest
      click.
    Reading: .50 is what a first click in second place gives each time.
    Use when: people look for one result and should meet it at once.
    Not when: rankings of other layouts are compared: position bias moves it more than relevance does.
    """
    none, position = row.count("click") == 0, row.first_click
    known = none | position.is_not_null()
    value = pl.when(position > 0).then(1 / position).otherwise(0.0)
    return RequestCounts(pl.when(none).then(0.0).otherwise(value), known, ~known)


@measure(cutoff="none", of="events", unit="query", needs=("click",), bounds=_NO_END)
def clicks(row: RequestRow, _k: None) -> RequestCounts:
    """Clicks per request.

    Definition: events of the action click / requests.
    Odd cases: every click counts, also a second one on the same result.
    Reference: Radlinski, Kurup & Joachims 2008, How does clickthrough data reflect retrieval quality?
    Agrees with: "clicks per query" of the article.
    Reading: 1.4 means 14 clicks for 10 requests.
    Use when: several results are wanted, as in research or shopping.
    Not when: one result is wanted: more clicks then mean more tries. It has no better and worse without that context.
    """
    return RequestCounts(row.count("click"), _one())


@measure(cutoff="none", of="events", unit="query", needs=_REWORDING, lower_is_better=True)
def reformulation(row: RequestRow, _k: None, *, within_s: float = 300) -> RequestCounts:
    """Share of requests that were soon followed by one with another text.

    Definition: requests after which the next request of the same session (of the same user, where there is no session)
      came within within_s seconds with another text / requests with a text and a session or user.
    Parameters:
      within_s: how many seconds later the next request may come.
    Odd cases: texts are compared without outer blanks and case: the same text again is no rewording. The last request
      of a session counts, with 0. Requests without a text, or without session and user, are left out
      and counted.
    Reference: Radlinski, Kurup & Joachims 2008, How does clickthrough data reflect retrieval quality?
    Agrees with: the "reformulation rate" of the article, which takes 30 minutes.
    Reading: .20 means that one request in five was tried again in other words, or followed by another question.
    Use when: searches that fail leave no other trace.
    Not when: people ask one thing after another, as in a chat: a new question looks like a rewording.
    """
    _check_seconds("reformulation", "within_s", within_s)
    return _of_known(row.is_followed_by_other_words(within_s))


@measure(cutoff="none", of="events", unit="query", needs=("results|result_count",), lower_is_better=True)
def zero_results(row: RequestRow, _k: None) -> RequestCounts:
    """Share of requests that found nothing.

    Definition: requests that returned 0 results / requests for which the number of results is known.
    Odd cases: a log that holds no results, or no number of them, leaves it undefined: nothing is then known, not 0.
      Requests without that number are left out and counted.
    Agrees with: the "no results rate" of search reports.
    Reading: .03 means that three requests in a hundred ended on an empty page.
    Use when: the collection, its synonyms or its filters are in question.
    Not when: the system always returns something, as vector search does.
    """
    return _of_known(row.result_total == 0)


@measure(cutoff="none", of="events", unit="click", needs=("click", "click.dwell_ms"), bounds=_NO_END)
def dwell(row: RequestRow, _k: None) -> RequestCounts:
    """Mean time on a result that was clicked, in seconds.

    Definition: sum of dwell_ms / 1000 of clicks / clicks for which it is known.
    Odd cases: clicks without dwell_ms are left out and counted; times are taken as they were logged, however long.
    Agrees with: the mean of the dwell times of a log.
    Reading: 45 means that people stayed for three quarters of a minute on average.
    Use when: results are texts to be read.
    Not when: a few open tabs make the mean: one of an hour weighs as much as a hundred visits. See satisfied_click.
    """
    missing = row.clicks_without("dwell_ms")
    return RequestCounts(row.dwell, row.count("click") - missing, missing)


@measure(cutoff="none", of="events", unit="query", needs=("click", "click.dwell_ms"))
def satisfied_click(row: RequestRow, _k: None, *, dwell_s: float = 30) -> RequestCounts:
    """Share of requests with a click on which people stayed.

    Definition: requests with a click whose dwell_ms / 1000 is at least dwell_s / requests.
    Parameters:
      dwell_s: the least time on a result, in seconds, that counts as satisfied.
    Odd cases: a request without a click counts, with 0. Requests without such a click that have a click of unknown
      duration are left out and counted. That biases the share: requests without a click always stay, which lowers it;
      of several clicks one long one is enough to stay, which raises it. Look at how many were left out.
    Reference: Fox et al. 2005, Evaluating implicit measures to improve web search (30 seconds).
    Agrees with: the "satisfied click" (SAT click) of the literature.
    Reading: .45 means that 45 of 100 requests led to a result that was read.
    Use when: clicks alone reward attractive titles.
    Not when: results are seen at a glance, as pictures or prices are.
    """
    _check_seconds("satisfied_click", "dwell_s", dwell_s)
    long = row.long_clicks(dwell_s) > 0
    known = long | (row.clicks_without("dwell_ms") == 0)
    return RequestCounts(long, known, ~known)


@measure(cutoff="none", of="events", unit="click", needs=("click",), lower_is_better=True)
def pogo(row: RequestRow, _k: None, *, within_s: float = 10) -> RequestCounts:
    """Share of clicks that were soon followed by a click on another result of the same list.

    Definition: clicks after which the next click of the same request came within within_s seconds on another result /
      clicks.
    Parameters:
      within_s: how many seconds later the next click may come.
    Odd cases: clicks at one moment are taken in the order of their positions. A second click on the same result is no
      return. The last click of a request counts, with 0.
    Agrees with: "pogo-sticking", for which no tool known has a fixed number of seconds.
    Reading: .15 means that people came straight back from 15 of 100 results.
    Use when: results look better in the list than they are.
    Not when: people open several results at once in tabs.
    """
    _check_seconds("pogo", "within_s", within_s)
    return RequestCounts(row.returns(within_s), row.count("click"))


@measure(cutoff="none", of="events", unit="rating", needs=("thumbs",))
def thumbs(row: RequestRow, _k: None) -> RequestCounts:
    """Share of thumbs up among ratings by thumbs.

    Definition: ratings of +1 / ratings of +1, 0 and -1.
    Odd cases: ratings by stars do not count. Numbers are thumbs where a log has none but +1, 0 and -1; where all are 1
      they may be single stars, and none is counted. See satisfaction.
    Agrees with: the share of likes of chat applications.
    Reading: .85 means 85 of 100 ratings were thumbs up.
    Use when: answers ask for a rating.
    Not when: few people rate: those who do are the delighted and the annoyed. Look at the number of ratings, too.
    """
    return RequestCounts(*row.ratings("thumbs", 1))


@measure(cutoff="none", of="events", unit="rating", needs=("stars",))
def satisfaction(row: RequestRow, _k: None, *, at_least: float = 4) -> RequestCounts:
    """Share of ratings by stars that are at least 4.

    Definition: ratings by stars of at_least or more / ratings by stars.
    Parameters:
      at_least: the lowest rating that counts as satisfied.
    Odd cases: thumbs (by name, by word, true or false) do not count; a log of thumbs only leaves it undefined. See
      thumbs.
    Agrees with: the customer satisfaction score (CSAT) of surveys with five answers: the two best of them.
    Reading: .70 means that seven people in ten gave four or five stars.
    Use when: people rate on a scale from 1 to 5.
    Not when: few people rate: those who do differ from those who do not.
    """
    return RequestCounts(*row.ratings("stars", at_least))


@measure(cutoff="none", of="events", unit="query", needs=("copy",))
def copy(row: RequestRow, _k: None) -> RequestCounts:
    """Share of requests whose answer, or some of it, was copied.

    Definition: requests with an event of the action copy / requests.
    Odd cases: several copies of one answer count once. A log without any such event leaves it undefined.
    Agrees with: no tool known.
    Reading: .12 means that people took something away from 12 of 100 answers.
    Use when: answers are drafts, code or facts that people use elsewhere.
    Not when: answers are only read.
    """
    return RequestCounts(row.count("copy") > 0, _one())


@measure(cutoff="none", of="events", unit="query", needs=("regenerate",), lower_is_better=True)
def regenerate(row: RequestRow, _k: None) -> RequestCounts:
    """Share of requests whose answer was asked for again.

    Definition: requests with an event of the action regenerate / requests.
    Odd cases: several of them for one request count once. A log without any such event leaves it undefined.
    Agrees with: no tool known.
    Reading: .05 means that the first answer to one request in twenty was not good enough.
    Use when: an application offers to answer again.
    Not when: people use it to collect variants.
    """
    return RequestCounts(row.count("regenerate") > 0, _one())


@measure(cutoff="none", of="events", unit="query", needs=("latency_ms",), bounds=_NO_END, lower_is_better=True)
def query_latency(row: RequestRow, _k: None, *, p: float | None = None) -> RequestCounts:
    """Time that a request took, in milliseconds: the mean, or a percentile with p.

    Definition: sum of latency_ms / requests for which it is known; with p, the p-th percentile of latency_ms over these
      requests, by linear interpolation.
    Parameters:
      p: the percentile, above 0 and below 100; without it, the mean.
    Odd cases: requests without latency_ms are left out and counted. The interval of a percentile is found by inverting
      that of the share of requests below it, whose variance is the users' (Woodruff; Korn & Graubard): an end beyond
      what was seen is empty.
    Reference: Woodruff 1952, Confidence intervals for medians and other position measures.
    Agrees with: numpy.percentile.
    Reading: query_latency(p=95) = 800 means that one request in twenty took longer than 0.8 seconds.
    Use when: the slow requests matter: p=95 and p=99 show what the mean hides.
    Not when: load differs between what is compared: see assay bench.
    """
    if p is not None and not 0 < p < 100:  # noqa: PLR2004
        raise UsageError(say("query_latency(p={p:g}): expected a percentile above 0 and below 100", p=p))
    value = row.about("latency_ms")
    if p is None:
        return _of_known(value)
    return RequestCounts(value.fill_null(0), value.is_not_null(), value.is_null(), value, p)


@measure(
    cutoff="none",
    of="events",
    unit="query",
    needs=("input_tokens|output_tokens",),
    bounds=_NO_END,
    lower_is_better=True,
)
def query_tokens(row: RequestRow, _k: None, *, kind: Literal["all", "input", "output"] = "all") -> RequestCounts:
    """Tokens of language models per request.

    Definition: sum of the tokens of a request and its events / requests for which they are known; kind='all' adds
      input_tokens and output_tokens.
    Parameters:
      kind: which tokens are counted.
    Odd cases: requests without such a number are left out and counted; for kind='all' both numbers are needed.
    Agrees with: the usage that providers of models report.
    Reading: 2,400 means that an answer takes 2,400 tokens on average.
    Use when: contexts or prompts are made longer or shorter.
    Not when: money is meant and models have other prices. See query_cost.
    """
    sides = {"all": ("input", "output"), "input": ("input",), "output": ("output",)}[kind]
    first, *more = (row.total(f"{side}_tokens") for side in sides)
    return _of_known(first + more[0] if more else first)


@measure(cutoff="none", of="events", unit="query", needs=("cost",), bounds=_NO_END, lower_is_better=True)
def query_cost(row: RequestRow, _k: None) -> RequestCounts:
    """Money per request, in the currency of the log.

    Definition: sum of the cost of a request and its events / requests for which it is known.
    Odd cases: requests without a cost are left out and counted; a cost of 0 is known.
    Agrees with: the sum of the bills over the requests.
    Reading: .004 means four thousandths of the currency per request.
    Use when: a change makes answers dearer or cheaper.
    Not when: costs that no request has, such as machines, weigh more. See assay cost.
    """
    return _of_known(row.total("cost"))
