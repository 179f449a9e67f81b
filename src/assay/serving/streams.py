"""Answers that come token by token: the events of OpenAI's protocol, and when their tokens came."""

from __future__ import annotations

import json
from typing import Any

from assay.errors import excerpt
from assay.serving.records import CallFailed, Streamed

_DONE = "[DONE]"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")  # of a chat; plain completions have text


class EventStream:
    """Server-sent events as they arrive, piece by piece; a piece may end anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._first = self._last = 0.0
        self._pieces = 0
        self._named: int | None = None
        self._seen = self._ended = False

    def feed(self, part: bytes, now: float) -> None:
        """Take what arrived at a moment."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            self._take(line, now)

    def finish(self) -> Streamed:
        """What the whole stream gave; a failed call where it has no end, no token or an error in it."""
        self._take(self._rest, self._last)
        if not self._seen:
            raise CallFailed("no stream")
        if not self._ended:
            raise CallFailed("cut off")
        if not self._pieces:
            raise CallFailed("no tokens")
        named = self._named
        return Streamed(self._first, self._last, named or self._pieces, counted=bool(named))

    def _take(self, line: bytes, now: float) -> None:
        name, _, value = line.decode("utf-8", errors="replace").strip().partition(":")
        if name != "data":
            return
        self._seen = True
        if value.strip() == _DONE:
            self._ended = True
            return
        try:
            event = json.loads(value)
        except (ValueError, RecursionError):
            raise CallFailed("broken", excerpt(value)) from None
        if isinstance(event, dict):
            self._read(event, now)

    def _read(self, event: dict[str, Any], now: float) -> None:
        if event.get("error"):
            raise CallFailed("error event", excerpt(json.dumps(event["error"], ensure_ascii=False)))
        usage, choices = event.get("usage"), event.get("choices")
        if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
            self._named = usage["completion_tokens"]
        for choice in [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else ():
            self._ended = self._ended or bool(choice.get("finish_reason"))
            if _says_something(choice):
                self._first = self._first if self._pieces else now
                self._last, self._pieces = now, self._pieces + 1


def _says_something(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    said = [delta.get(name) for name in _TEXTS] if isinstance(delta, dict) else [choice.get("text")]
    return any(said)
