"""The register of stages: every built-in method is a factory whose keyword parameters are those of the TOML file."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from assay.errors import UnknownName, UsageError, clean, excerpt
from assay.messages import say
from assay.pipeline.importing import import_from
from assay.pipeline.sources import prices, source_digest, weights_digest
from assay.text.embeddings import NAMES, choose_embedder, name_fast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.llm import Client
    from assay.text.embeddings import Embedder

Stage = Literal["query", "chunk", "retrieve", "rerank", "generate", "app"]
STAGES: tuple[Stage, ...] = get_args(Stage)[:-1]  # of a pipeline; an application stands for all of them
_SECRET = {"key_env", "key_file"}
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "dict": (dict,), "None": (),
}  # fmt: skip


@dataclass(frozen=True)
class IdentifiedEmbedder:
    """An embedder with a unique identity, as its name alone is not unique."""

    embedder: Embedder
    identity: Mapping[str, str]
    prices: Sequence[float | None] = ()

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.embedder.name

    def embed(self, texts: Sequence[str]) -> Any:
        """One row per text."""
        return self.embedder.embed(texts)

    @property
    def pieces(self) -> Any:
        """How the embedder gives some rows at a time; None if it does not."""
        return getattr(self.embedder, "pieces", None)


def identity_of(embedder: Embedder) -> Any:
    """The identity of an embedder in the keys of finished work."""
    return dict(embedder.identity) if isinstance(embedder, IdentifiedEmbedder) else embedder.name


class Closable(Protocol):
    """A connection of a stage."""

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True)
class Setup:
    """What stages need beyond their parameters: where paths start, and clients of language models.

    `queries` has what is known about every query that has a text: its columns by name; `others` are connections to
    search engines, to be closed as well; `home` is the server that ASSAY_API_KEY goes to where [llm] names none.
    """

    folder: Path = Path()
    llm: Mapping[str, Any] = field(default_factory=dict)
    queries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    clients: dict[tuple[str, str, str], Client] = field(default_factory=dict)
    others: list[Closable] = field(default_factory=list)
    home: list[str] = field(default_factory=list)

    def path(self, place: str) -> Path:
        """A path of the TOML file."""
        return self.folder / Path(place).expanduser()

    def embedder(self, asked: str) -> Embedder:
        """An embedder: a name of ours, a folder with weights, module:callable, or MODEL@URL of a server."""
        asked = name_fast(asked)
        name, at, url = asked.rpartition("@")
        if at and url.startswith("http"):
            client = self.client(url, name)
            identity = {"model": client.model, "host": client.host}
            return IdentifiedEmbedder(choose_embedder(client, ()).embedder, identity, prices(client))
        if is_plugin(asked) and not self.path(asked).is_dir():
            thing = load(asked, self.folder)
            return IdentifiedEmbedder(
                choose_embedder(thing, ()).embedder, {"asked": asked, "source": source_digest(thing, asked)}
            )
        known = self.path(asked) if asked not in NAMES and self.path(asked).is_dir() else asked
        found = choose_embedder(known, ()).embedder
        return IdentifiedEmbedder(found, {"name": found.name, "weights": _weights(found)})

    def client(self, url: str = "", model: str = "", *, key_env: str = "", keyless: bool = False) -> Client:
        """A client of a language model: what the stage says, else what the table [llm] says.

        A key goes to the server that it is for: that of [llm], and ASSAY_API_KEY, to the server of [llm] alone, or
        without one to the first that a stage asks; a stage that asks another names its own. With `keyless`, a server
        that is not that of [llm] gets only the key that is named.
        """
        from assay.llm.hosts import is_same_server
        from assay.pipeline.metering import MeteredClient

        settings = dict(self.llm)
        known = str(settings.pop("url", "")), str(settings.pop("model", ""))
        place, name = url or known[0], model or known[1]
        if not known[0] and not key_env and _SECRET & settings.keys():
            raise UsageError(say("[llm] names a key but no url: it is not known to which server the key belongs"))
        if not place or not name:
            raise UsageError(say("a language model needs url and model: in this table, or in a table [llm]"))
        if key_env or not is_same_server(place, known[0]):
            settings = {key: value for key, value in settings.items() if key not in _SECRET}
        settings |= {"key_env": key_env} if key_env else {}
        which = place, name, str(settings.get("key_env", ""))
        if which not in self.clients:
            if not known[0] and not self.home and not keyless and not key_env:
                self.home.append(place)
            at_home = is_same_server(place, known[0] or next(iter(self.home), ""))
            self.clients[which] = MeteredClient(
                place, name, **self._options(settings), keyless=keyless and not at_home and not key_env,
                general_key=at_home,
            )  # fmt: skip
        return self.clients[which]

    def endpoint(self, url: str, name: str, params: Mapping[str, Any]) -> tuple[Client, dict[str, Any]]:
        """A client of a user's endpoint, and the parameters that are sent to it: all but the name of its key."""
        told = dict(params)
        variable = told.pop("key_env", "")
        if not isinstance(variable, str):
            raise UsageError(say("{value} is not a text", value=excerpt(variable)))
        return self.client(url, name, key_env=variable, keyless=True), told

    def _options(self, settings: dict[str, Any]) -> dict[str, Any]:
        from assay.llm import Limits, Patience

        limits = Limits(
            concurrency=settings.pop("concurrency", Limits().concurrency),
            requests_per_minute=settings.pop("rpm", None),
            tokens_per_minute=settings.pop("tpm", None),
        )
        patience = Patience(timeout=settings.pop("timeout", 60.0), backoff=settings.pop("backoff", 0.5))
        budget = settings.pop("max_cost", None)
        files: dict[str, Any] = {
            name: self.path(settings.pop(name)) for name in ("prices", "key_file", "cache") if name in settings
        }
        return {**settings, **files, "limits": limits, "patience": patience, "budget": budget}

    def close(self) -> None:
        """Close all connections."""
        for client in (*self.clients.values(), *self.others):
            client.close()


def _weights(embedder: Embedder) -> str:
    """Hash of the weights of an embedder of ours."""
    from assay.text.static import wordllama_folder

    if embedder.name != "wordllama":
        return weights_digest(embedder.folder)  # type: ignore[attr-defined]
    folder = wordllama_folder()
    return "" if folder is None else weights_digest(folder / "weights", folder / "tokenizers")


LLM_KEYS = (
    "url", "model", "key_env", "key_file", "prices", "max_cost", "currency", "rpm", "tpm", "concurrency", "timeout",
    "backoff", "cache",
)  # fmt: skip


def load(text: str, folder: Path) -> Any:
    """Import module:name; modules beside the TOML file are found too."""
    import importlib

    module, _, name = text.partition(":")
    try:
        with import_from(folder):
            found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(say("{name} cannot be imported: {error}", name=text, error=str(error))) from None
    except (Exception, SystemExit) as error:
        raise UsageError(
            say("{name} cannot be imported: {error}", name=text, error=clean(f"{type(error).__name__}: {error}"[:300]))
        ) from error
    return found


@dataclass(frozen=True)
class Factory:
    """A built-in method of a stage: what makes it, and what that takes."""

    stage: Stage
    name: str
    make: Callable[..., Any]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Parameters that a TOML file may give."""
        found = inspect.signature(self.make).parameters.values()
        return {one.name: one for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY}

    @property
    def text(self) -> str:
        """What the method does."""
        return inspect.getdoc(self.make) or ""


REGISTRY: dict[Stage, dict[str, Factory]] = {stage: {} for stage in get_args(Stage)}


def method(stage: Stage, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a factory: `make(setup, *, parameters)`."""

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        REGISTRY[stage][name] = Factory(stage, name, make)
        return make

    return register


def is_plugin(name: str) -> bool:
    """Return whether a method is a user's own: module:callable, or the address of an endpoint."""
    return ":" in name


def takes(stage: Stage, name: str, parameter: str) -> bool:
    """Return whether a method has a parameter; a user's own takes any."""
    return is_plugin(name) or parameter in find(stage, name).parameters


def find(stage: Stage, name: str) -> Factory:
    """Find a built-in method."""
    known = REGISTRY[stage]
    if name not in known:
        hint = say("the methods are {names}; or module:callable, or an http address", names=list(known))
        raise UnknownName(say("method of {stage}", stage=stage), name, known, hint=hint)
    return known[name]


def check(stage: Stage, name: str, given: Mapping[str, Any]) -> None:
    """Refuse parameters that a built-in method does not take, and values of the wrong type."""
    if is_plugin(name):
        return
    known = find(stage, name).parameters
    for key, value in given.items():
        if key not in known:
            raise UnknownName(
                say("parameter of {name}", name=name),
                key,
                known,
                hint=say("it takes {names}", names=list(known)) if known else say("it takes no parameters"),
            )
        words = [word.strip() for word in str(known[key].annotation).split("|")]
        types = tuple(kind for word in words for kind in _TYPES.get(word.partition("[")[0], (object,)))
        wrong = not isinstance(value, types) or (isinstance(value, bool) and bool not in types and object not in types)
        if wrong:
            raise UsageError(
                say(
                    "{name} = {value}: expected {kinds:or}",
                    name=key,
                    value=excerpt(value),
                    kinds=_kinds_of(words),
                )
            )
    lacking = [key for key, one in known.items() if one.default is inspect.Parameter.empty and key not in given]
    if lacking:
        raise UsageError(say("{method} needs {name}", method=name, name=lacking[0]))


def _kinds_of(words: list[str]) -> list[str]:
    names = {
        "int": say("a whole number"),
        "float": say("a number"),
        "str": say("a text"),
        "bool": say("true or false"),
        "dict": say("a table"),
    }
    return [names[word.partition("[")[0]] for word in words if word.partition("[")[0] in names]


def at_least(name: str, value: float, low: float) -> None:
    """Refuse a number that is too small."""
    if value < low:
        raise UsageError(say("{name} = {value:g}: expected {low:g} or more", name=name, value=value, low=low))
