"""One code compared with the best known one: read, measured, recognised."""

import contextlib
import math
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.codes.certify import (
    certify_code,
    line_contacts,
    line_measures,
    simple_bracket,
)
from gnc_cli.codes.congruence import Undecided, congruence
from gnc_cli.codes.description import Description
from gnc_cli.comparison.files import EQUAL_COSINE, Code
from gnc_cli.comparison.result import FileRow, Isometry, PolishedCosine, Polynomial
from gnc_cli.comparison.verdict import verdict
from gnc_cli.geometry.gram import closest_pair, gram_tiles, one_vs_one_rattlers, row_maxima
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import angle_from_chord, antipodes, chord
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.recognition import SAME_ROWS, Recognised, recognise
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.limits.lines import best_lines
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import limit_threads, threads_for

if TYPE_CHECKING:
    from gnc_cli.codes.digits import Digits

_TOLERANCE = 1e-7
"""Largest difference of distances that count as equal, for rattlers and contacts."""
_TOLERANCE_SINGLE = 1e-5
"""The same tolerance for coordinates that have only the digits of float32."""
_MAX_EXACT_GAP = 1e-9
"""Largest gap of a match whose coordinates have twelve decimals; with a larger one the advice names
the precision."""
_MAX_PRODUCTS = 1e12
"""Largest K^2 d for which contacts are counted: about a minute on one core."""
_PAIR_VALUES = ("max_cosine", "min_angle_deg", "rho_one_vs_rest", "rattlers", "contacts")
"""Fields of a row that `_measure` computes from all pairs of points."""
PAIR_KEYS = (
    "max_cosine",
    "min_angle_deg",
    "gap",
    "status",
    "rho_one_vs_rest",
    "rattlers",
    "contacts",
)
"""Keys of a row that require all pairs of points."""
_SIDE = 1024
"""Side of a tile of the Gram matrix: 8 MB in float64."""
_BRACKETED_ROWS = 4
"""Number of rows of a large code whose distance to the hull of the others is computed; the
smallest is the upper end of the bracket."""
_BRACKET_SECONDS = 10.0
"""Time limit for these rows, in seconds."""
_MAX_LISTED_ROWS = 3000
"""Largest number of rows whose contacts are listed, not only counted, and whose distances are all
bracketed."""
_MAX_FITTED_DIGITS = 200
"""Largest number of digits to which a polynomial is fitted."""


@dataclass(frozen=True, eq=False)
class ComparedCode:
    """Row of the result, and the arrays that plots and further digits need."""

    row: FileRow
    """Row of the result."""
    weights: np.ndarray
    """Unit rows, shape (K, d); lines with their opposites, (2 K, d)."""
    contact_pairs: np.ndarray | None
    """Pairs at the smallest distance, shape (m, 2); None if they were not listed."""
    rattles: np.ndarray | None
    """Mask of the one-vs-one rattlers, shape (K,)."""
    names: list[str] | None = None
    """Names of the points, if the file has them."""


def compare_code(
    code: Code, table: KnownCodes, deadline: Deadline, threads: int | None
) -> ComparedCode:
    """Measure a code and compare it with the best known one.

    The cosine of an improvement, `proved_cosine`, is proved in rational arithmetic: for the floats
    of a binary file to the last bit, for the decimals of a text file as they are written (as read
    to float64 if the file cannot be read again). If the deadline comes first, the row has no cosine
    and no status.
    """
    if code.problem == "lines":
        return _compare_lines(code, table, threads)
    started = time.monotonic()
    K, d = code.rows.shape
    best_known = best(d, K, table)
    equal = pairs = rattles = None
    values: dict[str, Any] = dict.fromkeys(_PAIR_VALUES)
    undecided: tuple[str, ...] = PAIR_KEYS
    recognised = Recognised(None, "undecided")
    with limit_threads(threads_for(2.0 * K * K * d, threads)):
        with contextlib.suppress(TimeoutError):
            values, undecided, pairs, rattles = _measure(code, deadline)
            cosine = values["max_cosine"]
            recognised = recognise(code.unit, cosine, rattles, deadline, code.precision)
            if cosine >= 1.0 - EQUAL_COSINE:
                equal = closest_pair(code.unit, deadline=deadline)
        cosine, rho = values["max_cosine"], values["rho_one_vs_rest"]
        fields = verdict(code, cosine, best_known, table.stamp, rho)
    if (
        fields["status"] is ComparisonStatus.MATCHES
        and _MAX_EXACT_GAP < fields["gap"] <= code.precision
    ):
        fields["advice"] = (
            f"equal to the best known code to the precision of the file ({code.precision:.1e})"
        )
    if equal is not None and equal[2] <= EQUAL_COSINE:
        fields["advice"] = f"rows {equal[0]} and {equal[1]}, counted from 0, are equal: remove one"
    row = FileRow(
        d=d,
        K=K,
        congruent_to=recognised.name,
        file=code.file,
        problem=code.problem,
        congruence=recognised.state,
        undecided=(*undecided, *recognised.undecided),
        seconds=time.monotonic() - started,
        **values,
        **fields,
    )
    return ComparedCode(row, code.unit, pairs, rattles, code.names)


def _compare_lines(code: Code, table: KnownCodes, threads: int | None) -> ComparedCode:
    """Compare lines with the best known ones; an improvement is proved for the floats."""
    started = time.monotonic()
    K, d = code.rows.shape
    with limit_threads(threads_for(8.0 * K * K * d, threads)):
        coherence, angle, pairs = line_measures(code.unit, max(_TOLERANCE, 2.0 * code.precision))
    row = FileRow(
        d=d,
        K=K,
        file=code.file,
        problem=code.problem,
        coherence=coherence,
        min_angle_deg=angle,
        rho_one_vs_rest=None,
        rattlers=None,
        contacts=line_contacts(pairs),
        congruence=None,
        seconds=time.monotonic() - started,
        **verdict(code, coherence, best_lines(d, K), table.stamp),
    )
    return ComparedCode(row, antipodes(code.unit), pairs, None, None)


def _measure(
    code: Code, deadline: Deadline
) -> tuple[dict[str, Any], tuple[str, ...], np.ndarray | None, np.ndarray]:
    """Measure the values of a row; above `_MAX_LISTED_ROWS` rows they are counts and bounds.

    Returns:
        The values, the keys that the deadline left undecided, the contacts if they are listed,
        shape (m, 2), and the mask of the one-vs-one rattlers, shape (K,).

    Raises:
        TimeoutError: the deadline came before all pairs were computed.
    """
    W, tolerance = code.unit, _TOLERANCE
    if code.precision > tolerance:
        tolerance = max(_TOLERANCE_SINGLE, 2.0 * code.precision)
    if len(W) <= _MAX_LISTED_ROWS:
        certificate = certify_code(W, tolerance=tolerance, deadline=deadline)
        assert certificate.rattles_one_vs_one is not None
        contacts = None if certificate.contact_pairs is None else len(certificate.contact_pairs)
        values = (
            certificate.max_cosine,
            math.degrees(certificate.min_angle),
            certificate.rho_one_vs_rest,
            certificate.rattlers,
            contacts,
        )
        undecided = ("rattlers.one_vs_rest",) if certificate.undecided else ()
        measures = dict(zip(_PAIR_VALUES, values, strict=True))
        return measures, undecided, certificate.contact_pairs, certificate.rattles_one_vs_one
    row_max, _ = row_maxima(W, deadline=deadline)
    rattles = one_vs_one_rattlers(row_max, tolerance)
    cosine = float(row_max.max())
    shortest = float(chord(cosine))
    contacts = count_contacts(W, shortest, tolerance, deadline)
    angle = math.degrees(angle_from_chord(shortest))
    free = Rattlers(int(rattles.sum()), None, tolerance)
    values = cosine, angle, rho_bracket(W, row_max, deadline), free, contacts
    undecided = ("contacts",) if contacts is None and deadline.expired else ()
    return dict(zip(_PAIR_VALUES, values, strict=True)), undecided, None, rattles


# Codes too large to list their contacts or to bracket every row: counts and bounds.


def count_contacts(
    W: np.ndarray, shortest: float, tolerance: float, deadline: Deadline
) -> int | None:
    """Count the pairs of unit rows (K, d) whose chord exceeds `shortest` by at most `tolerance`.

    None if K^2 d is above 1e12 or the deadline comes first.
    """
    K, d = W.shape
    if float(K) * K * d > _MAX_PRODUCTS:
        return None
    threshold = 1.0 - (shortest + tolerance) ** 2 / 2.0
    count = 0
    try:
        for rows, columns in gram_tiles(K, _SIDE, deadline=deadline):
            mask = W[rows] @ W[columns].T >= threshold
            count += int((np.triu(mask, 1) if rows == columns else mask).sum())
    except TimeoutError:
        return None
    return count


def rho_bracket(W: np.ndarray, row_max: np.ndarray, deadline: Deadline) -> Bracket:
    """Bracket the one-vs-rest distance of unit rows (K, d) by the closest pair and a few rows."""
    simple = simple_bracket(W, row_max)
    if deadline.expired:
        return simple
    rows = np.argsort(-row_max, kind="stable")[:_BRACKETED_ROWS]
    distances = one_vs_rest(W, rows, deadline=deadline.limited(_BRACKET_SECONDS))
    return simple.narrowed(Bracket(0.0, float(distances.upper.min())))


# Further digits and descriptions


def isometry(first: ComparedCode, other: ComparedCode, deadline: Deadline) -> Isometry:
    """Return the isometry from one code to another, rows within `SAME_ROWS`, if there is one."""
    match = congruence(first.weights, other.weights, tolerance=SAME_ROWS, deadline=deadline)
    if match is None or isinstance(match, Undecided):
        return Isometry(False) if match is None else Isometry(None, reason=match.reason)
    rotation = tuple(map(tuple, match.rotation.tolist()))
    return Isometry(True, match.deviation, tuple(match.permutation.tolist()), rotation)


def add_description(
    row: FileRow, code: ComparedCode, precision: float, deadline: Deadline
) -> FileRow:
    """Add the description of a code to its row, for `compare --describe`."""
    from gnc_cli.codes.invariants import describe

    if code.contact_pairs is None or row.compared is None or row.compared >= 1.0 - EQUAL_COSINE:
        reason = "all: its contacts are not listed, or points are equal"
        return replace(row, description=Description(left_out=(reason,)))
    tolerance = max(SAME_ROWS, precision)
    description, undecided = describe(
        code.weights, code.contact_pairs, deadline, tolerance=tolerance
    )
    return replace(row, description=description, undecided=(*row.undecided, *undecided))


def polish_cosine(
    code: ComparedCode, decimals: int, deadline: Deadline
) -> "tuple[PolishedCosine, Digits | None]":
    """Compute the cosine to `decimals` digits and its code, for `compare --digits`.

    The code is None if there was an obstacle.
    """
    from gnc_cli.codes.contact_equations import DECIMALS, is_root
    from gnc_cli.codes.digits import DigitsError, Obstacle, many_digits, minimal_polynomial

    def refused(obstacle: Obstacle, advice: str) -> tuple[PolishedCosine, None]:
        return PolishedCosine(decimals, obstacle=obstacle.value, advice=advice), None

    if code.row.compared is None:
        return refused(Obstacle.OUT_OF_TIME, Obstacle.OUT_OF_TIME.advice)
    if code.row.K > _MAX_LISTED_ROWS:
        return refused(Obstacle.TOO_LARGE, f"more than {_MAX_LISTED_ROWS} points")
    digits = many_digits(code.weights, decimals, deadline=deadline)
    if isinstance(digits, DigitsError):
        return refused(digits.obstacle, f"{digits.obstacle.advice} ({digits.detail})")
    polynomial = None
    places = min(_MAX_FITTED_DIGITS, len(digits.cosine.partition(".")[2]))
    cosine = f"{Decimal(digits.cosine):.{places}f}"
    proposal = None if deadline.expired else minimal_polynomial(cosine)
    if proposal is not None:
        long_digits: Digits | DigitsError = digits
        if decimals < DECIMALS:
            long_digits = many_digits(code.weights, DECIMALS, deadline=deadline)
        polynomial = Polynomial(
            tuple(str(c) for c in proposal.coefficients),
            str(proposal),
            round(proposal.evidence, 1),
            not isinstance(long_digits, DigitsError)
            and is_root(long_digits.points, long_digits.contacts, proposal.coefficients, deadline),
        )
    polished = PolishedCosine(
        decimals, digits.cosine, digits.method, len(digits.contacts), digits.moved, polynomial
    )
    return polished, digits
