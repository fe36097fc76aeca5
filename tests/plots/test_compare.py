"""Every mode of `gnc compare --plot` is drawn, whole and valid; densities are those of caps."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gnc_cli import compare
from gnc_cli.errors import OutputError, UsageError
from gnc_cli.plots.compare import plot_compare
from gnc_cli.plots.density import packing_density
from gnc_cli.results import CompareResult
from tests.cli.compare_fakes import (
    better,
    listed,
    probed,
    result,
    row,
    solved,
    unlisted,
    worse,
)


def random_code(d: int, K: int) -> np.ndarray:
    W = np.random.default_rng(0).standard_normal((K, d))
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


RESULTS: dict[str, CompareResult] = {
    "solves": result(solved(), solved(K=25), solved(d=5, K=9), worse(file=None), mode="solve"),
    "several": result(row(), worse(), unlisted(), better()),
    "list": result(listed(), listed(d=8, K=1000, best_known=0.7, proven=None), mode="list"),
    "conjecture": result(
        probed(), probed(d=4, K=9, more={"excess": 1e-6, "verdict": "candidate"}),
        probed(K=30, more={"excess": None, "verdict": None}), mode="conjecture",
    ),
    "many dimensions": result(*(solved(d=d, K=2 * d) for d in range(3, 20)), mode="solve"),
    "nothing": result(mode="solve"),
    "nothing known": result(unlisted(), mode="solve"),
    "no list": result(mode="list"),
    "no conjecture": result(mode="conjecture"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_mode_is_drawn(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    plot_compare(RESULTS[name], path)
    with Image.open(path) as image:
        image.load()
        assert min(image.size) > 300
        assert np.ptp(np.asarray(image.convert("L"))) > 100
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.parametrize("pair", [(2, 7), (3, 12), (4, 20), (8, 40)])
def test_one_code_shows_its_contacts(tmp_path: Path, pair: tuple[int, int]) -> None:
    d, K = pair
    found = compare(random_code(d, K), plot=tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text.startswith("<?xml") and len(text) > 5000
    plot_compare(found, tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text() == text


def test_a_code_that_was_not_measured_has_no_picture_of_its_own(tmp_path: Path) -> None:
    large = random_code(3, 3001)
    plot_compare(compare(large, time_limit=1e-9), tmp_path / "a.png")
    plot_compare(compare(large), tmp_path / "b.png")
    assert {p.name for p in tmp_path.iterdir()} == {"a.png", "b.png"}


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        plot_compare(RESULTS["list"], tmp_path / "a.gif")
    with pytest.raises(OutputError):
        plot_compare(RESULTS["list"], tmp_path / "nowhere/a.png")


@pytest.mark.parametrize(
    ("d", "K", "cosine", "share"),
    [
        (2, 7, np.cos(2 * np.pi / 7), 1.0),
        (2, 2, -1.0, 1.0),
        # In space a cap of radius r has area 2 pi (1 - cos r) of 4 pi.
        (3, 6, 0.0, 6 * (1 - np.cos(np.pi / 4)) / 2),
        (3, 12, 1 / 5**0.5, 12 * (1 - np.cos(np.arccos(1 / 5**0.5) / 2)) / 2),
        # In four dimensions (2 r - sin 2 r) / (2 pi).
        (4, 24, 0.5, 24 * (np.pi / 3 - np.sin(np.pi / 3)) / (2 * np.pi)),
    ],
)
def test_density_is_the_share_of_the_caps(d: int, K: int, cosine: float, share: float) -> None:
    assert packing_density(d, K, cosine) == pytest.approx(share, rel=1e-11)
