"""Reading what a client sends, no more and no longer than the limits: both are looked at while it comes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from assay.data.limits import MEGABYTE
from assay.messages import say, tell

if TYPE_CHECKING:
    from starlette.types import Message, Receive

    from assay.messages import Lang

CLOSE = {"connection": "close"}  # the rest of a body that is refused is not waited for
TOO_LARGE, TOO_SLOW = 413, 408
_SKIPPED, _SKIP_SECONDS = 4 * MEGABYTE, 1.0


@dataclass
class Body:
    """The stream of a request's body, which ends with an error beyond its limits."""

    receive: Receive
    limit: int
    seconds: float
    lang: Lang = "en"
    size: int = 0
    ended: bool = False
    deadline: float | None = None

    async def __call__(self) -> Message:
        """Receive the next piece; once all has come, only wait for the client to leave."""
        if self.ended:
            return await self.receive()
        loop = asyncio.get_running_loop()
        self.deadline = loop.time() + self.seconds if self.deadline is None else self.deadline
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self.receive()
        except TimeoutError:
            told = say("the request took longer than {seconds:g} s to arrive", seconds=self.seconds)
            raise HTTPException(TOO_SLOW, tell(told, self.lang), CLOSE) from None
        self.size += len(message.get("body", b""))
        self.ended = not message.get("more_body", False)
        if self.size > self.limit:
            raise too_large(self.limit, self.lang)
        return message

    async def skip(self) -> None:
        """Take what still comes, for a moment: a client that is cut off while it sends does not read the answer."""
        taken, loop = 0, asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(loop.time() + _SKIP_SECONDS):
                while not self.ended and taken < _SKIPPED:
                    message = await self.receive()
                    taken += len(message.get("body", b""))
                    self.ended = not message.get("more_body", False)
        except TimeoutError:
            return


def too_large(limit: int, lang: Lang) -> HTTPException:
    """The answer to a body beyond the limit."""
    return HTTPException(TOO_LARGE, tell(say("the request has more than {limit:,} bytes", limit=limit), lang), CLOSE)


def check_length(told: str | None, limit: int, lang: Lang) -> None:
    """Refuse a body that says itself that it is too large, before any of it is read."""
    if told is not None and told.isdecimal() and (len(told) > 15 or int(told) > limit):  # noqa: PLR2004
        raise too_large(limit, lang)
