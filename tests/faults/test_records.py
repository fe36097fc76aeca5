"""Files that a command goes on from: what was tampered with is named, and nothing is changed."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from gnc_cli import measure_series, solve
from tests.faults.world import Case, at, check, edited, put
from tests.training.problems import TINY, run, toy

FEATURES = np.kron(np.eye(4), np.ones((3, 1)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, rows of `measure`, and a search, each to go on from."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        run(toy(Path("toy.h5")), "run", epochs=2, snapshot_every=1)
        with h5py.File("a.h5", "w") as h5:
            h5["features"], h5["labels"] = FEATURES, np.repeat(np.arange(4), 3)
        measure_series("a.h5", out="rows.jsonl")
        solve(3, 7, method="descent", restarts=2, out="code.h5", workers=1)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of these, the current folder."""
    shutil.copytree(made, tmp_path / "copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "copy")
        yield tmp_path / "copy"


RESUME = f"train --resume --out run --data h5:toy.h5 --epochs 3 --model {TINY}"
ROWS = "measure a.h5 --out rows.jsonl --resume"
SOLVE = "solve --d 3 --K 7 --method descent --restarts 2 --out code.h5 --resume --workers 1"


def config(change: Callable[[Any], None]) -> Callable[[], None]:
    """Change config.json."""

    def done() -> None:
        import json

        path = Path("run/config.json")
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value))

    return done


def checkpoint(key: str, value: Any) -> Callable[[], None]:
    """Change last.pt; a function changes what is there."""

    def done() -> None:
        state = torch.load("run/last.pt", weights_only=True)
        inner = state
        for part in key.split("/")[:-1]:
            inner = inner[int(part) if part.isdigit() else part]
        last = key.split("/")[-1]
        inner[last] = value(inner[last]) if callable(value) else value
        torch.save(state, "run/last.pt")

    return done


def stored(name: str, value: Any) -> Callable[[], None]:
    """Change a number of /state."""

    def done() -> None:
        with h5py.File("code.h5", "r+") as h5:
            h5["state"].attrs[name] = value

    return done


def tampered(words: str, change: Callable[[str, Any], Any], what: str) -> list[Case]:
    """A case for each line `key | value | said`, the value in Python."""
    cases = []
    for line in what.strip().splitlines():
        key, value, said = (part.strip() for part in line.split("|"))
        cases.append(Case(words, change(key, eval(value)), 3, said))
    return cases


CASES = [
    *tampered(
        ROWS,
        lambda key, value: edited("rows.jsonl", at(key, value)),
        """
        gnc2.lower | 'x' | line 1, field 'row.gnc2.lower'
        gnc2.lower | 9.0 | line 1, lower end 9.0 above upper end
        gnc2 | [] | field 'row.gnc2'
        gnc1 | True | field 'row.gnc1'
        gnc1 | float('nan') | field 'row.gnc1'
        gnc1 | 10**400 | field 'row.gnc1'
        K | 10**400 | field 'row.K'
        K | 4.5 | field 'row.K'
        K | [] | field 'row.K'
        d | ... | field 'row.d': field required
        file | 5 | field 'row.file'
        variants | 3 | field 'row.variants'
        worst_classes | {} | field 'row.worst_classes'
        warnings | [1] | field 'row.warnings.0'
        classes | 'all' | field 'row.classes'
        stamp | 7 | field 'stamp'
        stamp | ... | field 'stamp': field required
        cut_short | 'no' | field 'cut_short'
        options | 3 | line 1, is not a row
        options | {} | line 1, was made with
    """,
    ),
    *tampered(
        RESUME,
        lambda key, value: edited("run/metrics.jsonl", at(key, value)),
        """
        epoch | 'two' | metrics.jsonl', line 2, field 'epoch'
        loss | 'x' | line 2, field 'loss'
        loss | ... | field 'loss': field required
        gnc2 | 0.5 | field 'gnc2'
    """,
    ),
    *tampered(
        RESUME,
        lambda key, value: config(at(key, value)),
        """
        settings | 3 | config.json
        settings | ... | config.json
        settings.epochs | '2' | field 'epochs'
        settings.epochs | -3 | field 'epochs' is not above 0
        settings.lr | 'fast' | field 'lr'
        settings.lr | 10**400 | config.json' is not JSON (a number of 401 digits)
        settings.tau | -1.0 | tau
        settings.milestones | ['a'] | field 'milestones.0'
        settings.optimizer | 'newton' | newton
        settings.classes_subset | 4 | field 'classes_subset'
        settings.colour | 'red' | field 'colour' is unknown
        plan | [] | field 'plan'
        plan.d | 'x' | field 'plan.d'
        plan.d | 10**9 | does not say what its classifier was
        plan.K | 7 | does not say what its classifier was
        class_names | 'abcd' | field 'class_names'
        class_names | ['a'] | was trained on other classes
    """,
    ),
    *tampered(
        RESUME,
        checkpoint,
        """
        format | 1 | has format 1, and this version of gnc reads 2
        format | 'x' | field 'format'
        training | 5 | field 'training'
        training/epoch | -5 | impossible step, 0 of epoch -5
        training/epoch | 1.5 | field 'training.epoch'
        training/step | 99 | impossible step, 99
        training/step | -1 | impossible step, -1
        training/steps | 7 | is of a run with steps 7
        training/seed | 99 | is of a run with seed 99
        training/model | {} | does not say what its classifier was
        training/model/head.weight | 'x' | field 'training.model.head.weight'
        training/model/head.weight | lambda w: w * float('nan') | a weight that is not a finite
        training/optimizer | [] | field 'training.optimizer'
        training/optimizer | {} | is of another network or recipe
        training/optimizer/state | {0: {'exp_avg': 'x'}} | is of another network or recipe
        training/optimizer/state | {0: 5} | is of another network or recipe
        totals | {'epoch': 2} | field 'totals.step': field required
        data | None | field 'data'
        data/mean | ['x'] | field 'data.mean.0'
        data/labels | 3 | field 'data.labels'
        data/labels | 'x' | other images, or on these in another order
    """,
    ),
    *tampered(
        SOLVE,
        stored,
        """
        starts | 'x' | /state is damaged
        seed | 1.5 | /state is damaged
    """,
    ),
    Case(RESUME, put("run/metrics.jsonl", "mine"), 3, "line 1, is not a row"),
    Case(RESUME, lambda: os.remove("run/log.txt") or os.mkfifo("run/log.txt"), 3, "log.txt"),
    Case(RESUME, lambda: os.remove("run/last.pt") or os.mkfifo("run/last.pt"), 3, "last.pt"),
    Case(ROWS, put("rows.jsonl", "my notes"), 3, "line 1, is not a row"),
]


@pytest.mark.parametrize(
    "case",
    [
        # Those of a kind take one way; the whole table is for --slow.
        pytest.param(case, marks=pytest.mark.slow if number % 3 and case.words == RESUME else ())
        for number, case in enumerate(CASES)
    ],
    ids=lambda case: f"{case.words.split()[0]}: {case.said}",
)
def test_what_was_tampered_with_is_named(case: Case, place: Path) -> None:
    check(case)


@pytest.mark.parametrize("words", [ROWS, SOLVE, RESUME])
def test_what_was_not_is_gone_on_from(words: str, place: Path, gnc: Any) -> None:
    assert gnc(*words.split()).exit_code == 0
