"""Python functions as targets: plain ones, coroutine functions, generators, and objects with `rerank` or `score`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from assay.errors import UsageError, excerpt
from assay.messages import say
from assay.serving.records import CLOCK, CallFailed, Clock, Passing, Streamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_METHODS = ("rerank", "score")
_PASSING: tuple[Passing, ...] = get_args(Passing)


@dataclass(frozen=True)
class Function:
    """A function of nothing, of a query, or of a query and its candidates."""

    label: str
    function: Callable[..., Any]
    takes: Passing
    is_async: bool
    stream: bool = False

    @classmethod
    def of(cls, thing: Any, *, label: str = "", passing: Passing | None = None, stream: bool = False) -> Function:
        """Take a function, or an object with `rerank` or `score`; its signature shows what it is called with."""
        function = next((getattr(thing, name) for name in _METHODS if hasattr(thing, name)), thing)
        name = label or getattr(thing, "__qualname__", type(thing).__qualname__)
        if inspect.isclass(thing) or not callable(function):
            expected = say("name a function, or an object that can be called or has rerank() or score()")
            raise UsageError(
                say("{name} is a class: {expected}", name=name, expected=expected)
                if inspect.isclass(thing)
                else say("{name} cannot be called: {expected}", name=name, expected=expected)
            )
        takes = passing or _arity(function, name)
        if stream and not (_streams(function) or _is(inspect.isgeneratorfunction, function)):
            raise UsageError(say("{name} gives its answer at once: a stream is a function that yields", name=name))
        is_async = _is(inspect.iscoroutinefunction, function) or _streams(function)
        return cls(name, function if stream else _whole(function), takes, is_async, stream)

    @classmethod
    def at(cls, place: str, *, passing: Passing | None = None, stream: bool = False) -> Function:
        """Import MODULE:NAME, from this folder too."""
        module, _, path = place.partition(":")
        if os.getcwd() not in sys.path:  # noqa: PTH109 - a plain text, as in sys.path
            sys.path.insert(0, os.getcwd())  # noqa: PTH109
        try:
            thing: Any = importlib.import_module(module)
        except Exception as error:
            missing = (
                isinstance(error, ModuleNotFoundError)
                and (error.name or "").partition(".")[0] == module.partition(".")[0]
            )
            why = say("there is no such module") if missing else f"{type(error).__name__}: {error}"
            raise UsageError(say("cannot import {module}: {reason}", module=excerpt(module), reason=why)) from error
        for name in path.split("."):
            if not hasattr(thing, name):
                raise UsageError(
                    say("{module} has no {name}: expected MODULE:FUNCTION", module=excerpt(module), name=excerpt(path))
                )
            thing = getattr(thing, name)
        return cls.of(thing, label=place, passing=passing, stream=stream)

    def prepare(self, texts: Sequence[tuple[str, Sequence[str]]]) -> Sequence[tuple[Any, ...]]:
        """Lay out the arguments of each call."""
        if self.takes == "nothing":
            return [()]
        return [(query, list(documents)) if self.takes == "candidates" else (query,) for query, documents in texts]

    @contextmanager
    def open(self, clock: Clock = CLOCK) -> Iterator[Callable[[Any], Any]]:
        """Call the function with prepared arguments; each call has a list of its own, as rerankers like to sort it."""
        function = _read_stream(self.function, clock.now) if self.stream else self.function
        if self.takes == "candidates":
            yield lambda arguments: function(arguments[0], arguments[1].copy())
        else:
            yield lambda arguments: function(*arguments)


def _arity(function: Callable[..., Any], name: str) -> Passing:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        raise UsageError(say("{name} does not show its parameters: say what it takes with --pass", name=name)) from None
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.default is p.empty and p.kind in {*plain, inspect.Parameter.KEYWORD_ONLY}]
    keyword = next((p.name for p in needed if p.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if keyword is not None or len(needed) >= len(_PASSING):
        expected = say("expected a function without arguments, of a query, or of a query and its documents")
        raise UsageError(
            say("{name} needs {argument}=: {expected}", name=name, argument=keyword, expected=expected)
            if keyword
            else say("{name} takes {n} arguments: {expected}", name=name, n=len(needed), expected=expected)
        )
    return _PASSING[len(needed)]


def _is(test: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    return test(function) or test(getattr(function, "__call__", None))  # noqa: B004 - an object's own method is meant


def _streams(function: Callable[..., Any]) -> bool:
    return _is(inspect.isasyncgenfunction, function)


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Read a stream to its end: calling a generator function does nothing yet."""
    if _is(inspect.isgeneratorfunction, function):
        return lambda *arguments: deque(function(*arguments), maxlen=0)
    if _streams(function):

        async def whole(*arguments: Any) -> None:
            async for _ in function(*arguments):
                pass

        return whole
    return function


def _read_stream(function: Callable[..., Any], now: Callable[[], float]) -> Callable[..., Any]:
    """Read a stream to its end and note when its items came; every item is a token."""

    def read(*arguments: Any) -> Streamed:
        return _is_stream([now() for _ in function(*arguments)])

    async def read_async(*arguments: Any) -> Streamed:
        return _is_stream([now() async for _ in function(*arguments)])

    return read_async if _streams(function) else read


def _is_stream(times: Sequence[float]) -> Streamed:
    if not times:
        raise CallFailed("no tokens")
    return Streamed(times[0], times[-1], len(times))
