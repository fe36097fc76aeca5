"""Numbers of many digits in NumPy: integers over a common power of two, in arrays of objects.

A vectorised sum of products of Python integers is some ten times faster than the same in a
multi-precision floating-point class, and rounds only where it says so.
"""

import numpy as np

__all__ = ["FixedPoint"]

_MANTISSA = 53


class FixedPoint:
    """Fixed-point arithmetic with `bits` binary places: x stands for `x / 2**bits`."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def of(self, x: np.ndarray | float) -> np.ndarray:
        """Floats to fixed point, exactly unless they have digits beyond the last place."""
        fraction, exponent = np.frexp(np.asarray(x, dtype=np.float64))
        mantissa = np.ldexp(fraction, _MANTISSA).astype(np.int64)
        return self._shifted(mantissa, exponent.astype(np.int64) - _MANTISSA + self.bits)

    def floats(self, x: np.ndarray) -> np.ndarray:
        """Fixed point to floats, to within a few roundings."""
        scaled, exponent = self.scaled(x)
        return np.ldexp(scaled, exponent)

    def scaled(self, x: np.ndarray) -> tuple[np.ndarray, int]:
        """Floats in [-1, 1] and a common exponent: the numbers may be far below 1e-308."""
        size = max((int(abs(v)).bit_length() for v in x.flat), default=0)
        shift = size - 2 * _MANTISSA
        kept = x >> shift if shift > 0 else x << -shift
        small: np.ndarray = np.ldexp(kept.astype(np.float64), -2 * _MANTISSA)
        return small, size - self.bits

    def unscaled(self, x: np.ndarray, exponent: int) -> np.ndarray:
        """`x * 2**exponent` in fixed point, for floats x."""
        fraction, own = np.frexp(x)
        mantissa = np.ldexp(fraction, _MANTISSA).astype(np.int64)
        return self._shifted(mantissa, own.astype(np.int64) + exponent - _MANTISSA + self.bits)

    def product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Entrywise product, rounded down."""
        return np.asarray((x * y) >> self.bits)

    def dots(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Inner products of corresponding rows, shape (m,), rounded once."""
        return np.asarray((x * y).sum(axis=-1) >> self.bits)

    def text(self, x: int, decimals: int) -> str:
        """Decimal text with so many decimals, rounded to nearest.

        Example:
            >>> FixedPoint(10).text(-1536, 3), FixedPoint(10).text(-1, 2)
            ('-1.500', '0.00')
        """
        n = (2 * abs(int(x)) * 10**decimals + (1 << self.bits)) >> (self.bits + 1)
        digits = str(n).rjust(decimals + 1, "0")
        text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
        return f"-{text}" if x < 0 and n else text

    def _shifted(self, mantissa: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """`mantissa * 2**shift`, rounded down, as Python integers of any size."""
        flat = [
            m << s if s >= 0 else m >> -s
            for m, s in zip(mantissa.ravel().tolist(), shift.ravel().tolist(), strict=True)
        ]
        whole = np.empty(len(flat), dtype=object)
        whole[:] = flat
        return whole.reshape(mantissa.shape)
