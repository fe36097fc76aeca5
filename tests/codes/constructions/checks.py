"""What every construction must hold: its rows say what it states, and its embedding agrees."""

import csv
from pathlib import Path

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Rows, Verified

__all__ = ["assert_as_stated", "gram", "known_codes", "spectrum"]

_TABLE = Path(__file__).parents[3] / "data/known_codes/table.csv"


def gram(rows: Rows) -> np.ndarray:
    """Inner products of the unit rows, in doubles."""
    W = np.asarray(rows)
    assert W.shape == rows.shape and W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, rtol=0, atol=1e-15)
    return np.asarray(W @ W.T)


def spectrum(products: np.ndarray) -> np.ndarray:
    """The products of the pairs of rows, sorted from large to small."""
    return np.sort(products[np.triu_indices(len(products), 1)])[::-1]


def assert_as_stated(code: Construction) -> Verified:
    """Size, distinctness, cosine, distribution, and doubles against the exact products."""
    rows = code.build()
    verified = rows.verify()
    assert rows.shape == (code.K, code.d) and verified.K == code.K and verified.distinct
    assert verified.max_cosine == code.cosine
    products = gram(rows)
    assert verified.distribution is not None
    exact = np.repeat(
        [cosine.value for cosine, _ in verified.distribution],
        [pairs for _, pairs in verified.distribution],
    )
    np.testing.assert_allclose(spectrum(products), exact, rtol=0, atol=1e-14)
    if code.distribution is not None:
        stated = [(text, code.K * neighbours) for text, neighbours in code.distribution]
        assert [(cosine.text, 2 * pairs) for cosine, pairs in verified.distribution] == stated
    if code.transitive:
        assert np.ptp(np.sort(products, axis=1), axis=0).max() < 1e-14
    return verified


def known_codes() -> dict[tuple[int, int], dict[str, str]]:
    """The shipped table of best known codes, by (d, K)."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {(int(row["d"]), int(row["K"])): row for row in csv.DictReader(file)}
