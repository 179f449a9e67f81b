"""Tuning a fusion: training queries decide, held-out queries are reported, and neither knows of the other."""

from __future__ import annotations

import random
import statistics

import pytest
from click.testing import CliRunner

import assay
from assay.analysis.tuning import _grid, _moves, split
from assay.cli import app
from assay.errors import InputError, UsageError
from assay.formats.splits import read_training, write_split

QUERIES = [f"q{i:02d}" for i in range(30)]


def collection(seed: int = 0, *, runs: int = 2, noise: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)):
    """Judgments, and runs that see the grades through more and more noise."""
    rng = random.Random(seed)
    docs = [f"d{i:02d}" for i in range(25)]
    judgments = {q: {d: rng.choice([0, 0, 0, 1, 2]) for d in docs} for q in QUERIES}
    found = {
        f"run{r}": {q: {d: judgments[q][d] + rng.gauss(0, noise[r]) for d in rng.sample(docs, 20)} for q in QUERIES}
        for r in range(runs)
    }
    return judgments, found


def precision(judgments, fused: dict[str, dict[str, float]], queries) -> float:
    """Precision at 5, from its definition."""
    tops = [sorted(fused.get(q, {}), key=lambda d: (fused[q][d], d), reverse=True)[:5] for q in queries]
    return statistics.fmean(sum(judgments[q][d] > 0 for d in top) / 5 for q, top in zip(queries, tops, strict=True))


def weighted(runs, weights) -> dict[str, dict[str, float]]:
    """Sum of min-max normalised scores; a run of weight 0 is left out."""
    fused: dict[str, dict[str, float]] = {}
    for run, weight in zip(runs.values(), weights, strict=True):
        for query, docs in run.items() if weight else ():
            low, high = min(docs.values()), max(docs.values())
            for doc, score in docs.items():
                mine = fused.setdefault(query, {})
                mine[doc] = mine.get(doc, 0.0) + weight * (score - low) / (high - low)
    return fused


@pytest.mark.parametrize(("runs", "steps", "tried"), [(2, 20, 21), (3, 10, 67)])
def test_two_or_three_runs_get_the_best_weights_of_the_grid(runs, steps, tried):
    judgments, given = collection(runs=runs)
    found = assay.tune_fusion(judgments, given, "P@5", train=0.5, seed=3)
    grid = [w for w in _grid(runs, steps) if abs(sum(w) - 1) < 1e-9]
    assert len(grid) == {2: 21, 3: 66}[runs]
    values = {w: precision(judgments, weighted(given, w), found.training_ids) for w in grid}
    assert found.tuned.training == pytest.approx(max(values.values()))
    chosen = tuple(found.weights.values())
    assert found.tuned.held_out == pytest.approx(precision(judgments, weighted(given, chosen), found.held_out_ids))
    equal = weighted(given, [1] * runs)
    assert found.equal.training == pytest.approx(precision(judgments, equal, found.training_ids))
    assert found.equal.held_out == pytest.approx(precision(judgments, equal, found.held_out_ids))
    assert found.tried == tried  # a third each is no point of a grid in tenths


def test_the_best_single_run_is_chosen_on_training_queries():
    judgments, runs = collection(4)
    found = assay.tune_fusion(judgments, runs, "P@5")
    values = {name: precision(judgments, run, found.training_ids) for name, run in runs.items()}
    best = max(values, key=values.get)
    assert found.single.label == f"best single run: {best}"
    assert found.single.training == pytest.approx(values[best])
    assert found.single.held_out == pytest.approx(precision(judgments, runs[best], found.held_out_ids))


@pytest.mark.parametrize("method", ["weighted", "rrf", "rbc", "log_isr", "borda", "condorcet"])
def test_held_out_judgments_and_lists_cannot_move_the_choice(method):
    judgments, runs = collection(5)
    first = assay.tune_fusion(judgments, runs, "P@5", method=method)
    held_out = set(first.held_out_ids)
    other, strange = collection(99)
    mixed = {q: other[q] if q in held_out else judgments[q] for q in QUERIES}
    lists = {n: {q: strange[n][q] if q in held_out else docs for q, docs in run.items()} for n, run in runs.items()}
    second = assay.tune_fusion(mixed, lists, "P@5", method=method)
    assert second.training_ids == first.training_ids
    assert second.fusion == first.fusion
    assert second.tuned.training == first.tuned.training
    assert second.tuned.held_out != first.tuned.held_out


@pytest.mark.parametrize("method", ["weighted", "rrf", "rbc", "borda"])
@pytest.mark.parametrize("runs", [2, 3, 4])
def test_training_values_are_never_below_equal_weights_or_a_single_run(method, runs):
    judgments, given = collection(6, runs=runs)
    found = assay.tune_fusion(judgments, given, "ndcg@5", method=method)
    assert found.tuned.training >= found.equal.training
    assert found.tuned.training >= found.single.training
    assert sum(found.weights.values()) == pytest.approx(1, abs=1e-3)


def test_a_run_that_knows_everything_gets_most_of_the_weight_also_among_many():
    judgments, runs = collection(7, runs=4, noise=(5.0, 0.0, 5.0, 5.0))
    found = assay.tune_fusion(judgments, runs, "ndcg@5")
    assert max(found.weights, key=found.weights.get) == "run1"
    assert found.weights["run1"] > 0.5
    assert found.tuned.held_out > found.equal.held_out


def test_equal_weights_are_kept_where_nothing_is_better():
    judgments, runs = collection(8, runs=1)
    twins = {"a": runs["run0"], "b": runs["run0"]}
    found = assay.tune_fusion(judgments, twins, "P@5")
    assert found.weights == {"a": 0.5, "b": 0.5}


def test_what_is_given_is_not_searched():
    judgments, runs = collection(9)
    fixed = assay.tune_fusion(judgments, runs, "P@5", method="rrf", k=7)
    assert fixed.fusion.params == {"k": 7}
    assert fixed.tried == 21
    held = assay.tune_fusion(judgments, runs, "P@5", method="rrf", weights=[0.9, 0.1])
    assert held.weights == {"run0": 0.9, "run1": 0.1}
    assert held.tried == 10
    free = assay.tune_fusion(judgments, runs, "P@5", method="rrf")
    assert free.tuned.training >= max(fixed.equal.training, free.equal.training)
    with pytest.raises(UsageError, match="weighted has nothing left to tune"):
        assay.tune_fusion(judgments, runs, "P@5", weights=[0.9, 0.1])


def test_the_fused_run_holds_all_queries_under_the_chosen_weights():
    judgments, runs = collection(10)
    runs["run0"]["unjudged"] = runs["run1"]["unjudged"] = {"d01": 1.0, "d02": 0.5}
    found = assay.tune_fusion(judgments, runs, "P@5", top=7)
    again = assay.fuse(runs, "weighted", weights=found.weights, top=7)
    assert found.run.frame.equals(again.frame)
    assert set(found.run.to_dict()) == {*QUERIES, "unjudged"}
    assert found.run.name == "weighted-tuned"


def test_judged_queries_that_no_run_has_count_as_0():
    judgments, runs = collection(11)
    lost = {name: {q: docs for q, docs in run.items() if q < "q20"} for name, run in runs.items()}
    found = assay.tune_fusion(judgments, lost, "P@5", train=QUERIES[:10])
    kept = assay.tune_fusion({q: judgments[q] for q in QUERIES[:20]}, lost, "P@5", train=QUERIES[:10])
    assert found.tuned.held_out == pytest.approx(kept.tuned.held_out / 2)
    none = assay.tune_fusion(judgments, lost, "P@5", train=QUERIES[:20])
    assert none.tuned.held_out == 0.0
    blind = assay.tune_fusion(judgments, lost, "P@5", train=QUERIES[20:])
    assert blind.weights == {"run0": 0.5, "run1": 0.5}


def test_the_split_is_the_seeds_and_nothing_elses():
    judgments, _ = collection()
    backwards = assay.Judgments.from_dict({q: judgments[q] for q in reversed(QUERIES)})
    straight = assay.Judgments.from_dict(judgments)
    first = split(straight, 0.4, 1)
    assert first == split(backwards, 0.4, 1)
    assert len(first[0]) == 12
    assert sorted([*first[0], *first[1]]) == QUERIES
    assert first[0] != split(straight, 0.4, 2)[0]
    assert split(straight, ["q05", "q03", "zz"])[0] == ("q03", "q05")
    assert split(straight, ["q05", "zz"])[2] == ("1 training query has no judgments and is not used, for example 'zz'",)


@pytest.mark.parametrize("share", [0, 1, -0.5, 0.001, 0.999, [], ["zz"], QUERIES, "q01"])
def test_splits_that_leave_nothing_are_refused(share):
    judgments, _ = collection()
    with pytest.raises((InputError, UsageError), match=r"train|split"):
        split(assay.Judgments.from_dict(judgments), share)


def test_one_run_after_the_other_keeps_the_proportions_of_the_rest():
    moves = _moves((0.2, 0.2, 0.6), 0)
    assert moves[0] == (0.2, 0.2, 0.6)
    assert (0.6, 0.1, 0.3) in moves
    assert (1.0, 0.0, 0.0) in moves
    assert len(moves) == 11
    assert (0.5, 0.25, 0.25) in _moves((1.0, 0.0, 0.0), 0)


def test_split_files_survive_a_round_trip(tmp_path):
    write_split(["b", "a 1"], ["c"], tmp_path / "s.tsv")
    assert (tmp_path / "s.tsv").read_text() == "query_id\tsplit\na 1\ttrain\nb\ttrain\nc\ttest\n"
    assert sorted(read_training(tmp_path / "s.tsv")) == ["a 1", "b"]
    (tmp_path / "ids").write_text("x\r\n\n y \n")
    assert read_training(tmp_path / "ids") == ["x", "y"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judgments, runs = collection(12)
    assay.write_judgments(assay.Judgments.from_dict(judgments), "qrels.txt")
    for name, run in runs.items():
        assay.write_run(assay.Run.from_dict(run, name), f"{name}.run")
    return tmp_path


def run(*words: str):
    result = CliRunner().invoke(app, ["fuse", *words], standalone_mode=False)
    assert result.exception is None, result.exception
    return result


def test_the_command_reports_held_out_values_and_says_which_are_no_result(folder):
    options = ["run0.run", "run1.run", "--by", "weighted", "--tune", "qrels.txt", "-m", "P@5"]
    got = run(*options, "--train", "0.4", "--seed", "2", "--write-split", "s.tsv", "-o", "f.run")
    found = assay.tune_fusion("qrels.txt", ["run0.run", "run1.run"], "P@5", train=0.4, seed=2)
    lines = got.stdout.splitlines()
    assert lines[0].split() == ["P@5", "of", "held", "out", "training"]
    for line, trial in zip(lines[2:5], (found.tuned, found.equal, found.single), strict=True):
        assert line.startswith(trial.label)
        assert line.split()[-2:] == [f"{trial.held_out:.4f}", f"{trial.training:.4f}"]
    weights = ", ".join(f"{name} {weight:g}" for name, weight in found.weights.items())
    assert f"chosen: weighted (norm=min-max), weights {weights}\n" in got.stdout
    assert "the result is the value on 18 queries held out, protocol trec; 12 queries were used to choose" in got.stdout
    assert assay.read_run("f.run").to_dict() == found.run.to_dict()
    assert read_training("s.tsv") == list(found.training_ids)
    again = run(*options, "--train-queries", "s.tsv")
    assert again.stdout == got.stdout


def test_tuning_that_gains_nothing_is_said_so(folder):
    got = run("run0.run", "twin=run0.run", "--by", "weighted", "--tune", "qrels.txt")
    assert "tuning gained nothing on the held-out queries" in got.stdout
