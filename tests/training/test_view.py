"""The tables of `gnc train`: the answer first, nothing cut, the same words at every width."""

import os
from dataclasses import replace
from typing import Any

import pytest

from gnc_cli.brackets import Bracket
from gnc_cli.console.table import printed
from gnc_cli.training.view import view
from tests.training.made_runs import DATA, HEAD, gaps, hexagon, run, square

CMF = replace(HEAD, kind="cmf", beta=0.9, saved_share=0.0025)
COSFACE = replace(
    HEAD,
    kind="fixed",
    code="solve",
    assignment="best",
    loss="cosface",
    margin=0.25,
    permutation=(1, 0),
    margin_source="the fixed code",
)
STEP = {"optimizer": "sgd", "momentum": 0.9, "schedule": "step", "milestones": [27, 53]}
DECAY = replace(HEAD, constraint="decay", tau=1.0)
MEASURED = run().measured
assert MEASURED is not None


def drawn(result: Any, width: int = 80, verbose: bool = False) -> str:
    os.environ["COLUMNS"] = str(width)
    try:
        return printed(view(result, verbose), None)
    finally:
        del os.environ["COLUMNS"]


def test_a_run_as_a_person_sees_it() -> None:
    assert (
        drawn(run())
        == """\
glyphs: cnn   d = 10, K = 100

test accuracy      0.9531    best 0.9531 after epoch 60
training accuracy  0.9997
NCC accuracy       0.9947    training set, by its class means
test NCC accuracy  0.9481    by the same means
GNC1               0.003333  from 0.278 after epoch 1
GNC2               0.332119  certified
  ratio            0.4964    of 0.669012, code found by gnc
GNC3               0.06452   from 0.918 after epoch 1

run: 60 epochs in 2 min 42 s, runs/2026-11-21-1530-glyphs-cnn

completed
"""
    )


@pytest.mark.parametrize("result", [run(), gaps(), square(), hexagon()], ids=str(0).format)
def test_tables_keep_within_their_width(result: Any) -> None:
    text = drawn(result, 100)
    assert max(map(len, text.splitlines())) <= 100
    assert "0.9" in text and "completed" in text and "…" not in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"head": CMF}, ["head.kind cmf", "head.saved_share 0.0025"]),
        (
            {},
            ["head.kind learned head.constraint sphere head.tau 0.1", "; lr 0.003; "],
        ),
        (
            {"head": COSFACE},
            ["head.margin 0.25", "head.code solve head.assignment best", "the fixed code"],
        ),
        ({"head": DECAY}, ["head.constraint decay"]),
        ({"data": DATA | {"test_images": None}}, ["; train_images 900; ", "; image_size 32; "]),
        (
            {
                "data": DATA | {"ood": {"name": "folder:stl", "classes_matched": 9}},
                "ood_accuracy": 0.5,
            },
            ["0.5000 folder:stl, 9 classes matched by name"],
        ),
        (
            {
                "outcome": "time_limit",
                "epochs_asked": 90,
                "advice": "stopped by --time-limit, go on with --resume",
            },
            ["time limit after 60 of 90 epochs: go on with --resume"],
        ),
        (
            {"outcome": "interrupted", "advice": "interrupted, a checkpoint is written"},
            ["interrupted: a checkpoint is written"],
        ),
        ({"processes": 2}, ["device cpu processes 2"]),
        (
            {"measured": replace(MEASURED, gnc2=Bracket(0.3, 0.4), gnc2_ratio=0.4484)},
            [">=0.300000", "at most 0.400000", "ratio >=0.448"],
        ),
        ({"measured": replace(MEASURED, gnc2_reference=None)}, ["certified GNC3"]),
        ({"measured": None, "history": (), "best": None}, ["test accuracy 0.95"]),
    ],
)
def test_what_is_special_is_said(changes: dict[str, Any], said: list[str]) -> None:
    made = run(**changes)
    text = " ".join(f"{drawn(made, 200)} {drawn(made, 200, verbose=True)}".split())
    for words in said:
        assert words in text


def test_assignments_are_a_line_each() -> None:
    lines = drawn(square(), 100).splitlines()
    assert lines[0] == "Assignments of the classes   3 runs   runs/series"
    rows = [line.split() for line in lines[3:6]]
    assert [row[1:5] for row in rows] == [list("0123"), list("0213"), list("0132")]
    assert [row[5] for row in rows] == ["0.9500", "0.9300", "0.9100"]
    assert "completed" in lines
