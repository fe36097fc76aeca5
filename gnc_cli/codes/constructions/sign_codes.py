"""What a code of +-1 rows is before it is built: figures, and how to get its functions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.signs import SignRows

__all__ = ["SignCode"]


@dataclass(frozen=True)
class SignCode:
    """Rows (+-1)/sqrt(d) from a set of functions, perhaps after the signed standard basis.

    Example:
        >>> import numpy as np
        >>> forms = FormSet([], np.zeros((1, 8)))
        >>> code = SignCode("hadamard-8", "", 3, 4, 0, "", lambda: forms, standard=True)
        >>> code.construction().K, code.construction().cosine.text
        (32, '1/sqrt(8)')
    """

    name: str
    title: str
    m: int
    """d = 2^m."""
    k: int
    """There are 2^k rows of signs, their negatives included."""
    largest: int
    """The largest sum of products of two rows of signs."""
    reference: str
    forms: Callable[[], FormSet] = field(repr=False, compare=False)
    standard: bool = False
    """The signed standard basis comes first."""
    proven: bool = False
    distribution: tuple[tuple[str, int], ...] | None = None

    @property
    def d(self) -> int:
        return 1 << self.m

    def construction(self) -> Construction:
        """All rows."""
        cosine = Cosine.of(Fraction(self.largest, self.d))
        if self.standard and self.largest**2 < self.d:
            cosine = Cosine.root(Fraction(1, self.d))
        return Construction(
            name=self.name,
            title=self.title,
            d=self.d,
            K=(1 << self.k) + 2 * self.d * self.standard,
            cosine=cosine,
            proven=self.proven,
            reference=self.reference,
            build=lambda: SignRows(self.forms(), self.standard),
            distribution=self.distribution,
            # Products with a row of the code, over {+-1} or through the Gray map, are symmetries.
            transitive=not self.standard,
        )
