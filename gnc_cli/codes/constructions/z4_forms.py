"""Kerdock's and Delsarte and Goethals's forms as Gray images of Z4-linear codes.

With n = m - 1 odd, the words T(l X) + 2 tr(c_1 x^3) + .. + 2 tr(c_r x^(1 + 2^r)) + e, l in
GR(4, n), e in Z4, X the Teichmueller lift of x in GF(2^n), T the ring's trace and tr the field's,
are a Z4-linear code of length 2^n. The Gray map 0, 1, 2, 3 -> 00, 01, 11, 10 takes Lee distances to
Hamming distances at length 2^m. Modulo affine functions l may be 0 or a Teichmueller unit, and
the functions tr(c_j x^(1 + 2^j)) do not depend on the new coordinate. (A. R. Hammons, P. V. Kumar,
A. R. Calderbank, N. J. A. Sloane, P. Sole, The Z4-linearity of Kerdock, Preparata, Goethals, and
related codes, 1994.)
"""

import numpy as np

from gnc_cli.codes.constructions.forms import FormSet, Symmetry
from gnc_cli.codes.constructions.galois import galois_field, ring_trace
from gnc_cli.codes.constructions.trace_codes import trace_functions

__all__ = ["z4_forms"]


def z4_forms(m: int, r: int) -> FormSet:
    """The forms of the code with r terms 2 tr(c x^(1 + 2^j)); r = 0 is Kerdock's set.

    Coordinate x + 2^(m-1) e is place e of the Gray image of coordinate x.

    Raises:
        ValueError: m is odd or out of 4 .. 12, or r out of 0 .. (m - 2) / 2.

    Example:
        >>> len(z4_forms(4, 0)), len(z4_forms(6, 1))
        (8, 1024)
    """
    if m % 2 or not 4 <= m <= 12 or not 0 <= r <= (m - 2) // 2:
        raise ValueError(f"no Z4-linear forms for m = {m}, r = {r}")
    field = galois_field(m - 1)
    x = np.arange(field.q)
    words = ring_trace(m - 1)[field.multiply(x[:, None], x[None, :])]
    core = np.concatenate([words >> 1, (words >> 1) ^ (words & 1)], axis=1).astype(np.uint8)
    # The last coefficient's functions come last, so that each code begins with the smaller ones.
    layers = [np.tile(trace_functions(m - 1, 1 + 2**j), 2) for j in range(1, r + 1)]
    symmetries = [
        Symmetry("multiplication", field.multiply(x, field.exp[1:2]), field.order),
        Symmetry("Frobenius", field.power(x, 2), field.m),
    ]
    return FormSet(layers, core, [_on_both_halves(s) for s in symmetries])


def _on_both_halves(symmetry: Symmetry) -> Symmetry:
    half = symmetry.permutation
    both = np.concatenate([half, half + len(half)])
    return Symmetry(symmetry.name, both, symmetry.order)
