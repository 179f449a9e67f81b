"""The end of the demo: a simulated event log of two of its runs, and the decision of their A/B test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.demo.log import CONTROL, GUARDRAIL, MEASURE, simulate_log
from assay.formats.files import write_atomically
from assay.formats.writing import write_result
from assay.online.ab import ab_test

if TYPE_CHECKING:
    from pathlib import Path

    from assay.demo import Bundle
    from assay.results.ab_test import ABTest

LOG, TEST = "log.jsonl", "ab.json"


def decide_demo(place: Bundle, folder: Path, command: str = "") -> tuple[ABTest, float]:
    """Write a simulated log and the decision from it into a folder; the decision, and the true lift."""
    simulation = simulate_log(place)
    write_atomically(folder / LOG, "".join(f"{line}\n" for line in simulation.lines()))
    found = ab_test(folder / LOG, MEASURE, control=CONTROL, guardrails=[GUARDRAIL])
    write_result(found, folder / TEST, command=command)
    return found, simulation.lift
