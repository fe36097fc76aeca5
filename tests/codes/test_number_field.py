"""Exact codes in number fields: proved for codes of every kind, and for nothing that is false."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gnc_cli import solve
from gnc_cli.codes.digits import Digits, MinimalPolynomial, many_digits, minimal_polynomial
from gnc_cli.codes.number_field import DECIMALS, is_root
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline
from tests.problems import antiprism, cell24, icosahedron, polygon, random_rotation, seven


def polished(W: np.ndarray, decimals: int = DECIMALS) -> Digits:
    W = W @ random_rotation(np.random.default_rng(6), W.shape[1])
    found = many_digits(W, decimals)
    assert isinstance(found, Digits)
    return found


def stored(d: int, K: int) -> np.ndarray:
    return next(stored_codes(d, K))[1]


def pentagon_and_poles() -> np.ndarray:
    """The poles are rattlers, and five contacts alone hold nothing."""
    return np.vstack([polygon(5) @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])


CODES: list[tuple[Callable[[], np.ndarray], str]] = [
    (icosahedron, "5x^2 - 1"),
    (seven, "3x^3 - 9x^2 - 3x + 1"),
    (antiprism, "7x^2 + 2x - 1"),
    (cell24, "2x - 1"),
    (partial(polygon, 5), "4x^2 + 2x - 1"),
    (pentagon_and_poles, "4x^2 + 2x - 1"),
    (lambda: polygon(6) @ np.eye(2, 4), "2x - 1"),
    (lambda: np.asarray(solve(4, 10, restarts=1).weights), "6x - 1"),
    (partial(stored, 3, 13), "x^8 - 24x^7 - 12x^6 + 8x^5 + 38x^4 + 24x^3 - 12x^2 - 8x + 1"),
    (partial(stored, 3, 15), "13x^5 - x^4 + 6x^3 + 2x^2 - 3x - 1"),
    (partial(stored, 3, 20), "21x^3 - 9x^2 - 5x + 1"),  # two rattlers
    (partial(stored, 4, 14), "58x^7 + 174x^6 + 140x^5 - 16x^4 - 54x^3 - 10x^2 + 4x + 1"),
    (lambda: np.asarray(solve(construction="schlaefli").weights), "4x - 1"),
]
"""With the minimal polynomials of their cosines; that of (3, 15) is in the table's note."""


@pytest.mark.parametrize(("code", "polynomial"), CODES)
def test_exact_codes_are_found(code: Callable[[], np.ndarray], polynomial: str) -> None:
    found = polished(code())
    proposal = minimal_polynomial(found.cosine)
    assert proposal is not None and str(proposal) == polynomial
    assert is_root(found, proposal, Deadline())


FIVE = MinimalPolynomial((5, 0, -1), 40.0)


def test_what_is_false_is_not_proved() -> None:
    found = polished(icosahedron())
    assert is_root(found, FIVE, Deadline())
    for wrong in (
        (25, 0, -10, 0, 1),  # its square
        (5, 5, -1, -1),  # a multiple
        (5, 0, -2),
        (1, 0, 1),  # no real root
        (447213595499957939, -(10**18)),
        (2, -1),
    ):
        assert not is_root(found, replace(FIVE, coefficients=wrong), Deadline()), wrong
    apart = next(
        [i, j]
        for i in range(12)
        for j in range(i)
        if [j, i] not in found.contacts.tolist() and [i, j] not in found.contacts.tolist()
    )
    false_contact = replace(found, contacts=np.vstack([found.contacts, apart]))
    assert not is_root(false_contact, FIVE, Deadline())


def test_one_wrong_length_is_seen() -> None:
    """A code whose rows are in the field, with one row stretched by an element of it."""
    found = polished(icosahedron())
    points = found.points.copy()
    points[3] = points[3] * 2
    assert not is_root(replace(found, points=points), FIVE, Deadline())


def test_what_stays_a_proposal() -> None:
    """Contacts that leave freedom, too few digits, no time."""
    free = np.vstack([polygon(7)[[0, 2, 5]] @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    turn = np.array([[np.cos(1e-2), np.sin(1e-2)], [-np.sin(1e-2), np.cos(1e-2)]])
    free[2, :2] = turn @ free[2, :2]
    found = polished(free)
    assert float(found.cosine) == 0.0
    assert not is_root(found, MinimalPolynomial((1, 0), 40.0), Deadline())
    assert not is_root(polished(icosahedron(), 40), FIVE, Deadline())
    late = Deadline(0.0)
    assert not is_root(polished(icosahedron()), FIVE, late)
