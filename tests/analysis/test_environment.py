"""What is installed and reachable, told without a secret."""

from __future__ import annotations

import pytest

import assay
from assay.analysis import environment
from assay.installation import install_command
from assay.testing import FakeLLM


def test_keys_are_told_by_name_and_never_by_value(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("ASSAY_BASE_URL", "http://user:hidden@127.0.0.1:9/v1?key=also-secret")
    code, out, err = call("env")
    assert (code, err) == (0, "")
    assert "OPENAI_API_KEY" in out and "ASSAY_BASE_URL" in out and assay.__version__ in out
    assert not any(secret in out for secret in ("very-secret", "hidden", "also-secret"))
    assert "127.0.0.1:9 does not respond" in out


def test_a_server_that_answers_is_reachable(monkeypatch):
    with FakeLLM() as server:
        monkeypatch.setenv("ASSAY_BASE_URL", server.url)
        assert assay.describe_environment().reachable


@pytest.mark.parametrize("address", ["http://[.0.0.1:9", "http://127.0.0.1:port/v1"])
def test_an_address_that_cannot_be_read_is_none(call, monkeypatch, address):
    monkeypatch.setenv("ASSAY_BASE_URL", address)
    assert call("env")[0] == 0


def test_a_missing_package_is_named_with_the_extra_it_belongs_to(monkeypatch):
    class Copy:
        version, requires = "1", ["jinja2>=3; extra == 'report'", "nothing-like-it>=1; extra == 'report'"]

    real = environment.distribution
    monkeypatch.setattr(environment, "distribution", lambda name: Copy() if name == "assay-eval" else real(name))
    found = {one.name: one for one in assay.describe_environment().extras}
    assert found["report"].missing == ("nothing-like-it",)
    assert found["report"].command == install_command("report")
    assert found["text"].missing == ()
