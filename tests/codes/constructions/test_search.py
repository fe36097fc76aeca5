"""The best construction for (d, K) has K rows of R^d at the cosine it states."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.search import best_construction


@pytest.mark.parametrize(
    ("d", "K"), [(4, 13), (4, 14), (5, 11), (6, 18), (7, 57), (8, 30), (9, 60), (12, 100)]
)
def test_rows_are_as_stated(d: int, K: int) -> None:
    code = best_construction(d, K)
    assert code is not None and (code.d, code.K) == (d, K)
    W = np.asarray(code.build())
    assert W.shape == (K, d)
    gram = W @ W.T
    assert np.abs(gram.diagonal() - 1.0).max() < 1e-12
    assert (gram - 2.0 * np.eye(K)).max() <= code.cosine.value + 1e-12
