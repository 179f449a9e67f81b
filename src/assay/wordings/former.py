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
