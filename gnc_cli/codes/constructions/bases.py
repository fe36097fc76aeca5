"""Two mutually unbiased bases of R^d, signed: the standard one and a Hadamard matrix's rows."""

from fractions import Fraction
from functools import partial

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family, Rows, Verified
from gnc_cli.codes.constructions.forms import FormSet
from gnc_cli.codes.constructions.hadamard_matrices import hadamard_matrix, has_hadamard_matrix
from gnc_cli.codes.constructions.signs import SignRows

__all__ = ["FAMILIES", "TwoBases", "in_dimension", "named"]

_LARGEST = 8192
"""Dimensions up to which the matrix, 64 MB in int8, is made."""
_SOURCE = "Sylvester 1867; Paley 1933, On orthogonal matrices"

FAMILIES = (
    Family(
        name="mub-d",
        title="two mutually unbiased bases, signed",
        range="d = 4, 8, 12, .., 8192 with a Hadamard matrix of Sylvester's or Paley's",
        d="d",
        K="4d",
        cosine="1/sqrt(d)",
        reference=_SOURCE,
    ),
)


class TwoBases(Rows):
    """+-e_1, .., +-e_d, then +-the rows of a Hadamard matrix, divided by sqrt(d).

    Args:
        matrix: entries +-1, shape (d, d).
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        d = len(matrix)
        self.shape = (4 * d, d)

    def unit(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(self.shape[0])
        d = self.shape[1]
        numbers = np.arange(start, max(start, stop))
        signs = 1.0 - 2.0 * (numbers % 2)
        rows = np.zeros((len(numbers), d))
        cut = int((numbers < 2 * d).sum())
        rows[np.arange(cut), numbers[:cut] // 2] = signs[:cut]
        rows[cut:] = self.matrix[numbers[cut:] // 2 - d] * (signs[cut:, None] * d**-0.5)
        return rows

    def verify(self) -> Verified:
        """The matrix is orthogonal, in exact integers; the rest can be read off."""
        d = self.shape[1]
        matrix: np.ndarray = self.matrix.astype(np.float32)
        right = all(
            (np.matmul(matrix[i : i + 512], matrix.T) == d * np.eye(d)[i : i + 512]).all()
            for i in range(0, d, 512)
        )
        if not right or (np.abs(matrix) != 1).any():
            raise ValueError("the matrix is not a Hadamard matrix")
        near = Cosine.root(Fraction(1, d))
        far = Cosine(f"-{near.text}", -near.value)
        distribution = (
            (near, 2 * d * d),
            (Cosine.of(0), 4 * d * (d - 1)),
            (far, 2 * d * d),
            (Cosine.of(-1), 2 * d),
        )
        return Verified(4 * d, True, near, distribution, "two orthogonal bases, exact integers")


def named(name: str) -> Construction | None:
    """`mub-512` and its like, or None."""
    digits = name.removeprefix("mub-")
    if digits == name or not digits.isdecimal() or len(digits) > 4 or digits[0] == "0":
        return None
    return next(iter(in_dimension(int(digits))), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The two bases of R^d, where a Hadamard matrix is at hand."""
    if not 4 <= d <= _LARGEST or not has_hadamard_matrix(d):
        return ()
    near = Cosine.root(Fraction(1, d)).text
    found = Construction(
        name=f"mub-{d}",
        title="two mutually unbiased bases, signed",
        d=d,
        K=4 * d,
        cosine=Cosine.root(Fraction(1, d)),
        proven=False,
        reference=_SOURCE,
        build=partial(_rows, d),
        distribution=((near, d), ("0", 2 * d - 2), (f"-{near}", d), ("-1", 1)),
    )
    return (found,)


def _rows(d: int) -> Rows:
    if d & (d - 1) == 0:
        return SignRows(FormSet([], np.zeros((1, d), dtype=np.uint8)), standard=True)
    return TwoBases(hadamard_matrix(d))
