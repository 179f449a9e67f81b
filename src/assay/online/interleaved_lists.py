"""Interleaved lists of whole runs, to be served by an application and logged with their teams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UsageError
from assay.formats.conversion import as_whole_run
from assay.formats.files import write_atomically
from assay.measures.lists import order_lists
from assay.messages import Said, say
from assay.online.interleaving import interleave, random_share
from assay.results.interleaving import InterleavedLists, ServedList

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.data.run import Run
    from assay.online.interleaving import Method

_MARGIN = 30  # documents beyond k that are looked at: more than teams can take from each other


def interleave_runs(
    runs: Sequence[Any] | Mapping[str, Any],
    *,
    method: Method = "team-draft",
    k: int = 10,
    per_query: int = 1,
    seed: int = 0,
    names: Sequence[str] | None = None,
    propensities: bool = False,
) -> InterleavedLists:
    """Interleave runs query by query, into lists to serve; see `interleave` for the methods.

    A query has one list, or `per_query` different draws, of which each user should always get the same one. Queries
    that not every run has are left out and counted. The teams are the names of the runs.

    >>> import assay
    >>> found = assay.interleave_runs({"old": {"q": ["a", "b", "c"]}, "new": {"q": ["a", "c", "d"]}}, k=3)
    >>> found.contested, found.to_records()[0]["query_attributes"]["interleaving"]["teams"]["a"]
    (0.6666666666666666, None)
    """
    if per_query < 1:
        raise UsageError(
            say("{name} must be at least {least}, not {found}", name="per_query", least=1, found=per_query)
        )
    named = isinstance(runs, dict)
    read = [as_whole_run(one) for one in (runs.values() if named else runs)]  # type: ignore[union-attr]
    teams = _team_names(read, list(runs) if named else names)
    ordered = [order_lists(one, k + _MARGIN + len(read)) for one in read]
    queries = sorted(set.intersection(*(set(one) for one in ordered))) if ordered else []
    left_out = len(set().union(*ordered)) - len(queries)
    if not queries and len(read) > 1:
        raise InputError(say("the runs have no query in common"))
    found, shares = [], []
    for query in queries or [""]:
        lists = [one.get(query, []) for one in ordered]
        for number in range(per_query):
            one = interleave(*lists, method=method, k=k, query=query, user=number if per_query > 1 else None,
                             seed=seed, names=teams, propensities=propensities)  # fmt: skip
            found.append(ServedList(query, number, one.documents, one.teams, one.propensities))
        shares.append(random_share(lists, k) if method == "balanced" else 0.5)
    places = sum(len(one.documents) for one in found)
    contested = sum(team is not None for one in found for team in one.teams) / places if places else 0.0
    share = sum(shares) / len(shares)
    return InterleavedLists(
        method, tuple(teams), k, per_query, seed, len(queries), contested, share, left_out, tuple(found),
        warnings=tuple(_warnings(method, contested, share)),
    )  # fmt: skip


def _team_names(runs: Sequence[Run], names: Sequence[str] | None) -> list[str]:
    teams = [one.name for one in runs] if names is None else list(names)
    if len(set(teams)) != len(runs):
        raise UsageError(say("give each of the {n} lists a name of its own", n=len(runs)))
    return teams


def _warnings(method: str, contested: float, share: float) -> list[Said]:
    found = [say("interleaving.balanced", share=share)] if method == "balanced" else []
    least = InterleavedLists.enough_contested
    return [*found, say("interleaving.few_contested", share=contested, least=least)] if contested < least else found


def write_lists(lists: InterleavedLists, place: str | os.PathLike[str]) -> None:
    """Write interleaved lists as JSON lines, one list each, with the fields that a UBI query logs.

    >>> import assay
    >>> from pathlib import Path
    >>> found = assay.interleave_runs({"old": {"q": ["a", "b"]}, "new": {"q": ["b", "a"]}}, k=2)
    >>> assay.write_lists(found, "lists.jsonl")
    >>> "query_response_hit_ids" in Path("lists.jsonl").read_text()
    True
    """
    if Path(place).suffix.lower() not in {".jsonl", ".ndjson"}:
        raise UsageError(say("lists are written as JSON lines: expected a file that ends in .jsonl"))
    lines = [json.dumps(one, ensure_ascii=False) for one in lists.to_records()]
    write_atomically(place, "".join(f"{line}\n" for line in lines))
