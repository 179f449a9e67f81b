"""Grades of whole answers by a language model: does it address the question, and is it correct."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.grounding.record import Grade
from assay.judge.prompting import load_prompt
from assay.judge.rubric import Rubric
from assay.llm.prompts import Prompt, mark_for
from assay.llm.records import Request

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.llm.records import Reply
    from assay.messages import Lang

Kind = Literal["relevance", "correctness"]
_TOKENS = 300
_PROMPTS: dict[Kind, str] = {"relevance": "answer_relevance", "correctness": "correctness"}
_NEEDED: dict[Kind, tuple[str, ...]] = {
    "relevance": ("question", "answer", "rubric", "mark", "low", "high"),
    "correctness": ("question", "answer", "references", "rubric", "mark", "low", "high"),
}
_RUBRICS: dict[Kind, dict[Lang, dict[int, str]]] = {
    "relevance": {
        "en": {
            0: "does not address the question",
            1: "addresses it only in part, indirectly, or among much that was not asked",
            2: "addresses it directly and completely",
        },
        "zh": {0: "没有回应问题", 1: "只部分或间接回应，或夹杂大量未问的内容", 2: "直接而完整地回应了问题"},
    },
    "correctness": {
        "en": {
            0: "wrong: contradicts the reference, or lacks what it says",
            1: "partly right: has a part of what the reference says, or has it with an error",
            2: "right: says what the reference says",
        },
        "zh": {
            0: "错误：与参考答案矛盾，或没有说出其内容",
            1: "部分正确：只说出一部分，或带有错误",
            2: "正确：说出了参考答案的内容",
        },
    },
}


@dataclass(frozen=True)
class GradeQuestion:
    """How an answer as a whole is asked about."""

    kind: Kind
    prompt: Prompt
    rubric: Rubric
    max_chars: int = 20_000

    @classmethod
    def of(cls, kind: Kind, lang: Lang) -> GradeQuestion:
        """Take the built-in prompt and rubric."""
        meanings = _RUBRICS[kind][lang]
        rubric = Rubric(kind, tuple(meanings), meanings)
        return cls(kind, load_prompt(_PROMPTS[kind], lang, needed=_NEEDED[kind]), rubric)

    def request(self, sample: Sample) -> Request:
        """Ask about an answer."""
        question, answer = sample.given.strip(), (sample.answer or "")[: self.max_chars]
        references = [text[: self.max_chars] for text in sample.references] if self.kind == "correctness" else []
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
