"""Every command on the bundled collection, in both languages: the numbers, marks, statuses and exit codes it had.

The golden files were written by the code as it was before the upper floor was rebuilt. Wording may change, and results
may say more; a number, mark, status or exit code that is not there any more is told here with its command line.
"""

from __future__ import annotations

import pytest

from assay.cli import _COMMANDS
from net.comparing import differences
from net.playing import play
from net.record import GOLDEN, read
from net.scenes import SCENES


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_numbers_marks_statuses_and_exit_codes_are_what_they_were(scene, tmp_path):
    scene.skip_unless_possible()
    golden, now = read(scene.name), play(scene, tmp_path.resolve())
    assert list(golden) == list(now), "the golden file is of other command lines: cd tests && python -m net.record"
    told = [
        f"assay {line}\n" + "\n".join(f"    {one}" for one in found)
        for line in golden
        if (found := differences(golden[line], now[line]))
    ]
    assert not told, "\n" + "\n".join(told)


def test_every_command_is_in_the_net():
    met = {line.split()[0] for scene in SCENES for line in scene.expand()}
    assert met == set(_COMMANDS)


def test_every_golden_file_belongs_to_a_scene():
    assert {path.stem for path in GOLDEN.glob("*.json")} == {scene.name for scene in SCENES}
