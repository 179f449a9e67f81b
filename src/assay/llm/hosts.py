"""What is known about the hosts that serve language models, and how an address is read."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

from assay.errors import UsageError, excerpt
from assay.messages import say

# How thinking is switched: by a field of DashScope's, of the chat template (vLLM, llama.cpp), of DeepSeek's and Z.ai's.
Switch = Literal["enable_thinking", "chat_template_kwargs", "thinking", "none"]


@dataclass(frozen=True)
class Vendor:
    """A company's hosts and what is peculiar to them."""

    name: str
    hosts: tuple[str, ...] = ()
    key_env: str = ""
    top_logprobs: int = 20
    thinking: Switch = "none"
    # DashScope answers `insufficient_quota` when the tokens of a minute are used up, and recovers within a minute.
    quota_is_throttling: bool = False


VENDORS = (
    Vendor(
        "dashscope",
        ("dashscope*.aliyuncs.com", "*.dashscope.aliyuncs.com", "*.maas.aliyuncs.com"),
        "DASHSCOPE_API_KEY",
        top_logprobs=5,
        thinking="enable_thinking",
        quota_is_throttling=True,
    ),
    Vendor("openai", ("api.openai.com", "*.api.openai.com"), "OPENAI_API_KEY"),
    Vendor("deepseek", ("api.deepseek.com",), "DEEPSEEK_API_KEY", thinking="thinking"),
    Vendor("moonshot", ("api.moonshot.cn", "api.moonshot.ai"), "MOONSHOT_API_KEY"),
    Vendor("zai", ("api.z.ai",), "ZAI_API_KEY", thinking="thinking"),
    Vendor("mistral", ("api.mistral.ai",), "MISTRAL_API_KEY"),
    Vendor("google", ("generativelanguage.googleapis.com",), "GEMINI_API_KEY"),
)
LOCAL = Vendor("local", thinking="chat_template_kwargs")
OTHER = Vendor("", thinking="chat_template_kwargs")


@dataclass(frozen=True)
class Address:
    """Where a server is: scheme, host, port and the path that comes before /chat/completions."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, base_url: str) -> Address:
        """Read a base URL such as https://dashscope.aliyuncs.com/compatible-mode/v1."""
        example = say("expected something like https://api.openai.com/v1 or http://127.0.0.1:11434/v1")
        try:
            parts = urlsplit(base_url.strip())
            port = parts.port
        except ValueError:
            raise UsageError(
                say("base URL {url} cannot be read: {example}", url=excerpt(base_url), example=example)
            ) from None
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            # Not quoted in the message: it may contain a secret.
            raise UsageError(
                say("the base URL must not contain a user, a password or a query: {example}", example=example)
            )
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(say("base URL {url} is not an address: {example}", url=excerpt(base_url), example=example))
        path = (
            parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/embeddings").removesuffix("/rerank")
        )
        return cls(parts.scheme, parts.hostname.lower(), port or (443 if parts.scheme == "https" else 80), path)

    @property
    def label(self) -> str:
        """Host, port and path, which identify a server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}{self.path}"

    @property
    def url(self) -> str:
        """Write the address again."""
        return f"{self.scheme}://{self.label}"

    @property
    def is_loopback(self) -> bool:
        """Return whether the server is this machine."""
        return is_loopback(self.host)

    @property
    def is_private(self) -> bool:
        """Return whether the server is in a private network, as far as its name shows."""
        try:
            return ipaddress.ip_address(self.host).is_private
        except ValueError:
            return is_loopback(self.host) or "." not in self.host or self.host.endswith((".local", ".internal", ".lan"))

    @cached_property
    def vendor(self) -> Vendor:
        """What is known about the host."""
        if self.is_loopback:
            return LOCAL
        return next((vendor for vendor in VENDORS if any(fnmatch(self.host, p) for p in vendor.hosts)), OTHER)


def is_same_server(one: str, other: str) -> bool:
    """Return whether two addresses are of one server: scheme, host and port. An empty one is of none."""
    if not other:
        return False
    mine, theirs = Address.of(one), Address.of(other)
    return (mine.scheme, mine.host, mine.port) == (theirs.scheme, theirs.host, theirs.port)


def is_loopback(host: str) -> bool:
    """Return whether a host name or number means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
