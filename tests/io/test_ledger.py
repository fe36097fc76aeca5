"""Rows that outlive their run: appended, read back, refused."""

import contextlib
import json
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.brackets import Bracket
from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.ledger import Ledger
from gnc_cli.plain import read_plain

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
    assert caplog.messages == [f"{str(path)!r} does not exist yet; starting a new file"]


def test_rows_are_dropped_and_the_file_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", None) as ledger:
        for d in range(3, 7):
            ledger.append({"d": d})
    path.write_bytes(path.read_bytes()[:-1])  # the last line has no end
    with Ledger(path, dict, "d", None, resume=True) as ledger:
        ledger.append({"d": 7})
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", lambda *names: os.stat(tmp_path / "no disk"))
            with pytest.raises(OutputError):
                ledger.drop({0, 2})
        assert path.read_bytes() == before
        ledger.drop({0, 2})
        assert [json.loads(line)["d"] for line in path.read_text().splitlines()] == [4, 6, 7]
        with pytest.raises(OutputError, match="another run"):
            Ledger(path, dict, "d", None, resume=True)
        ledger.append({"d": 8})
    assert [json.loads(line)["d"] for line in path.read_text().splitlines()] == [4, 6, 7, 8]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


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
    with pytest.raises(DataError, match="line 1, is not a row"):
        Ledger(path, dict, "d", OPTIONS, resume=True)
    assert path.read_bytes() == before


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS), pytest.raises(OutputError, match="another run"):
        Ledger(path, dict, "d", OPTIONS, resume=True)
    Ledger(path, dict, "d", OPTIONS, resume=True).close()


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


def test_a_run_without_a_row_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, dict, "d", OPTIONS):
        pass
    assert os.listdir(tmp_path) == []
    path.write_text("mine\n")
    with pytest.raises(KeyboardInterrupt), Ledger(path, dict, "d", OPTIONS, force=True):
        raise KeyboardInterrupt
    assert path.read_text() == "mine\n" and os.listdir(tmp_path) == ["rows.jsonl"]


def test_new_rows_replace_the_old_ones_at_the_end(tmp_path: Path) -> None:
    path, part = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.part"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    old = path.read_bytes()
    killed = Ledger(path, dict, "d", OPTIONS, force=True)
    killed.append({"d": 4})
    assert path.read_bytes() == old
    killed._resources.close()
    with Ledger(path, dict, "d", OPTIONS, resume=True) as ledger:
        assert ledger.rows == [{"d": 4}] and path.read_bytes() == old
    assert json.loads(path.read_text())["d"] == 4 and not part.exists()
    part.touch()  # a run that was killed before its first row
    with Ledger(path, dict, "d", OPTIONS, resume=True) as ledger:
        assert ledger.rows == [{"d": 4}]
    part.write_bytes(old)
    with Ledger(path, dict, "d", OPTIONS, force=True) as ledger:
        ledger.take_name()
        assert path.read_bytes() == b""


def test_other_rows_beside_a_file_are_refused_and_kept(tmp_path: Path) -> None:
    path, part = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.part"
    part.write_text('{"d": 3, "options": {}}\n')
    with pytest.raises(OutputError, match=r"rows\.jsonl\.part' exists"):
        Ledger(path, dict, "d", OPTIONS)
    with pytest.raises(DataError, match="was made with"):
        Ledger(path, dict, "d", OPTIONS, resume=True)
    assert part.read_text() == '{"d": 3, "options": {}}\n'


@pytest.mark.parametrize("how", ["resume", "force"])
@pytest.mark.parametrize("kind", ["file", "link", "hanging link"])
def test_a_part_that_is_not_ours_stays(tmp_path: Path, kind: str, how: str) -> None:
    path, mine, part = (tmp_path / name for name in ("rows.jsonl", "mine", "rows.jsonl.part"))
    mine.write_text("mine\n")
    if kind == "file":
        part.write_text("mine\n")
    else:
        part.symlink_to(mine if kind == "link" else "nowhere")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(OutputError, match=r"rows\.jsonl\.part' is in the way"):
        Ledger(path, dict, "d", OPTIONS, **{how: True})
    assert sorted(os.listdir(tmp_path)) == before and mine.read_text() == "mine\n"
    assert kind != "file" or part.read_text() == "mine\n"


@pytest.mark.parametrize("how", ["resume", "force"])
def test_other_names_of_a_part_keep_what_it_was(tmp_path: Path, how: str) -> None:
    path, backup = tmp_path / "rows.jsonl", tmp_path / "backup.jsonl"
    with Ledger(backup, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    os.link(backup, tmp_path / "rows.jsonl.part")
    before = backup.read_bytes()
    with Ledger(path, dict, "d", OPTIONS, **{how: True}) as ledger:
        ledger.append({"d": 4})
    wanted = [3, 4] if how == "resume" else [4]
    assert [json.loads(line)["d"] for line in path.read_text().splitlines()] == wanted
    assert backup.read_bytes() == before


@pytest.mark.parametrize("how", ["resume", "force"])
def test_other_names_of_a_file_keep_what_it_was(tmp_path: Path, how: str) -> None:
    path, backup = tmp_path / "rows.jsonl", tmp_path / "backup.jsonl"
    with Ledger(path, dict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3})
    os.link(path, backup)
    before = backup.read_bytes()
    with Ledger(path, dict, "d", OPTIONS, **{how: True}) as ledger:
        ledger.append({"d": 4})
        with pytest.raises(OutputError, match="another run"):
            Ledger(path, dict, "d", OPTIONS, resume=True)
    assert backup.read_bytes() == before != path.read_bytes()


def strict(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ours has these two fields."""
    if {*row} != {"d", "x"} or not isinstance(row["d"], int):
        raise ValueError("is no row of ours")
    return row


ROW = b'{"d": 3, "x": 0.5, "options": {"budget": 2.0, "seed": 0}}\n'
FOREIGN = st.one_of(
    st.binary(),
    st.integers(0, len(ROW) - 1).map(lambda end: ROW[:end]),
    st.dictionaries(st.sampled_from(["d", "x", "options"]), st.text() | st.integers()).map(
        lambda row: json.dumps(row).encode() + b"\n"
    ),
    st.tuples(st.integers(0, len(ROW) - 1), st.binary(max_size=1)).map(
        lambda change: ROW[: change[0]] + change[1] + ROW[change[0] + 1 :]
    ),
)


@given(
    place=st.sampled_from(["rows.jsonl", "rows.jsonl.part"]),
    text=FOREIGN,
    how=st.sampled_from(["resume", "force"]),
    beside=st.booleans(),
)
def test_no_byte_of_others_is_lost(place: str, text: bytes, how: str, beside: bool) -> None:
    """A file is gone on from, and a `.part` replaced, where it begins with a whole row; the file
    itself is replaced where the user says so."""
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder, "rows.jsonl"), Path(folder, place)
        if beside:
            path.touch()
        file.write_bytes(text)
        first, _, _ = text.partition(b"\n")
        ours = False
        with contextlib.suppress(ValueError):
            row = json.loads(first)
            row = row if isinstance(row, dict) else {}
            ours = isinstance(row.pop("options", None), dict) and bool(strict(row))
        try:
            with Ledger(path, strict, "d", OPTIONS, **{how: True}) as ledger:
                before = len(ledger.rows)
                ledger.append({"d": 4, "x": 1})
        except (DataError, OutputError):
            assert file.read_bytes() == text
            return
        assert ours or not text or (how, place) == ("force", "rows.jsonl")
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        assert len(rows) == before + 1 and rows[-1]["d"] == 4
        assert before == 0 or path.read_bytes().startswith(first)


def test_a_kill_within_the_first_row_leaves_nothing_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    with Ledger(path, strict, "d", OPTIONS) as ledger:
        ledger.append({"d": 3, "x": 0})
    before = path.read_bytes()

    def killed(*names: object) -> None:
        raise KeyboardInterrupt

    for how in ("force", "resume"):
        ledger = Ledger(path, strict, "d", OPTIONS, **{how: True})
        ledger.keep(0)
        before = path.read_bytes()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "replace", killed)
            ledger.append({"d": 4, "x": 0})
        ledger._resources.close()  # as a kill does
        assert path.read_bytes() == before
        with Ledger(path, strict, "d", OPTIONS, resume=True) as again:
            again.append({"d": 5, "x": 0})
        assert json.loads(path.read_text().splitlines()[-1])["d"] == 5
