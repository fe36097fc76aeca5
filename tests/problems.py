"""Known answers: codes whose best largest cosine, and often one-vs-rest distance, are known.

Every value is a closed form computed here or a decimal checked against two sources. `proven` says
that no code of this size does better. `rho` is the one-vs-rest distance of the code itself; at a
stationary Tammes code it is `1 - max_cosine` (PAPER section 3), and it is the largest possible
where `softmax_proven` says so (theorem 3.3 of arXiv 2310.05351).

Sources: [FT] L. Fejes Tóth 1943; [SW] K. Schütte, B. L. van der Waerden 1951; [D] L. Danzer 1963;
[R] R. M. Robinson 1961; [L] V. I. Levenshtein 1992, sharp codes as listed in table 1 of H. Cohn and
A. Kumar, Universally optimal distribution of points on spheres, 2007; [BV] C. Bachoc and
F. Vallentin 2009; [LLK] D. de Laat, N. M. Leijenhorst and W. H. H. de Muinck Keizer 2024; [RR]
R. A. Rankin 1955; [T] theorem 3.3 of arXiv 2310.05351.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.search.request import Solve
from gnc_cli.search.routes.route import Route
from gnc_cli.search.run import choose_route, instance_of

__all__ = [
    "PROBLEMS",
    "WITH_POINTS",
    "Problem",
    "antiprism",
    "cell24",
    "cell600",
    "e8_roots",
    "hemicube",
    "icosahedron",
    "orthoplex",
    "polygon",
    "random_rotation",
    "seven",
    "simplex",
    "snub_cube",
]


@dataclass(frozen=True)
class Problem:
    """A pair (d, K) whose answer is known."""

    name: str
    d: int
    K: int
    max_cosine: float
    """The smallest largest cosine known."""
    proven: bool
    """No code of this size has a smaller one."""
    source: str
    rattlers: int | None = 0
    """One-vs-one rattlers of the code; None where codes with different numbers exist."""
    contacts: int | None = None
    """Pairs at the smallest distance."""
    softmax_proven: bool = False
    """rho below is the largest one-vs-rest distance of any code of this size."""
    points: Callable[[], np.ndarray] | None = None
    """Builds such a code, unit rows, shape (K, d)."""

    @property
    def rho(self) -> float:
        """One-vs-rest distance of the stationary code."""
        return 1.0 - self.max_cosine

    def __str__(self) -> str:
        return f"{self.name}-{self.d}-{self.K}"


def simplex(d: int, K: int | None = None) -> np.ndarray:
    """K <= d + 1 unit vectors with all cosines -1/(K - 1), in R^d."""
    K = d + 1 if K is None else K
    points = np.zeros((K, d))
    # Row k is fixed by its products with the rows before it: a Cholesky factor, row by row.
    for k in range(K):
        for j in range(min(k, K - 1)):
            points[k, j] = (-1.0 / (K - 1) - points[k, :j] @ points[j, :j]) / points[j, j]
        if k < K - 1:
            points[k, k] = math.sqrt(1.0 - points[k, :k] @ points[k, :k])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def orthoplex(d: int, K: int | None = None) -> np.ndarray:
    """The first K of e_1, -e_1, e_2, ..., -e_d (any number of them above d + 1 is optimal)."""
    points = np.kron(np.eye(d), np.array([[1.0], [-1.0]]))
    # All e_i first: K > d + 1 keeps at least two antipodal pairs' worth of positive span.
    order = np.concatenate([np.arange(0, 2 * d, 2), np.arange(1, 2 * d, 2)])
    return points[order][: 2 * d if K is None else K]


def polygon(K: int) -> np.ndarray:
    """The regular K-gon."""
    angle = 2.0 * np.pi * np.arange(K) / K
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def icosahedron() -> np.ndarray:
    """Twelve points: cyclic shifts of (0, +-1, +-golden ratio)."""
    golden = (1.0 + math.sqrt(5.0)) / 2.0
    corners = np.array([[0.0, s, t * golden] for s in (1, -1) for t in (1, -1)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    return points / math.hypot(1.0, golden)


def antiprism() -> np.ndarray:
    """The best eight points on the sphere: a square antiprism with equal edges."""
    radius = 1.0 / math.sqrt(1.0 + math.sqrt(2.0) / 4.0)
    height = radius * 2.0**0.25
    turn = np.pi / 4.0
    angle = np.pi / 2.0 * np.arange(4)
    top = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle + height / 2], 1)
    low = np.stack(
        [radius * np.cos(angle + turn), radius * np.sin(angle + turn), 0 * angle - height / 2], 1
    )
    points = np.concatenate([top, low])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def seven() -> np.ndarray:
    """A pole, a ring of three around it and a ring of three below, turned by 60 degrees."""
    t = _seven()
    low = -math.sqrt((2.0 * t + 1.0) / 3.0)
    rows = [[0.0, 0.0, 1.0]]
    for height, turn in ((t, 0.0), (low, math.pi / 3.0)):
        radius = math.sqrt(1.0 - height**2)
        for angle in turn + 2.0 * math.pi / 3.0 * np.arange(3):
            rows.append([radius * math.cos(angle), radius * math.sin(angle), height])
    return np.array(rows)


def snub_cube() -> np.ndarray:
    """Even permutations of (+-1, +-1/t, +-t) with even signs, odd ones with odd signs."""
    corner = np.array([1.0, 1.0 / _tribonacci(), _tribonacci()])
    rows = [
        corner[list(order)] * signs
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
        if math.prod(signs) == round(np.linalg.det(np.eye(3)[list(order)]))
    ]
    return np.array(rows) / np.linalg.norm(corner)


def cell600() -> np.ndarray:
    """The 120 unit icosians: 24 Hurwitz units and even permutations of (0, 1, g, 1/g) / 2."""
    golden = (1.0 + math.sqrt(5.0)) / 2.0
    rows = [np.array(s) / 2.0 for s in itertools.product((1.0, -1.0), repeat=4)]
    rows += list(np.eye(4)) + list(-np.eye(4))
    for order in itertools.permutations(range(4)):
        if np.linalg.det(np.eye(4)[list(order)]) > 0.0:
            for signs in itertools.product((1.0, -1.0), repeat=3):
                corner = np.array([*np.array(signs) * (golden, 1.0, 1.0 / golden), 0.0]) / 2.0
                rows.append(corner[list(order)])
    return np.array(rows)


def cell24() -> np.ndarray:
    """The 24-cell: all vectors (+-1, +-1, 0, 0) / sqrt 2."""
    return _two_signed(4)


def hemicube() -> np.ndarray:
    """Sixteen points in R^5: sign vectors with an even number of minus signs (Clebsch graph)."""
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=5)))
    return signs[signs.prod(axis=1) > 0.0] / math.sqrt(5.0)


def e8_roots() -> np.ndarray:
    """The 240 shortest vectors of the lattice E8."""
    signs = np.array(list(itertools.product((0.5, -0.5), repeat=8)))
    half = signs[np.prod(signs, axis=1) > 0.0] / math.sqrt(2.0)
    return np.concatenate([_two_signed(8), half])


def _two_signed(d: int) -> np.ndarray:
    points = []
    for i, j in itertools.combinations(range(d), 2):
        for s, t in itertools.product((1.0, -1.0), repeat=2):
            point = np.zeros(d)
            point[i], point[j] = s, t
            points.append(point)
    return np.array(points) / math.sqrt(2.0)


def random_rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    """A uniformly random orthogonal matrix, shape (d, d)."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return q * np.sign(np.diag(r))


def _tribonacci() -> float:
    root = np.cbrt(19.0 + 3.0 * math.sqrt(33.0)) + np.cbrt(19.0 - 3.0 * math.sqrt(33.0))
    return float(1.0 + root) / 3.0


def _seven() -> float:
    """The root of 3 x^3 - 9 x^2 - 3 x + 1 in (0, 1), by its trigonometric form: [SW]."""
    # x = 1 + y turns it into y^3 - 4 y - 8/3 = 0, three real roots.
    radius = 2.0 * math.sqrt(4.0 / 3.0)
    third = math.acos((8.0 / 3.0) / 2.0 / math.sqrt((4.0 / 3.0) ** 3)) / 3.0
    return _newton((3, -9, -3, 1), 1.0 + radius * math.cos(third - 2.0 * math.pi / 3.0))


def _snub() -> float:
    """(t - 1) / (3 - t) with the tribonacci constant t: a root of 7 x^3 + x^2 - 3 x - 1."""
    return _newton((7, 1, -3, -1), (_tribonacci() - 1.0) / (3.0 - _tribonacci()))


def _newton(cubic: tuple[int, ...], x: float) -> float:
    """The root near x to the last bit: a closed form loses some to cancellation."""
    return float(x - np.polyval(cubic, x) / np.polyval(np.polyder(cubic), x))


_SQRT5 = math.sqrt(5.0)

PROBLEMS: tuple[Problem, ...] = (
    *(
        Problem(
            "polygon",
            2,
            K,
            math.cos(2.0 * math.pi / K),
            True,
            "[T]",
            0,
            K,
            True,
            partial(polygon, K),
        )
        for K in (4, 5, 7, 12, 30)
    ),
    *(
        Problem(
            "simplex",
            d,
            K,
            -1.0 / (K - 1),
            True,
            "[RR] [T]",
            0,
            K * (K - 1) // 2,
            True,
            partial(simplex, d, K),
        )
        for d, K in ((2, 2), (2, 3), (3, 4), (5, 6), (10, 4), (9, 10))
    ),
    *(
        Problem(
            "orthoplex",
            d,
            2 * d,
            0.0,
            True,
            "[RR] [T]",
            0,
            2 * d * (d - 1),
            True,
            partial(orthoplex, d),
        )
        for d in (3, 4, 5, 8)
    ),
    *(
        Problem(
            "within-orthoplex",
            d,
            K,
            0.0,
            True,
            "[RR] [T]",
            None,
            None,
            True,
            partial(orthoplex, d, K),
        )
        for d, K in ((3, 5), (5, 8), (8, 12))
    ),
    Problem("seven", 3, 7, _seven(), True, "[SW]", 0, 12, points=seven),
    Problem(
        "antiprism",
        3,
        8,
        (2.0 * math.sqrt(2.0) - 1.0) / 7.0,
        True,
        "[SW]",
        0,
        16,
        points=antiprism,
    ),
    Problem("nine", 3, 9, 1.0 / 3.0, True, "[SW]", 0, 18),
    Problem("ten", 3, 10, 0.40439432521625076, True, "[D]", 0, 19),
    Problem("eleven", 3, 11, 1.0 / _SQRT5, True, "[D]", None, None),
    Problem("icosahedron", 3, 12, 1.0 / _SQRT5, True, "[FT]", 0, 30, points=icosahedron),
    Problem("snub-cube", 3, 24, _snub(), True, "[R]", 0, 60, points=snub_cube),
    Problem("petersen", 4, 10, 1.0 / 6.0, True, "[BV]", 0),
    Problem("24-cell", 4, 24, 0.5, True, "[LLK]", 0, 96, points=cell24),
    Problem("600-cell", 4, 120, (1.0 + _SQRT5) / 4.0, True, "[L]", 0, 720, points=cell600),
    Problem("hemicube", 5, 16, 0.2, True, "[L]", 0, 80, points=hemicube),
    Problem("schlaefli", 6, 27, 0.25, True, "[L]", 0, 216),
    Problem("e7-minimal", 7, 56, 1.0 / 3.0, True, "[L]", 0, 756),
    Problem("e8-roots", 8, 240, 0.5, True, "[L]", 0, 6720, points=e8_roots),
    Problem("mclaughlin", 22, 275, 1.0 / 6.0, True, "[L]", 0),
    Problem("higman-sims", 22, 100, 1.0 / 11.0, True, "[L]", 0),
)
"""Every known answer used by the tests."""

WITH_POINTS: tuple[Problem, ...] = tuple(p for p in PROBLEMS if p.points is not None)
"""Those that come with coordinates."""


def route_of(**options: Any) -> Route:
    """The way that `solve` takes with these options."""
    call = Solve(**options)
    return choose_route(call, instance_of(call), call.init, 0)
