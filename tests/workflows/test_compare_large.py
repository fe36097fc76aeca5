"""Counts and bounds of large codes agree with what lists and brackets of every row say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.rattlers import contact_pairs
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import row_maxima
from gnc_cli.numerics.sphere import chord, random_points
from gnc_cli.workflows import compare_large
from gnc_cli.workflows.compare_large import count_contacts, rho_bracket
from tests.problems import WITH_POINTS, Problem


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_counts_and_bounds(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_large, "_SIDE", 7)
    W = problem.points()  # type: ignore[misc]
    top, _ = row_maxima(W)
    found = certify_code(W, tolerance=1e-7)
    assert found.contact_pairs is not None
    contacts = count_contacts(W, float(chord(top.max())), 1e-7, Deadline())
    assert contacts == len(found.contact_pairs)
    rho = rho_bracket(W, top, Deadline())
    assert rho.lower <= found.rho_one_vs_rest.upper + 1e-12
    assert rho.upper >= found.rho_one_vs_rest.lower - 1e-12
    wide = rho_bracket(W, top, Deadline(0.0))
    assert wide.lower <= rho.lower and rho.upper <= wide.upper


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 60), st.integers(2, 6), st.integers(0, 10**6), st.floats(1e-9, 0.3))
def test_contacts_of_any_tolerance(K: int, d: int, seed: int, tolerance: float) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    shortest = float(chord(row_maxima(W)[0].max()))
    count = count_contacts(W, shortest, tolerance, Deadline())
    assert count == len(contact_pairs(W, tolerance))


def test_too_much_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    W = random_points(np.random.default_rng(0), 20, 3)
    assert count_contacts(W, 0.1, 1e-7, Deadline(0.0)) is None
    monkeypatch.setattr(compare_large, "_MOST_PRODUCTS", 1199.0)
    assert count_contacts(W, 0.1, 1e-7, Deadline()) is None
