"""The fast transform against the matrix, and the matrix against its definition."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.walsh import hadamard, walsh


@pytest.mark.parametrize("m", [0, 1, 2, 5, 6, 7, 8, 10])
def test_transform_is_the_matrix_product(m: int, rng: np.random.Generator) -> None:
    values = rng.integers(-1, 2, (7, 2**m)).astype(np.int8)
    assert (walsh(values) == hadamard(m).astype(np.int64) @ values.T).all()


def test_largest_coefficients_fit() -> None:
    for m in (6, 7, 12):
        found = walsh(np.ones((3, 2**m), dtype=np.int8))
        assert (found[0] == 2**m).all() and not found[1:].any()


def test_matrix_by_its_definition() -> None:
    signs = [[(-1) ** (a & x).bit_count() for x in range(16)] for a in range(16)]
    assert (hadamard(4) == signs).all()
