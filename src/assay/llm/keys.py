"""The key of a server: found in the environment or a file, checked, and never shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from assay.errors import UsageError, cause
from assay.messages import say

if TYPE_CHECKING:
    from assay.llm.hosts import Address

GENERAL = "ASSAY_API_KEY"
HIDDEN = "[key]"
_QUOTES = "\"'`"


class Key:
    """A secret that is hidden in repr, str, format, pickle and a traceback's locals."""

    __slots__ = ("_value",)

    def __init__(self, text: str, *, source: str = "") -> None:
        self._value = text.strip().removeprefix("\ufeff").strip()
        wrong = _wrong(self._value, source or say("the key"))
        if wrong:
            self._value = text = ""  # a traceback may show local variables
            raise UsageError(wrong)

    def reveal(self) -> str:
        """Give the key itself, for the header of a request."""
        return self._value

    def hide(self, text: str) -> str:
        """Remove the key from a text that came from outside: servers quote it in their errors."""
        for form in (self._value, self._value.replace("/", "\\/")):  # JSON may escape a slash
            if form in text:
                text = text.replace(form, HIDDEN)
        return text

    def __repr__(self) -> str:
        return "Key(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled: read it again where it is needed")


def _wrong(value: str, source: str) -> str:
    if not value:
        return say("{source} is empty", source=source)
    if value[0] in _QUOTES or value[-1] in _QUOTES:
        return say("{source} has quotation marks around it: remove them", source=source)
    if "\n" in value or "\r" in value:
        return say("{source} has more than one line: expected the key alone", source=source)
    if not value.isascii() or not value.isprintable() or " " in value:
        return say("{source} contains blanks or characters that no key has: copy it again", source=source)
    return ""


def wrap_key(key: str | Key | None) -> Key | UsageError | None:
    """Make a key of a text. A mistake is returned: raised here, it would carry the text in the caller's variables."""
    try:
        return Key(key) if isinstance(key, str) else key
    except UsageError as error:
        return UsageError(error.message)


def find_key(
    address: Address, *, key: Key | None = None, file: str | os.PathLike[str] | None = None, env: str = "",
    general: bool = True,
) -> Key | None:  # fmt: skip
    """Find the key of a server: as given, from a file, or from the environment.

    Without `env`, ASSAY_API_KEY is read, then the variable of the host's vendor (DASHSCOPE_API_KEY for DashScope,
    OPENAI_API_KEY for OpenAI ...): a vendor's key is never sent to another host. Without `general`, ASSAY_API_KEY is
    for another server. A server on this machine gets a key only when it is named.
    """
    if sum((key is not None, file is not None, bool(env))) > 1:
        raise UsageError(say("give the key one way: itself, a file, or the name of an environment variable"))
    if file is not None:
        key = Key(_read(Path(file)), source=say("the key file {path}", path=os.fspath(file)))
    elif env:
        if env not in os.environ:
            raise UsageError(say("the environment variable {name} is not set", name=env))
        key = Key(os.environ[env], source=say("the environment variable {name}", name=env))
    found = key or _from_environment(address, general=general)
    if found is not None and address.scheme == "http" and not address.is_private:
        raise UsageError(say("the key would be sent unencrypted to {host}: use https", host=address.host))
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(say("the key file {path} is not text", path=str(path))) from None
    except OSError as error:
        raise UsageError(
            say("the key file {path} cannot be read: {reason}", path=str(path), reason=cause(error))
        ) from None


def _from_environment(address: Address, *, general: bool) -> Key | None:
    vendor = address.vendor
    if address.is_loopback:
        return None  # a server on this machine asks for no key; one that does gets it by name
    for name in (GENERAL if general else "", vendor.key_env):
        if name and os.environ.get(name, "").strip():
            return Key(os.environ[name], source=say("the environment variable {name}", name=name))
    if vendor.key_env and not general:
        raise UsageError(
            say("no key for {host}: set {variable}, or name its own key", host=address.host, variable=vendor.key_env)
        )
    if vendor.key_env:
        raise UsageError(
            say(
                "no key for {host}: set {variable} or ASSAY_API_KEY, or name a file with it",
                host=address.host,
                variable=vendor.key_env,
            )
        )
    return None
