"""The first rows of a code, and the largest cosine among them."""

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified

__all__ = ["FirstRows", "attains"]

_WITNESSES = 32
"""Rows that are held against all others in search of a pair at the whole code's cosine."""
_BLOCK = 1 << 15
_ROUNDING = 1e-12


class FirstRows(Rows):
    """The first K rows of another code.

    Raises:
        ValueError: it has fewer rows.
    """

    def __init__(self, whole: Rows, K: int) -> None:
        if K > whole.shape[0]:
            raise ValueError(f"the code has {whole.shape[0]} rows, fewer than {K}")
        self.whole = whole
        self.shape = (K, whole.shape[1])

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(self.shape[0])
        return self.whole.unit(start, stop)

    def first(self, K: int) -> Rows:
        return FirstRows(self.whole, K)

    def verify(self) -> Verified:
        """The whole code's cosine bounds theirs; a pair that attains it makes it exact."""
        whole = self.whole.verify()
        exact = attains(self, whole.max_cosine)
        note = "a pair of the rows attains it" if exact else "an upper bound for the rows kept"
        return Verified(
            K=self.shape[0],
            distinct=whole.distinct,
            max_cosine=whole.max_cosine,
            distribution=None,
            how=f"{whole.how}; {note}",
        )


def attains(rows: Rows, cosine: Cosine) -> bool:
    """Whether some pair with one of the first rows has this inner product (to 1e-12)."""
    some = rows.unit(0, min(_WITNESSES, len(rows)))
    for start in range(0, len(rows), _BLOCK):
        products = some @ rows.unit(start, start + _BLOCK).T
        if (np.abs(products - cosine.value) <= _ROUNDING).any():
            return True
    return False
