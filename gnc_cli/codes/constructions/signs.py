"""Rows (+-1)/sqrt(d) from a set of Boolean functions, made when asked for: K rows cost K rows.

Each function f of m variables gives 2 d rows, d = 2^m: the orthogonal basis
(-1)^(f(x) + <a, x>), a = 0 .. d - 1, times 1/sqrt(d), each row followed by its negative. The signed
standard basis may come first; its cosine with all other rows is 1/sqrt(d).
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.differences import Sweep, largest_of_first, sweep
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.walsh import hadamard

__all__ = ["SignRows"]


class SignRows(Rows):
    """The first K rows of the bases that a set of functions gives.

    Row i, counted after the standard basis, is row i mod 2 d of basis i // (2 d); there, row 2 a is
    member a and row 2 a + 1 its negative.

    Args:
        forms: the functions, the zero function first.
        standard: the signed standard basis comes before them.
        K: how many rows; all by default.

    Raises:
        ValueError: K is below 2 or above all.

    Example:
        >>> rows = SignRows(FormSet([], np.zeros((1, 4), dtype=np.uint8)), standard=True)
        >>> rows.shape, rows.verify().max_cosine.text
        ((16, 4), '1/2')
        >>> rows.signs(6, 10).tolist()
        [[0, 0, 0, 1], [0, 0, 0, -1], [1, 1, 1, 1], [-1, -1, -1, -1]]
    """

    def __init__(self, forms: FormSet, standard: bool = False, K: int | None = None) -> None:
        whole = 2 * forms.d * (len(forms) + standard)
        K = whole if K is None else K
        if not 2 <= K <= whole:
            raise ValueError(f"K is {K}; these functions give 2 to {whole} rows")
        self.forms = forms
        self.standard = 2 * forms.d if standard else 0
        """Rows of the standard basis: the first so many."""
        self.shape = (K, forms.d)

    @property
    def whole(self) -> bool:
        """All rows are taken."""
        return len(self) == self.standard + 2 * self.forms.d * len(self.forms)

    def first(self, K: int) -> "SignRows":
        """The first K rows."""
        if K > len(self):
            raise ValueError(f"the code has {len(self)} rows, fewer than {K}")
        return SignRows(self.forms, self.standard > 0, K)

    def signs(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop` (exclusive) in integers, shape (stop - start, d), int8.

        Rows below `self.standard` are signed unit vectors, 0 but for one place, of length 1; the
        others are +-1 throughout, of length sqrt(d).
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        out = np.empty((max(0, stop - start), self.forms.d), dtype=np.int8)
        cut = min(max(self.standard - start, 0), len(out))
        out[:cut] = 0
        places = np.arange(start, start + cut)
        out[np.arange(cut), places // 2] = 1 - 2 * (places % 2)
        self._fill(out[cut:], start + cut - self.standard)
        return out

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        rows = np.multiply(self.signs(start, stop), self.forms.d**-0.5, dtype=np.float64)
        cut = min(max(self.standard - start, 0), len(rows))
        rows[:cut] *= self.forms.d**0.5
        np.rint(rows[:cut], out=rows[:cut])
        return rows

    def _fill(self, out: np.ndarray, start: int) -> None:
        """Write rows from `start` on, counted after the standard basis."""
        if len(out) == 0:
            return
        size = 2 * self.forms.d
        members = hadamard(self.forms.m)
        stop = start + len(out)
        for first in range(start // size, -(-stop // size), 256):
            numbers = np.arange(first, min(first + 256, -(-stop // size)))
            signs = 1 - 2 * self.forms.functions(numbers).view(np.int8)
            for number, sign in zip(numbers.tolist(), signs, strict=True):
                low, high = max(start, number * size), min(stop, (number + 1) * size)
                block = out[low - start : high - start]
                low, high = low - number * size, high - number * size
                # Even rows are members, odd rows their negatives; either may come first.
                odd = low % 2
                np.multiply(members[(low + 1) // 2 : (high + 1) // 2], sign, out=block[odd::2])
                np.multiply(members[low // 2 : high // 2], -sign, out=block[1 - odd :: 2])

    def verify(self) -> Verified:
        """Size, distinctness and largest cosine from Walsh transforms of the functions' sums."""
        forms, d = self.forms, self.forms.d
        bases = -(-(len(self) - self.standard) // (2 * d))
        if self.whole:
            found = sweep(forms)
            largest, exact, transforms = found.largest, True, f"{found.transforms:,}"
            how = f"{found.structure}: {transforms} Walsh transforms of sums of two functions"
            distribution = _distribution(found, self) if found.spectrum is not None else None
        else:
            largest, exact = largest_of_first(forms, bases)
            how = f"Walsh transforms of sums of the first {bases:,} functions"
            how += "" if exact else "; an upper bound for the rows kept"
            distribution = None
        if len(self) == 2:
            cosine = Cosine.of(-1)
        elif bases > 0 and self.standard and largest**2 < d:
            cosine = Cosine.root(Fraction(1, d))
        else:
            cosine = Cosine.of(Fraction(largest, d))
        return Verified(len(self), largest < d, cosine, distribution, how)


def _distribution(found: Sweep, rows: SignRows) -> tuple[tuple[Cosine, int], ...]:
    """Inner products of all unordered pairs of rows, from the counted Walsh coefficients."""
    d = rows.forms.d
    bases = len(rows.forms) + (rows.standard > 0)
    pairs: dict[Cosine, int] = {}

    def count(cosine: Cosine, number: int) -> None:
        if number:
            pairs[cosine] = pairs.get(cosine, 0) + number

    # In a basis each row meets its negative, and 2 d - 2 rows at right angles.
    count(Cosine.of(-1), bases * d)
    count(Cosine.of(0), bases * d * (2 * d - 2))
    # A coefficient of two functions is met by d pairs of members, each with four choices of signs.
    for value, number in (found.spectrum or {}).items():
        for sign in (1, -1):
            count(Cosine.of(Fraction(sign * value, d)), 2 * d * number)
    if rows.standard:
        for cosine in _signed(Cosine.root(Fraction(1, d))):
            count(cosine, 2 * d * d * len(rows.forms))
    return tuple(sorted(pairs.items(), key=lambda item: -item[0].value))


def _signed(cosine: Cosine) -> Iterator[Cosine]:
    yield cosine
    yield Cosine(f"-{cosine.text}", -cosine.value)
