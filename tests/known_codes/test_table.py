"""The table of known codes: our copy, tables of the user's, and every line that is wrong."""

import hashlib
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.known_codes.records import UNFINISHED
from gnc_cli import list_constructions
from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.congruence import congruence
from gnc_cli.errors import DataError, UsageError
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.known_codes.table import (
    numerical_codes,
    our_copy,
    read_public_table,
)

TABLE = Path(__file__).parents[2] / "data/known_codes/table.csv"


def written(folder: Path, text: str) -> Path:
    path = folder / "table.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_our_copy_has_every_digit_and_what_is_known() -> None:
    table = our_copy()
    snub = table.find(3, 24)
    assert snub is not None
    # 1 - (t^2 + 1)/(3 t^2 + 2 t + 2) with t^3 = t^2 + t + 1 (Robinson 1961).
    t = np.roots([1, -1, -1, -1]).real.max()
    assert snub.max_cosine == pytest.approx(1 - (t * t + 1) / (3 * t * t + 2 * t + 2), abs=1e-15)
    assert len(snub.figure) > 40 and snub.exact == Fraction(snub.figure)
    assert (snub.proven, snub.rattlers, snub.contacts) == (True, 0, 60)
    cell24, unproven = table.find(4, 24), table.find(3, 15)
    assert cell24 is not None and (cell24.proven, cell24.contacts) == (True, 96)
    assert unproven is not None and unproven.proven is False and "Sloane" in unproven.source
    assert table.find(3, 1000) is None


@pytest.mark.parametrize(
    ("pair", "low", "high"),
    [
        ((3, 9), Fraction(1, 3), Fraction(1, 3)),
        ((3, 10), Fraction("0.404394325216250"), Fraction("0.404394325216251")),
        ((3, 492), Fraction("0.9861240680850"), Fraction("0.9861240680860")),
        ((8, 240), Fraction(1, 2), Fraction(1, 2)),
        ((3, 5), Fraction(0), Fraction(0)),
        ((3, 13), Fraction("0.542636486829539"), Fraction("0.542636486829739")),
    ],
)
def test_between_in_our_copy(pair: tuple[int, int], low: Fraction, high: Fraction) -> None:
    entry = our_copy().find(*pair)
    assert entry is not None
    ends = entry.interval
    assert low <= ends[0] <= entry.exact <= ends[1] <= high
    # Fractions and whole numbers have no slack; all others some, and the code's cosine is inside.
    assert (ends[0] == ends[1]) == (low == high)


def test_between_in_a_public_table(tmp_path: Path) -> None:
    table = read_public_table(written(tmp_path, "3,9,0.333333333334\n3,24,0.72307846833350854\n"))
    rounded, longer = table.find(3, 9), table.find(3, 24)
    assert rounded is not None and longer is not None
    assert rounded.interval == (Fraction("0.333333333333"), Fraction("0.333333333334"))
    slack = Fraction(1, 10**12)
    assert longer.interval == (longer.exact - slack, longer.exact + slack)
    table = read_public_table(written(tmp_path, "3,13,0.5426364868\n4,24,0.5\n"))
    half = Fraction(1, 2 * 10**10)
    rounded, short = table.entries[3, 13], table.entries[4, 24]
    assert rounded.interval == (rounded.exact - half, rounded.exact + half)
    assert short.interval == (short.exact - slack, short.exact)  # is exact


def test_covering() -> None:
    table = our_copy()
    for d, K in [(2, 3), (3, 4), (3, 25), (9, 24), (10, 100), (40, 900), (512, 10**4), (9, 10**6)]:
        fitting = [e for e in table.select() if e.d <= d and e.K >= K]
        found = table.covering(d, K)
        assert (found is None) == (not fitting)
        assert found is None or (found in fitting and found.d <= d and found.K >= K)
        assert found is None or found.max_cosine == min(e.max_cosine for e in fitting)
    assert table.covering(10, 100) is table.find(10, 136)


def test_public_format(tmp_path: Path) -> None:
    path = written(
        tmp_path, "\ufeffd,N,cosine\n\n# of today\n3,24,0.723078468334\n 5 , 7 , 0 \r\n4,2,-1\n"
    )
    os.utime(path, (0, 86400 * 365))
    table = read_public_table(path)
    assert [(e.d, e.K, e.figure) for e in table.select()] == [
        (3, 24, "0.723078468334"),
        (4, 2, "-1"),
        (5, 7, "0"),
    ]
    entry = table.entries[3, 24]
    assert entry.proven is None and entry.rounding == 1e-12
    assert entry.source == "table.txt"
    stamp = table.stamp
    assert (stamp.rows, stamp.date, stamp.current) == (3, "1971-01-01", True)
    assert stamp.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_our_own_columns_are_read_too(tmp_path: Path) -> None:
    table = read_public_table(TABLE)
    ours = our_copy()
    assert table.stamp.sha256 == ours.stamp.sha256 and table.stamp.current
    assert [(e.figure, e.status, e.source) for e in table.select()] == [
        (e.figure, e.status, e.source) for e in ours.select()
    ]
    turned = read_public_table(written(tmp_path, 'cosine,note,N,d\n0.5,"a, b",240,8\n'))
    assert turned.entries[8, 240].max_cosine == 0.5


@given(
    st.dictionaries(
        st.tuples(st.integers(2, 40), st.integers(2, 2000)),
        st.decimals(min_value=0, max_value="0.999999999999", places=12),
        min_size=1,
        max_size=20,
    )
)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, cosines: dict[Any, Any]) -> None:
    lines = [f"{d},{K},{cosine}" for (d, K), cosine in cosines.items()]
    path = written(tmp_path_factory.mktemp("table"), "\n".join(lines))
    table = read_public_table(path)
    assert {key: Fraction(cosine) for key, cosine in cosines.items()} == {
        key: entry.exact for key, entry in table.entries.items()
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("3,24", "2 fields, not 3"),
        ("3,24,0.7,yes", "4 fields, not 3"),
        ("3 24 0.7", "1 fields"),
        ("three,24,0.7", "'three'"),
        ("3.5,24,0.7", "'3.5'"),
        ("1,24,0.7", "at least 2"),
        ("3,1,0.7", "at least 2"),
        ("-3,24,0.7", "'-3'"),
        ("3,24,", "cosine ''"),
        ("3,24,nan", "'nan'"),
        ("3,24,0x1p-1", "'0x1p-1'"),
        ("3,24,1/0", "'1/0'"),
        ("3,24,3/2", "between -1/23 and 1"),
        ("3,24,1_0", "'1_0'"),
        ("3,24,1", "between -1/23 and 1"),
        ("3,24,-0.5", "between -1/23 and 1"),
        ("3,24,1e400", "between"),
        ("٣,24,0.7", "'٣'"),
    ],
)
def test_a_bad_line_is_named_by_number(tmp_path: Path, line: str, words: str) -> None:
    path = written(tmp_path, f"# a comment\n\n3,12,0.4472\n{line}\n3,13,0.55\n")
    with pytest.raises(DataError) as caught:
        read_public_table(path)
    message = str(caught.value)
    assert "table.txt', line 4" in message and words in message and "\n" not in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"# nothing\n\n", "no entries"),
        (b"d,N,cosine\n", "no entries"),
        (b"once upon a time\n", "d,N,cosine"),
        (b"d,N,cos\n3,4,0\n", "line 1"),
        (b"\x89HDF\r\n\x1a\n\xff", "not UTF-8"),
        (b"d,K,max_cosine,rattlers\n4,24,0.5,-1\n", "rattlers is '-1'"),
        (b'3,4,"' + b"x" * 200_000 + b'"\n', "line 1"),
        (b"3,24," + b"9" * 200 + b"\n", "..."),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "table.txt"
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        read_public_table(path)
    assert words in str(caught.value) and len(str(caught.value)) < 400


def test_missing_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_public_table(tmp_path / "none.txt")
    with pytest.raises(DataError, match="is a folder"):
        read_public_table(tmp_path)
    with pytest.raises(UsageError, match="--table -"):
        read_public_table("-")


def test_the_list_of_constructions_has_the_ranges_of_our_coordinates() -> None:
    files = [path.name.split(".") for path in (TABLE.parent / "coordinates").iterdir()]
    with np.load(TABLE.parent / "atlas.npz") as atlas:
        files += [name.split(".") for name in atlas.files]
    dimensions = sorted(int(d) for d, *_ in files)
    (row,) = (row for row in list_constructions().rows if row.name == "known")
    assert row.d == f"{dimensions[0]}..{dimensions[-1]}"
    assert row.K == f"up to {max(int(K) for _, K, *_ in files):,}"


@pytest.mark.parametrize(
    "path", sorted((TABLE.parent / "coordinates").iterdir()), ids=lambda path: path.name
)
def test_our_coordinates_are_codes_of_their_rows(path: Path) -> None:
    d, K = map(int, path.name.split(".")[:2])
    codes = dict(stored_codes(d, K))
    name = next(iter(codes))
    W = codes[name]
    _, _, *another, _ = path.name.split(".")
    if another:
        W = codes[f"{name} ({another[0]})"]
        assert congruence(W, codes[name]) is None
    assert W.shape == (K, d) and np.abs(np.linalg.norm(W, axis=1) - 1.0).max() < 1e-14
    gram = W @ W.T - 2.0 * np.eye(K)
    entry = our_copy().find(d, K)
    solved = numerical_codes().find(d, K)
    if solved is not None:
        least = float(1 - solved.exact)
        assert name == f"code found by gnc for d = {d}, K = {K}"
        assert f"--d {d} --K {K} " in str(solved.command)
        rho = certify_code(W, tolerance=1e-9).rho_one_vs_rest
        # A Softmax Code by the bisector theorem, if it is the best of its size and polished.
        slack = 1e-6 if (d, K) in UNFINISHED else 1e-11
        assert least <= rho.lower + 1e-12 and rho.upper <= least + slack
        assert least == pytest.approx(1.0 - gram.max(), abs=1e-9)
        return
    assert entry is not None and name == f"best known code for d = {d}, K = {K}"
    assert gram.max() == pytest.approx(entry.max_cosine, abs=1e-13)
    touching = gram > gram.max() - 1e-9
    assert np.count_nonzero(touching) // 2 == entry.contacts
    assert np.count_nonzero(~touching.any(axis=1)) == entry.rattlers


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    """The script on a copy of the data."""
    command = [sys.executable, str(folder / "check.py")]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The data, without coordinates."""
    ignored = shutil.ignore_patterns("coordinates", "__pycache__")
    return shutil.copytree(TABLE.parent, tmp_path / "known_codes", ignore=ignored)


def test_the_data_are_as_the_script_leaves_them(copy: Path) -> None:
    """Sorted, consistent with each other and with every proved bound, their checksums noted."""
    assert (checked(copy).stderr, checked(copy).returncode) == ("", 0)
    for path in copy.rglob("*.*"):
        assert path.read_bytes() == (TABLE.parent / path.relative_to(copy)).read_bytes(), path.name
