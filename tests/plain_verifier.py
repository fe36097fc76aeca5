"""A second verifier of certificates, written from docs/reference/certificate-files.md and
docs/theory/local-optimality.md: without gnc.

    python tests/plain_verifier.py FILE...

prints what each file proves, and exits with 1 if one of them proves nothing. A folder holds a code,
as `gnc compare --export` writes it. It takes files of people you trust: nothing limits how long it
takes. Polynomials are lists of fractions, the constant first.
"""

import gzip
import itertools
import json
import re
import sys
from fractions import Fraction
from hashlib import sha256
from itertools import combinations, pairwise, permutations
from math import comb, isqrt, lcm, sqrt
from operator import mul
from pathlib import Path
from typing import Any

Polynomial = list[Fraction]


FRACTION = re.compile(r"-?(0|[1-9][0-9]{0,4299})(/[1-9][0-9]{0,4299})?")
SURD = re.compile(r"(-?[0-9/]+)(([+-][0-9/]+)\*sqrt\(5\))?")
DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")

PROVES_NOTHING = (ArithmeticError, LookupError, TypeError, ValueError, OSError, EOFError)
"""What a file that proves nothing raises."""


def claim_of(path: str) -> str:
    """What the file or folder claims, if it is proved; ValueError where it is not."""
    if Path(path).is_dir():
        return code(Path(path))
    with open(path, "rb") as file:
        packed = file.read()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    document = json.loads(
        text, object_pairs_hook=distinct, parse_float=refused, parse_constant=refused
    )
    proof, keys = PROOFS[document["kind"]]
    demand({*document} == {"certificate", "kind", "d", "K", "cosine", *keys}, "the keys")
    d, K, (s, b) = whole(document["d"]), whole(document["K"]), surd(document["cosine"])
    demand(document["certificate"] == "gnc/1", "the format")
    demand(sign(s + 1, b) > 0 > sign(s - 1, b), "a cosine between -1 and 1")
    demand(b == 0 or document["kind"] == "delsarte-sqrt5", "a fraction")
    demand(2 <= d <= 1000 and 2 <= K <= 10**9, "d and K")
    demand(isinstance(document.get("strict", False), bool), "strict is true or false")
    proof(document, d, K, s)
    if document["kind"] == "local-optimum":
        near = f"within {document['radius']} of the points"
        return f"{K} points in {d} dimensions: a local optimum {near}, cosines at most {s}"
    relation = ">" if document["strict"] else ">="
    return f"{K} points in {d} dimensions: some cosine {relation} {document['cosine']}"


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys occurs twice."""
    demand(len(dict(pairs)) == len(pairs), "a key occurs twice")
    return dict(pairs)


def refused(number: str) -> None:
    """A float, Infinity or NaN, which no certificate has."""
    raise ValueError(f"not proved: {number} is no whole number")


def whole(number: Any) -> int:
    demand(type(number) is int, "a whole number")
    return int(number)


def fraction(text: Any) -> Fraction:
    demand(isinstance(text, str) and bool(FRACTION.fullmatch(text)), "a fraction")
    return Fraction(text)


def demand(truth: bool, what: str) -> None:
    """A step of a proof."""
    if not truth:
        raise ValueError(f"not proved: {what}")


def code(folder: Path) -> str:
    """The lower end: points none of whose cosines exceeds a number."""
    written = (folder / "coordinates.txt").read_bytes()
    lines = (folder / "verified.txt").read_text().splitlines()
    told = dict(line.split() for line in lines if not line.startswith("#"))
    demand(told["sha256_of_coordinates"] == sha256(written).hexdigest(), "the hash")
    words = [line.split() for line in written.decode("ascii").splitlines()]
    numbers = [told["cosine_at_most"], *itertools.chain(*words)]
    demand(all(DECIMAL.fullmatch(word) for word in numbers), "decimal numbers")
    points = [[Fraction(word) for word in line] for line in words]
    K, d, c = int(told["points"]), int(told["dimension"]), Fraction(told["cosine_at_most"])
    demand(len(points) == K and all(len(x) == d and any(x) for x in points), "the points")
    for x, y in combinations(points, 2):
        p = dot(x, y)
        demand(p * abs(p) <= c * abs(c) * dot(x, x) * dot(y, y), "a cosine")
    return f"{K} points in {d} dimensions exist whose cosines are at most {c}"


def dot(x: list[Fraction], y: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def delsarte(document: dict[str, Any], d: int, K: int, s: Fraction) -> None:
    """A polynomial that is at most 0 on [-1, s]."""
    demand(isinstance(document["coefficients"], list), "the coefficients")
    f_i = [fraction(text) for text in document["coefficients"]]
    demand(all(c >= 0 for c in f_i[1:]), "f_i >= 0")
    basis = gegenbauer(d, len(f_i) - 1)
    f = combined(f_i, basis)
    demand(at_most_zero(f, Fraction(-1), s), "f <= 0 on [-1, s]")
    if value(f, Fraction(1)) < K * f_i[0]:
        return
    demand(not document["strict"] and value(f, Fraction(1)) == K * f_i[0], "f(1) < K f_0")
    F, rest = divided(f, [-s, Fraction(1)])
    demand(rest == [], "f(s) = 0")
    F_i = [Fraction(0)] * len(f_i)
    left = F
    while left:
        i = len(left) - 1
        F_i[i] = left[i] / basis[i][i]
        left = trimmed([a - F_i[i] * b for a, b in zip(left, basis[i], strict=True)])
    demand(all(a > 0 or b >= 0 for a, b in zip(f_i[1:], F_i[1:], strict=True)), "F_i >= 0")
    demand(value(F, Fraction(1)) < K * F_i[0], "F(1) < K F_0")


def surd(text: Any) -> tuple[Fraction, Fraction]:
    """a and b of a + b sqrt(5)."""
    match = SURD.fullmatch(text) if isinstance(text, str) else None
    demand(match is not None, "a number of Q(sqrt(5))")
    assert match is not None
    return fraction(match[1]), fraction((match[3] or "0").removeprefix("+"))


def sign(a: Fraction, b: Fraction) -> int:
    """That of a + b sqrt(5): of a if b = 0; else that of the larger in size."""
    larger = a if a * a > 5 * b * b else b
    return (larger > 0) - (larger < 0)


def quadratic(document: dict[str, Any], d: int, K: int, _: Fraction) -> None:
    """(t - s) (t + 1) (t - a)^2 ... g, over Q(sqrt(5))."""
    s, touching = surd(document["cosine"]), [surd(text) for text in document["touching"]]
    g = [surd(text) for text in document["factor"]]
    demand(document["strict"] is False, "the claim is not strict")
    # Between root and root + tiny lies sqrt(5).
    tiny = Fraction(1, 10**30)
    root = Fraction(isqrt(5 * 10**60), 10**30)
    below = trimmed([-a - b * root for a, b in g])
    below = trimmed([below[0] + tiny * sum(abs(b) for _, b in g), *below[1:]])
    high = s[0] + s[1] * root + abs(s[1]) * tiny
    demand(at_most_zero(below, Fraction(-1), high), "g > 0 on [-1, s]")
    F = g
    for a, b in [(Fraction(-1), Fraction(0)), *touching, *touching]:
        F = times_root(F, a, b)
    f = times_root(F, *s)
    basis = gegenbauer(d, len(f) - 1)
    parts = [[expanded([c[k] for c in h], basis) for k in (0, 1)] for h in (f, F)]
    f_i, F_i = ([*zip(*part, strict=True)] for part in parts)
    demand(all(sign(*c) >= 0 for c in f_i[1:]), "f_i >= 0")
    for part in parts[0]:
        demand(sum(part) == K * part[0], "f(1) = K f_0")
    demand(
        all(sign(*c) > 0 or sign(*C) >= 0 for c, C in zip(f_i[1:], F_i[1:], strict=False)),
        "F_i >= 0",
    )
    x, y = (sum(part) - K * part[0] for part in parts[1])
    demand(sign(x, y) < 0, "F(1) < K F_0")


def times_root(
    f: list[tuple[Fraction, Fraction]], a: Fraction, b: Fraction
) -> list[tuple[Fraction, Fraction]]:
    """f times t - a - b sqrt(5)."""
    zero = (Fraction(0), Fraction(0))
    shifted, plain = [zero, *f], [*f, zero]
    return [
        (p - a * x - 5 * b * y, q - a * y - b * x)
        for (p, q), (x, y) in zip(shifted, plain, strict=True)
    ]


def expanded(f: Polynomial, basis: list[Polynomial]) -> Polynomial:
    """The coefficients in a basis of polynomials of degrees 0, 1, ..."""
    remainder, weights = [*f], [Fraction(0)] * len(f)
    for i in reversed(range(len(f))):
        weights[i] = remainder[i] / basis[i][i]
        for power, c in enumerate(basis[i]):
            remainder[power] -= weights[i] * c
    return weights


Triple = dict[tuple[int, int, int], Fraction]
"""A polynomial in x, y, z: the coefficients of T_i(x) T_j(y) T_k(z), Chebyshev's polynomials."""
ONE: Triple = {(0, 0, 0): Fraction(1)}


def three_point(document: dict[str, Any], d: int, K: int, s: Fraction) -> None:
    """Sums of squares over pairs and triples of points."""
    D, strict = whole(document["degree"]), document["strict"]
    demand({*document["a"]} == {"digits", "rows"} and len(document["a"]["rows"]) == 1, "a")
    demand(all(type(n) is int for n in (document["a"]["digits"], *document["a"]["rows"][0])), "a")
    a = [Fraction(n, 10 ** document["a"]["digits"]) for n in document["a"]["rows"][0]]
    b, F = gram(document["b"], 2), [gram(f, D + 1 - k) for k, f in enumerate(document["F"])]
    demand(d >= 3 and strict and len(a) == 2 * D and len(F) == D + 1, "the orders")
    at_one = [Fraction(1), (3 - s) / (1 + s)]  # T_i at the x of u = 1
    for i in range(1, D):
        at_one.append(2 * at_one[1] * at_one[i] - at_one[i - 1])
    most = 1 + sum(a) + b[0][0]
    most += sum(F[0][i][j] * at_one[i] * at_one[j] for i in range(D + 1) for j in range(D + 1))
    demand(min(a) >= 0 and most < K, "the bound is below K")
    x, y, z = ({key: Fraction(1)} for key in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    u, v, t = (combination(((1 + s) / 2, w), ((s - 1) / 2, ONE)) for w in (x, y, z))

    along: list[Triple] = [{(i, 0, 0): Fraction(1)} for i in range(D + 1)]
    r = combination((-1 - 2 * b[0][1] - b[1][1], ONE))
    for weight, P in zip(a, spherical(d, u, ONE, 2 * D)[1:], strict=True):
        r = combination((1, r), (-weight, P))
    power = ONE
    for k, F_k in enumerate(F):
        r = combination((1, r), (-1, product(power, form(F_k, along[: D + 1 - k]))))
        power = product(power, combination((1, ONE), (-1, product(u, u))))
    for i in range(D + 1):
        weight = sum(F[0][i][j] * at_one[j] for j in range(D + 1))
        r = combination((1, r), (-2 * weight, along[i]))
    inside = combination((1, ONE), (-1, product(x, x)))
    for factor, order, times_this in zip(document["p"], (D + 1, D), (ONE, inside), strict=True):
        square = form(gram(factor, order), along[:order])
        r = combination((1, r), (-1, product(times_this, square)))
    demand(dominant(r), "r is a sum of squares")

    R = combination((-b[1][1], ONE))
    w = product(*(combination((1, ONE), (-1, product(c, c))) for c in (u, v)))
    Q = spherical(d - 1, combination((1, t), (-1, product(u, v))), w, D)
    for k, F_k in enumerate(F):
        pairs: Triple = {(i, j, 0): c for i, row in enumerate(F_k) for j, c in enumerate(row)}
        R = combination((1, R), (-1, mean_of_last(product(Q[k], pairs))))
    uv = product(u, v)
    determinant = combination(
        (1, ONE), (2, product(uv, t)), *((-1, product(c, c)) for c in (u, v, t))
    )
    corner = product(
        product(*(combination((1, ONE), (-1, c)) for c in (x, y))), combination((1, ONE), (-1, z))
    )
    degrees = (D // 2, D), (D // 2 - 1, D - 2), ((D - 1) // 2, D - 2)
    for factors, (most_one, most_all), multiplier in zip(
        document["q"], degrees, (ONE, determinant, corner), strict=True
    ):
        for factor, basis in zip(factors, bases(most_one, most_all), strict=True):
            square = mean_of_last(form(gram(factor, len(basis)), basis))
            R = combination((1, R), (-1, product(multiplier, square)))
    demand(dominant(R), "R is a sum of squares")


def gram(factor: dict[str, Any], order: int) -> list[list[Fraction]]:
    """L L^T, which is positive semidefinite."""
    L = factor["rows"]
    demand({*factor} == {"digits", "rows"} and whole(factor["digits"]) >= 0, "a matrix")
    demand(all(type(n) is int for row in L for n in row), "whole numbers in a matrix")
    demand([len(row) for row in L] == [*range(1, order + 1)], "the order of a matrix")
    return [
        [
            Fraction(sum(m * n for m, n in zip(one, other, strict=False)), 100 ** factor["digits"])
            for other in L
        ]
        for one in L
    ]


def bases(most: int, whole: int) -> list[list[Triple]]:
    """Polynomials that permutations of x, y, z leave, turn by their sign, or mix by twos."""
    trivial, sign, standard = [], [], []
    for total in range(whole + 1):
        for a, b, c in product_of_ranges(total, most):
            exponents = {*permutations((a, b, c))}
            trivial.append({key: Fraction(1) for key in exponents})
            if a > b > c:
                turns = {(a, b, c), (b, c, a), (c, a, b)}
                sign.append({key: Fraction(1 if key in turns else -1) for key in exponents})
            S = [
                combination((1, {(j, k, i): Fraction(1)}), (1, {(k, j, i): Fraction(1)}))
                for i, j, k in ((a, b, c), (b, a, c), (c, a, b))
            ]
            standard += [combination((1, S[0]), (-1, S[1]))] if a > b else []
            standard += [combination((1, S[1]), (-1, S[2]))] if b > c else []
    return [trivial, sign, standard]


def product_of_ranges(total: int, most: int) -> list[tuple[int, int, int]]:
    """All most >= a >= b >= c >= 0 of this sum, by a, then by b."""
    found = ((a, b, total - a - b) for a in range(most + 1) for b in range(a + 1))
    return [(a, b, c) for a, b, c in found if 0 <= c <= b]


def spherical(d: int, x: Triple, square: Triple, degree: int) -> list[Triple]:
    """r^k P_k(x / r) for P_k of R^d and r^2 = square: with `ONE` the Gegenbauer polynomials."""
    P = [ONE, x]
    for i in range(1, degree):
        up, down = product(x, P[i]), product(square, P[i - 1])
        P.append(
            combination((Fraction(2 * i + d - 2, i + d - 2), up), (-Fraction(i, i + d - 2), down))
        )
    return P


def form(G: list[list[Fraction]], basis: list[Triple]) -> Triple:
    """basis^T G basis."""
    total: Triple = {}
    for row, f in zip(G, basis, strict=True):
        inner = combination(*zip(row, basis, strict=True))
        total = combination((1, total), (1, product(f, inner)))
    return total


def mean_of_last(f: Triple) -> Triple:
    """The mean of f(x, y, z), f(y, z, x) and f(z, x, y)."""
    third = Fraction(1, 3)
    return combination(
        *(
            (third, {(k[i], k[j], k[m]): c for k, c in f.items()})
            for i, j, m in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        )
    )


def combination(*parts: tuple[Fraction | int, Triple]) -> Triple:
    """The sum of weights times polynomials."""
    total: Triple = {}
    for weight, f in parts:
        for key, c in f.items():
            total[key] = total.get(key, Fraction(0)) + weight * c
    return {key: c for key, c in total.items() if c}


def product(f: Triple, g: Triple) -> Triple:
    """By 2 T_m T_n = T_(m+n) + T_|m-n| in each variable."""
    total: Triple = {}
    for (i, j, k), a in f.items():
        for (o, m, n), b in g.items():
            c = a * b / 8
            for key in itertools.product(
                (i + o, abs(i - o)), (j + m, abs(j - m)), (k + n, abs(k - n))
            ):
                total[key] = total.get(key, Fraction(0)) + c
    return total


def dominant(f: Triple) -> bool:
    """Whether f, as a quadratic form in products of Chebyshev polynomials, has a matrix whose
    diagonal entries are at least the sum of the others' sizes in their row."""
    entries: dict[tuple[Any, Any], Fraction] = {}
    for key, c in f.items():
        parts = [(c, (), ())]
        odd = 0
        for n in key:
            large, small = (n + 1) // 2, n // 2
            if n % 2 and odd % 2:
                large, small = small, large
            odd += n % 2
            first = [(2 if n > 1 else 1, large, small)] + [(-1, n % 2, 0)] * (n > 1)
            parts = [(w * e, (*p, i), (*q, j)) for w, p, q in parts for e, i, j in first]
        for weight, left, right in parts:
            place = min(left, right), max(left, right)
            entries[place] = entries.get(place, Fraction(0)) + weight
    margins: dict[Any, Fraction] = {}
    for (left, right), c in entries.items():
        for row in {left, right}:
            margins[row] = margins.get(row, Fraction(0)) + (c if left == right else -abs(c) / 2)
    return min(margins.values(), default=0) >= 0


def local_optimum(document: dict[str, Any], d: int, K: int, T: Fraction) -> None:
    """A stress on the contacts, and motions that are bounded by how contacts change."""
    r, sigma = fraction(document["radius"]), fraction(document["sigma"])
    digits = whole(document["digits"])
    demand(r > 0 and sigma > 0 and 0 <= digits <= 18, "the radius, sigma and digits")
    p = [[Fraction(whole(x), 10**digits) for x in row] for row in document["points"]]
    demand(len(p) == K and all(len(x) == d and any(x) for x in p), "the points")
    demand(all(abs(1 - dot(x, x)) <= r for x in p), "unit vectors within the radius")
    contacts = {(whole(i), whole(j)): whole(w) for i, j, w in document["contacts"]}
    demand(len(contacts) == len(document["contacts"]) > 0, "different contacts")
    demand(all(0 <= i < j < K and w > 0 for (i, j), w in contacts.items()), "the contacts")
    total = sum(contacts.values())
    weights = {pair: Fraction(w, total) for pair, w in contacts.items()}
    core = sorted({k for pair in contacts for k in pair})
    h = {k: [Fraction(0)] * d for k in core}
    degree, strength = dict.fromkeys(core, Fraction(0)), dict.fromkeys(core, Fraction(0))
    for (i, j), w in weights.items():
        for k, other in ((i, j), (j, i)):
            h[k] = [a + w * b for a, b in zip(h[k], p[other], strict=True)]
            degree[k] += w
            strength[k] += w * w
    load = {k: dot(h[k], p[k]) for k in core}
    nu = {k: 1 - dot(p[k], p[k]) for k in core}
    gamma = max(strength.values())
    delta = root(sum((a - load[k] * b) ** 2 for k in core for a, b in zip(h[k], p[k], strict=True)))
    bend = max(degree[k] + abs(load[k]) / 2 for k in core)
    slack = sum(w * max(Fraction(0), T - dot(p[i], p[j])) for (i, j), w in weights.items())
    epsilon = 2 * slack + sum(abs(load[k] * nu[k]) for k in core) / 2
    eta, off = epsilon + delta * r + bend * r * r, root(sum(x * x for x in nu.values()))
    demand(off <= r, "|nu| <= r")
    demand(sigma**2 * r**2 - gamma / 4 * (off + r * r) ** 2 > eta**2, "r")
    for i, j in combinations(range(K), 2):
        c = T if i in h and j in h else T - eta - 2 * r
        q = dot(p[i], p[j])
        demand(q * abs(q) <= c * abs(c) * dot(p[i], p[i]) * dot(p[j], p[j]), "a cosine")
    demand(rigid(p, core, contacts, 10**digits, gamma * total**2, sigma**2), "sigma")


def rigid(
    p: list[list[Fraction]],
    core: list[int],
    contacts: dict[tuple[int, int], int],
    scale: int,
    gamma: Fraction,
    least: Fraction,
) -> bool:
    """Whether the form N is at least `least`: N - 1.5 least is a square, but for less than half of
    that. Whole numbers: N is multiplied with the squares of `scale` and of all weights' sum."""
    d, n = len(p[0]), len(core)
    at = {(k, a): place * d + a for place, k in enumerate(core) for a in range(d)}
    x = [[int(c * scale) for c in row] for row in p]
    forms = [
        (w * w, {at[k, a]: x[o][a] for k, o in ((i, j), (j, i)) for a in range(d)})
        for (i, j), w in contacts.items()
    ]
    forms += [(int(gamma), {at[k, a]: x[k][a] for a in range(d)}) for k in core]
    for a, b in combinations(range(d), 2):
        turn = {at[k, a]: x[k][b] for k in core} | {at[k, b]: -x[k][a] for k in core}
        forms.append((int(gamma), turn))
    N = [[0] * (n * d) for _ in range(n * d)]
    for weight, form_ in forms:
        for u, c in form_.items():
            for v, e in form_.items():
                N[u][v] += weight * c * e
    unit = least * scale**2 * sum(contacts.values()) ** 2
    for u in range(n * d):
        N[u][u] -= int(unit * 3 / 2) + 1
    top = float(max(map(max, N)))
    L: list[list[float]] = []
    for u, row in enumerate(N):
        L.append([])
        for v in range(u + 1):
            rest = row[v] / top - sum(map(mul, L[u], L[v]))
            if u == v and rest <= 0:
                return False
            L[u].append(sqrt(rest) if u == v else rest / L[v][v])
    bits = max(0, isqrt(int(top)).bit_length() - 55)
    rounded = [[round(c * sqrt(top) / 2**bits) for c in row] for row in L]
    squares = 0
    for u, row in enumerate(rounded):
        for v in range(u + 1):
            rest_ = N[u][v] - (sum(map(mul, row, rounded[v])) << 2 * bits)
            squares += rest_**2 * (1 if u == v else 2)
    return squares * 4 <= unit**2


def root(x: Fraction | int) -> Fraction:
    """A fraction that is at least the square root."""
    return Fraction(isqrt(int(x * 10**80)) + 1, 10**40)


PROOFS: dict[str, tuple[Any, set[str]]] = {
    "delsarte": (delsarte, {"strict", "coefficients"}),
    "delsarte-sqrt5": (quadratic, {"strict", "touching", "factor"}),
    "three-point": (three_point, {"strict", "degree", "a", "b", "F", "p", "q"}),
    "local-optimum": (local_optimum, {"radius", "sigma", "digits", "points", "contacts"}),
}


def gegenbauer(d: int, degree: int) -> list[Polynomial]:
    """P_0 ... P_degree of R^d with P_i(1) = 1: (i+d-2) P_(i+1) = (2i+d-2) x P_i - i P_(i-1)."""
    basis = [[Fraction(1)], [Fraction(0), Fraction(1)]]
    for i in range(1, degree):
        up, down = Fraction(2 * i + d - 2, i + d - 2), Fraction(i, i + d - 2)
        shifted = [Fraction(0), *(up * c for c in basis[i])]
        basis.append([a - down * b for a, b in zip(shifted, [*basis[i - 1], 0, 0], strict=True)])
    return basis


def combined(weights: Polynomial, basis: list[Polynomial]) -> Polynomial:
    """The sum of weights[i] basis[i]."""
    total = [Fraction(0)] * len(weights)
    for weight, polynomial in zip(weights, basis, strict=False):
        for power, c in enumerate(polynomial):
            total[power] += weight * c
    return trimmed(total)


def at_most_zero(f: Polynomial, low: Fraction, high: Fraction) -> bool:
    """Whether f <= 0 on [low, high]: f is negative somewhere, and nowhere changes its sign."""
    places = [low + (high - low) * Fraction(k, len(f) + 1) for k in range(len(f) + 2)]
    if any(value(f, x) > 0 for x in places):
        return False
    # layers[j] has the roots of f of multiplicity above j, each once.
    layers = []
    while len(f) > 1:
        common = f
        other = derivative(f)
        while other:
            rest = divided(common, other)[1]
            common, other = (
                other,
                [c / rest[-1] for c in rest],
            )  # monic, so that fractions stay small
        layers.append(divided(f, common)[0])
        f = common
    odd = [Fraction(1)]
    for above, beyond in zip(layers[::2], [*layers[1::2], [Fraction(1)]], strict=False):
        odd = times(odd, divided(above, beyond)[0])
    for end in (low, high):
        if value(odd, end) == 0:
            odd = divided(odd, [-end, Fraction(1)])[0]
    return without_roots(odd, low, high)


def without_roots(q: Polynomial, low: Fraction, high: Fraction) -> bool:
    """Whether q, whose roots are simple, has none in (low, high), by Bernstein's coefficients.

    Those of a part of the interval have one sign only if q has no root inside; de Casteljau's sums
    give those of both halves.
    """
    n = len(q) - 1
    along = [Fraction(0)]  # q(low + (high - low) y) in powers of y, by Horner's rule
    for c in reversed(q):
        along = times(along, [low, high - low])
        along[0] += c
    coefficients = [
        sum(Fraction(comb(j, k), comb(n, k)) * along[k] for k in range(j + 1)) for j in range(n + 1)
    ]
    parts = [[int(c * lcm(*(c.denominator for c in coefficients))) for c in coefficients]]
    while parts:
        row = parts.pop()
        if min(row) >= 0 or max(row) <= 0:
            continue
        left, right = [], []
        for k in range(n + 1):
            left.append(row[0] << n - k)
            right.append(row[-1] << n - k)
            row = [a + b for a, b in pairwise(row)]
        if left[0] * left[-1] <= 0 or left[-1] * right[0] <= 0:
            return False
        parts += [left, right[::-1]]
    return True


def value(f: Polynomial, x: Fraction) -> Fraction:
    total = Fraction(0)
    for c in reversed(f):
        total = total * x + c
    return total


def derivative(f: Polynomial) -> Polynomial:
    return [k * c for k, c in enumerate(f)][1:]


def trimmed(f: Polynomial) -> Polynomial:
    while f and f[-1] == 0:
        f = f[:-1]
    return f


def times(f: Polynomial, g: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(f) + len(g) - 1)
    for i, a in enumerate(f):
        for j, b in enumerate(g):
            product[i + j] += a * b
    return product


def divided(f: Polynomial, g: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    quotient = [Fraction(0)] * max(len(f) - len(g) + 1, 0)
    while len(f) >= len(g):
        place, c = len(f) - len(g), f[-1] / g[-1]
        quotient[place] = c
        f = trimmed([a - c * b for a, b in zip(f, [Fraction(0)] * place + g, strict=True)][:-1])
    return quotient, f


def main(paths: list[str]) -> int:
    wrong = 0
    for path in paths:
        try:
            print(f"{path}: {claim_of(path)}")
        except PROVES_NOTHING as error:
            wrong = 1
            print(f"{path}: {error}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
