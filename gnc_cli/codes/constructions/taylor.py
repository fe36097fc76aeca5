"""Taylor's unitary two-graph on q^3 + 1 points, q an odd prime power: its signs and their check.

The isotropic points of the Hermitian plane over GF(q^2) are infinity and the elements of a
Heisenberg group of order q^3: pairs (u, t), u in GF(q^2), t in GF(q), where the form of (u, t) and
(v, s) is, up to squares, N(u - v)^2/4 - e (t - s + [u, v])^2; N is the norm, [ , ] the symplectic
form, e no square. The two-graph is the quadratic character of the form.

Source: D. E. Taylor, 1977, Regular 2-graphs.
"""

from itertools import product

import numpy as np

from gnc_cli.codes.constructions.log_fields import LogField, prime_power

__all__ = ["check_two_graph", "signs_between", "taylor_signs"]


def taylor_signs(field: LogField) -> np.ndarray:
    """Signs of inner products in the group: `signs[a, b, t]` for (u, t), u = a + b sqrt(e).

    The inner product of (u, t) and (v, s) has the sign at (u - v, t - s + [u, v]), with
    [a + b sqrt(e), c + d sqrt(e)] = b c - a d. It is 0 at the identity. All rows have positive
    inner products with that of infinity.

    Returns:
        Shape (q, q, q), int8.
    """
    every = np.arange(field.q)
    e = int(field.exp[1])  # a primitive element is no square
    squares = field.power(every, 2)
    norms = field.subtract(squares[:, None], field.multiply(e, squares))
    quarter = field.power(field.add(1, 1), 2)
    forms = field.subtract(
        field.power(norms, 2)[:, :, None], field.multiply(field.multiply(quarter, e), squares)
    )
    # Of the two-graph and its complement, the one whose lines are in the smaller space.
    signs: np.ndarray = field.characters[forms]
    return signs if signs.sum(dtype=np.int64) > 0 else -signs


def check_two_graph(field: LogField, signs: np.ndarray) -> None:
    """Check that the signs are those of a regular two-graph with the eigenvalues q^2 and -q.

    For S, 0 on the diagonal, 1 in the row and column of infinity and the signs elsewhere, this is
    S^2 = (q^2 - q) S + q^3 I. The group's translations and the maps (u, t) -> (l u, N(l) t) leave S
    as it is, so that one entry of each orbit of pairs is enough: (1, t) for each t, and (0, 1).

    Args:
        field: GF(q).
        signs: as `taylor_signs` gives them, shape (q, q, q).

    Raises:
        ValueError: an entry is no sign, the symmetries fail, or the equation does.
    """
    q, every = field.q, np.arange(field.q)
    mirrored = field.subtract(0, every)
    if signs[0, 0, 0] or np.count_nonzero(signs) != q**3 - 1 or np.abs(signs).max() != 1:
        raise ValueError("not signs, with a zero at the identity alone")
    a, b, norm = _generator(field)
    e = int(field.exp[1])
    # (x + y sqrt(e)) (a + b sqrt(e))
    eb = field.multiply(e, b)
    first = field.add(field.multiply(a, every[:, None]), field.multiply(eb, every))
    second = field.add(field.multiply(b, every[:, None]), field.multiply(a, every))
    turned = signs[first[:, :, None], second[:, :, None], field.multiply(norm, every)]
    if not (
        np.array_equal(turned, signs)
        and np.array_equal(signs[mirrored][:, mirrored][:, :, mirrored], signs)
    ):
        raise ValueError("the signs are not invariant under the group's symmetries")
    total = q * q - q
    if signs.sum(dtype=np.int64) != total:
        raise ValueError("not a regular two-graph: the signs at infinity have another sum")
    everything = np.arange(q**3)
    from_identity = signs.reshape(-1).astype(np.int64)
    for element in [1, *(q * q + every)]:
        products = signs_between(field, signs, np.array([element]), everything)[0] @ from_identity
        if 1 + products != total * from_identity[element]:
            raise ValueError("not a regular two-graph: more than two eigenvalues")


def signs_between(
    field: LogField, signs: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Signs between elements of the group given by number, shape (left, right), int64."""
    q = field.q
    a, b, t = (x[:, None] for x in (left // (q * q), left // q % q, left % q))
    c, d, s = right // (q * q), right // q % q, right % q
    bracket = field.subtract(field.multiply(b, c), field.multiply(a, d))
    shift = field.add(field.subtract(t, s), bracket)
    return np.asarray(signs[field.subtract(a, c), field.subtract(b, d), shift], dtype=np.int64)


def _generator(field: LogField) -> tuple[int, int, int]:
    """A primitive element a + b sqrt(e) of GF(q^2), e the primitive element of GF(q); its norm."""
    e, add, multiply = int(field.exp[1]), field.add, field.multiply

    def times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
        (a, b), (c, d) = x, y
        real = add(multiply(a, c), multiply(multiply(b, d), e))
        return int(real), int(add(multiply(a, d), multiply(b, c)))

    def power(x: tuple[int, int], n: int) -> tuple[int, int]:
        result = (1, 0)
        while n:
            if n % 2:
                result = times(result, x)
            x, n = times(x, x), n // 2
        return result

    order = field.q**2 - 1
    primes = [p for p in range(2, order) if order % p == 0 and prime_power(p) == (p, 1)]
    for x in product(range(field.q), range(1, field.q)):
        if all(power(x, order // p) != (1, 0) for p in primes):
            return *x, times(x, (x[0], int(field.subtract(0, x[1]))))[0]
    raise AssertionError("GF(q^2) has a primitive element")
