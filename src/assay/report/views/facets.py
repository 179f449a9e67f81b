"""What readers of a page can choose rows by: how a query changed, where it failed, what kind it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.addresses import stage_code
from assay.report.tables import Choice, Facet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.formats.queries import Queries
    from assay.results.answers import JudgedSample

_MOST = 40  # values of an attribute; more of them are found by searching
_NONE = "none"


def of_change(queries: Sequence[str], outcomes: Mapping[str, str], system: str, baseline: str) -> Facet:
    """Whether a system gained or lost on a query."""
    kinds = tuple(outcomes.get(query, _NONE) for query in queries)
    groups = {"gained": ("gained",), "lost": ("lost",), "changed": ("gained", "lost"), "unchanged": ("unchanged",)}
    choices = tuple(Choice(code, say(f"facet.{code}"), group) for code, group in groups.items())
    return Facet("change", say("report.against", system=system, baseline=baseline), kinds, choices)


def of_stage(queries: Sequence[str], stages: Mapping[str, str], system: str) -> Facet:
    """How far the relevant documents of a query got with a system."""
    return _plain("failure", say("facet.stage", system=system), [stages.get(query, "") for query in queries], "stage.")


def of_attributes(queries: Sequence[str], known: Queries) -> tuple[Facet, ...]:
    """The attributes of queries that have few values."""
    ids = known.frame["query_id"].to_list()
    found = []
    for name in known.attributes:
        values = dict(zip(ids, ("" if one is None else str(one) for one in known.frame[name].to_list()), strict=True))
        kinds = [values.get(query, "") for query in queries]
        if 1 < len(set(kinds)) <= _MOST:
            found.append(_plain(f"is.{name}", name, kinds, ""))
    return tuple(found)


def of_answers(samples: Sequence[JudgedSample], systems: Sequence[str]) -> tuple[Facet, ...]:
    """Whose answer it is, at which stage it failed, and whether all its statements are supported."""
    facets = []
    if len(set(systems)) > 1:
        facets.append(_plain("system", say("column.system"), list(systems), ""))
    facets.append(_plain("failure", say("column.stage"), [one.stage or "" for one in samples], "stage."))
    kinds = tuple("some" if one.support.count("unsupported") else "none" for one in samples)
    choices = (Choice("some", say("facet.unsupported"), ("some",)), Choice("none", say("facet.supported"), ("none",)))
    return (*facets, Facet("support", say("column.statements"), kinds, choices))


def _plain(key: str, title: str, kinds: Sequence[str], wording: str) -> Facet:
    """A choice for each kind of row; rows of no kind cannot be chosen where kinds have wordings."""
    named = [kind for kind in sorted(set(kinds)) if kind or not wording]
    if wording:
        choices = tuple(Choice(stage_code(kind), say(wording + kind), (kind,)) for kind in named)
    else:
        choices = tuple(Choice(kind or _NONE, kind or "-", (kind,)) for kind in named)
    return Facet(key, title, tuple(kinds), choices)
