"""Shortened codes of signs: the rows that are +1 in s places, without those places.

Where the places are part of an information set, 2^k rows of length d and largest inner product w
become 2^(k - s) rows of length d - s whose inner products are s less: their largest cosine is at
most (w - s)/(d - s), and this wherever two of the rows kept attain w. The first places are 0 and
the powers of two, on which normal functions vanish: there a row of signs is +1 for one choice of
each sign and of s - 1 bits of a. Beyond these m + 1 places the sum over the basis is restricted.
"""

import numpy as np

from gnc_cli.codes.constructions.differences import largest_of_first, sign_vectors, sweep
from gnc_cli.codes.constructions.forms import FormSet, Span
from gnc_cli.codes.constructions.restricted import RestrictedRows
from gnc_cli.codes.constructions.signs import SignRows
from gnc_cli.codes.constructions.walsh import hadamard, walsh

__all__ = ["ShortenedRows", "shortened"]

_BLOCK_ENTRIES = 1 << 22


class ShortenedRows(RestrictedRows):
    """Rows of a set of functions, shortened in s places; the first K of them.

    Args:
        forms: the functions of the whole code.
        s: how many places, from 1 to m + 1 + (size of the basis).
        K: how many rows; all by default.

    Raises:
        ValueError: s or K is out of range.

    Example:
        >>> from gnc_cli.codes.constructions.z4_forms import z4_forms
        >>> rows = ShortenedRows(z4_forms(4, 0), 1)
        >>> rows.shape, rows.verify().max_cosine.text
        ((128, 15), '1/5')
    """

    def __init__(self, forms: FormSet, s: int, K: int | None = None) -> None:
        m, d = forms.m, forms.d
        if not 1 <= s <= m + 1 + len(forms.basis):
            raise ValueError(f"s is {s}; it can be 1 to {m + 1 + len(forms.basis)}")
        self.original, self.s = forms, s
        places = [0, *(1 << i for i in range(m))][:s]
        self.forms, more = _vanishing(forms, s - len(places))
        self.kept = np.setdiff1d(np.arange(d), [*places, *more])
        """Places that are left, shape (d - s,)."""
        self._step = 1 << (len(places) - 1)
        self.part = d // self._step
        whole = self.part * len(self.forms)
        K = whole if K is None else K
        if not 2 <= K <= whole:
            raise ValueError(f"K is {K}; shortened in {s} places there are 2 to {whole} rows")
        self.shape = (K, d - s)

    def first(self, K: int) -> "ShortenedRows":
        """The first K rows."""
        if K > len(self):
            raise ValueError(f"the code has {len(self)} rows, fewer than {K}")
        return ShortenedRows(self.original, self.s, K)

    def signs(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(len(self))
        out = np.empty((max(0, stop - start), self.shape[1]), dtype=np.int8)
        members = np.take(hadamard(self.forms.m)[:: self._step], self.kept, axis=1)
        step = max(1, _BLOCK_ENTRIES // members.size)
        last = -(-stop // self.part)
        for first in range(start // self.part, last if len(out) else 0, step):
            numbers = np.arange(first, min(first + step, last))
            functions = sign_vectors(np.take(self.forms.functions(numbers), self.kept, axis=1))
            rows = (functions[:, None] * members).reshape(-1, self.shape[1])
            offset = first * self.part
            low, high = max(start, offset), min(stop, offset + len(rows))
            out[low - start : high - start] = rows[low - offset : high - offset]
        return out

    def _largest_sum(self, functions: np.ndarray) -> int:
        return int(walsh(sign_vectors(functions))[:: self._step].max()) - self.s

    def _bound(self) -> int:
        if self.forms is self.original:
            count = -(-len(self) // self.part)
            return largest_of_first(self.original, count)[0] - self.s
        return sweep(self.original).largest - self.s

    def _within(self) -> int:
        return -self.s if self.part > 1 else -self.shape[1]


def shortened(rows: SignRows, s: int) -> ShortenedRows:
    """All rows of signs of a code, shortened in s places; its standard basis is left out.

    Raises:
        ValueError: s is out of range.
    """
    return ShortenedRows(rows.forms, s)


def _vanishing(forms: FormSet, number: int) -> tuple[FormSet, list[int]]:
    """The functions of a set that are 0 at so many pivots of its basis, and these places."""
    if number <= 0:
        return forms, []
    span = Span(forms.basis)
    places, last = span.pivots[-number:], span.reduced[-number:]
    # Each core function, made 0 there by a sum of basis functions.
    sums = forms.core[:, places].astype(np.float32) @ last.astype(np.float32)
    core = forms.core ^ (sums.astype(np.int64) % 2).astype(np.uint8)
    return FormSet([span.reduced[:-number]], core, forms.symmetries), places.tolist()
