"""Work too large for the machine, and numbers beyond their ranges: refused before it begins."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.errors import DataError
from gnc_cli.runtime import memory
from tests.faults.world import Case, check, inside

DIGITS = "9" * 50_000
GB = "GB of memory are free on this machine"


def nothing() -> None:
    """The world as it is."""


def cases(code: int, table: str, done: Callable[[], Any] = nothing) -> list[Case]:
    """A case for each line `command | said`."""
    found = []
    for line in table.strip().splitlines():
        words, said = (part.strip() for part in line.split(" | "))
        found.append(Case(words, done, code, said.replace("GB free", GB)))
    return found


SOLVE = cases(
    6,
    """
    solve --d 2 --K 1e8 | a code of K=100000000 points in d=2 needs 30.6 GB of memory
    solve --d 2 --K 1e9 | needs 306 GB of memory; 4 GB are free on this machine: lower --K or --d
    solve --d 2 --K 1e9 --time-limit 5 | lower --K or --d
    solve --d 20000 --K 40000 --out a.h5 | a code of K=40000 points in d=20000 needs
    solve --d 1e6 --K 1e4 | a code of K=10000 points in d=1000000 needs
    solve --d 1e6 --K 2000 --method descent | a code of K=2000 points in d=1000000 needs
    solve --d 16 --K 1e8 | a code of K=100000000 points in d=16 needs
    solve --d 3 --K 1e9 --method descent | needs
    solve --d 1000 --K 1e6 --method descent --steps 1 | needs
    solve --problem ufm --tau 1 --d 2 --K 10 --n 1e7 | a code of K=10 points in d=2 needs
    solve --problem ufm --tau 1 --d 2 --K 10 --n 1e7 | or --n
    solve --problem ufm --weight-decay 1e-9 --d 1e6 --K 2000 | needs
    solve --problem ufm --tau 1..0.1/1000 --d 1000 --K 1000 --n 9 | or give fewer --tau
    solve --problem ufm --tau 1 --d 50 --K 100 --restarts 1e9 | needs
    solve --d 512 --K 1e9 --out a.npy | needs 2.05 TB of disk; 9 GB are free in '.'
    solve --d 512 --K 1e9 --out a.h5 | lower --K or --d, name a file on another disk, or drop --out
""",
)
"""At 4 GB of memory and 9 GB of disk."""


def features(name: str, N: int, d: int, labels: Any) -> Callable[[], None]:
    """Features that were never written, with labels."""

    def done() -> None:
        with h5py.File(name, "w") as h5:
            h5.create_dataset("features", data=np.ones((N, d), np.float32))
            h5["labels"] = np.resize(labels, N)

    return done


FILES = [
    *cases(
        6,
        """
        measure a.h5 --K 4e7 | measuring K=40000000 classes in d=2 needs
        measure a.h5 --K 5e7 | this machine: leave classes out with --min-count or --classes FILE
        measure a.h5 --K 5e7 --time-limit 5 | GB are free on this machine
        measure a.h5 --K 4e7 --variants classic | GB are free on this machine
    """,
        features("a.h5", 120, 2, range(7)),
    ),
    *cases(
        6,
        """
        measure a.h5 | measuring K=4 classes in d=20000 needs 16
        measure a.h5 --normalize off | GB are free on this machine
    """,
        features("a.h5", 8, 20_000, range(4)),
    ),
    *cases(
        6,
        """
        measure a.h5 | measuring K=100000000 classes in d=2 needs
    """,
        features("a.h5", 120, 2, [*range(6), 99_999_999]),
    ),
    *cases(
        3,
        """
        measure a.h5 | label 9007199254740992, and labels run from 0 to K - 1
    """,
        features("a.h5", 120, 2, [*range(6), 2**53]),
    ),
    *cases(
        3,
        """
        measure a.h5 | 40 label(s) of 9007199254740992 or more, which float64 rounds
    """,
        features("a.h5", 120, 2, [0.0, 1.0, 1e18]),
    ),
    *cases(
        6,
        """
        train --width 50 | --model cnn with a learned head of
        train --model resnet18 --width 20 | --model resnet18 with a learned head
        train --feature-dim 1e6 --time-limit 5 | GB are free on this machine
    """,
    ),
]


@pytest.mark.parametrize("label", [2**64 - 1, 2**63, 2**53 + 2])
def test_labels_beyond_all_classes(label: int) -> None:
    labels = np.array([label, 0, 1, 2, 0, 1, 2, 1], np.uint64)
    with pytest.raises(
        DataError, match=f"no class, the first is {label} at row 0; expected integers"
    ):
        measure(features=np.ones((8, 3)), labels=labels)


NUMBERS = cases(
    2,
    f"""
    solve --d 9223372036854775807 --K 3 | --d 9223372036854775807 is too large; give at most 1e6
    solve --d 3 --K 9223372036854775807 | is too large; give at most 1e9
    solve --d 3 --K {DIGITS} | is too large; give at most 1e300
    solve --d {DIGITS} --K 3 | (50000 characters) is too large
    solve --d 3 --K 1e9999 | is too large
    solve --d 3 --K -9223372036854775808 | is too
    solve --d 3 --K 24 --restarts 1e18 | --restarts 1e18 is too large; give at most 1e9
    solve --d 3 --K 24 --steps 9223372036854775807 | is too large; give at most 1e9
    solve --d 3 --K 24 --seed {DIGITS} | --seed
    solve --d 3 --K 24 --threads 100000 | --threads 100000 is too large; give at most 1024
    solve --d 3 --K 24 --workers 1e6 | --workers 1e6 is too large; give at most 1024
    solve --d 3 --K 24 --symmetry cyclic:{DIGITS} | is not a symmetry
    solve --problem ufm --d 2 --K 3 --tau 1..0.1/1e6 | has more than 1,000 values; ask for fewer
    bounds --d 3,4 --K 10..9e4 | make more than 100,000 pairs
    solve --problem ufm --d 2 --K 3 --tau 1..0.1..1e-9 | has more than 1,000 values
    solve --problem ufm --d 2 --K 3 --tau 1 --n 1e10 | --n 1e10 is too large; give at most 1e9
    measure a.h5 --K 9223372036854775807 | is too large; give at most 1e8
    measure a.h5 --K {DIGITS} | is too large
    measure a.h5 --seed {DIGITS} | --seed
    bounds --d 9223372036854775807 --K 3 | is too large; give at most 100000
    bounds --d 3 --K {DIGITS} | is too large
    bounds --d 2..1000 --K 2..1000 | make more than 100,000 pairs; use larger steps
    bounds --d 2..20001 --margin 0.3 | values are more than 10,000; use a larger step
    compare --list --d 9223372036854775807 | is too large; give at most 1e6
    compare --list --K {DIGITS} | is too large
    compare --list --K 2..1e9 | has more than 100,000 values; use a larger step
    compare a.h5 --digits 1e6 | is too large; give at most 1000
    train --epochs 1e18 | --epochs 1e18 is too large; give at most 1e7
    train --epochs {DIGITS} | is too large
    train --classes 9223372036854775807 | is too large; give at most 1e8
    train --feature-dim 9223372036854775807 | is too large; give at most 1e6
    train --batch-size 9223372036854775807 | is too large; give at most 1e9
    train --image-size 1e6 | --image-size 1e6 is too large; give at most 1024
    train --width 1e9 | --width 1e9 is too large; give at most 100
    train --milestones 1..1e18 | has more than 100,000 values
    train --images-per-class 1e18 | is too large; give at most 1e9
    train --snapshot-every 1e18 | is too large; give at most 1e7
""",
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of 4 GB of memory and 9 GB of disk."""
    monkeypatch.setattr(memory, "free_memory", lambda: 4.0e9)
    disk = SimpleNamespace(total=10**10, free=9 * 10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)
    return tmp_path


@pytest.mark.parametrize("case", SOLVE + FILES, ids=lambda case: f"{case.words}: {case.said}")
def test_work_beyond_the_machine_is_refused(case: Case, small: Path) -> None:
    with inside(small):
        check(case)


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: f"{case.words[:60]}: {case.said}")
def test_numbers_beyond_their_ranges_are_named(case: Case, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(case)
