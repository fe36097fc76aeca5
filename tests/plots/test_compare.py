"""Pictures of comparisons: whole, not blank, reproducible; densities and orders that are right."""

import dataclasses
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.errors import UsageError
from gnc_cli.plots.compare import plot_compare
from gnc_cli.plots.contacts import circular_order
from gnc_cli.plots.density import neighbours, packing_density
from gnc_cli.plots.sphere import contact_pairs
from gnc_cli.results import CompareResult, CompareRow, Rattlers, Standing, TableStamp

STAMP = TableStamp(286, "2026-10", "0" * 64, False)


def row(d: int, K: int, status: Standing | None, gap: float | None, **more: Any) -> CompareRow:
    best = 0.5 if gap is not None else None
    return CompareRow(
        d, K, 0.5, best, gap, status, Rattlers(0, 0, 1e-7), 9, None, "x", K < 9, more=more
    )


def result(mode: str, *rows: CompareRow, codes: tuple[Any, ...] = ()) -> CompareResult:
    return CompareResult(1.0, "0", rows, STAMP, {"mode": mode, "codes": codes})


def code(W: np.ndarray, **changes: Any) -> SimpleNamespace:
    K, d = W.shape
    pairs = contact_pairs(W, 1e-9)
    fields = dict(
        row=row(d, K, Standing.MATCHES, 0.0), weights=W, contact_pairs=pairs,
        rattles=np.arange(K) == 1,
    )  # fmt: skip
    return SimpleNamespace(**(fields | changes))


def orthoplex(d: int) -> np.ndarray:
    return np.concatenate([np.eye(d), -np.eye(d)])


def random_code(d: int, K: int) -> np.ndarray:
    W = np.random.default_rng(0).standard_normal((K, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


SOLVES = [
    row(d, K, *(
        (Standing.MATCHES, 0.0) if K % 5 else (Standing.WORSE, 10.0**-K) if K % 2 else
        (Standing.IMPROVES, -1e-6) if K < 11 else (Standing.NO_ENTRY, None)
    ))
    for d in (3, 4, 5) for K in range(4, 21)
]  # fmt: skip
FILES = [dataclasses.replace(r, file=f"folder/code-{r.K}.h5") for r in SOLVES[:6]]
LISTED = [
    CompareRow(d, K, None, 1 - d / K, None, None, None, None, None, "x", proven=K < 2 * d)
    for d in (3, 4, 24) for K in (d + 2, 3 * d, 100 * d)
]  # fmt: skip

RESULTS = {
    "solve": result("solve", *SOLVES),
    "many dimensions": result("solve", *(row(d, 9, Standing.WORSE, 1e-3) for d in range(3, 14))),
    "one row": result("solve", row(3, 7, Standing.MATCHES, -1e-16)),
    "no rows": result("solve"),
    "files": result("files", *FILES, codes=tuple(code(orthoplex(3)) for _ in FILES)),
    "list": result("list", *LISTED),
    "one of the list": result("list", *LISTED[:1]),
    "empty list": result("list"),
    "polygon": result("files", codes=(code(random_code(2, 7)),)),
    "sphere": result("files", codes=(code(orthoplex(3)),)),
    "orthoplex": result("files", codes=(code(orthoplex(5)),)),
    "no contacts": result("files", codes=(code(random_code(6, 30), contact_pairs=None),)),
    "nothing measured": result(
        "files", row(6, 30, None, None), codes=(code(
            random_code(6, 30), contact_pairs=None, rattles=None,
            row=dataclasses.replace(row(6, 30, None, None), max_cosine=None),
        ),),
    ),
    "very many points": result("files", codes=(code(random_code(5, 2500)),)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_comparison_has_a_picture(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    plot_compare(RESULTS[name], path)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        shades = np.asarray(image.convert("L"))
    assert 0.001 < (shades < 160).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


_REDRAWN = [pytest.param(n, marks=pytest.mark.slow) for n in ("solve", "list", "orthoplex")]


@pytest.mark.parametrize("name", ["files", *_REDRAWN])
def test_pictures_are_reproducible(tmp_path: Path, name: str) -> None:
    for run in ("one", "two"):
        plot_compare(RESULTS[name], tmp_path / f"{run}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_bad_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_compare(RESULTS["solve"], tmp_path / "a.jpg")
    assert os.listdir(tmp_path) == []


def test_the_picture_says_what_was_missed(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    plot_compare(RESULTS["solve"], path)
    text = path.read_text()
    for said in ("d = 3", "d = 4", "d = 5", "missed", "improves", "no entry", "table of 2026-10"):
        assert f"<!-- {said}" in text or said in text


@pytest.mark.parametrize(
    ("d", "K", "cosine", "density"),
    [
        # d = 2: arcs; d = 3: caps of height 1 - cos(theta / 2), share (1 - cos(theta / 2)) / 2.
        (2, 3, -0.5, 1.0),
        (2, 4, -0.5, 4 / 3),
        (3, 4, -1 / 3, 2 * (1 - 3**-0.5)),
        (3, 12, 5**-0.5, 6 * (1 - ((1 + 5**-0.5) / 2) ** 0.5)),
        (5, 2, -1.0, 1.0),
    ],
)
def test_densities(d: int, K: int, cosine: float, density: float) -> None:
    assert packing_density(d, K, cosine) == pytest.approx(density, abs=1e-8)


@pytest.mark.parametrize(
    ("K", "runs"),
    [
        ([5], [[5]]),
        ([2, 3, 4, 5], [[2, 3, 4, 5]]),
        ([2, 4, 5, 8, 10, 13, 17], [[2], [4, 5], [8, 10, 13], [17]]),
        ([24, 120, 121, 720], [[24], [120, 121], [720]]),
    ],
)
def test_lines_join_neighbours_only(K: list[int], runs: list[list[int]]) -> None:
    """8 to 10 and 10 to 13 are factors of at most 1.3; 5 to 8 and 13 to 17 are more."""
    assert [[K[i] for i in run] for run in neighbours(np.array(K))] == runs


def test_density_by_integration() -> None:
    from scipy.integrate import quad

    d, K, cosine = 8, 240, 0.5
    cap = quad(lambda a: np.sin(a) ** (d - 2), 0.0, np.pi / 6)[0]
    sphere = quad(lambda a: np.sin(a) ** (d - 2), 0.0, np.pi)[0]
    assert packing_density(d, K, cosine) == pytest.approx(K * cap / sphere, abs=1e-10)


def test_the_circular_order_unrolls_a_cycle() -> None:
    K = 12
    shuffled = np.random.default_rng(0).permutation(K)
    pairs = np.column_stack([shuffled, np.roll(shuffled, -1)])
    order = circular_order(K, pairs)
    assert sorted(order) == list(range(K))
    place = np.argsort(order)
    steps = (place[pairs[:, 0]] - place[pairs[:, 1]]) % K
    assert set(np.minimum(steps, K - steps)) == {1}


def test_an_order_without_contacts_is_a_permutation() -> None:
    none = np.empty((0, 2), dtype=np.intp)
    for K in (2, 3, 9):
        assert sorted(circular_order(K, none)) == list(range(K))
