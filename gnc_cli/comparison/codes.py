"""One code beside the best known one: read, measured, judged, recognised."""

import math
import os
import time
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.codes.certify import certify_code, one_vs_one_rattlers, simple_bracket
from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.comparison.recognition import Recognised, recognise
from gnc_cli.comparison.result import FileRow, PolishedCosine, Polynomial
from gnc_cli.comparison.text_files import is_text, read_decimals, read_published
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import closest_pair, gram_tiles, row_maxima
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.rounding import UNIT32, gamma, spacing
from gnc_cli.geometry.sphere import angle_from_chord, chord, normalise
from gnc_cli.known_codes.best import best
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.known_codes.verdict import TOLERANCE, ComparisonStatus, passes, verdict
from gnc_cli.metrics.gnc2 import predict_gnc2
from gnc_cli.metrics.records import Rattlers
from gnc_cli.metrics.rows import real_matrix
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.predictions import FLOPS, Prediction
from gnc_cli.runtime.threads import limit_threads, threads_for

if TYPE_CHECKING:
    from gnc_cli.codes.digits import Digits

_TOLERANCE = 1e-7
"""Of rattlers and contacts, on distances."""
_TOLERANCE_SINGLE = 1e-5
"""The same where coordinates have the digits of float32 only."""
_PRINTED = 1e-9
"""A gap beyond this is due to coordinates coarser than twelve decimals, if it is no gap at all."""
_EQUAL = 1e-12
"""Rows this near have one direction: what roundings leave of a row that stands there twice."""
_DECIMALS = range(3, 12)
"""Of coordinates that were rounded for print; fewer are exact, or no copy of a code."""
_MOST_PRODUCTS = 1e12
"""K^2 d up to which contacts are counted: about a minute of one core."""
_OF_ALL_PAIRS = (
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
"""Rows of a large code whose distance to the hull of the others is computed, for the upper end."""
_SECONDS = 10.0
"""For these rows."""
_LISTED_ROWS = 3000
"""Beyond, nothing lists the contacts or brackets every row: counts and bounds."""
_FITTED = 200
"""Digits that a polynomial is fitted to."""


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

    @cached_property
    def precision(self) -> float:
        """What cosines are good to: by the dtype, as all numbers have float32's digits only, or as
        unit rows were rounded to so many decimals, by which their lengths are off."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            single = np.array_equal(self.rows.astype(np.float32), self.rows)
            off = np.abs(np.linalg.norm(self.rows, axis=1) - 1.0).max()
        found = max(spacing(self.storage), spacing("float32" if single else "float64"))
        for decimals in _DECIMALS:
            # Each row is off by half of this, the cosine of two rows by all of it.
            error = math.sqrt(self.rows.shape[1]) * 10.0**-decimals
            if _EQUAL < off <= error and np.array_equal(self.rows.round(decimals), self.rows):
                return max(found, error)
        return found


@dataclass(frozen=True, eq=False)
class Judged:
    """A row of the result, and what pictures and further digits need."""

    row: FileRow
    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    contact_pairs: np.ndarray | None
    rattles: np.ndarray | None
    """One-vs-one rattlers, shape (K,), bool."""
    names: list[str] | None = None
    """Of the points, where the file has them."""


@dataclass(frozen=True)
class _Measured:
    max_cosine: float
    min_angle: float
    rho: Bracket
    rattlers: Rattlers
    contacts: int | None
    pairs: np.ndarray | None
    rattles: np.ndarray
    undecided: tuple[str, ...]
    """Keys of a row that the deadline left open."""


def load_code(source: Any, d: int | None = None) -> Code:
    """The code in a file, an array (K, d), or whatever carries `weights`, as a solve's result."""
    if isinstance(source, (str, os.PathLike)):
        found = read_published(source, d)
        names = [str(name) for name in np.atleast_1d(found.attrs.get("class_names", ()))]
        known = names if len(names) == len(found.weights) else None
        return Code(found.weights, os.fspath(source), known, found.storage)
    given = getattr(source, "weights", source)
    rows = real_matrix(given, "a code")
    if min(rows.shape) < 2:
        raise DataError(f"an array has shape {rows.shape}; expected (K, d), one point per row")
    return Code(rows, None, None, str(getattr(given, "dtype", "float64")).removeprefix("torch."))


def judge_code(
    code: Code,
    table: KnownCodes,
    *,
    tolerance: float,
    require_entry: bool,
    deadline: Deadline,
    threads: int | None = None,
) -> Judged:
    """Measure a code and hold it against the best known one.

    The cosine of an improvement, `proved_cosine`, is proved in rational arithmetic: for the floats
    of a binary file to the last bit, for the decimals of a text file as they are written (for
    these as read to float64, which the advice then says, where the file cannot be read again).
    Where the deadline comes first, the row has no cosine and no status.
    """
    started = time.monotonic()
    K, d = code.rows.shape
    W = _unit(code)
    exact = _Exact(code)
    known = best(d, K, table)
    with limit_threads(threads_for(2.0 * K * K * d, threads)):
        try:
            found = _measure(W, _tolerance(code.precision), deadline)
            known_as = recognise(W, found.max_cosine, found.rattles, deadline, code.precision)
            equal = _equal_rows(W, found.max_cosine, deadline)
        except TimeoutError:
            found, known_as, equal = None, Recognised(None, "undecided"), None
        fields = verdict(
            None if found is None else found.max_cosine,
            d,
            K,
            known,
            table.stamp,
            verified=exact.below,
            rows=lambda: exact.rows,
            file=code.file,
            precision=code.precision,
        )
    if fields["status"] is ComparisonStatus.IMPROVES and exact.rounded:
        fields["advice"] += ", for the coordinates read as float64"
    if fields["status"] is ComparisonStatus.MATCHES and fields["gap"] > _PRINTED:
        fields["advice"] = (
            f"equal to the best known code to the precision of the file ({code.precision:.1e})"
        )
    if equal is not None:
        fields["advice"] = f"rows {equal[0]} and {equal[1]}, counted from 0, are equal: remove one"
    row = FileRow(
        d=d,
        K=K,
        max_cosine=None if found is None else found.max_cosine,
        rattlers=None if found is None else found.rattlers,
        contacts=None if found is None else found.contacts,
        congruent_to=known_as.name,
        file=code.file,
        rho_one_vs_rest=None if found is None else found.rho,
        min_angle_deg=None if found is None else float(np.degrees(found.min_angle)),
        congruence=known_as.state,
        undecided=(*(_OF_ALL_PAIRS if found is None else found.undecided), *known_as.undecided),
        seconds=time.monotonic() - started,
        **fields,
    )
    # A limit that nobody gave asks no more of a file than its numbers can say.
    allowed = max(tolerance, code.precision) if tolerance == TOLERANCE else tolerance
    row = replace(row, passed=passes(row, tolerance=allowed, require_entry=require_entry))
    pairs, rattles = (None, None) if found is None else (found.pairs, found.rattles)
    return Judged(row, W, pairs, rattles, code.names)


def predict_comparison(d: int, K: int) -> Prediction:
    """What `judge_code` takes beside the rows as they were read."""
    if K > _LISTED_ROWS:
        return Prediction(30.0 * K * d + 30e6, seconds=K * K * (2e-9 + 4.0 * d / FLOPS))
    return Prediction(predict_gnc2(d, K).memory + 24.0 * K * d)


def _unit(code: Code) -> np.ndarray:
    """Unit rows; those that are so already to the last bits stay as they are."""
    try:
        unit = normalise(code.rows)
    except DataError as error:
        raise DataError(f"{code.file or 'the array'}: {error}; remove or mend it") from error
    with np.errstate(over="ignore"):
        off = np.abs(np.linalg.norm(code.rows, axis=1, keepdims=True) - 1.0)
    return np.ascontiguousarray(np.where(off <= 1e-14, code.rows, unit))


def _measure(W: np.ndarray, tolerance: float, deadline: Deadline) -> _Measured:
    """Largest cosine, rattlers, contacts and rho; counts and bounds beyond `_LISTED_ROWS` rows.

    Raises:
        TimeoutError: the deadline came before every pair was seen.
    """
    if len(W) <= _LISTED_ROWS:
        found = certify_code(W, tolerance=tolerance, deadline=deadline)
        assert found.rattles_one_vs_one is not None
        return _Measured(
            found.max_cosine,
            found.min_angle,
            found.rho_one_vs_rest,
            found.rattlers,
            None if found.contact_pairs is None else len(found.contact_pairs),
            found.contact_pairs,
            found.rattles_one_vs_one,
            ("rattlers.one_vs_rest",) if found.undecided else (),
        )
    row_max, _ = row_maxima(W, deadline=deadline)
    rattles = one_vs_one_rattlers(row_max, tolerance)
    cosine = float(row_max.max())
    shortest = float(chord(cosine))
    contacts = count_contacts(W, shortest, tolerance, deadline)
    return _Measured(
        cosine,
        angle_from_chord(shortest),
        rho_bracket(W, row_max, deadline),
        Rattlers(int(rattles.sum()), None, tolerance),
        contacts,
        None,
        rattles,
        ("contacts",) if contacts is None and deadline.expired else (),
    )


def _equal_rows(W: np.ndarray, max_cosine: float, deadline: Deadline) -> tuple[int, int] | None:
    """Two rows of one direction, if there are any."""
    if max_cosine < 1.0 - _EQUAL:
        return None
    i, j, distance = closest_pair(W, deadline=deadline)
    return (i, j) if distance <= _EQUAL else None


def _tolerance(precision: float) -> float:
    """Of rattlers and contacts: looser where the numbers have no more than float32's digits."""
    return max(_TOLERANCE_SINGLE, 2.0 * precision) if precision > _TOLERANCE else _TOLERANCE


class _Exact:
    """The rows of a code as exact numbers; a text file is read again only where they are needed."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self.rounded = False
        """The numbers of a text file were rounded to float64."""

    @cached_property
    def rows(self) -> ExactRows:
        """Decimals of a text file, else the floats."""
        file = self._code.file
        if file is not None and is_text(file):
            words = read_decimals(file, self._code.rows)
            if words is not None:
                return ExactRows.of_texts(words)
            self.rounded = True
        return ExactRows.of_floats(self._code.rows)

    def below(self, t: Fraction) -> bool:
        """Whether it is proved that no cosine is above t."""
        return verify_below(self.rows, t) is True


# Codes too large to list their contacts or to bracket every row: counts and bounds.


def count_contacts(
    W: np.ndarray, shortest: float, tolerance: float, deadline: Deadline
) -> int | None:
    """Pairs of rows whose chord exceeds the smallest one by at most `tolerance`.

    Tiles of float32 products name the rows that can have contacts; float64 counts those. None
    where K^2 d is above 1e12 or the deadline comes first.
    """
    K, d = W.shape
    if float(K) * K * d > _MOST_PRODUCTS:
        return None
    least = 1.0 - (shortest + tolerance) ** 2 / 2.0
    small = W.astype(np.float32)
    # Both roundings to float32, the product's own, and float64's, to spare.
    cut = np.float32(least - 2.0 * gamma(d + 3, UNIT32))
    count = 0
    try:
        for rows, columns in gram_tiles(K, _SIDE, deadline=deadline):
            near = np.flatnonzero((small[rows] @ small[columns].T).max(axis=1) >= cut)
            tile = W[near + rows.start] @ W[columns].T >= least
            if rows == columns:
                tile &= near[:, None] < np.arange(tile.shape[1])
            count += int(tile.sum())
    except TimeoutError:
        return None
    return count


def rho_bracket(W: np.ndarray, row_max: np.ndarray, deadline: Deadline) -> Bracket:
    """What the closest pair proves of the one-vs-rest distance, and a look at a few rows above."""
    simple = simple_bracket(W, row_max)
    if deadline.expired:
        return simple
    rows = np.argsort(-row_max, kind="stable")[:_BRACKETED]
    found = one_vs_rest(W, rows, deadline=deadline.within(_SECONDS))
    return simple.narrowed(Bracket(0.0, float(found.upper.min())))


# Further digits


def polished_cosine(
    code: Judged, decimals: int, deadline: Deadline
) -> "tuple[PolishedCosine, Digits | None]":
    """`compare --digits`: the cosine to `decimals` digits, and the code behind it; None where an
    obstacle stood in the way."""
    from gnc_cli.codes.digits import Digits, Obstacle, Refused, many_digits, minimal_polynomial

    refused = None
    if code.row.max_cosine is None:
        refused = Obstacle.OUT_OF_TIME, Obstacle.OUT_OF_TIME.advice
    elif code.row.K > _LISTED_ROWS:
        refused = Obstacle.TOO_LARGE, f"more than {_LISTED_ROWS} points"
    else:
        found = many_digits(code.weights, decimals, deadline=deadline)
        if isinstance(found, Refused):
            refused = found.obstacle, f"{found.obstacle.advice} ({found.detail})"
    if refused is not None:
        obstacle, advice = refused
        return PolishedCosine(decimals, obstacle=obstacle.value, advice=advice), None
    assert isinstance(found, Digits)
    polynomial = None
    proposal = None if deadline.expired else minimal_polynomial(_shortened(found.cosine))
    if proposal is not None:
        coefficients = tuple(str(c) for c in proposal.coefficients)
        polynomial = Polynomial(coefficients, str(proposal), round(proposal.evidence, 1))
    polished = PolishedCosine(
        decimals, found.cosine, found.how, len(found.contacts), found.moved, polynomial
    )
    return polished, found


def _shortened(cosine: str) -> str:
    """The decimal number rounded to what a polynomial is fitted to."""
    places = len(cosine.partition(".")[2])
    if places <= _FITTED:
        return cosine
    with localcontext() as context:
        context.prec = places + 5
        return str(Decimal(cosine).quantize(Decimal(1).scaleb(-_FITTED)))
