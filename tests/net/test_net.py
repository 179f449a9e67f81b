"""Every command on the bundled collection, in both languages: the numbers, marks, statuses and exit codes it had.

The golden files were written by the code as it was before the upper floor was rebuilt. Wording may change, and results
may say more; a number, mark, status or exit code that is not there any more is told here with its command line.
"""

from __future__ import annotations

import pytest

from assay.cli import COMMANDS, FORMER
from net.comparing import differences
from net.playing import play
from net.record import GOLDEN, read
from net.reduction import reduce_json, reduce_output
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
    assert met == {*COMMANDS, *FORMER} - {
        "env",
        "serve",
    }  # what is installed differs from machine to machine, and what serves does not end


def test_every_golden_file_belongs_to_a_scene():
    assert {path.stem for path in GOLDEN.glob("*.json")} == {scene.name for scene in SCENES}


# The net itself ---------------------------------------------------------------------------------------------------

PRINTED = """system     ndcg@10       p
--------  --------  ------
keywords  0.3615
bm25      0.6207 †  0.0002

Means over 50 queries; bm25 is better by +0.2592.
"""


def printed(text: str = PRINTED, name: str = "stdout") -> dict:
    return {"exit": 0, name: reduce_output(name, text)}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.3615", "0.3616", "row was  | keywords | 0.3615"),
        (" †", "", "row was  | bm25 | 0.6207 †"),
        ("0.3615", "0.3615 †", "row was  | keywords | 0.3615"),
        ("50", "49", "text lost 50; gained 49"),
        ("+0.2592", "0.2592", "text lost +0.2592"),
    ],
)
def test_a_number_or_mark_that_changed_is_told(old, new, said):
    assert old in PRINTED
    assert said in "\n".join(differences(printed(), printed(PRINTED.replace(old, new))))


def test_rows_in_another_order_are_told_of_a_terminal_and_not_of_a_page():
    turned = PRINTED.splitlines()
    turned[2], turned[3] = turned[3], turned[2]
    assert "row was" in "\n".join(differences(printed(), printed("\n".join(turned))))
    assert not differences(printed(name="page.txt"), printed("\n".join(turned), name="page.txt"))


def test_other_words_another_order_of_sentences_and_more_columns_are_no_difference():
    wider = [line.ljust(28) + more for line, more in zip(PRINTED.splitlines(), (" n", "--", "50", "50"), strict=False)]
    text = "\n".join(["Hello.", "", *wider, "", "By +0.2592 bm25 beats the other; 50 queries, seed 7."])
    assert not differences(printed(), printed(text))


def test_an_exit_code_and_a_file_that_is_missing_are_told():
    assert differences({"exit": 0, "a.json": {"n": "1"}}, {"exit": 1}) == [
        "exit code: was 0, is 1",
        "a.json: is not written any more",
    ]


OLD = {
    "schema": 1,
    "systems": [{"name": "bm25", "metrics": {"ndcg@10": 0.25}, "verdict": "better", "n": 2}],
    "warnings": ["odd"],
}
PER_QUERY = {"per_query": {"values": {"bm25": {"ndcg@10": [0.0, 0.5]}}, "status": {"ndcg@10": {"q01": "missing"}}}}


def told_of(new: dict) -> str:
    return "\n".join(
        differences({"exit": 0, "x.json": reduce_json(OLD | PER_QUERY)}, {"exit": 0, "x.json": reduce_json(new)})
    )


def test_another_layout_of_a_result_with_the_same_facts_is_no_difference():
    facts = {"name": "bm25", "verdict": "better", "n": 2, "seed": 5}
    columns = [{"ndcg@10": {"mean": 0.3, "values": {"q01": 0.0, "q02": 0.5}}, "label": "ndcg@10"}]
    assert "ndcg@10" in told_of({"schema": 2, "systems": [facts], "columns": columns}), (
        "a mean under another key is not seen"
    )
    columns = [{"ndcg@10": [0.25, 0.0, 0.5 + 1e-12]}, {"ndcg@10": ["missing"]}]
    assert not told_of({"schema": 2, "systems": [facts], "columns": columns})


def test_a_number_with_its_interval_and_a_message_stand_under_the_key_above_them():
    assert reduce_json({"price": {"value": 0.25, "low": 0.125}}) == {"low": "0.125", "price": "0.25", "value": "0.25"}
    message = {"key": "cost.none", "values": {"n": 3}, "text": "none"}
    assert reduce_json({"method": message}) == {"method": "'none", "n": "3"}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (OLD, "ndcg@10: lost 0 0.5 'missing; new there: nothing"),
        (
            {"systems": [{**OLD["systems"][0], "verdict": "worse"}]} | PER_QUERY,
            "verdict: lost 'better; new there: 'worse",
        ),
        ({"systems": [{**OLD["systems"][0], "n": 3}]} | PER_QUERY, "n: lost 2; new there: 3"),
    ],
)
def test_a_number_or_status_that_a_result_lacks_is_told_with_its_key(new, said):
    assert said in told_of(new)


def test_what_is_drawn_by_the_script_of_a_page_counts_and_what_nobody_sees_does_not():
    page = (
        "<html><head><style>p { width: 77px }</style></head><body><p>50 queries</p><svg><text>0.99</text></svg>"
        "<table><thead><tr><th>query</th></tr></thead><tbody><tr><td>q01</td><td>0.5 <sup>†</sup></td></tr></tbody></table>"
        '<script type="application/json" class="rows">[["q02", ["0.75", "", null, "‡", 0]]]</script>'
        '<script type="application/json" id="drill">{"v": [0.1234, 3]}</script><script>var x = 12;</script></body></html>'
    )
    assert reduce_output("page.html", page) == ["~ 50", "| q01 | 0.5 †", "| q02 | 0.75 ‡", "~ 0.1234"]


def test_times_of_a_scene_that_takes_time_are_left_out():
    text = "system  ndcg@10  mean ms  front\n------  -------  -------  -----\nbm25     0.6207     12.3      *\n\nIt took 3.2 s for 50 queries."
    assert reduce_output("stdout", text, timed=True) == ["| ndcg@10", "| bm25 | 0.6207", "~ 50"]
    assert "12.3" in str(reduce_output("stdout", text))
