"""What files of earlier versions say in English, where it has changed since or had no Chinese yet."""

from __future__ import annotations

# Former English of messages -> their keys.
FORMER = {
    "{label} of {n} {n:query|queries} hangs on tied scores, broken by {rule}": "doubt.tied",
    "{labels}: over {n:,} of {judged:,} queries": "doubt.fewer",
    "nowhere": "fate.skip",
    "kappa {value:.2f} is below {least:g}: these grades cannot stand in for people's, and the stamp stays": "calibrate.poor",
    "protocol {protocol}: max_grade = {chosen:g}, as the judgments' largest grade is {grade:g}": "evaluate.max_grade",
    "{name}: times of {stage} stand on {n:,} of {of:,} queries, others were cached": "experiment.time_partly",
    "{measure} differs by {difference:+.4f} {interval} from {baseline}: worse by {margin:g} or not": "gate.inconclusive_baseline",
    "words: Spearman .69 with people's faithfulness on MTRAG (220 answers); rewording looks like invention; {sees}": "agreement.words",
    "of changed words it sees numbers, names, negation, opposites and order": "agreement.sees",
    "Chinese words by {name}": "reason.segmenter",
    "by {field}": "stage_why.by",
    "{n:pair is|pairs are} judged more than once: evaluation stops unless --dedupe keeps the first": "check.duplicate_judgment",
    "{n:document is|documents are} listed more than once for a query: evaluation stops unless --dedupe keeps the first": "check.duplicate_document",
    "judged {n:query is|queries are} missing from the run and {n:counts|count} as 0 unless --missing skip": "check.missing",
    "{n:id is|ids are} not judged, but {n:looks|look} like {n:a chunk|chunks} of judged documents: use --fold and --chunk-map '{pattern}'": "check.chunks",
    "the systems have no sample in common to compare: name the column of the question's id, --map query_id=COLUMN": "answers.apart",
    "no sample has what these need: {names}; a column of another name is given with --map FIELD=COLUMN": "answers.lacking",
    "embeddings ({embedder}) judge only what words cannot: to judge by them, use --method embedding or --method s4": "answers.embedder_waits",
    "{labels}: samples that other methods judged have a row of their own; --mix averages over all": "answers.parts",
    "It is the best of {n} on the queries that chose it: its value is likely too high; check with --holdout 0.3.": "experiment.no_holdout",
    "A rule that cannot be decided fails here (--strict).": "gate.open_fails",
    "An inconclusive rule does not stop anything; --strict makes it fail.": "gate.open",
    "of a bench or a cost, a gate checks thresholds only: --fail-under, --fail-over and rules such as p95_ms<=300": "gate.thresholds_only",
    "no grade reaches min_relevance {n:g}, so nothing counts as relevant for {labels}: check --min-relevance": "doubt.unreached",
    "{n} tests without correction: of equal systems, one in twenty will look different (use --correction holm)": "concern.uncorrected",
    "{n} measures, each corrected by itself: name one primary measure beforehand, or use --family all": "concern.each_measure",
    "{n} measures, each tested by itself: name one primary measure beforehand": "concern.each_measure_pairs",
    "Texts are those of the bundled collection; yours: --queries and --documents.": "bench.bundled",
    "{method}: the price of {model} is not known, so neither is the cost: give price=, or --prices FILE.": "cost.no_price",
    "no AUROC: say with --positive from which value on people mean yes": "validate.no_positive",
}
# Titles of protocols that were written before their Chinese was.
TITLES = {
    "What an answer is worth, given its question, its contexts and, if there is one, a reference": "依据问题、上下文和参考答案（如有）评测回答的质量",
    "Documents found by a system that retrieves chunks": "检索分块的系统找到了哪些文档",
    "Grades 0, 1, 2: one standard for graded collections": "等级 0、1、2：分级标注数据集的统一标准",
    "Grades 0-10 from a language model": "大模型给出的 0-10 级标注",
    "A RAG developer's retrieval self-test": "RAG 开发者的检索自测",
    "A reranker's quality": "重排器的质量",
    "What trec_eval 10 prints": "trec_eval 10 的输出",
    "What trec_eval 9.0.x prints": "trec_eval 9.0.x 的输出",
}
