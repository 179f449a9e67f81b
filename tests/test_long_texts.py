"""Texts that were written to take long: time in proportion to their length, and no errors but our own.

Every public function that looks at a text meets the same twenty texts. They are short in the ordinary run; with
ASSAY_STRESS=1 they have a megabyte each, and none may take longer than two seconds of computing.
"""

from __future__ import annotations

import ast
import contextlib
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.analysis.gate_rules import read_rule
from assay.cli.cost import _split as split_method
from assay.cli.options import check_folder, number_list, pair, split_name
from assay.cli.options import numbers as numbers_by_name
from assay.cli.sweep import _cutoffs as read_cutoffs
from assay.data.folding import pattern_to_regex
from assay.data.nuggets import Nugget
from assay.data.samples import Context, Sample
from assay.errors import AssayError, UsageError, excerpt
from assay.formats.columns import key_of
from assay.formats.formulas import guard, unguard
from assay.formats.markup import text_of
from assay.formats.queries import Queries, read_clusters
from assay.formats.redaction import redact
from assay.formats.samples import value_at
from assay.grounding import answerability, citations, claims, preparing, recipes, support_of, words
from assay.judge.rubric import read_scale
from assay.llm.prompts import read_prompt
from assay.llm.wire import split_thinking
from assay.measures.spellings import expand, split_measures
from assay.online.click_judgments import read_cuts
from assay.online.guardrails import read_guardrail
from assay.online.watching.outbox import read_headers
from assay.text import lexicon, negation, numbers, refusals, segmentation, sentences, stems
from assay.text import words as text_words
from assay.text.embeddings import choose_embedder
from assay.text.marking import mark_words
from conftest import STRESS

SIZE = 1_000_000 if STRESS else 10_000  # bytes
LIMIT = 2.0  # seconds
# Each is repeated; a pair has its second part at the end alone, where a pattern fails after all that it has tried.
TEXTS: tuple[str | tuple[str, str], ...] = (
    "a", ("x" + " " * 999, "<"), (" ", "x<="), "9", ".1", "1,", "5%", "½", "2020-1-", "one and ", "百分之", "不", "not ", "I cannot ", "e.g. ",
    ("[1]", "["), ("(", "@"), ("_", "#"), "a@a.", ("\\u005c", "\n"),
)  # fmt: skip


def long_text(parts, size):
    start, end = parts if isinstance(parts, tuple) else (parts, "")
    return start * max(1, size // len(start.encode())) + end


JUDGED = {f"q{i}": {"a": 1} for i in range(12)}
SCORES = assay.evaluate(
    JUDGED, {"old": {q: {"a": 1.0} for q in JUDGED}, "new": {q: {"a": 2.0} for q in JUDGED}}, ["mrr"]
)
QUERIES = Queries(pl.DataFrame({"query_id": list(JUDGED), "text": list(JUDGED), "lang": ["en", "zh"] * 6}))
LOG = assay.Events.of(pl.DataFrame({"query_id": ["1", "2"], "action": "query", "text": ["tea", "milk"]}))
CONTEXTS = [Context("It opened in 1889.", "1")]


def sample(answer="It opened in 1889.", context="It opened in 1889.", question="When?"):
    return Sample("q", question=question, answer=answer, contexts=(Context(context),))


def redact_one(text):
    return pl.DataFrame({"text": [text]}).select(redact(pl.col("text")))


def try_name(read, text):
    with contextlib.suppress(AssayError):
        read([text] if read is assay.check_files else text)


# By module and function, so that a new one is missed; a text may have several places in one.
LOOK = {
    "text.numbers:numbers": numbers.numbers, "text.numbers:values": numbers.values, "text.sentences:sentences": sentences.sentences,
    "text.words:tokens": text_words.tokens, "text.words:bag": text_words.bag, "text.words:strong_words": text_words.strong_words,
    "text.words:has_han": text_words.has_han, "text.words:language": text_words.language, "text.words:is_strong": text_words.is_strong,
    "text.words:bags": lambda text: text_words.bags(text, sentences.sentences(text)), "text.words:form": text_words.form,
    "text.stems:stem": stems.stem, "text.lexicon:equivalents": lexicon.equivalents, "text.lexicon:opposites": lexicon.opposites, "text.lexicon:is_general": lexicon.is_general,
    "text.negation:clauses": negation.clauses, "text.negation:find_denied_words": negation.find_denied_words, "text.negation:find_denied_pairs": negation.find_denied_pairs,
    "text.negation:is_negated": negation.is_negated, "text.refusals:is_refusal": refusals.is_refusal, "text.refusals:is_courtesy": refusals.is_courtesy,
    "text.segmentation:han_words": segmentation.han_words, "text.marking:mark_words": lambda text: (mark_words(text, "green 绿茶"), mark_words(text, text)),
    "grounding.answerability:says_answerable": lambda text: answerability.says_answerable({"answerable": text, "unanswerable": text}),
    "grounding.citations:marks": lambda text: citations.marks(text, CONTEXTS),
    "grounding.citations:blank_marks": lambda text: citations.blank_marks(text, citations.marks(text, CONTEXTS)),
    "grounding.preparing:statements": lambda text: list(preparing.statements(text)), "grounding.preparing:prepare": lambda text: preparing.prepare(sample(text)),
    "grounding.preparing:sample_for": lambda text: preparing.sample_for(sample(text), "answer"),
    "grounding.preparing:nuggets_of": lambda text: preparing.nuggets_of(replace(sample(), nuggets=(Nugget(text), Nugget("hot", "vital")))),
    "grounding.preparing:kind_of": lambda text: preparing.kind_of(text, claims.Claim(text)),
    "grounding.recipes:word_overlap": lambda text: recipes.word_overlap(text, [text]), "grounding.recipes:verbatim_share": lambda text: recipes.verbatim_share(text, [text]),
    "grounding.words:by_words": lambda text: words.by_words(sample(text)),
    "grounding.words:by_words in a context": lambda text: words.by_words(sample(context=text)),
    "grounding.words:by_words in a question": lambda text: words.by_words(sample(question=text)),
    "grounding.words:relevance_by_words": lambda text: words.relevance_by_words(sample(question=text)),
    "grounding:support_of": lambda text: support_of([sample(text)]),
    "grounding.answerability:find_answerability": lambda text: answerability.find_answerability(sample(text, text)),
    "formats.redaction:redact": redact_one, "formats.markup:text_of": text_of, "formats.columns:key_of": key_of,
    "formats.formulas": lambda text: unguard(guard(text)), "formats.samples:value_at": lambda text: value_at({"a": [1]}, f"a.{text}"),
    "errors:excerpt": excerpt, "data.folding:pattern_to_regex": lambda text: pattern_to_regex(f"{{doc}}{text}{{chunk}}"),
    "measures.grammar:parse": assay.parse, "measures.spellings:split_measures": split_measures, "measures.spellings:expand": expand,
    "analysis.gate_rules:read_rule": read_rule, "online.guardrails:read_guardrail": read_guardrail, "online.click_judgments:read_cuts": read_cuts,
    "online.watching.outbox:read_headers": read_headers,
    "cli --map": lambda text: pair(text, "--map", "FIELD=COLUMN"), "cli --fail-under": lambda text: numbers_by_name((text,), "--fail-under"),
    "cli NAME=FILE": split_name, "cli --sweep": read_cutoffs, "cli --concurrency": lambda text: number_list(text, "--concurrency"), "cli --variant": split_method,
    "analysis.compare_slices --by": lambda text: assay.compare_slices(SCORES, text, QUERIES),
    "online.log_metrics --by": lambda text: assay.log_metrics(LOG, by=text),
    "online.log_sample --stratum": lambda text: assay.sample_log(LOG, 1, strata=[text]),
    "names of files": lambda text: [try_name(one, text) for one in (read_clusters, assay.load_protocol, assay.cost, assay.check_files, check_folder)],
    "text.embeddings:choose_embedder": lambda text: choose_embedder(text, ["tea"]),
    "judge.rubric:read_scale": lambda text: read_scale([text, f"- 0: {text}"], "x"), "llm.prompts:read_prompt": lambda text: read_prompt(text, "x", needed=(), known=()),
    "llm.wire:split_thinking": split_thinking,
}  # fmt: skip


# Public functions of these modules that look at no text of others, with their reason.
NOT_TEXTS = {
    "reads or finds files of a model": {
        "text.weights:models_folder", "text.weights:find_minilm", "text.weights:check_kept", "text.weights:get_model", "text.model_files:read_tensors",
        "text.model_files:load_tokenizer", "text.minilm:load_minilm", "text.static:wordllama_folder", "text.static:load_wordllama",
    },
    "arithmetic": {"text.minilm:batches", "text.minilm:gelu", "text.products:cosines", "text.products:products", "text.products:unit_length", "text.numbers:plain", "grounding.embedding:sigmoid"},
    "data of the package": {"text.wordlists:read_lists", "text.wordlists:groups", "text.lexicon:polar_function_words", "text.segmentation:segmenter"},
    "names of a model or method": {"text.embeddings:name_fast", "grounding.agreement:describe_agreement"},
    "time is the model's, a piece at a time: tests/text/test_embeddings.py": {
        "text.embeddings:embed_all", "grounding.embedding:by_embedding", "grounding.embedding:relevance_by_embedding", "grounding.recipes:sigmoid_of_similarity",
    },
    "takes apart nothing: by_words and prepare call it": {
        "grounding.case:claims", "grounding.conflicts:conflicts", "grounding.coverage:nearest", "grounding.preparing:fault_reason", "grounding.preparing:record",
        "grounding.preparing:record_unjudged", "grounding.words:look_up", "grounding.words:lower_support", "grounding.answerability:read_answerable", "grounding.answerability:ids_of_contexts",
    },
}  # fmt: skip
MODULES = ("text", "grounding", "formats.redaction", "formats.markup")


def public_functions():
    """Public functions of the modules that look at texts, as MODULE:FUNCTION."""
    source = Path(assay.__file__).parent
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        if any(module == one or module.startswith(f"{one}.") for one in MODULES):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    yield f"{module}:{node.name}"


def test_every_public_function_that_looks_at_texts_meets_them():
    excused = {one for names in NOT_TEXTS.values() for one in names}
    known = set(public_functions())
    assert known - excused - set(LOOK) == set()
    assert excused <= known


def test_there_are_twenty_texts():
    assert len(TEXTS) == 20


@pytest.mark.parametrize("text", ["²", "1-²", "9" * 5000, "1-" + "9" * 5000])
def test_digits_that_are_no_numbers_are_no_cutoffs(text):
    with pytest.raises(UsageError):
        read_cutoffs(text)


@pytest.mark.parametrize("name", LOOK)
def test_a_text_that_was_written_to_take_long_does_not(name):
    with contextlib.suppress(AssayError):
        LOOK[name]("warm")
    slow, strange = {}, {}
    for parts in TEXTS:
        for size in (SIZE // 16, SIZE):  # a quadratic one is found before it takes an hour
            text = long_text(parts, size)
            start = time.process_time()
            try:
                LOOK[name](text)
            except AssayError:
                pass
            except Exception as error:  # noqa: BLE001 - whatever it is, it is not ours
                strange[text[:10]] = repr(error)[:100]
            if STRESS and (took := time.process_time() - start) > LIMIT * size / SIZE + 0.1:
                slow[text[:10], size] = round(took, 2)
                break
    assert not strange
    assert not slow
