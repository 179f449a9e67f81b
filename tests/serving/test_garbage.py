"""What was there before a load is not gone through while a server is measured; a function has the pauses of its service."""

from __future__ import annotations

import gc
from contextlib import contextmanager

from assay.serving.functions import Function
from assay.serving.loops import run
from assay.serving.records import LoadPlan


class Server:
    label, takes, is_async = "server", "nothing", False

    def prepare(self, texts):
        return texts

    @contextmanager
    def open(self, clock=None):  # noqa: ARG002
        yield lambda call: call()


def test_only_servers_and_commands_are_measured_without_old_garbage():
    frozen = []
    calls = [lambda: frozen.append(gc.get_freeze_count())]
    run(LoadPlan(runs=2, warmup=0), Server(), calls)
    assert len(frozen) == 2 and min(frozen) > 1000
    assert gc.get_freeze_count() == 0
    frozen.clear()
    function = Function.of(calls[0])
    run(LoadPlan(runs=2, warmup=0), function, function.prepare([("tea", ())]))
    assert frozen == [0, 0]
