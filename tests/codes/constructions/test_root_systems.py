"""Root systems: as stated, closed under their reflections, and found in other codes."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.gosset import CODES as GOSSET
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.root_systems import CODES
from tests.codes.constructions.checks import assert_as_stated, known_codes

BY_NAME = {code.name: code for code in CODES}
CHAIN = {code.name: code for code in GOSSET}


def integers(code: Construction) -> IntegerRows:
    rows = code.build()
    assert isinstance(rows, IntegerRows)
    return rows


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_as_stated(code: Construction) -> None:
    assert_as_stated(code)
    row = known_codes().get((code.d, code.K))
    assert row is None or float(row["max_cosine"]) == code.cosine.value


@pytest.mark.parametrize("code", [*CODES, CHAIN["e8-roots"]], ids=lambda code: code.name)
def test_reflections_permute_the_roots(code: Construction) -> None:
    roots = integers(code)
    x = roots.vectors.astype(np.int64)
    steps, left = np.divmod(2 * (x @ x.T), roots.square)
    assert not left.any()
    images = x[:, None] - steps[:, :, None] * x[None]
    assert {tuple(row) for row in images.reshape(-1, x.shape[1])} == {tuple(row) for row in x}


@pytest.mark.parametrize(("weights", "roots"), [
    ("hemicube", "d5-roots"), ("schlaefli", "e6-roots"), ("equiangular-28", "e7-roots"),
])  # fmt: skip
def test_roots_are_the_differences_of_neighbouring_weights(weights: str, roots: str) -> None:
    code = integers(CHAIN[weights])
    x = code.vectors.astype(np.int64)
    near = CHAIN[weights].cosine.value * code.square
    i, j = np.nonzero(np.abs(x @ x.T - near) < 0.5)
    differences = np.unique(x[i] - x[j], axis=0)
    assert IntegerRows(differences).verify().distribution == (
        integers(BY_NAME[roots]).verify().distribution
    )


def test_wrong_rows_are_caught() -> None:
    roots = integers(BY_NAME["e6-roots"])
    moved = roots.vectors.copy()
    moved[0, 6:] = moved[0, :2]
    moved[0, :2] = 0
    with pytest.raises(ValueError, match="frame misses"):
        IntegerRows(moved, roots.frame).verify()
    doubled = np.concatenate([roots.vectors, roots.vectors[:1]])
    verified = IntegerRows(doubled, roots.frame).verify()
    assert not verified.distinct and verified.K == 73
