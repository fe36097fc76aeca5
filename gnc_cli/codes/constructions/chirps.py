"""Complex mutually unbiased bases of prime order as real codes, for dimensions between powers of 2.

In C^p, p an odd prime, the standard basis and the p bases of chirps
v_{b,a}(x) = exp(2 pi i (b x^2 + a x) / p) / sqrt(p) are mutually unbiased: inner products across
bases have modulus 1/sqrt(p), a quadratic Gauss sum over p. Multiplied by 1, -1, i and -i and read
as points of R^(2p) they are 4 p (p + 1) rows with largest cosine 1/sqrt(p) = sqrt(2/d).
"""

from fractions import Fraction
from functools import partial

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows, Verified
from gnc_cli.codes.constructions.hadamard_matrices import is_prime

__all__ = ["FAMILIES", "ChirpRows", "in_dimension", "named"]

_LARGEST = 4096
"""Primes up to which the code is offered."""
_SOURCE = (
    "Ivanovic 1981, Geometrical description of quantal state determination; "
    "Wootters, Fields 1989, Optimal state-determination by mutually unbiased measurements"
)
_ROUNDING = 1e-9

FAMILIES = (
    Family(
        name="chirp-p",
        title="p + 1 mutually unbiased bases of C^p times 1, -1, i, -i",
        range="odd primes p up to 4096",
        d="2p",
        K="4p(p+1)",
        cosine="1/sqrt(p)",
        reference=_SOURCE,
    ),
)


class ChirpRows(Rows):
    """Row 4 (p n + j) + u is member j of basis n times 1, -1, i, -i for u = 0, 1, 2, 3.

    Basis 0 is the standard one, basis n > 0 the chirps with b = n - 1. A vector of C^p is its real
    parts, then its imaginary parts.

    Raises:
        ValueError: p is not an odd prime.
    """

    def __init__(self, p: int) -> None:
        if p == 2 or not is_prime(p):
            raise ValueError(f"{p} is not an odd prime")
        self.p = p
        self.shape = (4 * p * (p + 1), 2 * p)
        turns = np.exp(2j * np.pi * np.arange(p) / p) / np.sqrt(p)
        self._turns = np.stack([turns.real, turns.imag])

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(self.shape[0])
        p = self.p
        numbers = np.arange(start, max(start, stop))
        first, last = start // 4, -(-stop // 4)
        vectors = self._vectors(np.arange(first, max(first, last)))
        rows = np.empty((len(numbers), 2 * p))
        for u in range(4):
            mine = np.flatnonzero(numbers % 4 == u)
            real, imaginary = vectors[:, numbers[mine] // 4 - first]
            sign = 1 - 2 * (u % 2)
            # i (x + i y) = -y + i x
            rows[mine, :p] = sign * (real if u < 2 else -imaginary)
            rows[mine, p:] = sign * (imaginary if u < 2 else real)
        return rows

    def _vectors(self, numbers: np.ndarray) -> np.ndarray:
        """Real and imaginary parts of vectors by number p n + j, shape (2, n, p)."""
        x = np.arange(self.p)
        basis, member = numbers[:, None] // self.p, numbers[:, None] % self.p
        phases = ((basis - 1) * (x * x % self.p) + member * x) % self.p
        vectors = self._turns[:, phases]
        unit = np.stack([member == x, np.zeros_like(member == x)]).astype(np.float64)
        return np.where(basis > 0, vectors, unit)

    def verify(self) -> Verified:
        """Gauss sums of every difference of two bases by fast Fourier transforms.

        They confirm, to rounding, that all moduli are sqrt(p), which is Gauss's theorem; 1/sqrt(p)
        itself is attained between e_0 and v_{b,a}.
        """
        p, x = self.p, np.arange(self.p)
        worst = 0.0
        for b in range(1, p):
            sums = np.abs(np.fft.fft(np.exp(2j * np.pi * (b * x * x % p) / p)))
            worst = max(worst, float(np.abs(sums / np.sqrt(p) - 1.0).max()))
        if worst > _ROUNDING:
            raise ValueError(f"a Gauss sum is off by {worst:.1e}")
        return Verified(
            K=self.shape[0],
            distinct=True,
            max_cosine=Cosine.root(Fraction(1, p)),
            distribution=None,
            how="Gauss sums of all differences of bases",
        )


def named(name: str) -> Construction | None:
    """`chirp-383` and its like, or None."""
    digits = name.removeprefix("chirp-")
    if digits == name or not digits.isdecimal() or len(digits) > 4 or digits[0] == "0":
        return None
    return next(iter(in_dimension(2 * int(digits))), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The code in d = 2 p dimensions, if p is an odd prime."""
    p = d // 2
    if d % 2 or not 3 <= p <= _LARGEST or not is_prime(p):
        return ()
    found = Construction(
        name=f"chirp-{p}",
        title=f"{p + 1} mutually unbiased bases of C^{p} times 1, -1, i, -i",
        d=d,
        K=4 * p * (p + 1),
        cosine=Cosine.root(Fraction(1, p)),
        proven=False,
        reference=_SOURCE,
        build=partial(ChirpRows, p),
    )
    return (found,)
