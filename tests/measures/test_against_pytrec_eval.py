"""Every measure shared with pytrec-eval-terrier (trec_eval 9) agrees to 1e-12 on random judgments and runs."""

from __future__ import annotations

import random

import numpy as np
import pytest
import pytrec_eval

from assay.data.joining import rank_run
from assay.data.judgments import Judgments
from assay.data.mappings import rank_mapping
from assay.data.run import Run
from assay.measures.trec import columns_of
from strategies import random_pair

DEPTHS = "1,2,3,5,10,20,100"
SHARED = [
    "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank", "infAP", "utility", "binG", "G", "ndcg",
    "ndcg_rel", "Rndcg", "set_P", "set_recall", "set_map", "set_F", "num_nonrel_judged_ret", "11pt_avg",
    "iprec_at_recall", "Rprec_mult", f"P.{DEPTHS}", f"recall.{DEPTHS}", f"ndcg_cut.{DEPTHS}", f"map_cut.{DEPTHS}",
    f"success.{DEPTHS}",
]  # fmt: skip
# Undefined in trec_eval (0/0) without relevant documents; ours counts the query as 0 or leaves it out.
RELATIVE = [f"relative_P.{DEPTHS}", "set_relative_P"]


def differences(rng: random.Random, level: int) -> tuple[int, float]:
    """Compare one pair on both of our paths; count compared values and the largest difference."""
    qrels, run = random_pair(rng)
    if not set(qrels) & set(run):
        return 0, 0.0
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {*SHARED, *RELATIVE}, relevance_level=level).evaluate(run)
    judgments = Judgments.from_dict(qrels)
    compared, worst = 0, 0.0
    columns = columns_of([*SHARED, *RELATIVE], version=9, level=level)
    for ranking in (rank_mapping(judgments, run, float32=True), rank_run(judgments, Run.from_dict(run), float32=True)):
        number = {query: i for i, query in enumerate(ranking.query_ids)}
        for column in columns:
            ours = np.nan_to_num(column.measure.compute(ranking), nan=0.0)
            for query, values in theirs.items():
                if np.isnan(values[column.name]):
                    continue
                compared += 1
                worst = max(worst, abs(ours[number[query]] - values[column.name]))
                assert worst <= 1e-12, (column.name, query, qrels[query], run[query])
    return compared, worst


@pytest.mark.parametrize("level", [1, 2])
def test_all_shared_measures_agree_on_random_pairs(stress, level):
    rng = random.Random(level)
    pairs = 1000 if stress else 100
    compared = sum(differences(rng, level)[0] for _ in range(pairs))
    assert compared > pairs * 100


def test_scores_that_collide_only_in_float32_are_ties_in_version_9_only():
    judgments = Judgments.from_dict({"q": {"a": 1}})
    run = {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
    column = columns_of(["recip_rank"], version=9)[0]
    assert theirs == 0.5
    assert column.measure.compute(rank_mapping(judgments, run, float32=True)) == [0.5]
    assert column.measure.compute(rank_mapping(judgments, run)) == [1.0]
