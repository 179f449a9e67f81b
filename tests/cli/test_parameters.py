"""Values of options."""

from __future__ import annotations

import click
import pytest

from assay.cli.parameters import NUMBER, SHARE, Number
from commands import run_assay as run


@pytest.mark.parametrize(
    ("text", "value"), [("10%", 0.1), (" 2.5 % ", 0.025), ("-5%", -0.05), ("0.3", 0.3), ("80%", 0.8)]
)
def test_a_share_may_be_written_in_per_cent(text, value):
    assert SHARE.convert(text, None, None) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "text"),
    [(NUMBER, "10%"), (SHARE, "%"), (SHARE, "10%%"), (SHARE, "nan%"), (Number(least=0, most=1), "101%")],
)
def test_per_cent_that_means_nothing_is_refused(kind, text):
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_a_plan_is_the_same_for_a_lift_in_per_cent():
    shares = [
        run("ab", "plan", "--mean", "0.05", "--lift", lift, "--power", power, "--format", "csv")
        for lift, power in (("4%", "90%"), ("0.04", "0.9"))
    ]
    assert shares[0].stdout == shares[1].stdout != ""
