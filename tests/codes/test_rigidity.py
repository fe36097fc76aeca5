"""Rigidity against codes whose verdict is known, and against the rates of the contacts alone."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.description import Jamming, Rigidity
from gnc_cli.codes.rigidity import rigidity
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline
from tests.comparison.samples import built, turned

CUBE = np.array(list(product((-1.0, 1.0), repeat=3)))
CUBOCTAHEDRON = np.array([p for p in product((-1.0, 0.0, 1.0), repeat=3) if np.abs(p).sum() == 2.0])
TRIANGLE = np.array([[1.0, 0.0, 0.0], [-0.5, np.sqrt(0.75), 0.0], [-0.5, -np.sqrt(0.75), 0.0]])
POLES = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
CAPPED = np.concatenate([POLES, np.eye(3)[:2], -np.eye(3)[:1]])
"""Five points of an octahedron, one of the optimal codes of (3, 5)."""
PRISM = np.concatenate([POLES, TRIANGLE])
"""Another one: three points on the equator."""


def judged(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, Rigidity]:
    W = normalise(rows)
    contacts = certify_code(W, tolerance=1e-7).contact_pairs
    assert contacts is not None
    answer = rigidity(W, contacts, Deadline())
    assert isinstance(answer, Rigidity)
    return W, contacts, answer


def largest(W: np.ndarray) -> float:
    return float((W @ W.T - 2.0 * np.eye(len(W))).max())


@pytest.mark.parametrize(
    ("name", "freedom"),
    [
        ("icosahedron", 21),
        ("snub-cube", 45),
        ("square-antiprism", 13),
        ("24-cell", 66),
        ("600-cell", 354),
        ("orthoplex-5", 30),
        ("simplex-4", 9),
        ("polygon-7", 6),
    ],
)
def test_codes_that_are_infinitesimally_jammed(
    name: str, freedom: int, rng: np.random.Generator
) -> None:
    W, contacts, answer = judged(turned(built(name), rng))
    assert answer.verdict is Jamming.INFINITESIMALLY_JAMMED
    assert answer.stressed == len(contacts) and answer.free_points == 0
    assert answer.rank == answer.degrees_of_freedom == freedom
    assert answer.direction is None


@pytest.mark.parametrize("rows", [CUBE, CUBOCTAHEDRON], ids=["cube", "cuboctahedron"])
def test_codes_that_open_at_second_order(rows: np.ndarray, rng: np.random.Generator) -> None:
    W, contacts, answer = judged(turned(rows, rng))
    assert answer.verdict is Jamming.OPENS and answer.stressed == len(contacts)
    assert answer.rank < answer.degrees_of_freedom
    assert answer.direction is not None
    move = np.array(answer.direction)
    np.testing.assert_allclose(np.einsum("kd,kd->k", move, W), 0.0, atol=1e-12)
    i, j = contacts.T
    rates = np.einsum("md,md->m", move[i], W[j]) + np.einsum("md,md->m", W[i], move[j])
    assert np.abs(rates).max() < 0.05  # first derivatives vanish, up to the length of the step


def test_a_random_code_opens_at_first_order() -> None:
    W, contacts, answer = judged(random_points(np.random.default_rng(3), 20, 4))
    assert answer.verdict is Jamming.OPENS and answer.stressed == 0 and answer.free_points == 20
    stepped = normalise(W + 1e-4 * np.array(answer.direction))
    assert largest(stepped) < largest(W) - 1e-5


def test_a_perturbed_code_with_many_contacts_opens() -> None:
    # Two neighbours of an octahedron come closer: their contact alone is left.
    W, contacts, answer = judged(np.concatenate([POLES, CAPPED[2:4] + [0.1, 0.1, 0.0]]))
    assert len(contacts) == 1 and answer.verdict is Jamming.OPENS
    assert largest(normalise(W + 0.1 * np.array(answer.direction))) < largest(W)


@pytest.mark.parametrize("rows", [CAPPED, PRISM], ids=["octahedron", "prism"])
def test_five_points_are_not_jammed(rows: np.ndarray, rng: np.random.Generator) -> None:
    _, contacts, answer = judged(turned(rows, rng))
    assert answer.verdict is Jamming.FLEXIBLE and "moves alone" in answer.reason
    assert answer.stressed == (4 if len(contacts) == 8 else 6)


def test_jammed_by_second_derivatives_only() -> None:
    # An antipodal pair and a triangle on a great circle: each may leave its plane at first order.
    for rows in (POLES, TRIANGLE):
        _, _, answer = judged(rows)
        assert answer.verdict is Jamming.JAMMED and answer.rank < answer.degrees_of_freedom


def test_rattlers_are_set_aside() -> None:
    ((_, rows),) = stored_codes(4, 27)
    _, contacts, answer = judged(rows)
    assert answer.verdict is Jamming.INFINITESIMALLY_JAMMED
    assert answer.free_points == 3 and answer.rank == answer.degrees_of_freedom == 24 * 3 - 6


def test_a_motion_slower_than_rounding_decides_nothing() -> None:
    # Three pairs of this code are 1e-7 from touching.
    ((_, rows),) = stored_codes(7, 43)
    _, _, answer = judged(rows)
    assert answer.verdict is Jamming.UNDECIDED and answer.stressed > 100


def test_the_programme_agrees_with_a_bound_on_every_contact() -> None:
    """Of the snub cube without a point, no contact opens: each alone, by another programme."""
    W, contacts, answer = judged(built("snub-cube")[1:])
    assert answer.verdict is Jamming.INFINITESIMALLY_JAMMED and answer.stressed == 55
    rates = np.zeros((len(contacts), W.size))
    for row, (i, j) in enumerate(contacts):
        rates[row, 3 * i : 3 * i + 3], rates[row, 3 * j : 3 * j + 3] = W[j], W[i]
    tangent = np.zeros((len(W), W.size))
    for i, w in enumerate(W):
        tangent[i, 3 * i : 3 * i + 3] = w
    for row in range(0, len(contacts), 5):
        least = linprog(
            rates[row],
            A_ub=rates,
            b_ub=np.zeros(len(contacts)),
            A_eq=tangent,
            b_eq=np.zeros(len(W)),
            bounds=(-1.0, 1.0),
        )
        assert least.fun == pytest.approx(0.0, abs=1e-7)


def test_a_code_that_is_too_large_is_left_out() -> None:
    W = random_points(np.random.default_rng(0), 1600, 3)
    assert rigidity(W, np.array([[0, 1]]), Deadline()) == "more than 3000 coordinates"
