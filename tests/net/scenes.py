"""The table of command lines: scenes of lines that share a folder, so that what is slow is done once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from assay.text.segmentation import segmenter
from assay.text.static import wordllama_folder
from assay.text.weights import find_minilm
from net import making
from net.making import judge_by_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["SCENES", "Scene", "judge_by_texts"]

HERE = {
    "wordllama": lambda: wordllama_folder() is not None,
    "minilm": lambda: find_minilm() is not None,
    "rjieba": lambda: segmenter() == "rjieba",
    "bm25s": lambda: find_spec("bm25s") is not None and find_spec("semantic_text_splitter") is not None,
    "charts": lambda: find_spec("vl_convert") is not None and find_spec("altair") is not None,
}


@dataclass(frozen=True)
class Scene:
    """Command lines that are run one after the other in a folder that `prepare` fills.

    {lang} stands for both languages, {url} for a fake judge. `timed`: what is printed about time, memory and the front
    that hangs on them is not looked at. `quiet`: nor is running text. `exact`: every byte of the written files counts.
    `needs`: what must be installed.
    """

    name: str
    prepare: Callable[[Path], None]
    lines: tuple[str, ...]
    timed: bool = False
    quiet: bool = False
    exact: bool = False
    needs: tuple[str, ...] = ()

    def expand(self) -> list[str]:
        """The lines, those with {lang} in both languages."""
        return [
            line.replace("{lang}", lang)
            for line in self.lines
            for lang in (("en", "zh") if "{lang}" in line else ("en",))
        ]

    def skip_unless_possible(self) -> None:
        """Skip the test where something is not installed."""
        for need in self.needs:
            if not HERE[need]():
                pytest.skip(f"{need} is not installed")


def scene(name: str, prepare: Callable[[Path], None], text: str, *, needs: str = "", **more: bool) -> Scene:
    """A scene of one command line a line of text."""
    lines = tuple(line.strip() for line in text.strip().splitlines() if line.strip())
    return Scene(name, prepare, lines, needs=tuple(needs.split()), **more)


def kept_lines() -> Iterator[tuple[str, str]]:
    """For every result file of an earlier version: its name, and a command line of each command that reads such files.

    What a command refuses today is left out: a later version may well show it.
    """
    for path in sorted(making.RESULTS.glob("*.json")):
        data, name = json.loads(path.read_text(encoding="utf-8")), path.stem
        systems = data.get("systems", [])
        if systems or {"bench", "economics"} & set(data):
            yield "pages", f"report {name}.json -o {name}.html"
            yield "texts", f"report {name}.json -o {name}.txt --lang zh"
            yield "results", f"plot {name}.json"
        if systems:
            lang = "zh" if len(name) % 2 else "en"
            yield "results", f"gate {name}.json --fail-under {next(iter(systems[0]['metrics']))}=0.5 --lang {lang}"
            yield "results", f"diagnose {name}.json --lang {lang}"
        if len(systems) > 1:
            yield "results", f"compare {name}.json --lang {'en' if len(name) % 2 else 'zh'}"


def kept(kind: str) -> str:
    """The command lines of one kind."""
    return "\n".join(line for one, line in kept_lines() if one == kind)


THREE = "judgments.qrels keywords.run bm25.run ngrams.run"

SCENES = (
    scene("evaluate", making.odd_runs, f"""
        evaluate {THREE} --lang {{lang}}
        evaluate {THREE} --all
        evaluate {THREE} --protocol rag --all --lang {{lang}}
        evaluate {THREE} --protocol graded-012 --per-query
        evaluate judgments.qrels bm25.run --protocol rag --per-query --lang {{lang}}
        evaluate {THREE} --protocol rag --format csv
        evaluate {THREE} --protocol rerank --format markdown --lang {{lang}}
        evaluate {THREE} --protocol chunking --fold before --format latex
        evaluate {THREE} --protocol llm-graded
        evaluate {THREE} --protocol llm-graded --max-grade 10
        evaluate {THREE} --protocol trec9 --format csv
        evaluate {THREE} -m ndcg@10 -m recall@100 -m "average_precision(over='min_k')@5" -m err@10 -m rbp -m bpref --max-grade 2 --format json
        evaluate {THREE} -m ndcg@10 -m map --weights weights.csv -o weighted.json
        evaluate {THREE} -m ndcg@10 --weights weights.csv --lang {{lang}}
        evaluate judgments.qrels first=partial.run -m ndcg@10 -m p@5 --missing skip --lang {{lang}}
        evaluate judgments.qrels partial.run -m ndcg@10 -m p@5 --missing zero
        evaluate judgments.qrels keywords.run -m map --ties expected
        evaluate judgments.qrels keywords.run -m map --ties given --min-relevance 2 --undefined skip --lang {{lang}}
        evaluate judgments.qrels twice.run -m ndcg@10 --dedupe
        evaluate judgments.qrels twice.run -m ndcg@10
        evaluate judgments.qrels chunks.run -m ndcg@5 -m recall@5 --chunk-map {{doc}}#{{chunk}} --fold after --lang {{lang}}
        evaluate judgments.qrels chunks.run -m ndcg@5 -m recall@5 --chunk-map {{doc}}#{{chunk}} --fold before
        evaluate records.jsonl --protocol rag --lang {{lang}}
        evaluate records.jsonl --protocol rag -o records.json
        evaluate judgments.qrels bm25.run -m ndgc@10
        evaluate judgments.qrels nothing.run
    """),
    scene("evaluate-page", making.tea, f"""
        evaluate {THREE} --protocol graded-012 --report page-{{lang}}.html -o result.json --lang {{lang}}
        report result.json --queries queries.jsonl --documents documents.jsonl -o report-{{lang}}.html --lang {{lang}}
        report result.json -o report.md
        report result.json -o report.tex
        report result.json -o report-{{lang}}.txt --lang {{lang}}
    """, needs="charts"),
    scene("compare", making.odd_runs, f"""
        compare {THREE} -m ndcg@10 -m map --lang {{lang}}
        compare {THREE} -m ndcg@10 --all-pairs --lang {{lang}}
        compare {THREE} -m ndcg@10 -m p@5 --brief --baseline bm25 --lang {{lang}}
        compare {THREE} --protocol graded-012 --labels labels.csv --lang {{lang}}
        compare {THREE} -m ndcg@10 --weights weights.csv --lang {{lang}}
        compare {THREE} -m ndcg@10 -m map --family all --correction bonferroni --interval bca --resamples 2000 --seed 3
        compare {THREE} -m ndcg@10 --correction benjamini-hochberg --alpha 0.01 --smallest-effect 0.3
        compare {THREE} -m ndcg@10 --format csv
        compare {THREE} -m ndcg@10 --format markdown --lang {{lang}}
        compare {THREE} -m ndcg@10 --all-pairs --format latex
        compare judgments.qrels bm25.run ngrams.run --protocol rerank --worth 0.1 --lang {{lang}}
        compare {THREE} -m ndcg@10 -m map -o compare.json
        compare {THREE} -m ndcg@10 --all-pairs -o pairs.json
        compare {THREE} -m ndcg@10 --weights weights.csv --labels labels.csv -o labelled.json
        evaluate judgments.qrels bm25.run -m ndcg@10 -o old.json
        evaluate judgments.qrels ngrams.run -m ndcg@10 -o new.json
        compare old.json new.json --smallest-effect 0.02 --lang {{lang}}
        compare before=old.json after=new.json --format json
        compare judgments.qrels bm25.run
        compare judgments.qrels bm25.run ngrams.run --baseline none
    """),
    scene("compare-page", making.tea, f"""
        compare {THREE} -m ndcg@10 -m map --report page-{{lang}}.html -o compare.json --lang {{lang}}
        compare {THREE} -m ndcg@10 --all-pairs -o pairs.json
        report pairs.json -o pairs-{{lang}}.html --lang {{lang}}
        plot compare.json --lang {{lang}}
        plot compare.json --chart means-0-ndcg@10 -o means.svg
        plot compare.json --chart differences-0-0 -o differences-{{lang}}.svg --lang {{lang}}
        plot compare.json --chart scatter-0-0 -o scatter.png --scale 1
        plot compare.json --chart nothing -o nothing.svg
    """, needs="charts"),
    scene("sweep", making.odd_runs, """
        sweep judgments.qrels bm25.run ngrams.run --lang {lang}
        sweep judgments.qrels bm25.run ngrams.run --k 1-3,7 -m recall -m ndcg --recall-target 0.4 --alpha 0.1 --lang {lang}
        sweep judgments.qrels bm25.run --weights weights.csv --format csv
        sweep judgments.qrels bm25.run --format markdown
        sweep records.jsonl --protocol rag --recall-target 0.5 --lang {lang}
        sweep judgments.qrels bm25.run ngrams.run --k 1,3,5 -o sweep.json
        report sweep.json -o sweep-{lang}.html --lang {lang}
        sweep judgments.qrels bm25.run --k none
    """, needs="charts"),
    scene("diagnose", making.odd_runs, f"""
        diagnose judgments.qrels bm25.run ngrams.run --queries queries.jsonl --lang {{lang}}
        diagnose judgments.qrels ngrams.run --protocol rerank --measured latency_p95=420 --k 3 --lang {{lang}}
        diagnose judgments.qrels bm25.run --format markdown --lang {{lang}}
        diagnose judgments.qrels bm25.run --queries queries.jsonl --format csv
        diagnose judgments.qrels bm25.run --queries queries.jsonl -o diagnosis.json
        diagnose records.jsonl --lang {{lang}}
        evaluate {THREE} --protocol rag -o result.json
        diagnose result.json --queries queries.jsonl --lang {{lang}}
        diagnose judgments.qrels bm25.run --protocol graded-012
    """),
    scene("gate", making.odd_runs, f"""
        evaluate {THREE} -m ndcg@10 -m map -o result.json
        evaluate judgments.qrels ngrams.run -m ndcg@10 -m map -o old.json
        evaluate judgments.qrels bm25.run -m ndcg@10 -m map -o new.json
        gate new.json --fail-under ndcg@10=0.6 --lang {{lang}}
        gate result.json --fail-under ndcg@10=0.6 --fail-over map=0.45 --lang {{lang}}
        gate new.json --fail-under ndcg@10=0.6 --sure --lang {{lang}}
        gate new.json --fail-under ndcg@10=0.6 --sure --strict
        gate new.json --not-worse-than old.json -m ndcg@10 --lang {{lang}}
        gate old.json --not-worse-than new.json -m ndcg@10 -m map --margin 0.05 --alpha 0.1 --lang {{lang}}
        gate old.json --not-worse-than new.json -m ndcg@10 --margin 0.08
        gate old.json --not-worse-than new.json -m ndcg@10 --margin 0.08 --strict
        gate judgments.qrels ngrams.run --not-worse-than bm25.run -m ndcg@10 --format json
        gate new.json --rules gate.toml --junit gate.xml --format markdown
        gate old.json --rules gate.toml --junit failed.xml --lang zh
        gate judgments.qrels bm25.run --protocol rag --targets --lang {{lang}}
        gate judgments.qrels partial.run -m ndcg@10 --missing skip --fail-under ndcg@10=0.5 --min-coverage 0.9 --lang {{lang}}
        gate judgments.qrels partial.run -m ndcg@10 --missing skip --fail-under ndcg@10=0.5 --min-coverage 0.7
        gate result.json --fail-under ndcg@10=0.6 --format csv
        gate result.json --fail-under ndcg@10=0.3 -o gate.json
        gate new.json --fail-under recall@7=0.6
        gate new.json
    """),
    scene("answers", making.samples, """
        answers alpha.jsonl --method words --lang {lang}
        answers alpha.jsonl --method words -o alpha.json --per-sample evidence.jsonl
        answers beta.jsonl --method words -o beta.json
        answers both.jsonl --method words --lang {lang}
        answers alpha.jsonl beta.jsonl --method words -o both.json
        answers both.jsonl --method words --format csv
        answers both.jsonl --method words -m faithfulness -m token_f1 -m "faithfulness(method='contains')" --format markdown --lang {lang}
        answers alpha.jsonl --method words -m citation_precision -m citation_recall -m context_recall --format latex
        answers bare.jsonl --lang {lang}
        answers bare.jsonl -m faithfulness
        answers refusals.jsonl -m faithfulness --method words
        compare alpha.json beta.json -m faithfulness -m token_f1 --lang {lang}
        gate both.json --fail-under faithfulness=0.5
        gate both.json --fail-under faithfulness=0.5 --min-coverage 0.5 --lang {lang}
        diagnose alpha.json
        report both.json -o both-{lang}.html --lang {lang}
        report alpha.json -o alpha.md
    """, needs="rjieba charts"),
    scene("answers-embedding", making.samples, """
        answers alpha.jsonl --method embedding --embedder wordllama --lang {lang}
        answers alpha.jsonl --method s4 --embedder wordllama -m faithfulness -m context_recall -m answer_relevance
        answers alpha.jsonl --method embedding --embedder wordllama -o embedded.json
    """, needs="rjieba wordllama"),
    scene("answers-judge", making.samples, """
        answers alpha.jsonl --judge m --url {url} --prices prices.toml --max-cost 5 --dry-run --lang {lang}
        answers alpha.jsonl --judge m --url {url} --cache kept.sqlite --prices prices.toml --max-cost 5 -o judged.json --per-sample evidence.jsonl
        answers alpha.jsonl --judge m --url {url} --cache kept.sqlite --prices prices.toml --max-cost 5 --lang {lang}
        answers both.jsonl --judge m --url {url} --cache kept.sqlite -m faithfulness -m correctness -m answer_relevance --lang {lang}
        answers alpha.jsonl --judge m --url {url} --no-cache --prices prices.toml --max-cost 0.05 --method auto
        answers alpha.jsonl --judge m --url {url} --cache kept.sqlite --method s4 --mix --format csv
        report judged.json -o judged-{lang}.html --lang {lang}
        cache stats kept.sqlite --format json
        cache verify kept.sqlite
    """, needs="rjieba charts"),
    scene("judge", making.pairs, """
        judge --pairs pairs.jsonl --model m --url {url} --prices prices.toml --max-cost 5 --dry-run --lang {lang}
        judge --pairs pairs.jsonl --model m --url {url} --cache kept.sqlite --scale 0-2 --prices prices.toml --max-cost 5 -o judged.qrels --details details.jsonl
        judge --pairs pairs.jsonl --model m --url {url} --cache kept.sqlite --scale 0-2 -o again.qrels --lang {lang}
        judge bm25.run ngrams.run --queries queries.jsonl --documents documents.jsonl --depth 2 --known known.qrels --model m --url {url} --cache kept.sqlite --scale 0-2 -o pooled.qrels --lang {lang}
        judge --pairs pairs.jsonl --model m --model n --url {url} --cache kept.sqlite --repeats 2 --combine mean --text-lang zh -o mean.jsonl --details votes.jsonl
        judge --pairs pairs.jsonl --model m --url {url} --no-cache --prices prices.toml --max-cost 0.2 -o stopped.qrels
        calibrate judged.qrels judgments.qrels --lang {lang}
        calibrate pooled.qrels judgments.qrels --run bm25.run --run ngrams.run -m ndcg@10 --lang {lang}
        calibrate pooled.qrels judgments.qrels --run bm25.run --run ngrams.run -m ndcg@10 -m p@5 -o calibration.json
        calibrate judged.qrels judgments.qrels --format csv
        calibrate mean.jsonl judgments.qrels --votes votes.jsonl --format markdown
        calibrate known.qrels judgments.qrels
        evaluate pooled.qrels bm25.run -m ndcg@10 --lang {lang}
        evaluate pooled.qrels bm25.run -m ndcg@10 --calibration calibration.json --lang {lang}
        cache stats kept.sqlite
        cache stats kept.sqlite --format json
        cache stats kept.sqlite --format csv
        cache verify kept.sqlite
        cache prune kept.sqlite --model n
        cache prune kept.sqlite --failed
        cache stats kept.sqlite --format markdown
        cache stats
    """),
    scene("validate", making.samples, """
        validate labelled.jsonl --human human.faithfulness --positive 3 --method words --method overlap --method contains --score published.judge --resamples 200 --lang {lang}
        validate labelled.jsonl --human human.faithfulness --positive 3 --method words --method overlap --resamples 200 -o validation.json
        validate labelled.jsonl --human human.faithfulness --method overlap --threshold 0.5 --resamples 100 --format csv
        validate labelled.jsonl --human human.faithfulness --positive 2 --method overlap --resamples 100 --format markdown --lang {lang}
        validate labelled.jsonl --human nothing
    """, needs="rjieba"),
    scene("validate-embedding", making.samples, """
        validate labelled.jsonl --human human.faithfulness --positive 3 --method embedding --embedder wordllama --resamples 100
    """, needs="rjieba wordllama"),
    scene("run", making.experiment, """
        run small.toml -o out --cache cache --lang {lang}
        run small.toml -o out --cache cache --format json
        run small.toml -o held --cache cache --holdout 0.4 --lang {lang}
        run small.toml -o first --cache cache --limit 12 --only bm25 --brief --lang {lang}
        run small.toml -o out --cache cache --format csv
        run small.toml -o out --cache cache --format markdown
        run small.toml -o out --cache cache --format latex
        compare out/result.json -m ndcg@10 --lang {lang}
        gate out/result.json --fail-under ndcg@10=0.5 --fail-under faithfulness=0.9
        diagnose out/result.json --queries queries.jsonl
        report out/result.json -o page-{lang}.html --lang {lang}
        report held/result.json -o held.html
        run nothing.toml
    """, timed=True, needs="rjieba wordllama bm25s charts"),
    scene("run-kept", making.kept_experiment, """
        run experiment.toml --cache cache -o out --report page-{lang}.html --lang {lang}
        run experiment.toml --cache cache -o out --holdout 0.5 --format json
        report out/result.json -o report.md
        compare out/result.json -m ndcg@3 --baseline "whole + bm25" --brief
    """, needs="rjieba bm25s charts"),
    scene("run-judged", making.kept_judging, """
        run experiment.toml --cache cache -o out --lang {lang}
        answers samples.jsonl --judge judge --url http://127.0.0.1:18432/v1 --cache cache/answers.sqlite --prices prices.toml
        judge --pairs pairs.jsonl --model judge --url http://127.0.0.1:18432/v1 --cache cache/answers.sqlite --prices prices.toml --scale 0-3 -o judged.qrels
        judge --pairs pairs.jsonl --model judge --model second --url http://127.0.0.1:18432/v1 --cache cache/answers.sqlite --repeats 2 --text-lang zh -o twice.jsonl
        answers samples.jsonl --method embedding --embedder vectors@http://127.0.0.1:18432/v1 -m faithfulness
        cache stats cache/answers.sqlite --format json
        cache verify cache/answers.sqlite
        cache stats
        report out/result.json -o page.html --lang zh
        compare out/result.json --lang {lang}
        diagnose out/result.json
    """, needs="rjieba bm25s charts"),
    scene("run-variants", making.experiment, """
        run variants.toml -o out --cache cache --lang {lang}
        run spans.toml -o spans --cache cache --lang {lang}
        report out/result.json -o page-{lang}.html --lang {lang}
        report spans/result.json -o spans-{lang}.html --lang {lang}
    """, timed=True, needs="rjieba bm25s charts"),
    scene("demo", making.kept_demo, """
        demo --lang en
        demo --lang en --verbose
        demo --lang zh
        demo --lang zh --verbose
    """, timed=True, needs="minilm wordllama rjieba bm25s charts"),
    scene("rerank-eval", making.functions, """
        rerank-eval judgments.qrels bm25.run --queries queries.jsonl --documents documents.jsonl --reranker net_functions:rerank --depth 5 --lang {lang}
        rerank-eval judgments.qrels bm25.run --queries queries.jsonl --documents documents.jsonl --reranker net_functions:rerank --depth 10 -m ndcg@10 -m recall@5 -o rerank.json --run-output reranked.run
        rerank-eval judgments.qrels bm25.run --queries queries.jsonl --documents documents.jsonl --reranker net_functions:rerank -m ndcg@10 --format markdown
        report rerank.json -o rerank-{lang}.html --lang {lang}
        roi rerank.json --cost-per-query 0.001 --queries-per-day 1000 --revenue-per-query 0.01 --lang {lang}
        rerank-eval judgments.qrels bm25.run --queries queries.jsonl --documents documents.jsonl --reranker net_functions:nothing
    """, timed=True, needs="charts"),
    scene("rerank-eval-embedding", making.tea, """
        rerank-eval judgments.qrels bm25.run --queries queries.jsonl --documents documents.jsonl --reranker embedding --set embedder=wordllama --depth 5 -m ndcg@10
    """, timed=True, needs="wordllama"),
    scene("bench", making.functions, """
        bench net_functions:rerank --runs 8 --candidates 20,50 --reference --lang {lang}
        bench net_functions:search --runs 8 --threads 1,2 --lang {lang}
        bench net_functions:search --runs 8 --rate 500 --arrivals poisson
        bench net_functions:fail --runs 3
        bench net_functions:rerank --runs 8 --candidates 20 -o bench.json
        bench net_functions:search --runs 4 --format csv
        report bench.json -o bench-{lang}.html --lang {lang}
        cost --method own,machine=1.2,throughput=25 --method bge,price=0.02,tokens=300 --documents-per-query 20
        bench net_functions:nothing
    """, timed=True, quiet=True, needs="charts"),
    scene("ab", making.trial, """
        ab analyse users.csv -m clicks --control old --planned 280 --lang {lang}
        ab analyse users.csv -m clicks/impressions,bought --control old --guardrail latency_ms<=+5% --no-cuped -o ab.json
        ab analyse users.csv -m bought --control old --sequential --format csv
        ab analyse arms.csv --control A --days 14 --strict
        ab plan users.csv -m clicks --lift 0.05 --users-per-day 100 --lang {lang}
        ab plan --mean 0.05 --lift 0.04 --format json
        report ab.json -o ab-{lang}.html --lang {lang}
    """, needs="charts"),
    scene("interleaving", making.interleaved, """
        ab interleave old.run new.run --k 4 --propensities -o lists.jsonl --lang {lang}
        ab interleave old.run new.run --k 4 --method balanced --format csv
        ab analyse log.ndjson --control old --lang {lang}
        ab analyse log.ndjson --control new --strict --format csv
        ab analyse log.ndjson --control old -o preferred.json
        ab replay shown.csv --policy uniform --lang {lang}
        ab replay shown.csv --policy new.run --format csv
        ab replay shown.csv --policy old.run -o replayed.json
        report preferred.json replayed.json -o interleaving-{lang}.html --lang {lang}
    """, needs="charts"),
    scene("log-grades", making.event_log, """
        log judgments events.csv -o clicks.qrels --queries-out queries.jsonl --lang {lang}
        log judgments events.csv --model pbm --least 20 --lang {lang}
        log judgments events.csv --model ctr --cuts value --format csv
        log judgments events.csv --model pbm -o clicks.json
        evaluate clicks.qrels found.run -m ndcg@5 --lang {lang}
        log sample events.csv -n 4 -o sample.csv --lang {lang}
        log sample events.csv -n 4 --stratum no_click=0.3 --seed 2 --format json
        report clicks.json -o clicks-{lang}.html --lang {lang}
        log
        log metrics events.csv --lang {lang}
        log metrics events.csv --by day,variant -m ctr@5,any_click,abandonment(kind='bad') --lang {lang}
        log metrics events.csv --by variant -m pogo,query_latency(p=95) -o metrics.json
        log metrics events.csv --drop-bots --fold-variants --first-position 1 --format csv
        report metrics.json -o metrics-{lang}.html --lang {lang}
        log judgments events.csv --cuts 2,1
        log sample events.csv --stratum nothing
    """, needs="charts"),
    scene("set", making.tea, """
        set questions documents.jsonl -n 12 -o questions-{lang} --lang {lang}
        set questions documents.jsonl -n 12 --format csv
        set questions documents.jsonl -n 12 --seed 3 --format json
        set questions documents.jsonl -n 12 -o questions.json
        report questions.json -o page-{lang}.html --lang {lang}
        set
        set questions nothing.jsonl
    """, needs="charts"),
    scene("pool", making.tea, """
        set pool bm25.run ngrams.run --depth 3 --budget 8 --lang {lang}
        set pool bm25.run ngrams.run --depth 5 --method sample --budget 100 --format json
        set pool bm25.run ngrams.run --method decide --between bm25,ngrams -m ndcg@5 --budget 6 --lang {lang}
        set pool bm25.run ngrams.run --judgments judgments.qrels --method bandit --budget 5 --format csv
        set pool bm25.run nothing.run
    """),
    scene("run-app", making.functions, """
        run judgments.qrels --app net_functions:ask --queries queries.jsonl --dry-run --lang {lang}
        run judgments.qrels --app net_functions:ask --queries queries.jsonl --limit 12 -m ndcg@5,faithfulness -o app --lang {lang}
        answers --app net_functions:ask --queries queries.jsonl -m faithfulness --method words --format csv
        run judgments.qrels --app net_functions:nothing --queries queries.jsonl
    """, timed=True, needs="rjieba bm25s"),
    scene("money", making.odd_runs, f"""
        cost --lang {{lang}}
        cost --method cross-encoder,price=0.025,tokens=800 --method listwise,model=qwen-plus,tokens=1000,output_tokens=200 --reference --lang {{lang}}
        cost --method service,price_per_search=0.002 --method service-200,price_per_search=0.002,calls=2 --documents-per-query 200 --format csv
        cost costs.toml --lang {{lang}}
        cost costs.toml --format markdown
        cost --method cross-encoder,price=0.025,tokens=800 --reference -o cost.json
        compare {THREE} -m ndcg@10 -m map -o compare.json
        roi compare.json --costs cost.json --method cross-encoder --revenue-per-query 0.01 --system bm25 --lang {{lang}}
        roi compare.json --costs cost.json --method cross-encoder --revenue-per-query 0.01 --system bm25
        roi compare.json --system ngrams -m average_precision --cost-per-query 0.002 --fixed-per-day 40 --queries-per-day 5000 --revenue-per-query 0.01 --elasticity 0.5 --lang {{lang}}
        roi --before 0.72 --after 0.87 --cost-per-query 0.001 --queries-per-day 100000 --revenue-per-query 0.01 --format csv
        roi --gain 0.2 --cost-per-query 0.001 --queries-per-day 100000 --revenue-per-query 0.01 -o roi.json
        report cost.json -o cost-{{lang}}.html --lang {{lang}}
        report roi.json -o roi-{{lang}}.html --lang {{lang}}
        roi --gain 0.2 --revenue-per-query 0.01
        cost --method nothing
    """, needs="charts"),
    scene("fuse", making.odd_runs, """
        fuse bm25.run ngrams.run -o rrf.run
        fuse bm25.run ngrams.run keywords.run --method combmnz --norm z --depth 20 --top 20 -o mnz.run
        fuse bm25.run ngrams.run --method weighted --weight bm25=0.3 --weight ngrams=0.7 -o weighted.run
        fuse bm25.run ngrams.run --method condorcet --top 10 -o condorcet.run
        fuse bm25.run ngrams.run --method weighted --tune judgments.qrels -m ndcg@10 --train 0.5 --write-split split.tsv -o tuned.run
        fuse bm25.run ngrams.run --tune judgments.qrels --train-queries train.txt --protocol graded-012 -o tuned-rrf.run
        evaluate judgments.qrels rrf.run mnz.run weighted.run tuned.run -m ndcg@10 -m map
        fuse --list
        fuse bm25.run --method nothing -o x.run
    """),
    scene("convert", making.tea, """
        convert run bm25.run bm25.jsonl
        convert run bm25.run bm25.parquet
        convert run bm25.parquet back.run
        convert run bm25.jsonl bm25.csv
        convert run bm25.csv again.run
        convert judgments judgments.qrels judgments.tsv
        convert judgments judgments.tsv back.qrels
        convert judgments judgments.qrels judgments.json
        convert run judgments.qrels x.run
    """, exact=True),
    scene("check", making.odd_runs, """
        check judgments.qrels bm25.run keywords.run
        check judgments.qrels partial.run twice.run --format json
        check judgments.qrels bm25.run keywords.run --format csv
        check judgments.qrels bm25.run --format markdown
        check judgments.qrels bm25.run -o check.txt
        check broken.qrels bm25.run
        explain judgments.qrels bm25.run q01
        explain judgments.qrels bm25.run q02 -m "average_precision(over='min_k')@5"
        explain judgments.qrels keywords.run q10 -m recall@5 --protocol graded-012 --ties given
        explain judgments.qrels ngrams.run q17 -m err@10 --max-grade 2
        explain judgments.qrels ngrams.run q17 -m bpref --min-relevance 2
        explain judgments.qrels ngrams.run q17 -m faithfulness
        explain judgments.qrels bm25.run q99
    """),
    scene("reference", making.tea, """
        measures
        measures --format markdown
        measures ndcg
        measures P_10
        measures faithfulness
        measures nothing
        protocols
        protocols trec
        protocols graded-012
        protocols rag
        protocols rerank
        protocols chunking
        protocols answers
        protocols nothing
        models
        models get nothing
        help ndcg
        help rag
        help nothing
    """, quiet=True),
    scene("kept-pages", making.kept_results, kept("pages"), needs="charts"),
    scene("kept-texts", making.kept_results, kept("texts")),
    scene("kept-results", making.kept_results, kept("results")),
    scene("kept-inputs", making.kept_results, """
        roi compare.json --system bm25 --cost-per-query 0.001 --queries-per-day 1000 --revenue-per-query 0.01
        roi compare-lifts.json --costs cost.json --method cross-encoder --revenue-per-query 0.01
        roi rerank.json --costs cost-machine.json --method own --revenue-per-query 0.01
        roi evaluate.json --cost-per-query 0.001 --queries-per-day 1000 --revenue-per-query 0.01
        cost --method own,machine=1.2,bench=bench.json --documents-per-query 5
        cost --method own,machine=1.2,bench=bench-threads.json,threads=2
        cost --method own,machine=1.2,bench=bench-open.json
        evaluate judged.jsonl bm25.run -m ndcg@10 --calibration calibrate-votes.json
        evaluate judged.qrels bm25.run -m ndcg@10 --calibration calibrate-votes.json
        calibrate judged.jsonl judgments.qrels --votes judged-details.jsonl
        fuse bm25.run ngrams.run --tune judgments.qrels --train-queries split.tsv -o fused.run
        answers experiment-samples.jsonl --method words -m faithfulness -m token_f1
        evaluate judgments.qrels experiment-run.jsonl -m ndcg@3
        gate judgments.qrels bm25.run --not-worse-than evaluate.json -m ndcg@10 --protocol graded-012
        gate answers-systems.json --not-worse-than answers.json -m faithfulness
        compare evaluate.json evaluate-weighted.json
        compare answers.json answers-judged.json -m faithfulness
        report evaluate.json answers-systems.json bench-open.json cost.json experiment-judged.json -o all.txt --lang zh
        report evaluate.json --judgments judgments.qrels --run keywords.run --run bm25.run --queries queries.jsonl --documents documents.jsonl -o lists.txt
    """, needs="rjieba"),
    scene("trec_eval", making.odd_runs, """
        trec_eval judgments.qrels bm25.run
        trec_eval -q -m ndcg_cut.10 -m recip_rank judgments.qrels ngrams.run
        trec_eval -c -m all_trec judgments.qrels partial.run
        trec_eval -l 2 -M 10 -J -m map -m P.5,10 -m set judgments.qrels keywords.run
        trec_eval --compat 9 judgments.qrels bm25.run
        trec_eval -m nothing judgments.qrels bm25.run
    """),
)  # fmt: skip
