"""Which kind of target a text or an object means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import UsageError, excerpt
from assay.messages import say
from assay.serving.commands import Command
from assay.serving.endpoints import CHAT, RERANK, Endpoint
from assay.serving.functions import Function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.serving.endpoints import Secret
    from assay.serving.records import LoadTarget, Passing


def target_of(
    thing: Any,
    *,
    label: str = "",
    method: str = "",
    bodies: Sequence[Any] = (),
    headers: Mapping[str, Secret | str] | None = None,
    passing: Passing | None = None,
    timeout: float = 30.0,
    with_candidates: bool = False,
    stream: bool = False,
) -> LoadTarget:
    """Make a target of a function, MODULE:FUNCTION, an address, cmd:COMMAND, or a list of words (a command).

    With `stream`, answers come token by token: events that a server sends, or items that a function yields.
    """
    is_address = isinstance(thing, str) and thing.startswith(("http://", "https://"))
    if (method or bodies or headers) and not is_address:
        raise UsageError(say("a method, a body and headers can only be sent to an address: http://..."))
    if is_address:
        sent = tuple(bodies) or ((CHAT,) if stream else (RERANK,) if with_candidates else ())
        verb = (method or ("POST" if sent else "GET")).upper()
        return Endpoint(thing, verb, sent, dict(headers or {}), timeout, stream=stream)
    if stream and (isinstance(thing, (list, tuple)) or str(thing).startswith("cmd:")):
        raise UsageError(say("a command has no stream: --stream is for an address or a function that yields"))
    if isinstance(thing, (list, tuple)):
        return Command.of([str(word) for word in thing], timeout=timeout, with_candidates=with_candidates)
    if not isinstance(thing, str):
        return Function.of(thing, label=label, passing=passing, stream=stream)
    if thing.startswith("cmd:"):
        return Command.of(thing.removeprefix("cmd:"), timeout=timeout, with_candidates=with_candidates)
    module, colon, name = thing.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise UsageError(
            say(
                "target {target}: expected MODULE:FUNCTION, http://..., cmd:'PROGRAM ...' or -- PROGRAM ...",
                target=excerpt(thing),
            )
        )
    return Function.at(thing, passing=passing, stream=stream)
