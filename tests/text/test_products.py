"""Lengths and products of vectors: the same on every processor, and equal for equal rows."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from assay.text.products import cosines, products, unit_length

FEATURES = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR AVX2 FMA3"
OLDER = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": FEATURES, "PYTHONWARNINGS": "ignore"}
SCRIPT = """
import numpy as np
from assay.text.products import cosines, products, unit_length
rows = unit_length(np.random.default_rng(5).normal(size=(200, 256)).astype(np.float32))
print(rows.tobytes().hex())
print(*(repr(float(x)) for x in [*cosines(rows[:9], rows[9:]).ravel(), *products(rows, rows[3])]))
"""


def run_on(**processor: str) -> str:
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, env=os.environ | processor, check=True, capture_output=True, text=True).stdout


def test_an_older_processor_gives_the_same_vectors_and_cosines():
    assert run_on(**OLDER) == run_on()


def test_rows_have_length_one_and_zeros_stay():
    rows = np.array([[3, 4], [0, 0], [1e-3, 0]], dtype=np.float32)
    assert unit_length(rows) == pytest.approx(np.array([[0.6, 0.8], [0, 0], [1, 0]]))
    assert unit_length(rows).dtype == np.float32


def test_cosines_are_sums_of_products_to_nine_digits_and_never_beyond_one():
    rows = unit_length(np.random.default_rng(6).normal(size=(6, 40)).astype(np.float32))
    found = cosines(rows, rows)
    for one in range(6):
        for other in range(6):
            exact = math.fsum(float(x) * float(y) for x, y in zip(rows[one], rows[other], strict=True))
            assert found[one, other] == pytest.approx(min(exact, 1.0), abs=5.1e-10)
    assert found.max() <= 1


def test_equal_rows_have_equal_products_wherever_they_are():
    row = unit_length(np.random.default_rng(7).normal(size=(1, 256)).astype(np.float32))
    query = unit_length(np.random.default_rng(8).normal(size=(1, 256)).astype(np.float32))[0]
    assert len(set(products(np.repeat(row, 37, axis=0), query).tolist())) == 1
