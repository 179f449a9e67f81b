"""`python -m assay.testing`: a fake language model server in a process of its own, until its input ends."""

from __future__ import annotations

import argparse
import sys

from assay.testing import Answer, FakeLLM


def main() -> None:
    """Serve one answer; the base URL is printed when it is ready."""
    parser = argparse.ArgumentParser(prog="python -m assay.testing", description="A fake language model server.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--text", default="OK", help="what it says")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    with FakeLLM(Answer(options.text, delay=options.delay), port=options.port) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
