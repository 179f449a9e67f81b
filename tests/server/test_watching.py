"""A watch that listens: traces that were acknowledged are counted, and Prometheus reads what was found."""

from __future__ import annotations

import json
import shutil
import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import assay
from assay.errors import UsageError
from assay.server.watching import WatchEndpoint, read_address
from otlp import rag, request


def send(origin, *spans):
    data = json.dumps(request(*spans)).encode()
    asked = Request(f"{origin}/v1/traces", data, {"content-type": "application/json"})
    with urlopen(asked, timeout=10) as reply:
        return reply.status


def test_traces_that_were_acknowledged_are_in_the_windows_and_in_the_metrics(tmp_path):
    with WatchEndpoint.at("0", tmp_path / "received", salt="long enough") as endpoint:
        for number in range(1, 21):
            assert send(endpoint.origin, *rag(number, begin=number * 10.0, user=f"u{number}")) == 200
        found = assay.watch_log(tmp_path / "received", state=tmp_path / "state", at_most={"error_rate": 0.1})
        endpoint.show(found)
        with urlopen(f"{endpoint.origin}/metrics", timeout=10) as reply:
            text = reply.read().decode()
    assert [one.requests for one in found.windows] == [20]
    assert "assay_watch_requests_total 20\n" in text
    assert 'assay_watch_alert{measure="error_rate"} 0\n' in text
    kept = "".join(path.read_text() for path in (tmp_path / "received").iterdir())
    assert '"u7"' not in kept
    if shutil.which("promtool"):
        told = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert (told.returncode, told.stdout) == (0, "")


def test_an_address_that_is_misspelt_is_told_the_right_ones(tmp_path):
    """Neither of a token that nobody was shown, nor of a page that sent nothing."""
    with WatchEndpoint.at("127.0.0.1:0", tmp_path / "received") as endpoint:
        for path, data in (("/v1/trace", b"{}"), ("/", None)):
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(endpoint.origin + path, data, {"content-type": "application/json"}), timeout=10)
            assert refused.value.code == 404
            assert b"/metrics, /v1/logs and /v1/traces" in refused.value.read()
            refused.value.close()


def test_pages_of_others_and_other_names_are_refused(tmp_path):
    with WatchEndpoint.at("127.0.0.1:0", tmp_path / "received") as endpoint:
        for headers, status in (({"origin": "http://evil.example"}, 403), ({"host": "evil.example"}, 421)):
            with pytest.raises(HTTPError) as refused:
                urlopen(Request(f"{endpoint.origin}/metrics", headers=headers), timeout=10)
            assert refused.value.code == status
            refused.value.close()


def test_addresses(tmp_path):
    assert read_address("0.0.0.0:4318") == ("0.0.0.0", 4318)
    for wrong in ("", "here", "127.0.0.1:", "1.2.3.4:99999"):
        with pytest.raises(UsageError, match="PORT"):
            read_address(wrong)
    with pytest.raises(UsageError, match="password"):
        WatchEndpoint.at("0.0.0.0:0", tmp_path / "received")
