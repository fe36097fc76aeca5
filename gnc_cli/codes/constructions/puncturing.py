"""Punctured codes of signs: all rows, without p places.

2^k rows of length d and largest inner product w become 2^k rows of length d - p with largest cosine
at most (w + p)/(d - p), attained where two rows with inner product w differ in all p places.
"""

import numpy as np

from gnc_cli.codes.constructions.differences import largest_of_first, sign_vectors
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.restricted import RestrictedRows
from gnc_cli.codes.constructions.signs import SignRows
from gnc_cli.codes.constructions.walsh import hadamard, walsh

__all__ = ["PuncturedRows", "punctured"]


class PuncturedRows(RestrictedRows):
    """Rows of a set of functions without their first p places; the first K of them.

    Args:
        forms: the functions of the whole code.
        p: how many places, from 1 to d/4.
        K: how many rows; all by default.

    Raises:
        ValueError: p or K is out of range.

    Example:
        >>> from gnc_cli.codes.constructions.z4_forms import z4_forms
        >>> rows = PuncturedRows(z4_forms(4, 0), 1)
        >>> rows.shape, rows.verify().max_cosine.text
        ((256, 15), '1/3')
    """

    def __init__(self, forms: FormSet, p: int, K: int | None = None) -> None:
        if not 1 <= p <= forms.d // 4:
            raise ValueError(f"p is {p}; it can be 1 to {forms.d // 4}")
        self.forms, self.p, self.part = forms, p, 2 * forms.d
        self._rows = SignRows(forms, K=K)
        self.shape = (len(self._rows), forms.d - p)

    def first(self, K: int) -> "PuncturedRows":
        """The first K rows."""
        if K > len(self):
            raise ValueError(f"the code has {len(self)} rows, fewer than {K}")
        return PuncturedRows(self.forms, self.p, K)

    def signs(self, start: int, stop: int) -> np.ndarray:
        return self._rows.signs(start, stop)[:, self.p :]

    def _largest_sum(self, functions: np.ndarray) -> int:
        values = sign_vectors(functions)
        values[:, : self.p] = 0
        return int(np.abs(walsh(values)).max())

    def _bound(self) -> int:
        return largest_of_first(self.forms, -(-len(self) // self.part))[0] + self.p

    def _within(self) -> int:
        sums = hadamard(self.forms.m)[1:, self.p :].sum(axis=1, dtype=np.int64)
        return int(np.abs(sums).max())


def punctured(rows: SignRows, p: int) -> PuncturedRows:
    """All rows of signs of a code without their first p places; its standard basis is left out.

    Raises:
        ValueError: p is out of range.
    """
    return PuncturedRows(rows.forms, p)
