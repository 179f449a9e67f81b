"""Interleaving: who is shown where, with which probability, and that clicks at random prefer nobody."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from hashlib import blake2b
from itertools import permutations

import numpy as np
import pytest

import assay
from assay.errors import AssayError
from assay.online.drafts import optimise

STRESS = os.environ.get("ASSAY_STRESS") == "1"
SESSIONS = 100_000 if STRESS else 2000
ERRORS = 3 if STRESS else 4
DOCS = [f"d{i}" for i in range(40)]


def shuffled(seed, n=30):
    return [DOCS[i] for i in np.random.default_rng(seed).permutation(n)]


def near(seed, swaps=6):
    """A ranking that differs from the usual one by a few exchanges."""
    rng, docs = np.random.default_rng(seed), DOCS[:20]
    for _ in range(swaps):
        i = int(rng.integers(12))
        docs[i], docs[i + 1] = docs[i + 1], docs[i]
    return docs


PAIRS = [
    (["a", "b", "c", "d"], ["b", "c", "d", "a"]),
    (shuffled(1), shuffled(2)),
    (near(3), near(4)),
    (DOCS[:9], near(5)),
]


def test_a_draft_is_played_in_rounds_by_the_best_that_is_left():
    """By hand: a against b, then c against e; the common g belongs to nobody; then d against f."""
    first, second = ["a", "b", "c", "g", "d"], ["b", "e", "a", "g", "f"]
    seen = {
        (found.documents, found.teams)
        for user in range(64)
        for found in [assay.interleave(first, second, k=7, query="q", user=user)]
    }
    rounds = [("a", "A", "b", "B"), ("c", "A", "e", "B"), ("d", "A", "f", "B")]
    expected = set()
    for flips in range(8):
        docs, teams = [], []
        for i, (one, own, other, theirs) in enumerate(rounds):
            docs += [one, other] if flips >> i & 1 else [other, one]
            teams += [own, theirs] if flips >> i & 1 else [theirs, own]
            if i == 1:
                docs.append("g")
                teams.append(None)
        expected.add((tuple(docs), tuple(teams)))
    assert seen == expected


def test_where_a_list_has_ended_the_rest_belongs_to_nobody():
    found = assay.interleave(["a"], ["b", "c", "d"], k=4, query="q")
    assert set(found.documents[:2]) == {"a", "b"}
    assert found.documents[2:] == ("c", "d")
    assert found.teams[2:] == (None, None)
    assert found.contested == 0.5


@pytest.mark.parametrize("method", ["team-draft", "balanced", "optimised", "multileave"])
def test_equal_lists_are_shown_as_they_are_and_contest_nothing(method):
    found = assay.interleave(DOCS, DOCS, method=method, query="q", propensities=True)
    assert found.documents == tuple(DOCS[:10])
    assert set(found.teams) == {None}
    assert set(found.propensities) == {1.0}


def test_draws_are_the_bits_of_a_hash_of_query_user_and_seed():
    for seed, mark in ((None, "-"), (7, "1:7")):
        digest = blake2b(f"assay.interleave.1|3:tea|5:ann 1|{mark}".encode(), digest_size=64, salt=bytes(16)).digest()
        bits = int.from_bytes(digest, "little")
        found = assay.interleave(["a", "b", "c"], ["x", "y", "z"], k=6, query="tea", user="ann 1", seed=seed)
        assert [team == "A" for team in found.teams[::2]] == [bool(bits >> i & 1) for i in range(3)]


def test_the_list_is_the_same_in_another_process():
    code = "import assay; print([assay.interleave(list('abcdef'), list('fedcba'), list('cadbef'), method='multileave', k=6, query='茶', user=u).teams for u in range(9)])"
    lines = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("1", "2")
    }
    assert len(lines) == 1


def test_ids_that_are_joined_alike_are_other_draws():
    one = [assay.interleave(DOCS, DOCS[::-1], query=f"a{i}", user="b").teams for i in range(40)]
    other = [assay.interleave(DOCS, DOCS[::-1], query="a", user=f"{i}b").teams for i in range(40)]
    assert one != other


@pytest.mark.parametrize("method", ["team-draft", "balanced", "optimised"])
@pytest.mark.parametrize("pair", range(len(PAIRS)))
def test_propensities_are_the_frequencies_of_documents_at_their_places(method, pair):
    draws = 2000
    found = [assay.interleave(*PAIRS[pair], method=method, k=8, user=i, propensities=True) for i in range(draws)]
    check_frequencies(found, draws)


def test_propensities_of_multileaving_are_frequencies_too():
    lists = (near(1), near(2), near(3))
    found = [assay.interleave(*lists, method="multileave", k=8, user=i, propensities=i < 300) for i in range(3000)]
    check_frequencies(found, 3000)


def check_frequencies(found, draws):
    seen, told = Counter(), {}
    for one in found:
        seen.update(enumerate(one.documents))
        told |= {} if one.propensities is None else dict(zip(enumerate(one.documents), one.propensities, strict=True))
    for place in range(len(found[0].documents)):
        total = sum(chance for (at, _), chance in told.items() if at == place)
        assert total == pytest.approx(1, abs=0.05)  # all documents that can be there were met
    for key, chance in told.items():
        error = math.sqrt(chance * (1 - chance) / draws) + 1e-12
        assert abs(seen[key] / draws - chance) < 5 * error


def test_multileaving_is_a_draft_of_all_orders():
    """Three lists without a common document: each round has a document of each, every order as likely."""
    lists = [[f"{name}{i}" for i in range(9)] for name in "xyz"]
    orders = Counter(assay.interleave(*lists, method="multileave", k=9, user=i).teams[3:6] for i in range(3000))
    assert set(orders) == set(permutations("ABC"))
    assert max(abs(n - 500) for n in orders.values()) < 5 * math.sqrt(3000 * (1 / 6) * (5 / 6))


def test_what_the_last_round_could_not_play_belongs_to_nobody():
    lists = (["a", "b", "c"], ["a", "c", "b"], ["a", "b", "c"])
    found = assay.interleave(*lists, method="multileave", k=3, query="q")
    assert found.teams == (None, None, None)  # two documents are left for three lists


# Random clickers ------------------------------------------------------------------------------------------------------


def click_at_random(rng, places):
    """One to four different places, the upper ones more often."""
    weights = 1 / np.arange(1, places + 1)
    return rng.choice(places, size=min(int(rng.integers(1, 5)), places), replace=False, p=weights / weights.sum())


def wins_of_random_clicks(method, lists, seed, names=("A", "B")):
    """Requests that clicks at random give to each of two systems."""
    rng, wins = np.random.default_rng(seed), [0, 0]
    for user in range(SESSIONS):
        found = assay.interleave(*lists[user % len(lists)], method=method, k=6, user=user, seed=seed)
        teams = [found.teams[place] for place in click_at_random(rng, len(found.documents))]
        points = [teams.count(name) for name in names]
        if points[0] != points[1]:
            wins[points[1] > points[0]] += 1
    return wins


@pytest.mark.parametrize("method", ["team-draft", "optimised"])
def test_clicks_at_random_prefer_neither_list(method):
    first, second = wins_of_random_clicks(method, PAIRS, 11)
    assert abs(first / (first + second) - 0.5) < ERRORS * 0.5 / math.sqrt(first + second)


@pytest.mark.parametrize("names", [("A", "B"), ("A", "C"), ("B", "C")])
def test_clicks_at_random_prefer_none_of_three_lists(names):
    lists = [(shuffled(1), shuffled(2), shuffled(3)), (near(4), near(5), near(6)), (near(7), near(7), shuffled(8))]
    first, second = wins_of_random_clicks("multileave", lists, 12, names)
    assert abs(first / (first + second) - 0.5) < ERRORS * 0.5 / math.sqrt(first + second)


def test_clicks_at_random_prefer_a_list_of_balanced_interleaving():
    """One click on a b c d or b a c d: b, c and d are higher in the second list, three of four places."""
    rng, wins = np.random.default_rng(1), Counter()
    for user in range(SESSIONS):
        found = assay.interleave(*PAIRS[0], method="balanced", k=4, user=user)
        wins[found.teams[rng.integers(4)]] += 1
    assert abs(wins["B"] / SESSIONS - 0.75) < ERRORS * math.sqrt(0.75 * 0.25 / SESSIONS)
    warning = assay.interleave(*PAIRS[0], method="balanced", k=4, user=1).warnings[0]
    assert (warning.key, warning.values["share"]) == ("interleaving.balanced", 0.25)


# Optimised interleaving -----------------------------------------------------------------------------------------------


def rankings_of_a_draft(first, second, k):
    """All lists that a team draft can make, each with its teams: 1, -1 or 0."""
    made = {(): ()}
    while any(len(docs) < k for docs in made):
        longer = {}
        for docs, teams in made.items():
            one, other = (next(doc for doc in ranked if doc not in docs) for ranked in (first, second))
            if one == other:
                longer[*docs, one] = (*teams, 0)
            else:
                longer[*docs, one, other] = (*teams, 1, -1)
                longer[*docs, other, one] = (*teams, -1, 1)
        made = longer
    return {docs[:k]: teams[:k] for docs, teams in made.items()}


def sensitivity(teams):
    """(1 - ties) times the entropy of the shares of clicks, which fall on place i with a weight of 1/i."""
    weights = [1 / place for place in range(1, len(teams) + 1)]
    a, b = (sum(w for w, team in zip(weights, teams, strict=True) if team == one) / sum(weights) for one in (1, -1))
    return -sum(x * math.log(x / (a + b)) for x in (a, b) if x > 0)


@pytest.mark.parametrize("pair", range(1, len(PAIRS)))
def test_optimised_rankings_solve_the_linear_programme(pair):
    """The most sensitive distribution of which the exchanged teams are as likely as the teams, by SciPy's solver."""
    from scipy.optimize import linprog

    rankings = rankings_of_a_draft(*PAIRS[pair], 6)
    teams = list(rankings.values())
    values = [sensitivity(one) for one in teams]
    places = {one: i for i, one in enumerate(teams)}
    rows = [[1.0] * len(teams)]
    for one, i in places.items():
        row = [0.0] * len(teams)
        row[i] += 1
        other = places.get(tuple(-team for team in one))
        if other is not None:
            row[other] -= 1
        rows.append(row)
    solved = linprog([-value for value in values], A_eq=rows, b_eq=[1.0, *[0.0] * len(teams)], bounds=(0, 1))
    drawn = [one for both in optimise(PAIRS[pair], 6) for one in both]
    ours = [sensitivity([{0: 1, 1: -1, None: 0}[team] for _, team in one]) for one in drawn]
    assert ours == pytest.approx([-solved.fun] * len(ours), rel=1e-7)
    assert {tuple(doc for doc, _ in one) for one in drawn} <= set(rankings)


# Mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "settings", "said"),
    [
        ((["a"], ["b"]), {}, "name the query or the user"),
        ((["a"],), {"query": "q"}, "two lists or more"),
        ((["a"], ["b"], ["c"]), {"query": "q"}, "use multileave"),
        ((["a", "a"], ["b"]), {"query": "q"}, "list 1 has a document twice"),
        (("ab", ["b"]), {"query": "q"}, "list 1 is a text"),
        ((["a"], ["b"]), {"query": "q", "method": "team_draf"}, "team_draf"),
        ((["a"], ["b"]), {"query": "q", "k": 0}, "k must be at least 1"),
        ((DOCS, DOCS[::-1]), {"query": "q", "k": 25, "method": "optimised"}, "at most 24"),
        ((["a"], ["b"]), {"query": "q", "names": ["x", "x"]}, "a name of its own"),
    ],
)
def test_a_mistake_is_refused_with_its_cure(lists, settings, said):
    with pytest.raises(AssayError, match=said):
        assay.interleave(*lists, **settings)


# Runs -----------------------------------------------------------------------------------------------------------------


def test_runs_are_interleaved_query_by_query_and_others_are_counted():
    runs = {
        "old": {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 1.0}},
        "new": {"q1": {"c": 3.0, "b": 2.0}, "q3": {"a": 1.0}},
    }
    found = assay.interleave_runs(runs, k=2, per_query=5, seed=3)
    assert (found.queries, found.left_out, len(found.lists)) == (1, 2, 5)
    for one in found.lists:
        direct = assay.interleave(
            ["b", "a"], ["c", "b"], k=2, query="q1", user=one.number, seed=3, names=["old", "new"]
        )
        assert (one.documents, one.teams) == (direct.documents, direct.teams)


def test_lists_are_written_as_ubi_logs_them(call, tmp_path):
    for name, docs in (("old", "abc"), ("new", "bca")):
        lines = [f"q1 Q0 {doc} {i + 1} {9 - i} {name}" for i, doc in enumerate(docs)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    code, out, err = call("ab", "interleave", "old.run", "new.run", "--k", "3", "--propensities", "-o", "lists.jsonl")
    assert code == 0, err
    import json

    (line,) = map(json.loads, (tmp_path / "lists.jsonl").read_text().splitlines())
    log = line["query_attributes"]["interleaving"]
    assert list(log["teams"]) == line["query_response_hit_ids"]
    assert sorted(filter(None, log["teams"].values())) == ["new", "old"]
    assert sorted(log["propensities"].values()) == [0.5, 0.5, 1.0]
    assert "1 list for 1 query" in out


def test_balanced_lists_are_warned_of(call, tmp_path):
    for name, docs in (("old", "abcd"), ("new", "bcda")):
        lines = [f"q1 Q0 {doc} {i + 1} {9 - i} {name}" for i, doc in enumerate(docs)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    code, out, _ = call("ab", "interleave", "old.run", "new.run", "--k", "4", "--method", "balanced")
    assert code == 0
    assert "balanced interleaving is biased: clicks at random give the first system 25%" in " ".join(out.split())
