"""Codes without a search: theorem 3.3, stored coordinates and algebraic constructions.

Constructions of K up to `MAX_DENSE` are certified like any code. Beyond, the structure of the
construction proves the largest cosine, and rows are made only where they are read or written.

An estimate without cost (`worth_a_search`) decides whether a search tries to improve such a code.
It is not a proof, and enters no result.
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
from gnc_cli.constructions.construction import MAX_NUMBERS, CodeRows, Construction, Cosine
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

_MAX_BRACKETED_CLASSES = 200
"""Largest K of a theorem whose classes get a bracket each; beyond, one serves all of them."""
_SAMPLE_NUMBERS = 1 << 18
"""Numbers of the sample that is compressed to predict the size of a file."""
_MAX_BRACKET_WORK = 1e7
"""Largest K^2 d of a construction whose classes get a bracket each; beyond, a few serve
all."""
_MAX_TESTED_NUMBERS = 1500
"""Largest K d of a construction that is polished for the multipliers of the second-order test,
whose cost grows as (K d)^3."""
_COSINE_TOLERANCE = 1e-12
"""Largest difference of a computed and an exact cosine, by rounding."""
_MIN_CERTIFICATE_SECONDS = 1.0
"""Time for the certificate of a code before a search for a better one, in seconds; 5 % of the limit
where that is more."""
_TIE_TOLERANCE = 1e-9
"""Largest difference of equal distances: stored coordinates are rounded."""
_BLOCK_ENTRIES = 1 << 23
"""Entries of rows that are made at a time: 64 MB."""
_MAX_HULL_ROWS = 3000
"""Largest number of rows of a hull."""
_HULL_WORK = 6e9
"""Largest d m^2 for m rows of a hull: some seconds of one core."""
_HULL_SAMPLE = 1 << 26
"""Entries of the rows that are compared first: those next to the row, which share its bases."""
_MAX_HULL_ENTRIES = 1 << 29
"""Largest K d of a code whose rows are all compared where the first ones leave a gap."""
_MAX_CLOSED_WIDTH = 1e-9
"""Largest width of a bracket that needs no further rows."""
_ROUNDING = 1e-11
"""Bound of the relative error of an iterated distance, ample."""
_ROUNDINGS = 16
"""Bound of the roundings of a unit row in floats, beyond one for each dimension, ample."""
_PRODUCT_TOLERANCE = 1e-9
"""Largest difference of equal products, by rounding."""
_MAX_EXACT_DIMENSIONS = 600
"""Largest d in which the projection on the hull is computed exactly; beyond, it is iterated."""


@dataclass(frozen=True)
class Theorem(Route):
    """The optimum in closed form, where theorem 3.3 has one."""

    form: ClosedForm

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Build and certify the optimum."""
        weights, bracketed = self.form.weights, self.instance.K <= _MAX_BRACKETED_CLASSES
        # All classes are equivalent: one gives the upper end, and the closest pair the lower.
        upper = None if bracketed else one_vs_rest(weights, np.array([0])).upper[0]
        certificate = certify_code(weights, tolerance=TOLERANCE, deadline=deadline, upper_end=upper)
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
    """Coordinates that gnc ships, of this size or part of a larger code, certified at each call."""

    entry: KnownCode

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Read and certify the code."""
        entry, d, K = self.entry, self.instance.d, self.instance.K
        part = "" if entry.K == K else f"{K:,} points of "
        size = "" if (entry.d, entry.K) == (d, K) else f"{part}({entry.d}, {entry.K}), "
        status = "" if entry.status == STATUS_SOLVED else "best known, coordinates "
        weights = stored_part(entry, d, K)
        with self.machine.limited_threads(2.0 * K**2 * d):
            certificate = certify_code(weights, tolerance=TOLERANCE, deadline=deadline)
        course = Course(
            origin=f"stored code: {size}{status}found by gnc {NUMERICAL_DATE}",
            outcome=Outcome.STORED,
            searched=False,
        )
        return self.record(weights, certificate, course, deadline.elapsed)


@dataclass(frozen=True)
class Algebra(Route):
    """A construction, without a search."""

    construction: Construction
    out: Path | None = None
    """File of the rows, written block by block where they do not fit into memory."""
    plots: bool = False
    """True if the rows are plotted, for which they must be in memory."""

    @cached_property
    def rows(self) -> CodeRows:
        """Rows of the construction, made where they are read."""
        return self.construction.build()

    @cached_property
    def weights(self) -> Any:
        """Rows in memory, shape (K, d); of codes too large to hold, those of the construction."""
        return self.rows if self.construction.is_streamed else np.asarray(self.rows)

    def check(self) -> None:
        """Refuse what does not fit; rows that are streamed need the disk, not the memory."""
        if not self.construction.is_streamed:
            super().check()
            return
        if self.plots:
            raise UsageError(
                f"{spelled('plot')} requires the rows in memory, K d up to {MAX_NUMBERS}; drop it"
            )
        if self.out is not None:
            from gnc_cli.io.codefile import check_stream_target

            check_stream_target(self.out)
            advice = f"{self.advice}, name a file on another disk, or drop {spelled('out')}"
            check_disk(self._file_size(self.out), self.out, self.description, advice)

    def _file_size(self, out: Path) -> float:
        """Estimate the size of the file, in bytes, from a compressed sample in the middle."""
        K, d = self.rows.shape
        if PurePath(out).suffix.lower() == ".npy":
            return 4.0 * K * d
        values = self.rows.unit(K // 2, min(K, K // 2 + max(1, _SAMPLE_NUMBERS // d))).astype("<f4")
        compressed = zlib.compress(values.view(np.uint8).reshape(-1, 4).T.tobytes(), 1)
        return 4.0 * K * d * len(compressed) / values.nbytes

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Build the code and certify it, a large one by its structure."""
        instance, construction = self.instance, self.construction
        second, bound = None, ""
        with self.machine.limited_threads(2.0 * instance.K**2 * instance.d):
            if instance.is_large:
                certificate, attained = self._certify_by_structure()
                bound = "" if attained else " (largest cosine: an upper bound)"
            else:
                certificate = self._certify_by_pairs(deadline)
                second = self._second_order(deadline.limited(0.1 * deadline.remaining))
        course = Course(
            origin=f"construction: {construction.origin}{bound}",
            outcome=Outcome.CONSTRUCTED,
            searched=False,
            second=second,
        )
        return self.record(self.weights, certificate, course, deadline.elapsed)

    def _second_order(self, deadline: Deadline) -> "SecondOrder | None":
        """Test whether the code is a local minimum; None where it is proved optimal."""
        if self.construction.proven:
            return None
        from gnc_cli.geometry.second_order import UNDECIDED, SecondOrder
        from gnc_cli.search.refine import examine

        if self.weights.size > _MAX_TESTED_NUMBERS:
            return SecondOrder(
                UNDECIDED, f"constructions of K d > {_MAX_TESTED_NUMBERS} are untested"
            )
        return examine(self.weights, deadline)

    def _certify_by_pairs(self, deadline: Deadline) -> Certificate:
        """Certify by all pairs of rows; if K is large, a few classes give the upper end of rho."""
        (K, d), cosine, upper = self.weights.shape, self.construction.cosine, None
        if K * K * d > _MAX_BRACKET_WORK:
            upper = certified_margin(self.rows, cosine).upper
        certificate = certify_code(
            self.weights, tolerance=TOLERANCE, deadline=deadline, upper_end=upper
        )
        exact = abs(certificate.max_cosine - cosine.value) <= _COSINE_TOLERANCE
        return replace(certificate, max_cosine=cosine.value) if exact else certificate

    def _certify_by_structure(self) -> tuple[Certificate, bool]:
        """Certify what the structure proves; return False with a largest cosine that is a bound."""
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
class ImprovementSearch(Route):
    """A known code, certified at once, and a search for a better one, from there and elsewhere."""

    base: Route
    """Route to the known code."""
    search: Route
    keeps_file: bool = False
    """True if the file holds an earlier code, which may be better than the known one."""

    def check(self) -> None:
        """Refuse a search that does not fit; the known code needs less."""
        self.search.check()

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Certify the known code, search, and return the better code."""
        d, K = self.instance.d, self.instance.K
        code = self.base.solve(
            deadline.limited(max(_MIN_CERTIFICATE_SECONDS, 0.05 * deadline.remaining)), save
        )
        best, optimal = self.instance.best_known, proved_upper_end(d, K, self.instance.quantity)
        if best is not None and best.proven:
            optimal = min(optimal, best.distance)
        if code.distance >= min(self.plan.target_distance, optimal - _TIE_TOLERANCE):
            return replace(code, seconds=deadline.elapsed)
        if save is not None and not self.keeps_file:
            save(lambda: (code.weights, None))
        candidate = self.search.start_from(code).solve(deadline, save)
        if code.undecided and not candidate.distance > code.distance:
            code = self.base.solve(deadline, save)
        return better_code(code, candidate)


def better_code(code: SolveResult, candidate: SolveResult) -> SolveResult:
    """Return the better of a known code and a candidate, by the distance of the problem.

    A tie goes to the known code. The time, and the ending of a search, are those of the whole run.
    """
    gain = candidate.distance - code.distance
    tie = _TIE_TOLERANCE if code.outcome is Outcome.STORED else _COSINE_TOLERANCE
    start = Start(origin=code.origin, distance=code.distance, gain=gain if gain > tie else 0.0)
    if gain > tie:
        return replace(candidate, start=start)
    stopped = candidate.outcome in (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)
    outcome = candidate.outcome if stopped else code.outcome
    if code.outcome is Outcome.STORED and gain >= 0.0:  # the same code with more digits
        candidate = replace(candidate, origin=code.origin, searched=False)
        return replace(candidate, outcome=outcome, start=start)
    search_extras = {key: candidate.extras.get(key) for key in ("history", "state")}
    return replace(
        code,
        outcome=outcome,
        restarts=candidate.restarts,
        steps=candidate.steps,
        seconds=candidate.seconds,
        start=start,
        extras={**code.extras, **search_extras},
    )


def list_constructions() -> ConstructionList:
    """List the values of `construction`: single codes, then families with a parameter.

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


def worth_a_search(instance: Instance, construction: Construction, *, invited: bool) -> bool:
    """Return whether a search may improve a construction.

    It may not where the construction is proved optimal, or where descents of this many points end
    far behind.

    Args:
        instance: requested code.
        construction: the best construction of it.
        invited: True if the user gives a time limit or a target.
    """
    if construction.proven:
        return False
    if not beyond_descents(instance.d, instance.K, construction.cosine.value):
        return True
    return invited and not instance.is_large


def certified_margin(rows: CodeRows, cosine: Cosine) -> Bracket:
    """Bracket rho_one_vs_rest of a code with a proved largest cosine, or an upper bound of it.

    The largest cosine t of the exact code gives rho_one_vs_rest >= 1 - t (take h = w_k). The
    distance of one row from the hull of its nearest rows is an upper bound of its distance from the
    hull of all, hence of the minimum. Where these rows balance around t w_k, as they do in every
    code with enough symmetry, the two ends meet. Of a large code not all rows are made.

    Args:
        rows: rows of the code, shape (K, d), made in blocks.
        cosine: largest cosine of two rows.

    Raises:
        ValueError: some row is closer to the hull of others than the cosine allows.
    """
    lower = rounded_down(1 - cosine.enclosure[1])
    K, d = rows.shape
    # The last rows of a family are of its general kind; the first may be a basis apart.
    classes = sorted({K - 1, K // 2})
    reach = max(1, _HULL_SAMPLE // d)
    upper = min(_upper_end(rows, k, max(0, k - reach // 2), min(K, k + reach)) for k in classes)
    if upper - lower > _MAX_CLOSED_WIDTH and reach < K and K * d <= _MAX_HULL_ENTRIES:
        upper = min(upper, *(_upper_end(rows, k, 0, K) for k in classes))
    if upper < lower:
        raise ValueError(f"the rows refute a largest cosine of {cosine.text}: {upper} < {lower}")
    return Bracket(lower, upper)


def _upper_end(rows: CodeRows, k: int, first: int, last: int) -> float:
    """Return the distance of row k from the hull of the closest rows among `first` to `last`.

    It is an upper bound for the exact rows, from which those in floats differ by their rounding.
    """
    d = rows.shape[1]
    row = rows.unit(k, k + 1)[0]
    step = max(1, _BLOCK_ENTRIES // d)
    max_rows = min(_MAX_HULL_ROWS, int((_HULL_WORK / d) ** 0.5))
    closest, products = np.zeros((0, d)), np.zeros(0)
    for start in range(first, last, step):
        block = rows.unit(start, min(start + step, last))
        cosines = block @ row
        if start <= k < start + len(block):
            cosines[k - start] = -np.inf
        bar = products.min() if len(products) == max_rows else -2.0
        better = np.flatnonzero(cosines > bar)
        if len(better) > max_rows:
            better = better[np.argpartition(cosines[better], -max_rows)[-max_rows:]]
        closest = np.concatenate([closest, block[better]])
        products = np.concatenate([products, cosines[better]])
        if len(products) > max_rows:
            keep = np.argpartition(products, -max_rows)[-max_rows:]
            closest, products = closest[keep], products[keep]
    ties = products >= products.max() - _PRODUCT_TOLERANCE
    upper = near_hull(row, closest, ties / ties.sum()) * (1.0 + _ROUNDING)
    if d > _MAX_EXACT_DIMENSIONS:
        return upper
    exact = one_vs_rest(np.concatenate([row[None], closest]), np.array([0])).upper[0]
    return min(upper, float(exact) + 2.0 * gamma(d + _ROUNDINGS))
