"""An integer polynomial that a number of many digits seems to be a root of, or none at all.

Among all polynomials of degree n and height h, about (2 h + 1)^(n + 1), one comes as near to zero
as 10^-(n + 1) log10(2 h + 1) by chance. The digits beyond that are the evidence; a proposal needs
many of them, and is still no proof. A relation between the powers is a short vector of a lattice
(A. K. Lenstra, H. W. Lenstra and L. Lovasz, Factoring polynomials with rational coefficients,
1982), which FLINT reduces.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from gnc_cli.runtime.deadline import Deadline


@dataclass(frozen=True)
class MinimalPolynomial:
    """A proposal."""

    coefficients: tuple[int, ...]
    """Integers without a common factor, the highest power first and positive."""
    evidence: float
    """Decimal digits with which the number fits, beyond those that chance explains."""

    @property
    def degree(self) -> int:
        """The highest power."""
        return len(self.coefficients) - 1

    def __str__(self) -> str:
        """As it is written.

        >>> str(MinimalPolynomial((3, -9, -3, 1), 40.0)), str(MinimalPolynomial((1, 0), 40.0))
        ('3x^3 - 9x^2 - 3x + 1', 'x')
        """
        from flint import fmpz_poly

        text = str(fmpz_poly(list(self.coefficients[::-1]))).replace("*", "")
        return re.sub(r"\b1x", "x", text.replace("+ (-", "- ").replace(")", ""))


def minimal_polynomial(
    number: str,
    *,
    max_degree: int = 12,
    evidence: float = 12.0,
    deadline: Deadline | None = None,
) -> MinimalPolynomial | None:
    """The polynomial of lowest degree that fits a decimal number far better than chance, or None.

    Args:
        number: decimal text, right to half a unit of its last digit.
        max_degree: degrees to try. Height is tried as far as the digits bear it.
        evidence: digits that must remain beyond chance.
        deadline: polled at each degree; what was not tried is not proposed.

    Example:
        >>> str(minimal_polynomial("1.41421356237309504880168872420969807857"))
        'x^2 - 2'
        >>> minimal_polynomial("3.14159265358979323846264338327950288420", max_degree=4) is None
        True
    """
    from flint import fmpz_mat

    x, places = Fraction(number), len(number.partition(".")[2])
    for degree in range(1, max_degree + 1):
        # Where not even coefficients of -1, 0 and 1 leave so much evidence, none do.
        late = deadline is not None and deadline.expired
        if late or (degree + 1) * math.log10(3.0) > places - evidence:
            break
        powers = [round(x**k * 10**places) for k in range(degree + 1)]
        units = [[int(i == k) for i in range(degree + 1)] for k in range(degree + 1)]
        lattice = fmpz_mat([[*unit, power] for unit, power in zip(units, powers, strict=True)])
        relation = [int(c) for c in lattice.lll().tolist()[0][:-1]]
        proposal = _judged(relation[::-1], x, places)
        if proposal is not None and proposal.evidence >= evidence:
            return proposal
    return None


def _judged(relation: list[int], x: Fraction, places: int) -> MinimalPolynomial | None:
    """The relation with its evidence: how near zero it is beside what chance would give."""
    while relation and relation[0] == 0:
        relation = relation[1:]
    if len(relation) < 2:
        return None
    common = math.gcd(*relation) * (1 if relation[0] > 0 else -1)
    coefficients = tuple(c // common for c in relation)
    value = slope = Fraction(0)
    for c in coefficients:  # Horner, with the derivative
        slope = slope * x + value
        value = value * x + c
    # What the last digit of x leaves open; no agreement beyond it counts.
    blur = abs(slope) / 10**places
    if abs(value) > blur:
        return None
    nearness = math.log10(blur.denominator) - math.log10(blur.numerator) if blur else float(places)
    chance = len(coefficients) * math.log10(2 * max(map(abs, coefficients)) + 1)
    return MinimalPolynomial(coefficients, nearness - chance)
