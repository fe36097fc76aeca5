"""What the bounds answer together: how far apart for (d, K), in which d, and up to which K.

By the bisector theorem (docs/theory/theorem.md) rho* = 1 - t*, t* the smallest possible largest
cosine: a bound on one is a bound on the other. A code in d dimensions lies in all higher ones, and
rows may be dropped from it: one bound that says "exists" is enough, and so is one that excludes.
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
"""Angles that differ by less, relatively, count as equal. Near 1 cosines hardly differ, angles
do."""
_FEW = 10**6


def _fields(
    limit: Limit, quantity: Quantity, says: Finding | Count | None, d: int | None, K: int | None
) -> dict[str, Any]:
    """The fields that rows of all questions share; no command where no machine holds its code."""
    how = None if says is None or (d or 0) * (K or 0) > 10**15 else says.how
    return {
        "d": d,
        "K": K,
        "name": limit.name,
        "side": limit.side(quantity),
        "exists": limit.exists,
        "proven": limit.proved,
        "constructive": how is not None,
        "bisector": limit.by_bisector(quantity),
        "source": limit.citation(says),
        "how": how,
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
    """The bounds that a question is put to, in their order.

    Args:
        lp: with Delsarte's linear programme, which otherwise is asked of one pair of few
            dimensions alone.
        sdp: with the three-point bound where none is stored.
    """
    limits = all_limits(question.subject, codes, sdp=sdp, deadline=deadline, progress=progress)
    if question.subject is Quantity.LINES:
        return limits
    if lp or is_small(question.d, question.K):
        limits.append(DelsarteLP(deadline=deadline, only_open=not lp))
    return limits + unproved_limits(codes)


# How far apart


def possible_interval(d: int, K: int, codes: KnownCodes) -> Bracket:
    """The best proved interval of rho*(d, K), as `gnc bounds` has it."""
    question = Question(d=(d,), K=(K,))
    _, best = pair_answer(d, K, limits_of(question, codes), question, None, None)
    return Bracket(best.lower, best.upper)


def pair_answer(
    d: int,
    K: int,
    limits: Sequence[Limit],
    question: Question,
    best_known: BestKnown | None,
    least: DimensionBest | None,
) -> tuple[list[BoundRow], BestBounds]:
    """What each bound says at (d, K), and the best interval, with the best code known there.

    Args:
        least: the dimensions that the target needs, for `LargestMargins`.

    Raises:
        ArithmeticError: a lower end above an upper one by more than rounding: one is wrong.
    """
    findings = [limit.evaluate(d, K) for limit in limits]
    rows = _pair_rows(d, K, limits, findings, question.subject)
    best = _pair_best(rows, question, best_known, least)
    for at in reversed(range(len(limits))):  # the linear programme comes before the slower one
        new = None if best.exact else limits[at].solve(d, K)
        if new is not None:
            findings[at] = new
            rows = _pair_rows(d, K, limits, findings, question.subject)
            best = _pair_best(rows, question, best_known, least)
    return drop_redundant(rows), best


def _pair_rows(
    d: int,
    K: int,
    limits: Sequence[Limit],
    findings: Sequence[Finding | None],
    quantity: Quantity,
) -> list[BoundRow]:
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
    least: DimensionBest | None,
) -> BestBounds:
    bounds = [row for row in rows if row.valid and row.proven]
    code = max((row for row in bounds if row.exists), key=lambda row: row.margin)
    # Of equal ends one that is not attained says more.
    excluding = (row for row in bounds if not row.exists)
    limit = min(excluding, key=lambda row: (row.margin, not row.strict))
    rest = question.subject is Quantity.ONE_VS_REST
    low, high = (code, limit) if rest else (limit, code)
    # Digits to which distances are good, decimals to which cosines are.
    if low.value > high.value + ROUNDING * (low.value if rest else 1.0):
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
        margins=None if lines else _margins(low.K, rho, question, least),
    )


def _margins(
    K: int, rho: Bracket, question: Question, least: DimensionBest | None
) -> LargestMargins:
    """The interval of rho* as a classifier's margins and scales."""
    angle = Bracket(*(angle_from_chord(math.sqrt(2.0 * end)) for end in (rho.lower, rho.upper)))
    share = scale = None
    if question.target is not None:
        wanted, largest = float(question.target), rho
        if question.arcface_m is not None:
            wanted, largest = question.arcface_m, angle
        share = Bracket(wanted / largest.upper, wanted / largest.lower)
    if question.scale_probability is not None:
        scale = least_scale(K, question.scale_probability, rho)
    return LargestMargins(
        share=share,
        cosface=rho,
        arcface_rad=angle,
        scale=scale,
        adacos_scale=adacos_scale(K),
        sufficient=None if least is None else least.sufficient,
        necessary=None if least is None else least.necessary,
    )


def _status(code: BoundRow, bounds: Sequence[BoundRow], question: Question) -> Status | None:
    """Whether a code with what was asked for exists."""
    if question.target is None:
        return None
    target = loosened(question.target)
    if code.margin >= target:
        return "exists"
    # What is not attained is excluded itself.
    excluding = [row for row in bounds if not row.exists]
    ends = (least_excluded(Fraction(r.margin)) if r.strict else r.margin for r in excluding)
    return "open" if min(ends) >= target else "excluded"


# In which dimension


def dimension_answer(
    question: Question, limits: Sequence[Limit], sizes: Iterable[int]
) -> DimensionAnswer:
    """For every K: a row per bound, and the interval of dimensions.

    Args:
        sizes: the K of the question; an interruption leaves out those that follow.
    """
    rows: list[DimensionRow] = []
    best: list[DimensionBest] = []
    for K in sizes:
        of_K = [_dimension_row(K, limit, question) for limit in limits]
        rows += drop_redundant(of_K)
        best.append(_dimension_best(K, of_K))
    whole = len(best) == len(question.K)
    enough = [b.sufficient for b in best if b.sufficient is not None]
    needed = [b.necessary for b in best if b.necessary is not None]
    return DimensionAnswer(
        rows=tuple(rows),
        best=tuple(best),
        sufficient=max(enough) if whole and len(enough) == len(best) else None,
        necessary=max(needed) if whole and len(needed) == len(best) else None,
        scale=question.scale(math.log(max(question.K) - 1)),
    )


def _dimension_row(K: int, limit: Limit, question: Question) -> DimensionRow:
    assert question.target is not None
    reach = limit.dimension(K, loosened(question.target))
    d = LARGEST_D + 1 if reach.ending is Ending.OUT_OF_RANGE and not limit.exists else reach.d
    # What excludes the dimensions below d is what it says of the last of them.
    decisive = (d or 0) if limit.exists else (d or 0) - 1
    finding = limit.evaluate(decisive, K) if decisive >= 2 else None
    return DimensionRow(ending=reach.ending, **_fields(limit, question.subject, finding, d, K))


def _dimension_best(K: int, rows: Sequence[DimensionRow]) -> DimensionBest:
    enough = [row.d for row in rows if row.proven and row.exists and row.d is not None]
    needed = [row.d for row in rows if row.proven and not row.exists]
    if None in needed:
        return DimensionBest(K, None, None)
    return DimensionBest(K, min(enough, default=None), max(d for d in needed if d is not None))


# How many points


def classes_answer(
    question: Question, limits: Sequence[Limit], dims: Iterable[int]
) -> ClassesAnswer:
    """For every d: a row per bound, and the interval of numbers of points.

    Args:
        dims: the d of the question; an interruption leaves out those that follow.
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
        most = max((c for limit, c in proved if limit.exists), key=_size, default=None)
        first = min((c for limit, c in proved if not limit.exists), key=_size, default=None)
        best.append(ClassesBest(d, **_interval(most, first)))
        largest.append(most)
        excluded += [] if first is None else [first]
    # Guaranteed in every d asked; excluded in some d asked.
    sure = [count for count in largest if count is not None]
    most = min(sure, key=_size) if sure and len(sure) == len(question.d) else None
    scale = None
    if most is not None:
        log_others = math.log(most.exact - 1) if most.exact else most.log10 * math.log(10.0)
        scale = question.scale(log_others)
    return ClassesAnswer(
        rows=tuple(rows),
        best=tuple(best),
        scale=scale,
        **_interval(most, min(excluded, key=_size, default=None)),
    )


def _size(count: Count) -> tuple[float, int]:
    """Orders numbers of points: logarithms of neighbours may be equal."""
    return count.log10, count.exact or 0


def _interval(most: Count | None, first: Count | None) -> dict[str, Any]:
    """The fields that `ClassesBest` and `ClassesAnswer` share."""
    fields: dict[str, Any] = {}
    for name, end in (("guaranteed", most), ("excluded", first)):
        fields[name] = None if end is None else end.exact
        fields[f"log10_{name}"] = None if end is None else end.log10
    return fields


def _count(d: int, limit: Limit, question: Question) -> Count | None:
    """What a bound says of a target: the largest K that has it, or the smallest that has not.

    A value that is printed in full and given back counts as reached, which the loosened target
    sees to. Above a million points the values of a formula at neighbouring K are nearer to each
    other than that; those of codes are not.
    """
    assert question.target is not None
    count = limit.points(d, loosened(question.target))
    if count is not None and not limit.is_list and (count.exact or math.inf) > _FEW:
        count = limit.points(d, question.target)
    if count is not None and count.exact is not None and not limit.exists:
        # The smallest number that is excluded, from the largest that is not.
        count = Count.from_number(count.exact + 1, count.source)
    return count
