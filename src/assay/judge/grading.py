"""Grades of whole answers by a language model, by one criterion each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.grounding.record import Grade
from assay.judge.criteria import texts_of
from assay.judge.prompting import block, cut, explain_failure, load_graded_prompt, load_prompt
from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.judge.criteria import Criterion
    from assay.judge.rubric import Rubric
    from assay.llm.records import Reply
    from assay.messages import Lang

_TOKENS = 300
_NEEDED = ("rubric", "mark", "low", "high")
_USED = {"question": "question", "reference": "references"}  # what a built-in prompt calls the fields that it shows


@dataclass(frozen=True)
class GradeQuestion:
    """How an answer as a whole is asked about; contexts longer than `max_context_chars` together are cut."""

    criterion: Criterion
    prompt: Prompt
    rubric: Rubric
    max_chars: int = 20_000
    max_context_chars: int = 60_000

    @classmethod
    def of(cls, criterion: Criterion, lang: Lang, max_context_chars: int = 60_000) -> GradeQuestion:
        """Make the question for a criterion with its built-in prompt and scale, or for a user's criterion."""
        if criterion.scale is not None:
            prompt = load_prompt(criterion.prompt, lang, needed=(*_NEEDED, "criterion", "material"))
            rubric = criterion.scale
        else:
            needed = (*_NEEDED, "answer", *(_USED[name] for name in criterion.shows))
            prompt, rubric = load_graded_prompt(criterion.prompt, lang, needed=needed)
        return cls(criterion, prompt, rubric, max_context_chars=max_context_chars)

    def request(self, sample: Sample) -> Request:
        """Ask about an answer."""
        shows, own = self.criterion.shows, self.criterion.scale is not None
        question, answer = sample.conversation.strip(), (sample.answer or "")[: self.max_chars]
        references = [text[: self.max_chars] for text in sample.references] if "reference" in shows else []
        contexts = cut(texts_of(sample, "contexts"), self.max_context_chars) if "contexts" in shows else []
        told = [self.criterion.text] if own else []
        mark = mark_for(self.prompt.version, question, answer, *references, *contexts, *told)
        shown = [block("question", question, mark)] if "question" in shows and question else []
        numbered = [block(f"context {i}", text, mark) for i, text in enumerate(contexts, 1)]
        known = [block(f"reference {i}", text, mark) for i, text in enumerate(references, 1)]
        values = {
            "question": question,
            "answer": answer,
            "references": "\n\n".join(known),
            "material": "\n\n".join([*shown, *numbered, *known, block("answer", answer, mark)]),
            "criterion": self.criterion.text,
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

    def read_grade(self, reply: Reply, sample: Sample) -> Grade:
        """Read a reply: the grade on a user's own scale, else as a share of the highest."""
        data = reply.data if reply.ok and isinstance(reply.data, dict) else {}
        grade = data.get("grade")
        if not reply.ok or type(grade) is not int or grade not in self.rubric.grades:
            return Grade(None, explain_failure(reply, reply.message or say("judged.grade", grade=repr(grade))))
        value = grade / self.rubric.high if self.criterion.scale is None else float(grade)
        return Grade(value, self._explain(str(data.get("reason", "")), sample))

    def _explain(self, reason: str, sample: Sample) -> str:
        """The judge's explanation, with a note if it did not see all of the contexts."""
        size = sum(map(len, texts_of(sample, "contexts"))) if "contexts" in self.criterion.shows else 0
        if size <= self.max_context_chars:
            return reason
        cut_short = say("judged.cut", most=self.max_context_chars, size=size)
        return say("judged.explained", reason=reason, remark=cut_short) if reason else cut_short
