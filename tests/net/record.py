"""Write golden outcomes again: `cd tests && python -m net.record [SCENE | SCENE:OUTPUT ...]`.

Without names all of them; with SCENE:OUTPUT (such as sweep:sweep-en.html) that output alone, and what else changed stays.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from net.playing import play
from net.scenes import SCENES

GOLDEN = Path(__file__).parent / "golden"


def read(name: str) -> dict[str, dict]:
    """The golden outcomes of a scene by their command lines."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, outcomes: dict[str, dict]) -> None:
    """Keep the outcomes of a scene."""
    text = json.dumps(outcomes, ensure_ascii=False, indent=1) + "\n"
    (GOLDEN / f"{name}.json").write_text(text, encoding="utf-8")
    sys.stdout.write(f"{name}: {len(outcomes)} command lines, {len(text.encode()):,} bytes\n")


def update(old: dict[str, dict], now: dict[str, dict], outputs: set[str]) -> dict[str, dict]:
    """Take these outputs from the present outcomes and leave all others as they were."""
    return {
        line: {name: now[line].get(name, one) if name in outputs else one for name, one in outcome.items()}
        for line, outcome in old.items()
    }


def main() -> None:
    """Record all scenes, or those that are named."""
    asked = [name.partition(":")[::2] for name in sys.argv[1:]]
    for scene in SCENES:
        outputs = {output for name, output in asked if name == scene.name}
        if asked and not outputs:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = play(scene, Path(folder).resolve())
        write(scene.name, found if outputs <= {""} else update(read(scene.name), found, outputs))


if __name__ == "__main__":
    main()
