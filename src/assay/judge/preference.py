"""Which of two answers is better: requests for it, and what a reply says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request

if TYPE_CHECKING:
    from assay.llm.records import Reply

NEEDED = ("question", "first", "second", "mark")
_TOKENS = 400
_PLACES = {"first": "left", "second": "right", "tie": "tie"}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "preferred": {"type": "string", "enum": list(_PLACES)}},
    "required": ["reason", "preferred"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class PreferenceQuestion:
    """How two answers are asked about: prompt, and the most characters of each answer."""

    prompt: Prompt
    max_chars: int = 20_000
    temperature: float | None = 0.0

    def request(self, question: str, left: str, right: str) -> Request:
        """Ask about two answers in this order."""
        left, right = left[: self.max_chars], right[: self.max_chars]
        mark = mark_for(self.prompt.version, question, left, right)
        values = {"question": question, "first": left, "second": right, "mark": mark}
        return Request(
            self.prompt.messages(values), schema=_SCHEMA, temperature=self.temperature, max_tokens=_TOKENS,
            prompt_version=self.prompt.version,
        )  # fmt: skip


def place_of(reply: Reply) -> str | None:
    """Which place a reply prefers: left, right or tie; None where it does not say."""
    data = reply.data if reply.ok and isinstance(reply.data, dict) else {}
    return _PLACES.get(str(data.get("preferred")))
