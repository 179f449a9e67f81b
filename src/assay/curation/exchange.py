"""Sets of this house and of other tools, each made of the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay.curation.sets import DraftFolder, Provenance, read_set, refuse_existing, source_of, write_set
from assay.errors import UnknownName, UsageError
from assay.formats.other_sets import OTHER_SETS, SetContents, read_other_set
from assay.formats.other_sets_writing import write_other_set
from assay.formats.set_folders import is_set
from assay.messages import say

if TYPE_CHECKING:
    from assay.messages import Said

OWN = "set"
_FOLDERS = ("beir", "autorag")


def convert_set(
    place: str | os.PathLike[str], output: str | os.PathLike[str], to: str = OWN, *, split: str = "test"
) -> tuple[Said | str, ...]:
    """Write a set of this house or of another tool as `to`: set, beir, ragas, autorag, llamaindex or llamaindex-rag.

    What is read is recognised by its content. It returns what could not be kept, as sentences.

    >>> import assay
    >>> _ = assay.write_set("tea", queries=[{"query_id": "q", "text": "green tea"}], documents={"d": "Green tea."})
    >>> _ = assay.convert_set("tea", "tea-beir", "beir")
    >>> _ = assay.convert_set("tea-beir", "again")
    >>> assay.read_set("again").documents
    {'d': 'Green tea.'}
    """
    if to not in (OWN, *OTHER_SETS):
        raise UnknownName("to", to, [OWN, *OTHER_SETS])
    if is_set(place) and to == OWN:
        raise UsageError(say("{place} is such a set already: say what to make of it with --to", place=os.fspath(place)))
    if to in (OWN, *_FOLDERS):
        refuse_existing(output)
    contents = _read_own(place) if is_set(place) else read_other_set(place, split=split)
    if to == OWN:
        provenance = Provenance(contents.made_by, contents.models, (source_of(place),))
        write_set(
            output, queries=contents.queries, documents=contents.documents or None, judgments=contents.judgments,
            gold=contents.gold, provenance=provenance,
        )  # fmt: skip
        return contents.notes
    if to in _FOLDERS:
        with DraftFolder(Path(os.path.realpath(output))) as draft:
            lost = write_other_set(contents, draft, to)
    else:
        lost = write_other_set(contents, output, to)
    return (*contents.notes, *lost)


def _read_own(folder: str | os.PathLike[str]) -> SetContents:
    found = read_set(folder)
    manifest = found.manifest
    name = manifest.name_of("queries")
    lacking = [say(f"set.role.{role}") for role in ("nuggets", "labels") if found.has(role)]
    gold = [
        {"query_id": one.query_id, "doc_id": one.doc_id, "start": one.start, "end": one.end,
         "text": found.documents[one.doc_id][one.start : one.end], "grade": one.grade}
        for one in found.spans
    ]  # fmt: skip
    has_texts = found.has("documents") or found.has("hashes")
    return SetContents(
        found.rows("queries"), found.documents if has_texts else {}, found.judgments, gold,
        models=() if name is None else manifest.files[name].models,
        notes=(say("other_set.lost_files", roles=lacking),) if lacking else (),
    )  # fmt: skip
