"""A second verifier of certificates, written from docs/reference/certificate-files.md: without gnc.

    python tests/plain_verifier.py FILE...

prints what each file proves, and exits with 1 if one of them proves nothing. A folder holds a code,
as `gnc compare --export` writes it. It takes files of people you trust: nothing limits how long it
takes. Polynomials are lists of fractions, the constant first.
"""

import gzip
import json
import sys
from fractions import Fraction
from hashlib import sha256
from itertools import combinations, pairwise
from math import comb, lcm
from pathlib import Path
from typing import Any

Polynomial = list[Fraction]


def claim_of(path: str) -> str:
    """What the file or folder claims, if it is proved; ValueError where it is not."""
    if Path(path).is_dir():
        return code(Path(path))
    with open(path, "rb") as file:
        packed = file.read()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    document = json.loads(text)
    d, K, s = document["d"], document["K"], Fraction(document["cosine"])
    demand(document["certificate"] == "gnc/1" and d >= 2 and K >= 2 and -1 < s < 1, "the claim")
    PROOFS[document["kind"]](document, d, K, s)
    relation = ">" if document["strict"] else ">="
    return f"{K} points in {d} dimensions: some cosine {relation} {s}"


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
    points = [[Fraction(word) for word in line.split()] for line in written.decode().splitlines()]
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
    f_i = [Fraction(text) for text in document["coefficients"]]
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


PROOFS = {"delsarte": delsarte}


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
        if left[-1] == 0:
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
        except (ValueError, KeyError, TypeError) as error:
            wrong = 1
            print(f"{path}: {error}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
