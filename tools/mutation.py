"""Mutation testing of `stats` and `measures`: a seeded sample of mutants, how many the tests notice.

    pip install cosmic-ray
    python tools/mutation.py --sample 400 --seed 0 --workers 2

Each mutant is tested in a copy of the project by the tests of the package it belongs to, those of its module first.
Mutants of annotations are left out: nothing evaluates them, so no test could notice.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "stats": ["tests/stats/test_*.py", "tests/analysis/test_compare.py"],
    "measures": [
        "tests/measures/test_*.py", "tests/data/test_*.py", "tests/analysis/test_evaluate.py",
        "tests/analysis/test_protocols.py", "tests/analysis/test_trec_eval.py", "tests/cli/test_commands.py",
        "tests/test_docs.py", "tests/test_public_api.py",
    ],
}  # fmt: skip
_PATIENCE = 1200  # seconds; a mutant that needs longer runs for ever, and that is noticed


def mutants() -> list[dict[str, Any]]:
    """List all mutants of the packages, as cosmic-ray finds them."""
    found = []
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            config, session = Path(folder) / "config.toml", Path(folder) / "session.sqlite"
            config.write_text(
                f'[cosmic-ray]\nmodule-path = "src/assay/{package}"\ntimeout = 60\nexcluded-modules = []\n'
                'test-command = "true"\n[cosmic-ray.distributor]\nname = "local"\n'
            )
            tool = [sys.executable, "-m", "cosmic_ray.cli"]
            subprocess.run([*tool, "init", str(config), str(session)], cwd=ROOT, check=True, capture_output=True)
            dump = subprocess.run([*tool, "dump", str(session)], cwd=ROOT, check=True, capture_output=True, text=True)
        listed = [mutation for line in dump.stdout.splitlines() for mutation in json.loads(line)[0]["mutations"]]
        found += [{"package": package, **mutation} for mutation in listed if not in_annotation(mutation)]
    return found


@cache
def annotation_places(path: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the annotations of a module stand."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    parts: list[Any] = []
    for node in ast.walk(tree):
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
    return [((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in parts if isinstance(p, ast.expr)]  # type: ignore[misc]


def in_annotation(mutant: dict[str, Any]) -> bool:
    """Tell whether a mutant changes an annotation only."""
    at = tuple(mutant["start_pos"])
    return any(start <= at <= end for start, end in annotation_places(mutant["module_path"]))


def survives(mutant: dict[str, Any], copy: Path) -> bool:
    """Apply one mutant to a copy of the project and run the tests on it."""
    path = copy / mutant["module_path"]
    original = path.read_text(encoding="utf-8")
    apply = [sys.executable, "-m", "cosmic_ray.cli", "apply", mutant["module_path"], mutant["operator_name"],
             str(mutant["occurrence"])]  # fmt: skip
    try:
        subprocess.run(apply, cwd=copy, check=True, capture_output=True)
        files = [str(f) for pattern in PACKAGES[mutant["package"]] for f in sorted(copy.glob(pattern))]
        files.sort(key=lambda name: path.stem not in name)
        environment = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
        run = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
        done = subprocess.run(run, cwd=copy, env=environment, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        print(f"never ended: {mutant['module_path']}:{mutant['start_pos'][0]} {mutant['operator_name']}", flush=True)
        return False
    finally:
        path.write_text(original, encoding="utf-8")
    return done.returncode == 0


def main() -> None:
    """Sample, test, print the survivors and the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=list(PACKAGES), help="test those of the sample that belong to one package")
    options = parser.parse_args()
    everything = mutants()
    chosen = random.Random(options.seed).sample(everything, min(options.sample, len(everything)))  # noqa: S311
    chosen = [mutant for mutant in chosen if options.only in {None, mutant["package"]}]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(options.workers) as pool:
        copies = [Path(place) / f"copy{i}" for i in range(options.workers)]
        for copy in copies:
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".mypy_cache"))
        free = list(copies)

        def work(mutant: dict[str, Any]) -> bool:
            copy = free.pop()
            try:
                return survives(mutant, copy)
            finally:
                free.append(copy)

        alive = 0
        for number, (mutant, lives) in enumerate(zip(chosen, pool.map(work, chosen), strict=True), 1):
            alive += lives
            if lives:
                at = f"{mutant['module_path']}:{mutant['start_pos'][0]}"
                print(f"survived: {at} {mutant['operator_name']} #{mutant['occurrence']}", flush=True)
            if not number % 20:
                print(f"{number}/{len(chosen)}: {number - alive} noticed", flush=True)
    print(f"{len(chosen)} of {len(everything)} mutants: {len(chosen) - alive} noticed ({1 - alive / len(chosen):.1%})")


if __name__ == "__main__":
    main()
