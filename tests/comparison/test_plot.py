"""Plots of comparisons: whole, not blank, reproducible."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.codes.certify import contact_pairs
from gnc_cli.comparison.codes import ComparedCode
from gnc_cli.comparison.plot import _gap_figure, _list_figure
from gnc_cli.comparison.result import CompareResult, FileRow, ListedRow, Mode
from gnc_cli.known_codes.table import TableStamp
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.metrics.gnc2 import Rattlers

STAMP = TableStamp(286, "2026-10", "0" * 64, False)


def row(d: int, K: int, status: ComparisonStatus | None, gap: float | None) -> FileRow:
    return FileRow(
        d=d,
        K=K,
        max_cosine=0.5,
        best_known=None if gap is None else 0.5,
        gap=gap,
        status=status,
        rattlers=Rattlers(0, 0, 1e-7),
        contacts=9,
        source="x",
        proven=K < 9,
        rho_one_vs_rest=None,
        reference=None,
        date=None,
        on_record=True,
        improves_on=None,
        proved_cosine=None,
        advice="",
        min_angle_deg=None,
        congruence=None,
    )


def result(mode: Mode, *rows: Any, codes: tuple[Any, ...] = ()) -> CompareResult:
    return CompareResult(1.0, "0", rows or tuple(c.row for c in codes), STAMP, mode, codes=codes)


def code(W: np.ndarray, **changes: Any) -> ComparedCode:
    K, d = W.shape
    judged = ComparedCode(
        row(d, K, ComparisonStatus.MATCHES, 0.0), W, contact_pairs(W, 1e-9), np.arange(K) == 1
    )
    return dataclasses.replace(judged, **changes)


def orthoplex(d: int) -> np.ndarray:
    return np.concatenate([np.eye(d), -np.eye(d)])


def random_code(d: int, K: int) -> np.ndarray:
    W = np.random.default_rng(0).standard_normal((K, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


ARRAYS = [
    row(
        d,
        K,
        *(
            (ComparisonStatus.MATCHES, 0.0)
            if K % 5
            else (ComparisonStatus.WORSE, 10.0**-K)
            if K % 2
            else (ComparisonStatus.IMPROVES, -1e-6)
            if K < 11
            else (ComparisonStatus.NO_ENTRY, None)
        ),
    )
    for d in (3, 4, 5)
    for K in range(4, 21)
]
FILES = [dataclasses.replace(r, file=f"folder/code-{r.K}.h5") for r in ARRAYS[:6]]
LISTED = [
    ListedRow(
        d=d,
        K=K,
        best_known=1 - d / K,
        rattlers=None,
        contacts=None,
        source="x",
        proven=K < 2 * d,
        figure="0.5",
        record="proved",
    )
    for d in (3, 4, 24)
    for K in (d + 2, 3 * d, 100 * d)
]

RESULTS = {
    "arrays": result(Mode.FILES, *ARRAYS),
    "many dimensions": result(
        Mode.FILES, *(row(d, 9, ComparisonStatus.WORSE, 1e-3) for d in range(3, 14))
    ),
    "no rows": result(Mode.FILES),
    "files": result(Mode.FILES, *FILES, codes=tuple(code(orthoplex(3)) for _ in FILES)),
    "list": result(Mode.LIST, *LISTED),
    "empty list": result(Mode.LIST),
    "polygon": result(Mode.FILES, codes=(code(random_code(2, 7)),)),
    "sphere": result(Mode.FILES, codes=(code(orthoplex(3)),)),
    "orthoplex": result(Mode.FILES, codes=(code(orthoplex(5)),)),
    "no contacts": result(Mode.FILES, codes=(code(random_code(6, 30), contact_pairs=None),)),
    "nothing measured": result(
        Mode.FILES,
        codes=(
            code(
                random_code(6, 30),
                contact_pairs=None,
                rattles=None,
                row=dataclasses.replace(row(6, 30, None, None), max_cosine=None),
            ),
        ),
    ),
    "very many points": result(Mode.FILES, codes=(code(random_code(5, 2500)),)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_comparison_has_a_plot(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    RESULTS[name].plot(path)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        shades = np.asarray(image.convert("L"))
    assert 0.001 < (shades < 160).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


def test_the_list_of_one_dimension_names_it() -> None:
    for rows, named in ((LISTED[:3], True), (LISTED, False), ([], False)):
        figure = _list_figure(result(Mode.LIST, *rows))
        assert ("codes of d = 3" in figure.artists[0].get_text()) is named


def test_the_legend_of_the_list_names_the_kinds_that_are_drawn() -> None:
    proved = [row for row in LISTED if row.proven]
    for rows, kinds in ((LISTED, 2), (proved, 1)):
        legend = _list_figure(result(Mode.LIST, *rows)).axes[0].get_legend()
        assert len(legend.get_texts()) == kinds


def test_a_plot_of_gaps_names_each_status_as_the_table_does() -> None:
    (legend,) = _gap_figure(RESULTS["arrays"]).legends
    names = {text.get_text().replace(" ", "_") for text in legend.get_texts()}
    assert names == {row.status.value for row in ARRAYS if row.status}
