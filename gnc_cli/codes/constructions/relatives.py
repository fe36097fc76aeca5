"""Relatives of single codes one dimension lower: their cross sections, with figures known unbuilt.

The n_t rows at cosine t from one row of a code with largest cosine c make, seen along that row, a
code of n_t rows in one dimension less with largest cosine at most (c - t^2) / (1 - t^2); it is
attained wherever two of them are at cosine c (J. H. Conway and N. J. A. Sloane, Sphere Packings,
Lattices and Groups, 1988, chapter 14).
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from gnc_cli.codes.constructions.combine import embedded_rows
from gnc_cli.codes.constructions.construction import Construction, Cosine, Rows
from gnc_cli.codes.constructions.derived import derived_code
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.registry import single_codes

__all__ = ["cross_sections"]


def cross_sections(d: int) -> Iterator[Construction]:
    """Cross sections in exactly d dimensions of the single codes in d + 1 that look alike from
    every row and whose cosines are rational.

    Example:
        >>> sorted((c.K, c.cosine.text) for c in cross_sections(7) if "e8" in c.name)
        [(56, '1/3'), (126, '1/2')]
    """
    for code in single_codes():
        if code.d != d + 1 or code.distribution is None or not code.transitive:
            continue
        for text, neighbours in code.distribution:
            t = _rational(text)
            largest = _rational(code.cosine.text)
            # The sections at t and -t of an antipodal code are one.
            if t is None or largest is None or not 0 <= t < 1:
                continue
            yield Construction(
                name=code.name,
                title=code.title,
                d=d,
                K=neighbours,
                cosine=Cosine.of((largest - t * t) / (1 - t * t)),
                proven=False,
                reference=code.reference,
                build=partial(_build, code, t, d),
                changes=(f"the {neighbours} rows at cosine {t} from one row",),
            )


def _build(code: Construction, t: Fraction, d: int) -> Rows:
    rows = code.build()
    if not isinstance(rows, IntegerRows):
        raise TypeError(f"{code.name} has no integer coordinates")
    return embedded_rows(derived_code(rows, 0, t), d)


def _rational(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None
