"""Rows that outlive their run: appended, read back, refused."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.ledger import Ledger
from gnc_cli.records import Bracket, read_plain

OPTIONS = {"budget": 2.0, "seed": 0}


def test_rows_come_back_without_their_options(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        assert ledger.rows == []
        ledger.append({"d": 3, "x": 0.1})
        ledger.append({"d": 4, "x": None})
    lines = path.read_text().splitlines()
    assert [json.loads(line)["options"] for line in lines] == [OPTIONS, OPTIONS]
    with Ledger(path, dict, "d", OPTIONS, resume=True) as ledger:
        assert ledger.rows == [{"d": 3, "x": 0.1}, {"d": 4, "x": None}]
        ledger.append({"d": 5})
    assert len(path.read_text().splitlines()) == 3


def test_resume_without_a_file_begins_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rows.jsonl"
    for _ in range(2):
        with Ledger(path, dict, "d", OPTIONS, resume=True):
            pass
    assert caplog.messages == [f"{str(path)!r} does not exist yet; starting anew"]


@pytest.mark.parametrize("rest", [b'{"d": 4, "opti', b'{"d', b"{"])
def test_a_line_cut_short_is_dropped(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    path.write_bytes(path.read_bytes() + rest)
    before = path.read_bytes()
    with Ledger(path, dict, "d", OPTIONS, resume=True) as ledger:
        assert ledger.rows == [{"d": 3}] and path.read_bytes() == before
        ledger.append({"d": 5})
    assert [json.loads(line)["d"] for line in path.read_text().splitlines()] == [3, 5]


def test_a_last_line_without_its_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    path.write_bytes(path.read_bytes()[:-1])
    with Ledger(path, dict, "d", OPTIONS, resume=True) as ledger:
        assert ledger.rows == [{"d": 3}]
        ledger.append({"d": 5})
    assert [json.loads(line)["d"] for line in path.read_text().splitlines()] == [3, 5]


def test_a_row_that_cannot_be_read_names_its_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"lower": 0.5, "upper": 1}\n{"lower": 0.5, "upper": "x"}\n{"lo')
    before = path.read_bytes()
    with pytest.raises(DataError, match="line 2, field 'upper': input should be a valid number"):
        Ledger(path, partial(read_plain, Bracket), "lower", None, resume=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "other", [{"budget": 3.0, "seed": 0}, {"budget": 2.0}, {**OPTIONS, "x": 1}]
)
def test_other_options_are_refused(tmp_path: Path, other: dict[str, float]) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    before = path.read_bytes()
    with pytest.raises(DataError, match="line 1, was made with"):
        Ledger(path, dict, "d", other, resume=True)
    assert path.read_bytes() == before
    with Ledger(path, dict, "d", other, force=True) as ledger:
        assert ledger.rows == []


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(
    "line",
    [
        "no json",
        '{"note": "cut sho',
        "[1, 2]",
        '{"d": 3}',
        '{"options": 3}',
        "3",
        '{\n "d": 3\n}',
        "caf\u00e9",
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, line: str, end: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line + end, encoding="latin-1")
    before = path.read_bytes()
    with pytest.raises(DataError, match="line 1, is no row"):
        Ledger(path, dict, "d", OPTIONS, resume=True)
    assert path.read_bytes() == before


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("mine\n")
    with pytest.raises(OutputError, match="--force"):
        Ledger(path, dict, "d", OPTIONS)
    assert path.read_text() == "mine\n"


def test_a_full_disk_keeps_the_rows_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
        before = path.read_bytes()

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OutputError, match="No space left"):
                ledger.append({"d": 4})
        assert path.read_bytes() == before


def test_no_path_keeps_nothing(tmp_path: Path) -> None:
    with Ledger(None, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    assert ledger.rows == []
    assert os.listdir(tmp_path) == []


def test_a_run_without_a_row_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS):
        pass
    assert os.listdir(tmp_path) == []
    path.write_text("mine\n")
    with pytest.raises(KeyboardInterrupt), Ledger(path, dict, "d", OPTIONS, force=True):
        raise KeyboardInterrupt
    assert path.read_text() == "mine\n" and os.listdir(tmp_path) == ["rows.jsonl"]


def test_the_first_new_row_replaces_the_old_ones(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
        ledger.append({"d": 4})
    old = path.read_bytes()
    with Ledger(path, dict, "d", OPTIONS, force=True) as ledger:
        assert path.read_bytes() == old
        ledger.append({"d": 5})
        assert json.loads(path.read_text())["d"] == 5
    with Ledger(path, dict, "d", OPTIONS, force=True) as ledger:
        ledger.keep(0)
        assert path.read_bytes() == b""
    assert path.exists()
