"""An ablation: a full system, the same without one part each, and whether the part is worth its place.

python examples/ablation.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import assay

DATA = (Path(__file__).parents[1] / "src" / "assay" / "demo" / "data").as_posix()
EXPERIMENT = f"""
[data]
documents = "{DATA}/documents.jsonl"
queries = "{DATA}/queries.jsonl"
judgments = "{DATA}/judgments.qrels"
[retrieve]
method = ["hybrid", "bm25", "vectors"]
embedder = "wordllama"
[evaluate]
protocol = "graded-012"
"""
VARIANTS = {"hybrid": "full system", "bm25": "without vectors", "vectors": "without words"}

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "ablation.toml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    found = assay.run_experiment(path).findings

comparison = assay.compare(found.systems, ["ndcg@10", "map@10", "p@1"], baseline="hybrid")
print(f"{'variant':<10}{'description':<18}" + "".join(f"{label:>10}" for label in comparison.measures) + "  verdict")
for name, description in VARIANTS.items():
    means = [comparison.means[label][comparison.systems.index(name)].estimate for label in comparison.measures]
    verdict = "" if name == "hybrid" else comparison.contrast(name, "ndcg@10").verdict
    print(f"{name:<10}{description:<18}" + "".join(f"{mean:>10.4f}" for mean in means) + f"  {verdict}")
