"""One code beside the best known one: read, measured, judged."""

import contextlib
import math
import os
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.codes.certify import (
    certify_code,
    line_contacts,
    line_figures,
    simple_bracket,
)
from gnc_cli.codes.congruence import Undecided, congruence
from gnc_cli.codes.description import Description
from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.comparison.files import read_decimals, read_published
from gnc_cli.comparison.result import FileRow, Isometry, PolishedCosine, Polynomial
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import closest_pair, gram_tiles, one_vs_one_rattlers, row_maxima
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.rounding import spacing
from gnc_cli.geometry.sphere import angle_from_chord, antipodes, chord, normalise
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.recognition import SAME_ROWS, Recognised, recognise
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.known_codes.verdict import ComparisonStatus, verdict
from gnc_cli.limits.lines import best_lines
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import limit_threads, threads_for

if TYPE_CHECKING:
    from gnc_cli.codes.digits import Digits

_TOLERANCE = 1e-7
"""Distances that differ by less count as equal, for rattlers and contacts."""
_TOLERANCE_SINGLE = 1e-5
"""The same tolerance where coordinates have the digits of float32 only."""
_PRINTED = 1e-9
"""A match with a gap beyond this has coordinates of fewer than twelve decimals; the advice says
so."""
_EQUAL = 1e-12
"""Two rows have the same direction if the cosine differs from 1 by less: a row stored twice,
rounded."""
_DECIMALS = range(3, 12)
"""Numbers of decimals to which published coordinates are rounded. With fewer they are exact, or
no copy of a code."""
_MOST_PRODUCTS = 1e12
"""Contacts are counted up to this K^2 d, which takes one core about a minute."""
_FIGURES = ("max_cosine", "min_angle_deg", "rho_one_vs_rest", "rattlers", "contacts")
"""Keys of a row that need every pair of points."""
OF_ALL_PAIRS = (
    "max_cosine",
    "min_angle_deg",
    "gap",
    "status",
    "rho_one_vs_rest",
    "rattlers",
    "contacts",
)
_SIDE = 1024
_BRACKETED = 4
"""Number of rows of a large code whose distance to the hull of the others is computed; the
smallest is the upper end of the bracket."""
_SECONDS = 10.0
"""Time limit for these rows."""
_LISTED_ROWS = 3000
"""Of codes with more rows contacts are counted, not listed, and few rows are bracketed."""
_FITTED = 200
"""A polynomial is fitted to this many digits at most."""
_PROBLEMS = ("softmax", "tammes", "ufm", "lines")


@dataclass(frozen=True, eq=False)
class Code:
    """A code to compare."""

    rows: np.ndarray
    """As they are stored, shape (K, d), float64."""
    file: str | None
    """As the user named it; None for an array."""
    names: list[str] | None = None
    """Of the points, where the file has an attribute `class_names`."""
    storage: str = "float64"
    """Dtype of the coordinates in the file or array."""
    problem: str | None = None
    """That the search solved, where the file or result says it."""

    @cached_property
    def precision(self) -> float:
        """What cosines are good to: by the dtype, as all numbers have float32's digits only, or as
        unit rows were rounded to a few decimals, by which their lengths are off.
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            single = np.array_equal(self.rows.astype(np.float32), self.rows)
            off = np.abs(np.linalg.norm(self.rows, axis=1) - 1.0).max()
        stored = max(spacing(self.storage), spacing("float32" if single else "float64"))
        for decimals in _DECIMALS:
            # Each row is off by half of this, the cosine of two rows by all of it.
            error = math.sqrt(self.rows.shape[1]) * 10.0**-decimals
            if _EQUAL < off <= error and np.array_equal(self.rows.round(decimals), self.rows):
                return max(stored, error)
        return stored

    @cached_property
    def unit(self) -> np.ndarray:
        """Unit rows; those that are so already to the last bits stay as they are."""
        try:
            unit = normalise(self.rows)
        except DataError as error:
            raise DataError(f"{self.file or 'the array'}: {error}; remove or mend it") from error
        with np.errstate(over="ignore"):
            off = np.abs(np.linalg.norm(self.rows, axis=1, keepdims=True) - 1.0)
        return np.ascontiguousarray(np.where(off <= 1e-14, self.rows, unit))

    @cached_property
    def exact(self) -> ExactRows:
        """The rows as exact numbers: the decimals of a text file, else the floats."""
        words = None if self.file is None else read_decimals(self.file, self.rows)
        return ExactRows.of_floats(self.rows) if words is None else ExactRows.of_texts(words)


@dataclass(frozen=True, eq=False)
class Judged:
    """A row of the result, and what pictures and further digits need."""

    row: FileRow
    weights: np.ndarray
    """Unit rows, shape (K, d); of lines with their opposites, (2 K, d)."""
    contact_pairs: np.ndarray | None
    rattles: np.ndarray | None
    """One-vs-one rattlers, shape (K,), bool."""
    names: list[str] | None = None
    """Of the points, where the file has them."""


def load_code(source: Any, d: int | None) -> Code:
    """The code in a file, an array (K, d), or whatever carries `weights`, as a solve's result."""
    if isinstance(source, (str, os.PathLike)):
        stored = read_published(source, d)
        names = [str(name) for name in np.atleast_1d(stored.attrs.get("class_names", ()))]
        known = names if len(names) == len(stored.weights) else None
        made = stored.provenance.get("identity")
        problem = made.get("problem") if isinstance(made, dict) else None
        return Code(stored.weights, os.fspath(source), known, stored.storage, _problem(problem))
    array = getattr(source, "weights", source)
    rows = real_matrix(array, "a code")
    if min(rows.shape) < 2:
        raise DataError(f"an array has shape {rows.shape}; expected (K, d), one point per row")
    storage = str(getattr(array, "dtype", "float64")).removeprefix("torch.")
    return Code(rows, None, None, storage, _problem(getattr(source, "problem", None)))


def _problem(name: Any) -> str | None:
    """A problem of `solve`; None for any other text, or none."""
    return name if isinstance(name, str) and name in _PROBLEMS else None


def judge_code(code: Code, table: KnownCodes, deadline: Deadline, threads: int | None) -> Judged:
    """Measure a code and compare it with the best known one.

    The cosine of an improvement, `proved_cosine`, is proved in rational arithmetic: for the floats
    of a binary file to the last bit, for the decimals of a text file as they are written (as read
    to float64 where the file cannot be read again).
    Where the deadline comes first, the row has no cosine and no status.
    """
    if code.problem == "lines":
        return _judge_lines(code, table, threads)
    started = time.monotonic()
    K, d = code.rows.shape
    known = best(d, K, table)
    equal = pairs = rattles = None
    figures: dict[str, Any] = dict.fromkeys(_FIGURES)
    undecided: tuple[str, ...] = OF_ALL_PAIRS
    known_as = Recognised(None, "undecided")
    with limit_threads(threads_for(2.0 * K * K * d, threads)):
        with contextlib.suppress(TimeoutError):
            figures, undecided, pairs, rattles = _measure(code, deadline)
            cosine = figures["max_cosine"]
            known_as = recognise(code.unit, cosine, rattles, deadline, code.precision)
            if cosine >= 1.0 - _EQUAL:
                equal = closest_pair(code.unit, deadline=deadline)
        rho = figures["rho_one_vs_rest"]
        fields = verdict(
            figures["max_cosine"],
            d,
            K,
            known,
            table.stamp,
            verified=lambda t: verify_below(code.exact, t) is True,
            rows=lambda: code.exact,
            file=code.file,
            precision=code.precision,
            problem=code.problem,
            distance=0.0 if rho is None else rho.lower,
        )
    if fields["status"] is ComparisonStatus.MATCHES and _PRINTED < fields["gap"] <= code.precision:
        fields["advice"] = (
            f"equal to the best known code to the precision of the file ({code.precision:.1e})"
        )
    if equal is not None and equal[2] <= _EQUAL:
        fields["advice"] = f"rows {equal[0]} and {equal[1]}, counted from 0, are equal: remove one"
    row = FileRow(
        d=d,
        K=K,
        congruent_to=known_as.name,
        file=code.file,
        problem=code.problem,
        congruence=known_as.state,
        undecided=(*undecided, *known_as.undecided),
        seconds=time.monotonic() - started,
        **figures,
        **fields,
    )
    return Judged(row, code.unit, pairs, rattles, code.names)


def _judge_lines(code: Code, table: KnownCodes, threads: int | None) -> Judged:
    """Compare lines with the best known ones; what is proved of an improvement is of the floats."""
    started = time.monotonic()
    K, d = code.rows.shape
    with limit_threads(threads_for(8.0 * K * K * d, threads)):
        coherence, angle, pairs = line_figures(code.unit, max(_TOLERANCE, 2.0 * code.precision))

    def exact() -> ExactRows:
        return ExactRows.of_floats(antipodes(code.rows))

    fields = verdict(
        coherence,
        d,
        K,
        best_lines(d, K),
        table.stamp,
        verified=lambda t: verify_below(exact(), t) is True,
        rows=exact,
        file=code.file,
        precision=code.precision,
        problem=code.problem,
    )
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
        **fields,
    )
    return Judged(row, antipodes(code.unit), pairs, None, None)


def _measure(
    code: Code, deadline: Deadline
) -> tuple[dict[str, Any], tuple[str, ...], np.ndarray | None, np.ndarray]:
    """The figures of a row, of a code beyond `_LISTED_ROWS` rows counts and bounds; the keys that
    the deadline left open; the contacts, where they are listed; and the one-vs-one rattlers.

    Raises:
        TimeoutError: the deadline came before every pair was seen.
    """
    W, tolerance = code.unit, _TOLERANCE
    if code.precision > tolerance:
        tolerance = max(_TOLERANCE_SINGLE, 2.0 * code.precision)
    if len(W) <= _LISTED_ROWS:
        of = certify_code(W, tolerance=tolerance, deadline=deadline)
        assert of.rattles_one_vs_one is not None
        contacts = None if of.contact_pairs is None else len(of.contact_pairs)
        values = (
            of.max_cosine,
            math.degrees(of.min_angle),
            of.rho_one_vs_rest,
            of.rattlers,
            contacts,
        )
        undecided = ("rattlers.one_vs_rest",) if of.undecided else ()
        figures = dict(zip(_FIGURES, values, strict=True))
        return figures, undecided, of.contact_pairs, of.rattles_one_vs_one
    row_max, _ = row_maxima(W, deadline=deadline)
    rattles = one_vs_one_rattlers(row_max, tolerance)
    cosine = float(row_max.max())
    shortest = float(chord(cosine))
    contacts = count_contacts(W, shortest, tolerance, deadline)
    angle = math.degrees(angle_from_chord(shortest))
    free = Rattlers(int(rattles.sum()), None, tolerance)
    values = cosine, angle, rho_bracket(W, row_max, deadline), free, contacts
    undecided = ("contacts",) if contacts is None and deadline.expired else ()
    return dict(zip(_FIGURES, values, strict=True)), undecided, None, rattles


# Codes too large to list their contacts or to bracket every row: counts and bounds.


def count_contacts(
    W: np.ndarray, shortest: float, tolerance: float, deadline: Deadline
) -> int | None:
    """Pairs of rows whose chord exceeds the smallest one by at most `tolerance`.

    None where K^2 d is above 1e12 or the deadline comes first.
    """
    K, d = W.shape
    if float(K) * K * d > _MOST_PRODUCTS:
        return None
    least = 1.0 - (shortest + tolerance) ** 2 / 2.0
    count = 0
    try:
        for rows, columns in gram_tiles(K, _SIDE, deadline=deadline):
            near = W[rows] @ W[columns].T >= least
            count += int((np.triu(near, 1) if rows == columns else near).sum())
    except TimeoutError:
        return None
    return count


def rho_bracket(W: np.ndarray, row_max: np.ndarray, deadline: Deadline) -> Bracket:
    """What the closest pair proves of the one-vs-rest distance, and a look at a few rows above."""
    simple = simple_bracket(W, row_max)
    if deadline.expired:
        return simple
    rows = np.argsort(-row_max, kind="stable")[:_BRACKETED]
    few = one_vs_rest(W, rows, deadline=deadline.limited(_SECONDS))
    return simple.narrowed(Bracket(0.0, float(few.upper.min())))


# Further digits, and what a code is


def isometry(first: Judged, other: Judged, deadline: Deadline) -> Isometry:
    """Return the isometry from one code to another, rows within `SAME_ROWS`, if there is one."""
    match = congruence(first.weights, other.weights, tolerance=SAME_ROWS, deadline=deadline)
    if match is None or isinstance(match, Undecided):
        return Isometry(False) if match is None else Isometry(None, reason=match.reason)
    rotation = tuple(map(tuple, match.rotation.tolist()))
    return Isometry(True, match.deviation, tuple(match.permutation.tolist()), rotation)


def described(row: FileRow, code: Judged, precision: float, deadline: Deadline) -> FileRow:
    """`compare --describe`: a row with the description of its code."""
    from gnc_cli.codes.invariants import describe

    if code.contact_pairs is None or row.compared is None or row.compared >= 1.0 - _EQUAL:
        reason = "all: its contacts are not listed, or points are equal"
        return replace(row, description=Description(left_out=(reason,)))
    tolerance = max(SAME_ROWS, precision)
    description, undecided = describe(
        code.weights, code.contact_pairs, deadline, tolerance=tolerance
    )
    return replace(row, description=description, undecided=(*row.undecided, *undecided))


def polished_cosine(
    code: Judged, decimals: int, deadline: Deadline
) -> "tuple[PolishedCosine, Digits | None]":
    """`compare --digits`: the cosine to `decimals` digits, and the code behind it; None where an
    obstacle stood in the way.
    """
    from gnc_cli.codes.contact_equations import DECIMALS, is_root
    from gnc_cli.codes.digits import Obstacle, Refused, many_digits, minimal_polynomial

    def refused(obstacle: Obstacle, advice: str) -> tuple[PolishedCosine, None]:
        return PolishedCosine(decimals, obstacle=obstacle.value, advice=advice), None

    if code.row.compared is None:
        return refused(Obstacle.OUT_OF_TIME, Obstacle.OUT_OF_TIME.advice)
    if code.row.K > _LISTED_ROWS:
        return refused(Obstacle.TOO_LARGE, f"more than {_LISTED_ROWS} points")
    digits = many_digits(code.weights, decimals, deadline=deadline)
    if isinstance(digits, Refused):
        return refused(digits.obstacle, f"{digits.obstacle.advice} ({digits.detail})")
    polynomial = None
    places = min(_FITTED, len(digits.cosine.partition(".")[2]))
    cosine = f"{Decimal(digits.cosine):.{places}f}"
    proposal = None if deadline.expired else minimal_polynomial(cosine)
    if proposal is not None:
        more: Digits | Refused = digits
        if decimals < DECIMALS:
            more = many_digits(code.weights, DECIMALS, deadline=deadline)
        polynomial = Polynomial(
            tuple(str(c) for c in proposal.coefficients),
            str(proposal),
            round(proposal.evidence, 1),
            not isinstance(more, Refused)
            and is_root(more.points, more.contacts, proposal.coefficients, deadline),
        )
    polished = PolishedCosine(
        decimals, digits.cosine, digits.how, len(digits.contacts), digits.moved, polynomial
    )
    return polished, digits
