"""Results of `bounds` made by hand, with values that look real, for tables, reports and pictures.

They follow simple formulas: caps for the covering bound and for two stand-ins of packing bounds,
theorem 3.9, and codes somewhere between. Nothing here is evidence for a bound.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.results import (
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
)

__all__ = ["classes", "dimension", "pair", "result", "sweep"]

HOW = "gnc solve --d {d} --K {K} --out code.h5"
LONG = ("gnc solve --construction delsarte-goethals-256-8388608-with-the-signed-standard-basis "
        "--d 256 --K 1000000 --out code-256-1000000.h5 --report code.md")  # fmt: skip


@functools.cache
def cap_angle(d: int, log_share: float) -> float:
    """Radians; the share is that of a cap of the angle, at most half of the sphere."""
    from scipy.special import betaincinv

    return math.asin(math.sqrt(betaincinv((d - 1) / 2, 0.5, min(1.0, 2 * math.exp(log_share)))))


def theorem_3_9(d: int, K: int) -> tuple[float, float]:
    top = math.lgamma((d + 1) / 2) + 0.5 * math.log(math.pi) - math.log(K)
    low = 0.5 * math.exp(2 / (d - 1) * (top - math.lgamma(d / 2 + 1)))
    return low, 2 * math.exp((math.log(2) + top - math.lgamma(d / 2)) / (d - 1))


def rows_of(d: int, K: int, quantity: str) -> list[BoundRow]:
    covering = 1 - math.cos(cap_angle(d, -math.log(max(2, K - 1))))
    packing = math.sin(cap_angle(d, -math.log(K))) ** 2
    code = covering**0.6 * packing**0.4
    low, high = theorem_3_9(d, K)
    need = math.sqrt(2 * math.pi * math.sqrt(math.e) * d)
    condition = f"K >= {need:.3g}"
    how = HOW.format(d=d, K=K)
    said: list[tuple[Any, ...]] = [
        ("theorem-3.9", low, True, K >= need, condition, "Jiang et al. 2023", None),
        ("covering", covering, True, True, None, "Shannon 1959; Wyner 1965", None),
        ("construction", 0.8 * code, True, True, None, "two bases, rows dropped", how),
        ("known-code", code, True, True, None, "Cohn's table: cosine bound (10, 136)", how),
        ("levenshtein", packing, False, True, None, "Levenshtein 1979", None),
        ("rankin", 1.0, False, True, None, "Rankin 1955, theorem 2", None),
        ("theorem-3.9", high, False, K >= need, condition, "Jiang et al. 2023", None),
    ]
    rows = []
    for name, clearance, exists, valid, condition, source, how in said:
        angle = None
        if quantity == "one-vs-one":
            clearance = high**2 / 2 if clearance == high else clearance
            value, side = 1 - clearance, "upper" if exists else "lower"
            angle = math.degrees(math.acos(max(-1.0, value)))
        else:
            value, side = clearance, "lower" if exists else "upper"
            if not exists and name != "theorem-3.9":
                source = f"bisector theorem with {source}"
        rows.append(BoundRow(
            d=d, K=K, quantity=quantity, side=side, value=value, angle_deg=angle, proven=True,
            valid=valid, condition=condition, strict=False, exists=exists,
            constructive=how is not None, name=name, source=source, how=how,
        ))  # fmt: skip
    return rows


def best_of(
    rows: Sequence[BoundRow], margin: float | None, probability: float | None
) -> BestBounds:
    held = [r for r in rows if r.valid]
    low = max((r for r in held if r.side == "lower"), key=lambda r: r.value)
    high = min((r for r in held if r.side == "upper"), key=lambda r: r.value)
    status = scale = None
    if margin is not None:
        status = "open" if low.value < margin <= high.value else "excluded"
        status = "exists" if margin <= low.value else status
    if probability is not None:
        logit = math.log(probability / (1 - probability))
        scale = (math.log(low.K - 1) + logit) / low.value
    return BestBounds(low.d, low.K, low.quantity, low.value, high.value, low.name, high.name,
                      high.angle_deg, low.angle_deg, low.value == high.value, None,
                      status, scale)  # fmt: skip


def result(
    quantity: str, target: float | None, probability: float | None, **parts: Any
) -> BoundsResult:
    """`target` is a margin, or one-vs-one a largest cosine; nothing is left out."""
    single = quantity == "one-vs-one"
    asked: dict[str, Any] = dict(
        margin=None if single else target, max_cosine=target if single else None, arcface_m=None
    )
    return BoundsResult(
        seconds=0.01, version="0", quantity=quantity, probability=probability, outcome="complete",
        **(asked | {"rows": (), "best": ()} | parts),
    )  # fmt: skip


def sweep(
    dims: Sequence[int], sizes: Sequence[int], margin: float | None = None,
    probability: float | None = None, quantity: str = "one-vs-rest",
) -> BoundsResult:  # fmt: skip
    rows, best = [], []
    for K in sizes:
        for d in dims:
            some = rows_of(d, K, quantity)
            rows += some
            best.append(best_of(some, margin, probability))
    return result(quantity, margin, probability, rows=tuple(rows), best=tuple(best))


def pair(
    d: int, K: int, margin: float | None = None, probability: float | None = None,
    quantity: str = "one-vs-rest",
) -> BoundsResult:  # fmt: skip
    return sweep([d], [K], margin, probability, quantity)


def dimension(sizes: Sequence[int], margin: float = 0.3) -> BoundsResult:
    rows, best = [], []
    for K in sizes:
        n = math.log10(K)
        said: list[tuple[Any, ...]] = [
            ("theorem-3.9", "lower", None if margin >= 0.5 else round(10 * n), True, None),
            ("covering", "lower", round(6 * n), True, None),
            ("construction", "lower", round(5.4 * n), True, LONG),
            ("known-code", "lower", None, True, None),
            ("theorem-3.9", "upper", round(1.4 * n), False, None),
            ("levenshtein", "upper", round(1.6 * n), False, None),
            ("rankin", "upper", 2, False, None),
        ]
        for name, side, d, exists, how in said:
            ending = "found" if d else "beyond" if name == "known-code" else "never"
            rows.append(DimensionRow(K, name, side, d, ending, True, exists, how is not None,
                                     f"source of {name}", how))  # fmt: skip
        best.append(DimensionBest(K, round(5.4 * n), round(1.6 * n)))
    most = max(best, key=lambda b: b.K)
    answer = DimensionAnswer(tuple(rows), tuple(best), most.sufficient, most.necessary, 53.2417)
    return result("one-vs-rest", margin, 0.9, dimension=answer)


def classes(dims: Sequence[int], margin: float = 0.3) -> BoundsResult:
    rows, best = [], []
    for d in dims:
        said: list[tuple[Any, ...]] = [
            ("theorem-3.9", "lower", None if margin >= 0.5 else 0.07 * d, True, None),
            ("covering", "lower", 0.12 * d, True, None),
            ("known-code", "lower", None if d > 300 else 0.14 * d, True, HOW),
            ("theorem-3.9", "upper", 0.55 * d, False, None),
            ("levenshtein", "upper", 0.41 * d, False, None),
            ("rankin", "upper", None, False, None),
        ]
        for name, side, log10, exists, how in said:
            exact = int(10**log10) if log10 is not None and log10 < 15 else None
            rows.append(ClassesRow(d, name, side, exact, log10, True, exists, how is not None,
                                   f"source of {name}", how))  # fmt: skip
        low, high = max(r.log10_K or 0.0 for r in rows if r.exists and r.d == d), 0.41 * d
        best.append(ClassesBest(d, int(10**low) if low < 15 else None, low,
                                int(10**high) if high < 15 else None, high))  # fmt: skip
    least = min(best, key=lambda b: b.d)
    answer = ClassesAnswer(
        tuple(rows), tuple(best), least.guaranteed, least.log10_guaranteed, least.excluded,
        least.log10_excluded, None,
    )  # fmt: skip
    return result("one-vs-rest", margin, None, classes=answer)
