"""Whether a construction is what it says: asked of its rows twice, as integers and as floats."""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Rows

__all__ = ["assert_holds"]


def assert_holds(code: Construction) -> Rows:
    """Build a code with rational inner products and compare all it states with its rows."""
    assert code.distribution is not None
    rows = code.build()
    found = rows.verify()
    assert rows.shape == (code.K, code.d) and found.K == code.K and found.distinct
    assert found.max_cosine == code.cosine and found.how.startswith("all pairs, exact integers")
    assert found.distribution is not None
    stated = [(text, code.K * neighbours) for text, neighbours in code.distribution]
    assert [(cosine.text, 2 * pairs) for cosine, pairs in found.distribution] == stated
    _in_floats(np.asarray(rows), code.distribution)
    return rows


def _in_floats(W: np.ndarray, distribution: tuple[tuple[str, int], ...]) -> None:
    """Unit rows, each with the stated neighbours to 1e-13, spread evenly over the space."""
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-15)
    for start in range(0, len(W), 512):
        gram = W[start : start + 512] @ W.T
        for text, neighbours in distribution:
            near = np.abs(gram - float(Fraction(text))) < 1e-13
            assert (near.sum(1) == neighbours).all()
    assert sum(neighbours for _, neighbours in distribution) == len(W) - 1
    # Sharp codes and spectral embeddings are tight: second moments as on the sphere.
    K, d = W.shape
    np.testing.assert_allclose(W.T @ W, K / d * np.eye(d), atol=1e-12 * K)
