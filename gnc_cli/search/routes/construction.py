"""Codes without a search: of theorem 3.3, stored, and from algebra, alone or beside a search.

Of codes from algebra, those of K up to `LARGE` are certified like any code. Beyond, the largest
cosine is the one that the construction's own structure proves, and the rows are made only where
they are looked at or written.

Whether a search runs beside such a code is decided by a yardstick that costs nothing
(`worth_a_search`). It is no proof, and enters no result.
"""

import time
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.brackets import Bracket
from gnc_cli.codes.certify import Certificate, certify_code
from gnc_cli.constructions.construction import CodeRows, Construction, Cosine
from gnc_cli.constructions.families.theorem_3_3 import ClosedForm
from gnc_cli.constructions.registry import families, single_codes
from gnc_cli.errors import UsageError
from gnc_cli.geometry.min_norm_point import near_hull
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.rounding import gamma, rounded_down
from gnc_cli.geometry.sphere import angle_from_chord
from gnc_cli.known_codes.stored import stored_part
from gnc_cli.known_codes.table import NUMERICAL_DATE, STATUS_SOLVED, KnownCode
from gnc_cli.metrics.gnc2 import Rattlers
from gnc_cli.parameters import Path, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.memory import check_disk
from gnc_cli.search.effort import beyond_descents
from gnc_cli.search.instance import Instance
from gnc_cli.search.result import (
    ConstructionList,
    ConstructionRow,
    Course,
    Outcome,
    SolveResult,
    Start,
)
from gnc_cli.search.routes.route import TOLERANCE, Route, Save
from gnc_cli.search.verdict import proved_upper_end

if TYPE_CHECKING:
    from gnc_cli.geometry.second_order import SecondOrder

_FEW = 200
"""Up to this K the bracket of each class is computed."""
_MOST_HELD = 1 << 26
"""Numbers of a code (512 MB) up to which its rows are held in memory."""
_CHUNK = 1 << 18
"""Size of the sample that is compressed to predict the size of a file."""
_EVERY_CLASS = 1e7
"""K^2 d up to which each class of a construction gets its own bracket."""
_MOST_EXAMINED = 1500
"""K d up to which a code is polished for the multipliers of the second-order test."""
_EXACT = 1e-12
"""Computed and exact cosine agree to this."""
_FIRST = 1.0
"""Seconds of the certificate of a known code beside which a search runs, or 5 % of the time."""
_TIE = 1e-9
"""Codes whose distances are this near are one: stored coordinates are rounded."""
_BLOCK_ENTRIES = 1 << 23
"""Entries of rows that are made at a time."""
_NEAREST = 3000
"""The hull is that of at most this number of rows."""
_HULL_WORK = 6e9
"""Bounds d m^2 for m rows of the hull: some seconds of one core."""
_SAMPLE = 1 << 26
"""Entries of the rows that are looked at first: those next to the row, which share its bases."""
_WHOLE = 1 << 29
"""Where the first rows leave a gap, all rows of codes with up to this number of entries are looked
at."""
_CLOSED = 1e-9
"""A bracket no wider than this is left as it is."""
_ROUNDING = 1e-11
"""Relative error of the approached distance, generously."""
_ROUNDINGS = 16
"""Roundings of a unit row in floats, besides one for each dimension: generously."""
_TIED = 1e-9
"""Products this near to the largest are equal to it."""
_EXACT_DIMENSIONS = 600
"""Up to here the projection on the hull is computed exactly; beyond, approached."""


@dataclass(frozen=True)
class Theorem(Route):
    """The optimum in closed form, where theorem 3.3 has one."""

    form: ClosedForm

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        weights = self.form.weights
        # All classes are alike: one gives the upper end, and the closest pair the lower.
        one = None if self.instance.K <= _FEW else one_vs_rest(weights, np.array([0])).upper[0]
        certificate = certify_code(weights, tolerance=TOLERANCE, deadline=deadline, upper_end=one)
        course = Course(
            origin=f"closed form: {self.form.name}",
            outcome=Outcome.CLOSED_FORM,
            searched=False,
            stationarity=0.0,
            first_order_gain=0.0,
        )
        return self.record(weights, certificate, course, deadline.elapsed)


@dataclass(frozen=True)
class StoredCode(Route):
    """Coordinates that gnc ships, of this size or a part of a larger code, certified anew."""

    entry: KnownCode

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        entry, d, K = self.entry, self.instance.d, self.instance.K
        part = "" if entry.K == K else f"{K:,} points of "
        size = "" if (entry.d, entry.K) == (d, K) else f"{part}({entry.d}, {entry.K}), "
        again = "" if entry.status == STATUS_SOLVED else "best known, coordinates "
        weights = stored_part(entry, d, K)
        with self.machine.limited_threads(2.0 * K**2 * d):
            certificate = certify_code(weights, tolerance=TOLERANCE, deadline=deadline)
        course = Course(
            origin=f"stored code: {size}{again}found by gnc {NUMERICAL_DATE}",
            outcome=Outcome.STORED,
            searched=False,
        )
        return self.record(weights, certificate, course, deadline.elapsed)


@dataclass(frozen=True)
class Algebra(Route):
    """A construction, without a search."""

    construction: Construction
    out: Path | None = None
    """File to which its rows are written, block by block where they are too many to hold."""
    plots: bool = False
    """Whether its rows are drawn."""

    @cached_property
    def rows(self) -> CodeRows:
        """Its rows, made where they are looked at."""
        return self.construction.build()

    @cached_property
    def weights(self) -> Any:
        """The rows in memory, (K, d), but of codes too large to hold."""
        return self.rows if streamed(self.construction) else np.asarray(self.rows)

    def check(self) -> None:
        if not streamed(self.construction):
            super().check()
            return
        if self.plots:
            raise UsageError(
                f"{spelled('plot')} needs the rows in memory, up to K d = {_MOST_HELD}; drop it"
            )
        if self.out is not None:
            from gnc_cli.io.codefile import check_stream_target

            check_stream_target(self.out)
            advice = f"{self.advice}, name a file on another disk, or drop {spelled('out')}"
            check_disk(self._file_size(self.out), self.out, self.description, advice)

    def _file_size(self, out: Path) -> float:
        """Bytes of its rows as a file, as far as HDF5 compresses a chunk from the middle."""
        K, d = self.rows.shape
        if PurePath(out).suffix.lower() == ".npy":
            return 4.0 * K * d
        values = self.rows.unit(K // 2, min(K, K // 2 + max(1, _CHUNK // d))).astype("<f4")
        compressed = zlib.compress(values.view(np.uint8).reshape(-1, 4).T.tobytes(), 1)
        return 4.0 * K * d * len(compressed) / values.nbytes

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        instance, construction = self.instance, self.construction
        second, bound = None, ""
        with self.machine.limited_threads(2.0 * instance.K**2 * instance.d):
            if instance.is_large:
                certificate, attained = self._certified_by_algebra()
                bound = "" if attained else " (largest cosine: an upper bound)"
            else:
                certificate = self._certified_by_pairs(deadline)
                second = self._second_order(deadline.within(0.1 * deadline.remaining))
        course = Course(
            origin=f"construction: {construction.origin}{bound}",
            outcome=Outcome.CONSTRUCTED,
            searched=False,
            second=second,
        )
        return self.record(self.weights, certificate, course, deadline.elapsed)

    def _second_order(self, deadline: Deadline) -> "SecondOrder | None":
        """Whether the code is a local minimum; None where it is proved optimal."""
        if self.construction.proven:
            return None
        from gnc_cli.geometry.second_order import UNDECIDED, SecondOrder
        from gnc_cli.search.refine import examine

        if self.weights.size > _MOST_EXAMINED:
            return SecondOrder(
                UNDECIDED, f"codes from algebra of K d > {_MOST_EXAMINED} are untested"
            )
        return examine(self.weights, deadline)

    def _certified_by_pairs(self, deadline: Deadline) -> Certificate:
        """All pairs of the rows as they are; the upper end of rho from a few classes of large
        codes.
        """
        (K, d), cosine, upper = self.weights.shape, self.construction.cosine, None
        if K * K * d > _EVERY_CLASS:
            upper = certified_margin(self.rows, cosine).upper
        certificate = certify_code(
            self.weights, tolerance=TOLERANCE, deadline=deadline, upper_end=upper
        )
        exact = abs(certificate.max_cosine - cosine.value) <= _EXACT
        return replace(certificate, max_cosine=cosine.value) if exact else certificate

    def _certified_by_algebra(self) -> tuple[Certificate, bool]:
        """Where there are too many pairs: what the structure proves, and whether its largest cosine
        is attained or only an upper bound.
        """
        verified = self.rows.verify()
        cosine, pairs = verified.max_cosine, verified.distribution
        # In a distance-invariant code every row has the same one-vs-rest distance.
        loose = 0 if self.construction.transitive else None
        chord = float(np.sqrt(2.0 - 2.0 * cosine.value))
        certificate = Certificate(
            max_cosine=cosine.value,
            min_angle=float(angle_from_chord(chord)),
            rho_one_vs_one=chord,
            rho_one_vs_rest=certified_margin(self.rows, cosine),
            rattlers=Rattlers(one_vs_one=loose, one_vs_rest=loose, tolerance=TOLERANCE),
            contacts=pairs[0][1] if pairs else None,
        )
        return certificate, verified.attained


@dataclass(frozen=True)
class SearchBeside(Route):
    """A known code, certified at once, and a search for a better one, from there and elsewhere."""

    known: Route
    search: Route
    keeps_file: bool = False
    """Whether the file holds an earlier code, which may be better than the known one."""

    def check(self) -> None:
        self.search.check()

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        d, K = self.instance.d, self.instance.K
        known = self.known.solve(deadline.within(max(_FIRST, 0.05 * deadline.remaining)), save)
        best, optimal = self.instance.known, proved_upper_end(d, K, self.instance.quantity)
        if best is not None and best.proven:
            optimal = min(optimal, best.distance)
        if known.distance >= min(self.plan.target_distance, optimal - _TIE):
            return replace(known, seconds=deadline.elapsed)
        weights = known.weights
        if save is not None and not self.keeps_file:
            save(lambda: (weights, None))
        candidate = self.search.beside(known).solve(deadline, save)
        if known.undecided and not candidate.distance > known.distance:
            known = self.known.solve(deadline, save)
        return better_code(known, candidate)


def better_code(known: SolveResult, candidate: SolveResult) -> SolveResult:
    """The better code by the problem's own measure, with what was known; a tie goes to that code.

    The time, and how a search ended, are those of the whole run.
    """
    gain = candidate.distance - known.distance
    tie = _TIE if known.outcome is Outcome.STORED else _EXACT
    start = Start(origin=known.origin, distance=known.distance, gain=gain if gain > tie else 0.0)
    if gain > tie:
        return replace(candidate, start=start)
    stopped = candidate.outcome in (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)
    outcome = candidate.outcome if stopped else known.outcome
    if known.outcome is Outcome.STORED and gain >= 0.0:  # the same code with more digits
        candidate = replace(candidate, origin=known.origin, searched=False)
        return replace(candidate, outcome=outcome, start=start)
    of_the_search = {key: candidate.extras.get(key) for key in ("history", "state")}
    return replace(
        known,
        outcome=outcome,
        restarts=candidate.restarts,
        steps=candidate.steps,
        seconds=candidate.seconds,
        start=start,
        extras={**known.extras, **of_the_search},
    )


def list_constructions() -> ConstructionList:
    """List the codes that `construction` can name: single codes, then families with a parameter.

    Returns:
        One row per code, by d and K, then one per family.

    Example:
        >>> [row.name for row in list_constructions().rows if (row.d, row.K) == ("24", "196560")]
        ['leech']
    """
    started = time.monotonic()
    rows = [
        ConstructionRow(
            c.name, c.title, str(c.d), str(c.K), c.cosine.text, c.proven, c.reference, c.optimality
        )
        for c in sorted(single_codes(), key=lambda c: (c.d, c.K))
    ]
    stored = ConstructionRow(
        "known",
        "coordinates found by gnc, which it ships (give d and K)",
        "3..128",
        "up to 1,000",
        "as found",
        None,
        "best known codes of compare --list that nothing else builds",
    )
    rows += [stored] + [
        ConstructionRow(f.name, f"{f.title} ({f.range})", f.d, f.K, f.cosine, None, f.reference)
        for f in families()
    ]
    return ConstructionList(time.monotonic() - started, __version__, tuple(rows))


def streamed(construction: Construction) -> bool:
    """Too large to hold: its rows are made block by block."""
    return construction.K * construction.d > _MOST_HELD


def worth_a_search(instance: Instance, construction: Construction, *, invited: bool) -> bool:
    """Return whether a search runs beside a construction: not where it is proved optimal, or where
    descents of that many points end far behind.

    Args:
        invited: the user gives a time limit or a target.
    """
    if construction.proven:
        return False
    if not beyond_descents(instance.d, instance.K, construction.cosine.value):
        return True
    return invited and not instance.is_large


def certified_margin(rows: CodeRows, cosine: Cosine) -> Bracket:
    """Bracket rho_one_vs_rest of a code whose largest cosine, or an upper bound of it, is known.

    The largest cosine t of the exact code gives rho_one_vs_rest >= 1 - t (take h = w_k). The
    distance of one row from the hull of its nearest rows is an upper bound of its distance from the
    hull of all, hence of the minimum. Where the near rows balance around t w_k, as they do in every
    code with enough symmetry, the two ends meet. Of a large code not all rows are made.

    Raises:
        ValueError: some row is nearer to the hull of others than the cosine allows.
    """
    lower = rounded_down(1 - cosine.enclosure[1])
    K, d = rows.shape
    # The last rows of a family are of its general kind; the first may be a basis apart.
    classes = sorted({K - 1, K // 2})
    some = max(1, _SAMPLE // d)
    upper = min(_upper_end(rows, k, max(0, k - some // 2), min(K, k + some)) for k in classes)
    if upper - lower > _CLOSED and some < K and K * d <= _WHOLE:
        upper = min(upper, *(_upper_end(rows, k, 0, K) for k in classes))
    if upper < lower:
        raise ValueError(f"the rows refute a largest cosine of {cosine.text}: {upper} < {lower}")
    return Bracket(lower, upper)


def _upper_end(rows: CodeRows, k: int, first: int, last: int) -> float:
    """Distance of row k from the hull of the rows nearest to it among `first` to `last`.

    An upper bound for the exact rows, from which those in floats differ by their rounding.
    """
    d = rows.shape[1]
    row = rows.unit(k, k + 1)[0]
    step = max(1, _BLOCK_ENTRIES // d)
    most = min(_NEAREST, int((_HULL_WORK / d) ** 0.5))
    near, products = np.zeros((0, d)), np.zeros(0)
    for start in range(first, last, step):
        block = rows.unit(start, min(start + step, last))
        cosines = block @ row
        if start <= k < start + len(block):
            cosines[k - start] = -np.inf
        bar = products.min() if len(products) == most else -2.0
        better = np.flatnonzero(cosines > bar)
        if len(better) > most:
            better = better[np.argpartition(cosines[better], -most)[-most:]]
        near = np.concatenate([near, block[better]])
        products = np.concatenate([products, cosines[better]])
        if len(products) > most:
            keep = np.argpartition(products, -most)[-most:]
            near, products = near[keep], products[keep]
    ties = products >= products.max() - _TIED
    upper = near_hull(row, near, ties / ties.sum()) * (1.0 + _ROUNDING)
    if d > _EXACT_DIMENSIONS:
        return upper
    exact = one_vs_rest(np.concatenate([row[None], near]), np.array([0])).upper[0]
    return min(upper, float(exact) + 2.0 * gamma(d + _ROUNDINGS))
