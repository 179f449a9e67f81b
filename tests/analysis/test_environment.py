"""What is installed and reachable, told without a secret."""

from __future__ import annotations

import json

import assay
from assay.analysis import environment
from assay.testing import FakeLLM


def test_keys_are_told_by_name_and_never_by_value(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("ASSAY_BASE_URL", "http://user:hidden@127.0.0.1:9/v1?key=also-secret")
    code, out, err = call("env")
    assert (code, err) == (0, "")
    assert "OPENAI_API_KEY" in out and "ASSAY_BASE_URL" in out and assay.__version__ in out
    assert not any(secret in out for secret in ("very-secret", "hidden", "also-secret"))
    assert "127.0.0.1:9 does not answer" in out


def test_a_server_that_answers_is_reachable(monkeypatch):
    with FakeLLM() as server:
        monkeypatch.setenv("ASSAY_BASE_URL", server.url)
        assert assay.describe_environment().reachable


def copy_installed_from(monkeypatch, told: dict | None) -> None:
    class Copy:
        version, requires = "1", ["jinja2>=3; extra == 'report'", "nothing-like-it>=1; extra == 'report'"]

        def read_text(self, _name):
            return None if told is None else json.dumps(told)

    real = environment.distribution
    monkeypatch.setattr(environment, "distribution", lambda name: Copy() if name == "assay-eval" else real(name))


def test_the_command_that_installs_an_extra_fits_how_this_copy_was_installed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    copy_installed_from(monkeypatch, None)
    assert environment.install_command("text") == "pip install 'assay-eval[text]'"
    copy_installed_from(monkeypatch, {"url": f"file://{tmp_path}", "dir_info": {"editable": True}})
    assert environment.install_command("text", "report") == "pip install -e '.[text,report]'"
    copy_installed_from(monkeypatch, {"url": "file:///some%20where/assay", "dir_info": {}})
    assert environment.install_command("text") == "pip install '/some where/assay[text]'"


def test_a_missing_package_is_named_with_the_extra_it_belongs_to(monkeypatch):
    copy_installed_from(monkeypatch, None)
    found = {one.name: one for one in assay.describe_environment().extras}
    assert found["report"].missing == ("nothing-like-it",)
    assert found["report"].command == "pip install 'assay-eval[report]'"
    assert found["text"].missing == ()
