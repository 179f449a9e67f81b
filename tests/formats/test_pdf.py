"""PDF files are read in a process of its own, and each of its ends is told for what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import InputError
from assay.formats import containment
from assay.formats import pdf as reading
from assay.pipeline.documents import read_collection
from fuzzing import pdf

HERE = Path(__file__).parents[1]


@pytest.fixture
def contain(monkeypatch):
    """A process that runs a function of contained.py."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    made = []

    def contain(name, megabytes=1024):
        made.append(containment.Contained(f"contained:{name}", megabytes))
        return made[-1]

    yield contain
    for child in made:
        child.close()


def test_a_process_that_loops_is_stopped_and_another_one_answers(contain):
    child = contain("loop")
    with pytest.raises(containment.Stopped):
        child.ask(b"x", 1)
    assert child.ask(b"end", 30) == b"end"
    assert child.close() == 0


ENDS = {
    "loop": (containment.Stopped, "the PDF took more than 1 s to read .*ASSAY_MAX_PDF_SECONDS above 1"),
    "sleep": (containment.Stopped, "the PDF took more than 1 s to read"),
    "fill": (containment.OutOfMemory, "the PDF needs more than 900 MB to be read .*ASSAY_MAX_PDF_MB above 900"),
    "missing": (containment.Refused, "the PDF cannot be read: AttributeError"),
    "fail": (containment.Refused, "the PDF cannot be read: ValueError: not today"),
    "abort": (containment.Died, r"ended without an answer \(SIGABRT\) \(save the file as PDF again"),
    "crash": (containment.Died, r"ended without an answer \(SIGSEGV\)"),
    "die": (containment.Died, r"ended without an answer \(SIGKILL\) \(systems end processes so when memory runs out"),
    "leave": (containment.Died, r"ended without an answer \(exit code 3\)"),
}


@pytest.mark.parametrize(("name", "kind", "told"), [(name, *end) for name, end in ENDS.items()], ids=ENDS)
def test_every_end_of_the_process_is_told_for_what_it_is(contain, monkeypatch, tmp_path, name, kind, told):
    child = contain(name)
    with pytest.raises(containment.Refused) as caught:
        child.ask(b"x", 1)
    assert caught.type is kind
    monkeypatch.setattr(reading, "child_for", lambda function, megabytes: contain(name, megabytes))
    monkeypatch.setenv("ASSAY_MAX_PDF_SECONDS", "1")
    monkeypatch.setenv("ASSAY_MAX_PDF_MB", "900")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    with pytest.raises(InputError, match=rf"a\.pdf: .*{told}"):
        reading.read_pdf(tmp_path / "a.pdf")


def test_memory_that_is_too_small_for_the_reader_itself_is_told_as_such(tmp_path, monkeypatch):
    pytest.importorskip("pypdf")
    monkeypatch.setenv("ASSAY_MAX_PDF_MB", "24")
    (tmp_path / "a.pdf").write_bytes(pdf("Tea"))
    with pytest.raises(InputError, match="needs more than 24 MB"):
        reading.read_pdf(tmp_path / "a.pdf")


def test_a_small_file_gets_less_than_a_large_one(tmp_path, monkeypatch):
    """3 s and 400 MB for each megabyte, where a bomb of 130 kB would take 6 s, and another 1 GB; what is set holds for all."""
    given = []

    class Child:
        def __init__(self, megabytes):
            self.megabytes = megabytes

        def ask(self, data, seconds):
            given.append((len(data), seconds, self.megabytes))
            return b"text"

    monkeypatch.setattr(reading, "child_for", lambda function, megabytes: Child(megabytes))
    for size in (1 << 20, (1 << 20) + 1, 30 << 20):
        (tmp_path / "a.pdf").write_bytes(bytes(size))
        reading.read_pdf(tmp_path / "a.pdf")
    monkeypatch.setenv("ASSAY_MAX_PDF_SECONDS", "90")
    monkeypatch.setenv("ASSAY_MAX_PDF_MB", "3000")
    (tmp_path / "a.pdf").write_bytes(b"x")
    reading.read_pdf(tmp_path / "a.pdf")
    assert given == [(1 << 20, 3, 400), ((1 << 20) + 1, 6, 800), (30 << 20, 60, 2048), (1, 90, 3000)]


def test_pdf_files_are_read_in_a_process_of_its_own(tmp_path):
    pytest.importorskip("pypdf")
    for name in ("a", "b"):
        (tmp_path / f"{name}.pdf").write_bytes(pdf(f"Tea of {name}"))
    assert [(document.id, document.text) for document in read_collection(tmp_path)] == [
        ("a.pdf", "Tea of a"),
        ("b.pdf", "Tea of b"),
    ]
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(InputError, match=r"c\.pdf: the PDF cannot be read"):
        read_collection(tmp_path)


def test_no_module_of_the_current_folder_is_run_to_read_a_pdf(tmp_path, monkeypatch):
    (tmp_path / "pypdf.py").write_text("open('ran', 'w').close()\n", encoding="utf-8")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 nothing")
    monkeypatch.chdir(tmp_path)
    contained = containment.Contained("assay.formats.pdf:extract", 500)
    with pytest.raises(containment.Refused):
        contained.ask((tmp_path / "a.pdf").read_bytes(), 30)
    contained.close()
    assert not (tmp_path / "ran").exists()
