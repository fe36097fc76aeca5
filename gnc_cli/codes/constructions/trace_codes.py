"""Linear sets of trace functions over GF(2^m): Gold's, the three-error and the BCH codes' forms.

The functions Tr(c_1 x^e_1) + Tr(c_2 x^e_2) + .., c_j in GF(2^m), with the affine ones Tr(a x) + c
added, are an extended cyclic code of length 2^m that contains the first-order Reed-Muller code.
"""

from collections.abc import Sequence

import numpy as np

from gnc_cli.codes.constructions.forms import FormSet, Span, Symmetry, normal
from gnc_cli.codes.constructions.galois import cyclotomic_coset, galois_field

__all__ = ["affine_symmetries", "trace_forms", "trace_functions"]


def trace_functions(m: int, e: int) -> np.ndarray:
    """A basis of the functions Tr(c x^e), c in GF(2^m), shape (number of conjugates of e, 2^m).

    Raises:
        ValueError: the functions are linear, or zero.
    """
    field = galois_field(m)
    if 1 in cyclotomic_coset(m, e) or e % field.order == 0:
        raise ValueError(f"Tr(c x^{e}) is affine over GF(2^{m})")
    x = field.power(np.arange(field.q), e)
    functions = field.trace[field.multiply(field.exp[:m, None], x[None, :])]
    return functions[Span(normal(functions)).independent]


def trace_forms(m: int, exponents: Sequence[int]) -> FormSet:
    """The sums of trace functions of these exponents; the first exponents' functions come first.

    Example:
        >>> len(trace_forms(6, (9, 5, 21)))  # conjugates: 3, 6 and 2
        2048
    """
    return FormSet([trace_functions(m, e) for e in exponents], None, affine_symmetries(m))


def affine_symmetries(m: int) -> tuple[Symmetry, ...]:
    """x -> x + 2^i, x -> a x and x -> x^2 of GF(2^m), a its primitive element."""
    field = galois_field(m)
    x = np.arange(field.q)
    return (
        *(Symmetry(f"translation by 2^{i}", x ^ (1 << i), 2) for i in range(m)),
        Symmetry("multiplication", field.multiply(x, field.exp[1:2]), field.order),
        Symmetry("Frobenius", field.power(x, 2), m),
    )
