"""Invariants (`codes.invariants`, `codes.description`) against closed forms, harmonics summed
directly, and directions drawn at random; rigidity against codes whose verdict is known, and
against the rates of the contacts alone.
"""

import math
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import sph_harm_y

from gnc_cli.brackets import Bracket
from gnc_cli.codes import invariants
from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.description import Design, Jamming, Rigidity
from gnc_cli.codes.invariants import (
    THOMSON,
    UnexaminedError,
    covering_radius,
    describe,
    design,
    energies,
    graph_rank,
    rigidity,
    symmetry,
)
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline
from tests.comparison.samples import built, turned


def strength(W: np.ndarray) -> Design:
    return design(W, Deadline())


def radius(W: np.ndarray) -> Bracket:
    return covering_radius(W, Deadline())


@pytest.mark.parametrize(
    ("name", "order", "degree", "cosine"),
    [
        ("icosahedron", 120, 5, math.sqrt((5.0 + 2.0 * math.sqrt(5.0)) / 15.0)),
        ("24-cell", 1152, 5, math.sqrt(0.5)),
        ("600-cell", 14400, 11, (3.0 + math.sqrt(5.0)) / math.sqrt(32.0)),
        ("orthoplex-3", 48, 3, 1.0 / math.sqrt(3.0)),
        ("orthoplex-5", 3840, 3, 1.0 / math.sqrt(5.0)),
        ("simplex-4", 120, 2, 0.25),
        ("simplex-6", 5040, 2, 1.0 / 6.0),
        ("polygon-7", 14, 6, math.cos(math.pi / 7.0)),
    ],
)
def test_known_codes(
    name: str, order: int, degree: int, cosine: float, rng: np.random.Generator
) -> None:
    W = normalise(turned(built(name), rng))
    contacts = certify_code(W, tolerance=1e-7).contact_pairs
    assert contacts is not None
    of, undecided = describe(W, contacts, Deadline())
    assert of.symmetry is not None and of.design is not None
    assert of.covering_radius_deg is not None and of.rigidity is not None
    assert (of.symmetry.order, of.symmetry.orbits) == (str(order), (len(W),))
    assert of.design.strength == degree and of.design.next_residual > 0.01
    assert of.covering_radius_deg.lower == pytest.approx(math.degrees(math.acos(cosine)))
    assert of.covering_radius_deg.width < 1e-5
    assert (of.left_out, undecided) == ((), ())


def test_roots_of_e8() -> None:
    W = built("e8-roots")
    group = symmetry(W, Deadline(), 1e-6)
    assert (group.order, group.orbits) == ("696729600", (240,))
    assert strength(W).strength == 7
    # The deep holes of the roots are at 45 degrees.
    assert radius(W).lower == pytest.approx(45.0) and radius(W).upper < 48.3


def test_orbits_of_a_code_with_several() -> None:
    # The poles and an equatorial triangle: the group of the prism.
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    ring = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    group = symmetry(np.concatenate([ring, [[0, 0, 1], [0, 0, -1]]]), Deadline(), 1e-6)
    assert (group.order, group.orbits) == ("12", (3, 2))


@pytest.mark.parametrize("name", ["icosahedron", "snub-cube", "square-antiprism", "orthoplex-3"])
def test_strength_by_spherical_harmonics(name: str) -> None:
    W = built(name)
    polar, azimuth = np.arccos(W[:, 2].clip(-1.0, 1.0)), np.arctan2(W[:, 1], W[:, 0])
    sums = [
        np.linalg.norm([sph_harm_y(k, m, polar, azimuth).mean() for m in range(-k, k + 1)])
        * math.sqrt(4.0 * math.pi / (2 * k + 1))
        for k in range(1, 8)
    ]
    of = strength(W)
    assert max(sums[: of.strength], default=0.0) < 1e-12
    assert of.next_residual == pytest.approx(sums[of.strength], abs=1e-9)


def test_strength_by_moments(rng: np.random.Generator) -> None:
    """Averages of all monomials of degree t and t - 1 are those over the sphere, for t = 5."""
    W = normalise(turned(built("24-cell"), rng))
    for degree in (4, 5):
        for axes in combinations_with_replacement(range(4), degree):
            powers = np.bincount(axes, minlength=4)
            sphere = 0.0
            if not (powers % 2).any():
                doubled = [math.prod(range(p - 1, 0, -2)) for p in powers.tolist()]
                sphere = math.prod(doubled) / math.prod(range(4, 4 + degree, 2))
            assert np.prod(W[:, axes], axis=1).mean() == pytest.approx(sphere, abs=1e-12)


@pytest.mark.parametrize(("K", "d"), [(9, 2), (20, 3), (30, 4), (40, 5), (30, 7)])
def test_no_direction_is_farther_than_the_covering_radius(K: int, d: int) -> None:
    rng = np.random.default_rng(K)
    W = random_points(rng, K, d)
    ends = radius(W)
    sampled = (random_points(rng, 50_000, d) @ W.T).max(axis=1).min()
    farthest = math.degrees(math.acos(sampled))
    assert farthest <= ends.upper + 1e-9
    if d <= 4:
        assert ends.width == 0.0 and farthest > ends.lower - (0.1 if d == 2 else 6.0)
    else:
        assert farthest <= ends.lower + 1e-9  # holes are found better than by chance


def test_covering_radius_of_codes_on_one_side() -> None:
    assert radius(np.eye(3)).upper == pytest.approx(math.degrees(math.acos(-(3.0**-0.5))))
    # A great circle; a half sphere with its border; a pair in a plane of five dimensions.
    circle = np.pad(built("polygon-5"), ((0, 0), (0, 1)))
    assert radius(circle) == Bracket(90.0, 90.0)
    cap = np.concatenate([circle, [[0.0, 0.0, 1.0]]])
    assert radius(cap).lower == pytest.approx(90.0)
    flat = np.concatenate([np.eye(5), -np.eye(5)[:4]])
    assert radius(flat) == Bracket(90.0, 90.0)


def test_energies_of_closed_forms() -> None:
    pair = energies(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    assert (pair.coulomb, pair.logarithmic) == (0.5, -math.log(2.0))
    W = built("24-cell")
    distances = [math.dist(a, b) for a, b in combinations(W.tolist(), 2)]
    of = energies(W)
    assert of.coulomb == pytest.approx(sum(1.0 / r for r in distances))
    assert of.logarithmic == pytest.approx(-sum(math.log(r) for r in distances))
    assert of.harmonic == pytest.approx(sum(r**-2 for r in distances))
    assert of.thomson is None and energies(built("polygon-7")).harmonic is None


def test_the_smallest_known_coulomb_energies() -> None:
    """Those that are proved, from their coordinates; and all lie above the mean field's bound."""
    bipyramid = np.concatenate(
        [[[0, 0, 1], [0, 0, -1]], np.pad(built("polygon-3"), ((0, 0), (0, 1)))]
    )
    proved = [built("simplex-3"), bipyramid, built("orthoplex-3"), built("icosahedron")]
    for W in proved:
        of = energies(W)
        assert of.thomson is not None and of.coulomb == pytest.approx(of.thomson, abs=1e-9)
    assert energies(np.pad(built("polygon-3"), ((0, 0), (0, 1)))).thomson == 1.732050808
    assert energies(built("square-antiprism")).coulomb > THOMSON[8 - 2]
    # N^2 / 2 less 0.55 N^(3/2), within a percent from twelve points on.
    for K in range(12, 33):
        assert THOMSON[K - 2] == pytest.approx(K**2 / 2 - 0.5523 * K**1.5, rel=0.01)


def test_rank_of_a_contact_graph() -> None:
    edges = np.array(list(combinations(range(5), 2)))
    assert graph_rank(5, edges) == 5  # complete
    octahedron = np.array([(i, j) for i, j in combinations(range(6), 2) if j - i != 3])
    assert graph_rank(6, octahedron) == 3  # complete tripartite


def test_what_is_not_there_has_a_reason() -> None:
    W = random_points(np.random.default_rng(1), 400, 9)
    of, undecided = describe(W, np.array([[0, 1]]), Deadline(1e-9))
    assert of.design is None and of.energies is None and len(of.left_out) == 6
    assert undecided == tuple(
        f"description.{key}"
        for key in (
            "symmetry",
            "design",
            "covering_radius_deg",
            "energies",
            "contact_graph_rank",
            "rigidity",
        )
    )
    with pytest.raises(UnexaminedError, match="up to 300 rows"):
        symmetry(W, Deadline(), 1e-6)


def test_permutations_of_a_vector_make_a_transitive_code() -> None:
    W = normalise(np.array(list(permutations((0.0, 1.0, 2.0, 3.0)))) - 1.5)
    group = symmetry(W, Deadline(), 1e-6)
    assert (group.order, group.orbits) == ("48", (24,))


# Rigidity

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
    return W, contacts, rigidity(W, contacts, Deadline())


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
    _W, contacts, answer = judged(turned(built(name), rng))
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
    W, _contacts, answer = judged(random_points(np.random.default_rng(3), 20, 4))
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
    _, _contacts, answer = judged(rows)
    assert answer.verdict is Jamming.INFINITESIMALLY_JAMMED
    assert answer.free_points == 3 and answer.rank == answer.degrees_of_freedom == 24 * 3 - 6


def test_a_motion_slower_than_rounding_decides_nothing() -> None:
    # Three pairs of this code are 1e-7 from touching; HiGHS may give up on it.
    ((_, rows),) = stored_codes(7, 43)
    try:
        _, _, answer = judged(rows)
    except UnexaminedError as reason:
        assert "not solved, for lack of time or of digits" in str(reason)
    else:
        assert answer.verdict is Jamming.UNDECIDED and answer.stressed > 100


def test_the_program_agrees_with_a_bound_on_every_contact() -> None:
    """Of the snub cube without a point, no contact opens: each alone, by another program."""
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


@pytest.mark.parametrize(("d", "K"), [(4, 100), (7, 57)])
def test_sparse_factors_agree_with_dense_ones(
    d: int, K: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As codes of more than 3,000 coordinates have them, also where two points leave their code."""
    _, W = next(stored_codes(d, K))
    for rows in (W, np.delete(W, [3, 17], axis=0)):
        contacts = certify_code(rows, tolerance=1e-9).contact_pairs
        assert contacts is not None
        monkeypatch.setattr(invariants, "_MAX_DENSE_COORDINATES", 3000)
        dense = rigidity(rows, contacts, Deadline())
        monkeypatch.setattr(invariants, "_MAX_DENSE_COORDINATES", 10)
        assert rigidity(rows, contacts, Deadline()) == dense


def test_a_code_that_is_too_large_is_left_out() -> None:
    W = random_points(np.random.default_rng(0), 4002, 3)
    with pytest.raises(UnexaminedError, match="more than 8000 coordinates"):
        rigidity(W, np.arange(4002).reshape(-1, 2), Deadline())
