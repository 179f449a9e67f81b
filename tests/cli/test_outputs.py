"""Files that commands write: whole or not at all, through links, with their permissions, and never over an input."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest

from assay.cli import COMMANDS, app
from assay.cli.pages import _key
from assay.cli.parameters import Number, WordChoice, owners_of
from assay.cli.places import OUTPUT, is_read
from assay.errors import AssayError, InputError
from assay.formats.files import FOLDER_SUFFIXES, check_outputs, file_name, run_name, write_atomically
from assay.messages import say

LEAST = 16  # a walk that finds fewer commands with outputs is broken


def leaves(group: click.Group, name: str = "") -> list[tuple[str, click.Command]]:
    found = []
    context = click.Context(group)
    for one in group.list_commands(context):
        command = group.get_command(context, one)
        path = f"{name} {one}".strip()
        found += leaves(command, path) if isinstance(command, click.Group) else [(path, command)]
    return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def texts(command: click.Command) -> list[click.Parameter]:
    return [one for one in command.params if not isinstance(one.type, (WordChoice, Number, click.types.BoolParamType))]


def written(command: click.Command) -> list[click.Parameter]:
    return [one for one in command.params if one.type is OUTPUT]


PAIRS = [
    (name, output.name, given.name)
    for name, command in leaves(app)
    for output in written(command)
    for given in command.params
    if is_read(given)
]
SAME = [
    (name, one.name, two.name)
    for name, command in leaves(app)
    for place, one in enumerate(written(command))
    for two in written(command)[place + 1 :]
]


def words(command: click.Command, values: dict[str, str]) -> list[str]:
    """A call that click accepts, with these values of its parameters."""
    options, arguments = [], []
    owners = {owner for one in command.params if one.name in values for owner in owners_of(one)[:1]}
    for one in command.params:
        value = values.get(one.name or "")
        if isinstance(one, click.Argument):
            value = value or (one.type.choices[0] if isinstance(one.type, WordChoice) else "other" * one.required)
            arguments += [value] if value else []
        elif one.name in owners and one.is_flag:
            options.append(one.opts[0])
        elif value or one.required or one.name in owners:
            options += [one.opts[0], value or "other"]
    return [*options, *arguments]


def test_every_command_that_writes_is_found():
    assert len({name for name, _, _ in PAIRS}) >= LEAST - 2
    groups: dict[str, set[str]] = {
        "ab": {"ab plan", "ab analyse"},
        "log": {"log metrics"},
        "set": {"set questions", "set info", "set split", "set merge"},
    }
    expected = {
        leaf for name in set(COMMANDS) - {"env", "help", "trec_eval", "serve"} for leaf in groups.get(name, {name})
    }
    assert {name for name, command in leaves(app) if written(command)} >= expected


@pytest.mark.parametrize("name", sorted({name for name, _ in leaves(app)}))
def test_a_parameter_that_names_a_file_says_whether_it_is_written(name):
    command = dict(leaves(app))[name]
    for one in texts(command):
        if getattr(one, "hidden", False):
            continue
        told = say(_key(one, command.wording)).lower()
        writes = one.name == "output" or told.startswith(
            ("write", "also write", "where results", "where to write", "where answers are kept", "every ")
        )
        assert (one.type is OUTPUT) == writes, f"{name} {one.name}: declare it with type=OUTPUT"
        assert not (one.type is OUTPUT and is_read(one))


@pytest.mark.parametrize(("name", "output", "given"), PAIRS)
def test_no_command_writes_over_what_it_reads(name, output, given, call, tmp_path):
    (tmp_path / "other").write_text("other\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.json").write_text("{}")
    command = dict(leaves(app))[name]
    code, out, err = call(*name.split(), *words(command, {output: "folder/../mine.json", given: "mine.json"}))
    assert (code, out) == (2, "")
    assert err == "assay: folder/../mine.json is also an input: choose another output\n"
    assert (tmp_path / "mine.json").read_text() == "{}"


@pytest.mark.parametrize(("name", "one", "two"), SAME)
def test_no_command_writes_two_outputs_to_one_file(name, one, two, call, tmp_path):
    (tmp_path / "other").write_text("other\n")
    command = dict(leaves(app))[name]
    code, out, err = call(*name.split(), *words(command, {one: "new.json", two: "./new.json"}))
    assert (code, out) == (2, "")
    assert err == "assay: new.json and ./new.json are the same file: give each output a file of its own\n"
    assert names(tmp_path) == ["other"]


def test_links_and_names_lead_to_the_same_file(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "soft").symlink_to("a")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    for place in ("a", "soft", "hard", "folder/a", "./a"):
        with pytest.raises(AssayError, match="is also an input"):
            check_outputs([tmp_path / place], [tmp_path / "a"])
    check_outputs([tmp_path / "b", None, "-"], [tmp_path / "a", "-", "no such file", "x" * 5000])
    with pytest.raises(AssayError, match="are the same file"):
        check_outputs([tmp_path / "new", tmp_path / "folder" / "new"], [])


def test_a_document_of_a_folder_that_is_read_is_an_input(tmp_path):
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "docs" / "more" / "a.md").write_text("a")
    (tmp_path / "docs" / "result.json").write_text("{}")
    with pytest.raises(AssayError, match=r"a\.md is also an input"):
        check_outputs([tmp_path / "docs" / "more" / "a.md"], [tmp_path / "docs"])
    check_outputs([tmp_path / "docs" / "result.json", tmp_path / "docs" / "new.md"], [tmp_path / "docs"])


def test_all_files_that_are_read_in_folders_are_guarded():
    from assay.formats.text_folders import SUFFIXES

    assert set(SUFFIXES) <= FOLDER_SUFFIXES


def test_files_named_in_other_files_are_not_written_over(call, tmp_path):
    from assay.demo import collection

    place = collection()
    (tmp_path / "q.tsv").write_bytes(place.queries_file.read_bytes())
    (tmp_path / "result.json").write_text('{"q01": {"d01": 1}}')
    (tmp_path / "e.toml").write_text(
        f'[data]\ndocuments = "{place.documents_file}"\nqueries = "q.tsv"\njudgments = "result.json"\n'
        '[retrieve]\nmethod = "bm25"\n'
    )
    for option in (["--report", "q.tsv"], ["--report", "e.toml"], ["-o", "."]):
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        code, _, err = call("run", "e.toml", *option)
        assert (code, "is also an input: choose another output" in err) == (2, True)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "bench.json").write_text("{}")
    (tmp_path / "costs.toml").write_text('[method.x]\nmachine = 1.0\nbench = "bench.json"\n')
    for words_ in (["--variant", "x,machine=1,bench=bench.json"], ["costs.toml"]):
        code, _, err = call("cost", *words_, "-o", "bench.json")
        assert (code, err) == (2, "assay: bench.json is also an input: choose another output\n")
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "r.run").write_text("q1 Q0 a 1 1 t\n")
    assert call("evaluate", "qrels", "r.run", "-m", "map", "-o", "base.json")[0] == 0
    (tmp_path / "rules.toml").write_text('[[rule]]\nmeasure = "map"\nnot_worse_than = "base.json"\n')
    for option in ("--junit", "-o"):
        code, _, err = call("gate", "qrels", "r.run", "--rules", "rules.toml", option, "./base.json")
        assert (code, err) == (2, "assay: ./base.json is also an input: choose another output\n")


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "target.json"
    target.write_text("old")
    (tmp_path / "link.json").symlink_to("real/target.json")
    write_atomically(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink() and target.read_text() == "new"
    (tmp_path / "fresh").symlink_to("real/fresh")
    write_atomically(tmp_path / "fresh", b"first")
    assert (tmp_path / "real" / "fresh").read_bytes() == b"first"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(tmp_path / "loop", "x")
    assert names(tmp_path / "real") == ["fresh", "target.json"]


def test_permissions_stay_and_new_files_follow_the_mask(tmp_path):
    place = tmp_path / "a"
    place.write_text("old")
    place.chmod(0o640)
    write_atomically(place, "new")
    assert (place.read_text(), stat.S_IMODE(place.stat().st_mode)) == ("new", 0o640)
    mask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "b", "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_atomically(pipe, "through")
        assert reader.communicate(timeout=30)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode) and names(tmp_path) == ["pipe"]
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write_atomically(tmp_path, "x")


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no name for standard output")
def test_standard_output_is_written_to_by_its_name_also_when_it_is_a_pipe():
    code = "from assay.formats.files import write_atomically; write_atomically('/dev/stdout', 'through')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("through", "")


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EBADF, errno.EINVAL, errno.EIO])
def test_a_file_that_is_in_place_is_written_whatever_its_folder_says(number, tmp_path, monkeypatch):
    real = os.fsync

    def fail(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        real(handle)

    monkeypatch.setattr(os, "fsync", fail)
    write_atomically(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_disk_that_fails_leaves_the_old_file_and_no_draft(fails, number, tmp_path, monkeypatch):
    place = tmp_path / "result.json"
    place.write_text("old")

    def fail(*_args, **_more):
        raise OSError(number, os.strerror(number))

    if fails == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    elif fails == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        real = os.fdopen

        def opened(*args, **more):
            file = real(*args, **more)
            file.raw.close()  # every write and flush fails
            return file

        monkeypatch.setattr(os, "fdopen", opened)
        number = None
    with pytest.raises(InputError, match="cannot be written") as error:
        write_atomically(place, "new" * 100_000)
    assert number is None or os.strerror(number) in str(error.value)
    assert place.read_text() == "old" and names(tmp_path) == ["result.json"]


def test_an_interrupted_write_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    place = tmp_path / "result.json"
    place.write_text("old")

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(place, "new")
    assert place.read_text() == "old" and names(tmp_path) == ["result.json"]


def test_file_and_folder_are_on_the_disk_before_the_call_returns(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, Path.replace

    def synced(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def replaced(self, target):
        done.append("replace")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_atomically(tmp_path / "a", "a")
    assert done == ["file", "replace", "folder"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("aside", ["2>&-", "2>/dev/full", ">&- 2>&-", "<&- 2>&-"])
def test_a_file_is_written_and_the_exit_code_is_0_whatever_becomes_of_standard_error(aside, tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 1 t\n")
    done = subprocess.run(
        f"{sys.executable} -m assay evaluate q r -m map -o o.json {aside}", shell=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, (tmp_path / "o.json").is_file()) == (0, True)


def test_a_reader_of_standard_error_that_leaves_stops_nothing(tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "r").write_text("q1 Q0 a 1 1 t\n")
    line = [sys.executable, "-m", "assay", "evaluate", "q", "r", "-m", "map", "-o", "o.csv", "--report", "o.md"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, cwd=tmp_path) as child:
        child.stderr.close()
        assert child.wait() == 0
    assert (tmp_path / "o.csv").is_file() and (tmp_path / "o.md").is_file()


@pytest.mark.parametrize(
    ("file", "tag", "name"),
    [
        ("final.abc.txt", "final.abc.txt", "final.abc.txt"),
        ("final.abc.txt", "final.abc", "final.abc"),
        ("final.abc.txt", "other", "final.abc"),
        ("v2.json.run", "v2.json", "v2.json"),
        ("bm25.run", "r", "bm25"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_suffix_that_belongs_to_the_tag_of_a_run_stays_in_its_name(file, tag, name, packed, tmp_path):
    import gzip

    import assay

    place = tmp_path / (file + ".gz" * packed)
    line = f"q1 Q0 a 1 1 {tag}\n".encode()
    place.write_bytes(gzip.compress(line) if packed else line)
    assert run_name(place) == name
    assert assay.read_run(place).name == name


def test_commands_name_a_run_with_the_suffix_of_its_tag(call, tmp_path):
    (tmp_path / "q").write_text("q1 0 a 1\n")
    (tmp_path / "final.abc.txt").write_text("q1 Q0 a 1 1 final.abc.txt\n")
    code, out, _ = call("evaluate", "q", "final.abc.txt", "-m", "map")
    assert (code, out.splitlines()[2].split()) == (0, ["final.abc.txt", "1.0000"])


def test_names_that_had_to_be_changed_for_a_file_are_still_told_apart():
    names = ["a/b", "a-b", "a b", "x" * 300, "x" * 301, "茶" * 200, "", "..", "plain=1.5"]
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(len(f"{name}.jsonl".encode()) <= 255 and "/" not in name for name in files)
    assert (file_name("a-b"), file_name("plain=1.5")) == ("a-b", "plain=1.5")
