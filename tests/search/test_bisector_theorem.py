"""docs/theory/theorem.md: the bisector theorem in exact arithmetic, its sharpness, its use.

The proof is checked by Coq (proofs/). These tests hold its statement against numbers: rational
quadruples without any tolerance, and the certified directions of random and of solved codes.
"""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import normalise, random_points
from tests.problems import WITH_POINTS, Problem

Vector = tuple[Fraction, ...]

_ROOT = Path(__file__).parents[2]


def dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def plus(x: Vector, y: Vector, factor: int = 1) -> Vector:
    return tuple(a + factor * b for a, b in zip(x, y, strict=True))


def on_sphere(projected: Vector) -> Vector:
    """The unit vector with this stereographic projection: all its coordinates are rational."""
    square = dot(projected, projected)
    return (*(2 * a / (square + 1) for a in projected), (square - 1) / (square + 1))


def check_theorem(w: Vector, x: Vector, h: Vector, g: Vector) -> None:
    """The theorem with its stability term, decided by comparing squares of rational numbers."""
    r1, r2 = dot(plus(w, x, -1), h), dot(plus(x, w, -1), g)
    assert r1 > 0 and r2 > 0
    delta, s = 1 - dot(w, x), (r1 + r2) / 2
    a, b = plus(w, h), plus(x, g)
    assert dot(a, a) > 0 and dot(b, b) > 0 and delta > 0
    # <a, b> <= c |a| |b| with c = 1 - s - (s - delta)^2 / (4 delta)
    c = 1 - (delta + s) ** 2 / (4 * delta)
    left, right = dot(a, b), dot(a, a) * dot(b, b)
    if c >= 0:
        assert left <= 0 or left**2 <= c**2 * right
    else:
        assert left < 0 and left**2 >= c**2 * right
    # With s in place of the stability term: equality exactly where everything coincides.
    equal = left**2 == (1 - s) ** 2 * right and (left >= 0) == (1 - s >= 0)
    assert equal == (w == h and x == g)


coordinates = st.fractions(-8, 8, max_denominator=60)
lengths = st.just(Fraction(1)) | st.fractions(Fraction(1, 50), 1, max_denominator=50)
"""Of h and g: at most 1."""


@st.composite
def quadruples(draw: st.DrawFn) -> tuple[Vector, Vector, Vector, Vector]:
    """Rational w, x, h, g with positive margins in 2 to 5 dimensions, some nearly coinciding."""
    d = draw(st.integers(2, 5))
    points = st.tuples(*[coordinates] * (d - 1))
    near = st.sampled_from([1, 10, 1000, 10**6])
    w0, x0 = draw(points), draw(points)
    x0 = plus(w0, tuple(a / draw(near) for a in x0))
    w, x = on_sphere(w0), on_sphere(x0)

    def side(own: Vector, other: Vector, centre: Vector) -> Vector:
        scale, length = draw(near), draw(lengths)
        h = on_sphere(plus(centre, tuple(a / scale for a in draw(points))))
        margin = dot(plus(own, other, -1), h)
        assume(margin != 0)
        return tuple(length * a * (1 if margin > 0 else -1) for a in h)

    return w, x, side(w, x, w0), side(x, w, x0)


@given(quadruples())
def test_the_theorem_on_rational_quadruples(vectors: tuple[Vector, Vector, Vector, Vector]) -> None:
    """And its case of equality, where features are the weights."""
    w, x, _, _ = vectors
    check_theorem(*vectors)
    check_theorem(w, x, w, x)


def check_bisected(W: np.ndarray, H: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """The pairwise form, to rounding, for the classes whose margin is positive; returns U."""
    kept = margins > 0.0
    W, H, margins = W[kept], H[kept], margins[kept]
    sums = W + H
    length = np.linalg.norm(sums, axis=1)
    U = sums / length[:, None]
    s = (margins[:, None] + margins) / 2.0
    delta = ((W[:, None] - W) ** 2).sum(axis=2) / 2.0
    np.fill_diagonal(delta, 1.0)
    # A rounded w, h or margin moves (delta + s)^2 / (4 delta) by 1 + s / delta times its error;
    # u by the error of w + h over its length.
    eps = np.finfo(float).eps
    rounding = 8 * (W.shape[1] + 4) * eps * (1.0 + s / delta + 1.0 / length[:, None] + 1.0 / length)
    excess = U @ U.T - (1.0 - s)
    np.fill_diagonal(excess, -1.0)
    assert (excess <= rounding).all()
    return U


@given(st.integers(2, 40), st.integers(2, 8), st.integers(0, 2**32), st.floats(1e-6, 1.0))
def test_pairwise_form_on_random_codes(K: int, d: int, seed: int, spread: float) -> None:
    """With certified directions, and with any others of length up to 1; a distance too small to
    certify may leave a class without one."""
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    certified = one_vs_rest(W)
    assert (certified.lower > 0.0).sum() >= 2
    check_bisected(W, certified.directions, certified.lower)
    H = normalise(certified.directions + spread * rng.standard_normal((K, d)))
    H *= rng.uniform(0.2, 1.0, (K, 1))
    differences = W[:, None] - W
    margins = np.einsum("kji,ki->kj", differences, H)
    np.fill_diagonal(margins, np.inf)
    margins = margins.min(axis=1)
    assume((margins > 0.0).sum() >= 2)
    check_bisected(W, H, margins)


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_bisecting_a_known_code(problem: Problem) -> None:
    assert problem.points is not None
    W = problem.points()
    certified = one_vs_rest(W)
    U = check_bisected(W, certified.directions, certified.lower)
    assert max_cosine(U) <= 1.0 - certified.lower.min() + 1e-13
    if problem.rattlers == 0:
        assert np.abs(U - W).max() < 1e-6  # the case of equality; a gap of 1e-13 has its root here


def test_the_page_names_what_coq_proves() -> None:
    page = (_ROOT / "docs/theory/theorem.md").read_text(encoding="utf-8")
    stated = (_ROOT / "proofs/Statements.v").read_text(encoding="utf-8")
    proved = set(re.findall(r"^Check @(\w+)\.$", stated, flags=re.MULTILINE))
    rows = [line for line in page.splitlines() if re.search(r"\| .*\.v\b.* \|$", line)]
    for row in rows:
        _, _, names, file, _ = row.replace(r"\|", "").split("|")
        source = (_ROOT / "proofs" / re.findall(r"(\w+\.v)", file)[0]).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^Theorem {name}\b", source, flags=re.MULTILINE), name
            proved.remove(name)
    assert not proved and len(rows) == 23
