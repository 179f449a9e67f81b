"""Texts in English: preferences between two answers."""

from __future__ import annotations

TEXTS = {
    "preferences.better": "{better} is preferred to {other}: {first} wins {rate}.",
    "preferences.open": "Neither {first} nor {second} is shown to be preferred: {first} wins {rate}.",
    "preferences.same": "{first} and {second} are preferred equally often: {first} wins {rate}.",
    "preferences.rate": "{rate:.1%} {interval} of {questions:,} {questions:question|questions}, a tie counting half",
    "preferences.several": "{systems} systems: {shown} of {n} differences between two of them are shown.",
    "preferences.strengths": "Strengths of the systems (Bradley-Terry, logarithms that add up to 0)",
    "preferences.counts": "{answers:,} {answers:preference|preferences} on {questions:,} {questions:question|questions} by {raters} {raters:rater|raters}.",
    "preferences.replaced": "{n:,} {n:was|were} replaced by a later one of the same rater.",
    "preferences.both_orders": "{n:,} {n:comparison was|comparisons were} made in both orders; in {by_place:,} of them the same place was preferred both times, and {by_place:it counts as a tie|they count as ties}.",
    "preferences.place": "Where one was preferred, it was the one on the left in {share:.1%} {interval}: no part of the place is shown.",
    "preferences.place_matters": "Where one was preferred, it was the one on the left in {share:.1%} {interval}: the place has a part in it.",
    "preferences.fit_whole": "Intervals of strengths count questions as units.",
    "preferences.fit_one_sided": "Some systems never lost to others, so that their strengths have no limit: half a win and half a loss were added to each two systems, and there are no intervals.",
    "preferences.fit_apart": "Comparisons do not link all systems: there are no strengths for all of them.",
    "preferences.against": "{first} against {second}",
    "preferences.picture": "Share of questions that the first system wins",
    "interval.apart": "comparisons do not link all systems",
    "interval.one_sided": "a system never lost to others",
    "prefer.done": "{n:,} {n:comparison|comparisons} in both orders: {failed:,} failed in one of them and {failed:is|are} left out; {unanswered:,} more {unanswered:question lacks|questions lack} an answer",
    "column.preferred_first": "system",
    "column.preferred_second": "against",
    "column.outcome_counts": "won/tied/lost",
    "column.inconsistent": "by place",
    "column.win_rate": "win rate",
    "column.strength": "strength",
}
