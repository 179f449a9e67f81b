"""Look at the licence of every installed package: permissive ones pass, others need a reason here.

    python tools/audit_licences.py

Ends with 1 and names the packages whose licence is not on the list, or that tell none.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}
# How licences are called where no expression is given: in classifiers and in free words.
NAMES = (
    (r"apache.*2\.0|apache software|^apache$", "Apache-2.0"),
    (r"bsd[ -]?2|2-clause bsd", "BSD-2-Clause"),
    (r"\bbsd\b", "BSD-3-Clause"),
    (r"^mit\b|\bmit license", "MIT"),
    (r"\bisc\b", "ISC"),
    (r"mpl[- ]2\.0|mozilla public", "MPL-2.0"),
    (r"python software foundation|^psf", "PSF-2.0"),
    (r"gnu lesser|lgpl", "LGPL"),
    (r"gnu (affero )?general|gpl", "GPL"),
)
# Licences that are not permissive, and packages that tell none, each with the reason why it may be installed.
EXCEPTIONS = {
    "axe-playwright-python": "tells none; MIT in its repository, carries axe-core (MPL-2.0); only for tests",
    "certifi": "MPL-2.0: a list of certificates, unchanged",
    "hypothesis": "MPL-2.0: only for tests, unchanged, not distributed",
    "pathspec": "MPL-2.0: a part of mkdocs, only for the documentation",
    "tqdm": "MPL-2.0 and MIT: brought along by tokenizers, unchanged",
}
_WORDS = 80  # characters; a longer field is the text of a licence


def names_of(package: Distribution) -> set[str]:
    """Licences that a package tells: its expression, else its classifiers, else its own words."""
    told = package.metadata
    expression = _first(told.get_all("License-Expression"))
    # A whole licence begins with its name.
    words = (_first(told.get_all("License")) or "").strip().partition("\n")[0]
    if expression is None and " AND " in words and len(words) < _WORDS:
        expression = words
    if expression is not None:
        return _choices(expression)
    classified = [
        line.rpartition("::")[2].strip() for line in told.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    said = classified or ([words] if 0 < len(words) < _WORDS and words != "UNKNOWN" else [])
    return {_known(one) for one in said}


def _first(lines: list[str] | None) -> str | None:
    return lines[0] if lines else None


def _choices(expression: str) -> set[str]:
    """Licences of an expression that bind: of those joined by OR, the first permissive one."""
    found = set()
    for part in re.sub(r"[()]", "", expression).split(" AND "):
        either = [one.split(" WITH ")[0].strip() for one in part.split(" OR ")]
        found.add(next((one for one in either if one in PERMISSIVE), either[0]))
    return found


def _known(words: str) -> str:
    return next((name for pattern, name in NAMES if re.search(pattern, words.lower())), words)


def main() -> int:
    """Name what is not permissive and has no reason here."""
    packages = {package.name: package for package in distributions()}
    wrong = []
    for name, package in sorted(packages.items(), key=lambda item: item[0].lower()):
        found = names_of(package)
        if (not found or not found <= PERMISSIVE) and name.lower() not in EXCEPTIONS:
            wrong.append(f"{name} {package.version}: {', '.join(sorted(found)) or 'tells no licence'}")
    print(f"{len(packages)} packages, {len(wrong)} without a permissive licence or a reason in tools/audit_licences.py")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
