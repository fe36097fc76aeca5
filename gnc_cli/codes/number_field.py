"""Proof that a polynomial has the largest cosine of a code as a root: the code in a number field.

Let t be a root of an irreducible integer polynomial p. Take the points with contacts; rattlers stay
where they are. Take rows x_b of them that are a basis of their span, their Gram matrix g, and the
coordinates c of these points, x_i = sum_b c_ib x_b. Suppose that all entries of g and c are
elements of Q(t), that g is symmetric and positive definite, and that the products c_i g c_j are
exactly t for each contact, and 1 for i = j. Then there are points with these products: a code whose
contacts all have the cosine t, exactly.

Elements are polynomials with rational coefficients modulo p, and so are the products that are
compared. Lattice reduction finds the elements from the digits of the polished code; how they were
found does not matter. Their values are the polished entries to sixty decimals, as balls prove. So
the exact code lies so near the polished one that its other pairs stay below t, those of rattlers
included.

Of a code that its contacts leave free to move, or whose entries need a larger field or more digits,
nothing is proved.
"""

from typing import Any

import numpy as np
from scipy.linalg import qr

from gnc_cli.codes.contact_equations import floats
from gnc_cli.codes.digits import Digits, MinimalPolynomial
from gnc_cli.runtime.deadline import Deadline

DECIMALS = 300
"""Decimals of the polished code that a proof takes."""
_NEAR = 60
"""Decimals in which an element has the value of an entry."""
_RANK = 1e-6
"""Relative size of singular values that count as zero."""
_SMALLEST = 1e-6
"""Eigenvalues of g must be above."""
_LARGEST = 1e3
"""Coordinates must be below: then all products are the polished ones to fifty decimals."""


class _NotInField(Exception):
    """No element with a number as its value was found."""


class _NumberField:
    """Q(t) for the root t of p (an irreducible `fmpz_poly`) near a ball of FLINT."""

    def __init__(self, p: Any, near: Any, deadline: Deadline) -> None:
        from flint import arb

        self._tolerance = arb(10) ** -_NEAR
        self._deadline = deadline
        roots = [z.real for z, _ in p.complex_roots() if z.imag == 0]
        roots = [root for root in roots if abs(root - near) < self._tolerance]
        if len(roots) != 1:
            raise _NotInField
        self._powers = [roots[0] ** k for k in range(p.degree())]
        self._elements: dict[int, Any] = {}

    def element(self, value: Any) -> Any:
        """An element, as an `fmpq_poly` in t, whose value agrees with a ball."""
        from flint import fmpq_poly, fmpz_mat

        if self._deadline.expired:
            raise _NotInField
        scaled = [_integer(v * 10**DECIMALS) for v in (*self._powers, value)]
        key = scaled[-1] // 10 ** (DECIMALS - _NEAR)
        if key not in self._elements:
            n = len(scaled)
            lattice = [[*(int(i == k) for i in range(n)), scaled[k]] for k in range(n)]
            *numerators, denominator, _ = map(int, fmpz_mat(lattice).lll().tolist()[0])
            total = sum(c * power for c, power in zip(numerators, self._powers, strict=True))
            if denominator == 0 or not abs(total / denominator + value) < self._tolerance:
                raise _NotInField
            self._elements[key] = fmpq_poly([-c for c in numerators], denominator)
        return self._elements[key]


def is_root(code: Digits, polynomial: MinimalPolynomial, deadline: Deadline) -> bool:
    """Whether it is proved that near a code there is one, with the same contacts, whose largest
    cosine has this minimal polynomial.

    Args:
        code: polished to `DECIMALS` decimals.
        polynomial: the proposal for its largest cosine.
        deadline: polled at each entry; nothing is proved where it comes first.
    """
    from flint import arb_mat, ctx, fmpq_poly, fmpz_poly

    p = fmpz_poly(list(polynomial.coefficients[::-1]))
    if [multiplicity for _, multiplicity in p.factor()[1]] != [1]:
        return False
    rows, places = np.unique(code.contacts, return_inverse=True)
    pairs = places.reshape(-1, 2).tolist()
    with ctx.workdps(DECIMALS + 20):
        x = code.points[rows]
        rank = int(np.linalg.matrix_rank(floats(x), tol=_RANK))
        basis = x[qr(floats(x).T, mode="r", pivoting=True)[1][:rank]]
        gram = basis @ basis.T
        solution = arb_mat(gram.tolist()).solve(arb_mat((basis @ x.T).tolist()))
        coordinates = np.array(solution.tolist(), dtype=object)
        least = np.linalg.eigvalsh(floats(gram))[0]
        if least < _SMALLEST or np.abs(floats(coordinates)).max() > _LARGEST:
            return False
        try:
            field = _NumberField(p, x[pairs[0][0]] @ x[pairs[0][1]], deadline)
            find = np.frompyfunc(field.element, 1, 1)
            with np.errstate(all="ignore"):  # NumPy sees what the reduction does with floats
                g, c = find(gram), find(coordinates)
        except _NotInField:
            return False
    dual = np.frompyfunc(lambda element: element % p, 1, 1)(g @ c)
    one, t = fmpq_poly([1]), fmpq_poly([0, 1])
    for i, j in (*pairs, *([k, k] for k in range(len(rows)))):
        if (c[:, i] @ dual[:, j] - (one if i == j else t)) % p != 0:
            return False
    return not (g != g.T).any()


def _integer(ball: Any) -> int:
    """The midpoint of a ball, rounded down."""
    return int(ball.mid().floor().unique_fmpz())
