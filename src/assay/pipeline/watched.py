"""A client whose replies are noted by whoever measures a piece of work: tokens, money, and what a cache had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.llm import Client
from assay.pipeline.measuring import note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.llm import Reply, Request
    from assay.llm.calls import Call


class Watched(Client):
    """A client as any other, which tells of every reply."""

    def complete_many(self, requests: Iterable[Request], **options: Any) -> Iterator[tuple[int, Reply]]:
        """Ask many questions at once."""
        for number, reply in super().complete_many(requests, **options):
            self._note(reply)
            yield number, reply

    def embed(self, texts: Sequence[str], **options: Any) -> list[Reply]:
        """Turn texts into vectors."""
        return self._noted(super().embed(texts, **options))

    def call_many(self, calls: Sequence[Call], **options: Any) -> list[Reply]:
        """Send calls of other kinds."""
        return self._noted(super().call_many(calls, **options))

    def _noted(self, replies: list[Reply]) -> list[Reply]:
        for reply in replies:
            self._note(reply)
        return replies

    def _note(self, reply: Reply) -> None:
        usage = reply.usage
        used = usage.prompt_tokens + usage.completion_tokens
        note(used, self.priced(reply), cached=reply.cached, estimated=usage.estimated)
