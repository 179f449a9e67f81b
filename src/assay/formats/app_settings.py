"""How an application is asked: what the table of a TOML file, or --set, says."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assay.errors import UnknownName, UsageError, excerpt
from assay.formats.decoding import decode
from assay.formats.files import read_toml
from assay.formats.replies import Shape
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHAT = "/chat/completions"


@dataclass(frozen=True)
class AppSettings:
    """Settings of an application.

    `verb`: POST, or GET with {question} in the address. `asks`, `body` and the paths from `answer` to `ms`: see
    `Shape`. `key_env` names the variable of a bearer key, `header_env` those of other headers. `concurrency` is how
    many questions are out at once, `timeout` the seconds of one, `backoff` those before a second attempt. `release`
    is any text that names the version of the application: what was answered is kept for it alone.
    """

    verb: str = "POST"
    asks: str = ""
    body: Any = None
    answer: str = ""
    contexts: str = ""
    ids: str = ""
    tokens: str = ""
    money: str = ""
    ms: str = ""
    model: str = ""
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    header_env: Mapping[str, str] = field(default_factory=dict)
    key_env: str = ""
    concurrency: int = 4
    timeout: float = 60.0
    backoff: float = 0.5
    release: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> AppSettings:
        """Check what a user gave."""
        usual, names = cls(), [one.name for one in fields(cls)]
        for name, value in given.items():
            if name not in names:
                hint = say("it takes {names}", names=names)
                raise UnknownName(say("setting of an application"), name, names, hint=hint)
            if name != "body" and not _is_like(value, getattr(usual, name)):
                kind = type(getattr(usual, name))
                raise UsageError(
                    say("{name} = {value}: expected {kinds:or}", name=name, value=excerpt(value), kinds=[_kind(kind)])
                )
        body = given.get("body")
        found = cls(**{**given, **({"body": _read_body(body)} if isinstance(body, str) else {})})
        if found.verb.upper() not in {"GET", "POST"}:
            raise UsageError(say("verb = {verb!r}: expected GET or POST", verb=found.verb))
        if found.concurrency < 1 or not 0 < found.timeout < float("inf") or found.backoff < 0:
            raise UsageError(say("concurrency must be 1 or more, and timeout above 0"))
        return found

    def shape(self, url: str = "") -> Shape:
        """What is sent and how replies are read."""
        try:
            chat = urlsplit(url).path.endswith(_CHAT)
        except ValueError:
            raise UsageError(say("the address cannot be read: expected http://HOST:PORT/PATH")) from None
        extra: dict[str, Any] = {"model": self.model} if self.model else {}
        extra |= {"stream": True} if self.stream else {}
        extra |= {"stream_options": {"include_usage": True}} if self.stream and chat else {}
        asks = self.asks or ("messages" if chat else "question")
        return Shape(self.body, asks, self.answer, self.contexts, self.ids, self.tokens, self.money, self.ms, extra)


def find_application(app: str, settings: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any], Path]:
    """The address or module:callable, all settings, and the folder of an application or of the TOML file that names it.

    A file has `app` beside the settings; what is given besides comes first.
    """
    if not app.endswith(".toml"):
        if ":" not in app:
            raise UsageError(say("{name} is no application: expected http://... or module:callable", name=excerpt(app)))
        return app, dict(settings or {}), Path()
    told = read_toml(app)
    place = told.pop("app", None)
    if not isinstance(place, str):
        raise UsageError(say('{path} names no application: app = "http://..."', path=excerpt(app)))
    return place, {**told, **(settings or {})}, Path(app).parent


def _is_like(value: Any, usual: Any) -> bool:
    if isinstance(value, bool) or isinstance(usual, bool):
        return isinstance(value, bool) and isinstance(usual, bool)
    return isinstance(value, (int, float) if isinstance(usual, float) else type(usual))


def _kind(kind: type) -> str:
    names = {int: say("a whole number"), float: say("a number"), bool: say("true or false"), dict: say("a table")}
    return names.get(kind, say("a text"))


def _read_body(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        raise UsageError(say("the body {text} is not JSON", text=excerpt(text))) from None
