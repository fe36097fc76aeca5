"""The reference of GNC2: a one-vs-rest distance that is known to be attainable for (d, K).

It is the clearance 1 - t of the best known code, t its largest cosine. By the bisector theorem
(docs/theory/theorem.md) this is rho* if that code is proved optimal, else the best known lower
bound.
"""

import math
import os
from functools import cache
from statistics import NormalDist

import numpy as np

from gnc_cli import __version__
from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.errors import DataError
from gnc_cli.geometry.one_vs_rest import minimum_one_vs_rest
from gnc_cli.geometry.sphere import normalise
from gnc_cli.io.code import CodeFile
from gnc_cli.known_codes.best import BestKnown, Table, best, read_table
from gnc_cli.known_codes.citation import cite
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline

__all__ = ["gnc2_reference", "possible_gnc2", "random_gnc2"]

_MAX_DRAWN_SIZE = 3e4
"""K^2 d up to which random codes of few dimensions are drawn and measured, in some 20 ms each."""
_MIN_INDEPENDENT_ROWS = 10
"""Number of random rows below which codes are drawn and measured, since the distances of so few
rows are far from independent."""
_MIN_DIMENSION = 32
"""Dimension from which the distances of random rows follow from the approximation, to 0.03."""
_MIN_DISTANCE = 0.4
"""Distance below which random rows begin to lie in the hull of the others, where the approximation
fails."""


def gnc2_reference(
    d: int,
    K: int,
    reference: float | tuple[str, CodeFile] | None = None,
    deadline: Deadline | None = None,
    table: Table = None,
) -> Gnc2Reference | None:
    """Return the reference of GNC2 for K classes in d dimensions.

    Args:
        d: dimension of the rows.
        K: number of classes.
        reference: a distance, or the path of a file with its code, which is certified; by default
            the distance of the best known code, see `gnc_cli.known_codes.best`.
        deadline: end of the time for the certificate of that code.
        table: the user's table of known codes, used together with ours.

    Returns:
        The reference; None if no code is known.

    Raises:
        DataError: the code has fewer points or more dimensions.

    Example:
        >>> gnc2_reference(512, 1000).value, gnc2_reference(512, 1000).source
        (1.0, 'theorem 3.3 (arXiv 2310.05351)')
    """
    if reference is None:
        code = best(d, K, checked_table(table))
        return None if code is None else _code_reference(code)
    if isinstance(reference, (int, float)):
        return Gnc2Reference(
            float(reference), "pinned", "pinned", "given by --reference", None, False
        )
    return _certified(*reference, d, K, deadline)


def checked_table(table: Table) -> KnownCodes | None:
    """Return the user's table of known codes; None if there is only ours.

    Raises:
        DataError: an entry is better than a theorem allows.
    """
    if not read_table(table).stamp.current:
        return None
    from gnc_cli.limits.registry import possible_table  # loads every theorem

    return possible_table(table)


def possible_gnc2(d: int, K: int, table: Table) -> Bracket:
    """Return the bracket of rho*(d, K), the largest GNC2 of K unit rows, as in `gnc bounds`.

    Example:
        >>> possible_gnc2(3, 4, None)
        Bracket(lower=1.3333333333333333, upper=1.3333333333333333)
    """
    from gnc_cli.limits.answers import possible_interval
    from gnc_cli.limits.registry import possible_table

    return possible_interval(d, K, possible_table(table))


@cache
def random_gnc2(d: int, K: int) -> float | None:
    """Return the mean GNC2 of K random unit rows in d dimensions; None if it is not known.

    For few rows, and for small codes in d < 32 dimensions, it is the mean of the certified lower
    ends of three drawn codes. Otherwise, in d >= 32 dimensions, the distance of a random row from
    the hull of m others is nearly that of a simpler random problem (Gordon's comparison): the
    minimum over convex weights v of `sqrt(1 + |v|^2) - <g, v>`, g (m,) normal with variance 1/d,
    which `_hull_distance` solves. Drawn g give the mean and the standard deviation s of the K
    distances; their minimum is `mean - s E[max of K normal numbers]`, within 0.03 of drawn codes,
    and from d = 64 within 0.01.

    Example:
        >>> round(random_gnc2(512, 100), 2), random_gnc2(8, 10_000)
        (0.94, None)
    """
    rng = np.random.default_rng(0)
    if K < _MIN_INDEPENDENT_ROWS or (d < _MIN_DIMENSION and K * K * d <= _MAX_DRAWN_SIZE):
        codes = normalise(rng.standard_normal((3, K, d)))
        return float(np.mean([minimum_one_vs_rest(W, tolerance=1e-3).lower for W in codes]))
    if d < _MIN_DIMENSION:
        return None
    draws = rng.standard_normal((min(400, max(16, int(2e5 / K))), K - 1)) / math.sqrt(d)
    distances = list(map(_hull_distance, draws))
    largest = NormalDist().inv_cdf((K - 0.375) / (K + 0.25))  # Blom's approximation
    smallest = float(np.mean(distances) - np.std(distances) * largest)
    return smallest if smallest >= _MIN_DISTANCE else None


def _hull_distance(g: np.ndarray) -> float:
    """Return the minimum of `sqrt(1 + |v|^2) - <g, v>` over convex weights v, g of shape (m,).

    At the minimum `v = (g - t)_+ / p` with `p = sum (g - t)_+`, `q = sum (g - t)_+^2` and `p^2 + q
    = 1`; its value is `p - t`. Both grow as t falls: the n largest entries count.
    """
    g = np.sort(g)[::-1]
    counts, sums, squares = np.arange(1, len(g) + 1), np.cumsum(g), np.cumsum(g * g)
    reached = (sums - counts * g) ** 2 + squares - 2.0 * g * sums + counts * g * g
    n = int(np.searchsorted(reached, 1.0))
    s, a = float(sums[n - 1]), n * (n + 1.0)
    t = ((n + 1) * s - math.sqrt((n + 1) ** 2 * s * s - a * (s * s + squares[n - 1] - 1.0))) / a
    return s - n * t - t


def _code_reference(code: BestKnown) -> Gnc2Reference:
    size = f"({code.d}, {code.K})"
    if code.kind == "theorem":
        name, source, version = (
            code.source,
            f"{code.source.partition(': ')[0]} (arXiv 2310.05351)",
            None,
        )
    elif code.kind == "construction":
        name = code.source.removeprefix("construction: ")
        source, version = "1 - max_cosine of a construction", f"gnc {__version__}"
    elif code.kind == "solved":
        name, source = f"Softmax Code {size}", f"certified distance of a code, {code.source}"
        version = code.date
    else:
        assert code.stamp is not None
        name = cite(code.optimality or code.source, code.d, code.K)
        cites = ("1 - max_cosine of a code", code.source, code.optimality)
        source = "; ".join(filter(None, cites))
        version = f"{code.stamp.title}, sha256 {code.stamp.sha256[:12]}"
    return Gnc2Reference(
        1.0 - code.max_cosine, code.kind, name, source, version, code.proven is True, code.how
    )


def _certified(
    path: str, code: CodeFile, d: int, K: int, deadline: Deadline | None
) -> Gnc2Reference:
    rows, columns = code.weights.shape
    if columns > d or rows < K:
        raise DataError(
            f"{spelled('reference', path)} holds {rows} points in {columns} dimensions; for "
            f"K = {K}, d = {d} give a code of at least {K} points in at most {d} dimensions"
        )
    rho = minimum_one_vs_rest(normalise(code.weights), deadline=deadline)
    command = code.provenance.get("command") or "a code"
    source = f"{command}; certified distance of {rows} points in {columns} dimensions"
    version = code.attrs.get("gnc_version")
    return Gnc2Reference(
        rho.lower,
        "file",
        os.path.basename(path),
        source,
        f"gnc {version}" if version else None,
        False,
    )
