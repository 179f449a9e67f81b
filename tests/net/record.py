"""Write the golden outcomes again: `cd tests && python -m net.record [SCENE ...]`."""

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


def main() -> None:
    """Record all scenes, or those that are named."""
    for scene in SCENES:
        if not sys.argv[1:] or scene.name in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                found = play(scene, Path(folder).resolve())
            text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
            (GOLDEN / f"{scene.name}.json").write_text(text, encoding="utf-8")
            sys.stdout.write(f"{scene.name}: {len(found)} command lines, {len(text.encode()):,} bytes\n")


if __name__ == "__main__":
    main()
