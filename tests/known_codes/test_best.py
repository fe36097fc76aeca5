"""The best known code: theorems, tables, constructions and numerical codes in one answer."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gnc_cli.constructions import registry as search
from gnc_cli.constructions.construction import Construction, Cosine
from gnc_cli.errors import DataError
from gnc_cli.known_codes.best import best, constructed, read_table
from gnc_cli.known_codes.table import our_copy

CODE = Construction(
    "a-code", "a code", 9, 500, Cosine.rational(Fraction(1, 2)), None, "nobody", list
)  # type: ignore[arg-type]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """What the search over constructions was asked; it answers `CODE`."""
    asked: list[tuple[int, int]] = []

    def answer(d: int, K: int) -> Construction | None:
        asked.append((d, K))
        return CODE if (d, K) == (CODE.d, CODE.K) else None

    monkeypatch.setattr(search, "best_construction", answer)
    constructed.cache_clear()
    yield asked
    constructed.cache_clear()


def test_the_table(found: list[tuple[int, int]]) -> None:
    known = best(3, 12)
    assert known is not None and known.max_cosine == 1 / math.sqrt(5)
    assert known.source.startswith("Euclid") and known.proven and known.same_size
    assert found == []  # nothing is better than what is proved optimal
    unproven = best(3, 15)
    assert unproven is not None and not unproven.proven and unproven.on_record
    refined = best(3, 24)
    assert refined is not None and refined.kind == "table" and refined.rounding == 1e-40
    assert refined.exact is not None and float(refined.exact) == refined.max_cosine
    assert refined.date == "1619" and refined.table == "our copy of 2026-11"
    assert refined.figure == "0.723078468333509"  # of 40 decimals


def test_constructions_come_after_tables(found: list[tuple[int, int]]) -> None:
    known = best(9, 500)
    assert known is not None and found == [(9, 500)]
    assert (known.max_cosine, known.source) == (0.5, "construction: a-code")
    assert not known.on_record and known.exact is None and known.proven is False


def test_codes_of_ours_count() -> None:
    known = best(10, 100)
    assert known is not None and (known.kind, known.d, known.K) == ("solved", 10, 100)
    # A source that can be quoted; the command stands apart.
    assert known.on_record and known.source == "found by gnc, not compared with a published value"
    assert str(known.how).startswith("gnc solve --d 10 --K 100 ")
    assert str(best(3, 24)).count("gnc solve") == 0
    part = best(10, 99)
    assert part is not None and part.max_cosine == known.max_cosine and not part.on_record
    assert part.source == f"first 99 points of (10, 100): {known.source}"


def test_more_points_and_fewer_dimensions_never_do_better() -> None:
    for d in (3, 5, 9):
        cosines = [b.max_cosine for K in range(2, 60) if (b := best(d, K)) is not None]
        assert (np.diff(cosines) >= -1e-12).all()
    for K in (20, 100, 240):
        cosines = [b.max_cosine for d in range(3, 30) if (b := best(d, K)) is not None]
        assert (np.diff(cosines) <= 1e-12).all()


def test_a_table_of_the_users(tmp_path: Path, found: list[tuple[int, int]]) -> None:
    path = tmp_path / "now.txt"
    path.write_text("3,12,0.447213595500\n3,15,0.55\n3,4,-0.1\n5,16,0.21\n")
    # Agrees with what is proved: then the exact value and the proof count.
    agreed, ours = best(3, 12, path), best(3, 12)
    assert agreed is not None and ours is not None and agreed.proven
    assert (agreed.exact, agreed.source) == (ours.exact, ours.source)
    known = best(3, 15, path)
    assert known is not None and (known.max_cosine, known.source) == (0.55, "now.txt")
    assert not known.proven and known.on_record
    # A theorem is above any table.
    assert best(3, 4, path) == best(3, 4)
    assert best(3, 15, read_table(path)) == best(3, 15, path)
    path.write_text("3,12\n")
    with pytest.raises(DataError, match="line 1"):
        best(3, 12, path)


def test_the_environment_names_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "now.txt"
    path.write_text("3,15,0.55\n")
    monkeypatch.setenv("GNC_TABLE", str(path))
    known = best(3, 15)
    assert known is not None and known.max_cosine == 0.55 and known.stamp is not None
    path.write_text("3,15,0.56\n")
    os.utime(path, (0, 1e9))
    changed, ours = best(3, 15), best(3, 15, our_copy())
    assert changed is not None and (changed.max_cosine, changed.date) == (0.56, "2001-09-09")
    assert ours is not None and ours.stamp == our_copy().stamp


def test_a_look_up_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from gnc_cli.known_codes.best import best\n"
        "assert best(3, 24).proven\n"
        "best(9, 500)\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'h5py', 'flint'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


BETTER = {
    f"section-{code}" for code in ("17-762", "18-101", "19-423", "20-413", "20-567", "21-373")
}
"""Sections with a smaller largest cosine than the code of an entry."""


def test_no_construction_contradicts_the_table() -> None:
    """What is better than a table entry is verified in exact arithmetic."""
    reached = 0
    for entry in read_table(table=None).select():
        code = search.best_construction(entry.d, entry.K) if entry.K > 2 * entry.d else None
        if code is not None:
            if code.cosine.value < entry.max_cosine - 1e-13:
                assert entry.status == "best-known" and code.name in BETTER, (entry, code)
                assert code.build().verify().max_cosine.value <= code.cosine.value
            reached += code.cosine.value <= entry.max_cosine + 1e-13
    assert reached >= 25
