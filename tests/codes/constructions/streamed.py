"""What every streamed construction must hold: figures, exact cosine and all pairs of rows agree."""

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Rows, Verified

__all__ = ["assert_figures", "assert_parts", "largest_cosine"]


def largest_cosine(rows: Rows) -> float:
    """Over all pairs of different rows, in doubles; the rows have length 1."""
    W = np.asarray(rows)
    assert W.shape == rows.shape and W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, rtol=0, atol=3e-15)
    largest = -1.0
    for start in range(0, len(W), 1024):
        products = W[start : start + 1024] @ W.T
        np.fill_diagonal(products[:, start:], -1.0)
        largest = max(largest, float(products.max()))
    return largest


def assert_figures(code: Construction) -> Verified:
    """Build a code small enough for all pairs and hold its figures against them."""
    rows = code.build()
    found = rows.verify()
    assert rows.shape == (code.K, code.d) and found.K == code.K and found.distinct
    assert found.max_cosine == code.cosine
    assert abs(largest_cosine(rows) - code.cosine.value) < 1e-14
    if found.distribution is not None:
        W = np.asarray(rows)
        products = np.sort((W @ W.T)[np.triu_indices(len(W), 1)])[::-1]
        exact = np.repeat(
            [cosine.value for cosine, _ in found.distribution],
            [pairs for _, pairs in found.distribution],
        )
        np.testing.assert_allclose(products, exact, rtol=0, atol=1e-14)
        if code.distribution is not None:
            stated = [(text, code.K * neighbours) for text, neighbours in code.distribution]
            assert [(c.text, 2 * pairs) for c, pairs in found.distribution] == stated
    return found


def assert_parts(rows: Rows, start: int, stop: int) -> None:
    """A slice is part of the whole; the first rows are the first rows, with a true cosine."""
    K = len(rows)
    start, stop = sorted((start % (K + 1), stop % (K + 1)))
    whole = np.asarray(rows)
    np.testing.assert_array_equal(rows.unit(start, stop), whole[start:stop])
    kept = max(2, stop)
    first = rows.first(kept)
    assert first.shape == (kept, rows.shape[1])
    np.testing.assert_array_equal(np.asarray(first), whole[:kept])
    found, largest = first.verify(), largest_cosine(first)
    assert found.K == kept
    if "upper bound" in found.how:
        assert largest < found.max_cosine.value + 1e-14
    else:
        assert abs(largest - found.max_cosine.value) < 1e-14
