"""Whether a construction is what it says, found from its rows: exactly, and again in doubles."""

import csv
from fractions import Fraction
from functools import cache
from math import isqrt
from pathlib import Path

import numpy as np

from gnc_cli.constructions.construction import CodeRows, Construction, Verification
from gnc_cli.constructions.registry import find

_TABLE = Path(__file__).parents[2] / "data/known_codes/table.csv"
_ALL_PAIRS = 1e8
"""K^2 d up to which every pair of rows is multiplied in doubles."""
_SAMPLE = 40
"""Rows of a larger code that are multiplied with one another."""


def named(name: str) -> Construction:
    """The construction of that name, which exists."""
    found = find(name)
    assert found is not None and found.name == name
    return found


def check(code: Construction) -> Verification:
    """Size, distinctness, cosine, distribution and place in the table of known codes.

    Every value is compared exactly with the result of `verify`, and that with products of doubles.
    """
    rows = code.build()
    found = rows.verify()
    assert rows.shape == (code.K, code.d) and found.K == code.K and found.distinct, code.name
    assert found.max_cosine == code.cosine and found.attained, code.name
    if found.distribution is not None:
        pairs = [pairs for _, pairs in found.distribution]
        assert sum(pairs) == code.K * (code.K - 1) // 2
        if code.distribution is not None:
            stated = [(text, code.K * neighbours) for text, neighbours in code.distribution]
            assert [(c.text, 2 * n) for c, n in found.distribution] == stated, code.name
    _check_table(code, found)
    if float(code.K) ** 2 * code.d <= _ALL_PAIRS:
        _check_products(code, found, gram(rows))
    else:
        some = rows.unit(code.K // 2, code.K // 2 + _SAMPLE)
        products = some @ some.T
        np.testing.assert_allclose(products.diagonal(), 1.0, rtol=0, atol=1e-14)
        assert (products - 2 * np.eye(len(some))).max() < code.cosine.value + 1e-14, code.name
    return found


def _check_products(code: Construction, found: Verification, products: np.ndarray) -> None:
    if found.distribution is not None:
        values, pairs = zip(*((c.value, n) for c, n in found.distribution), strict=True)
        exact = np.repeat(values, pairs)
        np.testing.assert_allclose(spectrum(products), exact, rtol=0, atol=1e-14)
    if code.transitive:
        assert np.ptp(np.sort(products, axis=1), axis=0).max() < 2e-14, code.name
    np.fill_diagonal(products, -1.0)
    assert abs(products.max() - code.cosine.value) < 1e-14, code.name


def _check_table(code: Construction, found: Verification) -> None:
    """What is proved optimal is in the table as that, and nothing is better than a proved code."""
    row = _known_codes().get((code.d, code.K))
    if row is None:
        return
    best, proved = float(Fraction(row["max_cosine"])), row["status"] == "proved"
    assert code.cosine.value >= best - 1e-11 or not proved, code.name
    if code.proven:
        assert proved and abs(code.cosine.value - best) < 1e-14, code.name
        contacts = found.distribution[0][1] if found.distribution else None
        assert contacts is None or row["contacts"] in ("", str(contacts)), code.name


@cache
def _known_codes() -> dict[tuple[int, int], dict[str, str]]:
    """The shipped table of best known codes, by (d, K)."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {(int(row["d"]), int(row["K"])): row for row in csv.DictReader(file)}


def gram(rows: CodeRows) -> np.ndarray:
    """Inner products of the unit rows, in doubles."""
    W = np.asarray(rows)
    assert W.shape == rows.shape and W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, rtol=0, atol=1e-14)
    return np.asarray(W @ W.T)


def spectrum(products: np.ndarray) -> np.ndarray:
    """The products of the pairs of rows, sorted from large to small."""
    return np.sort(products[np.triu_indices(len(products), 1)])[::-1]


def check_parts(rows: CodeRows, start: int, stop: int) -> None:
    """A slice is part of the whole; the first rows are the first rows, with a true cosine."""
    K = len(rows)
    start, stop = sorted((start % (K + 1), stop % (K + 1)))
    whole = np.asarray(rows)
    # Products of other shapes may be rounded otherwise in their last bit.
    np.testing.assert_allclose(rows.unit(start, stop), whole[start:stop], rtol=0, atol=3e-16)
    kept = max(2, stop)
    first = rows.first(kept)
    assert first.shape == (kept, rows.shape[1])
    np.testing.assert_allclose(np.asarray(first), whole[:kept], rtol=0, atol=3e-16)
    found, largest = first.verify(), spectrum(gram(first))[0]
    assert found.K == kept
    if found.attained:
        assert abs(largest - found.max_cosine.value) < 1e-14
    else:
        assert largest < found.max_cosine.value + 1e-14


def regular_two_graph(signs: np.ndarray) -> tuple[int, int]:
    """The two eigenvalues of a regular two-graph's Seidel matrix, the larger first.

    Lines at one common angle, with a unit vector chosen on each, have such a matrix of signs. It
    has only two eigenvalues, and the lines meet the relative bound.
    """
    S = signs.astype(np.int64)
    n = len(S)
    assert np.array_equal(S, S.T) and np.array_equal(np.abs(S), 1 - np.eye(n))
    # S^2 = a S + (n - 1) I: the eigenvalues have the sum a and the product 1 - n.
    square = S @ S
    a = int(square[0, 1] * S[0, 1])
    assert np.array_equal(square, a * S + (n - 1) * np.eye(n))
    root = isqrt(a * a + 4 * (n - 1))
    return (a + root) // 2, (a - root) // 2


def strongly_regular(adjacency: np.ndarray) -> tuple[int, int, int, int]:
    """(v, k, lambda, mu) of a strongly regular graph, from every entry of A^2."""
    A = adjacency.astype(int)
    v, square = len(A), A @ A
    same = np.eye(v, dtype=bool)
    k, lam, mu = (set(square[where].tolist()) for where in (same, A == 1, ~same & (A == 0)))
    assert np.array_equal(A, A.T) and len(k) == len(lam) == len(mu) == 1
    return v, k.pop(), lam.pop(), mu.pop()
