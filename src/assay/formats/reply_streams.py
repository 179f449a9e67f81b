"""Replies that come piece by piece: server-sent events, JSON a line, or plain text, and when their text came."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.errors import clean, excerpt
from assay.formats.replies import AppReply, layers, read_reply
from assay.formats.samples import value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.samples import Context
    from assay.formats.replies import Shape

_DONE = "[DONE]"
_PIECES = ("delta", "token", "piece", "chunk", "text", "content", "output_text", "answer", "response", "output")
_REPEATED = 20  # letters; a longer piece that begins with all that was said repeats it


class BrokenStream(ValueError):
    """A stream that cannot be read, or that says that it failed."""


@dataclass(frozen=True)
class StreamedReply:
    """A whole reply, the moments of its first and last text, and how many pieces the text came in."""

    said: AppReply
    first: float | None = None
    last: float | None = None
    pieces: int = 0


class ReplyStream:
    """A reply as it arrives; a part may end anywhere."""

    def __init__(self, shape: Shape, content_type: str = "") -> None:
        self._shape, self._plain = shape, content_type.startswith("text/plain")
        self._rest = b""
        self._texts: list[str] = []  # that make up the answer
        self._length = 0
        self._letters = getincrementaldecoder("utf-8")("replace")  # a part may end within a letter
        self._said = AppReply()
        self._contexts: tuple[Context, ...] | None = None
        self._first = self._last = 0.0
        self._pieces = 0
        self._chat = self._ended = False

    def feed(self, part: bytes, now: float) -> None:
        """Take what arrived at a moment."""
        if self._plain:
            self._add(self._letters.decode(part), now)
            return
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            self._line(line, now)

    def finish(self, now: float) -> StreamedReply:
        """What the whole stream gave; a stream of a chat without its end was cut off."""
        if self._plain:
            self._add(self._letters.decode(b"", final=True), now)
        else:
            self._line(self._rest, now)
        if self._chat and not self._ended:
            raise BrokenStream("cut off")
        said = replace(
            self._said, contexts=self._contexts, answer="".join(self._texts) if self._pieces else self._said.answer
        )
        if not self._pieces:
            return StreamedReply(said)
        return StreamedReply(said, self._first, self._last, self._pieces)

    def _line(self, raw: bytes, now: float) -> None:
        line = raw.decode("utf-8", errors="replace").strip()
        if line.startswith(("event:", "id:", "retry:", ":")) or not line:
            if line.removeprefix("event:").strip() == "error":
                self._said = replace(self._said, ended="error")
            return
        value = line.removeprefix("data:").strip()
        if value == _DONE:
            self._ended = True
            return
        try:
            event = json.loads(value)
        except (ValueError, RecursionError):
            if not line.startswith("data:"):
                raise BrokenStream(excerpt(value)) from None
            event = value  # events of plain text
        if line.startswith("data:") and not isinstance(event, dict):
            event = raw.decode("utf-8", errors="replace").rstrip("\r").partition("data:")[2].removeprefix(" ")
        if self._said.ended == "error":
            raise BrokenStream(excerpt(value))
        self._take(event, now)

    def _take(self, event: Any, now: float) -> None:
        if not isinstance(event, dict):
            self._add(event if isinstance(event, str) else "", now)
            return
        if event.get("error") or event.get("event") == "error":
            raise BrokenStream(excerpt(clean(json.dumps(event, ensure_ascii=False))))
        said = read_reply(event, self._shape)
        if isinstance(event.get("choices"), list):
            self._chat = True
            self._ended |= any(one.get("finish_reason") for one in event["choices"] if isinstance(one, dict))
        if said.contexts:
            self._contexts = said.contexts
        elif said.contexts is not None and self._contexts is None:
            self._contexts = ()
        self._said = AppReply(
            None, None, said.prompt_tokens or self._said.prompt_tokens, said.output_tokens or self._said.output_tokens,
            self._said.money if said.money is None else said.money, self._said.ms if said.ms is None else said.ms,
            said.ended or self._said.ended, said.keys or self._said.keys,
        )  # fmt: skip
        self._add(self._piece(event, said), now)

    def _piece(self, event: Mapping[str, Any], said: AppReply) -> str:
        if self._shape.answer:
            found = value_at(event, self._shape.answer)
            return found if isinstance(found, str) else ""
        if self._chat or said.answer is not None:
            return said.answer or ""
        for one in layers(event):
            for name in _PIECES:
                if isinstance(one.get(name), str):
                    return str(one[name])
        return ""

    def _add(self, text: str, now: float) -> None:
        if not text:
            return
        self._first = self._first if self._pieces else now
        so_far = "".join(self._texts) if len(text) >= self._length >= _REPEATED else None
        repeats = so_far is not None and text.startswith(so_far)
        if not (repeats and text == so_far):
            self._last, self._pieces = now, self._pieces + 1
        if repeats:
            self._texts, self._length = [], 0
        self._texts.append(text)
        self._length += len(text)
