"""Measures of answers by their support: faithfulness, and the use that an answer makes of its contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.errors import excerpt
from assay.grounding.record import Blank
from assay.judge.criteria import Criterion
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.grounding.case import Case
    from assay.grounding.matrix import Matrix
    from assay.grounding.preparing import Piece
    from assay.results.support import Statement

# "auto" and "mix" mean the method that judged the sample; the last three are recipes of their own.
Method = Literal["auto", "mix", "llm", "embedding", "words"]
Recipe = Literal["auto", "mix", "llm", "embedding", "words", "sigmoid", "overlap", "contains"]
RECIPES = frozenset({"sigmoid", "overlap", "contains"})
SLOPE, MIDPOINT = 10.0, 0.5


def _unless_recipe(params: Mapping[str, Any]) -> frozenset[Piece]:
    return frozenset() if params["method"] in RECIPES else frozenset({"answer"})


@measure(cutoff="none", of="answers", needs=("answer", "contexts"), pieces=_unless_recipe)
def faithfulness(
    case: Case, _k: None, *, method: Recipe = "auto", slope: float = SLOPE, midpoint: float = MIDPOINT
) -> float | Blank:
    """How far the answer follows from its contexts.

    Definition: mean support of the answer's statements (sentences that claim something) by the contexts, 0 to 1 each.
    Parameters:
      method: how it is judged. llm: a language model, statement by statement: yes 1, partly .5, no 0, each statement
        counting the same. embedding: nearness in meaning of the nearest context sentence through a sigmoid, less where
        numbers, names, negation or word order differ. words: share of the statement's words that the contexts have,
        less where they differ in these; statements weigh by their words. auto: a language model if there is one,
        else words, and embeddings where words fail; the result says which. Recipes as others wrote them down: sigmoid
        (the highest cosine of each sentence with a context, their mean through a sigmoid), overlap (share of the
        answer's words, less stop words, that the contexts have), contains (share of sentences that occur in a context
        word for word). mix: as auto, averaged over methods.
      slope: of the sigmoid of method='sigmoid'.
      midpoint: of the sigmoid of method='sigmoid'; slope 1 and midpoint 0 is the plain logistic function.
    Odd cases: no contexts: 0. A refusal is abstained, an answer that claims nothing is not applicable; both are in no
      mean and counted. Values of different methods are never averaged unless asked for.
    Reference: Es et al. 2024 (RAGAS).
    Agrees with: no other tool: ragas divides by verdicts returned, deepeval counts "unsupported" as faithful.
    Reading: .80 by a judge means four in five statements follow from the contexts. By words, paraphrase lowers and a
      changed word hardly lowers it: compare values of one method only.
    Use when: invented content is the main risk.
    Not when: you want to know whether the answer is right: contexts may be wrong.
    """
    if method in RECIPES:
        return _recipe(case, method, slope=float(slope), midpoint=float(midpoint))
    found = case.matrix("answer")
    if isinstance(found, Blank):
        return found
    return found.support.value or 0.0


def _recipe(case: Case, name: str, *, slope: float, midpoint: float) -> float | Blank:
    from assay.errors import AssayError
    from assay.grounding import recipes

    sample, status = case.sample, case.matrix("answer")
    if isinstance(status, Blank):
        return status
    answer, texts = sample.answer or "", [context.text for context in sample.contexts or ()]
    if not texts:
        return 0.0
    try:
        if name == "sigmoid":
            value = recipes.sigmoid_of_similarity(answer, texts, embedder=case.embedder, slope=slope, midpoint=midpoint)
        else:
            value = (recipes.word_overlap if name == "overlap" else recipes.verbatim_share)(answer, texts)
    except Exception as error:  # noqa: BLE001 - a user's embedder may raise anything
        why = error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        return Blank("failed", say("blank.fault", field="embedding", fault=why))
    return Blank("undefined", say("blank.no_words")) if value is None else value


@measure(cutoff="none", of="answers", needs=("answer", "contexts"), pieces=_unless_recipe, lower_is_better=True)
def hallucination_rate(
    case: Case, _k: None, *, method: Recipe = "auto", slope: float = SLOPE, midpoint: float = MIDPOINT
) -> float | Blank:
    """How far the answer does not follow from its contexts.

    Definition: 1 - faithfulness.
    Parameters:
      method: as for faithfulness.
      slope: as for faithfulness.
      midpoint: as for faithfulness.
    Odd cases: those of faithfulness.
    Agrees with: no tool in particular: it is as good as the faithfulness behind it.
    Reading: .20 by a judge means one statement in five does not follow from the contexts.
    Use when: a report asks for a rate of hallucination.
    Not when: faithfulness is already shown: it says the same.
    """
    found = faithfulness.spec.function(case, None, method=method, slope=slope, midpoint=midpoint)
    return found if isinstance(found, Blank) else 1.0 - float(found)


def _matches(params: Mapping[str, Any]) -> frozenset[Piece]:
    return frozenset({"answer"}) if params["match"] == "support" else frozenset()


@measure(cutoff="none", of="answers", needs=("answer", "contexts"), pieces=_matches)
def context_utilisation(
    case: Case,
    _k: None,
    *,
    match: Literal["support", "contains"] = "support",
    threshold: float = 0.5,
    method: Method = "auto",
) -> float | Blank:
    """Share of the answer's statements that match the contexts.

    Definition: statements with support of at least the threshold / all statements.
    Parameters:
      match: support: as the method finds it. contains: the sentence occurs word for word in a context.
      threshold: support from which a statement matches.
      method: how support is judged, as for faithfulness.
    Odd cases: those of faithfulness.
    Agrees with: no tool known; tools that look for sentences in contexts do what match='contains' does.
    Reading: .75 means three sentences in four come from the contexts.
    Use when: you want to know whether the answer uses what was retrieved.
    Not when: you want to know how much of the contexts was needed: that is context_precision.
    """
    found = case.matrix("answer")
    if isinstance(found, Blank):
        return found
    if match == "contains":
        return _recipe(case, "contains", slope=SLOPE, midpoint=MIDPOINT)
    values = [part.support for part in found.support.statements if part.support is not None]
    return sum(value >= threshold for value in values) / len(values) if values else 0.0


def _by(params: Mapping[str, Any]) -> frozenset[Piece]:
    return frozenset() if params["by"] == "gold" else frozenset({params["by"]})


@measure(cutoff="none", of="answers", needs=("contexts", "reference|gold_ids"), pieces=_by)
def context_precision(
    case: Case,
    _k: None,
    *,
    by: Literal["reference", "answer", "gold"] = "reference",
    over: Literal["contexts", "ranks"] = "contexts",
    threshold: float = 0.5,
    method: Method = "auto",
) -> float | Blank:
    """Share of the contexts that are of use.

    Definition: contexts of use / contexts; a context is of use if it alone supports a statement of the reference.
    Parameters:
      by: reference: of use for the reference answer. answer: for the answer that was given. gold: its id is a gold id.
      over: contexts: plain share. ranks: mean of the precision at each rank that holds a context of use, so that order
        counts (ragas).
      threshold: support from which a context supports a statement.
      method: how support is judged, as for faithfulness.
    Odd cases: no contexts is undefined. Of several references, the first counts.
    Agrees with: ragas with over='ranks', up to the method.
    Reading: .20 at five contexts means that one of them was enough.
    Use when: contexts cost money or distract the generator.
    Not when: there are gold ids for a deep list: use precision@k of assay evaluate.
    """
    contexts = case.sample.contexts
    if "contexts" in case.sample.faults:
        return Blank("failed", f"contexts: {case.sample.faults['contexts']}")
    if not contexts:
        return _no_contexts(contexts)
    useful = _useful(case, by, threshold=float(threshold))
    if isinstance(useful, Blank):
        return useful
    if over == "contexts":
        return sum(useful) / len(useful)
    hits = [place for place, use in enumerate(useful, 1) if use]
    return sum(i / place for i, place in enumerate(hits, 1)) / len(hits) if hits else 0.0


def _no_contexts(contexts: tuple[Any, ...] | None) -> Blank:
    if contexts is None:
        return Blank("not_applicable", say("blank.contexts_unknown"))
    return Blank("undefined", say("blank.no_contexts"))


def _useful(case: Case, by: str, *, threshold: float) -> list[bool] | Blank:
    """Say of each context whether it is of use."""
    contexts = case.sample.contexts or ()
    if by == "gold":
        gold = _gold(case)
        if isinstance(gold, Blank):
            return gold
        ids, groups = gold
        return [any(name in group for group in groups) for name in ids]
    found = case.matrix("answer" if by == "answer" else "reference")
    if isinstance(found, Blank):
        return found
    return [_supports(found, place, threshold) for place in range(len(contexts))]


def _supports(found: Matrix, context: int, threshold: float) -> bool:
    from assay.grounding.case import claims

    return any(found.joint(place, [context]) >= threshold for place, _ in claims(found.support))


def _gold(case: Case) -> tuple[list[str], tuple[tuple[str, ...], ...]] | Blank:
    """Ids of the contexts in their order, and the groups of gold ids."""
    sample = case.sample
    for name in ("context_ids", "gold_ids"):
        if name in sample.faults:
            return Blank("failed", say("blank.fault", field=name, fault=sample.faults[name]))
    if sample.gold_ids is None:
        return Blank("not_applicable", say("blank.no_gold"))
    named = [context.id for context in sample.contexts or () if context.id]
    if sample.context_ids is not None:
        return list(sample.context_ids), sample.gold_ids
    if sample.contexts is None or len(named) < len(sample.contexts):
        return Blank("not_applicable", say("blank.no_context_ids"))
    return named, sample.gold_ids


@measure(cutoff="none", of="answers", needs=("contexts", "reference|gold_ids"), pieces=_by)
def context_recall(
    case: Case, _k: None, *, by: Literal["reference", "gold"] = "reference", method: Method = "auto"
) -> float | Blank:
    """How much of what is needed the contexts hold.

    Definition: mean support of the reference's statements by the contexts.
    Parameters:
      by: reference: as defined. gold: share of the groups of gold ids of which a context has one.
      method: how support is judged, as for faithfulness.
    Odd cases: no contexts: 0. A reference that refuses is abstained: there was nothing to find. Of several references,
      the first counts.
    Agrees with: ragas, up to the method.
    Reading: .60 means the contexts lack two fifths of the reference: no generator can make up for that honestly.
    Use when: you want to know whether retrieval or generation is at fault.
    Not when: there are gold ids for a deep list: use recall@k of assay evaluate.
    """
    if by == "gold":
        gold = _gold(case)
        if isinstance(gold, Blank):
            return gold
        ids, groups = gold
        if not groups:
            return Blank("undefined", say("blank.empty_gold"))
        return sum(not set(ids).isdisjoint(group) for group in groups) / len(groups)
    found = case.matrix("reference")
    return found if isinstance(found, Blank) else found.support.value or 0.0


def _noise_pieces(params: Mapping[str, Any]) -> frozenset[Piece]:
    always: frozenset[Piece] = frozenset({"answer", "check"})
    return always if params["contexts"] == "any" else always | {"reference"}


@measure(
    cutoff="none",
    of="answers",
    needs=("answer", "contexts", "reference"),
    pieces=_noise_pieces,
    lower_is_better=True,
    unlike_people=True,
)
def noise_sensitivity(
    case: Case,
    _k: None,
    *,
    contexts: Literal["any", "relevant", "irrelevant"] = "any",
    threshold: float = 0.5,
    method: Method = "auto",
) -> float | Blank:
    """Share of the answer's statements that are wrong and come from the contexts.

    Definition: statements that the contexts support and the references do not / all statements.
    Parameters:
      contexts: any: all contexts. relevant: those that support a statement of the reference. irrelevant: the others,
        for statements that no relevant one supports.
      threshold: support from which a statement is supported.
      method: how support is judged, as for faithfulness.
    Odd cases: those of faithfulness. A statement that is right but not in the reference counts as wrong: references
      should be complete.
    Reference: Ru et al. 2024 (RAGChecker); ragas.
    Agrees with: ragas with contexts='relevant' and 'irrelevant', up to the method.
    Reading: .30 means three statements in ten repeat what the contexts say and the reference does not.
    Use when: contexts contain distracting material.
    Not when: references are only a few words long, or something is to be decided by it without a judge.
    """
    said, right = case.matrix("answer"), case.matrix("check")
    for found in (said, right):
        if isinstance(found, Blank):
            return found
    assert not isinstance(said, Blank) and not isinstance(right, Blank)
    every = range(len(case.sample.contexts or ()))
    useful = [True for _ in every] if contexts == "any" else _useful(case, "reference", threshold=float(threshold))
    if isinstance(useful, Blank):
        return useful
    relevant = [place for place in every if useful[place]]
    others = [place for place in every if not useful[place]]
    return _share_to_blame(said, right, relevant, others if contexts == "irrelevant" else None, float(threshold))


def _share_to_blame(
    said: Matrix, right: Matrix, relevant: list[int], others: list[int] | None, threshold: float
) -> float | Blank:
    """Share of statements that the references lack and the contexts in question support."""
    from assay.grounding.case import claims

    parts = claims(said.support)
    wrong = [place for place, _ in parts if (right.support.statements[place].support or 0.0) < threshold]
    if others is None:
        return sum(said.joint(place, relevant) >= threshold for place in wrong) / len(parts)
    return sum(
        said.joint(place, others) >= threshold and said.joint(place, relevant) < threshold for place in wrong
    ) / len(parts)


_RELEVANCE = Criterion("relevance", "answer_relevance", shows=("question",), needs=("question",), refusals=False)


@measure(cutoff="none", of="answers", needs=("answer", "question"), criterion=_RELEVANCE, unlike_people=True)
def answer_relevance(case: Case, _k: None, *, method: Method = "auto") -> float | Blank:
    """How far the answer addresses the question.

    Definition: by llm: a grade (0 does not address it, 1 in part, 2 directly and completely) / 2. By embedding: cosine
      similarity of question and answer, not below 0. By words: share of the question's content words in the answer.
    Parameters:
      method: how relevance is judged.
    Odd cases: a refusal is abstained. Whether the answer is right does not matter.
    Agrees with: no other tool: ragas lets a model invent questions for the answer and compares those.
    Reading: by a judge, .50 is "in part". By words and embedding, compare systems on the same questions only: a good
      short answer repeats little of the question.
    Use when: answers may drift away from the question.
    Not when: something is to be decided by it without a judge.
    """
    sample = case.sample
    for name in ("question", "answer"):
        if name in sample.faults:
            return Blank("failed", say("blank.fault", field=name, fault=sample.faults[name]))
    if not (sample.question or "").strip():
        return Blank("not_applicable", say("blank.no_question"))
    status = case.support.status
    if status in {"missing", "abstained", "undefined"}:
        return Blank(status, case.support.reason)
    grade = case.grade(_RELEVANCE.name)
    return Blank(grade.status, grade.reason) if grade.value is None else grade.value


def _say_which_count(case: Case, of: str) -> list[bool]:
    """Say of each nugget whether it counts."""
    from assay.grounding.preparing import nuggets_of

    return [of == "all" or one.importance == "vital" for one in nuggets_of(case.sample)]


def _find_counted(case: Case, of: str) -> list[Statement] | Blank:
    """The nuggets that count, as statements that the answer supports or not; or why there is no value."""
    found = case.matrix("nuggets")
    if isinstance(found, Blank) and found.status != "missing":
        return found
    counts = _say_which_count(case, of)
    if not any(counts):
        return Blank("undefined", say("blank.no_vital_nugget"))
    if isinstance(found, Blank):
        return found
    return [part for part, counted in zip(found.support.statements, counts, strict=True) if counted]


def _name_lacking(case: Case, params: Mapping[str, Any]) -> str:
    """Name the nuggets that an answer lacks or holds in part."""
    found = _find_counted(case, params["of"])
    parts = [] if isinstance(found, Blank) else found
    lacking = [excerpt(part.text) for part in parts if part.level == "unsupported"]
    partly = [excerpt(part.text) for part in parts if part.level == "partly"]
    if lacking and partly:
        return say("note.nuggets", lacking=lacking, partly=partly)
    return say("note.lacking", names=lacking) if lacking else say("note.partly", names=partly) if partly else ""


@measure(
    cutoff="none",
    of="answers",
    needs=("answer", "nuggets"),
    pieces=lambda _: frozenset({"nuggets"}),
    zero_if_missing=True,
    people_unknown=True,
    note=_name_lacking,
)
def nugget_recall(
    case: Case, _k: None, *, of: Literal["vital", "all"] = "vital", strict: bool = False, method: Method = "auto"
) -> float | Blank:
    """Share of the facts that a good answer holds which the answer holds.

    Definition: each nugget that counts is 1 if the answer supports it, .5 if it does in part, else 0; their mean.
      Supported is support of .75 or more, in part of .5 or more.
    Parameters:
      of: vital: the vital nuggets count. all: vital ones, okay ones and those nobody has weighed count, each the same.
      strict: what is supported in part counts 0.
      method: how the support of each nugget by the answer is judged, as faithfulness judges that of statements by
        contexts; llm says yes, partly or no.
    Odd cases: no nuggets: not applicable. No vital nugget: undefined, not 0, unless of='all'. A refusal holds none: 0.
      An answer that is missing counts as 0. A nugget without words is left out. Contexts do not matter.
    Reference: Voorhees 2003 (TREC QA); Pradeep et al. 2024 (AutoNuggetizer, TREC RAG).
    Agrees with: TREC RAG's vital (V), strict vital, all (A) and strict all scores, given the same verdicts.
    Reading: .60 by a judge means three in five vital facts are in the answer, or more of them in part. By words, other
      words for the same fact lower it; how far it agrees with people is not known.
    Use when: people have listed what a good answer holds.
    Not when: something is to be decided by it without a judge, or invented content is the risk: use faithfulness.
    """
    parts = _find_counted(case, of)
    if isinstance(parts, Blank):
        return parts
    levels = [part.level for part in parts]
    return (levels.count("supported") + (0.0 if strict else levels.count("partly") / 2)) / len(levels)
