"""PostgreSQL: full text search and pgvector, as one statement of the user's with named parameters, read-only."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from assay.errors import InputError, MissingPackage, UsageError, cause, clean
from assay.formats import columns
from assay.llm.keys import HIDDEN
from assay.llm.policy import POLICY
from assay.messages import say
from assay.pipeline.search_engines import Item, Listing, SearchEngine, in_order
from assay.pipeline.stages import Setup, method
from assay.pipeline.templates import as_float, names_of, vectors_for

if TYPE_CHECKING:
    from assay.pipeline.records import Query
    from assay.pipeline.templates import QueryVectors

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_KNOWN = ("query", "query_id", "k", "embedding")
_CANCELLED, _LOST = "57014", {"57P01", "57P02", "57P03", "08006", "08003", "08001"}
_PORT = 5432
_LONGER = 5.0  # seconds that the connection waits beyond the server's own timeout


@method("retrieve", "postgres")
def postgres(
    setup: Setup,
    *,
    sql: str,
    dsn_env: str = "DATABASE_URL",
    id: str = "",  # noqa: A002 - as the table has it
    text: str = "",
    score: str = "",
    embedder: str = "",
    timeout: float = 30.0,
    release: str = "",
) -> SearchEngine:
    """PostgreSQL: one SELECT with the parameters :query, :k and :embedding; its rows are the list, in their order."""
    used = set(_PARAMETER.findall(_without_texts(sql)))
    if not used & {"query", "embedding"}:
        raise UsageError(say("sql needs the parameter :query or :embedding"))
    unknown = sorted(used - set(_KNOWN))
    if unknown:
        raise UsageError(
            say(
                "sql has the parameter :{name}; known are {names}", name=unknown[0], names=[f":{one}" for one in _KNOWN]
            )
        )
    vectors = vectors_for(setup, embedder, wanted="embedding" in used, mark=":embedding")
    identity = {
        "method": "postgres", "sql": sql, "columns": [id, text, score], "release": release,
        "embedder": None if vectors is None else vectors.identity,
    }  # fmt: skip
    database = Database(_address(dsn_env), timeout)
    setup.others.append(database)
    identity["database"] = database.label
    return SearchEngine(identity, StatementSearch(database, sql, vectors, (id, text, score)).find)


def _without_texts(sql: str) -> str:
    """A statement without quoted texts and comments, in which a colon means nothing."""
    return re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*", " ", sql)


def _address(variable: str) -> dict[str, Any]:
    """How to connect: postgresql://USER:PASSWORD@HOST:PORT/DATABASE from the environment."""
    if variable not in os.environ:
        raise UsageError(say("the environment variable {name} is not set", name=variable))
    expected = say("{name}: expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE", name=variable)
    try:
        parts = urlsplit(os.environ[variable].strip())
        port = parts.port or _PORT
    except ValueError:
        raise UsageError(expected) from None
    if parts.scheme not in {"postgresql", "postgres"} or not parts.path.strip("/"):
        raise UsageError(expected)
    more = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    socket = more.get("host", "")
    where: dict[str, Any] = {"host": parts.hostname or "localhost", "port": port}
    if socket.startswith("/"):
        where = {"host": None, "unix_sock": f"{socket}/.s.PGSQL.{port}"}
    elif socket:
        where["host"] = socket
    password = None if parts.password is None else unquote(parts.password)
    safe = more.get("sslmode", "prefer")
    return {
        "user": unquote(parts.username or more.get("user", "") or os.environ.get("PGUSER", "postgres")),
        "password": password, "database": unquote(parts.path.strip("/")),
        "ssl_context": {"disable": False, "require": True, "verify-ca": True, "verify-full": True}.get(safe), **where,
    }  # fmt: skip


class Database:
    """A connection that can only read, made when it is first needed."""

    def __init__(self, address: dict[str, Any], timeout: float) -> None:
        self._address, self._timeout = address, timeout
        self._connection: Any = None
        place = address.get("unix_sock") or f"{address['host']}:{address['port']}"
        self.label = f"{place}/{address['database']}"

    def run(self, sql: str, values: dict[str, Any]) -> tuple[list[str], list[Any], float]:
        """Run one statement in a transaction that may not write; gives names of columns, rows and milliseconds."""
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        begun = time.perf_counter()
        connection.run("START TRANSACTION READ ONLY")
        try:
            # With parameters the server takes one statement only, so nothing can end the transaction.
            rows = connection.run(sql, **values)
            names = [str(one["name"]) for one in connection.columns or ()]
        finally:
            with suppress(Exception):  # a connection that broke shows in the statement itself
                connection.run("ROLLBACK")
        return names, rows or [], 1000 * (time.perf_counter() - begun)

    def _connect(self) -> Any:
        driver = _driver()
        rule = POLICY["unreachable"]
        for attempt in range(rule.attempts):
            try:
                made = driver.Connection(**self._address, timeout=self._timeout + _LONGER, application_name="assay")
                made.run(f"SET statement_timeout = {int(1000 * self._timeout)}")
                made.run("SET default_transaction_read_only = on")
            except (OSError, driver.InterfaceError) as error:
                if attempt + 1 == rule.attempts:
                    raise InputError(
                        say(
                            "no connection to the database {name}: {reason}",
                            name=self.label,
                            reason=self.hide(cause(error)),
                        )
                    ) from None
                time.sleep(0.2 * 2**attempt)
            except driver.DatabaseError as error:
                raise InputError(
                    say(
                        "the database {name} refused the connection: {reason}",
                        name=self.label,
                        reason=self.hide(message_of(error)),
                    )
                ) from None
            else:
                return made
        raise AssertionError

    def hide(self, text: str) -> str:
        """Remove the password from a text that came from outside."""
        password = self._address.get("password")
        return clean(text.replace(password, HIDDEN) if password else text)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may have broken before
                connection.close()


class StatementSearch:
    """Runs a statement for each query and reads its rows as a list."""

    def __init__(self, database: Database, sql: str, vectors: QueryVectors | None, names: tuple[str, str, str]) -> None:
        self._database, self._sql, self._vectors, self._names = database, sql, vectors, names

    def find(self, query: Query, k: int) -> Listing:
        """Search for one query; a statement that is wrong is an error, one that takes too long an outcome."""
        values: dict[str, Any] = {"query": query.text, "query_id": query.id, "k": k}
        ms, tokens, money = 0.0, 0, 0.0  # type: tuple[float, int, float | None]
        cached = False
        if self._vectors is not None:
            vector, ms, account = self._vectors.embed(query.text)
            values["embedding"] = f"[{','.join(map(repr, vector))}]"
            tokens, money, cached = account.tokens, account.money, account.cached
        driver = _driver()
        try:
            names, rows, took = self._database.run(self._sql, values)
        except driver.DatabaseError as error:
            code = _code(error)
            if code == _CANCELLED:
                return Listing((), ms, "timeout", tokens, money, cached)
            self._database.close()
            if code in _LOST:
                return Listing((), ms, "network", tokens, money, cached)
            raise InputError(
                say("the statement failed: {reason}", reason=self._database.hide(message_of(error)))
            ) from None
        except (OSError, driver.InterfaceError):
            self._database.close()
            return Listing((), ms, "network", tokens, money, cached)
        return Listing(in_order(self._items(names, rows), k), ms + took, "", tokens, money, cached)

    def _items(self, names: list[str], rows: list[Any]) -> list[Item]:
        own, text, score = self._names
        at = _place(names, own, columns.DOCUMENT_ID) if own or len(names) > 1 else 0
        if at is None:
            at = 0
        inside, graded = _place(names, text, columns.DOCUMENT_TEXT), _place(names, score, columns.SCORE)
        found = []
        for place, row in enumerate(rows):
            if row[at] is None:
                raise InputError(
                    say("a row of the statement has no id: its columns are {names}", names=names_of(names))
                )
            words = None if inside is None else row[inside]
            value = None if graded is None else row[graded]
            value = float(value) if value is not None and not isinstance(value, (str, bool)) else None
            found.append(
                Item(
                    str(row[at]), str(row[at]), words if isinstance(words, str) else "", as_float(value, -float(place))
                )
            )
        return found


def _place(names: list[str], asked: str, heading: columns.ColumnName) -> int | None:
    """Where a column is: the one that was named, else one of a known name."""
    if asked and asked not in names:
        raise InputError(say("the statement has no column {name}; it has {names}", name=asked, names=names_of(names)))
    known = [asked] if asked else columns.candidates(names, heading)
    return names.index(known[0]) if known else None


def _code(error: Exception) -> str:
    told = error.args[0] if error.args else {}
    return str(told.get("C", "")) if isinstance(told, dict) else ""


def message_of(error: Exception) -> str:
    """What a database says went wrong."""
    told = error.args[0] if error.args else ""
    return str(told.get("M", told)) if isinstance(told, dict) else str(told)


def _driver() -> Any:
    try:
        from pg8000 import native
    except ImportError:
        raise MissingPackage(say("searching in PostgreSQL"), "pg8000", "postgres") from None
    return native
