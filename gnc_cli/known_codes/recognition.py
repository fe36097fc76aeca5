"""Recognition of constructions and stored codes, up to rotation, reflection and order of points."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gnc_cli.codes.congruence import Undecided, congruence, fingerprint
from gnc_cli.constructions.registry import find, in_dimension
from gnc_cli.geometry.gram import one_vs_one_rattlers, row_maxima
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.best import constructed
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline

SAME_ROWS = 1e-6
"""Largest distance of corresponding rows of equal codes: far above the error of a polish, far below
the distance of different codes."""
_SAME_COSINES = 1e-5
"""Largest difference of largest cosines for which a candidate is built."""
_MAX_ROWS = 3000
"""Largest number of rows of a code in which orthogonal simplices are searched: 72 MB."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recognised:
    """Result of a search for a congruent code."""

    name: str | None
    """Name of the congruent code."""
    state: str | None
    """State: `decided` with the name, or if no construction or stored code fits; `undecided` if the
    search was cut short; None if the code is too large for a search."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """Keys of a row that it leaves undecided."""
        return ("congruent_to",) if self.state == "undecided" else ()


def recognise(
    W: np.ndarray,
    max_cosine: float,
    rattles: np.ndarray,
    deadline: Deadline,
    precision: float,
    *,
    seconds: float = 10.0,
    max_numbers: float = 2e7,
) -> Recognised:
    """Search for a construction or stored code that is congruent to unit rows `W`, (K, d).

    The places of one-vs-one rattlers, marked in `rattles`, (K,), are not compared. A deadline
    without a limit becomes one of `seconds`; codes of more than `max_numbers` coordinates are not
    compared. `precision` is the accuracy of coordinates that are coarser than float64.
    """
    K, d = W.shape
    if W.size > max_numbers:
        return Recognised(None, None)
    clock = deadline.limited(seconds) if deadline.seconds is None else deadline
    state = "decided"
    for name, cosine, build in _candidates(d, K):
        if abs(cosine - max_cosine) > _SAME_COSINES + precision:
            continue
        try:
            equal = _same_code(
                W, np.asarray(build()), rattles, clock, max(SAME_ROWS, precision / 2.0)
            )
        except TimeoutError:
            equal = Undecided("the fingerprints took too long")
        if isinstance(equal, Undecided):
            _log.info("congruence with %s is undecided: %s", name, equal.reason)
            state = "undecided"
        elif equal:
            return Recognised(f"{name}, rattlers aside" if rattles.any() else name, "decided")
    join = join_of_simplices(W, SAME_ROWS)
    return Recognised(join, "decided" if join else state)


def _same_code(
    W: np.ndarray, rows: np.ndarray, rattles: np.ndarray, deadline: Deadline, tolerance: float
) -> bool | Undecided:
    """Decide whether two codes are congruent without their rattlers.

    Fingerprints come first: a code with other inner products needs no matching.

    Raises:
        TimeoutError: the deadline came before the fingerprints.
    """
    if rattles.any():
        free = one_vs_one_rattlers(row_maxima(rows, deadline=deadline)[0], 1e-7)
        W, rows = W[~rattles], rows[~free]
    invariants, other_invariants = (
        fingerprint(W, deadline=deadline),
        fingerprint(rows, deadline=deadline),
    )
    if not invariants.agrees(other_invariants, tolerance):
        return False
    match = congruence(W, rows, tolerance=tolerance, deadline=deadline)
    return match if isinstance(match, Undecided) else match is not None


def _candidates(d: int, K: int) -> Iterator[tuple[str, float, Callable[[], Any]]]:
    """Yield codes of K points in at most d dimensions: name, largest cosine, builder of rows."""
    # Theorem 3.3; the smaller simplices lie in subspaces.
    theorem = find(f"simplex-{K - 1}") if 3 <= K <= d else find(f"polygon-{K}") if d == 2 else None
    if theorem is not None:
        yield theorem.name, theorem.cosine.value, theorem.build
    for code in in_dimension(d):
        if code.K == K:
            yield code.name, code.cosine.value, code.build
    part = constructed(d, K) if K > 2 * d else None
    if part is not None and part.changes:
        yield part.origin, part.cosine.value, part.build
    for name, rows in stored_codes(d, K):
        yield name, float(row_maxima(normalise(rows))[0].max()), partial(normalise, rows)


def join_of_simplices(W: np.ndarray, tolerance: float) -> str | None:
    """Name the regular simplices in orthogonal subspaces that unit rows form; None if they do not.

    For d + 2 <= K <= 2 d these are the Softmax Codes of the orthoplex regime with the most
    symmetry.

    Args:
        W: unit rows, shape (K, d).
        tolerance: largest deviation of an inner product.

    Source: J. Alcala and others, Neural collapse in the orthoplex regime, arXiv 2603.20587.

    Example:
        >>> join_of_simplices(np.kron(np.eye(3), [[1.0], [-1.0]]), 1e-6)
        'orthoplex-3, 6 of its 6 points'
    """
    K, d = W.shape
    if not d + 2 <= K <= min(2 * d, _MAX_ROWS):
        return None
    gram = W @ W.T
    same_simplex = gram < -0.5 / K
    np.fill_diagonal(same_simplex, True)
    sizes = same_simplex.sum(axis=1)
    simplices = np.where(same_simplex, -1.0 / np.maximum(sizes - 1, 1), 0.0)
    np.fill_diagonal(simplices, 1.0)
    groups = np.unique(same_simplex, axis=0).sum(axis=1)
    if groups.sum() != K or np.abs(gram - simplices).max() > tolerance:
        return None
    if groups.max() <= 2:
        return f"orthoplex-{d}, {K} of its {2 * d} points"
    return f"join of simplices {' + '.join(map(str, sorted(groups)))} (arXiv 2603.20587)"
