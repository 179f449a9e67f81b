"""Pseudonyms of users, texts without personal data, and logs that are written again."""

import hashlib
import hmac
import json
from pathlib import Path

import polars as pl
import pytest

from assay import read_events, write_events
from assay.errors import InputError, UsageError
from assay.formats.events.privacy import read_salt
from assay.formats.redaction import redact

SALT = "a long enough salt"
LOG = [
    {"query_id": "q1", "client_id": "ann", "session_id": "s1", "user_query": "mail bob@example.com", "timestamp": 1735732800000},
    {"query_id": "q1", "client_id": "ann", "session_id": "s1", "action_name": "impression", "timestamp": 1735732801000,
     "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 0}, "country": "DE"}},
    {"query_id": "q2", "client_id": "bob", "user_query": "tea", "timestamp": 1735732802000},
    {"query_id": "q9", "client_id": "bob", "action_name": "view", "timestamp": 1735732803000, "event_attributes": None},
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "ubi.ndjson").write_text("\n".join(map(json.dumps, LOG)))
    return tmp_path / "ubi.ndjson"


def pseudonym(name: str) -> str:
    return hmac.new(SALT.encode(), name.encode(), hashlib.sha256).hexdigest()[:32]


def test_users_and_sessions_have_pseudonyms_by_hmac(place: Path) -> None:
    found = read_events(place, salt=SALT).frame.collect()
    assert found["user"].to_list() == [pseudonym("ann"), pseudonym("ann"), pseudonym("bob"), pseudonym("bob")]
    assert found["session"].to_list() == [pseudonym("s1"), pseudonym("s1"), None, None]
    plain = read_events(place).frame.collect()
    assert found.drop("user", "session").equals(plain.drop("user", "session"))


def test_another_salt_gives_other_pseudonyms(place: Path) -> None:
    one, other = (read_events(place, salt=salt).frame.collect()["user"] for salt in (SALT, SALT + "x"))
    assert set(one).isdisjoint(other)


def test_a_short_salt_is_refused(place: Path) -> None:
    with pytest.raises(UsageError, match="at least 8"):
        read_events(place, salt="short")


def test_a_salt_is_given_in_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "salt").write_text(f"{SALT}\n")
    monkeypatch.setenv("MY_SALT", SALT)
    assert read_salt(f"@{tmp_path / 'salt'}") == read_salt("env:MY_SALT") == read_salt(SALT) == SALT
    with pytest.raises(UsageError, match="NO_SALT"):
        read_salt("env:NO_SALT")
    with pytest.raises(InputError):
        read_salt("@nowhere")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mail bob.smith+x@mail.example.co.uk now", "mail [email] now"),
        ("用户@例子.中国", "[email]"),
        ("call +49 170 1234567", "call [number]"),
        ("13812345678 张三", "[number] 张三"),
        ("电话：１３８１２３４５６７８", "电话：[number]"),
        ("id 11010119900307123X", "id [number]"),
        ("4111 1111 1111 1111", "[number]"),
        ("https://a.example/c?token=abc and more", "[url] and more"),
        ("https://user:secret@a.example/c", "[url]"),
        ("10.1.2.30 is down", "[ip] is down"),
        ("key sk-abcdefghijklmnopqrstuvwxyz0123456789", "key [token]"),
        ("https://a.example/c", "https://a.example/c"),
        ("iphone 15 pro 256", "iphone 15 pro 256"),
        ("report of 2024-12-10", "report of 2024-12-10"),
        ("", ""),
    ],
)
def test_personal_data_is_taken_out_of_texts(text: str, wanted: str) -> None:
    assert pl.DataFrame({"text": [text]}).select(redact(pl.col("text"))).item() == wanted


def test_a_log_that_was_written_is_read_as_it_was(place: Path, tmp_path: Path) -> None:
    log = read_events(place, attributes=["country"])
    write_events(log, tmp_path / "ubi.parquet")
    again = read_events(tmp_path / "ubi.parquet", attributes=["country"])
    assert again.frame.collect().equals(log.frame.collect())
    assert again.faults == log.faults
    assert again.notes == log.notes
    assert read_events(tmp_path / "ubi.parquet").frame.collect().equals(log.frame.drop("country").collect())
    assert not list(tmp_path.glob(".*"))
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "ubi.parquet").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_texts_are_redacted_when_a_log_is_written(place: Path, tmp_path: Path) -> None:
    write_events(read_events(place, salt=SALT), tmp_path / "ubi.parquet", redact=True)
    found = read_events(tmp_path / "ubi.parquet").frame.collect()
    assert found["text"].to_list() == ["mail [email]", None, "tea", None]
    assert b"bob" not in (tmp_path / "ubi.parquet").read_bytes()


def test_logs_of_several_days_are_checked_against_each_other(tmp_path: Path) -> None:
    for day in range(2):
        (tmp_path / f"{day}.ndjson").write_text("\n".join(map(json.dumps, LOG)))
        write_events(read_events(tmp_path / f"{day}.ndjson"), tmp_path / f"{day}.parquet")
        (tmp_path / f"{day}.ndjson").unlink()
    once = read_events(tmp_path / "0.parquet").frame.collect()
    assert read_events(tmp_path).frame.collect().equals(once)


def test_a_log_is_written_as_parquet_only_and_not_over_itself(place: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="parquet"):
        write_events(read_events(place), tmp_path / "ubi.csv")
    write_events(read_events(place), tmp_path / "ubi.parquet")
    with pytest.raises(UsageError, match="also an input"):
        write_events(read_events(tmp_path / "ubi.parquet"), tmp_path / "ubi.parquet")
    with pytest.raises(InputError):
        write_events(read_events(place), tmp_path / "nowhere" / "ubi.parquet")


def test_parquet_that_claims_to_be_ours_is_not_believed(place: Path, tmp_path: Path) -> None:
    write_events(read_events(place), tmp_path / "ubi.parquet")
    frame = pl.read_parquet(tmp_path / "ubi.parquet")
    for marks in ('{"version": 1}', "nonsense", '{"version": 2, "attributes": [], "faults": []}'):
        frame.write_parquet(tmp_path / "other.parquet", metadata={"assay.events": marks})
        assert len(read_events(tmp_path / "other.parquet").frame.collect()) == len(frame)
