"""Brackets of one-vs-rest distances against exact arithmetic: the true distance is never outside.

A double is a rational number, so the distance of the rows that the program sees is known exactly:
P. Wolfe's method (Finding the nearest point in a polytope, 1976) ends after finitely many steps in
rational arithmetic, at a hull point and a hyperplane that prove each other. Nothing here has a
tolerance.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest, one_vs_rest
from tests.problems import hemicube, icosahedron, orthoplex, simplex

Point = tuple[Fraction, ...]


def squared_distance(W: np.ndarray, k: int) -> Fraction:
    """The squared distance of row k to the hull of the other rows, exactly."""
    own = [Fraction(c) for c in W[k].tolist()]
    V = [
        tuple(a - Fraction(c) for a, c in zip(own, row.tolist(), strict=True))
        for row in np.delete(W, k, axis=0)
    ]
    corral, weights = [min(range(len(V)), key=lambda j: dot(V[j], V[j]))], [Fraction(1)]
    while True:
        x = combined(weights, [V[j] for j in corral])
        entering = min(range(len(V)), key=lambda j: dot(x, V[j]))
        if dot(x, V[entering]) >= dot(x, x):
            return dot(x, x)
        corral, weights = [*corral, entering], [*weights, Fraction(0)]
        while min(target := affine_weights([V[j] for j in corral])) <= 0:
            step = min(w / (w - t) for w, t in zip(weights, target, strict=True) if t <= 0)
            weights = [w + step * (t - w) for w, t in zip(weights, target, strict=True)]
            corral = [j for j, w in zip(corral, weights, strict=True) if w > 0]
            weights = [w for w in weights if w > 0]
        weights = target


def affine_weights(V: list[Point]) -> list[Fraction]:
    """Weights, of sum 1, of the shortest point of the affine hull of affinely independent points."""
    edges = [tuple(a - b for a, b in zip(v, V[0], strict=True)) for v in V[1:]]
    rows = [[dot(e, f) for f in edges] + [-dot(e, V[0])] for e in edges]
    for i in range(len(rows)):  # a Gram matrix needs no pivoting
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(len(rows)):
            if j != i:
                factor = rows[j][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    tail = [row[-1] for row in rows]
    return [1 - sum(tail), *tail]


def dot(x: Point, y: Point) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def combined(weights: list[Fraction], V: list[Point]) -> Point:
    return tuple(dot(tuple(weights), column) for column in zip(*V, strict=True))


def holds(lower: float, truth: Fraction, upper: float) -> bool:
    """Whether a squared distance lies in a bracket of the distance."""
    return 0.0 <= lower and Fraction(lower) ** 2 <= truth <= Fraction(upper) ** 2


def on_sphere(plane: list[Fraction]) -> np.ndarray:
    """A rational point of the sphere (stereographic projection), rounded to doubles."""
    square = sum((q * q for q in plane), Fraction(0))
    return np.array([float(c / (1 + square)) for c in [*(2 * q for q in plane), square - 1]])


@st.composite
def codes(draw: st.DrawFn) -> np.ndarray:
    """Unit rows to 1e-8, among them equal, opposite and nearly equal ones, and nearly flat hulls."""
    d = draw(st.integers(1, 4))
    numbers = st.fractions(-3, 3, max_denominator=draw(st.sampled_from([1, 2, 7, 1000])))
    rows: list[np.ndarray] = []
    for _ in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(["new", "new", "axis", "equal", "opposite", "near", "between"]))
        if kind == "new" or not rows:
            rows.append(on_sphere([draw(numbers) for _ in range(d - 1)]))
            continue
        old = rows[draw(st.integers(0, len(rows) - 1))]
        if kind == "axis":
            row = np.eye(d)[draw(st.integers(0, d - 1))]
        elif kind == "between":
            row = old + rows[draw(st.integers(0, len(rows) - 1))]
        elif kind == "near":
            row = old + np.ldexp(1.0, -draw(st.integers(1, 60))) * rows[-1][::-1]
        else:
            row = old if kind == "equal" else -old
        length = float(np.linalg.norm(row))
        rows.append(row / length if length > 0.1 else old)
    off = draw(st.sampled_from([0.0, 0.0, 1e-12, 9e-10, 9.9e-9]))
    lengths = [draw(st.sampled_from([-1.0, 0.0, 1.0])) for _ in rows]
    return np.array(rows) * (1.0 + off * np.array(lengths))[:, None]


def check_every_bracket(W: np.ndarray) -> None:
    truth = [squared_distance(W, k) for k in range(len(W))]
    found = one_vs_rest(W)
    for lower, upper, square in zip(found.lower, found.upper, truth, strict=True):
        assert holds(float(lower), square, float(upper))
    directions = np.roll(W, 1, axis=0)
    for options in ({}, {"max_exact": 0}, {"directions": directions, "max_exact": 1}):
        bracket, _, lowest = minimum_one_vs_rest(W, **options)
        assert holds(bracket.lower, min(truth), bracket.upper)
        assert all(Fraction(float(a)) ** 2 <= b for a, b in zip(lowest, truth, strict=True))
