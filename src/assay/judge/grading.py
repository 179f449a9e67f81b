"""Grades of whole answers by a language model, by one criterion each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.grounding.record import Grade
from assay.judge.prompting import load_graded_prompt
from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.judge.criteria import Criterion
    from assay.judge.rubric import Rubric
    from assay.llm.records import Reply
    from assay.messages import Lang

_TOKENS = 300
_NEEDED = ("answer", "rubric", "mark", "low", "high")
_USED = {"question": "question", "reference": "references"}  # what a prompt calls the fields that it shows


@dataclass(frozen=True)
class GradeQuestion:
    """How an answer as a whole is asked about."""

    criterion: Criterion
    prompt: Prompt
    rubric: Rubric
    max_chars: int = 20_000

    @classmethod
    def of(cls, criterion: Criterion, lang: Lang) -> GradeQuestion:
        """Take the prompt of a criterion, and the scale that it has."""
        needed = (*_NEEDED, *(_USED[name] for name in criterion.shows))
        return cls(criterion, *load_graded_prompt(criterion.prompt, lang, needed=needed))

    def request(self, sample: Sample) -> Request:
        """Ask about an answer."""
        question, answer = sample.given.strip(), (sample.answer or "")[: self.max_chars]
        shown = "reference" in self.criterion.shows
        references = [text[: self.max_chars] for text in sample.references] if shown else []
        mark = mark_for(self.prompt.version, question, answer, *references)
        blocks = [
            f"[reference {i} {mark}]\n{text}\n[end of reference {i} {mark}]" for i, text in enumerate(references, 1)
        ]
        values = {
            "question": question,
            "answer": answer,
            "references": "\n\n".join(blocks),
            "rubric": self.rubric.text,
            "mark": mark,
            "low": str(self.rubric.low),
            "high": str(self.rubric.high),
        }
        return Request(
            self.prompt.messages(values),
            schema=self.rubric.schema,
            temperature=0.0,
            max_tokens=_TOKENS,
            prompt_version=self.prompt.version,
        )

    def read_grade(self, reply: Reply) -> Grade:
        """Read a reply: the grade as a share of the highest."""
        data = reply.data if reply.ok and isinstance(reply.data, dict) else {}
        grade = data.get("grade")
        if not reply.ok or type(grade) is not int or grade not in self.rubric.grades:
            return Grade(None, f"llm: {reply.reason or 'parse'}: {reply.message or f'grade {grade!r}'}")
        return Grade(grade / self.rubric.high, str(data.get("reason", "")))
