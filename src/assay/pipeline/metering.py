"""A client that reports its replies to the running measurement: tokens, money, and cache hits."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.llm import Client
from assay.pipeline.measuring import note, note_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from assay.llm import Reply, Request
    from assay.llm.calls import Call


class MeteredClient(Client):
    """A client that records every reply."""

    def complete_many(self, requests: Iterable[Request], **options: Any) -> Iterator[tuple[int, Reply]]:
        """Ask many questions at once."""
        replies = super().complete_many(requests, **options)
        spans, waited = [], 0.0
        try:
            while True:
                start = time.perf_counter()
                found = next(replies, None)
                waited += time.perf_counter() - start
                if found is None:
                    break
                spans.append(found[1].span)
                self._note(found[1])
                yield found
        finally:  # a caller that wants one reply does not continue the generator
            note_wait(waited, spans)

    def embed(self, texts: Sequence[str], **options: Any) -> list[Reply]:
        """Turn texts into vectors."""
        return self._note_all(partial(super().embed, texts, **options))

    def call_many(self, calls: Sequence[Call], **options: Any) -> list[Reply]:
        """Send calls of other kinds."""
        return self._note_all(partial(super().call_many, calls, **options))

    def _note_all(self, ask: Callable[[], list[Reply]]) -> list[Reply]:
        start = time.perf_counter()
        replies = ask()
        note_wait(time.perf_counter() - start, (reply.span for reply in replies))
        for reply in replies:
            self._note(reply)
        return replies

    def _note(self, reply: Reply) -> None:
        usage = reply.usage
        used = usage.prompt_tokens + usage.completion_tokens
        note(
            used, self.price_of(reply), cached=reply.cached, estimated=usage.estimated,
            output_tokens=usage.completion_tokens,
        )  # fmt: skip
