"""Files for monitoring systems, as Prometheus's own tool and a real Prometheus read them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.request import urlopen

import pytest

import assay
import parts
from assay.data.protocol import Target
from assay.formats.monitoring import alert_rules, dashboard_text, prometheus_text
from assay.results.watch import WatchMeasure, WatchValue

HOSTILE = 'a"b\\c{{ $labels }}\n<script>'


@pytest.fixture(scope="module")
def tools():
    """Prometheus and promtool; CI requires them."""
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        if os.environ.get("ASSAY_PROMETHEUS") == "required":
            pytest.fail("Prometheus is required here and is not installed")
        pytest.skip("Prometheus is not installed")


def hostile():
    """A watch whose texts try to break out of where they are written."""
    found = parts.watch()
    measure = WatchMeasure(HOSTILE, HOSTILE, "query", target=Target(HOSTILE, 0.5, below=True, advice=HOSTILE))
    last = replace(found.windows[-1], values=(*found.windows[-1].values, WatchValue(HOSTILE, parts.interval(0.75))))
    windows = (*found.windows[:-1], last)
    return replace(found, measures=(*found.measures, measure), windows=windows, protocol=HOSTILE)


@pytest.mark.parametrize("make", [parts.watch, hostile])
def test_promtool_finds_nothing_wrong(tools, tmp_path, make):
    """Metrics, rules, and the queries of the dashboard as recording rules."""
    found = make()
    text = prometheus_text(found)
    told = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout + told.stderr) == (0, "")
    panels = json.loads(dashboard_text(found))["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    recorded = "".join(
        f"      - record: a:b{i}\n        expr: {json.dumps(query)}\n" for i, query in enumerate(queries)
    )
    (tmp_path / "rules.yml").write_text(alert_rules(found))
    (tmp_path / "queries.yml").write_text("groups:\n  - name: q\n    rules:\n" + recorded)
    for name in ("rules.yml", "queries.yml"):
        told = subprocess.run(
            ["promtool", "check", "rules", tmp_path / name], capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stdout + told.stderr
        assert "duplicate" not in told.stdout + told.stderr
    assert len(queries) > 4 * len(found.watched)


def test_the_text_has_the_numbers_of_the_last_window():
    """The parts of `tests/parts.py`: latency is past its target in the last two of four windows."""
    text = prometheus_text(parts.watch())
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['assay_watch_value{measure="query_latency(p=95)"}'] == "900"
    assert lines['assay_watch_low{measure="query_latency(p=95)"}'] == "875"
    assert lines['assay_watch_windows_past{measure="query_latency(p=95)"}'] == "2"
    assert lines['assay_watch_alert{measure="query_latency(p=95)"}'] == "1"
    assert lines['assay_watch_alert{measure="any_click"}'] == "0"
    assert lines['assay_watch_target{measure="any_click",direction="at_least"}'] == "0.4"
    assert lines["assay_watch_alerts_total"] == "2"
    assert lines["assay_watch_window_end_seconds"] == "1772337600"
    assert lines['assay_watch_left_out_rows_total{reason="late"}'] == "2"


def test_what_is_written_is_the_same_in_every_language(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_LANG", "zh")
    names = {"prometheus": "a.prom", "rules": "a.yml", "dashboard": "a.json"}
    assay.write_monitoring(parts.watch(), **{kind: tmp_path / name for kind, name in names.items()})
    assert (tmp_path / "a.prom").read_text() == prometheus_text(parts.watch())
    assert (tmp_path / "a.yml").read_text().isascii()


class Endpoint(BaseHTTPRequestHandler):
    """Answers with the text of the watch that its server holds."""

    def do_GET(self):
        data = prometheus_text(self.server.found).encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def prometheus(tools, tmp_path):
    """A real Prometheus on loopback that scrapes an endpoint twice a second, with the generated rules."""
    found = parts.watch()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.found = replace(found, windows=found.windows[2:3])
    Thread(target=server.serve_forever, daemon=True).start()
    port = assay_port()
    (tmp_path / "rules.yml").write_text(alert_rules(found))
    target = f"127.0.0.1:{server.server_address[1]}"
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 500ms, scrape_timeout: 400ms, evaluation_interval: 500ms}\n"
        f"rule_files: [{tmp_path / 'rules.yml'}]\n"
        f"scrape_configs: [{{job_name: assay, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    words = ["prometheus", f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]  # fmt: skip
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            yield server, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            server.shutdown()
            server.server_close()


def assay_port():
    """A port that is free now."""
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ask(address, path):
    try:
        with urlopen(address + path, timeout=5) as reply:
            return json.load(reply)["data"]
    except OSError:
        return {}


def wait_for(condition, seconds=60):
    """Whatever the condition gives, as soon as that is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    pytest.fail("it did not happen in time")


def firing(address):
    return {
        (one["labels"]["alertname"], one["annotations"].get("summary", "").split(" is past")[0])
        for one in ask(address, "/api/v1/alerts").get("alerts", [])
        if one["state"] == "firing"
    }


def evaluations(address):
    """How often the rules were evaluated with the metrics of the endpoint."""
    query = "/api/v1/query?query=count_over_time(assay_watch_windows_total[1h])"
    found = ask(address, query).get("result", [])
    return int(found[0]["value"][1]) if found else 0


def test_a_real_prometheus_fires_the_alert_of_an_outage_and_none_in_a_quiet_period(prometheus):
    """Three windows of which one alone is past its target, then a row of two."""
    server, address = prometheus
    wait_for(lambda: evaluations(address) > 5)
    assert {name for name, _ in firing(address)} <= {"AssayWatchStopped"}  # its windows are of another year
    server.found = parts.watch()
    wait_for(lambda: ("AssayPastTarget", "query_latency(p=95)") in firing(address))
    assert ("AssayPastTarget", "any_click") not in firing(address)
