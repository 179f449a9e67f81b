"""Addresses within a report: the whole state of a page stands behind the # of its address."""

from __future__ import annotations

from urllib.parse import quote


def query_address(query: str) -> str:
    """The address of one query.

    >>> query_address("a b/c")
    'query=a%20b%2Fc'
    """
    return f"query={quote(query, safe='', errors='replace')}"


def stage_code(stage: str) -> str:
    """A stage as addresses name it.

    >>> stage_code("retrieved but not used")
    'retrieved-but-not-used'
    """
    return stage.replace(" ", "-")


def page_address(page: str, **choices: str) -> str:
    """The address of a page that shows the rows of these choices.

    >>> page_address("queries", change="lost")
    'queries&change=lost'
    """
    return "&".join([page, *(f"{quote(key, safe='')}={quote(code, safe='')}" for key, code in choices.items())])
