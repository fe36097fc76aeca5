"""Joint answers of the bounds: intervals of distances at (d, K), of dimensions, and of K.

By the bisector theorem (docs/theory/theorem.md) rho* = 1 - t*, t* the smallest possible largest
cosine: a bound on one is a bound on the other. A code in d dimensions lies in all higher ones, and
rows may be dropped from it. So one bound that proves existence is enough, and so is one that
excludes.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.sphere import angle_from_chord
from gnc_cli.known_codes.best import BestKnown
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.limit import (
    LARGEST_D,
    ROUNDING,
    Count,
    Ending,
    Finding,
    Limit,
    Quantity,
    Question,
    is_small,
    least_excluded,
    loosened,
)
from gnc_cli.limits.registry import all_limits, unproved_limits
from gnc_cli.limits.result import (
    BestBounds,
    BoundRow,
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
    LargestMargins,
    Status,
    drop_redundant,
)
from gnc_cli.metrics.scale import adacos_scale, least_scale
from gnc_cli.runtime.deadline import Deadline, StageProgress

_SAME_ANGLE = 1e-9
"""Relative difference of angles that meet. Cosines near 1 hardly differ when their angles do."""
_MAX_LOOSE_COUNT = 10**6
"""Largest count of a formula with a loosened target: beyond it values of neighbouring K differ by
less than targets are loosened."""


def _fields(
    limit: Limit,
    quantity: Quantity,
    statement: Finding | Count | None,
    d: int | None,
    K: int | None,
) -> dict[str, Any]:
    """Return the fields that rows of all questions share; no command above 10^15 coordinates."""
    command = None if statement is None or (d or 0) * (K or 0) > 10**15 else statement.command
    return {
        "d": d,
        "K": K,
        "name": limit.name,
        "side": limit.side(quantity),
        "exists": limit.exists,
        "proven": limit.proved,
        "constructive": command is not None,
        "bisector": limit.by_bisector(quantity),
        "source": limit.citation(statement),
        "how": command,
    }


def limits_of(
    question: Question,
    codes: KnownCodes,
    *,
    lp: bool = False,
    sdp: bool = False,
    deadline: Deadline | None = None,
    progress: StageProgress | None = None,
) -> list[Limit]:
    """Return the bounds that answer a question, in their order.

    Args:
        question: the question.
        codes: known codes, those of the user included.
        lp: add Delsarte's linear program. By default it is solved for one pair of few dimensions
            only, and only if the other bounds leave a gap.
        sdp: compute three-point bounds that are not stored.
        deadline: deadline of linear and semidefinite programs.
        progress: called as in `three_point_certificate`.
    """
    limits = all_limits(question.subject, codes, sdp=sdp, deadline=deadline, progress=progress)
    if question.subject is Quantity.LINES:
        return limits
    if lp or is_small(question.d, question.K):
        limits.append(DelsarteLP(deadline=deadline, only_open=not lp))
    return limits + unproved_limits(codes)


# How far apart


def possible_interval(d: int, K: int, codes: KnownCodes) -> Bracket:
    """Return the best proved interval of rho*(d, K), that of `gnc bounds`."""
    question = Question(d=(d,), K=(K,))
    _, best = pair_answer(d, K, limits_of(question, codes), question, None, None)
    return Bracket(best.lower, best.upper)


def pair_answer(
    d: int,
    K: int,
    limits: Sequence[Limit],
    question: Question,
    best_known: BestKnown | None,
    dimensions: DimensionBest | None,
) -> tuple[list[BoundRow], BestBounds]:
    """Return the rows of the bounds at (d, K), and the best interval.

    Args:
        d: dimension.
        K: number of points.
        limits: the bounds.
        question: the question.
        best_known: the best code known at (d, K).
        dimensions: the dimensions that the target needs, for `LargestMargins`.

    Raises:
        ArithmeticError: a lower end exceeds an upper one by more than rounding: one is wrong.
    """
    findings = [limit.evaluate(d, K) for limit in limits]
    rows = _pair_rows(d, K, limits, findings, question.subject)
    best = _pair_best(rows, question, best_known, dimensions)
    for index in reversed(range(len(limits))):  # the linear program comes before the slower one
        finding = None if best.exact else limits[index].solve(d, K)
        if finding is not None:
            findings[index] = finding
            rows = _pair_rows(d, K, limits, findings, question.subject)
            best = _pair_best(rows, question, best_known, dimensions)
    return drop_redundant(rows), best


def _pair_rows(
    d: int,
    K: int,
    limits: Sequence[Limit],
    findings: Sequence[Finding | None],
    quantity: Quantity,
) -> list[BoundRow]:
    """Return a row for each bound that has a value at (d, K)."""
    rows = []
    for limit, finding in zip(limits, findings, strict=True):
        if finding is None:
            continue
        value, angle = finding.value, None
        if quantity.is_cosine:
            value = 1.0 - value
            angle = math.degrees(angle_from_chord(math.sqrt(2.0 * finding.value)))
        rows.append(
            BoundRow(
                quantity=quantity,
                value=value,
                angle_deg=angle,
                valid=finding.valid,
                condition=finding.condition,
                strict=finding.strict,
                **_fields(limit, quantity, finding, d, K),
            )
        )
    return rows


def _pair_best(
    rows: Sequence[BoundRow],
    question: Question,
    best_known: BestKnown | None,
    dimensions: DimensionBest | None,
) -> BestBounds:
    """Return the best proved interval of the rows; see `pair_answer`."""
    bounds = [row for row in rows if row.valid and row.proven]
    code = max((row for row in bounds if row.exists), key=lambda row: row.margin)
    # Among equal ends one that is not attained is the stronger statement.
    excluding = (row for row in bounds if not row.exists)
    limit = min(excluding, key=lambda row: (row.margin, not row.strict))
    is_distance = question.subject is Quantity.ONE_VS_REST
    low, high = (code, limit) if is_distance else (limit, code)
    # Distances have relative errors, cosines absolute ones.
    if low.value > high.value + ROUNDING * (low.value if is_distance else 1.0):
        raise ArithmeticError(f"{low} contradicts {high}")
    # Ends that meet may cross by their rounding.
    lower, upper = low.value, max(low.value, high.value)
    lower_deg = upper_deg = None
    exact = upper - lower <= ROUNDING * upper
    if low.angle_deg is not None and high.angle_deg is not None:
        lower_deg, upper_deg = high.angle_deg, max(low.angle_deg, high.angle_deg)
        exact = upper - lower <= ROUNDING and upper_deg - lower_deg <= _SAME_ANGLE * upper_deg
    status = _status(code, bounds, question)
    scale = question.scale(math.log(low.K - 1), code.margin)
    rho = Bracket(code.margin, max(code.margin, limit.margin))
    lines = question.subject is Quantity.LINES
    return BestBounds(
        d=low.d,
        K=low.K,
        quantity=question.subject,
        lower=lower,
        upper=upper,
        lower_name=low.name,
        upper_name=high.name,
        lower_deg=lower_deg,
        upper_deg=upper_deg,
        exact=exact,
        best_known=best_known,
        status=status,
        scale=None if status == "excluded" else scale,
        margins=None if lines else _margins(low.K, rho, question, dimensions),
    )


def _margins(
    K: int, rho: Bracket, question: Question, dimensions: DimensionBest | None
) -> LargestMargins:
    """Return the interval of rho* as the margins and scales of a classifier."""
    angle = Bracket(*(angle_from_chord(math.sqrt(2.0 * end)) for end in (rho.lower, rho.upper)))
    share = scale = None
    if question.target is not None:
        margin, largest = float(question.target), rho
        if question.arcface_m is not None:
            margin, largest = question.arcface_m, angle
        share = Bracket(margin / largest.upper, margin / largest.lower)
    if question.scale_probability is not None:
        scale = least_scale(K, question.scale_probability, rho)
    return LargestMargins(
        share=share,
        cosface=rho,
        arcface_rad=angle,
        scale=scale,
        adacos_scale=adacos_scale(K),
        sufficient=None if dimensions is None else dimensions.sufficient,
        necessary=None if dimensions is None else dimensions.necessary,
    )


def _status(code: BoundRow, bounds: Sequence[BoundRow], question: Question) -> Status | None:
    """Return whether a code with the target exists; None without a target."""
    if question.target is None:
        return None
    target = loosened(question.target)
    if code.margin >= target:
        return "exists"
    # A value that is not attained is excluded itself.
    excluding = [row for row in bounds if not row.exists]
    ends = (least_excluded(Fraction(r.margin)) if r.strict else r.margin for r in excluding)
    return "open" if min(ends) >= target else "excluded"


# In which dimension


def dimension_answer(
    question: Question, limits: Sequence[Limit], sizes: Iterable[int]
) -> DimensionAnswer:
    """Return, for every K, a row per bound and the interval of dimensions.

    Args:
        question: K and a target.
        limits: the bounds.
        sizes: the K of the question; fewer after an interruption.
    """
    rows: list[DimensionRow] = []
    best: list[DimensionBest] = []
    for K in sizes:
        rows_of_K = [_dimension_row(K, limit, question) for limit in limits]
        rows += drop_redundant(rows_of_K)
        best.append(_dimension_best(K, rows_of_K))
    whole = len(best) == len(question.K)
    sufficient = [b.sufficient for b in best if b.sufficient is not None]
    necessary = [b.necessary for b in best if b.necessary is not None]
    return DimensionAnswer(
        rows=tuple(rows),
        best=tuple(best),
        sufficient=max(sufficient) if whole and len(sufficient) == len(best) else None,
        necessary=max(necessary) if whole and len(necessary) == len(best) else None,
        scale=question.scale(math.log(max(question.K) - 1)),
    )


def _dimension_row(K: int, limit: Limit, question: Question) -> DimensionRow:
    assert question.target is not None
    reach = limit.dimension(K, loosened(question.target))
    d = LARGEST_D + 1 if reach.ending is Ending.OUT_OF_RANGE and not limit.exists else reach.d
    # An exclusion of the dimensions below d rests on the finding at d - 1.
    decisive = (d or 0) if limit.exists else (d or 0) - 1
    finding = limit.evaluate(decisive, K) if decisive >= 2 else None
    return DimensionRow(ending=reach.ending, **_fields(limit, question.subject, finding, d, K))


def _dimension_best(K: int, rows: Sequence[DimensionRow]) -> DimensionBest:
    sufficient = [row.d for row in rows if row.proven and row.exists and row.d is not None]
    necessary = [row.d for row in rows if row.proven and not row.exists]
    if None in necessary:
        return DimensionBest(K, None, None)
    return DimensionBest(K, min(sufficient, default=None), max(filter(None, necessary)))


# How many points


def classes_answer(
    question: Question, limits: Sequence[Limit], dims: Iterable[int]
) -> ClassesAnswer:
    """Return, for every d, a row per bound and the interval of numbers of points.

    Args:
        question: d and a target.
        limits: the bounds.
        dims: the d of the question; fewer after an interruption.
    """
    rows: list[ClassesRow] = []
    best: list[ClassesBest] = []
    largest: list[Count | None] = []
    excluded: list[Count] = []
    subject = question.subject
    for d in dims:
        counts = [(limit, _count(d, limit, question)) for limit in limits]
        rows += drop_redundant(
            [
                ClassesRow(
                    log10_K=None if count is None else count.log10,
                    **_fields(limit, subject, count, d, None if count is None else count.exact),
                )
                for limit, count in counts
            ]
        )
        proved = [(limit, count) for limit, count in counts if limit.proved and count is not None]
        last = max((c for limit, c in proved if limit.exists), key=_size, default=None)
        first = min((c for limit, c in proved if not limit.exists), key=_size, default=None)
        best.append(ClassesBest(d, **_interval(last, first)))
        largest.append(last)
        excluded += [] if first is None else [first]
    # Guaranteed in every d of the question; excluded in some d of it.
    sure = [count for count in largest if count is not None]
    guaranteed = min(sure, key=_size) if sure and len(sure) == len(question.d) else None
    scale = None
    if guaranteed is not None:
        log_others = (
            math.log(guaranteed.exact - 1)
            if guaranteed.exact
            else guaranteed.log10 * math.log(10.0)
        )
        scale = question.scale(log_others)
    return ClassesAnswer(
        rows=tuple(rows),
        best=tuple(best),
        scale=scale,
        **_interval(guaranteed, min(excluded, key=_size, default=None)),
    )


def _size(count: Count) -> tuple[float, int]:
    """Return a key that orders numbers of points: logarithms of neighbours may be equal."""
    return count.log10, count.exact or 0


def _interval(guaranteed: Count | None, excluded: Count | None) -> dict[str, Any]:
    """Return the fields that `ClassesBest` and `ClassesAnswer` share."""
    fields: dict[str, Any] = {}
    for name, end in (("guaranteed", guaranteed), ("excluded", excluded)):
        fields[name] = None if end is None else end.exact
        fields[f"log10_{name}"] = None if end is None else end.log10
    return fields


def _count(d: int, limit: Limit, question: Question) -> Count | None:
    """Return the largest K that a bound guarantees for a target, or the smallest it excludes.

    The loosened target ensures that a value which was printed in full and entered again counts as
    reached. It is not used for large counts of formulas; see `_MAX_LOOSE_COUNT`.
    """
    assert question.target is not None
    count = limit.points(d, loosened(question.target))
    if count is not None and not limit.is_list and (count.exact or math.inf) > _MAX_LOOSE_COUNT:
        count = limit.points(d, question.target)
    if count is not None and count.exact is not None and not limit.exists:
        # The smallest number that is excluded, from the largest that is not.
        count = Count.from_number(count.exact + 1, count.source)
    return count
